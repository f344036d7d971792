"""How long our own clients wait for a host that does not answer at all."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from httpcore2 import ConnectError as ConnectError2
from httpcore2 import ConnectTimeout
from pydantic import BaseModel

from extractkit import aextract, extract
from extractkit.errors import ConnectError, DeadlineExceededError, RequestTimeoutError
from extractkit.messages import Message, ModelRequest
from extractkit.providers import Anthropic, Compatible, OpenAIChat, _bounded
from tests.clock import Watch

ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
both = pytest.mark.parametrize("driver", ["sync", "async"])


class City(BaseModel):
    name: str


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Importing an SDK takes longer than what is measured here."""
    openai.OpenAI(api_key="x").close()
    anthropic.Anthropic(api_key="x").close()
    for driver in ("sync", "async"):
        with pytest.raises(ConnectError):
            ask(Compatible("m", base_url="http://127.0.0.1:9/v1"), driver)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port whose queue is full: what wants to connect hears nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        place = listening.getsockname()
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(place)
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(place) == 0:
                pytest.skip("a full queue refuses nobody on this system")
        _bounded.forget_reached()
        yield int(place[1])
        _bounded.forget_reached()
        for one in waiting:
            one.close()


def ask(provider: Any, driver: str, timeout_s: float | None = 30.0) -> None:
    try:
        if driver == "sync":
            provider.complete(ASKED, timeout_s=timeout_s)
        else:
            asyncio.run(provider.acomplete(ASKED, timeout_s=timeout_s))
    finally:
        provider.close()


@both
def test_a_host_that_never_answers_is_an_error_within_a_second(silent: int, driver: str) -> None:
    provider = Compatible("m", base_url=f"http://127.0.0.1:{silent}/v1")
    watch = Watch()
    with pytest.raises(ConnectError, match=r"no connection within 0\.8 s.*check the.*base URL"):
        if driver == "sync":
            extract(City, "Oslo", model=provider)
        else:
            asyncio.run(aextract(City, "Oslo", model=provider))
    assert watch.stop() < 1.0
    provider.close()


@both
def test_anthropic_s_host_is_waited_for_no_longer(silent: int, driver: str) -> None:
    with pytest.raises(ConnectError) as found:
        ask(Anthropic("m", base_url=f"http://127.0.0.1:{silent}", api_key="none"), driver)
    assert not found.value.retryable


@both
def test_a_host_that_has_been_reached_is_waited_for_as_long_as_there_is_time(
    silent: int, driver: str
) -> None:
    with _bounded.Connecting("127.0.0.1", silent, 5.0):
        """A connection comes about."""
    began = time.monotonic()
    with pytest.raises(DeadlineExceededError):
        ask(Compatible("m", base_url=f"http://127.0.0.1:{silent}/v1"), driver, timeout_s=1.1)
    assert time.monotonic() - began > 1.0


@both
def test_a_deadline_before_that_is_a_deadline(silent: int, driver: str) -> None:
    with pytest.raises(DeadlineExceededError):
        ask(Compatible("m", base_url=f"http://127.0.0.1:{silent}/v1"), driver, timeout_s=0.3)


def test_a_client_of_the_callers_waits_as_long_as_it_says(silent: int) -> None:
    client = openai.OpenAI(
        api_key="none",
        base_url=f"http://127.0.0.1:{silent}/v1",
        timeout=httpx2.Timeout(5, connect=1.1),
    )
    began = time.monotonic()
    with pytest.raises(RequestTimeoutError) as found:
        OpenAIChat("m", client=client).complete(ASKED)
    assert time.monotonic() - began > 1.0
    assert found.value.retryable
    client.close()


def lost(place: str, wait_s: float | None, meanwhile: bool) -> tuple[float | None, str]:
    """Return how long a connection was waited for that did not come, and what that was."""

    def never_open() -> None:
        raise ConnectTimeout("nothing")

    connecting = _bounded.Connecting(place, 1, wait_s)
    with pytest.raises((ConnectError2, ConnectTimeout)) as found, connecting:
        if meanwhile:
            with _bounded.Connecting(place, 1, wait_s):
                """Another one came about."""
        never_open()
    _bounded.forget_reached()
    return connecting.timeout, found.type.__name__


@pytest.mark.parametrize(
    ("wait_s", "meanwhile", "expected"),
    [
        (5.0, False, (0.8, "ConnectError")),
        (None, False, (0.8, "ConnectError")),
        (0.5, False, (0.5, "ConnectTimeout")),  # the library's own wait, or the call's end
        (5.0, True, (0.8, "ConnectTimeout")),  # one of many that were opened at once got lost
    ],
)
def test_only_a_first_connection_that_was_cut_short_is_a_wrong_place(
    wait_s: float | None, meanwhile: bool, expected: tuple[float, str]
) -> None:
    assert lost("host.example", wait_s, meanwhile) == expected


class Busy:
    """Opens connections in a loop that something else keeps busy; the first one fails."""

    def __init__(self, busy_s: float, failure: type[Exception] = ConnectTimeout) -> None:
        self._busy_s = busy_s
        self._failure = failure
        self.waits: list[float | None] = []

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None) -> Opened:
        self.waits.append(timeout)
        if len(self.waits) == 1:
            time.sleep(self._busy_s)
            raise self._failure
        return Opened(f"{host}:{port}")


class Opened:
    """A stream to a place, over a socket that may be given."""

    def __init__(self, place: str, given: socket.socket | None = None) -> None:
        self._known = {"server_addr": place, "socket": given}

    def get_extra_info(self, info: str) -> object:
        return self._known[info]

    async def start_tls(self, ssl_context: object, server_hostname: str | None = None) -> Opened:
        return self


def test_a_loop_that_had_no_time_to_connect_tries_again_as_the_library_does() -> None:
    _bounded.forget_reached()
    late, in_time = Busy(_bounded.FIRST_CONNECT_S + 0.15), Busy(0.0)
    opening: Any = _bounded._AsyncBackend  # pyright: ignore[reportPrivateUsage]  # as clients do
    opened: Any = asyncio.run(opening(late).connect_tcp("host.example", 1, 5.0))
    assert opened.get_extra_info("server_addr") == "host.example:1"
    assert late.waits == [0.8, 5.0]
    with pytest.raises(ConnectError2, match=r"no connection within 0\.8 s"):
        asyncio.run(opening(in_time).connect_tcp("host.example", 1, 5.0))
    assert in_time.waits == [0.8]


@pytest.mark.parametrize(("reached", "wait_s"), [(False, 0.8), (True, 5.0)])
def test_a_refusal_that_came_late_is_not_tried_again(reached: bool, wait_s: float) -> None:
    _bounded.forget_reached()
    if reached:
        with _bounded.Connecting("host.example", 1, 5.0):
            """A connection comes about."""
    refused = Busy(_bounded.FIRST_CONNECT_S + 0.15, ConnectError2)
    opening: Any = _bounded._AsyncBackend  # pyright: ignore[reportPrivateUsage]  # as clients do
    with pytest.raises(ConnectError2):
        asyncio.run(opening(refused).connect_tcp("host.example", 1, 5.0))
    assert refused.waits == [wait_s]
    _bounded.forget_reached()


@pytest.mark.parametrize("secured", [False, True])
def test_a_connection_is_readable_when_something_lies_there_or_it_was_closed(
    secured: bool,
) -> None:
    ours, theirs = socket.socketpair()
    stream: Any = _bounded._AsyncStream(Opened("x:1", ours))  # pyright: ignore[reportPrivateUsage]
    if secured:
        stream = asyncio.run(stream.start_tls(None, server_hostname="x"))
    seen = [stream.get_extra_info("is_readable")]
    theirs.send(b"x")
    seen.append(stream.get_extra_info("is_readable"))
    ours.recv(1)
    seen.append(stream.get_extra_info("is_readable"))
    theirs.close()
    seen.append(stream.get_extra_info("is_readable"))
    ours.close()
    seen.append(stream.get_extra_info("is_readable"))
    assert seen == [False, True, False, True, True]
    nothing: Any = _bounded._AsyncStream(Opened("x:1"))  # pyright: ignore[reportPrivateUsage]
    assert nothing.get_extra_info("is_readable")


def test_a_place_that_was_reached_is_waited_for_as_the_library_does() -> None:
    with _bounded.Connecting("host.example", 1, 5.0):
        """A connection comes about."""
    assert _bounded.Connecting("host.example", 1, 5.0).timeout == 5.0
    assert _bounded.Connecting("host.example", 1, None).timeout is None
    assert _bounded.Connecting("other.example", 1, 5.0).timeout == 0.8
    _bounded.forget_reached()
