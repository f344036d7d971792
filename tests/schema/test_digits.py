"""A number with more digits than a float has reaches a Decimal whole, and nothing else changes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from extractkit.parsing import parse_json
from extractkit.schema import DIALECTS, compile_schema, compiled

LONG = "12345678901234567890.0123456789"


def taken_back(target: Any, text: str, dialect: str = "json-schema") -> Any:
    parsed = parse_json(text)
    document, faults = compile_schema(target, dialect).take_back(parsed.value, digits=parsed.digits)
    assert faults == ()
    return document


class Account(BaseModel):
    balance: Decimal
    limit: Annotated[Decimal, Field(gt=0, decimal_places=10)] | None = None
    history: list[Decimal] = []
    rates: dict[str, Decimal] = {}
    ratio: float = 0.0


class Group(BaseModel):
    name: str
    account: Account
    parts: list[Group] = []


def test_every_decimal_of_a_model_gets_all_digits_and_a_float_what_it_can_hold() -> None:
    account = (
        f'{{"balance": {LONG}, "limit": {LONG}, "history": [1.5, {LONG}],'
        f' "rates": {{"a/b": {LONG}}}, "ratio": {LONG}}}'
    )
    text = (
        f'{{"name": "x", "account": {account}, "parts": [{{"name": "y", "account": {account}}}]}}'
    )
    document = taken_back(Group, text)
    group = TypeAdapter(Group).validate_python(document)
    for each in (group.account, group.parts[0].account):
        assert each.balance == each.limit == each.rates["a/b"] == Decimal(LONG)
        assert each.history == [Decimal("1.5"), Decimal(LONG)]
    assert document["account"]["history"] == [1.5, LONG]
    assert type(document["account"]["ratio"]) is float
    assert document["account"]["ratio"] == float(LONG)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_digits_find_their_way_through_every_form_that_an_answer_may_have(dialect: str) -> None:
    class Priced(BaseModel):
        pair: tuple[Decimal, str]
        by_name: dict[str, Decimal]

    priced = compile_schema(Priced, dialect)
    wire = priced.lower({"pair": [0.5, "x"], "by_name": {"a": 0.25}})
    sent = priced.encoded  # the bytes exist, so that the dialect takes the model
    assert sent
    parsed = parse_json(_with_long_numbers(wire))
    document, _ = priced.take_back(parsed.value, digits=parsed.digits)
    value = TypeAdapter(Priced).validate_python(document)
    assert value.pair == (Decimal(LONG), "x")
    assert value.by_name == {"a": Decimal(LONG)}


def _with_long_numbers(wire: Any) -> str:
    text = TypeAdapter(Any).dump_json(wire).decode()
    for short in ('"0.5"', '"0.25"', "0.5", "0.25"):
        text = text.replace(short, LONG)
    return text


@dataclass
class Loose:
    either: Decimal | float
    text: Decimal | str
    nothing: Decimal | None


def test_where_a_text_would_be_read_as_something_else_the_float_stays() -> None:
    document = taken_back(Loose, f'{{"either": {LONG}, "text": {LONG}, "nothing": {LONG}}}')
    assert document == {"either": float(LONG), "text": float(LONG), "nothing": LONG}


def test_a_decimal_alone_and_behind_a_reference_gets_its_digits() -> None:
    assert taken_back(Decimal, LONG) == LONG
    assert taken_back(list[Decimal | None], f"[{LONG}, null]") == [LONG, None]
    assert taken_back(float, LONG) == float(LONG)


def test_a_json_schema_gets_floats() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    document = taken_back(schema, f'{{"a": {LONG}, "b": [{LONG}]}}')
    assert document == {"a": float(LONG), "b": [float(LONG)]}
    assert {type(document["a"]), type(document["b"][0])} == {float}


def test_what_fits_nowhere_stays_a_float_and_the_document_given_is_not_changed() -> None:
    parsed = parse_json(f'{{"name": {LONG}, "unknown": {{"x": [{LONG}]}}, "account": 1}}')
    before = repr(parsed.value)
    document, _ = compile_schema(Group, "json-schema").take_back(parsed.value, digits=parsed.digits)
    assert document == parsed.value
    assert type(document["unknown"]["x"][0]) is float
    assert repr(parsed.value) == before


def test_without_such_numbers_the_same_object_comes_back() -> None:
    value = {"balance": 1.5}
    account = compile_schema(Account, "json-schema")
    assert account.take_back(value, digits={})[0] is value


class Wide(BaseModel):
    maybe: Account | list[Decimal] | None
    both: Annotated[Account, Field(json_schema_extra={"allOf": [{"minProperties": 1}]})]
    ruled: Annotated[Decimal, Field(json_schema_extra={"allOf": [{"not": {"const": 7}}]})]


@pytest.mark.parametrize("maybe", [f'{{"balance": {LONG}}}', f"[{LONG}]", "true"])
def test_branches_and_rules_that_hold_together_are_followed(maybe: str) -> None:
    text = f'{{"maybe": {maybe}, "both": {{"balance": {LONG}}}, "ruled": {LONG}}}'
    document = taken_back(Wide, text)
    assert document["both"]["balance"] == document["ruled"] == LONG
    assert document["maybe"] in ({"balance": LONG}, [LONG], True)


def test_where_there_is_no_room_to_go_deeper_the_floats_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deep(document: Any, tree: Any) -> Any:
        raise RecursionError(document, tree)

    monkeypatch.setattr(compiled, "settled", deep)
    assert taken_back(list[Decimal], f"[{LONG}]") == [float(LONG)]
