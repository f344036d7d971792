"""A nested array or object that came as a string is decoded only where no string is admitted."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from extractkit.fields import Unknown
from extractkit.results import Validity
from tests.checks.test_levels import check, errors


class Item(BaseModel):
    sku: str
    n: int


class Basket(BaseModel):
    items: list[Item]
    memo: str
    tag: str | list[int]


RAW: dict[str, Any] = {
    "items": '[{"sku":"A7","n":2}]',
    "memo": '["not a list"]',
    "tag": "[1]",
}


def test_a_string_where_no_string_is_admitted_is_decoded_and_said_so() -> None:
    outcome = check(RAW, Basket)
    assert outcome.value == Basket(items=[Item(sku="A7", n=2)], memo='["not a list"]', tag="[1]")
    decoded = [item for item in outcome.findings if item.level is Validity.SCHEMA]
    assert [(item.path, item.code, item.severity) for item in decoded] == [
        ("/items", "decoded_string", "warning")
    ]
    assert outcome.document == {**RAW, "items": [{"sku": "A7", "n": 2}]}
    assert RAW["items"] == '[{"sku":"A7","n":2}]'


def test_it_can_be_switched_off() -> None:
    outcome = check(RAW, Basket, repair=False)
    assert errors(outcome) == [(Validity.SCHEMA, "/items", "type")]
    assert outcome.document is RAW


@pytest.mark.parametrize(
    "text",
    [
        '[{"sku":"A7"',
        "[{]",
        '{"sku":"A7","n":2}',
        '[{"sku":"A7","n":"2"}]',
        "3",
        '"[]"',
        "[1, NaN]",
    ],
)
def test_what_does_not_decode_to_what_is_asked_for_stays_and_is_shown(text: str) -> None:
    outcome = check({**RAW, "items": text}, Basket)
    (finding,) = [item for item in outcome.findings if item.severity == "error"]
    assert (finding.path, finding.code) == ("/items", "type")
    assert "found the string" in finding.message
    assert outcome.document["items"] == text


def test_scalars_in_strings_are_never_decoded() -> None:
    assert errors(check({"sku": "A", "n": "2"}, Item)) == [(Validity.SCHEMA, "/n", "type")]


def test_a_whole_answer_and_items_of_a_list_can_be_strings() -> None:
    assert check('{"sku":"A7","n":2}', Item).value == Item(sku="A7", n=2)
    outcome = check(['{"sku":"A7","n":2}', {"sku": "B", "n": 1}], list[Item])
    assert outcome.value == [Item(sku="A7", n=2), Item(sku="B", n=1)]


def test_a_string_within_a_decoded_string_is_not_decoded_again() -> None:
    nested = check({"lines": '["[1]"]'}, Lines)
    assert errors(nested) == [(Validity.SCHEMA, "/lines", "type")]


class Lines(BaseModel):
    lines: list[list[int]]


CLOSED: list[tuple[Any, str, Any]] = [
    (Item | Unknown, '{"sku":"A7","n":2}', Item(sku="A7", n=2)),
    (Literal["no"] | list[int], "[1]", [1]),
    (list[int] | Literal["no", "none"] | None, "[]", []),
    (Literal["no"] | Item, '{"sku":"A7","n":2}', Item(sku="A7", n=2)),
    (list[Item] | Unknown, '[{"sku":"A7","n":2}]', [Item(sku="A7", n=2)]),
]


@pytest.mark.parametrize(("kind", "text", "value"), CLOSED)
def test_a_string_where_only_others_are_admitted_is_decoded(
    kind: Any, text: str, value: Any
) -> None:
    target = create_model("Target", v=(kind, ...))
    outcome = check({"v": text}, target)
    assert outcome.value.v == value
    assert [item.code for item in outcome.findings if item.path == "/v"] == ["decoded_string"]


@pytest.mark.parametrize("text", ["no", "unknown"])
def test_a_string_that_is_admitted_by_name_stays(text: str) -> None:
    target = create_model("Target", v=(Literal["no"] | Unknown | list[int], ...))
    assert check({"v": text}, target).document == {"v": text}


@pytest.mark.parametrize(
    "kind",
    [
        list[int] | Annotated[str, Field(pattern="^x")],
        list[int] | Annotated[str, Field(pattern="^x")] | Annotated[str, Field(pattern="^y")],
        list[int] | Annotated[str, Field(min_length=9)] | Literal["no"],
    ],
)
def test_a_string_of_which_only_its_form_is_wrong_is_not_decoded(kind: Any) -> None:
    outcome = check({"v": "[1]"}, create_model("Target", v=(kind, ...)))
    assert outcome.value is None
    assert outcome.document == {"v": "[1]"}
    assert "decoded_string" not in {item.code for item in outcome.findings}


@pytest.mark.parametrize("schema", [{"const": [1]}, {"enum": [[1], "no"]}])
def test_values_that_are_named_may_be_lists(schema: Any) -> None:
    outcome = check({"v": "[1]"}, {"type": "object", "properties": {"v": schema}})
    assert outcome.document == {"v": [1]}
