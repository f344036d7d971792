"""Calls as a document that lists them: one form for all tools, there and back."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractkit import Status, Tool, compile_schema, extract, tool
from extractkit.checks import run
from extractkit.testing import FakeProvider
from extractkit.tools import answer_of, gathered, listed, read_calls
from tests.tools.things import Ping, Seek, book

TREE: Final = Tool.of_schema(
    "tree",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/N"}, "tags": {"anyOf": [{"$ref": "#/$defs/T"}]}},
        "required": ["root"],
        "$defs": {
            "N": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "k": {"items": {"$ref": "#/$defs/N"}}},
                "required": ["v"],
            },
            "T": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    },
    description="Draws a tree.",
)
TOOLS: Final[tuple[Tool[..., Any], ...]] = (
    book,
    tool(Seek, name="seek"),
    tool(Ping, name='ping "it"'),
    TREE,
)
DIALECTS: Final = ("json-schema", "openai-strict", "anthropic", "llguidance")

_NODES: Final = st.recursive(
    st.fixed_dictionaries({"v": st.integers(-9, 9)}),
    lambda inner: st.fixed_dictionaries(
        {"v": st.integers(-9, 9)}, optional={"k": st.lists(inner, max_size=2)}
    ),
    max_leaves=3,
)
_SHORT: Final = st.text(max_size=3)
_ARGUMENTS: Final[dict[str, st.SearchStrategy[dict[str, Any]]]] = {
    "book": st.fixed_dictionaries(
        {
            "guests": st.integers(0, 9),
            "hotel": _SHORT,
            "until": st.just("2026-12-01"),
            # Without it, null is put there: to the model the two are one.
            "extras": st.none() | st.dictionaries(_SHORT, st.integers(0, 9)),
        },
        optional={"room": st.sampled_from(["single", "double"])},
    ),
    "seek": st.fixed_dictionaries({"q": _SHORT}, optional={"limit": st.integers(1, 9)}),
    'ping "it"': st.just({}),
    "tree": st.fixed_dictionaries(
        {"root": _NODES}, optional={"tags": st.dictionaries(_SHORT, _SHORT)}
    ),
}
_CALLS: Final = st.sampled_from(sorted(_ARGUMENTS)).flatmap(
    lambda name: st.fixed_dictionaries({"name": st.just(name), "arguments": _ARGUMENTS[name]})
)
ANSWERS: Final = st.fixed_dictionaries({"calls": st.lists(_CALLS, max_size=4)})


def answer() -> Any:
    return answer_of(TOOLS, least=0, most=4)


# The first text that is drawn in a process makes tables of characters, which takes seconds.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=ANSWERS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_lowered_fits_and_comes_back(document: dict[str, Any], dialect: str) -> None:
    compiled = compile_schema(answer(), dialect)
    sent = compiled.lower(document)
    assert jsonschema_rs.is_valid(compiled.schema, sent)
    assert compiled.lift(sent) == document
    assert run(compiled, document, text="").built


@pytest.mark.parametrize(
    "call",
    [
        {"name": "seek", "arguments": {"guests": 1, "hotel": "a", "until": "2026-12-01"}},
        {"name": "book", "arguments": {"q": "a"}},
        {"name": "tree", "arguments": {"root": {"v": "1"}}},
        {"name": "tree", "arguments": {"root": {"v": 1, "k": [{"k": []}]}}},
        {"name": "tree", "arguments": {"root": {"v": 1}, "more": 1}},
        {"name": "seek", "arguments": {"q": "a"}, "more": 1},
        {"name": "seek"},
        {"arguments": {"q": "a"}},
        {"name": "sook", "arguments": {"q": "a"}},
    ],
)
def test_a_call_with_the_arguments_of_another_tool_is_none(call: dict[str, Any]) -> None:
    compiled = compile_schema(answer(), "llguidance")
    assert not jsonschema_rs.is_valid(compiled.schema, {"calls": [call]})
    assert not run(compile_schema(answer()), {"calls": [call]}, text="").built


def test_how_many_calls_there_may_be_is_a_part_of_the_form() -> None:
    form = compile_schema(answer_of(TOOLS, least=1, most=2), "llguidance").schema
    call = {"name": 'ping "it"', "arguments": {}}
    fits = [jsonschema_rs.is_valid(form, {"calls": [call] * count}) for count in range(4)]
    assert fits == [False, True, True, False]


def test_the_same_tools_have_one_answer() -> None:
    assert answer() is answer()
    assert answer() is not answer_of(TOOLS[:2], least=0, most=4)


def test_a_result_is_never_better_than_its_calls() -> None:
    reply = '{"calls": [{"name": "seek", "arguments": {"q": "a"}}]}'
    result = extract(answer(), "a", model=FakeProvider([reply]))
    response = listed(result)
    assert gathered(read_calls(response, TOOLS, api=None), result).ok
    broken = dataclasses.replace(response.tool_calls[0], arguments="{}")
    calls = read_calls(dataclasses.replace(response, tool_calls=(broken,)), TOOLS, api=None)
    assert gathered(calls, result).status is Status.INVALID
