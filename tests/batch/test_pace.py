"""How many are under way: fewer with each refusal, more with each round of answers."""

from __future__ import annotations

import asyncio
import time

import pytest

from extractkit.batch._pace import Pace, Paced
from extractkit.errors import BadRequestError, DeadlineExceededError, RateLimitError
from extractkit.messages import Message, ModelRequest
from extractkit.testing import FakeProvider


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


def test_waiting_for_a_place_counts_as_time() -> None:
    async def run() -> None:
        pace = Pace(1)
        paced = Paced(FakeProvider("x"), pace)
        request = ModelRequest(messages=(Message(role="user", content="hello"),))
        pace.failed(RateLimitError("slow down", retry_after_s=0.05))
        with pytest.raises(DeadlineExceededError, match="had a place"):
            await paced.acomplete(request, timeout_s=0.01)

    asyncio.run(run())
