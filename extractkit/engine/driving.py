"""The drivers that carry the steps of flows out: waiting, and awaiting.

Neighbours: flows yield the steps, a Provider answers their calls. Each driver exists once: who only
wants the result reads past what is told on the way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Generic, TypeGuard, TypeVar

from extractkit.engine.limit import Limit
from extractkit.engine.steps import Call, Changes, Hearer, Step, Tell, Together, Wait
from extractkit.errors import (
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    ProviderError,
)
from extractkit.messages import ModelResponse, Provider, StreamingProvider

__all__ = ["Ended", "adrive", "adrive_live", "drive", "drive_live", "unlimited"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Ended(Generic[R_co]):
    """The last thing that `adrive_live` yields.

    Attributes:
        result: What the flow ended in.
    """

    result: R_co


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
    live = drive_live(flow, provider, sleep=sleep)
    try:
        while True:
            next(live)
    except StopIteration as done:
        result: R = done.value
        return result


def drive_live(
    flow: Generator[Step, ModelResponse | None, R],
    provider: Provider,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Changes, None, R]:
    """Yield what is told on the way of `flow`; return its result.

    Closing the generator ends what is under way.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        step = next(flow)
        while True:
            answer: ModelResponse | None = None
            try:
                if isinstance(step, Call):
                    answer = yield from _answered(step, provider)
                elif isinstance(step, Tell):
                    if step.changes:
                        yield step.changes
                elif isinstance(step, Wait):
                    sleep(step.seconds)
                else:
                    for inner in step.flows:
                        drive(inner, provider, sleep=sleep)
            except ExtractkitError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        result: R = done.value
        return result
    finally:
        flow.close()


def _answered(step: Call, provider: Provider) -> Generator[Changes, None, ModelResponse]:
    """Yield what the pieces of an answer change, where somebody hears them; return the answer."""
    if step.hears is None or not _has(provider, "stream"):
        return provider.complete(step.request, timeout_s=step.timeout_s)
    pieces = provider.stream(step.request, timeout_s=step.timeout_s)
    try:
        for delta in pieces:
            if changes := step.hears.hear(delta):
                yield changes
            if delta.response is not None:
                return delta.response
    except (ProviderError, DeadlineExceededError) as error:
        return _broken_by(error, step.hears)
    finally:
        pieces.close()
    raise _without_end(provider)


async def adrive(flow: Generator[Step, ModelResponse | None, R], provider: Provider) -> R:
    """Return the result of `flow` as `drive` does, without blocking the event loop.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    async with aclosing(adrive_live(flow, provider)) as live:
        while True:
            told = await anext(live)
            if isinstance(told, Ended):
                return told.result


async def adrive_live(
    flow: Generator[Step, ModelResponse | None, R], provider: Provider
) -> AsyncGenerator[Changes | Ended[R], None]:
    """Yield what `drive_live` yields, without blocking the event loop; the result comes last.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        step = next(flow)
        while True:
            answer: ModelResponse | None = None
            try:
                if isinstance(step, Call) and step.hears is not None:
                    async with aclosing(_heard(step, step.hears, provider)) as heard:
                        async for changes, response in heard:
                            answer = response
                            if changes:
                                yield changes
                elif isinstance(step, Tell):
                    if step.changes:
                        yield step.changes
                else:
                    answer = await _carried_out(step, provider)
            except ExtractkitError as error:
                step = flow.throw(error)
            else:
                step = flow.send(answer)
    except StopIteration as done:
        yield Ended(done.value)
    finally:
        flow.close()


async def _carried_out(step: Call | Wait | Together, provider: Provider) -> ModelResponse | None:
    if isinstance(step, Wait):
        await asyncio.sleep(step.seconds)
    elif isinstance(step, Together):
        await _all_of(step, provider)
    else:
        async with _within(step.timeout_s):
            return await provider.acomplete(step.request, timeout_s=step.timeout_s)
    return None


async def _heard(
    step: Call, hears: Hearer, provider: Provider
) -> AsyncGenerator[tuple[Changes, ModelResponse | None], None]:
    """Yield what the pieces of an answer change, and the answer with the last of them."""
    if not _has(provider, "astream"):
        yield (), await _carried_out(step, provider)
        return
    pieces = provider.astream(step.request, timeout_s=step.timeout_s)
    limit = Limit(step.timeout_s)
    try:
        while True:
            async with limit:
                delta = await anext(pieces, None)
            if delta is None:
                break
            yield hears.hear(delta), delta.response
            if delta.response is not None:
                return
    except (ProviderError, DeadlineExceededError) as error:
        yield (), _broken_by(error, hears)
        return
    finally:
        limit.stop()
        await pieces.aclose()
    raise _without_end(provider)


@asynccontextmanager
async def _within(timeout_s: float | None) -> AsyncGenerator[None, None]:
    """Within the block, what is awaited is cut off if its provider does not keep the time."""
    limit = asyncio.timeout(timeout_s)
    before = _LIMIT.set(limit)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise DeadlineExceededError("the provider did not answer in time") from error
    finally:
        _LIMIT.reset(before)


_LIMIT: Final[ContextVar[asyncio.Timeout | None]] = ContextVar("limit", default=None)


@contextmanager
def unlimited() -> Generator[None]:
    """Within the block, the time of the call that is being carried out stands still."""
    limit = _LIMIT.get()
    end = None if limit is None else limit.when()
    if limit is None or end is None:
        yield
        return
    now = asyncio.get_running_loop().time
    left = end - now()
    limit.reschedule(None)
    try:
        yield
    finally:
        limit.reschedule(now() + left)


def _has(provider: Provider, method: str) -> TypeGuard[StreamingProvider]:
    """Whether a provider gives its answer in pieces, in this way."""
    return callable(getattr(provider, method, None))


def _broken_by(error: ProviderError | DeadlineExceededError, hears: Hearer) -> ModelResponse:
    """Return what had come before `error` as the answer; raise it if that is nothing."""
    answer = hears.broken_by(error)
    if answer is None:
        raise error
    return answer


def _without_end(provider: Provider) -> MalformedResponseError:
    return MalformedResponseError(
        "the stream ended and gave no answer: its last piece must have the response",
        provider=provider.name,
        model=provider.model,
    )


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
