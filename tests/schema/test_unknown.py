"""Unknown: a word, or an object where a text could be the word; and validation agrees."""

import datetime
import enum
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, SecretStr, TypeAdapter
from typing_extensions import TypeAliasType

from extractkit.errors import SchemaError
from extractkit.fields import UNKNOWN, Inferred, Unknown
from extractkit.schema import DIALECTS, compile_schema

WORD: Any = {"const": "unknown", "type": "string"}
OBJECT: Any = {
    "type": "object",
    "properties": {"unknown": {"const": True}},
    "required": ["unknown"],
    "additionalProperties": False,
}


class Colour(enum.Enum):
    RED = "red"
    UNCLEAR = "unknown"


class Size(enum.Enum):
    SMALL = "small"


class Line(BaseModel):
    text: str


Undecided = TypeAliasType("Undecided", Literal["a"] | Unknown)


@pytest.mark.parametrize(
    ("target", "form"),
    [
        (Literal["a", "b"] | Unknown, WORD),
        (int | Unknown, WORD),
        (datetime.date | Unknown, WORD),
        (Decimal | Unknown, WORD),
        (Annotated[str, Field(pattern="^[A-Z]")] | Unknown, WORD),
        (Annotated[str, Field(max_length=3)] | Unknown, WORD),
        (Annotated[str, Field(min_length=8)] | Unknown, WORD),
        (Size | Unknown, WORD),
        (Line | Unknown, WORD),
        (dict[str, Any] | Unknown, WORD),
        (Unknown | int, WORD),
        (str | Unknown, OBJECT),
        (str | Unknown | None, OBJECT),
        (Unknown | str, OBJECT),
        (Literal["x"] | Unknown | str, OBJECT),
        (Unknown | Literal["unknown"], OBJECT),
        (Inferred[str] | Unknown, OBJECT),
        (Annotated[str | Unknown, Field(description="d")], OBJECT),
        (Annotated[str, Field(pattern="^u")] | Unknown, OBJECT),
        (Annotated[str, Field(min_length=3)] | Unknown, OBJECT),
        (Literal["unknown", "a"] | Unknown, OBJECT),
        (Colour | Unknown, OBJECT),
        (SecretStr | Unknown, OBJECT),
        (bytes | Unknown, OBJECT),
        (Path | Unknown, OBJECT),
        (re.Pattern[str] | Unknown, OBJECT),
        (str | Undecided, OBJECT),
    ],
)
def test_unknown_is_an_object_only_beside_what_could_be_the_word(target: Any, form: Any) -> None:
    compiled = compile_schema(target)
    written: Any = "unknown" if form is WORD else {"unknown": True}
    assert json.dumps(form) in json.dumps(compiled.user_schema)
    assert jsonschema_rs.is_valid(compiled.user_schema, written)
    assert compiled.adapter is not None
    for strict in (False, True):
        assert compiled.adapter.validate_json(json.dumps(written), strict=strict) is UNKNOWN
        if form is OBJECT:
            text = compiled.adapter.validate_json('"unknown"', strict=strict)
            assert text is not UNKNOWN
    for dialect in DIALECTS:
        other = compile_schema(target, dialect)
        assert other.lift(other.lower(written)) == written
        assert all(claim.kind == "exempt" for claim in other.claims(written))


def test_unknown_is_spelled_so_at_every_depth() -> None:
    class Deep(BaseModel):
        many: list[str | Unknown]
        by_name: dict[str, str | Unknown | None]
        pair: tuple[str | Unknown, int | Unknown]
        fine: Literal["x"] | Unknown

    compiled = compile_schema(Deep)
    document = {
        "many": ["unknown", {"unknown": True}],
        "by_name": {"a": None, "b": {"unknown": True}, "c": "unknown"},
        "pair": [{"unknown": True}, "unknown"],
        "fine": "unknown",
    }
    assert jsonschema_rs.is_valid(compiled.user_schema, document)
    value = Deep.model_validate_json(json.dumps(document))
    assert value.many == ["unknown", UNKNOWN]
    assert value.by_name == {"a": None, "b": UNKNOWN, "c": "unknown"}
    assert value.pair == (UNKNOWN, UNKNOWN)
    assert value.fine is UNKNOWN
    found = {claim.pointer: claim.kind for claim in compiled.claims(document)}
    texts = {pointer for pointer, kind in found.items() if kind == "text"}
    assert texts == {"/many/0", "/by_name/c"}


def test_the_reserved_object_comes_before_a_map_that_could_hold_it() -> None:
    target = dict[str, bool] | str | Unknown
    compiled = compile_schema(target)
    document = {"unknown": True}
    assert TypeAdapter(target).validate_json(json.dumps(document)) is UNKNOWN
    assert {claim.kind for claim in compiled.claims(document)} == {"exempt"}


@pytest.mark.parametrize(
    ("target", "pointer"), [(Unknown | Colour, ""), (list[Unknown | Colour | None], "/*")]
)
def test_unknown_before_an_enum_with_that_value_is_refused(target: Any, pointer: str) -> None:
    with pytest.raises(SchemaError, match="write Unknown as the last alternative") as caught:
        compile_schema(target)
    assert caught.value.pointer == pointer


class Person(BaseModel):
    name: str | Unknown
    kind: Literal["a"] | Unknown
    friends: list["Person"] = []
    notes: dict[str, str | int | Unknown] = {}


def test_an_instance_is_written_as_the_document_that_the_target_asks_for() -> None:
    compiled = compile_schema(Person)
    assert compiled.adapter is not None
    friend = Person(name="unknown", kind=UNKNOWN)
    value = Person(name=UNKNOWN, kind="a", friends=[friend], notes={"x": UNKNOWN, "y": "unknown"})
    document = compiled.document(value)
    assert document == {
        "name": {"unknown": True},
        "kind": "a",
        "friends": [{"name": "unknown", "kind": "unknown", "friends": [], "notes": {}}],
        "notes": {"x": {"unknown": True}, "y": "unknown"},
    }
    assert jsonschema_rs.is_valid(compiled.user_schema, document)
    assert compiled.adapter.validate_json(json.dumps(document)) == value


def test_an_instance_that_does_not_fit_is_not_written() -> None:
    compiled = compile_schema(Person)
    assert compiled.adapter is not None
    with pytest.raises(ValueError, match="Expected UNKNOWN, found"):
        compiled.document(Person.model_construct(name=3.5))
