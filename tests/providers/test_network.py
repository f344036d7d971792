"""What the network does to an answer, with the real SDKs: failures, retries, broken bodies."""

from __future__ import annotations

import json
import pickle
import socket
import time
import traceback
from typing import Any

import pytest

from extractkit import FieldState, Retry, Sampling, Status
from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    ConnectError,
    MalformedResponseError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from extractkit.messages import StopReason
from tests.providers.network import EVERY_WAY, ONE_WAY_PER_SDK, Asked, Site, Way, clean
from tests.providers.stage import KEY, Box
from tests.server.answers import Answer
from tests.server.endings import WHOLE
from tests.server.script import (
    BEFORE_HEADERS,
    Reply,
    error_reply,
    every,
    gzipped,
    html_page,
    http_date,
    json_reply,
    split_within,
    sse_reply,
)

_BOX = Box(owner="Ida", parts=["bolt"], note=None)
_ANY_WAY = pytest.mark.parametrize("way", EVERY_WAY, ids=str)
_SDKS = pytest.mark.parametrize("way", ONE_WAY_PER_SDK, ids=str)
_SOON = {"retry-after-ms": "5"}


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a failure that names no time be tried again soon."""
    monkeypatch.setattr("extractkit.engine.retrying._FIRST_WAIT_S", 0.01)


def _limited(**headers: str) -> Reply:
    return error_reply(
        429, kind="rate_limit_error", headers={n.replace("_", "-"): v for n, v in headers.items()}
    )


# --- how long to wait ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        *(("milliseconds", way) for way in ONE_WAY_PER_SDK),
        *(("seconds", way) for way in EVERY_WAY[:2]),
        ("date", EVERY_WAY[-1]),
    ],
    ids=str,
)
def test_a_wait_that_the_provider_asks_for_is_kept(server: Site, way: Way, kind: str) -> None:
    wait = {
        "seconds": {"retry_after": "1"},
        "milliseconds": {"retry_after_ms": "150", "retry_after": "900"},
        "date": {"retry_after": http_date(2, time.time())},
    }[kind]
    server.play(_limited(**wait), clean(way))
    asked = server.ask(way, retry=Retry(transport=1))
    assert asked.box == _BOX
    first, second = server.requests
    least = {"seconds": 1.0, "milliseconds": 0.15, "date": 0.9}[kind]
    assert least - 0.01 <= second.at - first.at <= least + 1.3
    assert asked.result is not None
    (attempt,) = asked.result.attempts
    (failure,) = attempt.failures
    assert failure.startswith("RateLimitError")


@pytest.mark.parametrize(
    "headers",
    [{"retry_after": "3600"}, {"retry_after": "999999999999"}, {"retry_after_ms": "1e12"}, "date"],
    ids=str,
)
@_SDKS
def test_a_huge_wait_is_refused_at_once(server: Site, way: Way, headers: Any) -> None:
    """An hour-long header must not put a worker to sleep."""
    if headers == "date":
        headers = {"retry_after": http_date(86400, time.time())}
    server.play(_limited(**headers))
    asked = server.ask(way, retry=Retry(transport=3, max_wait_s=30))
    assert isinstance(asked.error, RateLimitError)
    assert asked.error.retryable
    assert asked.error.retry_after_s is not None
    assert asked.error.retry_after_s >= 3600
    assert asked.error.attempts == 1
    assert "max_wait_s" in asked.error.message
    assert len(server.requests) == 1
    assert asked.seconds < 1


@_SDKS
def test_a_wait_beyond_the_deadline_is_not_begun(server: Site, way: Way) -> None:
    server.play(_limited(retry_after="5"))
    asked = server.ask(way, retry=Retry(transport=3), timeout_s=2)
    assert isinstance(asked.error, RateLimitError)
    assert "timeout_s" in asked.error.message
    assert asked.seconds < 1
    assert len(server.requests) == 1


@_ANY_WAY
def test_an_empty_account_is_not_asked_again(server: Site, way: Way) -> None:
    server.play(
        error_reply(429, kind="insufficient_quota", code="insufficient_quota", headers=_SOON)
    )
    asked = server.ask(way, retry=Retry(transport=3))
    assert isinstance(asked.error, RateLimitError)
    assert not asked.error.retryable
    assert len(server.requests) == 1


# --- what is tried again ----------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("way", EVERY_WAY[::3], ids=str)
def test_a_failure_that_can_pass_is_tried_again(server: Site, way: Way, status: int) -> None:
    server.play(error_reply(status, headers=_SOON), clean(way))
    asked = server.ask(way, retry=Retry(transport=1))
    assert asked.box == _BOX
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == ["0"] * 2
    assert asked.result is not None
    assert len(asked.result.attempts) == 1
    assert len(asked.result.attempts[0].failures) == 1


@_ANY_WAY
def test_the_budget_of_requests_ends(server: Site, way: Way) -> None:
    server.play(error_reply(503, headers=_SOON))
    asked = server.ask(way, retry=Retry(transport=2, answers=5))
    assert isinstance(asked.error, ServerError)
    assert asked.error.status_code == 503
    assert asked.error.attempts == 3
    assert asked.error.request_id in ("req_openai", "req_anthropic")
    assert len(server.requests) == 3


@_SDKS
def test_the_two_budgets_add_and_never_multiply(server: Site, way: Way) -> None:
    """Failed requests are counted over all answers, not afresh for each."""
    bad = [way.reply(Answer(text=f"prose {number}")) for number in range(3)]
    fail = error_reply(500, headers=_SOON)
    server.play(fail, bad[0], fail, bad[1], fail, bad[2], fail)
    asked = server.ask(way, retry=Retry(transport=2, answers=5))
    assert asked.result is not None
    assert asked.result.status is Status.INVALID
    assert len(asked.result.attempts) == 2
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequestError),
        (401, AuthenticationError),
        (403, PermissionDeniedError),
        (404, NotFoundError),
        (413, BadRequestError),
        (422, BadRequestError),
    ],
)
@pytest.mark.parametrize("way", EVERY_WAY[::3], ids=str)
def test_what_cannot_pass_is_asked_once(
    server: Site, way: Way, status: int, kind: type[ProviderError]
) -> None:
    server.play(error_reply(status, kind="invalid_request_error"))
    asked = server.ask(way, retry=Retry(transport=3))
    assert type(asked.error) is kind
    assert asked.error.status_code == status
    assert not asked.error.retryable
    assert asked.error.provider
    assert asked.error.model
    assert len(server.requests) == 1


def test_a_status_408_is_a_timeout_of_one_request(server: Site) -> None:
    server.play(error_reply(408))
    asked = server.ask(EVERY_WAY[0])
    assert isinstance(asked.error, RequestTimeoutError)


@_SDKS
def test_a_key_is_shown_nowhere(server: Site, way: Way) -> None:
    server.play(error_reply(401, message=f"Incorrect API key provided: {KEY}."))
    provider = server.provider(way)
    asked = server.ask(way)
    assert isinstance(asked.error, AuthenticationError)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = [repr(provider), repr(asked.error), str(asked.error), repr(vars(asked.error))]
    shown.append("".join(traceback.format_exception(asked.error)))
    assert not [text for text in shown if KEY in text]
    assert KEY.encode() not in pickle.dumps(asked.error)


# --- connections that break -------------------------------------------------------------------


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("place", ["before the headers", "in the body", "at the last byte"])
@_ANY_WAY
def test_a_connection_that_breaks_is_an_error_of_ours(
    server: Site, way: Way, place: str, reset: bool
) -> None:
    reply = clean(way)
    at = {
        "before the headers": BEFORE_HEADERS,
        "in the body": len(reply.body) // 2,
        "at the last byte": len(reply.body) - 1,
    }[place]
    server.play(reply.but(drop_at=at, reset=reset))
    asked = server.ask(way)
    assert len(server.requests) == 1
    assert asked.seconds < 2
    if way.path.mode == "stream" and place != "before the headers" and asked.result is not None:
        _check_what_was_kept(asked, whole=place == "at the last byte")
        return
    assert isinstance(asked.error, ConnectError), asked.result
    assert asked.error.retryable
    assert asked.error.attempts == 1


def _check_what_was_kept(asked: Asked, *, whole: bool) -> None:
    """Of a stream that broke: cut off and said so, or whole because its last event had come."""
    assert asked.result is not None
    if whole and asked.result.ok:
        assert asked.box == _BOX
        return
    assert asked.result.status is Status.TRUNCATED
    assert asked.result.value is None
    assert asked.result.raw is not None
    assert "broke" in asked.result.raw.stop_detail
    assert WHOLE.startswith(asked.result.raw.text)


@pytest.mark.parametrize("place", [BEFORE_HEADERS, 60], ids=["before the headers", "in the body"])
@pytest.mark.usefixtures("short_waits")
@_ANY_WAY
def test_a_broken_connection_is_tried_again(server: Site, way: Way, place: int) -> None:
    """What came over the broken one does not get into the answer."""
    whole = clean(way)
    at = place if place == BEFORE_HEADERS or way.path.mode == "plain" else len(whole.body) // 2
    server.play(whole.but(drop_at=at), whole)
    asked = server.ask(way, retry=Retry(transport=1))
    assert asked.box == _BOX
    assert asked.result is not None
    assert asked.result.raw is not None
    assert asked.result.raw.text == WHOLE
    assert len(server.requests) == 2
    first = asked.result.attempts[0]
    if way.path.mode == "stream" and place != BEFORE_HEADERS:
        # What had come is an attempt of its own; what it cost is not known.
        assert first.text == WHOLE[: len(first.text)] != WHOLE
        assert first.stop_reason is StopReason.LENGTH
        assert "resent" in {finding.code for finding in asked.result.findings}
        assert not asked.result.usage.is_complete
    else:
        assert first.failures[0].startswith("ConnectError")


@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize("way", [w for w in EVERY_WAY if w.path.mode == "stream"], ids=str)
def test_a_stream_that_always_breaks_is_cut_off_in_the_end(server: Site, way: Way) -> None:
    reply = clean(way)
    server.play(reply.but(drop_at=reply.body.rindex(b"bol")))
    asked = server.ask(way, retry=Retry(answers=2, transport=2))
    assert len(server.requests) == 3
    assert asked.result is not None, asked.error
    assert asked.result.status is Status.TRUNCATED
    assert asked.result.value is None
    assert asked.result.partial is not None
    assert asked.result.partial.states["/owner"] is FieldState.PRESENT
    assert "broke" in asked.result.raw.stop_detail if asked.result.raw else False


@_ANY_WAY
def test_nobody_at_home_is_said_at_once(way: Way, server: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    provider = way.provider(server, base_url=f"http://127.0.0.1:{port}/v1")
    asked = server.ask(way, model=provider, retry=Retry())
    provider.close()
    assert isinstance(asked.error, ConnectError)
    assert asked.seconds < 1
    assert server.requests == []


@_ANY_WAY
def test_a_connection_that_died_while_idle_costs_no_request(server: Site, way: Way) -> None:
    reply = clean(way)
    silently = reply.but(drop_at=len(reply.body), framing="length")
    server.play(silently, reply)
    assert server.ask(way).box == _BOX
    server.settle()
    assert server.ask(way).box == _BOX
    assert len(server.requests) == 2


@_ANY_WAY
def test_one_connection_serves_all_calls_of_a_provider(way: Way) -> None:
    with Site(clean(way)) as alone:
        for _ in range(5):
            assert alone.ask(way).box == _BOX
        assert alone.accepted == 1
        if way.driver == "sync":
            alone.provider(way).close()
            _wait_until(lambda: alone.open_connections == 0)


def _wait_until(holds: Any) -> None:
    until = time.monotonic() + 2
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


# --- bodies that are not what they should be --------------------------------------------------


@_ANY_WAY
def test_a_page_of_html_is_no_answer(server: Site, way: Way) -> None:
    server.play(html_page())
    asked = server.ask(way, retry=Retry(answers=2, transport=0))
    assert isinstance(asked.error, MalformedResponseError), asked.result
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        WHOLE.encode(),
        b'{"id": "x',
        b"\xff\xfe{}",
        b"data: {\n\n",
    ],
    ids=repr,
)
@pytest.mark.parametrize("way", EVERY_WAY[::2] + EVERY_WAY[3:4], ids=str)
def test_a_body_that_is_no_answer_of_the_api_is_an_error(
    server: Site, way: Way, body: bytes
) -> None:
    """Not even when it is the JSON that the caller wants."""
    server.play(json_reply(body))
    asked = server.ask(way, retry=Retry(answers=2, transport=0))
    if way.path.mode == "stream" and asked.result is not None:
        # A stream of no event is one that was cut off.
        assert asked.result.status is Status.TRUNCATED
        assert asked.result.raw is not None
        assert asked.result.raw.text == ""
    else:
        assert isinstance(asked.error, MalformedResponseError), asked
    assert len(server.requests) == 1


@_ANY_WAY
def test_a_204_is_no_answer(server: Site, way: Way) -> None:
    server.play(Reply(status=204, headers={"x-request-id": "req_openai"}))
    asked = server.ask(way)
    assert asked.result is None or asked.result.status is Status.TRUNCATED
    assert asked.result is not None or isinstance(asked.error, ProviderError)


@_ANY_WAY
def test_another_content_type_loses_nothing_and_invents_nothing(server: Site, way: Way) -> None:
    reply = clean(way)
    server.play(reply.but(headers={"content-type": "text/plain"}))
    asked = server.ask(way)
    assert isinstance(asked.error, MalformedResponseError) or asked.box == _BOX


@_ANY_WAY
def test_the_other_mode_than_asked_for_is_read_or_refused(server: Site, way: Way) -> None:
    """A server may not know of streams, or know nothing else."""
    other = {"plain": "stream", "stream": "plain"}[way.path.mode]
    twin = next(
        each
        for each in EVERY_WAY
        if each.path.provider == way.path.provider and each.path.mode == other
    )
    server.play(clean(twin))
    asked = server.ask(way)
    assert isinstance(asked.error, MalformedResponseError) or asked.box == _BOX


@_ANY_WAY
def test_a_length_that_is_too_large_is_a_broken_connection(server: Site, way: Way) -> None:
    reply = clean(way)
    server.play(reply.but(framing="length", declared_length=len(reply.body) + 10))
    asked = server.ask(way)
    if way.path.mode == "stream" and asked.result is not None:
        _check_what_was_kept(asked, whole=True)
    else:
        assert isinstance(asked.error, ConnectError), asked.result


@_ANY_WAY
def test_a_length_that_is_too_small_cuts_the_answer_and_is_seen(server: Site, way: Way) -> None:
    reply = clean(way)
    server.play(reply.but(framing="length", declared_length=len(reply.body) // 2))
    asked = server.ask(way)
    if asked.result is not None:
        assert asked.result.status is Status.TRUNCATED
    else:
        assert isinstance(asked.error, MalformedResponseError | ConnectError)


# --- bodies that are right and odd ------------------------------------------------------------


@_ANY_WAY
def test_gzip_is_unpacked(server: Site, way: Way) -> None:
    server.play(gzipped(clean(way)))
    asked = server.ask(way)
    assert asked.box == _BOX
    assert "gzip" in server.requests[0].headers["accept-encoding"]


@_ANY_WAY
def test_broken_gzip_is_an_error_of_ours(server: Site, way: Way) -> None:
    packed = gzipped(clean(way))
    server.play(packed.but(body=packed.body[:20] + b"\0" * 20 + packed.body[40:]))
    asked = server.ask(way)
    assert isinstance(asked.error, MalformedResponseError | ConnectError), asked.result


_STREAMS = pytest.mark.parametrize(
    "way", [way for way in EVERY_WAY if way.path.mode == "stream"], ids=str
)
_ODD = '{"owner":"Zoë 日本 🦊","parts":["bolt"],"note":null}'


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("split", ["every byte", "inside characters and marks", "one piece"])
@_STREAMS
def test_events_may_be_split_anywhere(server: Site, way: Way, split: str, ends: str) -> None:
    """Inside a character, inside "data:", between CR and LF."""
    reply = way.reply(Answer(text=_ODD))
    body = reply.body.replace(b"\n", ends.encode())
    marks = [b"data:", b"event:", ends.encode() * 2, *(c.encode() for c in "ë日本🦊")]
    cuts = {
        "every byte": every(1, body),
        "inside characters and marks": split_within(body, *marks),
        "one piece": (),
    }[split]
    server.play(reply.but(body=body, cuts=cuts))
    asked = server.ask(way)
    assert asked.box.owner == "Zoë 日本 🦊"
    assert asked.result is not None
    assert asked.result.raw is not None
    assert asked.result.raw.text == _ODD


@_STREAMS
def test_comments_a_byte_order_mark_and_unknown_events_are_passed_over(
    server: Site, way: Way
) -> None:
    reply = clean(way)
    first, *rest = reply.body.split(b"\n\n")
    odd = [
        b"\xef\xbb\xbf: a comment",
        first,
        b": keep-alive",
        b"retry: 1000",
        b"id: 7",
        *rest,
    ]
    server.play(sse_reply([b"\n\n".join(odd)]))
    assert server.ask(way).box == _BOX


_TEN_MB = 10 * 1024 * 1024


@pytest.mark.parametrize(
    "way", [*(w for w in EVERY_WAY if w.path.mode == "plain"), *EVERY_WAY[3::4]], ids=str
)
def test_an_answer_of_ten_megabytes_is_read_in_linear_time(server: Site, way: Way) -> None:
    """It is white space for the most part: the time is that of the way, not of the checks."""
    text = WHOLE[:-1] + " " * _TEN_MB + "}"
    server.play(way.reply(Answer(text=text, piece=100_000)))
    asked = server.ask(way, timeout_s=60)
    assert asked.box == _BOX
    assert asked.result is not None
    assert asked.result.raw is not None
    assert asked.result.raw.text == text
    assert asked.seconds < 3


def test_a_value_of_ten_megabytes_is_returned(server: Site) -> None:
    note = "x" * _TEN_MB
    way = EVERY_WAY[0]
    text = json.dumps({"owner": "Ida", "parts": ["bolt"], "note": note})
    server.play(way.reply(Answer(text=text)))
    assert server.ask(way, timeout_s=60).box.note == note


@_SDKS
def test_requests_do_not_grow_with_every_bad_answer(server: Site, way: Way) -> None:
    """Case 045: at most the first request, one answer and one complaint; not the sum of all."""
    texts = [f"prose {number} " * 500 for number in range(4)]
    server.play(*(way.reply(Answer(text=text)) for text in texts))
    asked = server.ask(way, retry=Retry(answers=3, transport=0))
    assert asked.result is not None
    assert asked.result.status is Status.INVALID
    assert len(asked.result.attempts) == 4
    first, *later = [len(json.dumps(request.body)) for request in server.requests]
    assert len(later) == 3
    assert max(later) < first + max(map(len, texts)) + 2000


# --- turns that pause -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "way", [way for way in EVERY_WAY if way.path.provider == "Anthropic"], ids=str
)
def test_a_turn_that_pauses_twice_goes_on_with_all_that_was_said(server: Site, way: Way) -> None:
    parts = [WHOLE[:10], WHOLE[10:25], WHOLE[25:]]
    server.play(
        way.reply(Answer(text=parts[0], stop="pause")),
        way.reply(Answer(text=parts[1], stop="pause")),
        way.reply(Answer(text=parts[2])),
    )
    asked = server.ask(way)
    assert asked.box == _BOX
    said: list[str] = []
    for request in server.requests:
        turns = request.body["messages"]
        said.append(
            "".join(
                block["text"]
                for turn in turns
                if turn["role"] == "assistant"
                for block in turn["content"]
            )
        )
    assert said == ["", parts[0], parts[0] + parts[1]]
    assert asked.result is not None
    assert asked.result.usage.output_tokens == 3 * 7


@_SDKS
def test_a_cut_answer_is_asked_for_again_only_with_more_room(server: Site, way: Way) -> None:
    server.play(way.reply(Answer(text='{"owner":"Id', stop="length")), clean(way))
    asked = server.ask(
        way,
        retry=Retry(answers=2, transport=0, max_output_tokens=400),
        sampling=Sampling(max_output_tokens=100),
    )
    assert asked.box == _BOX
    limits = [
        next(value for name, value in request.body.items() if "max" in name)
        for request in server.requests
    ]
    assert limits == [100, 200]
    assert server.requests[0].body["messages"] == server.requests[1].body["messages"]
