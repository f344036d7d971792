"""One exchange: bytes, time, and what a broken answer becomes, for our clients and the caller's."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from extractkit.errors import (
    ConnectError,
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    NotFoundError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import (
    Constraint,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    StopReason,
)
from extractkit.providers import Anthropic, OpenAIChat, _exchange
from extractkit.providers._bounded import bound, ending_at
from extractkit.providers._exchange import Budget
from extractkit.providers._watchdog import _watchdog
from tests.clock import Watch
from tests.server.answers import Answer
from tests.server.endings import WHOLE, reply_of
from tests.server.loopback import Loopback
from tests.server.script import Reply, error_reply, every, gzipped, html_page, json_reply

KEY = "sk-scripted-secret"
ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
GRACE_S = 0.25

Driver = str
both = pytest.mark.parametrize("driver", ["sync", "async"])
Handler = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Importing an SDK takes longer than the deadlines of these tests."""
    openai.OpenAI(api_key="x").close()
    anthropic.Anthropic(api_key="x").close()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def _chat(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", **{"base_url": server.openai_url, "api_key": KEY, **options})


def _mocked(handler: Handler, driver: Driver, **options: Any) -> OpenAIChat:
    transport = httpx2.MockTransport(handler)
    if driver == "sync":
        http = openai.DefaultHttpx2Client(transport=transport)
        return OpenAIChat("m", client=openai.OpenAI(api_key=KEY, http_client=http), **options)
    other = openai.DefaultAsyncHttpx2Client(transport=transport)
    return OpenAIChat("m", client=openai.AsyncOpenAI(api_key=KEY, http_client=other), **options)


def _ask(
    provider: Any, driver: Driver, *, request: ModelRequest = ASKED, timeout_s: float | None = 10
) -> ModelResponse:
    if driver == "sync":
        answer: ModelResponse = provider.complete(request, timeout_s=timeout_s)
        return answer
    return asyncio.run(provider.acomplete(request, timeout_s=timeout_s))


def _stream(provider: Any, driver: Driver, timeout_s: float | None = 10) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [delta async for delta in provider.astream(ASKED, timeout_s=timeout_s)]

    return (
        list(provider.stream(ASKED, timeout_s=timeout_s))
        if driver == "sync"
        else asyncio.run(collect())
    )


def _plain(**changes: Any) -> Reply:
    return reply_of(Answer(text=WHOLE), "chat", "plain").but(**changes)


def _events(**changes: Any) -> Reply:
    return reply_of(Answer(text=WHOLE), "chat", "stream").but(**changes)


@both
def test_a_plain_answer_is_read_whole_with_where_it_came_from(
    server: Loopback, driver: Driver
) -> None:
    server.play(_plain())
    answer = _ask(_chat(server), driver)
    assert (answer.text, answer.stop) == (WHOLE, StopReason.STOP)
    assert answer.request_id == "req_openai"
    assert answer.details["base_url"] == server.openai_url
    assert answer.details["endpoint"] == "/chat/completions"
    assert "headers" not in answer.details
    sent = server.requests[0]
    assert sent.body["model"] == "m"
    assert "stream" not in sent.body
    assert sent.headers["x-stainless-retry-count"] == "0"
    assert sent.headers["authorization"] == f"Bearer {KEY}"


@both
def test_a_stream_gives_pieces_that_make_up_the_answer(server: Loopback, driver: Driver) -> None:
    server.play(_events())
    pieces = _stream(_chat(server), driver)
    assert len(pieces) > 2
    assert "".join(piece.text for piece in pieces) == WHOLE
    assert all(piece.response is None for piece in pieces[:-1])
    assert pieces[-1].response is not None
    assert pieces[-1].response.text == WHOLE
    assert server.requests[0].body["stream"] is True


@both
def test_streaming_and_plain_give_the_same_answer(server: Loopback, driver: Driver) -> None:
    server.play(_plain(), _events())
    plain = _ask(_chat(server), driver)
    streamed = _ask(_chat(server, streaming=True), driver)
    assert (plain.text, plain.stop, plain.usage) == (streamed.text, streamed.stop, streamed.usage)


@both
@pytest.mark.parametrize("make", [_plain, _events], ids=["plain", "stream"])
def test_gzip_is_decoded(server: Loopback, driver: Driver, make: Any) -> None:
    server.play(gzipped(make()))
    assert _ask(_chat(server, streaming=make is _events), driver).text == WHOLE


@both
def test_a_server_that_cannot_stream_is_read_all_the_same(server: Loopback, driver: Driver) -> None:
    server.play(_plain())
    pieces = _stream(_chat(server), driver)
    assert len(pieces) == 1
    assert pieces[0].response is not None
    assert pieces[0].response.text == WHOLE


@both
def test_a_last_event_without_its_blank_line_is_not_lost(driver: Driver) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "{}"}, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(chunk)}".encode()
    headers = {"content-type": "text/event-stream"}
    pieces = _stream(
        _mocked(lambda _: httpx2.Response(200, content=body, headers=headers), driver), driver
    )
    assert "".join(piece.text for piece in pieces) == "{}"


@both
@pytest.mark.parametrize("streaming", [False, True])
def test_a_page_of_html_is_shown_by_its_beginning(
    server: Loopback, driver: Driver, streaming: bool
) -> None:
    server.play(html_page())
    with pytest.raises(MalformedResponseError, match=r"text/html.*doctype html") as caught:
        _ask(_chat(server, streaming=streaming), driver)
    assert caught.value.provider == "openai"
    assert caught.value.model == "m"
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"", "it is empty"), (b"\xff\xfe", "no JSON"), (b"[1]", "list"), (b"sk-abcdefghijk", "key")],
)
def test_a_body_that_is_no_answer_is_told(body: bytes, words: str) -> None:
    provider = _mocked(lambda _: httpx2.Response(200, content=body), "sync")
    with pytest.raises(MalformedResponseError, match=words) as caught:
        _ask(provider, "sync")
    assert "abcdefghijk" not in caught.value.message


@both
def test_a_body_that_ends_early_is_a_broken_connection(server: Loopback, driver: Driver) -> None:
    """With a length the HTTP library sees it; without one, the JSON tells."""
    half = len(_plain().body) // 2
    for reply in (
        _plain(drop_at=half),
        _plain(drop_at=half, framing="chunked"),
        _plain(drop_at=half, framing="until_close"),
        _plain(drop_at=half, reset=True),
    ):
        server.play(reply)
        with pytest.raises(ConnectError) as caught:
            _ask(_chat(server), driver)
        assert caught.value.retryable
        assert caught.value.request_id == "req_openai"


def test_json_that_ends_early_in_a_whole_body_is_malformed() -> None:
    provider = _mocked(lambda _: httpx2.Response(200, content=b'{"choices": ['), "sync")
    with pytest.raises(MalformedResponseError, match="no JSON"):
        _ask(provider, "sync")


@both
def test_what_came_of_a_stream_before_it_broke_is_kept(server: Loopback, driver: Driver) -> None:
    reply = _events()
    server.play(reply.but(drop_at=reply.cuts[2]))
    pieces = _stream(_chat(server), driver)
    answer = pieces[-1].response
    assert answer is not None
    assert answer.text
    assert WHOLE.startswith(answer.text)
    assert "".join(piece.text for piece in pieces) == answer.text
    assert answer.stop is StopReason.LENGTH
    assert answer.stop_detail == f"the connection broke after {len(answer.text)} characters"
    assert answer.broken
    assert not answer.usage.is_complete


@both
def test_a_stream_that_breaks_before_any_text_is_an_error(server: Loopback, driver: Driver) -> None:
    server.play(_events(drop_at=10))
    with pytest.raises(ConnectError) as caught:
        _stream(_chat(server), driver)
    assert caught.value.retryable


def test_a_stream_that_breaks_after_its_end_is_whole() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "{}"}, "finish_reason": "stop"}]}

    class Breaking(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield f"data: {json.dumps(chunk)}\n\n".encode()
            raise httpx2.RemoteProtocolError("peer closed")

    headers = {"content-type": "text/event-stream"}
    provider = _mocked(lambda _: httpx2.Response(200, stream=Breaking(), headers=headers), "sync")
    answer = _stream(provider, "sync")[-1].response
    assert answer is not None
    assert answer.stop is StopReason.STOP
    assert "peer closed" in answer.broken


@both
def test_an_event_that_reports_a_failure_is_an_error_even_after_text(driver: Driver) -> None:
    first = {"choices": [{"index": 0, "delta": {"content": "{"}, "finish_reason": None}]}
    second = {"error": {"message": "too many", "code": 429}}
    body = f"data: {json.dumps(first)}\n\ndata: {json.dumps(second)}\n\n".encode()
    headers = {"content-type": "text/event-stream", "x-request-id": "req_7"}
    provider = _mocked(lambda _: httpx2.Response(200, content=body, headers=headers), driver)
    with pytest.raises(RateLimitError, match="too many") as caught:
        _stream(provider, driver)
    assert caught.value.request_id == "req_7"
    assert caught.value.provider == "openai"


@both
def test_a_prompt_that_a_filter_stops_is_an_ending_and_no_error(driver: Driver) -> None:
    """Azure answers it with HTTP 400."""
    error = {"code": "content_filter", "message": "The prompt was filtered", "param": "prompt"}
    provider = _mocked(lambda _: httpx2.Response(400, json={"error": error}), driver)
    answer = _ask(provider, driver)
    assert (answer.text, answer.stop) == ("", StopReason.CONTENT_FILTER)
    assert answer.details["error"]["message"] == "The prompt was filtered"
    assert not answer.usage.is_complete


@both
def test_a_failure_is_asked_once_and_told_with_all_facts(server: Loopback, driver: Driver) -> None:
    server.play(error_reply(429, message=f"your key {KEY}", headers={"retry-after": "7"}))
    with pytest.raises(RateLimitError) as caught:
        _ask(_chat(server), driver)
    error = caught.value
    assert len(server.requests) == 1
    assert (error.provider, error.model, error.status_code) == ("openai", "m", 429)
    assert (error.request_id, error.retry_after_s, error.attempts) == ("req_openai", 7.0, 1)
    assert KEY not in f"{error}{error!r}{error.__dict__}"


def test_a_key_of_no_usual_form_is_not_repeated_either() -> None:
    odd = "MyOwnKey-0815"

    def echo(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(401, json={"error": {"message": f"bad {odd}"}})

    http = openai.DefaultHttpx2Client(transport=httpx2.MockTransport(echo))
    provider = OpenAIChat("m", client=openai.OpenAI(api_key=odd, http_client=http))
    with pytest.raises(ExtractkitError) as caught:
        _ask(provider, "sync")
    assert odd not in str(caught.value)
    assert caught.value.__cause__ is None, "a traceback would show it"


def test_a_refusal_names_the_parameter_that_this_request_has() -> None:
    def refuse(_: httpx2.Request) -> httpx2.Response:
        error = {"param": "response_format", "message": "response_format is not supported"}
        return httpx2.Response(400, json={"error": error})

    def refuse_logprobs(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(403, json={"error": {"message": "logprobs are not allowed"}})

    provider = _mocked(refuse, "sync")
    base = {"messages": ASKED.messages, "top_logprobs": None}
    for request, parameter in (
        (ModelRequest(**base, constraint=Constraint(schema={"type": "object"})), "constraint"),
        (ModelRequest(**base, json_mode=True), "json_mode"),
        (ASKED, None),
    ):
        with pytest.raises(ExtractkitError) as caught:
            _ask(provider, "sync", request=request)
        assert caught.value.parameter == parameter  # type: ignore[attr-defined]
    provider = _mocked(refuse_logprobs, "sync")
    for request, parameter in (
        (ModelRequest(messages=ASKED.messages), "top_logprobs"),
        (ASKED, None),
    ):
        with pytest.raises(ExtractkitError) as caught:
            _ask(provider, "sync", request=request)
        assert caught.value.parameter == parameter  # type: ignore[attr-defined]


def test_amazons_own_stream_is_refused_with_the_way_out() -> None:
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    provider = _mocked(lambda _: httpx2.Response(200, content=b"\0", headers=headers), "sync")
    with pytest.raises(UnsupportedError, match="streaming=False"):
        _stream(provider, "sync")


@both
def test_an_answer_without_end_is_given_up(
    server: Loopback, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exchange, "MOST_BYTES", 10_000)
    bomb = gzip.compress(b" " * 20_000)
    reply = Reply(headers={"content-encoding": "gzip"}, body=bomb)
    for reply_ in (_plain(body=b" " * 20_000), reply):
        server.play(reply_)
        with pytest.raises(MalformedResponseError, match="longer than 10000 bytes"):
            _ask(_chat(server), driver)


@both
def test_broken_gzip_is_malformed(server: Loopback, driver: Driver) -> None:
    server.play(_plain().but(headers={"content-encoding": "gzip"}))
    with pytest.raises(MalformedResponseError, match="decoded"):
        _ask(_chat(server), driver)


@both
def test_nobody_at_home_is_said_at_once(driver: Driver) -> None:
    provider = OpenAIChat("m", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    watch = Watch()
    with pytest.raises(ConnectError, match=r"127\.0\.0\.1") as caught:
        _ask(provider, driver)
    assert watch.stop() < 1
    assert not caught.value.retryable


def test_a_redirect_to_a_page_is_followed_and_a_status_3xx_is_not_an_answer() -> None:
    provider = _mocked(lambda _: httpx2.Response(304), "sync")
    with pytest.raises(NotFoundError, match="base URL"):
        _ask(provider, "sync")


# Time


def _slow(kind: str) -> Reply:
    plain = _plain()
    return {
        "no headers": plain.but(wait_s=30),
        "headers byte by byte": plain.but(head_pause_s=0.03),
        "body byte by byte": plain.but(cuts=every(1, plain.body), pause_s=0.03),
        "a body that stops": plain.but(cuts=(len(plain.body) // 2,), pause_s=30),
        "a failure byte by byte": error_reply(500).but(cuts=every(1, plain.body), pause_s=0.03),
    }[kind]


_KINDS = [
    "no headers",
    "headers byte by byte",
    "body byte by byte",
    "a body that stops",
    "a failure byte by byte",
]


@both
@pytest.mark.parametrize("kind", _KINDS)
def test_our_own_clients_end_at_the_deadline(server: Loopback, driver: Driver, kind: str) -> None:
    provider = _chat(server)
    server.play(_plain())
    _ask(provider, driver)  # a connection that is used again ends as well
    server.play(_slow(kind))
    _ends_in_time(provider, driver)


@both
@pytest.mark.parametrize("kind", ["no headers", "body byte by byte", "a body that stops"])
def test_the_callers_clients_end_at_the_deadline(
    server: Loopback, driver: Driver, kind: str
) -> None:
    server.play(_slow(kind))
    make: Any = openai.OpenAI if driver == "sync" else openai.AsyncOpenAI
    with_client = OpenAIChat("m", client=make(base_url=server.openai_url, api_key=KEY))
    _ends_in_time(with_client, driver)


def _ends_in_time(provider: Any, driver: Driver) -> None:
    watch = Watch()
    with pytest.raises(DeadlineExceededError, match="raise timeout_s") as caught:
        _ask(provider, driver, timeout_s=0.3)
    assert watch.stop() < 0.3 + GRACE_S
    assert caught.value.timeout_s == 0.3


@both
def test_a_stream_ends_at_the_deadline_even_after_text(server: Loopback, driver: Driver) -> None:
    reply = _events()
    server.play(reply.but(pause_s=0.2))
    watch = Watch()
    deltas = _stream(_chat(server), driver, timeout_s=0.5)
    assert watch.stop() < 0.5 + GRACE_S
    answer = deltas[-1].response
    assert answer is not None
    assert answer.text == "".join(delta.text for delta in deltas)
    assert answer.text
    assert (answer.stop, answer.broken) == (StopReason.LENGTH, "")
    assert answer.stop_detail == f"timeout_s ended after {len(answer.text)} characters"
    assert not answer.usage.is_complete


@both
def test_a_clients_own_timeout_is_of_one_request(server: Loopback, driver: Driver) -> None:
    server.play(_plain(wait_s=30))
    make: Any = openai.OpenAI if driver == "sync" else openai.AsyncOpenAI
    for timeout in (0.2, httpx2.Timeout(5, read=0.2)):
        client = make(base_url=server.openai_url, api_key=KEY, timeout=timeout)
        for limit in (10, None):
            with pytest.raises(RequestTimeoutError) as caught:
                _ask(OpenAIChat("m", client=client), driver, timeout_s=limit)
            assert caught.value.retryable


def test_a_client_without_timeouts_has_the_deadline(server: Loopback) -> None:
    server.play(_plain(wait_s=30))
    client = openai.OpenAI(base_url=server.openai_url, api_key=KEY, timeout=None)
    _ends_in_time(OpenAIChat("m", client=client), "sync")


@both
def test_no_time_at_all_sends_nothing(server: Loopback, driver: Driver) -> None:
    server.play(_plain())
    with pytest.raises(DeadlineExceededError):
        _ask(_chat(server), driver, timeout_s=0)
    assert not server.requests


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_a_time_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(UsageError, match="timeout_s"):
        Budget(timeout)


def test_the_watch_ends_with_the_call(server: Loopback) -> None:
    server.play(_plain(cuts=(20,), pause_s=0.01))
    client = openai.OpenAI(base_url=server.openai_url, api_key=KEY)
    provider = OpenAIChat("m", client=client)
    threads = [
        threading.Thread(target=_ask, args=(provider, "sync"), kwargs={"timeout_s": 1.0 + n / 10})
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not _watchdog._watched
    client.close()


def test_a_cancelled_call_ends_at_once_and_is_not_an_error_of_ours(server: Loopback) -> None:
    server.play(_plain(wait_s=30))

    async def cancel() -> float:
        task = asyncio.create_task(_chat(server).acomplete(ASKED, timeout_s=60))
        await asyncio.sleep(0.2)
        watch = Watch()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return watch.stop()

    assert asyncio.run(cancel()) < GRACE_S


@both
def test_a_stream_that_nobody_reads_on_lets_its_connection_go(
    server: Loopback, driver: Driver
) -> None:
    server.play(_events(pause_s=0.05))
    provider = _chat(server)

    async def leave() -> None:
        pieces = provider.astream(ASKED)
        await anext(pieces)
        await pieces.aclose()

    if driver == "sync":
        pieces = provider.stream(ASKED)
        next(pieces)
        pieces.close()
    else:
        asyncio.run(leave())
    server.settle()
    assert server.requests[0].left
    provider.close()


def test_a_client_without_connections_of_the_known_kind_is_left_as_it_is() -> None:
    bound(object())
    with ending_at(None):
        pass


# The other SDK


@both
def test_the_other_sdk_goes_the_same_way(server: Loopback, driver: Driver) -> None:
    provider = Anthropic("m", base_url=server.url, api_key=KEY)
    server.play(reply_of(Answer(text=WHOLE), "messages", "plain"))
    assert _ask(provider, driver).text == WHOLE
    assert server.requests[0].path == "/v1/messages"
    server.play(reply_of(Answer(text=WHOLE), "messages", "stream"))
    assert "".join(piece.text for piece in _stream(provider, driver)) == WHOLE
    server.play(error_reply(529, kind="overloaded_error"))
    with pytest.raises(ServerError) as caught:
        _ask(provider, driver)
    assert caught.value.request_id == "req_openai"
    reply = reply_of(Answer(text=WHOLE), "messages", "stream")
    server.play(reply.but(drop_at=len(reply.body) // 2, reset=True))
    answer = _stream(provider, driver)[-1].response
    assert answer is not None
    assert answer.stop is StopReason.LENGTH


@both
@pytest.mark.parametrize("kind", _KINDS)
def test_the_other_sdk_ends_at_the_deadline(server: Loopback, driver: Driver, kind: str) -> None:
    server.play(_slow(kind))
    _ends_in_time(Anthropic("m", base_url=server.url, api_key=KEY), driver)


def test_an_empty_object_is_told_by_what_it_lacks(server: Loopback) -> None:
    server.play(json_reply({}))
    with pytest.raises(MalformedResponseError) as caught:
        _ask(_chat(server), "sync")
    assert caught.value.provider == "openai"
