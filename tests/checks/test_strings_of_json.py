"""A nested array or object that came as a string is decoded only where no string is admitted."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

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
