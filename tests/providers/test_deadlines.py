"""One deadline for the whole call, and a cancellation that is obeyed at once: case 044."""

from __future__ import annotations

import asyncio
import time
from itertools import product
from typing import Any

import pytest

from extractkit import ExtractionResult, Retry, Status, aextract
from extractkit.errors import DeadlineExceededError, RateLimitError
from tests.clock import Watch
from tests.providers.network import EVERY_WAY, ONE_WAY_PER_SDK, Site, Way, clean
from tests.providers.stage import TEXT, Box
from tests.server.answers import Answer
from tests.server.script import Reply, error_reply, every

_LIMIT_S = 0.3
_GRACE_S = 0.3
_ASYNC = pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.driver == "async"], ids=str)


def _slow(way: Way, kind: str) -> Reply:
    reply = clean(way)
    if kind == "no headers":
        return reply.but(wait_s=30)
    if kind == "headers byte by byte":
        return reply.but(head_pause_s=0.05)
    if kind == "body byte by byte":
        return reply.but(cuts=every(1, reply.body), pause_s=0.05)
    assert kind == "a body that stops"
    return reply.but(cuts=(len(reply.body) // 2,), pause_s=30)


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        *product(("no headers", "headers byte by byte"), ONE_WAY_PER_SDK[::3]),
        *product(("body byte by byte", "a body that stops"), ONE_WAY_PER_SDK),
        *product(("no headers", "headers byte by byte"), ONE_WAY_PER_SDK[1::3]),
    ],
    ids=str,
)
def test_a_slow_answer_ends_at_the_deadline(server: Site, way: Way, kind: str) -> None:
    """Every byte that comes would start a read timeout anew; the deadline counts all of them."""
    server.warm(way)
    server.play(_slow(way, kind))
    asked = server.ask(way, timeout_s=_LIMIT_S, retry=Retry(answers=5, transport=5))
    if asked.result is not None:
        assert (kind, way.path.mode) == ("a body that stops", "stream")
        _is_what_came(asked.result)
    else:
        assert isinstance(asked.error, DeadlineExceededError), asked
        assert asked.error.timeout_s == _LIMIT_S
    assert asked.seconds <= _LIMIT_S + _GRACE_S
    assert len(server.requests) == 1
    server.settle()
    assert server.requests[0].left, "the connection was left open"


def _is_what_came(result: ExtractionResult[Box]) -> None:
    assert result.status is Status.TRUNCATED
    assert len(result.attempts) == 1
    assert result.raw is not None
    assert result.raw.text
    told = f"timeout_s ended after {len(result.raw.text)} characters"
    assert (result.raw.stop_detail, result.raw.broken) == (told, "")
    assert told in result.findings[0].message


@pytest.mark.parametrize("framing", ["chunked", "until_close"])
@pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.path.mode == "stream"], ids=str)
def test_what_came_of_a_stream_in_time_is_kept(server: Site, way: Way, framing: Any) -> None:
    """Without a length, a connection that is shut at the deadline looks like one that ended."""
    server.warm(way)
    reply = clean(way)
    half = reply.body.index(b"Ida") + 60
    server.play(reply.but(cuts=(half,), pause_s=30, framing=framing))
    asked = server.ask(way, timeout_s=0.8, retry=Retry(answers=5, transport=5))
    assert asked.result is not None, asked.error
    _is_what_came(asked.result)
    assert asked.seconds <= 0.8 + _GRACE_S
    assert len(server.requests) == 1


@pytest.mark.parametrize("framing", ["chunked", "until_close"])
@pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.path.mode == "stream"], ids=str)
def test_a_stream_without_text_in_time_is_no_answer(server: Site, way: Way, framing: Any) -> None:
    server.warm(way)
    reply = clean(way)
    first = reply.body.index(b"\n\n") + 2 if way.path.provider != "OpenAIChat" else 5
    server.play(reply.but(cuts=(first,), pause_s=30, framing=framing))
    asked = server.ask(way, timeout_s=_LIMIT_S)
    assert isinstance(asked.error, DeadlineExceededError), asked
    assert asked.seconds <= _LIMIT_S + _GRACE_S


@pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.path.mode == "stream"], ids=str)
def test_a_stream_of_keep_alives_ends_at_the_deadline(server: Site, way: Way) -> None:
    server.warm(way)
    reply = clean(way)
    first = reply.body.index(b"\n\n") + 2
    body = reply.body[:first] + b": keep-alive\n\n" * 500
    cuts = tuple(range(first, len(body), len(b": keep-alive\n\n")))
    server.play(reply.but(body=body, cuts=cuts, pause_s=0.02))
    asked = server.ask(way, timeout_s=_LIMIT_S)
    assert isinstance(asked.error, DeadlineExceededError), asked
    assert asked.seconds <= _LIMIT_S + _GRACE_S


@pytest.mark.parametrize("way", ONE_WAY_PER_SDK[::3], ids=str)
def test_the_deadline_counts_over_all_attempts(server: Site, way: Way) -> None:
    """Case 044.4: the answers that came are kept, with their usage."""
    server.warm(way)
    first = way.reply(Answer(text='{"owner":1}'), wait_s=0.2)
    server.play(first, way.reply(Answer(text='{"owner":2}'), wait_s=30))
    asked = server.ask(way, timeout_s=0.6, retry=Retry(answers=5, transport=5))
    assert asked.waited >= 0.55
    assert asked.seconds <= 0.6 + _GRACE_S
    assert asked.result is not None, asked.error
    assert asked.result.status is Status.INVALID
    assert len(asked.result.attempts) == 1
    assert asked.result.usage.output_tokens == 7
    assert "time" in asked.result.findings[-1].message
    assert len(server.requests) == 2


@pytest.mark.parametrize("way", ONE_WAY_PER_SDK[::3], ids=str)
def test_the_deadline_counts_over_failed_requests(server: Site, way: Way) -> None:
    server.warm(way)
    server.play(error_reply(503, headers={"retry-after-ms": "100"}))
    asked = server.ask(way, timeout_s=0.35, retry=Retry(transport=100))
    assert asked.error is not None
    assert asked.seconds <= 0.35 + _GRACE_S
    assert 2 <= len(server.requests) <= 4


@_ASYNC
def test_a_timeout_around_the_call_ends_it_at_once(server: Site, way: Way) -> None:
    """Case 044.1: one request, and nothing goes on behind the caller's back."""
    provider = way.provider(server)

    async def warm_and_time_out() -> float:
        server.play(clean(way))
        await aextract(Box, TEXT, model=provider)
        server.play(clean(way, wait_s=30))
        watch = Watch()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(aextract(Box, TEXT, model=provider, retry=Retry(answers=5)), 0.2)
        return watch.stop()

    assert asyncio.run(warm_and_time_out()) < 0.5
    _one_request_that_was_left(server)
    provider.close()


@pytest.mark.parametrize("place", ["before the headers", "in the body", "in a wait"])
@_ASYNC
def test_a_cancelled_task_is_cancelled(server: Site, way: Way, place: str) -> None:
    """Case 044.2: cancellation is an order of the caller, and never tried again."""
    reply = clean(way)
    server.play(
        {
            "before the headers": reply.but(wait_s=30),
            "in the body": reply.but(cuts=(len(reply.body) // 2,), pause_s=30),
            "in a wait": error_reply(429, headers={"retry-after": "30"}),
        }[place]
    )
    provider = way.provider(server)
    assert asyncio.run(_cancel_soon(server, provider)) < 0.3
    provider.close()
    if place == "in a wait":
        assert len(server.requests) == 1
    else:
        _one_request_that_was_left(server)


async def _cancel_soon(server: Site, provider: Any) -> float:
    options: dict[str, Any] = {"retry": Retry(answers=5, transport=5), "model": provider}
    task = asyncio.create_task(aextract(Box, TEXT, **options))
    while not server.requests:
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.05)
    watch = Watch()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return watch.stop()


def _one_request_that_was_left(server: Site) -> None:
    server.settle()
    time.sleep(0.05)
    assert len(server.requests) == 1
    assert server.requests[0].left


@_ASYNC
def test_a_provider_serves_on_after_a_cancelled_call(server: Site, way: Way) -> None:
    provider = way.provider(server)

    async def cancelled_and_again() -> Box | None:
        server.play(clean(way, wait_s=30))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(aextract(Box, TEXT, model=provider), 0.05)
        server.play(clean(way))
        return (await aextract(Box, TEXT, model=provider)).value

    assert asyncio.run(cancelled_and_again()) == Box(owner="Ida", parts=["bolt"])
    provider.close()


def test_a_deadline_in_a_wait_is_told_with_what_failed(server: Site) -> None:
    way = EVERY_WAY[0]
    server.play(error_reply(429, headers={"retry-after-ms": "200"}))
    asked = server.ask(way, timeout_s=0.3, retry=Retry(transport=9))
    assert isinstance(asked.error, RateLimitError | DeadlineExceededError)
    assert asked.seconds <= 0.3 + _GRACE_S
