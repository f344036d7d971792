"""The one flow from a question to a result, and the two drivers that carry its calls out.

`extract_flow` is a generator: it yields a Call and is sent the ModelResponse, or has the error
thrown in. It never awaits, sleeps or opens anything, and reads the clock only through the
function that it is given. Neighbours: `api` starts it, a Provider answers its calls.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from extractkit import prompts
from extractkit.engine.conclusion import conclude
from extractkit.engine.judge import Judged, judge
from extractkit.engine.question import Question
from extractkit.engine.setup import Setup, prepare
from extractkit.errors import (
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    UsageError,
)
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, Provider, StopReason
from extractkit.results import ExtractionResult, Status

__all__ = ["Call", "Flow", "Question", "adrive", "drive", "extract_flow"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to be sent now, and the seconds that are left for it (None: no limit)."""

    request: ModelRequest
    timeout_s: float | None


Flow: TypeAlias = Generator[Call, ModelResponse, ExtractionResult[T]]


def drive(flow: Flow[T], provider: Provider) -> ExtractionResult[T]:
    """Return the result of `flow`, its calls carried out by `provider` one after the other.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        call = next(flow)
        while True:
            try:
                response = provider.complete(call.request, timeout_s=call.timeout_s)
            except ExtractkitError as error:
                call = flow.throw(error)
            else:
                call = flow.send(response)
    except StopIteration as done:
        result: ExtractionResult[T] = done.value
        return result


async def adrive(flow: Flow[T], provider: Provider) -> ExtractionResult[T]:
    """Return the result of `flow` as `drive` does, without blocking the event loop.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        call = next(flow)
        while True:
            try:
                async with asyncio.timeout(call.timeout_s):
                    response = await provider.acomplete(call.request, timeout_s=call.timeout_s)
            except TimeoutError:
                # A provider should keep the time itself; one that does not is cut off here.
                call = flow.throw(DeadlineExceededError("the provider did not answer in time"))
            except ExtractkitError as error:
                call = flow.throw(error)
            else:
                call = flow.send(response)
    except StopIteration as done:
        result: ExtractionResult[T] = done.value
        return result


def extract_flow(
    question: Question[T], *, provider: str, capabilities: Capabilities, clock: Callable[[], float]
) -> Flow[T]:
    """Yield the calls that `question` needs; return the result.

    Args:
        question: What is asked.
        provider: Name of who answers, for provenance.
        capabilities: What the answering model can do.
        clock: Seconds from any fixed start, never going back.

    Raises:
        UsageError: If the question cannot be put as written; before any call.
        DeadlineExceededError: If `timeout_s` ended before the first answer.
        ProviderError: If a call failed.
        MalformedResponseError: If an answer is no text that can be encoded.
    """
    deadline = None if question.timeout_s is None else clock() + question.timeout_s
    setup = prepare(question, capabilities)
    judged: list[Judged[T]] = []
    request = setup.request
    while True:
        began = clock()
        try:
            response = yield Call(request=request, timeout_s=_left(deadline, began))
        except DeadlineExceededError as error:
            if not judged:
                raise DeadlineExceededError(
                    f"no answer within timeout_s={question.timeout_s}: {error.message}",
                    timeout_s=question.timeout_s,
                ) from error
            return conclude(setup, provider, judged, note="the time ended before another answer")
        except UsageError as error:
            # The first question could be put; with the findings added it no longer fits.
            if not judged:
                raise
            note = f"another answer could not be asked for: {error.message}"
            return conclude(setup, provider, judged, note=note)
        _require_text(response, provider)
        judged.append(judge(setup, response, seconds=clock() - began))
        if not _can_help(setup, judged):
            return conclude(setup, provider, judged)
        if deadline is not None and clock() >= deadline:
            return conclude(setup, provider, judged, note="no time was left for another answer")
        request = dataclasses.replace(
            setup.request,
            messages=prompts.feedback(setup.request, response.text, judged[-1].findings),
        )


def _can_help(setup: Setup[T], judged: Sequence[Judged[T]]) -> bool:
    """Whether another answer can help: the last one is whole, falls short and is a new one."""
    last = judged[-1]
    if last.status is not Status.INVALID or last.response.stop is not StopReason.STOP:
        return False
    if len(judged) > setup.question.retry.answers:
        return False
    return all(last.response.text != earlier.response.text for earlier in judged[:-1])


def _require_text(response: ModelResponse, provider: str) -> None:
    try:
        response.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedResponseError(
            f"character {error.start} of the answer is a lone surrogate, which no encoding can "
            "carry; the provider must decode what it receives",
            provider=provider,
            model=response.model,
        ) from None


def _left(deadline: float | None, now: float) -> float | None:
    return None if deadline is None else max(0.0, deadline - now)
