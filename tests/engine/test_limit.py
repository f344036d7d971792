"""One end for many waits: it cuts off what waits, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from extractkit.engine.limit import Limit
from extractkit.errors import DeadlineExceededError

SHORT_S = 0.02
LONG_S = 30.0


def _run(work: Callable[[], Awaitable[object]]) -> None:
    async def all_of_it() -> None:
        await work()

    asyncio.run(all_of_it())


def test_a_wait_is_cut_off_and_what_is_awaited_is_cancelled() -> None:
    cancelled: list[bool] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(LONG_S)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def work() -> None:
        limit = Limit(SHORT_S)
        with pytest.raises(DeadlineExceededError):
            async with limit:
                await wait()
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()
        limit.stop()

    _run(work)
    assert cancelled == [True]


def test_the_end_counts_for_all_blocks_together() -> None:
    async def work() -> None:
        limit = Limit(SHORT_S)
        rounds = 0
        with pytest.raises(DeadlineExceededError):
            while True:
                async with limit:
                    await asyncio.sleep(SHORT_S / 5)
                rounds += 1
        assert rounds < 5

    _run(work)


def test_nothing_is_cut_off_between_blocks_and_what_lies_ready_is_taken_after_the_end() -> None:
    async def ready() -> int:
        return 1

    async def work() -> None:
        limit = Limit(SHORT_S)
        async with limit:
            await ready()
        await asyncio.sleep(SHORT_S * 2)
        for _ in range(3):
            async with limit:
                assert await ready() == 1
        await asyncio.sleep(0)
        with pytest.raises(DeadlineExceededError):
            async with limit:
                await asyncio.sleep(LONG_S)
        with pytest.raises(DeadlineExceededError):
            async with limit, limit_of_another():
                await asyncio.sleep(LONG_S)

    def limit_of_another() -> Limit:
        return Limit(LONG_S)

    _run(work)


@pytest.mark.parametrize("timeout_s", [None, LONG_S])
def test_without_an_end_or_long_before_it_nothing_happens(timeout_s: float | None) -> None:
    async def work() -> None:
        limit = Limit(timeout_s)
        for _ in range(3):
            async with limit:
                await asyncio.sleep(0)
        limit.stop()
        await asyncio.sleep(0)

    _run(work)


def test_a_cancellation_from_outside_stays_one() -> None:
    async def work() -> None:
        limit = Limit(LONG_S)

        async def wait() -> None:
            async with limit:
                await asyncio.sleep(LONG_S)

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        limit.stop()

    _run(work)


def test_a_cancellation_from_outside_at_the_same_moment_stays_one() -> None:
    async def work() -> None:
        limit = Limit(0)

        async def wait() -> None:
            async with limit:
                await asyncio.sleep(LONG_S)

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    _run(work)


def test_an_error_in_a_block_is_that_error() -> None:
    async def work() -> None:
        limit = Limit(LONG_S)
        with pytest.raises(ValueError, match="mine"):
            async with limit:
                raise ValueError("mine")
        limit.stop()

    _run(work)
