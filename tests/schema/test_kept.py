"""Keywords that no node models keep their meaning, whatever draft they were written in."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, compile_schema
from extractkit.schema.lowerings.choices import Labels, Spelling
from extractkit.schema.lowerings.defaults import NullIsAbsent
from extractkit.schema.lowerings.maps import Entries, Others
from extractkit.schema.lowerings.names import Renamed
from extractkit.schema.lowerings.required import EmptyIsAbsent, EmptyIsNull, Filled
from extractkit.schema.lowerings.roots import Wrapped
from extractkit.schema.lowerings.spread import Listed
from extractkit.schema.lowerings.tuples import Positions, Shifted
from extractkit.schema.lowerings.untyped import JsonText
from extractkit.schema.ways import Way
from tests.clock import works_within

D7 = "http://json-schema.org/draft-07/schema#"
D4 = "http://json-schema.org/draft-04/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"

VALUES: list[Any] = [
    None, 0, 3, 5, 7.5, -1, "", "ab", "abc", [], [1], ["a", 1], ["a", 1, True], [1, 1], {},
    {"a": 1}, {"a": 1, "b": 2}, {"b": "x"}, {"c": [1]}, {"a": {"b": 1}},
]  # fmt: skip

KEPT: list[Any] = [
    {"$schema": D7, "not": {"dependencies": {"a": ["b"], "b": {"required": ["c"]}}}},
    {"$schema": D7, "not": {"dependencies": {"a": ["b"]}}},
    {"$schema": D7, "dependencies": {"a": ["b"], "b": {"required": ["a"]}, "c": False}},
    {"$schema": D4, "not": {"minimum": 3, "exclusiveMinimum": True}},
    {"$schema": D4, "not": {"maximum": 5, "exclusiveMaximum": True, "minimum": 0}},
    {"$schema": D4, "not": {"maximum": 5, "exclusiveMaximum": False}},
    {"$schema": D7, "not": {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}}},
    {"$schema": D7, "not": {"items": [{"type": "string"}, {}]}},
    {"$schema": D7, "not": {"items": {"type": "string"}}},
    {"$schema": D19, "not": {"dependentRequired": {"a": ["b"]}}},
    {"not": {"dependentRequired": {"a": ["b"]}, "properties": {"a": {"const": 1}}}},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}},
    {"not": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/n"}]}, "$defs": {"n": {"const": 3}}},
    {"not": {"prefixItems": [{"type": "string"}], "contains": {"const": 1}, "minContains": 1}},
    {"$schema": D7, "not": {"$ref": "#/definitions/n"}, "definitions": {"n": {"minimum": 3}}},
    {"not": {"not": {"enum": [1, "ab", None]}}},
    {"not": {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False}},
    {"contains": {"type": "integer"}, "maxContains": 1},
    {"dependentSchemas": {"a": {"required": ["b"]}}, "unevaluatedProperties": True},
]


@pytest.mark.parametrize("schema", KEPT, ids=lambda schema: str(schema)[:60])
def test_what_no_node_models_keeps_its_verdict(schema: Any) -> None:
    written = jsonschema_rs.validator_for(compile_schema(schema).schema)
    meant = jsonschema_rs.validator_for(schema)
    for value in VALUES:
        assert written.is_valid(value) == meant.is_valid(value), value


@pytest.mark.parametrize("schema", KEPT, ids=lambda schema: str(schema)[:60])
@pytest.mark.parametrize("dialect", ["anthropic", "openai-strict", "llguidance"])
def test_what_is_kept_nowhere_else_is_told(schema: Any, dialect: str) -> None:
    compiled = compile_schema(schema, dialect)
    assert compiled.unenforced
    assert str(compiled.explain()).startswith("(root)")


class _NoJson:
    """Something that is not JSON."""


def _endless() -> Any:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"self": schema}
    return schema


def _deep(levels: int) -> Any:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def _laughing(levels: int) -> Any:
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels):
        two = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {"anyOf": [two, {"type": "array", "items": two}, two]}
    return {"$ref": f"#/$defs/d{levels - 1}", "$defs": definitions}


HOSTILE: list[Any] = [
    {"$ref": "#/$defs/gone"},
    {"$ref": "#/definitions/~2"},
    {"$ref": "https://example.com/schema.json"},
    {"$ref": "file:///etc/passwd"},
    {"$ref": 3},
    {"$ref": "#nowhere"},
    {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
    _deep(10_000),
    _endless(),
    {"enum": ["x" * 100 + str(i) for i in range(10_000)]},
    {"const": "x" * 1_000_000},
    {"minimum": float("nan")},
    {"maximum": float("inf")},
    {"type": "integer", "multipleOf": 0},
    {"minLength": -1},
    {"maxItems": 1.5},
    {"type": "nonsense"},
    {"type": []},
    {"properties": []},
    {"properties": {"a": 3}},
    {"required": "a"},
    {"required": [1]},
    {"anyOf": []},
    {"anyOf": {}},
    {"enum": "a"},
    {"pattern": 3},
    {"pattern": "("},
    {"uniqueItems": "yes"},
    {"properties": {1: {}}},
    {"default": _NoJson()},
    {"enum": [{1, 2}]},
    {"items": 3},
    {"x-extractkit-mark": "other"},
]


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("schema", HOSTILE, ids=lambda schema: str(type(schema)))
def test_broken_and_hostile_schemas_are_refused_at_once(schema: Any, dialect: str) -> None:
    with works_within(2):
        with pytest.raises(SchemaError) as caught:
            compile_schema(schema, dialect)
        assert caught.value.pointer is not None


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_references_that_multiply_are_compiled_or_refused_at_once(dialect: str) -> None:
    with works_within(2):
        try:
            compile_schema(_laughing(24), dialect)
        except SchemaError as refusal:
            assert refusal.pointer is not None


WAYS: list[Way] = [
    Labels((("[1]", "[1]"),)), Spelling({"a": "a"}), NullIsAbsent(frozenset({"a"})), Entries(),
    Others("others", frozenset({"a"})), Renamed({"a_1": "a 1"}), EmptyIsAbsent(frozenset({"q"})),
    EmptyIsNull(), Filled({}), Wrapped(), Listed("x", ("x", "y")), Listed(None, ("x",)),
    Positions(2, has_rest=True), Shifted(2), JsonText(), Way(),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: type(way).__name__)
def test_a_way_gives_back_what_does_not_fit_and_never_raises(way: Way) -> None:
    for answer in VALUES:
        told: list[str] = []
        if answer in (None, []) and isinstance(way, EmptyIsNull | Listed):
            continue
        assert isinstance(way.lift(answer, told), object)
        for key in (0, "0", "rest", "a_1", "zzz"):
            assert way.key(key, [answer] * 2) is None or isinstance(way.key(key, [{}]), int | str)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: type(way).__name__)
def test_a_way_lowers_what_comes_back_or_refuses_in_words(way: Way) -> None:
    for value in VALUES:
        try:
            lowered = way.lower_value(value)
        except ValueError as refusal:
            assert str(refusal)
            continue
        assert way.lift(lowered, []) == value


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_required_key_that_only_a_pattern_describes_holds_what_the_pattern_says(
    dialect: str,
) -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^@": {"type": "string"}, "y$": {"type": "string"}},
        "required": ["@x", "@y"],
        "additionalProperties": False,
    }
    compiled = compile_schema(schema, dialect)
    value = {"@x": "a", "@y": "b"}
    lowered = compiled.lower(value)
    assert compiled.lift(lowered) == value
    sent = jsonschema_rs.validator_for(compiled.schema)
    assert sent.is_valid(lowered)
    with pytest.raises(SchemaError, match="found a number"):
        compiled.lower({**value, "@x": 3})


@pytest.mark.parametrize("dialect", sorted({*DIALECTS} - {"json-schema"}))
def test_expressions_over_keys_that_overlap_are_told(dialect: str) -> None:
    both = {"^a": {"type": "integer"}, "b$": {"minimum": 3, "type": "integer"}}
    schema = {"type": "object", "patternProperties": both, "additionalProperties": False}
    lost = {item.keyword for item in compile_schema(schema, dialect).unenforced}
    assert "patternProperties" in lost


@pytest.mark.parametrize("form", ["anyOf", "oneOf"])
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_thousands_of_alternatives_are_compiled_in_time(dialect: str, form: str) -> None:
    def branch(number: int) -> Any:
        key = f"k{number}"
        return {"type": "object", "properties": {key: {}}, "required": [key]}

    many = {f"d{number}": branch(number) for number in range(3000)}
    schema = {form: [{"$ref": f"#/$defs/{name}"} for name in many], "$defs": many}
    with works_within(5):
        try:
            compiled = compile_schema(schema, dialect)
        except SchemaError as refusal:
            assert refusal.pointer is not None
        else:
            assert compiled.lift(compiled.lower({"k7": 1})) == {"k7": 1}
