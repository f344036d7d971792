"""What is posted to Anthropic, and what is read out of a whole answer."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import (
    MalformedResponseError,
    ProviderError,
    RateLimitError,
    ServerError,
    UnsupportedError,
)
from extractkit.messages import (
    Constraint,
    Message,
    ModelRequest,
    RawToolCall,
    Sampling,
    StopReason,
    Usage,
)
from extractkit.providers import anthropic

MODEL = "claude-sonnet-5"
SCHEMA = {
    "type": "object",
    "properties": {"z": {"type": "string"}, "a": {"type": "integer"}},
    "required": ["z", "a"],
    "additionalProperties": False,
}
ASKED = ModelRequest(
    messages=(
        Message(role="system", content="Read the text."),
        Message(role="user", content="one"),
        Message(role="assistant", content='{"z":"x","a":1}'),
        Message(role="user", content="two"),
    ),
    constraint=Constraint(schema=SCHEMA, name="Invoice"),
    top_logprobs=None,
)

_FOLDER = (
    Path(os.environ.get("EXTRACTKIT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "llm_recordings"
    / "dev"
)


def _change(**changes: Any) -> ModelRequest:
    return dataclasses.replace(ASKED, **changes)


def _sampled(**values: Any) -> ModelRequest:
    return _change(sampling=Sampling(**values))


def _posted(request: ModelRequest, stream: bool = False) -> dict[str, Any]:
    return anthropic.WIRE.encode(request, MODEL, stream).body


def _message(*blocks: Any, reason: Any = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-20260901",
        "content": list(blocks),
        "stop_reason": reason,
        "usage": {"input_tokens": 10, "output_tokens": 4},
        **more,
    }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(arguments: Any, name: str = "Invoice") -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


class TestWhatIsPosted:
    def test_the_whole_body_is_what_the_api_documents(self) -> None:
        posted = anthropic.WIRE.encode(ASKED, MODEL, False)
        assert posted.path == "/v1/messages"
        assert posted.headers == {}
        assert posted.body == {
            "model": MODEL,
            "max_tokens": 8192,
            "system": [{"type": "text", "text": "Read the text."}],
            "messages": [
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": '{"z":"x","a":1}'},
                {"role": "user", "content": "two"},
            ],
            "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        }

    def test_the_order_of_keys_in_the_schema_is_kept(self) -> None:
        schema = _posted(ASKED)["output_config"]["format"]["schema"]
        assert list(schema["properties"]) == ["z", "a"]

    def test_a_strict_tool_is_forced_and_alone(self) -> None:
        body = anthropic.TOOL_WIRE.encode(ASKED, MODEL, False).body
        assert body["tools"] == [{"name": "Invoice", "strict": True, "input_schema": SCHEMA}]
        assert body["tool_choice"] == {
            "type": "tool",
            "name": "Invoice",
            "disable_parallel_tool_use": True,
        }
        assert "output_config" not in body

    def test_a_tool_without_a_schema_is_refused(self) -> None:
        with pytest.raises(UnsupportedError, match="without a constraint"):
            anthropic.TOOL_WIRE.encode(_change(constraint=None), MODEL, False)

    def test_nothing_is_said_about_a_shape_without_a_constraint(self) -> None:
        assert _posted(_change(constraint=None)).keys() == {
            "model",
            "max_tokens",
            "system",
            "messages",
        }

    @pytest.mark.parametrize("wire", [anthropic.WIRE, anthropic.TOOL_WIRE], ids=["text", "tool"])
    def test_sampling_is_written_as_given_and_only_then(self, wire: Any) -> None:
        sampling = Sampling(
            temperature=0.0, top_p=0.9, top_k=3, max_output_tokens=77, effort="xhigh"
        )
        body = wire.encode(_change(sampling=sampling), MODEL, False).body
        assert (body["temperature"], body["top_p"], body["top_k"]) == (0.0, 0.9, 3)
        assert body["max_tokens"] == 77
        assert body["output_config"]["effort"] == "xhigh"

    def test_effort_and_format_share_one_place(self) -> None:
        assert _posted(_sampled(effort="low"))["output_config"] == {
            "effort": "low",
            "format": {"type": "json_schema", "schema": SCHEMA},
        }

    def test_a_stream_is_asked_for_only_where_one_is_wanted(self) -> None:
        assert _posted(ASKED, stream=True)["stream"] is True
        assert "stream" not in _posted(ASKED)

    def test_no_system_turn_is_no_system_key(self) -> None:
        assert "system" not in _posted(_change(messages=ASKED.messages[1:]))

    def test_several_system_turns_are_several_blocks(self) -> None:
        turns = (Message(role="system", content="first"), *ASKED.messages)
        texts = [block["text"] for block in _posted(_change(messages=turns))["system"]]
        assert texts == ["first", "Read the text."]

    def test_a_late_system_turn_is_refused_and_not_moved(self) -> None:
        turns = (*ASKED.messages, Message(role="system", content="by the way"))
        with pytest.raises(UnsupportedError, match=r"messages\[4\] is a system turn"):
            _posted(_change(messages=turns))

    @pytest.mark.parametrize(
        ("request_", "words"),
        [
            (_change(top_logprobs=0), "no log-probabilities"),
            (_change(top_logprobs=5), "no log-probabilities"),
            (_change(json_mode=True, constraint=None), "no mode for any JSON"),
            (_change(constraint=Constraint(kind="grammar", grammar="start: X")), "JSON Schema"),
            (_sampled(seed=1), r"Sampling\(seed=1\).*effort work"),
            (_sampled(min_p=0.0), r"Sampling\(min_p=0.0\)"),
        ],
    )
    @pytest.mark.parametrize("wire", [anthropic.WIRE, anthropic.TOOL_WIRE], ids=["text", "tool"])
    def test_what_the_api_lacks_is_refused(
        self, wire: Any, request_: ModelRequest, words: str
    ) -> None:
        if request_.constraint is None and wire is anthropic.TOOL_WIRE:
            words = "without a constraint"
        with pytest.raises(UnsupportedError, match=words):
            wire.encode(request_, MODEL, False)


class TestAPausedTurn:
    BLOCKS = (
        _text("Let me look. "),
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}},
    )

    def test_keeps_its_blocks_as_they_came(self) -> None:
        response = anthropic.decode(_message(*self.BLOCKS, reason="pause_turn"))
        assert (response.stop, response.stop_detail) == (StopReason.PAUSE, "pause_turn")
        assert response.continue_with == self.BLOCKS
        assert response.text == "Let me look. "

    def test_goes_on_from_them(self) -> None:
        body = _posted(_change(continue_with=self.BLOCKS))
        assert body["messages"][-1] == {"role": "assistant", "content": list(self.BLOCKS)}
        assert body["messages"][:-1] == _posted(ASKED)["messages"]

    def test_that_paused_twice_goes_on_from_both(self) -> None:
        first = anthropic.decode(_message(*self.BLOCKS, reason="pause_turn"))
        again = anthropic.decode(_message(_text("Still looking."), reason="pause_turn"))
        body = _posted(_change(continue_with=first.continue_with + again.continue_with))
        assert body["messages"][-1]["content"] == [*self.BLOCKS, _text("Still looking.")]

    def test_without_blocks_is_asked_again_as_it_was(self) -> None:
        body = _posted(ASKED)
        assert anthropic.continue_turn(body, ()) is body

    def test_does_not_change_the_body_it_goes_on_from(self) -> None:
        body = _posted(ASKED)
        anthropic.continue_turn(body, self.BLOCKS)
        assert body == _posted(ASKED)

    def test_is_the_only_ending_that_can_be_gone_on_from(self) -> None:
        assert anthropic.decode(_message(*self.BLOCKS)).continue_with is None


def test_a_call_that_was_not_asked_for_is_no_clean_end() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    response = anthropic.decode(_message(_text('{"a": 1}'), call))
    assert (response.stop, response.stop_detail) == (StopReason.TOOL_USE, "end_turn")
    assert len(response.tool_calls) == 1


class TestTheText:
    def test_is_what_the_text_blocks_say(self) -> None:
        response = anthropic.decode(_message(_text('{"a"'), _text(": 1}")))
        assert response.text == '{"a": 1}'
        assert (response.stop, response.stop_detail) == (StopReason.STOP, "end_turn")
        assert response.model == "claude-sonnet-5-20260901"
        assert response.details == {"id": "msg_1"}
        assert response.tokens == ()
        assert response.refusal is None

    def test_is_not_what_the_model_thought(self) -> None:
        response = anthropic.decode(
            _message(
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "of_tomorrow"},
                _text("{}"),
            )
        )
        assert response.text == "{}"
        assert response.details["blocks"] == {
            "thinking": 2,
            "redacted_thinking": 1,
            "of_tomorrow": 1,
        }

    def test_may_be_empty(self) -> None:
        response = anthropic.decode(_message())
        assert (response.text, response.stop) == ("", StopReason.STOP)

    def test_has_calls_beside_it(self) -> None:
        response = anthropic.decode(
            _message(_text("I call."), _call({"q": "Zürich"}, "seek"), reason="tool_use")
        )
        assert response.stop is StopReason.TOOL_USE
        assert response.text == "I call."
        assert response.tool_calls == (
            RawToolCall(id="toolu_1", name="seek", arguments='{"q":"Zürich"}'),
        )

    @pytest.mark.parametrize(("given", "text"), [({}, "{}"), (None, ""), ([1], "[1]")])
    def test_of_arguments_is_what_stands_there(self, given: Any, text: str) -> None:
        response = anthropic.decode(_message(_call(given, "ping"), reason="tool_use"))
        assert response.tool_calls[0].arguments == text


class TestTheEnding:
    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("end_turn", StopReason.STOP),
            ("stop_sequence", StopReason.STOP),
            ("max_tokens", StopReason.LENGTH),
            ("model_context_window_exceeded", StopReason.LENGTH),
            ("tool_use", StopReason.TOOL_USE),
            ("pause_turn", StopReason.PAUSE),
            ("refusal", StopReason.REFUSAL),
            ("of_tomorrow", StopReason.UNKNOWN),
        ],
    )
    def test_is_what_the_provider_says(self, reason: str, stop: StopReason) -> None:
        response = anthropic.decode(_message(_text('{"a": 1}'), reason=reason))
        assert (response.stop, response.stop_detail) == (stop, reason)
        assert response.text == '{"a": 1}'
        assert (response.refusal is not None) == (stop is StopReason.REFUSAL)

    def test_without_a_reason_is_no_clean_one(self) -> None:
        response = anthropic.decode(_message(_text("{}"), reason=None))
        assert response.stop is StopReason.LENGTH
        assert response.stop_detail == "ended without stop reason"

    @pytest.mark.parametrize(
        ("blocks", "details", "words"),
        [
            ((_text("Sorry."),), {"category": "bio", "explanation": "Not this."}, "Not this."),
            ((_text("Sorry."),), {"category": "bio", "explanation": None}, "Sorry."),
            ((), {"category": "bio", "explanation": " "}, "bio"),
            ((_text("  "),), {"category": None, "explanation": None}, "refusal"),
            ((), None, "refusal"),
            ((), "no", "refusal"),
            ((), {"category": 3, "explanation": ["x"]}, "refusal"),
        ],
    )
    def test_of_a_refusal_has_the_best_words_there_are(
        self, blocks: Any, details: Any, words: str
    ) -> None:
        body = _message(*blocks, reason="refusal", stop_details=details)
        response = anthropic.decode(body)
        assert (response.stop, response.refusal) == (StopReason.REFUSAL, words)

    def test_of_a_refusal_keeps_its_category(self) -> None:
        told = {"category": "cyber", "recommended_model": "claude-fable-5", "explanation": "No."}
        response = anthropic.decode(_message(reason="refusal", stop_details=told))
        assert response.details["refusal_category"] == "cyber"
        assert response.details["refusal_recommended_model"] == "claude-fable-5"


class TestTheUsage:
    def test_counts_what_went_through_the_cache_as_read(self) -> None:
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 30,
            "output_tokens": 50,
            "output_tokens_details": {"thinking_tokens": 40},
        }
        assert anthropic.decode(_message(usage=usage)).usage == Usage(
            input_tokens=240, output_tokens=50, cached_input_tokens=200, reasoning_tokens=40
        )

    @pytest.mark.parametrize(
        ("usage", "counted"),
        [
            (None, Usage(is_complete=False)),
            ([], Usage(is_complete=False)),
            ({}, Usage(is_complete=False)),
            ({"input_tokens": 3}, Usage(input_tokens=3, is_complete=False)),
            ({"input_tokens": "3", "output_tokens": -1}, Usage(is_complete=False)),
            ({"input_tokens": True, "output_tokens": 2.0}, Usage(is_complete=False)),
            (
                {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": None},
                Usage(input_tokens=3, output_tokens=4),
            ),
        ],
    )
    def test_says_where_numbers_are_missing(self, usage: Any, counted: Usage) -> None:
        assert anthropic.decode(_message(usage=usage)).usage == counted


class TestAnAnswerThroughATool:
    def test_is_the_input_of_the_call(self) -> None:
        response = anthropic.TOOL_WIRE.decode(
            _message(_call({"z": "é", "a": 1}), reason="tool_use")
        )
        assert json.loads(response.text) == {"z": "é", "a": 1}
        assert list(json.loads(response.text)) == ["z", "a"]
        assert (response.stop, response.stop_detail) == (StopReason.STOP, "tool_use")
        assert response.tool_calls == ()

    def test_keeps_what_the_model_said_before_it(self) -> None:
        response = anthropic.TOOL_WIRE.decode(
            _message(_text("Here:"), _call({"a": 1}), reason="tool_use")
        )
        assert response.text == '{"a":1}'
        assert response.details["preamble"] == "Here:"

    @pytest.mark.parametrize("reason", ["tool_use", "end_turn"])
    def test_is_no_choice_between_two_calls(self, reason: str) -> None:
        response = anthropic.TOOL_WIRE.decode(
            _message(_call({"a": 1}), _call({"a": 2}), reason=reason)
        )
        assert response.stop is StopReason.TOOL_USE
        assert response.stop_detail == f"{reason}: calls that were not asked for, 2 in all"
        assert [call.arguments for call in response.tool_calls] == ['{"a":1}', '{"a":2}']

    def test_is_empty_where_the_tool_was_not_called(self) -> None:
        response = anthropic.TOOL_WIRE.decode(_message(_text('{"a":1}')))
        assert (response.text, response.stop) == ("", StopReason.STOP)
        assert response.details["preamble"] == '{"a":1}'

    def test_that_ends_for_a_tool_without_a_call_is_no_clean_end(self) -> None:
        response = anthropic.TOOL_WIRE.decode(_message(reason="tool_use"))
        assert response.stop is StopReason.TOOL_USE

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("max_tokens", StopReason.LENGTH),
            ("refusal", StopReason.REFUSAL),
            ("pause_turn", StopReason.PAUSE),
            (None, StopReason.LENGTH),
            ("of_tomorrow", StopReason.UNKNOWN),
        ],
    )
    def test_that_was_not_finished_is_not_made_clean(
        self, reason: str | None, stop: StopReason
    ) -> None:
        response = anthropic.TOOL_WIRE.decode(_message(_call({"a": 1}), reason=reason))
        assert response.stop is stop
        assert response.text == '{"a":1}'

    def test_can_be_held_to_the_name_of_the_tool(self) -> None:
        body = _message(_call({"a": 1}, "Other"), reason="tool_use")
        named = anthropic.tool_wire("Invoice").decode(body)
        assert (named.text, named.stop) == ("", StopReason.TOOL_USE)
        assert named.tool_calls[0].name == "Other"
        assert anthropic.tool_wire("Other").decode(body).text == '{"a":1}'


class TestWhatIsNoAnswer:
    @pytest.mark.parametrize(
        ("told", "kind"),
        [
            ({"type": "overloaded_error", "message": "Overloaded"}, ServerError),
            ({"type": "rate_limit_error", "message": "Slow down"}, RateLimitError),
            ({"type": 3, "message": None, "details": {"error_code": 4}}, ProviderError),
            ("broken", ProviderError),
            (None, ProviderError),
        ],
    )
    def test_an_error_with_status_200_is_raised(self, told: Any, kind: type[ProviderError]) -> None:
        with pytest.raises(kind) as caught:
            anthropic.decode({"type": "error", "error": told, "request_id": "req_9"})
        assert caught.value.request_id == "req_9"
        assert not isinstance(caught.value, MalformedResponseError)

    def test_an_error_without_its_type_is_raised_too(self) -> None:
        with pytest.raises(ServerError, match="Overloaded"):
            anthropic.decode({"error": {"type": "overloaded_error", "message": "Overloaded"}})

    @pytest.mark.parametrize(
        "body",
        [
            None,
            [],
            "text",
            {},
            {"input_tokens": 16},
            {"type": "completion", "content": []},
            {"type": "message", "content": "text"},
            {"object": "chat.completion", "choices": []},
            _message("text"),
            _message({"text": "no type"}),
            _message({"type": "text"}),
            _message({"type": "text", "text": None}),
            _message({"type": "tool_use", "input": {}}),
            _message(reason=3),
        ],
    )
    @pytest.mark.parametrize("wire", [anthropic.WIRE, anthropic.TOOL_WIRE], ids=["text", "tool"])
    def test_what_the_api_does_not_promise_is_said(self, wire: Any, body: Any) -> None:
        with pytest.raises(MalformedResponseError, match="not what the API promises"):
            wire.decode(body)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        [
            "",
            "message",
            "text",
            "tool_use",
            "thinking",
            "error",
            "refusal",
            "end_turn",
            "pause_turn",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "content", "text", "id", "name", "input", "stop_reason", "usage"),
                    *("stop_details", "error", "message", "explanation", "category", "details"),
                    *("input_tokens", "output_tokens", "output_tokens_details", "model"),
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@given(body=_JSON, blocks=_JSON, tool=st.booleans())
def test_no_body_at_all_raises_anything_but_a_provider_error(
    body: Any, blocks: Any, tool: bool
) -> None:
    if isinstance(body, dict) and isinstance(blocks, list):
        body = {**body, "type": "message", "content": blocks}
    try:
        response = (anthropic.TOOL_WIRE if tool else anthropic.WIRE).decode(body)
    except ProviderError:
        return
    assert isinstance(response.text, str)
    assert response.stop is not StopReason.REFUSAL or response.refusal


@given(
    text=st.text(),
    cut=st.integers(0, 5),
    words=st.lists(st.text(max_size=3), max_size=4),
)
def test_any_text_is_given_back_unchanged(text: str, cut: int, words: list[str]) -> None:
    thoughts = [{"type": "thinking", "thinking": word, "signature": ""} for word in words]
    body = _message(*thoughts, _text(text[:cut]), *thoughts, _text(text[cut:]))
    assert anthropic.decode(body).text == text


# Recordings of the real API, with an oracle that reads them another way


def _exchanges() -> Iterator[tuple[str, Any, Any]]:
    index = _FOLDER / "index.jsonl"
    for line in index.read_text("utf-8").splitlines() if index.is_file() else ():
        row = json.loads(line)
        if row["provider"] not in {"anthropic", "bedrock"} and "messages" not in row["api"]:
            continue
        recording = json.loads((_FOLDER / row["file"]).read_text("utf-8"))
        for number, exchange in enumerate(recording["interactions"]):
            yield f"{row['file']}-{number}", exchange["request"], exchange["response"]


def _params(found: list[Any]) -> list[Any]:
    mark = pytest.mark.skip(reason=f"no recordings at {_FOLDER}")
    return found or [pytest.param(None, marks=mark, id="absent")]


def _answers() -> list[Any]:
    bodies = ((name, answer.get("json")) for name, _, answer in _exchanges())
    return _params(
        [
            pytest.param(body, id=name)
            for name, body in bodies
            if isinstance(body, dict) and body.get("type") in {"message", "error"}
        ]
    )


def _formats() -> list[Any]:
    asked = ((name, request.get("json") or {}) for name, request, _ in _exchanges())
    return _params(
        [
            pytest.param(body, id=name)
            for name, body in asked
            if "format" in body.get("output_config", {}) or "output_format" in body
        ]
    )


_ENDINGS = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.LENGTH,
    "refusal": StopReason.REFUSAL,
}


@pytest.mark.parametrize("body", _answers())
def test_a_recorded_answer_is_read_whole(body: Any) -> None:
    if body["type"] == "error":
        with pytest.raises(ProviderError) as caught:
            anthropic.decode(body)
        assert body["error"]["message"][:40] in caught.value.message
        return
    response = anthropic.decode(body)
    of = {kind: [one for one in body["content"] if one["type"] == kind] for kind in _kinds(body)}
    assert response.text == "".join(block["text"] for block in of.pop("text", []))
    assert [(call.id, call.name, json.loads(call.arguments)) for call in response.tool_calls] == [
        (call["id"], call["name"], call["input"]) for call in of.pop("tool_use", [])
    ]
    assert response.details.get("blocks", {}) == {kind: len(found) for kind, found in of.items()}
    assert (response.model, response.stop_detail) == (body["model"], body["stop_reason"])
    assert response.stop is _ENDINGS[body["stop_reason"]]
    assert response.usage.is_complete
    assert response.usage.output_tokens == body["usage"]["output_tokens"]
    assert response.usage.input_tokens == sum(
        count for name, count in body["usage"].items() if name.endswith("input_tokens")
    )


def _kinds(body: Any) -> set[str]:
    return {block["type"] for block in body["content"]}


@pytest.mark.parametrize("body", _formats())
def test_a_recorded_request_for_a_format_has_our_shape(body: Any) -> None:
    constraint = Constraint(schema=body["output_config"]["format"]["schema"])
    ours = _posted(_change(constraint=constraint))
    assert ours["output_config"] == body["output_config"]
    assert {"model", "max_tokens", "messages"} <= body.keys()
    assert "output_format" not in body
