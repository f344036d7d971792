"""The flow from a question to a result, and the two drivers that carry the steps of flows out.

`extract_flow` is a generator: it yields a Call and is sent the ModelResponse, or has the error
thrown in; or it yields a Wait, flows that may go on Together, or something to Tell. It never
awaits, sleeps or opens anything, and reads the clock only through the function that it is given.
Neighbours: `api` starts it, a Provider answers its calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias, TypeVar

from extractkit.engine.conclusion import Price
from extractkit.engine.driving import Ended, adrive, adrive_live, drive, drive_live, unlimited
from extractkit.engine.flights import in_one_flight
from extractkit.engine.live import Live, require_one_answer
from extractkit.engine.question import Question
from extractkit.engine.run import Run
from extractkit.engine.steps import Call, Changes, Step, Tell, Together, Wait
from extractkit.engine.verification import Asked, Enforcement, Mode, verification_flow
from extractkit.engine.watching import Watch
from extractkit.messages import Capabilities, ModelResponse
from extractkit.observe import Observer
from extractkit.results import ExtractionResult

__all__ = [
    "Asked",
    "Call",
    "Changes",
    "Ended",
    "Enforcement",
    "Flow",
    "Live",
    "Mode",
    "Price",
    "Question",
    "Step",
    "Tell",
    "Together",
    "Wait",
    "adrive",
    "adrive_live",
    "drive",
    "drive_live",
    "extract_flow",
    "in_one_flight",
    "require_one_answer",
    "unlimited",
    "verification_flow",
]

T = TypeVar("T")

Flow: TypeAlias = Generator[Step, ModelResponse | None, ExtractionResult[T]]


def extract_flow(
    question: Question[T],
    *,
    provider: str,
    capabilities: Capabilities,
    clock: Callable[[], float],
    model: str = "",
    observers: Sequence[Observer] = (),
    price: Price | None = None,
    live: Live | None = None,
) -> Flow[T]:
    """Yield the steps that `question` needs; return the result.

    Args:
        question: What is asked.
        provider: Name of who answers, for provenance.
        capabilities: What the answering model can do.
        clock: Seconds from any fixed start, never going back.
        model: The model's name as the caller gave it, for observers.
        observers: Told of every step.
        price: (provider, model, usage) -> US dollars, or None where it is not known.
        live: Hears the answers while they come, if somebody wants to see them.

    Raises:
        UsageError: If the question cannot be put as written; before any call.
        DeadlineExceededError: If `timeout_s` ended before the first answer.
        ProviderError: If a call failed.
        MalformedResponseError: If an answer is no text that can be encoded.
    """
    return Run(
        question,
        provider=provider,
        model=model,
        capabilities=capabilities,
        clock=clock,
        watch=Watch(observers, provider, clock),
        price=price,
        live=live,
    ).flow()
