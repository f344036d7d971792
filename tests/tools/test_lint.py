"""What makes wrong calls likely."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from extractkit import Tool, tool
from extractkit.errors import UsageError
from extractkit.tools import TOOL_LINT_RULES, lint_tools


def _rules(*tools: Tool[..., Any]) -> set[tuple[str, str]]:
    return {(found.rule, found.pointer) for found in lint_tools(*tools)}


def test_a_good_tool_has_no_finding() -> None:
    @tool
    def cancel_order(
        order: Annotated[int, "Its number"],
        on: Annotated[date, "The day it ends"],
        why: Annotated[Literal["late", "broken", "other"], "The reason"],
    ) -> None:
        """Cancels an order."""

    assert _rules(cancel_order) <= {("closed-enum", "/why")}


def test_texts_where_an_enum_a_pattern_or_a_date_would_do() -> None:
    @tool
    def make_offer(
        due_date: Annotated[str, "When it is due"],
        start: Annotated[str | None, "In the form YYYY-MM-DD"],
        currency: Annotated[str, "Three-letter code"],
        unit: Annotated[str, "One of 'day', 'week' or 'month'"],
        coded: Annotated[str, Field(description="Three-letter code", pattern="^[A-Z]{3}$")],
    ) -> None:
        """Makes an offer."""

    assert _rules(make_offer) == {
        ("text-for-date", "/due_date"),
        ("text-for-date", "/start"),
        ("text-for-pattern", "/currency"),
        ("listed-in-prose", "/unit"),
    }


def test_a_free_dict_is_told() -> None:
    @tool
    def send_mail(headers: Annotated[dict[str, Any], "Its headers"]) -> None:
        """Sends a mail."""

    assert {pointer for _, pointer in _rules(send_mail)} >= {"/headers"}


class Inner(BaseModel):
    name: str
    below: list[Inner] = []


def test_missing_descriptions_are_told_of_the_tool_and_of_each_argument() -> None:
    @tool
    def put_box(inner: Inner, also: list[Inner], n: int) -> None: ...

    told = {pointer for rule, pointer in _rules(put_box) if rule == "no-description"}
    assert told >= {"", "/also", "/n"}
    assert told & {"/inner/name", "/also/*/name"}
    boolean = Tool.of_schema("x_y", {"type": "object", "properties": {"any": True}})
    assert ("no-description", "") in _rules(boolean)


def test_names_that_say_nothing_or_the_same_are_told() -> None:
    def named(name: str) -> Tool[..., Any]:
        return Tool.of_schema(name, {"type": "object", "properties": {}}, description="Does it.")

    findings = lint_tools(named("getUsers"), named("user_get"), named("run_query"))
    assert [(found.tool, found.rule) for found in findings] == [
        ("getUsers", "ambiguous-name"),
        ("user_get", "ambiguous-name"),
        ("run_query", "vague-name"),
    ]
    assert str(findings[0]).startswith("getUsers: ambiguous-name: 'user_get' has the same words")
    assert findings[2].to_json()["rule"] in TOOL_LINT_RULES


def test_a_text_or_null_is_a_text() -> None:
    schema = {
        "type": "object",
        "properties": {"on": {"type": ["string", "null"], "description": "YYYY-MM-DD"}},
    }
    found = lint_tools(Tool.of_schema("book_room", schema, description="Books."))
    assert [(one.pointer, one.rule) for one in found] == [("/on", "text-for-date")]


def test_an_argument_is_described_where_it_stands_or_where_it_is_defined() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}},
        "$defs": {"A": {"type": "boolean"}, "B": {"type": "boolean", "description": "It is."}},
    }
    found = lint_tools(Tool.of_schema("book_room", schema, description="Books."))
    assert [(one.pointer, one.rule) for one in found] == [("/a", "no-description")]


@pytest.mark.parametrize("given", [5, [], print])
def test_only_tools_are_looked_at(given: Any) -> None:
    with pytest.raises(UsageError, match="is no tool"):
        lint_tools(given)
