"""A streamed answer of Anthropic is read event by event, and never taken for whole too early."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import MalformedResponseError, ProviderError, RateLimitError, ServerError
from extractkit.messages import ModelResponse, RawToolCall, StopReason, Usage
from extractkit.providers import anthropic
from extractkit.providers._sse import EventDecoder
from extractkit.providers._wire import ServerEvent, Wire, decode_events

_FOLDER = (
    Path(os.environ.get("EXTRACTKIT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "llm_recordings"
    / "dev"
)

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}


def _end(reason: Any = "end_turn", **details: Any) -> dict[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None, **details},
        "usage": {"output_tokens": 9},
    }


def _begin(index: int, kind: str, **body: Any) -> dict[str, Any]:
    block = {"type": kind, **body}
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, kind: str, **piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **piece}}


def _close(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def _texts(*pieces: str, at: int = 0) -> list[dict[str, Any]]:
    deltas = [_delta(at, "text_delta", text=piece) for piece in pieces]
    return [_begin(at, "text", text=""), *deltas, _close(at)]


def _call(*pieces: str, at: int = 0, name: str = "Invoice", given: Any = None) -> list[Any]:
    begin = _begin(at, "tool_use", id="toolu_1", name=name, input={} if given is None else given)
    deltas = [_delta(at, "input_json_delta", partial_json=piece) for piece in pieces]
    return [begin, *deltas, _close(at)]


def _events(data: list[Any]) -> list[ServerEvent]:
    return [ServerEvent(event=one["type"], data=json.dumps(one)) for one in data]


def _read(events: list[ServerEvent], wire: Wire = anthropic.WIRE) -> tuple[str, ModelResponse]:
    decoder = wire.decoder()
    fed = "".join(decoder.feed(event).text for event in events)
    return fed, decoder.close()


def _answer(*data: Any, wire: Wire = anthropic.WIRE) -> ModelResponse:
    """Read a stream, and hold it to the law that its pieces are its text."""
    fed, response = _read(_events(list(data)), wire)
    assert fed == response.text
    return response


class TestAWholeStream:
    def test_is_the_message_that_it_tells(self) -> None:
        response = _answer(START, *_texts('{"a"', ": 1}"), {"type": "ping"}, _end(), STOP)
        assert response == ModelResponse(
            text='{"a": 1}',
            stop=StopReason.STOP,
            stop_detail="end_turn",
            usage=Usage(input_tokens=25, output_tokens=9, cached_input_tokens=5),
            model="claude-sonnet-5",
            details={"id": "msg_1"},
        )

    def test_gives_each_piece_as_it_comes(self) -> None:
        decoder = anthropic.WIRE.decoder()
        pieces = [
            decoder.feed(event).text for event in _events([START, *_texts("a", "", "b"), STOP])
        ]
        assert pieces == ["", "", "a", "", "b", "", ""]

    def test_may_begin_a_block_with_text(self) -> None:
        begin = _begin(0, "text", text="ab")
        response = _answer(START, begin, _delta(0, "text_delta", text="c"), _end(), STOP)
        assert response.text == "abc"

    def test_leaves_thoughts_out_of_the_text(self) -> None:
        response = _answer(
            START,
            _begin(0, "thinking", thinking="", signature=""),
            _delta(0, "thinking_delta", thinking="hm"),
            _delta(0, "signature_delta", signature="s"),
            _close(0),
            *_texts("{}", at=1),
            _end(),
            STOP,
        )
        assert response.text == "{}"
        assert response.details["blocks"] == {"thinking": 1}

    def test_passes_over_what_is_not_known(self) -> None:
        response = _answer(
            START,
            {"type": "of_tomorrow", "index": "x"},
            _begin(0, "text", text="", citations=None),
            _delta(0, "of_tomorrow", text="no"),
            _delta(0, "citations_delta", citation={"type": "x"}),
            _delta(0, "text_delta", text="yes"),
            _close(0),
            _end(),
            STOP,
        )
        assert response.text == "yes"

    def test_may_tell_its_beginning_twice(self) -> None:
        assert _answer(START, START, *_texts("x"), START, _end(), STOP).text == "x"

    def test_ends_with_its_last_event(self) -> None:
        response = _answer(START, *_texts("x"), _end(), STOP, *_texts("y"), START)
        assert (response.text, response.stop) == ("x", StopReason.STOP)

    def test_may_name_its_events_only_once(self) -> None:
        events = [
            ServerEvent(event=one.pop("type"), data=json.dumps(one) if one else "")
            for one in [dict(each) for each in (START, *_texts("x"), _end(), STOP)]
        ]
        assert _read(events)[1].text == "x"
        unnamed = [
            ServerEvent(data=json.dumps(each)) for each in (START, *_texts("x"), _end(), STOP)
        ]
        assert _read(unnamed)[1].stop is StopReason.STOP

    def test_keeps_the_arguments_of_a_call_as_they_were_written(self) -> None:
        response = _answer(
            START,
            *_call("", '{"n": 1.50, ', '"n": 1e2}', name="seek"),
            _end("tool_use"),
            STOP,
        )
        arguments = '{"n": 1.50, "n": 1e2}'
        assert response.tool_calls == (RawToolCall(id="toolu_1", name="seek", arguments=arguments),)
        assert (response.text, response.stop) == ("", StopReason.TOOL_USE)

    @pytest.mark.parametrize(
        ("pieces", "given", "arguments"),
        [((), None, "{}"), (("", ""), None, "{}"), ((), {"q": 1}, '{"q":1}'), (("[",), None, "[")],
    )
    def test_gives_the_arguments_that_a_call_began_with(
        self, pieces: tuple[str, ...], given: Any, arguments: str
    ) -> None:
        call = _call(*pieces, given=given)
        response = _answer(START, *call, _end("tool_use"), STOP)
        assert response.tool_calls[0].arguments == arguments
        assert _answer(START, *call, _end("tool_use"), STOP, wire=anthropic.TOOL_WIRE).text == (
            arguments
        )


class TestAStreamThroughATool:
    def test_gives_the_input_as_the_text(self) -> None:
        response = _answer(
            START,
            *_texts("Here:"),
            *_call('{"a":', " 1.0}", at=1),
            _end("tool_use"),
            STOP,
            wire=anthropic.TOOL_WIRE,
        )
        assert (response.text, response.stop) == ('{"a": 1.0}', StopReason.STOP)
        assert response.details["preamble"] == "Here:"
        assert response.tool_calls == ()

    def test_is_no_choice_between_two_calls(self) -> None:
        response = _answer(
            START,
            *_call('{"a": 1}'),
            *_call('{"a": 2}', at=1),
            _end("tool_use"),
            STOP,
            wire=anthropic.TOOL_WIRE,
        )
        assert (response.text, response.stop) == ('{"a": 1}', StopReason.TOOL_USE)
        assert len(response.tool_calls) == 2

    def test_reads_the_tool_that_it_is_held_to(self) -> None:
        response = _answer(
            START,
            *_call("{}", name="other"),
            *_call('{"a": 2}', at=1),
            _end("tool_use"),
            STOP,
            wire=anthropic.tool_wire("Invoice"),
        )
        assert (response.text, response.stop) == ('{"a": 2}', StopReason.TOOL_USE)

    def test_keeps_what_was_written_before_it_was_cut(self) -> None:
        cut = _call('{"a": "x', "y")[:-1]
        response = _answer(START, *cut, _end("max_tokens"), STOP, wire=anthropic.TOOL_WIRE)
        assert (response.text, response.stop) == ('{"a": "xy', StopReason.LENGTH)

    def test_that_was_cut_before_its_first_piece_is_empty(self) -> None:
        response = _answer(START, *_call()[:-1], _end("max_tokens"), STOP, wire=anthropic.TOOL_WIRE)
        assert (response.text, response.stop) == ("", StopReason.LENGTH)


class TestTheEndOfAStream:
    @pytest.mark.parametrize("kept", range(6))
    def test_before_its_last_event_is_no_clean_one(self, kept: int) -> None:
        response = _answer(*[START, *_texts('{"a"', ": 1}"), _end(), STOP][:kept])
        assert response.stop is StopReason.LENGTH
        assert response.stop_detail == "the stream ended without its last event"
        assert response.text == ["", "", "", '{"a"', '{"a": 1}', '{"a": 1}'][kept]
        assert not response.usage.is_complete

    @pytest.mark.parametrize("reason", ["end_turn", "tool_use", "pause_turn", "max_tokens", "new"])
    def test_after_a_reason_and_before_the_last_event_is_no_clean_one(self, reason: str) -> None:
        response = _answer(START, *_texts("{}"), _end(reason))
        assert response.stop is StopReason.LENGTH
        assert response.stop_detail == "the stream ended without its last event"
        assert response.continue_with is None

    def test_of_a_refusal_stays_one(self) -> None:
        details = {"type": "refusal", "category": "cyber", "explanation": "No."}
        told = (START, *_texts('{"a": '), _end("refusal", stop_details=details))
        for data in (told, (*told, STOP)):
            response = _answer(*data)
            assert (response.stop, response.refusal) == (StopReason.REFUSAL, "No.")
            assert response.text == '{"a": '
            assert response.details["refusal_category"] == "cyber"

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("max_tokens", StopReason.LENGTH),
            ("model_context_window_exceeded", StopReason.LENGTH),
            ("stop_sequence", StopReason.STOP),
            ("of_tomorrow", StopReason.UNKNOWN),
        ],
    )
    def test_is_what_the_provider_says(self, reason: str, stop: StopReason) -> None:
        response = _answer(START, *_texts("{}"), _end(reason), STOP)
        assert (response.stop, response.stop_detail) == (stop, reason)

    @pytest.mark.parametrize("end", [[], [_end(None)]])
    def test_without_a_reason_is_no_clean_one(self, end: list[Any]) -> None:
        response = _answer(START, *_texts("{}"), *end, STOP)
        assert response.stop is StopReason.LENGTH
        assert response.stop_detail == "ended without stop reason"

    def test_keeps_the_reason_when_a_later_event_has_none(self) -> None:
        response = _answer(START, *_texts("{}"), _end("max_tokens"), _end(None), STOP)
        assert response.stop is StopReason.LENGTH
        assert response.stop_detail == "max_tokens"

    def test_of_a_paused_turn_gives_its_blocks_put_together(self) -> None:
        response = _answer(
            START,
            _begin(0, "thinking", thinking="h", signature=""),
            _delta(0, "thinking_delta", thinking="m"),
            _delta(0, "signature_delta", signature="s"),
            _close(0),
            _begin(1, "text", text=""),
            _delta(1, "text_delta", text="Let me "),
            _delta(1, "citations_delta", citation={"n": 1}),
            _delta(1, "citations_delta", citation={"n": 2}),
            _delta(1, "text_delta", text="look."),
            _close(1),
            _begin(2, "server_tool_use", id="srv_1", name="web_search", input={}),
            _delta(2, "input_json_delta", partial_json='{"q": '),
            _delta(2, "input_json_delta", partial_json='"x"}'),
            _close(2),
            _begin(3, "server_tool_use", id="srv_2", name="now", input={}),
            _delta(3, "input_json_delta", partial_json=""),
            _close(3),
            _end("pause_turn"),
            STOP,
        )
        assert response.stop is StopReason.PAUSE
        assert response.continue_with == (
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Let me look.", "citations": [{"n": 1}, {"n": 2}]},
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": "x"}},
            {"type": "server_tool_use", "id": "srv_2", "name": "now", "input": {}},
        )

    def test_of_a_paused_turn_that_cannot_be_written_back_is_said(self) -> None:
        begin = _begin(0, "server_tool_use", id="srv_1", name="web_search", input={})
        broken = _delta(0, "input_json_delta", partial_json='{"q": ')
        with pytest.raises(MalformedResponseError, match="input of a tool is not JSON"):
            _answer(START, begin, broken, _close(0), _end("pause_turn"), STOP)


class TestTheUsageOfAStream:
    def test_is_the_last_total(self) -> None:
        late = _end()
        late["usage"] = {
            "input_tokens": 40,
            "cache_read_input_tokens": None,
            "cache_creation_input_tokens": 2,
            "output_tokens": 30,
            "output_tokens_details": {"thinking_tokens": 11},
        }
        response = _answer(START, *_texts("x"), _end(), late, STOP)
        assert response.usage == Usage(
            input_tokens=47, output_tokens=30, cached_input_tokens=5, reasoning_tokens=11
        )

    @pytest.mark.parametrize("usage", [None, [], {}, {"output_tokens": None}])
    def test_is_not_complete_without_a_total_at_the_end(self, usage: Any) -> None:
        response = _answer(START, *_texts("x"), {**_end(), "usage": usage}, STOP)
        assert response.usage == Usage(
            input_tokens=25, output_tokens=1, cached_input_tokens=5, is_complete=False
        )

    def test_is_what_the_end_says_where_the_beginning_says_nothing(self) -> None:
        start = {"type": "message_start", "message": {"usage": None}}
        response = _answer(start, *_texts("x"), _end(), STOP)
        assert response.usage == Usage(output_tokens=9, is_complete=False)


class TestWhatIsNoAnswer:
    @pytest.mark.parametrize(
        ("kind", "error"), [("overloaded_error", ServerError), ("rate_limit_error", RateLimitError)]
    )
    def test_an_error_in_mid_stream_is_raised(self, kind: str, error: type[ProviderError]) -> None:
        told = {"type": "error", "error": {"type": kind, "message": "Busy"}, "request_id": "req_1"}
        with pytest.raises(error, match="Busy") as caught:
            _answer(START, *_texts("x"), told)
        assert caught.value.request_id == "req_1"
        assert caught.value.retryable

    @pytest.mark.parametrize(
        "data",
        ['{"type": "overloaded_error", "message": "Busy"}', '{"error": {"type": "api_error"}}'],
    )
    def test_an_event_named_error_is_one_whatever_it_holds(self, data: str) -> None:
        with pytest.raises(ServerError):
            _read([ServerEvent(event="error", data=data)])

    @pytest.mark.parametrize("begun", [[], _texts("x"), _texts("x")[:-1]])
    def test_a_second_message_inside_the_first_is_worth_another_try(self, begun: Any) -> None:
        second = json.loads(json.dumps(START).replace("msg_1", "msg_2"))
        with pytest.raises(MalformedResponseError, match="a second message began") as caught:
            _answer(START, *begun, second, *_texts("y"), _end(), STOP)
        assert caught.value.retryable

    @pytest.mark.parametrize("data", ['{"type": "mess', "[DONE]", "nope", '"\\ud800"'])
    def test_broken_json_is_said(self, data: str) -> None:
        with pytest.raises(MalformedResponseError, match="'message_delta' is not JSON"):
            _read([ServerEvent(event="message_delta", data=data)])

    @pytest.mark.parametrize(
        "events",
        [
            [[1]],
            [STOP],
            [_end()],
            _texts("x"),
            [{"type": "message_start"}],
            [{"type": "message_start", "message": []}],
            [{"type": "message_start", "message": {"content": [{"type": "text", "text": "x"}]}}],
            [START, *_texts("x"), START, *_texts("y")],
            [START, {"type": "content_block_start", "index": 0}],
            [START, _begin(-1, "text", text="")],
            [START, {**_begin(0, "text", text=""), "index": True}],
            [START, _begin(0, "text")],
            [START, _begin(0, "tool_use", input={})],
            [START, _begin(0, "text", text=""), _begin(1, "text", text="")],
            [START, *_texts("x"), _begin(0, "text", text="")],
            [START, _delta(0, "text_delta", text="x")],
            [START, *_texts("x"), _delta(0, "text_delta", text="x")],
            [START, *_texts("x"), _close(0)],
            [START, _begin(0, "text", text=""), {"type": "content_block_delta", "index": 0}],
            [START, _begin(0, "text", text=""), _delta(0, "text_delta")],
            [START, _begin(0, "text", text=""), _delta(0, "text_delta", text=None)],
            [START, _begin(0, "text", text=""), _delta(0, "input_json_delta", partial_json="x")],
            [START, _begin(0, "redacted_thinking", data=""), _delta(0, "text_delta", text="x")],
            [START, {"type": "message_delta"}],
            [START, _end(3), STOP],
        ],
    )
    @pytest.mark.parametrize("wire", [anthropic.WIRE, anthropic.TOOL_WIRE], ids=["text", "tool"])
    def test_what_the_api_does_not_promise_is_said(self, wire: Wire, events: list[Any]) -> None:
        sent = [ServerEvent(data=json.dumps(one)) for one in events]
        with pytest.raises(MalformedResponseError, match="not what the API promises"):
            decode_events(wire, sent)


# Events in any order, with anything in them


_SCALARS = st.none() | st.booleans() | st.integers(-1, 2) | st.floats() | st.text(max_size=3)
_BLOCKS = st.sampled_from(
    [
        {"type": "text", "text": ""},
        {"type": "text", "text": "t"},
        {"type": "thinking", "thinking": ""},
        {"type": "tool_use", "id": "i", "name": "n", "input": {}},
        {"type": "server_tool_use", "id": "i", "name": "n", "input": {}},
        {"type": "redacted_thinking", "data": ""},
        {"type": "of_tomorrow"},
    ]
)
_ADDED = st.sampled_from(
    [
        {"type": "text_delta", "text": "x"},
        {"type": "input_json_delta", "partial_json": '{"a":1}'},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "thinking_delta", "thinking": "h"},
        {"type": "signature_delta", "signature": "s"},
        {"type": "citations_delta", "citation": {}},
    ]
)
_REASONS = st.sampled_from(["end_turn", "tool_use", "pause_turn", "refusal", "max_tokens", None])
_INDEXES = st.integers(0, 2)
_LAWFUL = st.one_of(
    st.just(START),
    st.just(STOP),
    st.just({"type": "ping"}),
    st.just({"type": "error", "error": {"type": "api_error", "message": "m"}}),
    st.builds(lambda i, b: {**_begin(i, ""), "content_block": b}, _INDEXES, _BLOCKS),
    st.builds(lambda i, d: {**_delta(i, ""), "delta": d}, _INDEXES, _ADDED),
    st.builds(_close, _INDEXES),
    st.builds(_end, _REASONS),
)  # fmt: skip


@st.composite
def _spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an event of which one key, at any depth, is missing or holds something else."""
    event: dict[str, Any] = json.loads(json.dumps(draw(_LAWFUL)))
    here = event
    while inner := [key for key in here if isinstance(here[key], dict) and here[key]]:
        if draw(st.booleans()):
            break
        here = here[draw(st.sampled_from(inner))]
    key = draw(st.sampled_from(sorted(here)))
    if draw(st.booleans()):
        del here[key]
    else:
        anything = _SCALARS | st.lists(_SCALARS, max_size=2)
        here[key] = draw(anything | st.dictionaries(st.text(max_size=3), _SCALARS, max_size=2))
    return event


_WIRES = st.sampled_from([anthropic.WIRE, anthropic.TOOL_WIRE, anthropic.tool_wire("n")])


@given(events=st.lists(_LAWFUL | _spoilt(), max_size=12), wire=_WIRES, starts=st.booleans())
def test_no_events_at_all_raise_anything_but_a_provider_error(
    events: list[Any], wire: Wire, starts: bool
) -> None:
    sent = [ServerEvent(data=json.dumps(one)) for one in ([START] if starts else []) + events]
    try:
        fed, response = _read(sent, wire)
    except ProviderError:
        return
    assert fed == response.text
    if response.stop is StopReason.STOP:
        assert STOP in events


@given(data=st.lists(st.binary(max_size=20) | st.text(max_size=20), max_size=5), name=st.text())
def test_no_data_at_all_raises_anything_but_a_provider_error(data: list[Any], name: str) -> None:
    decoder = anthropic.WIRE.decoder()
    for one in data:
        try:
            text = one if isinstance(one, str) else one.decode("utf-8", "replace")
            decoder.feed(ServerEvent(event=name, data=text))
        except ProviderError:
            return
    assert decoder.close().stop is StopReason.LENGTH


@given(
    pieces=st.lists(st.tuples(st.booleans(), st.lists(st.text(max_size=5), max_size=4)), max_size=4)
)
def test_a_stream_and_a_whole_message_are_the_same_answer(
    pieces: list[tuple[bool, list[str]]],
) -> None:
    events: list[Any] = [START]
    content: list[Any] = []
    for at, (is_text, words) in enumerate(pieces):
        if is_text:
            events += _texts(*words, at=at)
            content.append({"type": "text", "text": "".join(words)})
        else:
            given_ = {"words": words}
            whole = json.dumps(given_, ensure_ascii=False, separators=(",", ":"))
            events += _call(whole[:3], whole[3:], at=at)
            content.append(
                {"type": "tool_use", "id": "toolu_1", "name": "Invoice", "input": given_}
            )
    message = {**START["message"], "content": content, "stop_reason": "tool_use"}  # type: ignore[dict-item]
    message["usage"] = {**message["usage"], "output_tokens": 9}
    for wire in (anthropic.WIRE, anthropic.TOOL_WIRE):
        assert _answer(*events, _end("tool_use"), STOP, wire=wire) == wire.decode(message)


# Recordings


def _told(events: list[ServerEvent], kind: str) -> list[Any]:
    every = [json.loads(event.data) for event in events]
    return [one for one in every if one["type"] == kind]


def _sent(answer: Any) -> list[ServerEvent]:
    decoder = EventDecoder()
    raw = answer.get("sse_text", "").encode()
    return [*decoder.feed(raw), *decoder.close(), *_events(answer.get("chunks", []))]


def _streams(*, messages: int) -> list[Any]:
    """Return the recorded streams in which so many messages begin."""
    index = _FOLDER / "index.jsonl"
    found: list[Any] = []
    for line in index.read_text("utf-8").splitlines() if index.is_file() else ():
        row = json.loads(line)
        if "messages" not in row["api"]:
            continue
        recording = json.loads((_FOLDER / row["file"]).read_text("utf-8"))
        for number, exchange in enumerate(recording["interactions"]):
            events = _sent(exchange["response"])
            begun = {one["message"]["id"] for one in _told(events, "message_start")}
            if len(begun) == messages:
                name = f"{row['file']}-{number}"
                found.append(pytest.param(events, exchange["tags"], id=name))
    mark = pytest.mark.skip(reason=f"no recordings at {_FOLDER}")
    return found or [pytest.param([], [], marks=mark, id="absent")]


_STREAMS = _streams(messages=1)


@pytest.mark.parametrize(("events", "tags"), _STREAMS)
def test_a_recorded_stream_is_read_whole(events: list[ServerEvent], tags: list[str]) -> None:
    fed, response = _read(events)
    deltas = [one["delta"] for one in _told(events, "content_block_delta")]
    assert response.text == fed == "".join(one.get("text", "") for one in deltas)
    begun = [one["content_block"] for one in _told(events, "content_block_start")]
    calls = [(one["id"], one["name"]) for one in begun if one["type"] == "tool_use"]
    assert [(call.id, call.name) for call in response.tool_calls] == calls
    usage = _told(events, "message_delta")[-1]["usage"]
    assert response.usage.is_complete
    assert response.usage.output_tokens == usage["output_tokens"]
    first = _told(events, "message_start")[0]["message"]
    read = {**first["usage"], **usage}
    assert response.usage.input_tokens == sum(
        count for name, count in read.items() if name.endswith("input_tokens")
    )
    assert response.model == first["model"]
    reason = _told(events, "message_delta")[-1]["delta"]["stop_reason"]
    assert response.stop_detail == reason
    assert (response.stop is StopReason.REFUSAL) == ("refusal" in tags)
    assert (response.stop is StopReason.LENGTH) == ("truncated" in tags)
    assert bool(response.tool_calls) >= ("tool_call" in tags)
    if "invalid_json_arguments" in tags or "truncated_tool_json" in tags:
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid"):
            json.loads(response.tool_calls[-1].arguments)


@pytest.mark.parametrize(("events", "tags"), _STREAMS)
def test_a_recorded_stream_that_is_cut_anywhere_is_no_clean_answer(
    events: list[ServerEvent], tags: list[str]
) -> None:
    whole = _read(events)[0]
    decoder = anthropic.WIRE.decoder()
    so_far = ""
    for event in events[:-1]:
        so_far += decoder.feed(event).text
        response = decoder.close()
        assert response.stop in (StopReason.LENGTH, StopReason.REFUSAL)
        assert response.text == so_far == whole[: len(so_far)]
    assert ("refusal" in tags) == (decoder.close().stop is StopReason.REFUSAL)


@pytest.mark.parametrize(("events", "tags"), _streams(messages=2))
def test_a_recorded_stream_of_two_messages_is_no_answer(
    events: list[ServerEvent], tags: list[str]
) -> None:
    assert "streaming" in tags
    with pytest.raises(MalformedResponseError, match="a second message began") as caught:
        _read(events)
    assert caught.value.retryable
