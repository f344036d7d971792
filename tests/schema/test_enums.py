"""Closed sets of values: each value once, whatever names it has."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, compile_schema

ALL = pytest.mark.parametrize("dialect", sorted(DIALECTS))


class Color(IntEnum):
    R = 1
    G = 2
    RED = R


class Size(Enum):
    S = "small"
    SMALL = S


class Empty(Enum):
    pass


def _repeats(schema: Any) -> list[Any]:
    """Return the lists under enum and required that hold something twice."""
    if isinstance(schema, list):
        return [each for part in schema for each in _repeats(part)]
    if not isinstance(schema, dict):
        return []
    lists = [schema[key] for key in ("enum", "required") if key in schema]
    found = [each for each in lists if len({*map(repr, each)}) < len(each)]
    return found + [each for part in schema.values() for each in _repeats(part)]


@ALL
@pytest.mark.parametrize("target", [Color, Size, dict[Color, int], dict[Size, Color], list[Color]])
def test_an_alias_in_an_enum_is_no_value_of_its_own(dialect: str, target: Any) -> None:
    compiled = compile_schema(target, dialect)
    Draft202012Validator.check_schema(compiled.schema)
    assert _repeats(compiled.schema) == []
    assert _repeats(compiled.user_schema) == []


@ALL
def test_a_value_that_an_enum_repeats_is_sent_once_in_its_first_place(dialect: str) -> None:
    compiled = compile_schema({"enum": ["b", "a", "b"]}, dialect)
    assert _repeats(compiled.schema) == []
    assert '["b","a"]' in compiled.encoded.decode()
    mixed = compile_schema({"enum": [1, True, 1.0, [1], [1.0], None, None]}, dialect)
    assert _repeats(mixed.schema) == []
    for value in (1, True, [1], None):
        lifted = mixed.lift(mixed.lower(value))
        assert type(lifted) is type(value)
        assert lifted == value


@ALL
def test_keys_that_a_rule_repeats_are_asked_for_once(dialect: str) -> None:
    schema = {
        "type": "object",
        "propertyNames": {"enum": ["b", "a", "b"]},
        "additionalProperties": {"type": "integer"},
        "minProperties": 2,
    }
    compiled = compile_schema(schema, dialect)
    Draft202012Validator.check_schema(compiled.schema)
    assert _repeats(compiled.schema) == []
    assert compiled.lift(compiled.lower({"a": 1, "b": 2})) == {"a": 1, "b": 2}


def test_an_enum_without_members_is_refused_as_what_it_is() -> None:
    with pytest.raises(SchemaError, match="the Enum Empty, which has no members") as caught:
        compile_schema(dict[str, Empty])
    assert caught.value.pointer == "/*"
