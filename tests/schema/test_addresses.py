"""Addresses inside a document, rules over keys, and the field that cannot be described."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, compile_schema

D19 = "https://json-schema.org/draft/2019-09/schema"
BASE = "https://example.com/"


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "schema",
    [
        {"$id": BASE + "a", "$ref": "b", "$defs": {"b": {"$id": "b", "type": "integer"}}},
        {"$id": BASE + "a", "$ref": BASE + "b#/$defs/n",
         "$defs": {"b": {"$id": BASE + "b", "$defs": {"n": {"type": "integer"}}}}},
        {"$ref": "#n", "$defs": {"b": {"$anchor": "n", "type": "integer"}}},
        {"$dynamicRef": "#n", "$defs": {"b": {"$dynamicAnchor": "n", "type": "integer"}}},
        {"$id": BASE + "r", "$dynamicAnchor": "n", "anyOf": [{"type": "integer"}, {"type": "array",
         "items": {"$dynamicRef": "#n"}}]},
        {"$schema": D19, "$id": BASE + "r", "$recursiveAnchor": True,
         "anyOf": [{"type": "integer"}, {"type": "array", "items": {"$recursiveRef": "#"}}]},
        {"$schema": D19, "anyOf": [{"type": "integer"},
         {"type": "array", "items": {"$recursiveRef": "#"}}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#n",
         "definitions": {"b": {"$id": "#n", "type": "integer"}}},
        {"items": [{"type": "integer"}], "anyOf": [{"type": "integer"}]},
        {"$id": "urn:x", "$ref": "urn:x#/$defs/n", "$defs": {"n": {"type": "integer"}}},
    ],
)  # fmt: skip
def test_addresses_inside_a_document_are_followed(schema: Any, dialect: str) -> None:
    compiled = compile_schema(schema, dialect)
    assert compiled.lift(compiled.lower(3)) == 3


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "names",
    [
        True, {"type": "string"}, {"maxLength": 3}, {"pattern": "^a"}, {"enum": ["a", "ab"]},
        {"const": "a"}, {"format": "date"}, {"minLength": 1, "pattern": "a"}, {"not": {"const": 1}},
        {"anyOf": [{"const": "a"}, {"pattern": "^b"}]}, {"type": ["string", "null"]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"properties": {"a": {}}}, {"patternProperties": {"^a": {}}}])
def test_rules_over_keys_are_held_or_told(more: Any, names: Any, dialect: str) -> None:
    schema = {"type": "object", "propertyNames": names, "additionalProperties": True, **more}
    compiled = compile_schema(schema, dialect)
    key = "2026-01-02" if names == {"format": "date"} else "a"
    if "patternProperties" in more and key != "a":
        return
    assert compiled.lift(compiled.lower({key: 1})) == {key: 1}


class Odd:
    """A class that Pydantic cannot describe."""


class Pair(NamedTuple):
    first: int
    second: Odd


class Loose(TypedDict):
    fine: int
    bad: list[Odd]


@dataclasses.dataclass
class Data:
    fine: int
    bad: dict[str, Odd]


@pytest.mark.parametrize("dialect", ["json-schema", "openai-strict"])
@pytest.mark.parametrize(
    "target",
    [
        Odd, list[Odd], dict[str, Odd], tuple[int, Odd], tuple[Odd, ...], int | Odd,
        Annotated[Odd, Field(description="x")], Pair, Loose, Data, list[Data], set[Odd],
        Callable[[int], int], list[Callable[[int], int]], type[Odd],
    ],
)  # fmt: skip
def test_what_cannot_be_described_is_refused_with_its_place(target: Any, dialect: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(target, dialect)
    assert caught.value.pointer is not None
    assert "Pydantic cannot" in str(caught.value) or "cannot come out of" in str(caught.value)
