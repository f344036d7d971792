"""Tool calls without arguments, and calls that a server put under one index.

Cases 022, and 039 as far as reading whole deltas into ToolCalls goes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Status, ToolCall, Validity, parse_tool_calls, tool
from extractkit.providers._wire import ServerEvent
from extractkit.providers.openai_chat import Decoder
from extractkit.tools import read_calls


class Ping(BaseModel):
    pass


class Seek(BaseModel):
    q: str


_TOOLS = [tool(Ping), tool(Seek)]


def called(target: type[BaseModel], arguments: str | None) -> ToolCall:
    function = {"name": target.__name__, "arguments": arguments}
    message = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    choice = {"finish_reason": "tool_calls", "message": message}
    (call,) = parse_tool_calls({"choices": [choice]}, _TOOLS)
    return call


# --- 022: empty or blank arguments --------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "is_noted"), [("", 1), ("  \n", 1), (None, 1), ("{}", 0)])
def test_022_no_arguments_are_the_empty_object(arguments: str | None, is_noted: bool) -> None:
    call = called(Ping, arguments)
    assert call.value == Ping()
    assert [finding.severity for finding in call.findings] == ["note"] * is_noted
    assert call.written == "{}"


def test_022_whether_that_is_enough_is_the_question_of_the_schema() -> None:
    empty, braces = called(Seek, ""), called(Seek, "{}")
    for call in (empty, braces):
        assert call.status is Status.INVALID
        assert call.validity is Validity.SYNTAX
    assert [item for item in empty.findings if item.severity == "error"] == list(braces.findings)


def test_022_null_fails_at_the_schema_and_text_at_the_syntax() -> None:
    assert called(Ping, "null").validity is Validity.SYNTAX
    assert called(Ping, "x").validity is Validity.NONE


# --- 039: calls under one index -----------------------------------------------------------------


class Rec(BaseModel):
    x: int


def streamed(*chunks: list[tuple[int, str | None, str | None, str]]) -> tuple[ToolCall, ...]:
    decoder = Decoder()
    for chunk in chunks:
        calls: list[dict[str, Any]] = [
            {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
            for index, id, name, arguments in chunk
        ]
        choice = {"delta": {"tool_calls": calls}}
        decoder.feed(ServerEvent(data=json.dumps({"choices": [choice]})))
    ending = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
    decoder.feed(ServerEvent(data=json.dumps(ending)))
    return read_calls(decoder.close(), [tool(Rec, name="rec")], api="openai-chat")


def test_039_pieces_become_the_calls_that_they_are_of() -> None:
    (one,) = streamed([(0, "a", "rec", '{"x":'), (0, None, None, "1")], [(0, None, None, "}")])
    assert one.value == Rec(x=1)
    two = streamed(
        [(0, "a", "rec", '{"x"')],
        [(1, "b", "rec", '{"x"')],
        [(0, None, None, ":1}")],
        [(1, None, None, ":2}")],
    )
    assert [call.value for call in two] == [Rec(x=1), Rec(x=2)]
    same_index = streamed([(0, "a", "rec", '{"x":1}')], [(0, "b", "rec", '{"x":2}')])
    assert [call.value for call in same_index] == [Rec(x=1), Rec(x=2)]


def test_039_calls_without_ids_under_one_index_are_split_and_that_is_told() -> None:
    calls = streamed([(0, None, "rec", '{"x":1}')], [(0, None, "rec", '{"x":2}')])
    assert [call.value for call in calls] == [Rec(x=1), Rec(x=2)]
    assert [[item.code for item in call.findings] for call in calls] == [["split_calls"]] * 2
