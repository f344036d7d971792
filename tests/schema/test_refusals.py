"""Values that cannot be sent: refused with their place and with what to do, never passed on."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, Field

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, compile_schema

ALL = pytest.mark.parametrize("dialect", sorted(DIALECTS))
HOSTED = ("anthropic", "anthropic-tool", "openai-strict")


class Money(BaseModel):
    amount: float


class Bill(BaseModel):
    total: Money
    lines: list[Money] = []
    note: str | None = None


@dataclasses.dataclass
class Record:
    amount: float


class Row(NamedTuple):
    amount: float


class Tone(str, Enum):
    HIGH = "high"


def refused(target: Any, dialect: str, value: Any) -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        compile_schema(target, dialect).lower(value)
    assert str(caught.value).startswith(caught.value.pointer or "(root)")
    return caught.value


INSTANCES = (
    Money(amount=1), Record(1), Row(1), Decimal(1), datetime.date(2026, 1, 2), Tone.HIGH, {1}, b"a",
    (1, 2), object(), 1j,
)  # fmt: skip


@ALL
@pytest.mark.parametrize("value", INSTANCES, ids=lambda value: type(value).__name__)
def test_an_instance_is_refused_wherever_it_stands(dialect: str, value: Any) -> None:
    for target in (Money, Bill, dict[str, Any], list[Any], Any, float, Record, Row):
        assert refused(target, dialect, value).pointer == ""
    error = refused(Bill, dialect, {"total": value})
    assert error.pointer == "/total"
    assert "pass compiled.document(value)" in error.message
    assert type(value).__name__ in error.message
    assert refused(dict[str, Any], dialect, {"a/b": [{}, {"c": value}]}).pointer == "/a~1b/1/c"


@ALL
def test_what_document_writes_of_an_instance_is_lowered(dialect: str) -> None:
    compiled = compile_schema(Bill, dialect)
    bill = Bill(total=Money(amount=1), lines=[Money(amount=2)])
    assert compiled.lift(compiled.lower(compiled.document(bill))) == bill.model_dump()
    inside = compiled.document({"total": Money(amount=1), "lines": [], "note": None})
    assert compiled.lift(compiled.lower(inside)) == inside


@ALL
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_refused(dialect: str, number: float) -> None:
    error = refused(Bill, dialect, {"total": {"amount": number}})
    assert error.pointer == "/total/amount"
    assert "JSON has no such number; give another one, or null" in error.message
    assert refused(Any, dialect, [[number]]).pointer == "/0/0"


@ALL
def test_a_key_that_is_no_text_is_refused_at_its_object(dialect: str) -> None:
    for target in (dict[str, int], dict[int, int], Any, {"type": "object"}):
        assert "the key 1, expected keys that are texts" in refused(target, dialect, {1: 2}).message
    assert refused(Any, dialect, {"a": [{None: 1}]}).pointer == "/a/0"
    assert refused(Any, dialect, {"a": {Tone.HIGH: 1}}).pointer == "/a"


@ALL
def test_a_value_that_holds_itself_is_refused(dialect: str) -> None:
    value: list[Any] = []
    value.append(value)
    assert "holds itself; flatten it" in refused(Any, dialect, value).message


@ALL
def test_a_key_that_is_asked_for_and_missing_is_refused_with_its_place(dialect: str) -> None:
    error = refused(Bill, dialect, {})
    assert error.pointer == "/total"
    assert "it is missing, and the schema that is sent asks for it; give it" in error.message
    assert refused(Bill, dialect, {"total": {}}).pointer == "/total/amount"
    assert refused(Bill, dialect, {"total": {"amount": 1}, "lines": [{}]}).pointer == (
        "/lines/0/amount"
    )
    compiled = compile_schema(Bill, dialect)
    lifted = compiled.lift(compiled.lower({"total": {"amount": 1}}))
    assert Bill.model_validate(lifted) == Bill(total=Money(amount=1))


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_missing_key_is_told_by_its_own_name_and_a_missing_position_by_its_number(
    dialect: str,
) -> None:
    class Odd(BaseModel):
        key: int = Field(alias="a b/c")

    assert refused(dict[str, Odd], dialect, {"x": {}}).pointer == "/x/a b~1c"
    assert refused(tuple[int, str], dialect, [1]).pointer == "/1"


class Part(BaseModel):
    name: str
    parts: list[Part] = []
    twin: Part | None = None
    by_key: dict[str, Part] = {}


class Ping(BaseModel):
    pong: Pong | None = None
    size: int = 0


class Pong(BaseModel):
    ping: Ping | str | None = None


BOUNDED = [name for name, table in DIALECTS.items() if table.recursion is not None]


@pytest.mark.parametrize("dialect", BOUNDED)
@pytest.mark.parametrize("step", ["parts", "twin", "by_key", "mixed"])
def test_a_value_deeper_than_the_levels_that_are_sent_is_told_so(dialect: str, step: str) -> None:
    levels = DIALECTS[dialect].recursion or 0
    wraps = {
        "parts": lambda inner: {"name": "a", "parts": [inner]},
        "twin": lambda inner: {"name": "a", "twin": inner},
        "by_key": lambda inner: {"name": "a", "by_key": {"k": inner}},
    }
    value: Any = {"name": "z"}
    for level in range(levels - 1):
        value = wraps[step if step in wraps else [*wraps][level % 3]](value)
    compile_schema(Part, dialect).lower(value)
    value = wraps["parts" if step == "mixed" else step](value)
    error = refused(Part, dialect, value)
    assert f"recursion is sent to {levels} levels only" in error.message
    assert "cut it off there" in error.message
    assert error.pointer


@pytest.mark.parametrize("dialect", BOUNDED)
def test_definitions_that_recurse_into_each_other_are_counted_together(dialect: str) -> None:
    levels = DIALECTS[dialect].recursion or 0
    value: Any = {"pong": {"ping": "end"}}
    for _ in range(levels - 1):
        value = {"pong": {"ping": value}}
    compile_schema(Ping, dialect).lower(value)
    assert "levels only" in refused(Ping, dialect, {"pong": {"ping": value}}).message


@pytest.mark.parametrize("dialect", BOUNDED)
def test_another_flaw_of_a_deep_value_is_told_as_what_it_is(dialect: str) -> None:
    levels = DIALECTS[dialect].recursion or 0
    value: Any = {"name": "z", "undeclared": 1}
    for _ in range(levels - 1):
        value = {"name": "a", "parts": [value]}
    error = refused(Part, dialect, value)
    assert "no such key; leave it out, or declare it" in error.message
    assert (error.pointer or "").endswith("/undeclared")


@ALL
def test_a_value_of_another_type_is_told_which_it_can_have(dialect: str) -> None:
    error = refused(Bill, dialect, {"total": {"amount": "1"}})
    assert "found a text, which it cannot be; give a number" in error.message
    assert error.pointer == "/total/amount"
