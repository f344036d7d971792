"""What the flow asks of its driver, and one answer with everything that failed on the way to it.

Neighbours: `run` asks for answers here; `retrying` says how long to wait after a failure; the
drivers carry the steps out. Nothing here sends or waits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from extractkit.engine.retrying import RetryPolicy
from extractkit.errors import DeadlineExceededError, ProviderError
from extractkit.messages import Delta, ModelRequest, ModelResponse
from extractkit.streaming import Change

__all__ = [
    "Answer",
    "Budget",
    "Call",
    "Changes",
    "Hearer",
    "Step",
    "Steps",
    "Tell",
    "Together",
    "Wait",
    "ask",
    "told_of",
]


Changes: TypeAlias = tuple[Change, ...]
"""What happened to the fields of an answer, in order."""


class Hearer(Protocol):
    """Hears an answer while it comes."""

    def hear(self, delta: Delta) -> Changes:
        """Return what a piece changes that is to be told at once."""
        ...

    def broken_by(self, error: ProviderError | DeadlineExceededError) -> ModelResponse | None:
        """Return what came before `error` as the answer; None where nothing did."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to be sent now.

    Attributes:
        request: What is sent.
        timeout_s: The seconds that are left for it; None: no limit.
        hears: Who is to hear the answer piece by piece; None where nobody is.
    """

    request: ModelRequest
    timeout_s: float | None
    hears: Hearer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Something to be told to who listens to the flow; None is sent back after it."""

    changes: Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing to do for some seconds; None is sent back after them."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Flows that do not need one another; None is sent back when all of them have ended.

    Attributes:
        flows: What is to be carried out, in this order where it is done one after the other. They
            keep what comes of them, and what goes wrong on their way, to themselves.
        at_once: How many may be under way at the same time.
    """

    flows: tuple[Generator[Step, ModelResponse | None, None], ...]
    at_once: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back in the end.

    Attributes:
        response: The answer.
        failures: What went wrong before it came, in order.
        seconds: Wall time of the request that was answered.
        request: What it answers; None where that is not known.
        number: Which request of the extraction that was, from 1 up; 0 where nobody counted.
    """

    response: ModelResponse
    failures: tuple[str, ...] = ()
    seconds: float = 0.0
    request: ModelRequest | None = None
    number: int = 0


Step: TypeAlias = "Call | Tell | Wait | Together"
Steps: TypeAlias = Generator[Step, ModelResponse | None, Answer]


@dataclass(slots=True, kw_only=True)
class Budget:
    """What all requests of one extraction share.

    Attributes:
        clock: Seconds from any fixed start, never going back.
        deadline: When all has to be done, on that clock; None for no limit.
        transport: Requests that may still fail on the way.
        max_wait_s: Longest wait that a provider may ask for.
        requests: How many were sent so far.
    """

    clock: Callable[[], float]
    deadline: float | None
    transport: int
    max_wait_s: float
    requests: int = 0

    def left(self) -> float | None:
        """Return the seconds that are left, at least 0; None for no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - self.clock())


def ask(
    request: ModelRequest,
    budget: Budget,
    *,
    failed: Callable[[ProviderError, float | None], None],
    hears: Hearer | None = None,
) -> Steps:
    """Yield what is to be done until `request` is answered; return the answer.

    Args:
        request: What is asked.
        budget: What is left for it; what it takes is taken from there.
        failed: Told of every failure, with the seconds until the next request, None for the last.
        hears: Who hears the answer piece by piece, if anybody does.

    Raises:
        ProviderError: The last failure, where asking again cannot help or may not be tried.
        DeadlineExceededError: If the time ended.
        UsageError: If the request cannot be carried out as written.
        TypeError: If None is sent where a response belongs.
    """
    failures: list[str] = []
    policy: RetryPolicy | None = None
    while True:
        began = budget.clock()
        budget.requests += 1
        try:
            response = yield Call(request=request, timeout_s=budget.left(), hears=hears)
        except ProviderError as error:
            policy = policy or RetryPolicy()
            seconds = policy.wait_after(
                error, more=budget.transport, most_s=budget.max_wait_s, left_s=budget.left()
            )
            failed(error, seconds)
            if seconds is None:
                raise
            failures.append(told_of(error))
            budget.transport -= 1
            yield Wait(seconds=seconds)
            continue
        if response is None:
            raise TypeError("a driver sends None after a Wait only")
        return Answer(
            response=response,
            failures=tuple(failures),
            seconds=budget.clock() - began,
            request=request,
        )


def told_of(error: ProviderError) -> str:
    """Return the words for a failure among an answer's `failures`."""
    return f"{type(error).__name__}: {error.message}"
