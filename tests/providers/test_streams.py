"""Streams of hosted providers: one piece for each event, however the bytes are cut and they end."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import (
    ConnectError,
    MalformedResponseError,
    ProviderError,
    RateLimitError,
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
    TokenLogprob,
)
from extractkit.providers import (
    Anthropic,
    OpenAIChat,
    OpenAIDecisions,
    OpenAIResponses,
    _chat_calls,
    _exchange,
    openai_chat,
)
from extractkit.providers import anthropic as messages_api
from extractkit.providers._sinks import Events
from extractkit.providers._spelling import Spelling
from extractkit.providers._wire import ServerEvent
from tests.clock import Watch
from tests.server.answers import Answer, Api
from tests.server.endings import WHOLE, reply_of
from tests.server.loopback import Loopback
from tests.server.script import every, json_reply, split_within, sse_reply

ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
AT_ONCE_S = 2.0  # far below what the server would wait, far above what a busy machine needs
FOREVER_S = 30.0

both = pytest.mark.parametrize("driver", ["sync", "async"])
apis = pytest.mark.parametrize("api", ["chat", "responses", "messages"])


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Importing an SDK takes longer than what is measured here."""
    openai.OpenAI(api_key="x").close()
    anthropic.Anthropic(api_key="x").close()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def _provider(api: Api, server: Loopback) -> Any:
    if api == "messages":
        return Anthropic("m", base_url=server.url, api_key="k")
    kind = OpenAIChat if api == "chat" else OpenAIResponses
    return kind("m", base_url=server.openai_url, api_key="k")


def _pieces(provider: Any, driver: str, **options: Any) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [delta async for delta in provider.astream(ASKED, **options)]

    return list(provider.stream(ASKED, **options)) if driver == "sync" else asyncio.run(collect())


def _heard(provider: Any, driver: str) -> tuple[list[str], Exception]:
    """Return the texts that came before the error that is raised, and that error."""
    texts: list[str] = []

    async def listen() -> None:
        async for delta in provider.astream(ASKED):
            texts.append(delta.text)  # noqa: PERF401  what came before the error counts

    with pytest.raises(ProviderError) as caught:
        if driver == "sync":
            for delta in provider.stream(ASKED):
                texts.append(delta.text)  # noqa: PERF401  what came before the error counts
        else:
            asyncio.run(listen())
    return texts, caught.value


def _chunk(text: str | None = None, **choice: Any) -> dict[str, Any]:
    delta = {} if text is None else {"content": text}
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, **choice}]}


def _sse(*payloads: Any, end: str = "\n") -> list[bytes]:
    return [
        f"data: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}{end}{end}"
        .encode()
        for each in payloads
    ]  # fmt: skip


STOP = _chunk(finish_reason="stop")
TEXTS = ['{"a": "', "é😀", "日本", '"}']


def _told(pieces: list[Delta]) -> ModelResponse:
    *before, last = pieces
    assert all(piece.response is None for piece in before)
    assert last.response is not None
    assert "".join(piece.text for piece in pieces) == last.response.text
    return last.response


# --- one piece for each event


@both
@apis
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_each_event_with_text_gives_one_piece_however_its_bytes_come(
    server: Loopback, driver: str, api: Api, size: int
) -> None:
    answer = Answer(text=WHOLE, piece=3)
    reply = reply_of(answer, api, "stream")
    server.play(reply.but(cuts=every(size, reply.body)))
    pieces = _pieces(_provider(api, server), driver)
    response = _told(pieces)
    assert [piece.text for piece in pieces if piece.text] == [
        WHOLE[at : at + 3] for at in range(0, len(WHOLE), 3)
    ]
    server.play(reply_of(answer, api, "plain"))
    plain = _provider(api, server).complete(ASKED)
    assert (response.text, response.stop, response.usage) == (plain.text, plain.stop, plain.usage)
    assert response.tool_calls == plain.tool_calls


@both
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_cuts_inside_characters_line_ends_and_comments_change_nothing(
    server: Loopback, driver: str, end: str
) -> None:
    events = _sse(*map(_chunk, TEXTS), STOP, "[DONE]", end=end)
    comment = f": é keep-alive{end}{end}".encode()
    reply = sse_reply([comment, *(part for event in events for part in (event, comment))])
    cuts = split_within(reply.body, "é".encode(), "😀".encode(), "日".encode(), b"\r\n", b"\n\n")
    server.play(reply.but(cuts=cuts))
    pieces = _pieces(_provider("chat", server), driver)
    assert [piece.text for piece in pieces] == [*TEXTS, ""]
    assert _told(pieces).stop is StopReason.STOP


@given(st.data())
def test_any_chunks_give_the_same_pieces(data: st.DataObject) -> None:
    raw = b"".join([b": hi\n\n", *_sse(*map(_chunk, TEXTS), STOP, "[DONE]", end="\r\n")])
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=12).map(sorted))
    events = Events(openai_chat.WIRE)
    found: list[Delta] = []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        found += events.take(raw[start:end])
    assert [piece.text for piece in found + events.end()] == TEXTS
    assert events.is_over()
    assert events.answer().text == "".join(TEXTS)


@both
def test_half_a_character_that_stays_alone_comes_with_the_last_piece(
    server: Loopback, driver: str
) -> None:
    lines = [json.dumps(_chunk(text)) for text in ("a", "\ud83d")]
    server.play(sse_reply(_sse(*lines, STOP, "[DONE]")))
    pieces = _pieces(_provider("chat", server), driver)
    assert [piece.text for piece in pieces] == ["a", "\N{REPLACEMENT CHARACTER}"]
    _told(pieces)


@both
def test_an_answer_in_one_document_is_one_piece(server: Loopback, driver: str) -> None:
    server.play(reply_of(Answer(text=WHOLE), "chat", "plain"))
    (piece,) = _pieces(_provider("chat", server), driver)
    assert piece.text == WHOLE
    _told([piece])


@both
def test_an_api_that_does_not_stream_is_asked_as_ever(server: Loopback, driver: str) -> None:
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    request = ModelRequest(
        messages=ASKED.messages,
        constraint=Constraint(kind="decisions", schema=schema),
        top_logprobs=None,
    )
    answers = [{"name": "q1", "type": "predicate", "probability": 0.9}]
    server.play(json_reply({"model": "m", "answers": answers}))
    provider = OpenAIDecisions("m", base_url=server.openai_url, api_key="k")

    async def collect() -> list[Delta]:
        return [delta async for delta in provider.astream(request)]

    pieces = list(provider.stream(request)) if driver == "sync" else asyncio.run(collect())
    assert _told(pieces).text == '{"ok":true}'
    assert "stream" not in server.requests[0].body


# --- how it ends


@both
@pytest.mark.parametrize("is_one_chunk", [True, False])
def test_what_came_before_a_failure_is_given_before_it_is_raised(
    server: Loopback, driver: str, is_one_chunk: bool
) -> None:
    failure = {"error": {"message": "too many", "type": "rate_limit_exceeded", "code": 429}}
    reply = sse_reply(_sse(_chunk("{"), _chunk('"a"'), failure, _chunk("}"), "[DONE]"))
    server.play(reply.but(cuts=()) if is_one_chunk else reply)
    texts, error = _heard(_provider("chat", server), driver)
    assert texts == ["{", '"a"']
    assert isinstance(error, RateLimitError)
    assert error.request_id == "req_openai"


@both
def test_what_is_no_json_is_told_after_what_came_before(server: Loopback, driver: str) -> None:
    server.play(sse_reply(_sse(_chunk("{"), "no json", STOP)).but(cuts=()))
    texts, error = _heard(_provider("chat", server), driver)
    assert texts == ["{"]
    assert isinstance(error, MalformedResponseError)


@both
def test_a_stream_without_done_is_whole_where_the_model_ended(
    server: Loopback, driver: str
) -> None:
    server.play(sse_reply(_sse(*map(_chunk, TEXTS), STOP)))
    assert _told(_pieces(_provider("chat", server), driver)).stop is StopReason.STOP
    server.play(sse_reply(_sse(*map(_chunk, TEXTS))))
    assert _told(_pieces(_provider("chat", server), driver)).stop is StopReason.LENGTH


@both
@apis
@pytest.mark.parametrize("reset", [True, False])
def test_a_connection_that_goes_before_any_text_is_an_error_and_after_it_an_ending(
    server: Loopback, driver: str, api: Api, reset: bool
) -> None:
    reply = reply_of(Answer(text=WHOLE, piece=3), api, "stream")
    first = reply.body.index(WHOLE[:3].encode().replace(b'"', b'\\"'))
    server.play(reply.but(drop_at=first, reset=reset, cuts=()))
    with pytest.raises(ConnectError):
        _pieces(_provider(api, server), driver)
    until = reply.body.index(b"\n\n", first) + 2
    server.play(reply.but(drop_at=until, cuts=(until - 1,), pause_s=0.01, reset=False))
    pieces = _pieces(_provider(api, server), driver)
    response = _told(pieces)
    assert response.text == WHOLE[:3]
    assert response.stop is StopReason.LENGTH
    assert response.broken


@both
@apis
def test_nothing_is_waited_for_behind_the_last_event(
    server: Loopback, driver: str, api: Api
) -> None:
    reply = reply_of(Answer(text=WHOLE), api, "stream")
    more = sse_reply([reply.body, b": bye\n\n"], pause_s=FOREVER_S)
    server.play(more)
    provider = _provider(api, server)
    watch = Watch()
    assert _told(_pieces(provider, driver)).stop is StopReason.STOP
    assert watch.stop() < AT_ONCE_S
    server.settle()
    assert server.requests[0].left
    provider.close()


@apis
def test_a_connection_whose_body_has_ended_serves_on(server: Loopback, api: Api) -> None:
    server.play(reply_of(Answer(text=WHOLE), api, "stream"))
    provider = _provider(api, server)
    for _ in range(3):
        _told(_pieces(provider, "sync"))
    assert server.accepted == 1
    provider.close()

    async def three() -> None:
        for _ in range(3):
            _told([delta async for delta in provider.astream(ASKED)])
        await provider.aclose()

    provider = _provider(api, server)
    asyncio.run(three())
    assert server.accepted == 2


@both
def test_what_goes_wrong_behind_the_last_event_is_no_error(server: Loopback, driver: str) -> None:
    reply = reply_of(Answer(text=WHOLE), "chat", "stream")
    body = reply.body + b": bye\n\n"
    server.play(reply.but(body=body, cuts=(), drop_at=len(body), reset=True))
    assert _told(_pieces(_provider("chat", server), driver)).stop is StopReason.STOP


@both
def test_a_client_without_a_socket_is_read_to_the_last_event(driver: str) -> None:
    body = b"".join(_sse(*map(_chunk, TEXTS), STOP, "[DONE]", _chunk("more"), "no json"))
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=body, headers=headers))
    client: Any = openai.OpenAI(
        api_key="k", http_client=openai.DefaultHttpx2Client(transport=transport)
    )
    if driver == "async":
        http = openai.DefaultAsyncHttpx2Client(transport=transport)
        client = openai.AsyncOpenAI(api_key="k", http_client=http)
    pieces = _pieces(OpenAIChat("m", client=client), driver)
    assert [piece.text for piece in pieces] == [*TEXTS, ""]
    assert _told(pieces).stop is StopReason.STOP


@both
def test_of_a_stream_the_text_is_counted_and_not_its_wrapping(
    server: Loopback, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exchange, "MOST_BYTES", 1_000)
    provider = _provider("chat", server)
    server.play(sse_reply(_sse(*[_chunk("ab")] * 100, STOP, "[DONE]")))
    assert len(_told(_pieces(provider, driver)).text) == 200
    for endless in ([*_sse(_chunk("ab" * 300))] * 3, [b": no text\n\n" * 20] * 10):
        server.play(sse_reply(endless))
        with pytest.raises(MalformedResponseError, match="longer than 1000 bytes"):
            _pieces(provider, driver)


# --- how it is left


def _leaving(way: str) -> Callable[[Any], None]:
    def by_close(pieces: Generator[Delta, None, None]) -> None:
        pieces.close()

    def by_forgetting(pieces: Generator[Delta, None, None]) -> None:
        del pieces
        gc.collect()

    return by_close if way == "closed" else by_forgetting


@apis
@pytest.mark.parametrize("way", ["closed", "forgotten"])
def test_a_stream_that_is_left_frees_its_connection_at_once(
    server: Loopback, api: Api, way: str
) -> None:
    reply = reply_of(Answer(text=WHOLE, piece=3), api, "stream")
    server.play(reply.but(pause_s=0.05))
    provider = _provider(api, server)
    holder = [provider.stream(ASKED)]
    assert next(holder[0]).text
    leave = _leaving(way)
    leave(holder.pop())
    server.settle(AT_ONCE_S)
    assert server.requests[0].left
    assert server.open_connections == 0
    server.play(reply)
    assert _told(_pieces(provider, "sync")).text == WHOLE
    provider.close()


@apis
@pytest.mark.parametrize("way", ["closed", "forgotten", "cancelled"])
def test_an_asynchronous_stream_that_is_left_frees_its_connection_at_once(
    server: Loopback, api: Api, way: str
) -> None:
    reply = reply_of(Answer(text=WHOLE, piece=3), api, "stream")
    server.play(reply.but(pause_s=0.05))
    provider = _provider(api, server)

    async def read(pieces: AsyncGenerator[Delta, None], first: asyncio.Event) -> None:
        async for _ in pieces:
            first.set()

    async def leave() -> None:
        pieces = provider.astream(ASKED)
        if way == "cancelled":
            first = asyncio.Event()
            task = asyncio.create_task(read(pieces, first))
            await first.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        else:
            assert (await anext(pieces)).text
        if way == "closed":
            await pieces.aclose()
        del pieces
        gc.collect()
        await asyncio.sleep(0.05)  # the loop closes what was forgotten
        await asyncio.to_thread(server.settle, AT_ONCE_S)
        assert server.requests[0].left
        assert server.open_connections == 0
        await provider.aclose()

    asyncio.run(leave())


def test_a_stream_that_is_never_begun_sends_nothing(server: Loopback) -> None:
    provider = _provider("chat", server)
    provider.stream(ASKED).close()

    async def never() -> None:
        await provider.astream(ASKED).aclose()

    asyncio.run(never())
    assert server.requests == []
    assert server.accepted == 0


def test_what_cannot_be_asked_is_said_before_anything_is_sent(server: Loopback) -> None:
    provider = _provider("chat", server)
    grammar = Constraint(kind="grammar", grammar="start: /x/")
    odd = ModelRequest(messages=ASKED.messages, constraint=grammar, top_logprobs=None)
    for ask in (provider.stream, provider.astream):
        with pytest.raises(UnsupportedError):
            ask(odd)
        with pytest.raises(UsageError, match="timeout_s"):
            ask(ASKED, timeout_s=-1)
    provider.close()
    for ask in (provider.stream, provider.astream):
        with pytest.raises(UsageError, match="closed"):
            ask(ASKED)
    assert server.requests == []


# --- tokens


def _token(text: str | bytes, logprob: float = -0.5) -> dict[str, Any]:
    raw = text if isinstance(text, bytes) else text.encode()
    shown = raw.decode("utf-8", "replace")
    return {"token": shown, "bytes": list(raw), "logprob": logprob, "top_logprobs": []}


def _with_tokens(text: str, *tokens: str | bytes) -> dict[str, Any]:
    return _chunk(text, logprobs={"content": [_token(each) for each in tokens]})


def _spelt(pieces: list[Delta]) -> list[tuple[str, list[bytes]]]:
    return [(piece.text, [token.token for token in piece.tokens]) for piece in pieces]


@both
def test_a_piece_of_a_chat_has_its_tokens(server: Loopback, driver: str) -> None:
    smile = "😀".encode()
    events = [
        _with_tokens("", "let", " me", " see"),  # reasoning, which belongs to no answer
        _with_tokens("{", "{"),
        _with_tokens('"a', '"', "a"),
        _with_tokens("", smile[:2]),
        _with_tokens("😀", smile[2:]),
        _with_tokens("}", "}"),
    ]
    server.play(sse_reply(_sse(*events, STOP, "[DONE]")))
    pieces = _pieces(_provider("chat", server), driver)
    assert _spelt(pieces) == [
        ("{", [b"{"]),
        ('"a', [b'"', b"a"]),
        ("😀", [smile[:2], smile[2:]]),
        ("}", [b"}"]),
        ("", []),
    ]
    assert _told(pieces).tokens == tuple(token for piece in pieces for token in piece.tokens)


@both
def test_a_piece_of_a_response_has_its_tokens(server: Loopback, driver: str) -> None:
    def delta(text: str, *tokens: str) -> dict[str, Any]:
        return {
            "type": "response.output_text.delta",
            "item_id": "m",
            "output_index": 0,
            "delta": text,
            "logprobs": [_token(each) for each in tokens],
        }

    part = {"type": "output_text", "text": "{}!", "logprobs": []}
    item = {"type": "message", "id": "m", "status": "completed", "content": [part]}
    ended = {"status": "completed", "model": "m", "output": [item]}
    events: list[Any] = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        delta("{", "{"),
        delta("}!", "}", "!"),
        {"type": "response.completed", "response": ended},
    ]
    server.play(sse_reply(_sse(*events)))
    pieces = _pieces(_provider("responses", server), driver)
    assert _spelt(pieces) == [("{", [b"{"]), ("}!", [b"}", b"!"]), ("", [])]
    assert [token.token for token in _told(pieces).tokens] == [b"{", b"}", b"!"]


@both
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_tokens_that_are_not_what_the_api_promises_are_left_out(
    server: Loopback, driver: str, api: Api
) -> None:
    odd = [{"token": "}", "logprob": "high"}]
    if api == "chat":
        events = [_with_tokens("{", "{"), _chunk("}", logprobs={"content": odd}), STOP, "[DONE]"]
    else:
        kind = "response.output_text.delta"
        events = [
            {"type": kind, "item_id": "m", "delta": "{", "logprobs": [_token("{")]},
            {"type": kind, "item_id": "m", "delta": "}", "logprobs": odd},
            {"type": "response.completed", "response": {"status": "completed", "output": []}},
        ]
    server.play(sse_reply(_sse(*events)))
    pieces = _pieces(_provider(api, server), driver)
    assert _spelt(pieces) == [("{", [b"{"]), ("}", []), ("", [])]
    response = _told(pieces)
    assert response.tokens == ()
    assert "'high'" in response.details["tokens_left_out"]


@both
def test_an_answer_in_one_document_has_its_tokens_in_its_piece(
    server: Loopback, driver: str
) -> None:
    choice = {
        "index": 0,
        "message": {"content": "{}"},
        "finish_reason": "stop",
        "logprobs": {"content": [_token("{"), _token("}")]},
    }
    server.play(json_reply({"id": "c", "model": "m", "choices": [choice]}))
    (piece,) = _pieces(_provider("chat", server), driver)
    assert [token.token for token in piece.tokens] == [b"{", b"}"]


def _tokens(*texts: bytes) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob(token=text, logprob=-1.0) for text in texts)


@given(st.text(min_size=1), st.data())
def test_tokens_and_text_may_be_cut_at_other_places(text: str, data: st.DataObject) -> None:
    """Whatever comes first is held, a part of a character and a few tokens late."""
    raw = text.encode()
    ends = data.draw(st.lists(st.integers(0, len(raw)), max_size=5).map(sorted))
    cut = list(zip([0, *ends], [*ends, len(raw)], strict=True))
    tokens = _tokens(*(raw[start:end] for start, end in cut if start < end))
    spelling, told, given_text = Spelling(), b"", b""
    pos = 0
    for token in tokens:
        pos += len(token.token)
        so_far = raw[:pos].decode("utf-8", "ignore")
        piece = so_far[len(given_text.decode()) :]
        found = spelling.feed((token,), piece)
        given_text += piece.encode()
        told += b"".join(each.token for each in found)
        assert given_text.startswith(told)
    assert told == raw


def test_text_that_comes_before_its_tokens_is_waited_for() -> None:
    spelling = Spelling()
    assert spelling.feed(_tokens(b"{"), '{"a') == _tokens(b"{")
    assert spelling.feed((), '":') == ()
    assert spelling.feed(_tokens(b'"a"', b":"), "") == _tokens(b'"a"', b":")


@pytest.mark.parametrize(
    "feeds",
    [
        [(_tokens(b"x"), "{")],
        [((), "{"), (_tokens(b"x", b"{"), "")],
        [(_tokens(b"{"), "{"), ((), "x" * 300), (_tokens(b"x" * 300), "")],
    ],
)
def test_tokens_that_do_not_spell_the_text_are_told_no_more(feeds: list[Any]) -> None:
    spelling = Spelling()
    found = [spelling.feed(tokens, text) for tokens, text in feeds]
    assert b"".join(each.token for few in found for each in few) in (b"", b"{")
    assert spelling.feed(_tokens(b"}"), "}") == ()


def test_a_tool_streams_its_arguments_as_the_text() -> None:
    start = {"type": "message_start", "message": {"id": "1", "model": "m", "content": []}}
    block = {"type": "tool_use", "id": "t", "name": "answer", "input": {}}
    events: list[Any] = [
        start,
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in ('{"a"', ":", "1}")
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    sink = Events(messages_api.tool_wire("answer"))
    found = sink.take(b"".join(_sse(*events)))
    assert [piece.text for piece in found] == ['{"a"', ":", "1}"]
    assert sink.is_over()
    assert sink.answer().text == '{"a":1}'


def test_arguments_of_a_call_are_not_read_anew_with_each_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    monkeypatch.setattr(_chat_calls, "from_json", read.append)
    text = json.dumps({"items": [{"a": {"b": 1}}] * 200}, separators=(",", ":"))
    decoder = openai_chat.WIRE.decoder()
    for at in range(0, len(text), 4):
        call = {"index": 0, "function": {"arguments": text[at : at + 4]}}
        chunk = _chunk("")
        chunk["choices"][0]["delta"] = {"tool_calls": [call]}
        decoder.feed(ServerEvent(data=json.dumps(chunk)))
    assert decoder.close().tool_calls[0].arguments == text
    assert read == []
