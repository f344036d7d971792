"""How many are under way: fewer with each refusal, more with each round of answers."""

from __future__ import annotations

import asyncio
import time

from extractkit.batch._pace import Pace, StandingClock
from extractkit.errors import BadRequestError, DeadlineExceededError, RateLimitError
from extractkit.results import Retry
from tests.batch.test_many import Slow, Word, of_async


def test_each_refusal_takes_a_place_and_a_round_of_answers_adds_one() -> None:
    async def run() -> list[int]:
        pace = Pace(10)
        seen = [pace.places]
        for _ in range(4):
            pace.failed(RateLimitError("slow down"))
        seen.append(pace.places)
        for _ in range(7):
            pace.answered()
        seen.append(pace.places)
        pace.failed(BadRequestError("too long"))
        for _ in range(100):
            pace.answered()
        seen.append(pace.places)
        for _ in range(30):
            pace.failed(RateLimitError("slow down"))
        return [*seen, pace.places]

    assert asyncio.run(run()) == [10, 6, 7, 10, 1]


def test_nobody_goes_before_the_time_that_the_provider_asks_to_wait_for() -> None:
    async def run() -> float:
        pace, began = Pace(2), time.monotonic()
        pace.failed(RateLimitError("slow down", retry_after_s=0.1))
        async with pace.items, pace.requests:
            return time.monotonic() - began

    assert 0.09 < asyncio.run(run()) < 5


def test_who_is_cancelled_while_waiting_takes_no_place() -> None:
    async def run() -> None:
        pace = Pace(1)
        async with pace.requests:
            waiting = asyncio.create_task(pace.requests.__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(5), pace.requests:
            pass

    asyncio.run(run())


def test_waiting_for_a_place_takes_no_time_of_an_input() -> None:
    provider = Slow(lambda text: 0.1)
    items = of_async(
        Word,
        ["w-0"],
        model=provider,
        concurrency=1,
        samples=8,
        timeout_s=0.7,
        retry=Retry(transport=0),
    )
    assert provider.most == 1
    assert items[0].error is None and items[0].result.failure is None
    assert len(items[0].result.attempts) == 8


def test_a_request_that_has_its_place_has_its_time_alone() -> None:
    items = of_async(
        Word, ["w-0", "w-1"], model=Slow(lambda text: 60), concurrency=1, timeout_s=0.1
    )
    assert {type(item.error) for item in items} == {DeadlineExceededError}


def test_a_clock_stands_still_while_anything_waits() -> None:
    clock = StandingClock()
    with clock.stopped():
        began = clock()
        with clock.stopped():
            time.sleep(0.01)
        time.sleep(0.01)
        assert clock() == began
    time.sleep(0.01)
    assert began + 0.01 <= clock() <= time.monotonic() - 0.02
