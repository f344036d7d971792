"""The local dialect, judged by the engine itself."""

import json
from typing import Annotated, Any, Literal, NamedTuple

import jsonschema
import pytest
from pydantic import BaseModel, Field

from extractkit.errors import SchemaError
from extractkit.schema import CompiledSchema, compile_schema
from tests.schema.engine import admits, admits_text


def closed(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> Any:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
        **more,
    }


def one(schema: Any) -> Any:
    return closed({"x": schema})


def at_x(*values: Any) -> list[Any]:
    return [{"x": value} for value in values]


ENFORCED: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "bounds": (
        one({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}),
        at_x(1, 8),
        at_x(0, 9),
    ),
    "steps": (one({"type": "integer", "multipleOf": 4}), at_x(8), at_x(6)),
    "date": (
        one({"type": "string", "format": "date"}),
        at_x("2024-02-29"),
        at_x("2024-02-30", "x"),
    ),
    "date-time": (
        one({"type": "string", "format": "date-time"}),
        at_x("2024-02-29T10:00:00Z", "2024-12-31T23:59:59.5+02:00", "2024-01-01T00:00:00"),
        at_x("2023-02-29T10:00:00Z", "2024-01-01", "2024-01-01 10:00:00", "2024-01-01T24:00:00"),
    ),
    "time": (
        one({"type": "string", "format": "time"}),
        at_x("10:00:00", "10:00:00Z"),
        at_x("25:00:00", "10"),
    ),
    "email": (one({"type": "string", "format": "email"}), at_x("ida@example.org"), at_x("ida")),
    "uuid": (
        one({"type": "string", "format": "uuid"}),
        at_x("123e4567-e89b-12d3-a456-426614174000"),
        at_x("1"),
    ),
    "pattern": (one({"type": "string", "pattern": "^[a-c]{2}$"}), at_x("ab"), at_x("ad", "abc")),
    "open pattern": (one({"type": "string", "pattern": "[0-9]x"}), at_x("a1xb"), at_x("1 x")),
    "lengths": (
        one({"type": "string", "minLength": 1, "maxLength": 2}),
        at_x("é", "日本"),
        at_x("", "abc"),
    ),
    "items": (
        one({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2}),
        at_x([True], [True, False]),
        at_x([], [True] * 3, [1]),
    ),
    "tuple": (
        one(
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            }
        ),
        at_x([1, "a"]),
        at_x([1], ["a", 1], [1, "a", 2]),
    ),
    "map": (
        one({"type": "object", "additionalProperties": {"type": "integer"}}),
        at_x({}, {"a": 1, "b": 2}),
        at_x({"a": "1"}),
    ),
    "pattern keys": (
        one(
            {
                "type": "object",
                "patternProperties": {"^k": {"type": "integer"}},
                "additionalProperties": False,
            }
        ),
        at_x({"k1": 1}),
        at_x({"z": 1}, {"k1": "1"}),
    ),
    "pattern keys beside declared ones": (
        closed({"a": {"type": "integer"}}, patternProperties={"^x_": {"type": "string"}}),
        [{"a": 1}, {"a": 1, "x_k": "v"}],
        [{"a": 1, "z": "v"}, {"a": 1, "x_k": 1}],
    ),
    "keys of an enum": (
        one(
            {
                "type": "object",
                "propertyNames": {"enum": ["a.b", "c"]},
                "additionalProperties": {"type": "integer"},
            }
        ),
        at_x({"a.b": 1}, {"c": 2}, {}),
        at_x({"aXb": 1}, {"d": 1}),
    ),
    "keys of a length": (
        one({"type": "object", "propertyNames": {"maxLength": 2}}),
        at_x({"ab": [1]}),
        at_x({"abc": 1}),
    ),
    "keys of a date": (
        one(
            {
                "type": "object",
                "propertyNames": {"format": "date"},
                "additionalProperties": {"type": "integer"},
            }
        ),
        at_x({"2024-01-31": 1}),
        at_x({"today": 1}),
    ),
    "disjoint oneOf": (
        one(
            {
                "oneOf": [
                    closed({"kind": {"const": "a"}, "n": {"type": "integer"}}),
                    closed({"kind": {"const": "b"}}),
                ]
            }
        ),
        at_x({"kind": "a", "n": 1}, {"kind": "b"}),
        at_x({"kind": "b", "n": 1}, {"kind": "c"}),
    ),
    "allOf": (
        {
            "allOf": [
                {"$ref": "#/$defs/A"},
                {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
            ],
            "$defs": {
                "A": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
            },
        },
        [{"a": 1, "b": "x"}],
        [{"a": 1}, {"b": "x"}, {"a": 1, "b": 2}],
    ),
    "one of two keys": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "additionalProperties": False,
        },
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 2}],
        [{}, {"a": "x"}],
    ),
    "types": (
        one({"type": ["string", "integer", "null"], "minimum": 3, "maxLength": 1}),
        at_x("a", 3, None),
        at_x(2, "ab", 1.5),
    ),
    "no type": (
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        [{"a": 1}],
        [{"a": "1"}, "a"],
    ),
    "required and not declared": (
        {"type": "object", "required": ["a"]},
        [{"a": 1}, {"a": None}],
        [{}],
    ),
    "odd keys": (
        closed(
            {
                'a"b': {"const": 1},
                "é x": {"const": 2},
                "a.b(c)*": {"const": 3},
                "$ref": {"const": 4},
                "type": {"const": 5},
            }
        ),
        [{'a"b': 1, "é x": 2, "a.b(c)*": 3, "$ref": 4, "type": 5}],
        [{'a"b': 1, "é x": 2, "aXb(c)*": 3, "$ref": 4, "type": 5}],
    ),
    "odd enums": (
        one({"enum": ["naïve", "😀", 1, None, True, {"a": [1]}]}),
        at_x("naïve", "😀", 1, None, True, {"a": [1]}),
        at_x("naive", False),
    ),
    "mutual recursion": (
        {
            "$ref": "#/$defs/A",
            "$defs": {
                "A": closed({"b": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}]}}),
                "B": closed({"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}),
            },
        },
        [{"b": {"a": {"b": None}}}],
        [{"b": 1}],
    ),
    "anything": (one({}), at_x(1, "a", [1, {"b": None}]), []),
}


def _sent(compiled: CompiledSchema, value: Any) -> Any:
    """Return the sent form of a value; the value itself where there is none."""
    try:
        return compiled.lower(value)
    except SchemaError:
        return value


@pytest.mark.parametrize("name", sorted(ENFORCED))
def test_what_is_not_listed_as_unenforced_is_enforced(name: str) -> None:
    schema, valid, invalid = ENFORCED[name]
    compiled = compile_schema(schema, "llguidance")
    lost = {loss.keyword for loss in compiled.unenforced} - {"uniqueKeys"}
    assert not lost
    for value in valid:
        lowered = compiled.lower(value)
        assert compiled.lift(lowered) == value
        assert admits(compiled.schema, lowered), value
        assert admits(compiled.bounded().schema, lowered), value
        jsonschema.validate(lowered, compiled.schema)
    for value in invalid:
        assert not admits(compiled.schema, _sent(compiled, value)), value


LOST: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "unique": (
        one({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        [("/x", "uniqueItems")],
    ),
    "not": (one({"type": "string", "not": {"const": "bad"}}), [("/x", "not")]),
    "if": (
        closed({"t": {"enum": ["a", "b"]}}, **{"if": {"required": ["t"]}, "then": True}),
        [("", "if"), ("", "then")],
    ),
    "contains": (one({"type": "array", "contains": {"const": 1}}), [("/x", "contains")]),
    "dependent": (
        closed({"a": {"const": 1}}, dependentRequired={"a": ["b"]}),
        [("", "dependentRequired")],
    ),
    "overlap": (one({"oneOf": [{"type": "integer"}, {"type": "number"}]}), [("/x", "oneOf")]),
    "look-ahead": (
        one({"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"}),
        [("/x", "pattern")],
    ),
    "word edge": (one({"type": "string", "pattern": r"\bcat\b"}), [("/x", "pattern")]),
    "format": (one({"type": "string", "format": "base64"}), [("/x", "format")]),
    "overlapping pattern keys": (
        one(
            {
                "type": "object",
                "patternProperties": {"^a": {"type": "integer"}, "b$": {"type": "number"}},
                "additionalProperties": False,
            }
        ),
        [("/x", "patternProperties"), ("/x", "additionalProperties"), ("/x", "uniqueKeys")],
    ),
    "pattern keys with look-ahead": (
        one(
            {
                "type": "object",
                "patternProperties": {"^(?!x)": {"type": "integer"}},
                "additionalProperties": False,
            }
        ),
        [("/x", "patternProperties"), ("/x", "uniqueKeys")],
    ),
    "key rule beside keys": (
        {
            "type": "object",
            "properties": {"a": {"const": 1}},
            "required": ["a"],
            "propertyNames": {"pattern": "^a"},
            "additionalProperties": True,
        },
        [("", "propertyNames"), ("", "uniqueKeys")],
    ),
    "key rule of two parts": (
        one({"type": "object", "propertyNames": {"pattern": "^a", "maxLength": 3}}),
        [("/x", "propertyNames"), ("/x", "uniqueKeys")],
    ),
    "key rule that no text fulfils": (
        one({"type": "object", "propertyNames": {"type": "integer"}}),
        [("/x", "propertyNames"), ("/x", "uniqueKeys")],
    ),
    "count of keys that may be absent": (
        closed({"a": {"const": 1}, "b": {"const": 1}}, [], minProperties=1, maxProperties=1),
        [("", "minProperties"), ("", "maxProperties")],
    ),
}


@pytest.mark.parametrize("name", sorted(LOST))
def test_what_the_engine_cannot_hold_is_listed_told_and_left_out(name: str) -> None:
    schema, lost = LOST[name]
    compiled = compile_schema(schema, "llguidance")
    assert [(loss.pointer, loss.keyword) for loss in compiled.unenforced] == lost
    assert all(loss.why for loss in compiled.unenforced)
    assert admits(compiled.bounded().schema, compiled.bounded().minimal)
    for _, keyword in lost:
        if keyword in ("uniqueItems", "not", "if", "pattern", "format", "patternProperties"):
            assert f"{keyword}: " in json.dumps(compiled.schema)


KEYWORDS: list[tuple[Any, str]] = [
    ({"type": "integer", "minimum": 3}, "minimum"),
    ({"type": "number", "exclusiveMaximum": 3}, "exclusiveMaximum"),
    ({"type": "number", "multipleOf": 0.5}, "multipleOf"),
    ({"type": "string", "pattern": "^(?=a)"}, "pattern"),
    ({"type": "string", "pattern": "^a+$"}, "pattern"),
    ({"type": "string", "format": "hostname"}, "format"),
    ({"type": "string", "format": "idn-email"}, "format"),
    ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, "uniqueItems"),
    ({"type": "array", "contains": {"type": "null"}}, "contains"),
    ({"type": "object", "required": ["a"]}, "required"),
    ({"type": "object", "minProperties": 2}, "minProperties"),
    ({"type": "object", "dependentSchemas": {"a": False}}, "dependentSchemas"),
    ({"type": "object", "unevaluatedProperties": False}, "unevaluatedProperties"),
    ({"type": "object", "patternProperties": {"^a": {"type": "null"}}}, "patternProperties"),
]


@pytest.mark.parametrize("dialect", ["llguidance", "outlines-core"])
@pytest.mark.parametrize(("schema", "keyword"), KEYWORDS)
def test_a_keyword_that_leaves_no_trace_in_what_is_sent_is_listed(
    schema: Any, keyword: str, dialect: str
) -> None:
    def bare(part: Any) -> str:
        return json.dumps({k: v for k, v in part.items() if k != "description"})

    without = {key: value for key, value in schema.items() if key != keyword}
    compiled = compile_schema(schema, dialect)
    if bare(compiled.schema) == bare(compile_schema(without, dialect).schema):
        assert keyword in {loss.keyword for loss in compiled.unenforced}


class Pt(NamedTuple):
    lat: float
    lon: float


class Site(BaseModel):
    span: tuple[int, int]
    pos: Pt
    tagged: tuple[dict[str, int], str]
    many: tuple[int, ...]


def test_tuples_keep_length_and_types_and_a_map_inside_is_seen() -> None:
    compiled = compile_schema(Site, "llguidance")
    good = {"span": [3, 9], "pos": [1.5, 2.5], "tagged": [{"a": 1}, "t"], "many": [1, 2, 3]}
    assert admits(compiled.schema, good)
    assert not admits(compiled.schema, {**good, "span": [3]})
    assert not admits(compiled.schema, {**good, "span": [3, 9, 1]})
    assert not admits(compiled.schema, {**good, "tagged": [{"a": "1"}, "t"]})
    assert [loss.pointer for loss in compiled.unenforced] == ["/tagged/0"]


class Base(BaseModel):
    zone: str


class Verdict(Base):
    rationale: str
    answer: Literal["yes", "no"]


class Sheet(BaseModel):
    verdicts: list[Verdict]
    summary: str


@pytest.mark.parametrize("dialect", ["json-schema", "llguidance", "outlines-core"])
def test_the_declared_order_is_the_order_of_the_bytes(dialect: str) -> None:
    text = json.dumps(compile_schema(Sheet, dialect).schema)
    places = [text.index(f'"{key}": {{') for key in ("verdicts", "summary")]
    inner = [text.index(f'"{key}": {{') for key in ("zone", "rationale", "answer")]
    assert places == sorted(places)
    assert inner == sorted(inner)
    assert '"required": ["verdicts", "summary"]' in text
    assert '"required": ["zone", "rationale", "answer"]' in text


def test_the_engine_writes_in_the_declared_order_only() -> None:
    schema = compile_schema(Verdict, "llguidance").schema
    assert admits_text(schema, '{"zone": "a", "rationale": "b", "answer": "no"}')
    assert not admits_text(schema, '{"answer": "no", "rationale": "b", "zone": "a"}')


class Line(BaseModel):
    label: Annotated[str, Field(max_length=3)]


@pytest.mark.parametrize("text", [r'"a\"b"', '"🦊🦊🦊"', r'"\n\n\n"', '""'])
def test_a_bounded_text_may_hold_any_three_characters(text: str) -> None:
    assert admits_text(compile_schema(Line, "llguidance").schema, f'{{"label": {text}}}')


@pytest.mark.parametrize("text", ['"abcd"', '"a\tb"', r'"\ud83e"', '"🦊🦊🦊🦊"'])
def test_a_bounded_text_holds_no_fourth_character_and_nothing_that_is_not_json(text: str) -> None:
    assert not admits_text(compile_schema(Line, "llguidance").schema, f'{{"label": {text}}}')
