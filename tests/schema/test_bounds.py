import json
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Field

from extractkit.errors import SchemaError, UsageError
from extractkit.schema import Bounds, compile_schema
from tests.clock import works_within
from tests.schema.engine import admits, admits_text, grammar


def bounded(target: Any, **bounds: Any) -> Any:
    return compile_schema(target, "llguidance").bounded(Bounds(**bounds))


def injected(target: Any, **bounds: Any) -> set[tuple[str, str]]:
    return {(bound.pointer, bound.keyword) for bound in bounded(target, **bounds).injected}


class Line(BaseModel):
    label: str
    qty: int
    price: float
    code: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    word: Annotated[str, Field(pattern="^[a-z]+$")]
    mail: Annotated[str, Field(max_length=9)]
    kind: Literal["a", "b"]


class Invoice(BaseModel):
    lines: list[Line]
    notes: dict[str, str]
    share: Annotated[float, Field(ge=0, le=1)]
    year: Annotated[int, Field(ge=2000)]
    due: str | None = None


def test_only_what_has_no_end_gets_one() -> None:
    assert injected(Invoice) == {
        ("/lines", "maxItems"),
        ("/lines/*/label", "maxLength"),
        ("/lines/*/qty", "minimum"),
        ("/lines/*/qty", "maximum"),
        ("/lines/*/price", "minimum"),
        ("/lines/*/price", "maximum"),
        ("/lines/*/price", "multipleOf"),
        ("/lines/*/word", "maxLength"),
        ("/notes", "maxProperties"),
        ("/notes", "keyLength"),
        ("/notes/*", "maxLength"),
        ("/share", "multipleOf"),
        ("/year", "maximum"),
        ("/due", "maxLength"),
        ("/due", "required"),
    }
    assert bounded(Invoice).unbounded == ()


def one(schema: Any) -> Any:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({"type": "string"}, '"' + "a" * 5 + '"', '"' + "a" * 6 + '"'),
        ({"type": "string", "format": "email"}, '"a@b.co"', '"a@bb.co"'),
        ({"type": "string", "pattern": "^a*$"}, '"aaaaa"', '"aaaaaa"'),
        ({"type": "string", "minLength": 7}, '"aaaaaaa"', '"aaaaaaaa"'),
        ({"type": "array", "items": {"const": 1}}, "[1, 1, 1]", "[1, 1, 1, 1]"),
        (
            {"type": "array", "items": {"const": 1}, "minItems": 4},
            "[1, 1, 1, 1]",
            "[1, 1, 1, 1, 1]",
        ),
        ({"type": "object"}, '{"a": 1, "b": 1, "c": 1}', '{"a": 1, "b": 1, "c": 1, "d": 1}'),
        ({"type": "object"}, '{"abcd": 1}', '{"abcde": 1}'),
        ({"type": "integer"}, "-1000", "1001"),
        ({"type": "integer", "minimum": 5000}, "6000", "6001"),
        ({"type": "integer", "maximum": -5000}, "-6000", "-6001"),
        ({"type": "number"}, "999.99", "0.001"),
        ({"type": "number"}, "-1000", "1000.5"),
        ({"type": "number"}, "1.50", "1e2"),
        ({"type": "number", "exclusiveMinimum": 0}, "0.01", "0"),
        ({"type": "number", "minimum": 0.001, "maximum": 0.002}, "0.0015", "0.001555555"),
        ({"type": "number", "multipleOf": 0.5}, "999.5", "1000.5"),
        ({}, "[[1]]", "[[[1]]]"),
        ({}, '{"a": {"b": null}}', '{"a": {"b": {}}}'),
    ],
)
def test_the_engine_holds_every_bound(schema: Any, inside: str, outside: str) -> None:
    small = bounded(
        one(schema),
        max_length=5,
        max_items=3,
        max_key_length=4,
        max_number=1000,
        decimals=2,
        depth=2,
    )
    assert admits_text(small.schema, f'{{"x": {inside}}}')
    assert not admits_text(small.schema, f'{{"x": {outside}}}')
    jsonschema.validate({"x": json.loads(inside)}, small.schema)


def test_a_value_at_a_bound_is_told_with_its_real_place() -> None:
    small = bounded(Invoice, max_length=5, max_items=2, max_number=100_000, decimals=2)
    line = {
        "label": "a",
        "qty": 3,
        "price": 1.5,
        "code": "ABC",
        "word": "a",
        "mail": "a" * 9,
        "kind": "a",
    }
    free = {"lines": [line], "notes": {"a": "b"}, "share": 0.5, "year": 2020, "due": None}
    assert small.hits(free) == ()
    full = {
        "lines": [
            line,
            {**line, "label": "abcde", "qty": -12_345, "price": 12.25, "word": "abcde"},
        ],
        "notes": {"a/b": "abcde", "c": "d"},
        "share": 0.25,
        "year": 2020,
        "due": "abcde",
    }
    assert {(hit.pointer, hit.keyword) for hit in small.hits(full)} == {
        ("/lines", "maxItems"),
        ("/lines/1/label", "maxLength"),
        ("/lines/1/qty", "minimum"),
        ("/lines/1/price", "multipleOf"),
        ("/lines/1/word", "maxLength"),
        ("/notes", "maxProperties"),
        ("/notes/a~1b", "maxLength"),
        ("/share", "multipleOf"),
        ("/due", "maxLength"),
    }


@pytest.mark.parametrize(
    ("schema", "value", "keywords"),
    [
        ({"type": "integer"}, 101, ["maximum"]),
        ({"type": "integer"}, 99, []),
        ({"type": "integer"}, True, []),
        ({"type": "number"}, -500.5, ["minimum"]),
        ({"type": "number"}, "500", []),
        ({"additionalProperties": True}, {"abcd": 1}, ["keyLength"]),
        ({}, {"a": ["x"]}, ["depth"]),
        ({}, [1], []),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "no branch", []),
    ],
)
def test_a_bound_is_hit_where_there_is_no_room_for_one_more(
    schema: Any, value: Any, keywords: list[str]
) -> None:
    small = bounded(schema, max_key_length=4, max_number=1000, decimals=2, depth=2)
    assert [hit.keyword for hit in small.hits(value)] == keywords


class Tree(BaseModel):
    label: str
    children: "list[Tree]" = []


def chain(levels: int) -> Any:
    document: Any = {"label": "", "children": []}
    for _ in range(levels - 1):
        document = {"label": "", "children": [document]}
    return document


def test_recursion_ends_at_the_depth_and_is_told() -> None:
    small = bounded(Tree, depth=3)
    assert admits(small.schema, chain(3))
    assert not admits(small.schema, chain(4))
    assert ("", "depth") in {(bound.pointer, bound.keyword) for bound in small.injected}
    assert [(hit.pointer, hit.keyword) for hit in small.hits(chain(3))] == [
        ("/children/0/children/0/children", "depth")
    ]
    assert small.hits(chain(2)) == ()


RECURSIVE: dict[str, Any] = {
    "through null": {
        "type": "object",
        "properties": {"n": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "null"}]}},
        "required": ["n"],
    },
    "through an optional key": {"type": "object", "properties": {"n": {"$ref": "#/$defs/T"}}},
    "through a map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/T"}},
    "through keys of a pattern": {
        "type": "object",
        "patternProperties": {"^n$": {"$ref": "#/$defs/T"}},
    },
    "through a tuple": {
        "type": "array",
        "prefixItems": [{"type": "null"}, {"$ref": "#/$defs/T"}],
        "items": False,
        "minItems": 1,
    },
    "through alternatives": {
        "anyOf": [
            {"const": 1},
            {"type": "null"},
            {"type": "array", "items": {"$ref": "#/$defs/T"}, "minItems": 1},
        ]
    },
}


def nested(name: str, levels: int) -> Any:
    value: Any = {
        "through a map": {},
        "through keys of a pattern": {},
        "through an optional key": {},
        "through null": {"n": None},
        "through a tuple": [None],
        "through alternatives": 1,
    }[name]
    for _ in range(levels - 1):
        value = {"through a tuple": [None, value], "through alternatives": [value]}.get(
            name, {"n": value}
        )
    return value


@pytest.mark.parametrize("name", sorted(RECURSIVE))
def test_every_way_into_recursion_ends(name: str) -> None:
    schema = {"$ref": "#/$defs/T", "$defs": {"T": RECURSIVE[name]}}
    compiled = compile_schema(schema, "llguidance")
    small = compiled.bounded(Bounds(depth=3))
    assert small.unbounded == ()
    for levels in (1, 2, 3):
        value = nested(name, levels)
        assert compiled.lift(compiled.lower(value)) == value
        assert admits(small.schema, compiled.lower(value)), value
    assert admits(compiled.schema, compiled.lower(nested(name, 6)))
    assert not admits(small.schema, compiled.lower(nested(name, 6)))
    assert any(hit.keyword == "depth" for hit in small.hits(compiled.lower(nested(name, 3))))


def test_mutual_recursion_ends_too() -> None:
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {"type": "array", "items": {"$ref": "#/$defs/B"}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"]},
        },
    }
    small = bounded(schema, depth=2)
    assert admits(small.schema, [{"a": [{"a": []}]}]) is False
    assert admits(small.schema, [{"a": []}])


def test_recursion_that_needs_more_levels_is_left_and_told() -> None:
    def step(name: str, **optional: str) -> Any:
        properties = {key: {"$ref": f"#/$defs/{target}"} for key, target in optional.items()}
        properties["n"] = {"$ref": f"#/$defs/{name}"}
        return {"type": "object", "properties": properties, "required": ["n"]}

    schema = {
        "$ref": "#/$defs/C",
        "$defs": {
            "C": step("A", m="B"),
            "B": {"anyOf": [{"type": "null"}, step("C")]},
            "A": step("B"),
        },
    }
    assert bounded(schema, depth=2).unbounded == ()
    small = bounded(schema, depth=1)
    assert small.unbounded == (("", "it needs more than 1 levels"),)
    assert admits(small.schema, small.minimal)


def test_a_large_group_of_recursive_definitions_is_left_and_told() -> None:
    definitions = {
        f"D{i}": {"type": "array", "items": {"$ref": f"#/$defs/D{(i + 1) % 40}"}} for i in range(40)
    }
    small = bounded({"$ref": "#/$defs/D0", "$defs": definitions})
    assert small.unbounded == (("", "40 definitions recurse into each other"),)
    assert small.minimal == []


class Colour(str, Enum):
    RED = "red"
    LONGER = "longer"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


@pytest.mark.parametrize(
    ("target", "minimal"),
    [
        (Invoice, {"lines": [], "notes": {}, "share": 0, "year": 2000, "due": None}),
        (Tree, {"label": "", "children": []}),
        (Open, {"name": ""}),
        (Colour, "red"),
        (Decimal, 0),
        (tuple[int, str], [0, ""]),
        (Annotated[list[bool], Field(min_length=2)], [True, True]),
        (Annotated[dict[str, int], Field(min_length=2)], {"a": 0, "b": 0}),
        (int | str, 0),
        ({"type": "string", "minLength": 3}, "aaa"),
        ({"type": "string", "pattern": "^[0-9]{4}-x?$", "minLength": 5}, "0000-"),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
        ({"type": "integer", "maximum": -3}, -3),
        (
            {
                "type": "object",
                "properties": {"a": {"const": 1}},
                "minProperties": 2,
                "required": ["a"],
                "additionalProperties": {"const": 2},
            },
            None,
        ),
        ({"not": {"const": 1}}, 0),
        (Any, 0),
    ],
)
def test_the_shortest_document_is_admitted_and_short(target: Any, minimal: Any) -> None:
    small = bounded(target)
    assert admits(small.schema, small.minimal)
    assert len(json.dumps(small.minimal)) < 100
    if minimal is not None and not isinstance(minimal, dict):
        assert small.minimal == minimal
    if isinstance(minimal, dict):
        assert len(small.minimal) == len(minimal)


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$ref": "#/$defs/T",
            "$defs": {
                "T": {
                    "type": "object",
                    "properties": {"t": {"$ref": "#/$defs/T"}},
                    "required": ["t"],
                }
            },
        },
        {"type": "array", "minItems": 1, "items": False},
        {"type": "array", "minItems": 3, "maxItems": 2},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "string", "pattern": "^aaa$", "maxLength": 2},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"anyOf": [False, {"enum": []}]},
        {
            "type": "object",
            "properties": {"a": {"const": 1}},
            "required": ["a"],
            "maxProperties": 0,
        },
    ],
)
def test_a_schema_without_a_finite_document_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match="no finite document"):
        bounded(schema)


def test_a_dialect_that_does_not_bound_says_so() -> None:
    compiled = compile_schema(Invoice, "outlines-core")
    small = compiled.bounded()
    assert {pointer for pointer, _ in small.unbounded} >= {"/share", "/year", "/notes"}
    assert {bound.keyword for bound in small.injected} == {"maxLength", "maxItems", "required"}
    assert "minimum" not in small.schema["properties"]["year"]


def test_every_object_that_can_be_counted_is() -> None:
    small = bounded(Open)
    assert ("", "maxProperties") in {(b.pointer, b.keyword) for b in small.injected}
    assert [pointer for pointer, _ in small.unbounded] == [""]


@pytest.mark.parametrize(
    "name", ["max_length", "max_items", "max_key_length", "max_number", "depth"]
)
def test_a_bound_below_one_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        Bounds(**{name: 0})
    with pytest.raises(UsageError, match="decimals"):
        Bounds(decimals=-1)


def test_bounds_are_computed_once_and_the_grammar_is_cheap() -> None:
    compiled = compile_schema(Invoice, "llguidance")
    assert compiled.bounded() is compiled.bounded(Bounds())
    assert compiled.bounded(Bounds(max_items=3)) is not compiled.bounded()
    with works_within(0.1):  # about 2 ms
        grammar(compiled.bounded().schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "email", "pattern": "^.*@.*$"},
        {"type": "string", "pattern": "([a-z]+,)*[a-z]+"},
    ],
)
def test_a_pattern_that_the_engine_may_not_combine_with_a_length_is_left(schema: Any) -> None:
    small = bounded(schema)
    assert "maxLength" not in small.schema
    assert [pointer for pointer, _ in small.unbounded] == [""]


def test_optional_anything_is_written_and_bounded() -> None:
    small = bounded({"type": "object", "properties": {"a": {}, "b": {"description": "d"}}})
    assert small.schema["required"] == ["a", "b"]
    assert admits(small.schema, {"a": [1], "b": None})


def test_objects_with_a_rule_over_keys_are_counted() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^k": {"type": "null"}},
        "additionalProperties": False,
    }
    small = bounded(schema, max_items=1)
    assert admits(small.schema, {"k1": None})
    assert not admits(small.schema, {"k1": None, "k2": None})
    open_keys = {**schema, "additionalProperties": {"const": 1}, "maxProperties": 1}
    assert [pointer for pointer, _ in bounded(open_keys).unbounded] == [""]


@pytest.mark.parametrize("dialect", ["llguidance", "outlines-core"])
def test_each_level_of_any_value_names_its_types(dialect: str) -> None:
    schema = compile_schema(Any, dialect).bounded(Bounds(depth=2)).schema
    for level in ("any.0", "any.1", "any.2"):
        branches = schema["$defs"][level]["anyOf"]
        assert [branch["type"] for branch in branches][:4] == [
            "null", "boolean", "number", "string",
        ]  # fmt: skip
