"""Carries an exchange out through a client of an SDK, waiting in one of two ways.

Neighbours: `_exchange` says what is sent and reads what comes; `run` and `arun` differ in nothing
but how they wait. Retries are the engine's affair: here nothing is sent twice as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Final

from extractkit.errors import (
    BadRequestError,
    ConnectError,
    DeadlineExceededError,
    ProviderError,
    RequestTimeoutError,
)
from extractkit.messages import Delta
from extractkit.providers._bounded import ending_at
from extractkit.providers._exchange import Exchange
from extractkit.providers._watchdog import Watch

__all__ = ["arun", "run"]

_BROKEN: Final = (ConnectError, RequestTimeoutError, BadRequestError, DeadlineExceededError)

_UNHEEDED: Final = (ProviderError, DeadlineExceededError, TimeoutError)
"""What may go wrong with a body whose answer is over."""

_GRACE_S: Final = 0.02
"""How long the end of a body may take behind the last event of an answer.

It mostly lies ready. A connection whose body was read to its end serves on; another one is closed.
"""


def run(client: Any, exchange: Exchange) -> Generator[Delta, None, None]:
    """Carry `exchange` out through a synchronous client; the last Delta has the whole answer.

    Raises:
        ProviderError: If the provider could not be asked, or its reply is broken.
        DeadlineExceededError: If the time ended before any of the answer had come.
    """
    watch = Watch(exchange.budget.end)
    try:
        with exchange.translated():
            with ending_at(exchange.budget.end):
                response = client.post(**exchange.arguments(client))
            try:
                watch.over(response)
                exchange.opened(response)
                chunks = response.iter_bytes()
                for chunk in chunks:
                    yield from exchange.take(chunk)
                    if exchange.is_over():
                        _read_out(response, chunks, exchange)
                        break
                else:
                    yield from exchange.end()
                    exchange.is_over()
            finally:
                response.close()
    except _BROKEN as error:
        answer = exchange.salvage(error)
    else:
        answer = exchange.answer()
    finally:
        watch.stop()
    yield exchange.last(answer)


async def arun(
    open_client: Callable[[], Awaitable[Any]], exchange: Exchange
) -> AsyncGenerator[Delta, None]:
    """Carry `exchange` out through an asynchronous client; the last Delta has the whole answer.

    Raises:
        ProviderError: If the provider could not be asked, or its reply is broken.
        DeadlineExceededError: If the time ended before any of the answer had come.
    """
    client = await open_client()
    try:
        with exchange.translated():
            async with _Within(exchange):
                response = await client.post(**exchange.arguments(client))
            try:
                exchange.opened(response)
                chunks = response.aiter_bytes()
                while not exchange.is_over():
                    async with _Within(exchange):
                        chunk: bytes | None = await anext(chunks, None)
                    for delta in exchange.end() if chunk is None else exchange.take(chunk):
                        yield delta
                    if chunk is None:
                        exchange.is_over()
                        break
                else:
                    await _aread_out(chunks, exchange)
            finally:
                await response.aclose()
    except _BROKEN as error:
        answer = exchange.salvage(error)
    else:
        answer = exchange.answer()
    yield exchange.last(answer)


def _read_out(response: Any, chunks: Iterator[bytes], exchange: Exchange) -> None:
    """Read what is left of a body whose answer is over, if it comes at once."""
    watch = Watch(time.monotonic() + _GRACE_S)
    if not watch.over(response):
        return
    try:
        with contextlib.suppress(*_UNHEEDED), exchange.translated():
            for _ in chunks:
                pass
    finally:
        watch.stop()


async def _aread_out(chunks: AsyncIterator[bytes], exchange: Exchange) -> None:
    """Read as `_read_out` does, without blocking the event loop."""
    with contextlib.suppress(*_UNHEEDED), exchange.translated():
        async with asyncio.timeout(_GRACE_S):
            async for _ in chunks:
                pass


class _Within:
    """Within the block, what is awaited ends with the time of its call."""

    __slots__ = ("_exchange", "_limit")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def __aenter__(self) -> None:
        left = self._exchange.wait()
        self._limit = None if left is None else asyncio.timeout(left)
        if self._limit is not None:
            await self._limit.__aenter__()

    async def __aexit__(self, kind: Any, exc: BaseException | None, trace: Any) -> None:
        if self._limit is None:
            return
        try:
            await self._limit.__aexit__(kind, exc, trace)
        except TimeoutError as error:
            raise self._exchange.budget.expired() from error
