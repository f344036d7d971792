"""One extraction carried out as far as its answers are known.

Neighbours: `_native` keeps the answers and has asked for what is missing. A flow cannot be kept
over processes: it is begun anew, is given the answers that are there, and says what it asks next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from extractkit.engine import Call, Step, Together
from extractkit.errors import ExtractkitError
from extractkit.messages import ModelRequest, ModelResponse

__all__ = ["Asked", "Replay"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request without an answer.

    Attributes:
        name: What it is called among those of its extraction, whenever that is carried out.
        request: What is asked.
    """

    name: str
    request: ModelRequest


class Replay:
    """Carries one flow out.

    Args:
        body: Gives what is sent of a request, as bytes.
        kept: Gives the answer to a request by its name, or raises what came instead; None where
            there is none yet.

    Attributes:
        asked: What could not be answered.
    """

    def __init__(
        self,
        *,
        body: Callable[[ModelRequest], bytes],
        kept: Callable[[str, ModelRequest], ModelResponse | None],
    ) -> None:
        self.asked: list[Asked] = []
        self._body = body
        self._kept = kept
        self._times: Counter[str] = Counter()

    def carry_out(
        self, flow: Generator[Step, ModelResponse | None, R], place: str = ""
    ) -> R | None:
        """Return the result of `flow`; None where something is asked, or it has none.

        Nothing is waited for: what is asked again goes into a later batch. Flows that need not one
        another go on as far as each of them can, so that they share a batch.

        Raises:
            ExtractkitError: Whatever the flow lets through.
        """
        before = len(self.asked)
        try:
            step = next(flow)
            while True:
                answer: ModelResponse | None = None
                try:
                    if isinstance(step, Call):
                        answer = self._answer(step.request, place)
                    elif isinstance(step, Together):
                        for number, inner in enumerate(step.flows):
                            self.carry_out(inner, f"{number}_")
                except ExtractkitError as error:
                    step = flow.throw(error)
                    continue
                if len(self.asked) > before:
                    return None
                step = flow.send(answer)
        except StopIteration as done:
            result: R = done.value
            return result
        finally:
            flow.close()

    def _answer(self, request: ModelRequest, place: str) -> ModelResponse | None:
        # Named by what it asks: whatever was learned in between, an answer is never given to
        # another request than its own.
        name = place + blake2b(self._body(request), digest_size=6).hexdigest()
        number = self._times[name]
        self._times[name] += 1
        name = f"{name}_{number}"
        answer = self._kept(name, request)
        if answer is None:
            self.asked.append(Asked(name=name, request=request))
        return answer
