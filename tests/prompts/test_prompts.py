"""What is sent: the form of an answer, the fence around data, the words after a bad answer."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from extractkit import Finding, Sampling, Strategy, Unknown, Validity, compile_schema, prompts
from extractkit.messages import ModelRequest
from extractkit.results import Plan


class Line(BaseModel):
    what: str = Field(description="as it is\n  printed")
    count: Annotated[int, Field(ge=1, le=9)]


class Bill(BaseModel):
    number: Annotated[str, Field(pattern="^[A-Z]+$")] | None
    day: datetime.date | None
    kind: Literal["goods", "work"] | Unknown
    lines: Annotated[list[Line], Field(max_length=3)]
    paid: bool
    tags: dict[str, int]
    place: tuple[float, float]


class Tree(BaseModel):
    name: str
    below: list[Tree]


def request_for(target: Any, text: str = "some text", **changes: Any) -> ModelRequest:
    arguments: dict[str, Any] = {
        "constraint": None,
        "instructions": None,
        "examples": (),
        "sampling": Sampling(),
        "top_logprobs": None,
    }
    plan = Plan(strategy=Strategy.PROMPT, reason="", dialect="json-schema")
    compiled = compile_schema(target, "json-schema")
    return prompts.build(plan, compiled, text, **(arguments | changes))


def test_the_outline_names_every_field_with_type_limits_and_description() -> None:
    form = prompts.outline(compile_schema(Bill, "json-schema").schema)
    assert '"number": string matching ^[A-Z]+$ or null' in form
    assert '"day": date YYYY-MM-DD or null' in form
    assert '"goods" or "work" or "unknown"' in form
    assert '"what": string  // as it is printed' in form
    assert '"count": integer (1 to 9)' in form
    assert "(at most 3 items)" in form
    assert '"paid": true or false' in form
    assert "any name: integer" in form
    assert "[number, number]" in form


class Moment(BaseModel):
    at: datetime.datetime
    clock: datetime.time
    price: Decimal


def test_an_expression_of_ours_is_told_as_the_format_that_it_stands_for() -> None:
    form = prompts.outline(compile_schema(Moment, "llguidance").schema)
    assert '"at": date and time YYYY-MM-DDThh:mm:ss' in form
    assert '"clock": time hh:mm:ss' in form
    assert '"price": number or number as text' in form
    assert "matching" not in form


def test_a_definition_inside_itself_is_named_and_not_written_for_ever() -> None:
    assert "(another Tree)" in prompts.outline(compile_schema(Tree, "json-schema").schema)


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({}, "any JSON value"),
        ({"const": "x"}, '"x"'),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "object"}, "{\n  any name: any JSON value\n}"),
        ({"type": "object", "additionalProperties": False}, "{}"),
        (
            {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False}
            | {"type": "object", "minProperties": 1},
            "{\n  any name matching ^a: integer\n} (at least 1 names)",
        ),
        (
            {"properties": {"a": {"type": "null"}}, "additionalProperties": True},
            '{\n  "a": null\n  any other name: any JSON value\n}',
        ),
        (
            {
                "properties": {
                    "a": {"type": "integer", "description": "one"},
                    "b": {"type": "string", "description": "two"},
                },
                "additionalProperties": False,
            },
            '{\n  "a": integer  // one\n  "b": string  // two\n}',
        ),
        ({"type": "integer", "exclusiveMinimum": 0}, "integer (more than 0)"),
        (
            {"type": "number", "exclusiveMaximum": 9, "multipleOf": 0.5},
            "number (less than 9) (a multiple of 0.5)",
        ),
        ({"type": "array", "uniqueItems": True}, "[any JSON value, ...] (no two alike)"),
        ({"type": "string", "minLength": 2}, "string (at least 2 characters)"),
        ({"allOf": [{"type": "string"}, {"type": "string"}]}, "string and string"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "boolean"}}}, "true or false"),
    ],
    ids=str,
)
def test_each_kind_of_schema_has_a_form(schema: dict[str, Any], form: str) -> None:
    assert prompts.outline(schema) == form


@given(st.text(max_size=40) | st.sampled_from(["</document>", "<document>", "</document-1>"]))
def test_a_fence_leaves_the_text_as_it_is_and_cannot_be_closed_by_it(text: str) -> None:
    fenced = prompts.fence(text)
    first, last = fenced.split("\n", 1)[0], fenced.rsplit("\n", 1)[1]
    assert fenced == f"{first}\n{text}\n{last}"
    assert last not in text
    assert first not in text


def test_rules_are_told_only_where_they_mean_something() -> None:
    told = request_for(Bill).messages[0].content
    assert "write null" in told
    assert 'write "unknown"' in told
    bare = request_for(Tree).messages[0].content
    assert "null" not in bare
    assert "unknown" not in bare


def test_examples_and_instructions_come_before_the_text_and_stay_the_same_for_each_text() -> None:
    examples = [("one", {"name": "a", "below": []})]
    first = request_for(Tree, "text one", examples=examples, instructions=" Be brief. ")
    second = request_for(Tree, "text two", examples=examples, instructions=" Be brief. ")
    assert first.stable_messages == 3
    assert first.messages[:3] == second.messages[:3]
    assert [message.role for message in first.messages] == ["system", "user", "assistant", "user"]
    assert "Be brief.\n" in first.messages[0].content
    asked, reminder = first.messages[-1].content.rsplit("\n", 1)
    assert asked == prompts.fence("text one")
    assert first.messages[1].content == f"{prompts.fence('one')}\n{reminder}"


def test_what_follows_the_document_names_the_fields_again() -> None:
    assert request_for(Tree).messages[-1].content.endswith("these fields: name, below.")
    assert request_for(list[int]).messages[-1].content.endswith("document of that form.")


def test_feedback_tells_errors_with_their_places_and_not_warnings() -> None:
    request = request_for(Tree)
    findings = [
        Finding(level=Validity.SCHEMA, path="/name", message="a number, expected text"),
        Finding(level=Validity.SCHEMA, path="", message="odd", severity="warning"),
    ]
    *before, answer, told = prompts.feedback(request, '{"name": 1}', findings)
    assert tuple(before) == request.messages
    assert (answer.role, answer.content) == ("assistant", '{"name": 1}')
    assert "- /name: a number, expected text" in told.content
    assert "odd" not in told.content


SAID = {
    "number": "A", "day": "2024-01-02", "kind": "goods", "lines": [], "paid": True, "tags": {},
    "place": [0.0, 0.0],
}  # fmt: skip


def system_of(examples: list[tuple[str, Any]]) -> str:
    return request_for(Bill, examples=examples).messages[0].content


def test_null_and_unknown_are_shown_where_no_example_does() -> None:
    told = system_of([("one", SAID)])
    assert 'but null is an answer too, for "number", "day"' in told
    assert 'but "unknown" is an answer too, for "kind"' in told
    shown = system_of([("one", SAID), ("two", {**SAID, "day": None, "kind": "unknown"})])
    assert 'null is an answer too, for "number".' in shown
    assert '"unknown" is an answer too' not in shown
    assert "No example shows it" not in system_of([])


def test_reasoning_is_asked_for_without_a_form_and_stands_before_the_answer() -> None:
    request = request_for(Bill, "a bill")
    first = prompts.reasoning(request)
    assert "Do not answer yet" in first.messages[-1].content
    assert "a bill" in first.messages[-1].content
    then = prompts.after_reasoning(request, "It is paid.")
    assert [message.role for message in then.messages[-3:]] == ["user", "assistant", "user"]
    assert then.messages[-2].content == "It is paid."
    assert then.messages[: len(request.messages) - 1] == request.messages[:-1]
