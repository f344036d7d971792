"""Whatever comes as an answer, or as a value, is taken back or refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, compile_schema

LINE: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}, "c": {}},
    "required": ["a"],
}
SCHEMAS: list[Any] = [
    LINE,
    {"type": "array", "items": LINE},
    {"type": "array", "prefixItems": [LINE, {"type": "string"}], "items": LINE, "minItems": 3},
    {"type": "array", "prefixItems": [LINE, LINE], "items": False, "minItems": 3},
    {"type": "array", "prefixItems": [LINE], "maxItems": 1, "uniqueItems": True},
    {"type": "array", "items": False},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "object", "additionalProperties": LINE},
    {"type": "object", "patternProperties": {"^x": LINE, "^y": {"type": "integer"}}},
    {"type": "object", "properties": {"a": LINE}, "additionalProperties": LINE},
    {"type": "object", "properties": {"a": LINE}, "patternProperties": {"^x": LINE}},
    {"anyOf": [LINE, {"type": "array", "items": LINE}, {"type": "null"}]},
    {"anyOf": [{"type": "object", "additionalProperties": LINE}, {"type": "array"}, LINE]},
    {"oneOf": [LINE, {"type": "object", "properties": {"z": LINE}, "required": ["z"]}]},
    {"allOf": [LINE, {"properties": {"a": {"maximum": 3}, "d": {"minLength": 2}}}]},
    {"allOf": [{"enum": [1, 2, "x"]}, {"enum": [2, "x"]}, {"type": ["integer", "string"]}]},
    {"allOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]},
    {"allOf": [{"type": "array", "items": LINE, "maxItems": 3}, {"minItems": 1, "items": {}}]},
    {"enum": [1, "a", None, True, {"x": 1}, [2]]},
    {"minLength": 2},
    {"minimum": 2, "minLength": 1},
    {"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {
        "v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/t"}},
        "next": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]},
        "by": {"type": "object", "additionalProperties": {"$ref": "#/$defs/t"}}}}}},
]  # fmt: skip
GARBAGE: list[Any] = [
    None, True, 1, 2.5, "", "ab", "{}", [], {}, [1], [[]], [{}], [None, "a", {}], {"value": 3},
    {"value": []}, {"a": 1}, {"a": None, "b": None, "c": None}, {"a": 1, "b": "x", "c": "{}"},
    {"0": {"a": 1}, "1": "x", "rest": [{}]}, {"0": 1}, [{"key": "x", "value": {"a": 1}}],
    [{"key": "x", "value": {}}, {"key": "x", "value": {}}], {"a": {"a": 1, "c": "["}, "x": {}},
    {"additional_properties": [{"key": "x", "value": {"a": 1}}], "a": {"a": 1}}, {"z": {"a": 2}},
    {"v": 1, "kids": [{"v": 2}], "next": {"v": 3}, "by": {"k": {}}}, {"array": [[]], "any": []},
    {"v": 1, "kids": None, "next": None, "by": [{"key": "k", "value": {"v": "?"}}]},
]  # fmt: skip


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: str(schema)[:50])
def test_any_answer_is_lifted_and_any_value_lowered_or_refused(schema: Any, dialect: str) -> None:
    try:
        compiled = compile_schema(schema, dialect)
    except SchemaError as refusal:
        assert "no value fits" in refusal.message
        return
    wrapped = [{"value": answer} for answer in GARBAGE]
    for answer in (*GARBAGE, *wrapped):
        before = repr(answer)
        compiled.lift(answer)
        assert all(fault.message for fault in compiled.faults(answer))
        assert repr(answer) == before
        try:
            lowered = compiled.lower(answer)
        except SchemaError as refusal:
            assert refusal.pointer is not None
            continue
        compiled.lift(lowered)
        assert compiled.claims(answer) is not None
        assert compiled.dropped(answer) == ()
