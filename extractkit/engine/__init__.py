"""The flow from a question to a result, and the two drivers that carry the steps of flows out.

`extract_flow` is a generator: it yields a Call and is sent the ModelResponse, or has the error
thrown in; or it yields a Wait, or flows that may go on Together. It never awaits, sleeps or opens
anything, and reads the clock only through the function that it is given. Neighbours: `api` starts
it, a Provider answers its calls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias, TypeVar

from extractkit.engine.conclusion import Price
from extractkit.engine.flights import in_one_flight
from extractkit.engine.question import Question
from extractkit.engine.run import Run
from extractkit.engine.steps import Call, Step, Together, Wait
from extractkit.engine.verification import Asked, Enforcement, Mode, verification_flow
from extractkit.engine.watching import Watch
from extractkit.errors import DeadlineExceededError, ExtractkitError
from extractkit.messages import Capabilities, ModelResponse, Provider
from extractkit.observe import Observer
from extractkit.results import ExtractionResult

__all__ = [
    "Asked",
    "Call",
    "Enforcement",
    "Flow",
    "Mode",
    "Price",
    "Question",
    "Step",
    "Together",
    "Wait",
    "adrive",
    "drive",
    "extract_flow",
    "in_one_flight",
    "verification_flow",
]

T = TypeVar("T")
R = TypeVar("R")

Flow: TypeAlias = Generator[Step, ModelResponse | None, ExtractionResult[T]]


def drive(
    flow: Generator[Step, ModelResponse | None, R],
    provider: Provider,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> R:
    """Return the result of `flow`, its calls carried out by `provider` one after the other.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        step = next(flow)
        while True:
            answer: ModelResponse | None = None
            try:
                if isinstance(step, Wait):
                    sleep(step.seconds)
                elif isinstance(step, Together):
                    for inner in step.flows:
                        drive(inner, provider, sleep=sleep)
                else:
                    answer = provider.complete(step.request, timeout_s=step.timeout_s)
            except ExtractkitError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        flow.close()


async def adrive(flow: Generator[Step, ModelResponse | None, R], provider: Provider) -> R:
    """Return the result of `flow` as `drive` does, without blocking the event loop.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        step = next(flow)
        while True:
            answer: ModelResponse | None = None
            try:
                if isinstance(step, Wait):
                    await asyncio.sleep(step.seconds)
                elif isinstance(step, Together):
                    await _all_of(step, provider)
                else:
                    async with asyncio.timeout(step.timeout_s):
                        answer = await provider.acomplete(step.request, timeout_s=step.timeout_s)
            except TimeoutError:
                # A provider should keep the time itself; one that does not is cut off here.
                step = flow.throw(DeadlineExceededError("the provider did not answer in time"))
            except ExtractkitError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        flow.close()


async def _all_of(step: Together, provider: Provider) -> None:
    """Carry several flows out at once; none goes on when one fails or nobody waits any more."""
    free = asyncio.Semaphore(step.at_once)

    async def carry_out(flow: Generator[Step, ModelResponse | None, None]) -> None:
        async with free:
            await adrive(flow, provider)

    tasks = [asyncio.create_task(carry_out(flow)) for flow in step.flows]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def extract_flow(
    question: Question[T],
    *,
    provider: str,
    capabilities: Capabilities,
    clock: Callable[[], float],
    model: str = "",
    observers: Sequence[Observer] = (),
    price: Price | None = None,
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
    ).flow()
