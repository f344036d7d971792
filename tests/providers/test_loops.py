"""Event loops, threads and clients of the caller: case 043. Warnings are errors, as everywhere."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from extractkit import Retry, aextract, extract
from extractkit.errors import UsageError
from extractkit.providers._loops import end_before
from tests.providers.network import EVERY_WAY, Way, clean
from tests.providers.stage import KEY, TEXT, Box
from tests.server.answers import Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply

_BOX = Box(owner="Ida", parts=["bolt"], note=None)
_SYNC = pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.driver == "sync"], ids=str)
_ASYNC = pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.driver == "async"], ids=str)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running
        # What nobody closed would warn now, and a warning fails the test.
        gc.collect()


async def _ask(provider: Any, text: str = TEXT) -> Box | None:
    retry = Retry(answers=0, transport=0)
    return (await aextract(Box, text, model=provider, retry=retry, timeout_s=10)).value


def _ask_now(provider: Any, text: str = TEXT) -> Box | None:
    retry = Retry(answers=0, transport=0)
    return extract(Box, text, model=provider, retry=retry, timeout_s=10).value


@_SYNC
def test_two_calls_in_a_row_are_two_requests(server: Loopback, way: Way) -> None:
    server.play(clean(way))
    provider = way.provider(server)
    assert [_ask_now(provider), _ask_now(provider)] == [_BOX, _BOX]
    assert len(server.requests) == 2
    provider.close()


@_ASYNC
def test_one_provider_serves_one_loop_after_another(server: Loopback, way: Way) -> None:
    server.play(clean(way))
    provider = way.provider(server)
    for _ in range(3):
        assert asyncio.run(_ask(provider)) == _BOX
    assert len(server.requests) == 3
    provider.close()


@_SYNC
def test_a_closed_loop_of_the_thread_does_not_matter(server: Loopback, way: Way) -> None:
    server.play(clean(way))
    provider = way.provider(server)

    def with_a_closed_loop() -> Box | None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.close()
        try:
            return _ask_now(provider)
        finally:
            asyncio.set_event_loop(None)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(with_a_closed_loop).result() == _BOX
    assert len(server.requests) == 1
    provider.close()


@_SYNC
def test_a_call_inside_a_running_loop_works_or_names_aextract(server: Loopback, way: Way) -> None:
    server.play(clean(way))
    provider = way.provider(server)

    async def as_in_a_notebook() -> Box | None:
        return _ask_now(provider)

    try:
        assert asyncio.run(as_in_a_notebook()) == _BOX
    except UsageError as error:
        assert "aextract" in error.message
    provider.close()


@pytest.mark.parametrize("way", EVERY_WAY, ids=str)
def test_eight_threads_at_once_get_their_own_answers(server: Loopback, way: Way) -> None:
    """Each thread asks for its own owner; half of them must be under way at the same time."""
    meeting = threading.Barrier(4)

    def script(request: Recorded) -> Reply:
        said = str(request.body)
        owner = next(f"Owner{number}" for number in range(8) if f"Owner{number}" in said)
        text = f'{{"owner":"{owner}","parts":["bolt"],"note":null}}'
        return way.reply(Answer(text=text), wait_s=0.05)

    server.play_by(script)
    provider = way.provider(server)

    def one(number: int) -> str | None:
        text = f"Owner{number} has a box that holds one bolt."
        meeting.wait(5)
        box = (
            _ask_now(provider, text) if way.driver == "sync" else asyncio.run(_ask(provider, text))
        )
        return box.owner if box else None

    with ThreadPoolExecutor(8) as pool:
        owners = list(pool.map(one, range(8)))
    assert owners == [f"Owner{number}" for number in range(8)]
    assert len(server.requests) == 8
    provider.close()


@_ASYNC
def test_many_calls_of_one_loop_run_side_by_side(server: Loopback, way: Way) -> None:
    server.play(clean(way, wait_s=0.5))
    provider = way.provider(server)

    async def many() -> list[Box | None]:
        return await asyncio.gather(*(_ask(provider) for _ in range(20)))

    loop_time = asyncio.run(_timed(many()))
    assert loop_time < 5
    assert len(server.requests) == 20
    provider.close()


async def _timed(work: Any) -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert set(map(str, await work)) == {str(_BOX)}
    return loop.time() - began


@_ASYNC
def test_the_loop_is_not_blocked_while_an_answer_is_awaited(server: Loopback, way: Way) -> None:
    server.play(clean(way, wait_s=0.3))
    provider = way.provider(server)

    async def with_a_pulse() -> int:
        beats = 0
        task = asyncio.create_task(_ask(provider))
        while not task.done():
            await asyncio.sleep(0.01)
            beats += 1
        assert await task == _BOX
        return beats

    assert asyncio.run(with_a_pulse()) > 10
    provider.close()


def _sdk(way: Way) -> tuple[Any, str]:
    """Return the SDK's client class and the name of the attribute that says where it asks."""
    import anthropic
    import openai

    if way.path.provider == "Anthropic":
        return (anthropic.Anthropic if way.driver == "sync" else anthropic.AsyncAnthropic), "url"
    return (openai.OpenAI if way.driver == "sync" else openai.AsyncOpenAI), "openai_url"


@pytest.mark.parametrize("way", EVERY_WAY, ids=str)
def test_a_client_of_the_caller_is_used_and_neither_closed_nor_changed(
    server: Loopback, way: Way
) -> None:
    from extractkit import providers

    server.play(clean(way))
    kind, where = _sdk(way)
    client = kind(
        base_url=getattr(server, where),
        api_key=KEY,
        max_retries=7,
        timeout=12.5,
        default_headers={"x-of-the-caller": "yes"},
    )
    model = "claude-sonnet-4-5" if way.path.provider == "Anthropic" else "gpt-4.1"
    provider = getattr(providers, way.path.provider)(
        model, client=client, streaming=way.path.mode == "stream"
    )
    if way.driver == "sync":
        assert _ask_now(provider) == _BOX
        provider.close()
        assert not client.is_closed()
        client.close()
    else:

        async def use() -> None:
            assert await _ask(provider) == _BOX
            provider.close()
            assert not client.is_closed()
            await client.close()

        asyncio.run(use())
    (request,) = server.requests
    assert request.headers["x-of-the-caller"] == "yes"
    assert (client.max_retries, client.timeout) == (7, 12.5)
    assert KEY not in repr(provider)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@_SYNC
def test_a_provider_serves_on_in_a_forked_child(server: Loopback, way: Way) -> None:
    """Parent and child never write to the same connection."""
    server.play(clean(way))
    provider = way.provider(server)
    assert _ask_now(provider) == _BOX
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if _ask_now(provider) == _BOX else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert _ask_now(provider) == _BOX
    connections = [request.connection for request in server.requests]
    assert connections == [0, 1, 0]
    provider.close()


@pytest.mark.parametrize("how", ["close", "aclose", "close twice", "close later", "never"])
@pytest.mark.parametrize("way", EVERY_WAY[1::4], ids=str)
def test_closing_leaves_no_connection_open_wherever_it_is_done(way: Way, how: str) -> None:
    """A transport that nobody closed warns when it is collected."""
    with Loopback(clean(way)) as server:
        provider = way.provider(server)

        async def use(provider: Any) -> None:
            assert await _ask(provider) == _BOX
            if how == "aclose":
                await provider.aclose()
            elif how in ("close", "close twice"):
                provider.close()

        asyncio.run(use(provider))
        if how in ("close twice", "close later"):
            provider.close()
        del provider
        gc.collect()
        until = time.monotonic() + 2
        while server.open_connections and time.monotonic() < until:
            time.sleep(0.005)
        assert server.open_connections == 0


@_ASYNC
def test_closing_between_two_runs_of_a_loop_leaves_no_connection_open(way: Way) -> None:
    with Loopback(clean(way)) as server:
        provider = way.provider(server)
        with asyncio.Runner() as runner:
            assert runner.run(_ask(provider)) == _BOX
            provider.close()
        del provider
        gc.collect()


@pytest.mark.parametrize("way", EVERY_WAY[:4], ids=str)
def test_a_closed_provider_says_so(server: Loopback, way: Way) -> None:
    provider = way.provider(server)
    provider.close()
    with pytest.raises(UsageError, match="closed"):
        _ask_now(provider) if way.driver == "sync" else asyncio.run(_ask(provider))
    assert server.requests == []


@_ASYNC
def test_a_loop_that_is_only_closed_leaves_no_connection_open(server: Loopback, way: Way) -> None:
    server.play(clean(way))
    provider, other = way.provider(server), way.provider(server)
    for _ in range(2):
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(_ask(provider)) == _BOX
        assert loop.run_until_complete(_ask(other)) == _BOX
        loop.close()
        assert loop.is_closed()
        loop.close()  # as often as anybody likes
        del loop
        gc.collect()
    provider.close()
    other.close()


def test_a_loop_that_is_closed_while_another_one_runs_leaves_none_open(server: Loopback) -> None:
    way = next(way for way in EVERY_WAY if way.driver == "async")
    server.play(clean(way))
    provider = way.provider(server)
    loops = [asyncio.new_event_loop()]
    assert loops[0].run_until_complete(_ask(provider)) == _BOX

    async def close_it() -> None:
        loops.pop().close()

    asyncio.run(close_it())
    gc.collect()
    provider.close()


def test_a_loop_that_takes_no_other_close_is_left_alone() -> None:
    class Fixed:
        __slots__ = ("__weakref__",)

        def close(self) -> None: ...

    async def keep() -> AsyncGenerator[None, None]:
        yield

    fixed: Any = Fixed()
    keeper = keep()
    end_before(fixed, keeper)
    assert type(fixed.close).__name__ == "method"
    asyncio.run(keeper.aclose())
