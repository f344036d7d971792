"""The law that carries the room: lift(lower(v)) == v, and what is sent admits lower(v)."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from extractkit.paths import get, split
from extractkit.schema import DIALECTS, compile_schema
from tests.schema.engine import admits
from tests.schema.rules import violations
from tests.schema.strategies_instances import ANYTHING, HOSTILE
from tests.schema.strategies_models import budget, lowered_or_too_deep

KEYS = st.sampled_from(HOSTILE)
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=5)


@st.composite
def scalars(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return a schema, and values that it admits."""
    return draw(
        st.sampled_from(
            [
                ({"type": "string", "maxLength": 5}, TEXT),
                ({"type": "string", "format": "date"}, st.dates().map(str)),
                ({"type": "integer", "minimum": -5}, st.integers(-5, 10**9)),
                ({"type": "number"}, st.floats(-1e6, 1e6).map(lambda x: round(x, 3))),
                ({"type": "boolean"}, st.booleans()),
                ({"type": "null"}, st.none()),
                ({"enum": ["x", None, 3, True]}, st.sampled_from(["x", None, 3, True])),
                ({"const": "only"}, st.just("only")),
                ({"type": ["string", "null"]}, st.none() | TEXT),
                ({"type": "string", "not": {"const": "no"}}, st.sampled_from(["yes", "maybe"])),
                ({"type": ["integer", "string"], "maxLength": 5}, TEXT | st.integers(-9, 9)),
                ({"enum": [[1], {"a": [True]}, "x", "[1]"]}, CONTAINERS),
                ({"const": {"a": [1, None]}}, st.just({"a": [1, None]})),
                ({"type": "integer", "multipleOf": 5}, st.integers(-9, 9).map(lambda x: 5 * x)),
                ({}, ANYTHING),
                ({"type": "object"}, st.dictionaries(KEYS, ANYTHING, max_size=2)),
                ({"type": "array"}, st.lists(ANYTHING, max_size=2)),
                ({"type": "string", "default": "d"}, TEXT),
                ({"type": ["null", "integer"], "default": None}, st.none() | st.integers(0, 9)),
                ({"$ref": "#/$defs/Tree"}, TREES),
                ({"$ref": "#/$defs/Tree", "description": "Said beside it."}, TREES),
            ]
        )
    )


CONTAINERS = st.sampled_from([[1], {"a": [True]}, "x", "[1]"])
TREES = st.recursive(
    st.fixed_dictionaries({"v": st.integers(0, 9)}),
    lambda inner: st.fixed_dictionaries(
        {"v": st.integers(0, 9)}, optional={"next": inner, "kids": st.none() | st.lists(inner)}
    ),
    max_leaves=4,
)
DEFINITIONS = {
    "Tree": {
        "type": "object",
        "properties": {
            "v": {"type": "integer"},
            "next": {"$ref": "#/$defs/Tree"},
            "kids": {
                "anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}]
            },
        },
        "required": ["v"],
    }
}


@st.composite
def pairs(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return a schema of any shape, and values that it admits."""
    kind = draw(st.sampled_from(["scalar", "array", "tuple", "object", "map", "union", "allOf"]))
    if depth == 0 or kind == "scalar":
        return draw(scalars())
    if kind == "array":
        schema, values = draw(pairs(depth - 1))
        return {"type": "array", "items": schema}, st.lists(values, max_size=3)
    if kind == "tuple":
        return draw(tuples(depth - 1))
    if kind == "map":
        return draw(maps(depth - 1))
    if kind == "union":
        parts = draw(st.lists(pairs(depth - 1), min_size=1, max_size=3))
        form = draw(st.sampled_from(["anyOf", "anyOf", "oneOf"]))
        return {form: [schema for schema, _ in parts]}, st.one_of(*(values for _, values in parts))
    schema, values = draw(objects(depth - 1))
    return ({"allOf": [schema]}, values) if kind == "allOf" else (schema, values)


@st.composite
def tuples(draw: st.DrawFn, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return a list of fixed positions, perhaps cut short, perhaps with more behind."""
    parts = draw(st.lists(pairs(depth), min_size=1, max_size=3))
    schema: dict[str, Any] = {"type": "array", "prefixItems": [part for part, _ in parts]}
    first = st.tuples(*(values for _, values in parts)).map(list)
    form = draw(st.sampled_from(["exact", "short", "more"]))
    if form == "short":
        return {**schema, "items": False}, st.builds(
            lambda values, count: values[:count], first, st.integers(0, len(parts))
        )
    if form == "more":
        items, others = draw(pairs(depth))
        schema |= {"items": items, "minItems": len(parts)}
        return schema, st.builds(list.__add__, first, st.lists(others, max_size=2))
    return {**schema, "minItems": len(parts), "maxItems": len(parts)}, first


@st.composite
def maps(draw: st.DrawFn, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return an object of any keys, of keys by a rule or by patterns."""
    schema, values = draw(pairs(depth))
    form = draw(st.sampled_from(["any", "any", "pattern", "length", "choice", "several"]))
    if form == "any":
        given_schema: dict[str, Any] = {"additionalProperties": schema}
        found = st.dictionaries(KEYS, values, max_size=3)
    elif form == "several":
        other, others = draw(pairs(depth))
        given_schema = {
            "patternProperties": {"^x_": schema, "^n_": other},
            "additionalProperties": False,
        }
        found = st.fixed_dictionaries({}, optional={"x_1": values, "x_$ref": values, "n_": others})
    else:
        rule, keys = {
            "pattern": ({"pattern": "^[a-c]+$"}, st.text("abc", min_size=1, max_size=3)),
            "length": ({"minLength": 1, "maxLength": 2}, st.text("k$é", min_size=1, max_size=2)),
            "choice": ({"enum": ["value", "a b", "$ref"]}, st.sampled_from(["value", "a b"])),
        }[form]
        given_schema = {"propertyNames": rule, "additionalProperties": schema}
        found = st.dictionaries(keys, values, max_size=2)
    return {"type": "object", **given_schema}, found


@st.composite
def objects(draw: st.DrawFn, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
    fields = draw(st.dictionaries(KEYS, pairs(depth), min_size=1, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(fields)), unique=True))
    given_values = {name: values for name, (_, values) in fields.items()}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: part for name, (part, _) in fields.items()},
        "required": required,
    }
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans())
    return schema, st.fixed_dictionaries(
        {name: given_values[name] for name in required},
        optional={name: v for name, v in given_values.items() if name not in required},
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Any]:
    schema, values = draw(pairs())
    return {**schema, "$defs": DEFINITIONS}, draw(values)


RELAXED = budget(30)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@RELAXED
@given(case=cases())
def test_every_value_comes_back_and_is_admitted(dialect: str, case: tuple[Any, Any]) -> None:
    schema, value = case
    compiled = compile_schema(schema, dialect)
    lowered = lowered_or_too_deep(compiled, value)
    lifted = compiled.lift(lowered)
    assert lifted == value
    assert json.dumps(lifted, sort_keys=True) == json.dumps(value, sort_keys=True)
    jsonschema.Draft202012Validator.check_schema(compiled.schema)
    assert violations(dialect, compiled.schema) == []
    if jsonschema.Draft202012Validator(compiled.user_schema).is_valid(value):
        assert jsonschema.Draft202012Validator(compiled.schema).is_valid(lowered)


_HOSTED = pytest.mark.parametrize("dialect", ["anthropic", "anthropic-tool", "openai-strict"])
_ONE = {"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1, "maxItems": 1}


@_HOSTED
def test_a_value_of_alternatives_inside_alternatives_is_lowered(dialect: str) -> None:
    inner = {"anyOf": [{"type": "integer"}, _ONE]}
    compiled = compile_schema({"oneOf": [{"type": "boolean"}, inner]}, dialect)
    assert compiled.lift(compiled.lower(["a"])) == ["a"]


@_HOSTED
def test_alternatives_that_only_an_unsent_keyword_tells_apart_are_lowered(dialect: str) -> None:
    choices = [{"type": "string", "maxLength": 5}, {"const": {"a": [1, None]}}]
    compiled = compile_schema({"anyOf": choices}, dialect)
    assert compiled.lift(compiled.lower({"a": [1, None]})) == {"a": [1, None]}


@budget(20)
@given(case=cases())
def test_the_engine_admits_what_is_sent(case: tuple[Any, Any]) -> None:
    schema, value = case
    compiled = compile_schema(schema, "llguidance")
    if jsonschema.Draft202012Validator(compiled.user_schema).is_valid(value):
        assert admits(compiled.schema, compiled.lower(value))
    small = compiled.bounded()
    assert admits(small.schema, small.minimal)
    assert jsonschema.Draft202012Validator(compiled.schema).is_valid(small.minimal)


@budget(20)
@given(case=cases())
def test_compiling_is_deterministic_and_losses_point_into_the_users_document(
    case: tuple[Any, Any],
) -> None:
    schema, value = case
    one = compile_schema(schema, "llguidance")
    other = compile_schema({**schema, "$comment": "not the cached one"}, "llguidance")
    assert json.dumps(one.schema) == json.dumps(other.schema)
    assert one.fingerprint == other.fingerprint
    assert (one.unenforced, one.rewritten) == (other.unenforced, other.rewritten)
    for claim in one.claims(value):
        found = get(value, claim.pointer)
        assert claim.value == (split(claim.pointer)[-1] if claim.kind == "key" else found)
    for hit in one.bounded().hits(one.lower(value)):
        get(one.lower(value), hit.pointer)


TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, st.integers(-(10**9), 10**9)),
    (bool, st.booleans()),
    (str | None, st.none() | TEXT),
    (list[int], st.lists(st.integers(0, 9), max_size=3)),
    (
        dict[str, bool],
        st.dictionaries(
            KEYS.filter(lambda key: key not in ("$ref", "$defs")), st.booleans(), max_size=3
        ),
    ),
    (tuple[int, str], st.tuples(st.integers(0, 9), TEXT)),
]
FIELD_NAMES = st.sampled_from(["alpha", "beta", "title", "schema_", "items"])


@st.composite
def models(draw: st.DrawFn) -> tuple[type[BaseModel], BaseModel]:
    """Return a model class and an instance, in which defaults may be left to act."""
    names = draw(st.lists(FIELD_NAMES, min_size=1, max_size=4, unique=True))
    fields: dict[str, Any] = {}
    data: dict[str, Any] = {}
    for name in names:
        kind, values = draw(st.sampled_from(TYPES))
        has_default = draw(st.booleans())
        default = draw(values) if has_default else ...
        fields[name] = (kind, Field(default, alias=draw(st.sampled_from([None, f"{name}-x"]))))
        if not has_default or draw(st.booleans()):
            data[fields[name][1].alias or name] = draw(values)
    model = create_model("Made", **fields)
    return model, model.model_validate(data)


KEEP_ABSENCE = ("json-schema", "llguidance", "outlines-core")
"""Elsewhere a key of a type that is null by default comes back as null, which is the same value."""


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@budget(20)
@given(case=models())
def test_every_instance_of_a_model_comes_back(
    dialect: str, case: tuple[type[BaseModel], BaseModel]
) -> None:
    model, instance = case
    compiled = compile_schema(model, dialect)
    for unset in (False, True):
        value = instance.model_dump(mode="json", by_alias=True, exclude_unset=unset)
        lowered = compiled.lower(value)
        if not unset or compiled.dialect in KEEP_ABSENCE:
            assert compiled.lift(lowered) == value
        assert jsonschema.Draft202012Validator(compiled.schema).is_valid(lowered)
        assert TypeAdapter(model).validate_python(compiled.lift(lowered)) == instance
