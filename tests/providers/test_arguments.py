"""What a caller gets wrong is said at once, and what a failure sends without end is not read."""

from __future__ import annotations

import asyncio
import gc
import gzip
from typing import Any

import openai
import pytest

from extractkit.errors import (
    AuthenticationError,
    ConnectError,
    DeadlineExceededError,
    ServerError,
    UsageError,
)
from extractkit.messages import Message, ModelRequest
from extractkit.providers import Anthropic, Compatible, OpenAIChat, OpenAIResponses
from extractkit.providers._bounded import MOST_FAILURE_BYTES
from tests.clock import Watch
from tests.providers.network import EVERY_WAY, ONE_WAY_PER_SDK, Site, Way, clean
from tests.providers.stage import KEY
from tests.server.script import Reply, every

ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
_ENDLESS = 6_000_000


# Keys from the environment


@pytest.mark.parametrize("stray", ["\n", " ", "\r\n", "\u00e9"])
@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        (OpenAIResponses, "OPENAI_API_KEY"),
        (Anthropic, "ANTHROPIC_API_KEY"),
        (Compatible, "EXTRACTKIT_API_KEY"),
    ],
)
def test_a_key_in_the_environment_that_cannot_be_sent_is_said_at_once(
    kind: Any, variable: str, stray: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACTKIT_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv(variable, f"{KEY}{stray}")
    provider = kind("m")
    for is_async in (False, True):
        with pytest.raises(AuthenticationError, match=f"variable {variable}: the key has") as found:
            asyncio.run(provider.acomplete(ASKED)) if is_async else provider.complete(ASKED)
        assert KEY not in str(found.value)
        assert not found.value.retryable


@pytest.mark.parametrize("url", ["http://host/v1?key=abcdefgh", "localhost:1"])
def test_an_address_in_the_environment_is_checked_like_an_argument(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(UsageError, match=r"OPENAI_BASE_URL\(base_url=") as found:
        OpenAIChat("m", api_key=KEY).complete(ASKED)
    assert "abcdefgh" not in str(found.value)


# Extras


@pytest.mark.parametrize(
    "headers",
    [
        {"x-a": "a\r\nb: c"},
        {"x-a": "a\n"},
        {"x-a": " a"},
        {"x-a": "\u00e9"},
        {"x-a": 5},
        {"x-a": b"a"},
        {"x-a": None},
        {"x\r\n-a": "a"},
        {"": "a"},
        {5: "a"},
    ],
)
def test_a_header_that_http_cannot_carry_is_refused(headers: Any) -> None:
    with pytest.raises(UsageError, match="extra_headers"):
        OpenAIChat("m", extra_headers=headers)


def test_a_wrong_header_is_refused_without_its_value() -> None:
    with pytest.raises(UsageError, match="not shown") as found:
        OpenAIChat("m", extra_headers={"authorization": f"Bearer {KEY}\n"})
    assert KEY not in str(found.value)


_ROUND: list[Any] = []
_ROUND.append(_ROUND)


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), float("inf"), b"x", {1}, "\ud800", _ROUND],
    ids=lambda value: type(value).__name__,
)
def test_a_body_that_json_cannot_write_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        OpenAIChat("m", extra_body={"foo": {"bar": value}})


def test_extras_are_what_they_were_when_given(server: Site) -> None:
    way = EVERY_WAY[0]
    server.play(clean(way))
    body: dict[str, Any] = {"nested": {"a": [1]}}
    provider = way.provider(server, extra_body=body)
    body["nested"]["a"].append(2)
    provider.complete(ASKED)
    provider.close()
    assert server.requests[0].body["nested"] == {"a": [1]}


# Clients of the caller


@pytest.mark.parametrize("value", ["a\r\nb: c", "\u00e9"])
def test_a_header_of_a_client_that_cannot_be_sent_is_not_tried_again(
    server: Site, value: str
) -> None:
    headers = {"x-a": value}
    client = openai.OpenAI(api_key=KEY, base_url=server.openai_url, default_headers=headers)
    with client, pytest.raises(ConnectError, match="cannot be written as HTTP") as found:
        OpenAIChat("m", client=client).complete(ASKED)
    assert not found.value.retryable


def _failing() -> str:
    raise KeyError(f"no token, only {KEY}")


def test_a_function_for_the_key_that_fails_is_an_error_of_ours(server: Site) -> None:
    client = openai.OpenAI(api_key=_failing, base_url=server.openai_url)
    with client, pytest.raises(AuthenticationError, match="for its key failed") as found:
        OpenAIChat("m", client=client).complete(ASKED)
    assert KEY not in str(found.value)
    assert server.requests == []


def test_an_error_of_the_callers_own_transport_is_left_alone() -> None:
    import httpx2

    def fail(_: httpx2.Request) -> httpx2.Response:
        raise LookupError("mine")

    http = httpx2.Client(transport=httpx2.MockTransport(fail))
    client = openai.OpenAI(api_key=KEY, http_client=http)
    with client, pytest.raises(LookupError, match="mine"):
        OpenAIChat("m", client=client).complete(ASKED)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_client_of_an_event_loop_that_has_ended_is_said_to_be_one(server: Site) -> None:
    way = next(way for way in EVERY_WAY if way.path.provider == "OpenAIChat")
    server.play(clean(way))
    client = openai.AsyncOpenAI(api_key=KEY, base_url=server.openai_url)
    provider = OpenAIChat("m", client=client)
    assert asyncio.run(provider.acomplete(ASKED)).text
    with pytest.raises(UsageError, match="make the client inside the loop"):
        asyncio.run(provider.acomplete(ASKED))
    del client, provider
    gc.collect()  # what the first loop left open warns here, and in no other test


# Failures that never end


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("way", ONE_WAY_PER_SDK, ids=str)
def test_of_the_body_of_a_failure_only_the_beginning_is_read(
    server: Site, way: Way, packed: bool
) -> None:
    server.warm(way)
    body = b"x" * _ENDLESS
    headers = {"content-type": "text/plain"}
    if packed:
        body = gzip.compress(body)
        headers["content-encoding"] = "gzip"
    server.play(Reply(status=500, headers=headers, body=body))
    asked = server.ask(way, timeout_s=5)
    assert isinstance(asked.error, ServerError)
    assert "xxx" in asked.error.message
    assert asked.seconds < 1
    server.play(clean(way))
    assert server.ask(way).box, "the connection whose rest was not read is not used again"


@pytest.mark.parametrize("way", ONE_WAY_PER_SDK, ids=str)
def test_a_failure_that_fits_is_read_whole(server: Site, way: Way) -> None:
    body = b'{"error": {"message": "%s end"}}' % (b" " * (MOST_FAILURE_BYTES - 40))
    server.play(Reply(status=500, headers={"content-type": "application/json"}, body=body))
    asked = server.ask(way)
    assert isinstance(asked.error, ServerError)
    assert ": end;" in asked.error.message


def test_bytes_that_never_stop_coming_end_at_the_deadline(server: Site) -> None:
    """Each read finds something at once, so that no wait is ever too long."""
    way = ONE_WAY_PER_SDK[0]
    server.warm(way)
    body = b" " * 3_000_000
    server.play(clean(way).but(body=body, cuts=every(1000, body), pause_s=0.0005))
    watch = Watch()
    asked = server.ask(way, timeout_s=0.3)
    assert isinstance(asked.error, DeadlineExceededError), asked
    assert watch.stop() < 0.8
