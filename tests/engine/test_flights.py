"""Whoever asks at the same time whether a server enforces is told what one request shows."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from extractkit import averify_enforcement, verify_enforcement
from extractkit.engine import Enforcement
from extractkit.errors import DeadlineExceededError, ServerError, UsageError
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason

pytestmark = pytest.mark.usefixtures("no_verdicts")


class Slow:
    """A server that answers when it is let, and counts what it is asked."""

    name = "slow"
    model = "m"
    base_url = "http://127.0.0.1:9/v1"
    endpoint = "/chat/completions"
    capabilities = Capabilities()

    def __init__(self, *failures: Exception | None) -> None:
        self.asked = 0
        self.may_answer = threading.Event()
        self._failures = list(failures)

    def _answer(self, request: ModelRequest) -> ModelResponse:
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None:
            raise failure
        assert request.constraint is not None
        members = request.constraint.schema["properties"]
        said = {"answer": members["answer"]["const"], "colour": members["colour"]["enum"][0]}
        return ModelResponse(text=json.dumps(said), stop=StopReason.STOP)

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        self.asked += 1
        self.may_answer.wait(5)
        return self._answer(request)

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        self.asked += 1
        while not self.may_answer.is_set():
            await asyncio.sleep(0.001)
        return self._answer(request)

    def close(self) -> None:
        """Nothing is open."""


async def _together(server: Slow, count: int, **options: Any) -> list[Any]:
    tasks = [asyncio.create_task(averify_enforcement(server, **options)) for _ in range(count)]
    await asyncio.sleep(0.02)
    server.may_answer.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("refresh", [False, True])
def test_ten_that_ask_at_once_make_one_request(refresh: bool) -> None:
    server = Slow()
    found = asyncio.run(_together(server, 10, refresh=refresh))
    assert server.asked == 1
    assert all(isinstance(one, Enforcement) and one.enforced for one in found)


def test_threads_share_a_request_too() -> None:
    server = Slow()
    with ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(verify_enforcement, server) for _ in range(5)]
        server.may_answer.set()
        found = [one.result() for one in waiting]
    assert server.asked == 1
    assert {one.enforced for one in found} == {True}


def test_a_failure_of_the_server_is_everybodys_each_in_a_copy_of_its_own() -> None:
    broken = ServerError("broken")
    broken.retryable = False
    server = Slow(broken)
    found = asyncio.run(_together(server, 3))
    assert server.asked == 1
    assert [str(error) for error in found] == ["broken"] * 3
    assert len({id(error) for error in found}) == 3


def test_what_is_the_first_ones_own_is_not_shared() -> None:
    server = Slow(UsageError("a client of the wrong kind"))
    first, *others = asyncio.run(_together(server, 3))
    assert isinstance(first, UsageError)
    assert [one.enforced for one in others] == [True, True]
    assert server.asked == 2


def test_the_next_one_asks_where_nobody_waits_for_the_first_any_more() -> None:
    server = Slow()

    async def run() -> Enforcement:
        first = asyncio.create_task(averify_enforcement(server))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(averify_enforcement(server))
        await asyncio.sleep(0.02)
        first.cancel()
        server.may_answer.set()
        return await second

    assert asyncio.run(run()).enforced is True
    assert server.asked == 2


def test_who_waits_for_another_ones_request_waits_no_longer_than_it_says() -> None:
    server = Slow()

    async def run() -> None:
        first = asyncio.create_task(averify_enforcement(server))
        await asyncio.sleep(0.01)
        with pytest.raises(DeadlineExceededError, match="raise timeout_s"):
            await averify_enforcement(server, timeout_s=0.05)
        server.may_answer.set()
        await first

    asyncio.run(run())
    assert server.asked == 1


def test_models_that_are_no_servers_never_share() -> None:
    server = Slow()
    server.base_url = ""  # type: ignore[misc]  # an object of its own
    asyncio.run(_together(server, 3))
    assert server.asked == 3
