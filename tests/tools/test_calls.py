"""Calls as models write them: what is known of each before anything is executed."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, model_validator

from extractkit import Confidence, FieldState, Status, Validity, parse_tool_calls, tool
from extractkit.errors import (
    FilteredError,
    InvalidError,
    MalformedResponseError,
    ProviderError,
    RefusedError,
    TruncatedError,
    UsageError,
)
from extractkit.messages import ModelResponse, RawToolCall, StopReason
from extractkit.tools import Tool, ToolCall, read_calls
from tests.tools.things import ARGUMENTS, Ping, Seek, book, chat

_PING = tool(Ping)
_SEEK = tool(Seek)
_TOOLS = [_PING, _SEEK, book]


def _one(name: str, arguments: Any, **more: Any) -> ToolCall:
    (call,) = parse_tool_calls(chat((name, arguments), **more), _TOOLS)
    return call


def _codes(call: ToolCall) -> list[str]:
    return [finding.code for finding in call.findings]


def test_a_call_is_a_typed_value_with_what_is_known_of_it() -> None:
    call = _one("Seek", {"q": "x", "limit": None})
    assert call.ok
    assert call.tool is _SEEK
    assert call.value == call.unwrap() == Seek(q="x")
    assert call.document == {"q": "x"}
    assert (call.id, call.name, call.status) == ("c0", "Seek", Status.OK)
    assert call.validity is Validity.CONSISTENT
    assert call.findings == ()
    assert call.arguments == {"q": "x", "limit": 10}
    assert call.levels[Validity.SCHEMA].failed == 0
    assert call.confidence["/q"].kind == "unavailable"
    assert "without log-probabilities" in call.confidence["/q"].reason


class Pay(BaseModel):
    amount: Decimal


class Weigh(BaseModel):
    grams: float


@pytest.mark.parametrize("text", ['{"amount": 1e400}', '"{\\"amount\\": 1e400}"'])
def test_a_number_beyond_a_float_is_taken_where_a_decimal_holds_it(text: str) -> None:
    (call,) = parse_tool_calls(chat(("Pay", text)), [tool(Pay)])
    assert call.ok
    assert call.value == Pay(amount=Decimal("1e400"))
    assert "inexact_number" in _codes(call)


def test_a_number_beyond_a_float_is_an_error_where_nothing_holds_it() -> None:
    (call,) = parse_tool_calls(chat(("Weigh", '{"grams": 1e400}')), [tool(Weigh)])
    assert (call.status, call.validity) == (Status.INVALID, Validity.NONE)
    assert _codes(call) == ["not_finite"]


@pytest.mark.parametrize("arguments", ["", "  \n", None])
def test_a_call_without_arguments_is_the_empty_object_with_a_note(arguments: Any) -> None:
    call = _one("Ping", arguments)
    assert call.value == Ping()
    assert _codes(call) == ["empty_arguments"]
    assert call.written == "{}"


def test_empty_and_braces_lack_the_same_argument() -> None:
    empty, braces = _one("Seek", ""), _one("Seek", "{}")
    assert [item.path for item in empty.findings if item.severity == "error"] == [
        item.path for item in braces.findings if item.severity == "error"
    ]
    assert empty.status is braces.status is Status.INVALID
    assert _codes(_one("Ping", "{}")) == []


def test_null_is_wrong_at_the_schema_and_words_are_wrong_at_the_syntax() -> None:
    null, words = _one("Ping", "null"), _one("Ping", "x")
    assert null.validity is Validity.SYNTAX
    assert null.status is words.status is Status.INVALID
    assert words.validity is Validity.NONE
    assert _codes(words) == ["not_json"]
    assert words.written == "x"


def test_an_unknown_tool_is_a_finding_that_names_what_is_near() -> None:
    call = _one("seek", {"q": "x"})
    assert call.tool is None
    assert _codes(call) == ["unknown_tool"]
    assert "'Seek' is near" in call.findings[0].message
    assert call.document == {"q": "x"}
    assert call.arguments == {}
    assert call.validity is Validity.SYNTAX
    with pytest.raises(InvalidError, match="there is no tool 'seek'") as caught:
        call.unwrap()
    assert caught.value.result is call
    assert "the tools are none" in parse_tool_calls(chat(("x", "")), [])[0].findings[-1].message


def test_arguments_encoded_twice_are_decoded_with_a_finding_unless_that_is_off() -> None:
    twice = json.dumps(json.dumps({"q": "x", "limit": 3}))
    call = _one("Seek", twice)
    assert call.value == Seek(q="x", limit=3)
    assert _codes(call) == ["decoded_string"]
    (strict,) = parse_tool_calls(chat(("Seek", twice)), _TOOLS, repair=False)
    assert not strict.ok
    assert _one("Seek", '"words"').status is Status.INVALID


def test_an_argument_inside_that_was_encoded_is_decoded_with_a_finding() -> None:
    class Deep(BaseModel):
        seek: Seek

    text = json.dumps({"seek": json.dumps({"q": "x", "limit": 1})})
    (call,) = parse_tool_calls(chat(("Deep", text)), [tool(Deep)])
    assert call.value == Deep(seek=Seek(q="x", limit=1))
    assert _codes(call) == ["decoded_string"]


def test_duplicate_keys_and_trailing_text_are_errors_of_the_syntax() -> None:
    assert "duplicate_key" in _codes(_one("Seek", '{"q":"a","q":"b"}'))
    two = _one("Seek", '{"q":"a"}{"q":"b"}')
    assert two.validity is Validity.NONE
    assert not two.ok


def test_a_key_of_a_map_that_comes_twice_cannot_be_taken_back() -> None:
    entries = [{"key": "a", "value": 1}, {"key": "a", "value": 2}]
    call = _one("book", {**ARGUMENTS, "room": None, "extras": entries})
    assert not call.ok
    assert "unliftable" in _codes(call)
    whole = _one("book", {**ARGUMENTS, "room": None, "extras": entries[:1]})
    assert whole.document == {**ARGUMENTS, "extras": {"a": 1}}


def test_arguments_that_a_tool_does_not_have_are_errors() -> None:
    of_function = _one("book", {**ARGUMENTS, "dry_run": True})
    of_model = _one("Seek", {"q": "x", "limit": 1, "dry_run": True})
    assert [item.path for item in of_function.findings] == ["/dry_run"]
    assert "extra_argument" in _codes(of_model)
    assert not of_function.ok
    assert not of_model.ok
    listed = Tool.of_schema("s", {"type": "object", "properties": {"q": {"type": "string"}}})
    (of_schema,) = parse_tool_calls(chat(("s", {"q": "x", "dry_run": True})), [listed])
    assert not of_schema.ok
    (right,) = parse_tool_calls(chat(("s", {"q": "x"})), [listed])
    assert right.value == right.arguments == {"q": "x"}


def test_what_a_model_says_of_other_keys_counts() -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(extra="ignore")
        q: str

    (call,) = parse_tool_calls(chat(("Loose", {"q": "x", "z": 1})), [tool(Loose)])
    assert call.ok
    assert "undeclared_field" in _codes(call)


def test_a_validator_keeps_a_call_below_what_is_required() -> None:
    class Span(BaseModel):
        """A span."""

        start: int
        end: int

        @model_validator(mode="after")
        def _in_order(self) -> Span:
            if self.end < self.start:
                raise ValueError("ends before it starts")
            return self

    (call,) = parse_tool_calls(chat(("Span", {"start": 2, "end": 1})), [tool(Span)])
    assert call.validity is Validity.SCHEMA
    assert call.document == {"start": 2, "end": 1}
    with pytest.raises(InvalidError, match="ends before it starts"):
        call.unwrap()


def test_the_last_call_of_a_cut_answer_is_cut_though_it_parses() -> None:
    first, last = parse_tool_calls(
        chat(("Seek", {"q": "x", "limit": 1}), ("Seek", '{"q": "y", "li'), finish="length"), _TOOLS
    )
    assert first.ok
    assert _codes(first) == ["cut_later"]
    assert last.status is Status.TRUNCATED
    assert last.partial is not None
    assert last.partial.document == {"q": "y"}
    assert last.partial.states["/q"] is FieldState.PRESENT
    with pytest.raises(TruncatedError):
        last.unwrap()
    assert _one("Seek", {"q": "x", "limit": 1}, finish="length").status is Status.TRUNCATED
    unknown = _one("nothing", '{"a', finish="length")
    assert unknown.status is Status.TRUNCATED


def test_arguments_that_end_in_the_middle_of_a_finished_answer_are_a_finding() -> None:
    call = _one("Seek", '{"q": "x", "limit')
    assert call.status is Status.INVALID
    assert _codes(call) == ["unexpected_end"]
    assert call.partial is not None
    assert call.partial.document == {"q": "x"}


@pytest.mark.parametrize(
    ("more", "status", "error"),
    [
        ({"refusal": "I will not"}, Status.REFUSED, RefusedError),
        ({"finish": "content_filter"}, Status.FILTERED, FilteredError),
        ({"finish": None}, Status.INVALID, InvalidError),
    ],
)
def test_no_call_of_an_answer_that_did_not_end_is_carried_out(
    more: Any, status: Status, error: type[Exception]
) -> None:
    call = _one("Seek", {"q": "x", "limit": 1}, **more)
    assert call.status is status
    assert call.value is None
    with pytest.raises(error):
        call.unwrap()


def test_grounding_needs_the_text_and_finds_values_in_it() -> None:
    answer = chat(("Seek", {"q": "Vienna", "limit": 3}))
    with pytest.raises(UsageError, match="pass text="):
        parse_tool_calls(answer, _TOOLS, require=Validity.GROUNDED)
    (call,) = parse_tool_calls(answer, _TOOLS, text="3 hits on Vienna", require=Validity.GROUNDED)
    assert call.ok
    assert call.evidence["/q"].start == 10
    (other,) = parse_tool_calls(answer, _TOOLS, text="3 of Rome", require=Validity.GROUNDED)
    assert other.status is Status.INVALID
    assert "not_in_source" in _codes(other)


def test_a_call_that_was_split_says_so() -> None:
    raw = RawToolCall(name="Ping", arguments="{}")
    response = ModelResponse(
        text="", stop=StopReason.TOOL_USE, tool_calls=(raw,), details={"tool_calls": "split"}
    )
    (call,) = read_calls(response, _TOOLS, api="openai-chat")
    assert call.ok
    assert _codes(call) == ["split_calls"]


def test_an_answer_without_calls_has_none() -> None:
    assert parse_tool_calls(chat(), _TOOLS) == ()
    assert parse_tool_calls({"object": "response", "status": "completed", "output": []}, []) == ()


def _responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"object": "response", "status": "completed", "output": list(items), **more}


_ITEM = {
    "type": "function_call", "call_id": "1", "name": "Seek",
    "arguments": '{"q":"x","limit":null}',
}  # fmt: skip
_BLOCK = {"type": "tool_use", "id": "1", "name": "Seek", "input": {"q": "x", "limit": None}}
_MCP = {"name": "Seek", "arguments": {"q": "x"}}
_CHAT = chat(("Seek", {"q": "x", "limit": None}))


@pytest.mark.parametrize(
    ("given", "notes"),
    [
        (_CHAT, []),
        (_CHAT["choices"][0], []),
        (_CHAT["choices"][0]["message"], ["no_ending"]),
        (_responses(_ITEM), []),
        (_ITEM, ["no_ending"]),
        ([_ITEM], ["no_ending"]),
        ([{"type": "reasoning", "summary": []}, _ITEM], ["no_ending"]),
        (_CHAT["choices"][0]["message"]["tool_calls"], ["no_ending"]),
        (_CHAT["choices"][0]["message"]["tool_calls"][0], ["no_ending"]),
        ([_BLOCK], ["no_ending"]),
        (
            [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "!"}, _BLOCK],
            ["no_ending"],
        ),
        ({"type": "message", "stop_reason": "tool_use", "content": [_BLOCK]}, []),
        ({"role": "assistant", "content": [_BLOCK]}, ["no_ending"]),
        (_BLOCK, ["no_ending"]),
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": _MCP}, []),
        (_MCP, []),
    ],
)
def test_each_form_of_a_call_is_read(given: Any, notes: list[str]) -> None:
    (call,) = parse_tool_calls(given, _TOOLS)
    assert call.value == Seek(q="x")
    assert _codes(call) == notes


def test_objects_of_the_sdks_are_read() -> None:
    from anthropic.types import Message
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    whole = {"id": "1", "model": "m", "role": "assistant", "type": "message",
             "content": [_BLOCK], "stop_reason": "tool_use", "stop_sequence": None,
             "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    for given in (
        ChatCompletion.construct(id="1", created=0, model="m", **_CHAT),
        Response.construct(id="1", created_at=0, model="m", **_responses(_ITEM)),
        Message.construct(**whole),
        ChatCompletion.construct(id="1", created=0, model="m", **_CHAT).choices[0],
        [Response.construct(id="1", **_responses(_ITEM)).output[0]],
        ChatCompletion.construct(id="1", **_CHAT).choices[0].message.tool_calls,
        Message.construct(**whole).content,
        {"role": "assistant", "content": Message.construct(**whole).content},
    ):
        (call,) = parse_tool_calls(given, _TOOLS)
        assert call.value == Seek(q="x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": 1}, "a dict with a"),
        ({}, "no keys"),
        ("text", "a str"),
        ([1], "no list of output items"),
        ([_MCP], "no list of output items"),
        ([_ITEM, _BLOCK], "one API .function_call, tool_use."),
        ([_ITEM, _CHAT["choices"][0]["message"]["tool_calls"][0]], "one API"),
        ([_SEEK.definition("openai-chat")], "one API"),
        ([_SEEK.definition("openai")], "one API"),
        ({"method": "tools/call", "params": {}}, "without the name"),
        ({"choices": [{}, {}]}, "2 answers"),
    ],
)
def test_what_is_no_response_is_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_tool_calls(given, _TOOLS)


@pytest.mark.parametrize("alone", [True, False])
def test_an_item_that_is_incomplete_is_cut_whatever_is_said_of_the_whole(alone: bool) -> None:
    cut = {**_ITEM, "status": "incomplete"}
    (call,) = parse_tool_calls(cut if alone else _responses(cut), _TOOLS)
    assert call.status is Status.TRUNCATED
    with pytest.raises(TruncatedError, match="a call is incomplete"):
        _SEEK.run(call)
    first, last = parse_tool_calls([_ITEM, cut] if alone else _responses(_ITEM, cut), _TOOLS)
    assert (first.ok, last.status) == (True, Status.TRUNCATED)
    both = parse_tool_calls([cut, _ITEM] if alone else _responses(cut, _ITEM), _TOOLS)
    assert [call.status for call in both] == [Status.INVALID, Status.INVALID]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"require": "x"}, "require='x'"),
        ({"require": 3}, "require=3"),
        ({"require": Validity.CORRECT, "text": "x"}, "up to GROUNDED"),
        ({"text": 5}, "text is a int"),
        ({"strict": "Seek"}, "strict='Seek'"),
        ({"strict": None}, "strict=None"),
        ({"strict": ["Seek"]}, "a set of tools' names"),
        ({"strict": {"Seek", "nope"}}, "strict names 'nope'"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_tool_calls(_CHAT, _TOOLS, **options)


def test_a_failed_or_broken_response_is_an_error_of_the_provider() -> None:
    with pytest.raises(ProviderError, match="overloaded"):
        parse_tool_calls({"error": {"message": "overloaded"}}, _TOOLS)
    with pytest.raises(MalformedResponseError):
        parse_tool_calls({"object": "response", "status": "completed"}, _TOOLS)


def test_tokens_that_wrote_the_arguments_give_their_confidence() -> None:
    text = '{"q": "x", "limit": null}'
    pieces = ["<call>", '{"q": "', "x", '", "limit": ', "null", "}</call>"]
    told = [
        {"token": piece, "bytes": list(piece.encode()), "logprob": -0.5, "top_logprobs": []}
        for piece in pieces
    ]
    answer = chat(("Seek", text))
    answer["choices"][0]["logprobs"] = {"content": told}
    (call,) = parse_tool_calls(answer, _TOOLS)
    found: Confidence = call.confidence["/q"]
    assert found.kind == "sequence"
    assert found.probability == pytest.approx(0.6065, abs=1e-3)

    answer["choices"][0]["logprobs"] = {"content": told[:2]}
    (other,) = parse_tool_calls(answer, _TOOLS)
    assert other.confidence["/q"].kind == "unavailable"
    assert "do not stand" in other.confidence["/q"].reason


@pytest.mark.parametrize("numbers", [[], None])
def test_tokens_are_read_by_their_text_where_their_bytes_are_not_given(numbers: Any) -> None:
    told: list[Any] = [
        {"token": piece, "bytes": numbers, "logprob": -0.5, "top_logprobs": []}
        for piece in ('{"q": "', "x", '", "limit": null}')
    ]
    answer = chat(("Seek", '{"q": "x", "limit": null}'))
    answer["choices"][0]["logprobs"] = {"content": told}
    (call,) = parse_tool_calls(answer, _TOOLS)
    assert call.confidence["/q"].kind == "sequence"
    assert call.confidence["/q"].probability == pytest.approx(0.6065, abs=1e-3)


@pytest.mark.parametrize(
    "content",
    [
        [{"token": "x", "bytes": [0xC3], "logprob": -1.0}],
        [{"token": "x", "bytes": ["a"], "logprob": -1.0}],
        [3],
        [],
    ],
)
def test_tokens_of_no_use_leave_confidence_unavailable(content: Any) -> None:
    answer = chat(("Ping", "{}"), ("Seek", {"q": "x", "limit": 1}))
    answer["choices"][0]["logprobs"] = {"content": content}
    _, call = parse_tool_calls(answer, _TOOLS)
    assert call.ok
    assert call.confidence["/q"].kind == "unavailable"


def test_the_form_of_the_definitions_can_be_another_than_that_of_the_response() -> None:
    (call,) = parse_tool_calls(chat(("Seek", {"q": "x"})), _TOOLS, strict=False)
    assert call.value == Seek(q="x")
    (mapped,) = parse_tool_calls(
        chat(("Seek", {"q": "x", "limit": None})), _TOOLS, api="compatible"
    )
    assert mapped.value == Seek(q="x")


def test_a_mapped_name_is_read_back_and_the_own_one_too() -> None:
    dotted = Tool.of_schema("files.read", {"type": "object", "properties": {}})
    for name in ("files_read", "files.read"):
        (call,) = parse_tool_calls(chat((name, "")), [dotted])
        assert call.tool is dotted
        assert call.name == "files.read"
