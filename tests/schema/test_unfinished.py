"""Answers that were cut off: what was read of them, in the user's form and at the user's places."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from extractkit import FieldState, PartialResult, Status, compile_schema, extract
from extractkit.messages import Capabilities, ModelResponse, StopReason
from extractkit.parsing import parse_prefix
from extractkit.paths import get, walk
from extractkit.testing import FakeProvider

HOSTED = ("openai-strict", "anthropic", "anthropic-tool")


class Spot(NamedTuple):
    x: int
    y: int


class Line(BaseModel):
    what: str
    price: Decimal | None = None


class Bill(BaseModel):
    number: str
    by_sku: dict[str, Line]
    spot: Spot
    note: str = ""
    lines: list[Line] = []
    more: Any = None


BILL = {
    "number": "A/1",
    "by_sku": {"a~b": {"what": "bolt", "price": "4.20"}, "c": {"what": "nut", "price": None}},
    "spot": [3, 4],
    "lines": [{"what": "bolt", "price": None}],
    "more": {"free": [1]},
}


def read(text: str, target: Any, dialect: str) -> PartialResult:
    return compile_schema(target, dialect).take_back_unfinished(parse_prefix(text))


def sent(document: Any, target: Any, dialect: str) -> str:
    return json.dumps(compile_schema(target, dialect).lower(document))


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_whole_answer_is_taken_back_with_every_leaf_present(dialect: str) -> None:
    partial = read(sent(BILL, Bill, dialect), Bill, dialect)
    assert partial.document == BILL
    for pointer, _ in walk(BILL):
        if not pointer.startswith("/more/"):  # its JSON is one text on the wire
            assert partial.states[pointer] is FieldState.PRESENT, pointer
    assert "/note" not in partial.states


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_cut_anywhere_gives_states_that_fit_the_document(dialect: str) -> None:
    text = sent(BILL, Bill, dialect)
    for end in range(len(text)):
        partial = read(text[:end], Bill, dialect)
        for pointer, state in partial.states.items():
            if state is FieldState.PRESENT:
                found = get(partial.document, pointer)
                assert found == get(BILL, pointer), (end, pointer)
        assert "additional_properties" not in str(partial.states)
        assert "/spot/rest" not in partial.states


def test_an_unfinished_entry_is_pending_and_not_in_the_document() -> None:
    text = sent(BILL, Bill, "openai-strict")
    cut = text[: text.index('"nut"') + 3]
    partial = read(cut, Bill, "openai-strict")
    assert partial.document["by_sku"] == {"a~b": BILL["by_sku"]["a~b"]}
    assert partial.states["/by_sku"] is FieldState.PENDING
    assert partial.states["/by_sku/a~0b/what"] is FieldState.PRESENT


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_root_that_is_wrapped_stands_at_the_root(dialect: str) -> None:
    text = sent([1, 22], list[int], dialect)
    partial = read(text[: text.index("22") + 1], list[int], dialect)
    assert partial.document == [1]
    assert partial.states[""] is FieldState.PENDING
    assert partial.states["/0"] is FieldState.PRESENT
    assert partial.states["/1"] is FieldState.PENDING


def test_an_answer_in_the_users_form_costs_nothing() -> None:
    partial = parse_prefix('{"what": "bo')
    compiled = compile_schema({"type": "object", "properties": {"what": {}}}, "json-schema")
    assert compiled.take_back_unfinished(partial) is partial


def test_a_truncated_result_names_the_users_places() -> None:
    native = Capabilities(enforcement="native", dialect="openai-strict", source="a test")
    text = sent(BILL, Bill, "openai-strict")
    cut = ModelResponse(text=text[: text.index("nut")], stop=StopReason.LENGTH)
    result = extract(Bill, "A/1 bolt", model=FakeProvider([cut], capabilities=native))
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.states["/by_sku/a~0b/price"] is FieldState.PRESENT
    assert result.partial.states["/spot"] is FieldState.MISSING
    assert result.partial.document["number"] == "A/1"
