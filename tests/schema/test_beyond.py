"""What Pydantic asks for and a grammar may not hold: it is held, or it is told."""

from __future__ import annotations

import datetime
import json
from collections import Counter, OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FutureDate,
    HttpUrl,
    Json,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)

from extractkit.errors import SchemaError, UsageError
from extractkit.schema import compile_schema
from tests.schema.engine import admits

Money = Annotated[Decimal, Field(ge=0, le=100, max_digits=5, decimal_places=2)]
Step = Annotated[Decimal, Field(multiple_of=0.5, gt=1, lt=9)]
Long = Annotated[Decimal, Field(max_digits=5)]
Deep = Annotated[Decimal, Field(max_digits=30, decimal_places=20)]
Recent = Annotated[datetime.date, Field(ge=datetime.date(2020, 1, 1))]
Short = Annotated[datetime.timedelta, Field(le=datetime.timedelta(days=2))]
Stripped = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2)]
Positive = Annotated[int, Field(ge=1)]


class Plain(Enum):
    one = 1


BAD: list[tuple[Any, list[Any]]] = [
    (Money, [-1, 101, 1.234, "-1", "101", "1.234", "12345", "1e9", 1000]),
    (Step, [1, 9, 1.3, "1.3", "0.5", "9"]),
    (Long, [123456, "123456", "1.23456"]),
    (Deep, ["1.123456789012345678901", "12345678901"]),
    (dict[int, str], [{"a": "x"}, {"1.5": "x"}, {"": "x"}]),
    (dict[Positive, str], [{"0": "x"}, {"a": "x"}]),
    (dict[float, str], [{"a": "x"}, {"1,5": "x"}]),
    (dict[bool, str], [{"2": "x"}, {"vrai": "x"}]),
    (dict[Decimal, str], [{"a": "x"}, {"1e": "x"}]),
    (dict[datetime.date, str], [{"a": "x"}, {"2023-02-29": "x"}, {"0000-01-01": "x"}]),
    (dict[datetime.datetime, str], [{"a": "x"}, {"2023-02-29T00:00:00": "x"}]),
    (dict[PastDate, str], [{"9999-01-01": "x"}]),
    (dict[UUID, str], [{"a": "x"}]),
    (dict[int | bool, str], [{"a": "x"}]),
    (dict[Annotated[int, BeforeValidator(int)], str], [{"a": "x"}]),
    (Counter[int], [{"a": 1}]),
    (OrderedDict[int, str], [{"a": "x"}]),
    (datetime.date, ["2023-02-29", "1900-02-29", "0000-01-01"]),
    (datetime.datetime, ["2023-02-29T00:00:00", "0000-01-01T00:00:00Z"]),
    (datetime.timedelta, ["P99999999999Y", "P1", "PT", "P999999999999D"]),
    (HttpUrl, ["ftp://a.de", "a:b", "http://"]),
    (AnyUrl, ["http://"]),
    (PastDate, ["9999-01-01"]),
    (FutureDate, ["1000-01-01"]),
    (PastDatetime, ["9999-01-01T00:00:00"]),
    (Recent, ["2019-12-31"]),
    (Short, ["P3D"]),
    (AwareDatetime, ["2024-01-01T00:00:00"]),
    (NaiveDatetime, ["2024-01-01T00:00:00Z"]),
    (Json[list[int]], ["x", '["a"]']),
    (Stripped, [" a", "  "]),
    (complex, ["x"]),
]


@pytest.mark.parametrize(("target", "values"), BAD, ids=str)
def test_what_pydantic_refuses_is_not_admitted_or_its_place_is_told(
    target: Any, values: list[Any]
) -> None:
    compiled = compile_schema(create_model("Holder", x=(target, ...)), "llguidance")
    assert compiled.adapter is not None
    told = [loss for loss in compiled.unenforced if loss.pointer.startswith("/x")]
    told = [loss for loss in told if loss.keyword != "uniqueKeys"]
    assert all(loss.why for loss in told)
    for value in values:
        with pytest.raises(ValidationError):
            compiled.adapter.validate_json(json.dumps({"x": value}))
        assert told or not admits(compiled.bounded().schema, {"x": value}), value


GOOD: list[tuple[Any, list[Any]]] = [
    (Money, [0, 12.5, 100, 0.01]),
    (Step, [1.5, 8.5]),
    (Deep, [1.5, "1234567890.12345678901234567890"]),
    (dict[int, str], [{"0": "x", "-12": "y"}]),
    (dict[float, str], [{"1.5": "x", "-1e5": "y"}]),
    (dict[Decimal, str], [{"12.50": "x"}]),
    (dict[int | None, str], [{"1": "x"}]),
    (dict[Any, str], [{"any": "x"}]),
    (dict[int | str, str], [{"any": "x"}]),
    (dict[datetime.date, str], [{"2024-02-29": "x"}]),
    (dict[Annotated[int, AfterValidator(abs)], str], [{"5": "x"}]),
    (datetime.date, ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"]),
    (datetime.timedelta, ["P1D", "PT1H30M", "P1Y2M3DT4H", "P2W", "PT0S"]),
    (AwareDatetime, ["2024-02-29T00:00:00+01:00"]),
]


@pytest.mark.parametrize(("target", "values"), GOOD, ids=str)
def test_what_pydantic_takes_is_admitted_while_decoding(target: Any, values: list[Any]) -> None:
    compiled = compile_schema(target, "llguidance")
    assert compiled.adapter is not None
    for value in values:
        compiled.adapter.validate_json(json.dumps(value))
        lowered = compiled.lower(value)
        assert compiled.lift(lowered) == value
        assert admits(compiled.schema, lowered), value
        assert admits(compiled.bounded().schema, lowered), value
    compiled.adapter.validate_json(json.dumps(compiled.lift(compiled.bounded().minimal)))


def test_a_bounded_decimal_is_decoded_as_a_number_whose_bounds_are_held() -> None:
    compiled = compile_schema(Money, "llguidance")
    assert admits(compiled.schema, "12.50")
    assert compiled.lift(compiled.lower("12.50")) == "12.50"
    assert compiled.bounded().schema["type"] == "number"
    assert [loss.keyword for loss in compiled.unenforced] == ["maximum"]
    assert "anyOf" in compile_schema(Decimal, "llguidance").bounded().schema
    assert "anyOf" in compile_schema(Deep, "llguidance").bounded().schema


@pytest.mark.parametrize(
    ("digits", "edge"),
    [({"ge": -5}, -5), ({"gt": -5}, -5), ({"ge": -5000}, -1000), ({}, -1000)],
)
def test_digits_of_a_decimal_are_a_bound_unless_a_narrower_one_is_given(
    digits: dict[str, Any], edge: int
) -> None:
    target: Any = Annotated[Decimal, Field(max_digits=5, decimal_places=2, **digits)]
    schema = compile_schema(target, "llguidance").bounded().schema
    assert not admits(schema, edge - 0.01)
    assert admits(schema, edge + 0.01)
    assert not admits(schema, 1000)
    whole: Any = Annotated[Decimal, Field(decimal_places=0)]
    assert not admits(compile_schema(whole, "llguidance").schema, "1.5")


def test_what_is_asked_for_beyond_the_schema_is_told_to_the_model() -> None:
    class Visit(BaseModel):
        on: PastDate = Field(description="day of the visit")

    compiled = compile_schema(Visit, "llguidance")
    said = compiled.schema["properties"]["on"]["description"]
    assert said == "day of the visit (it must lie in the past)"
    assert "x-extractkit" not in json.dumps([compiled.schema, compiled.user_schema])


def test_keys_of_a_closed_set_cannot_be_written_twice() -> None:
    compiled = compile_schema(dict[Literal["x", "y"], int], "llguidance")
    assert compiled.unenforced == ()
    for value in ({}, {"x": 1}, {"y": 2}, {"y": 2, "x": 1}):
        lowered = compiled.lower(value)
        assert admits(compiled.schema, lowered)
        assert compiled.lift(lowered) == value
    assert not admits(compiled.schema, {"x": 1, "y": 1, "z": 1})
    flags = compile_schema(dict[bool, int], "llguidance")
    assert flags.lift(flags.lower({"true": 1})) == {"true": 1}


def test_a_key_of_a_closed_set_is_left_out_where_null_is_a_value() -> None:
    compiled = compile_schema(dict[Literal["x", "y"], int | None], "llguidance")
    for value in ({}, {"x": None}, {"x": 1, "y": None}):
        assert compiled.lift(compiled.lower(value)) == value
        assert admits(compiled.bounded().schema, compiled.lower(value))


def test_counts_of_a_closed_set_of_keys_are_held_or_told() -> None:
    full: Any = Annotated[dict[Literal["x", "y"], int], Field(min_length=2, max_length=2)]
    compiled = compile_schema(full, "llguidance")
    assert compiled.unenforced == ()
    assert not admits(compiled.schema, {"x": 1})
    assert admits(compiled.schema, {"x": 1, "y": 2})
    some: Any = Annotated[dict[Literal["x", "y"], int], Field(min_length=1, max_length=1)]
    lost = [loss.keyword for loss in compile_schema(some, "llguidance").unenforced]
    assert lost == ["minProperties", "maxProperties"]


class Inside(BaseModel):
    a: int = Field(validation_alias=AliasPath("x", "y"))


class InsideOnly(BaseModel):
    a: int = Field(validation_alias=AliasChoices(AliasPath("x", "y"), AliasPath("z", 0)))


@dataclass
class InsideData:
    a: Annotated[int, Field(validation_alias=AliasPath("x", "y"))]


class OfClass(BaseModel):
    a: type[int]


class Instance:
    pass


class OfInstance(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    a: Instance


class Keyed(BaseModel):
    a: dict[Literal[1, 2], int]


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        (Inside, "/a"),
        (InsideOnly, "/a"),
        (InsideData, "/a"),
        (OfClass, "/a"),
        (OfInstance, "/a"),
        (Keyed, "/a/*"),
        (dict[Plain, int], "/*"),
        (dict[tuple[int, int], int], "/*"),
    ],
)
def test_what_no_answer_can_satisfy_is_refused_where_it_stands(target: Any, pointer: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(target)
    assert caught.value.pointer == pointer
    assert "cannot come out of a JSON document" in str(caught.value)


class ByChoice(BaseModel):
    a: int = Field(validation_alias=AliasChoices("z", AliasPath("x", "y")))


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_name=True)
    a: int = Field(validation_alias=AliasPath("x", "y"))


class Maybe(BaseModel):
    a: type[int] | None
    b: dict[Literal["x", 1], int]


@pytest.mark.parametrize(
    ("target", "document"),
    [(ByChoice, {"z": 1}), (ByName, {"a": 1}), (Maybe, {"a": None, "b": {"x": 1}})],
)
def test_what_one_answer_can_satisfy_is_taken(target: Any, document: Any) -> None:
    compiled = compile_schema(target, "llguidance")
    assert admits(compiled.schema, compiled.lower(document))
    assert TypeAdapter(target).validate_python(document)


def test_the_bare_base_of_all_models_is_no_target() -> None:
    with pytest.raises(UsageError, match="subclass"):
        compile_schema(BaseModel)
