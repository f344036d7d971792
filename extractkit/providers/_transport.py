"""Carries an exchange out through a client of an SDK, waiting in one of two ways.

Neighbours: `_exchange` says what is sent and reads what comes; `run` and `arun` differ in nothing
but how they wait. Retries are the engine's affair: here nothing is sent twice as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator
from typing import Any, Final

from extractkit.errors import (
    BadRequestError,
    ConnectError,
    DeadlineExceededError,
    RequestTimeoutError,
)
from extractkit.messages import Delta
from extractkit.providers._bounded import ending_at
from extractkit.providers._exchange import Exchange
from extractkit.providers._watchdog import Watch

__all__ = ["arun", "run"]

_BROKEN: Final = (ConnectError, RequestTimeoutError, BadRequestError, DeadlineExceededError)


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
                for chunk in response.iter_bytes():
                    if text := exchange.take(chunk):
                        yield Delta(text=text)
            finally:
                response.close()
            rest = exchange.end()
    except _BROKEN as error:
        answer = exchange.salvage(error)
        rest = ""
    else:
        answer = exchange.answer()
    finally:
        watch.stop()
    yield Delta(text=rest, response=answer)


async def arun(client: Any, exchange: Exchange) -> AsyncGenerator[Delta, None]:
    """Carry `exchange` out through an asynchronous client; the last Delta has the whole answer.

    Raises:
        ProviderError: If the provider could not be asked, or its reply is broken.
        DeadlineExceededError: If the time ended before any of the answer had come.
    """
    try:
        with exchange.translated():
            async with _within(exchange):
                response = await client.post(**exchange.arguments(client))
            try:
                exchange.opened(response)
                chunks = response.aiter_bytes()
                while True:
                    async with _within(exchange):
                        chunk: bytes | None = await anext(chunks, None)
                    if chunk is None:
                        break
                    if text := exchange.take(chunk):
                        yield Delta(text=text)
            finally:
                await response.aclose()
            rest = exchange.end()
    except _BROKEN as error:
        answer = exchange.salvage(error)
        rest = ""
    else:
        answer = exchange.answer()
    yield Delta(text=rest, response=answer)


@contextlib.asynccontextmanager
async def _within(exchange: Exchange) -> AsyncGenerator[None, None]:
    """Within the block, what is awaited ends with the time of its call."""
    limit = asyncio.timeout(exchange.wait())
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if limit.expired():
            raise exchange.budget.expired() from error
        raise
