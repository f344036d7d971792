from typing import Any

import pytest

from extractkit.errors import SchemaError
from extractkit.schema import compile_schema
from extractkit.schema.nodes import ArrayNode, ChoiceNode, NeverNode, NumberNode, ObjectNode
from extractkit.schema.read import read


def one(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "pointer", "words"),
    [
        (one({"$ref": "#/$defs/Gone"}), "/x", "points nowhere"),
        (one({"$ref": "#nowhere"}), "/x", "points nowhere"),
        (one({"$ref": "https://example.com/other.json"}), "/x", "nothing is ever fetched"),
        (one({"$ref": "other.json#/a"}), "/x", "nothing is ever fetched"),
        (one({"$ref": 5}), "/x", "expected a string"),
        (one({"type": "text"}), "/x", "names of JSON types"),
        (one({"type": []}), "/x", "names of JSON types"),
        (one({"type": "string", "maxLength": "9"}), "/x", "whole number"),
        (one({"type": "string", "maxLength": -1}), "/x", "whole number"),
        (one({"type": "string", "pattern": 4}), "/x", "a string"),
        (one({"type": "number", "minimum": "0"}), "/x", "a number"),
        (one({"type": "number", "minimum": True}), "/x", "a number"),
        (one({"type": "number", "multipleOf": 0}), "/x", "more than 0"),
        (one({"type": "array", "uniqueItems": "yes"}), "/x", "true or false"),
        (one({"type": "array", "prefixItems": 3}), "/x", "at least one schema"),
        (one({"anyOf": []}), "/x", "at least one schema"),
        (one({"enum": 3}), "/x", "a list of values"),
        (one({"x-extractkit-mark": "sure"}), "/x", "verbatim"),
        (one(7), "/x", "expected a JSON Schema"),
        ({"properties": [1]}, "", "an object of schemas"),
        ({"type": "object", "required": "x"}, "", "a list of keys"),
        ({"items": {"items": {"type": "odd"}}}, "/*/*", "names of JSON types"),
    ],
)
def test_a_broken_schema_is_refused_at_once_with_the_place(
    schema: Any, pointer: str, words: str
) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        compile_schema(schema)
    assert caught.value.pointer == pointer


def test_an_error_inside_a_definition_points_to_where_it_is_used() -> None:
    schema = {
        "properties": {"a": {"items": {"$ref": "#/$defs/Bad"}}},
        "$defs": {"Bad": {"properties": {"b": {"type": "odd"}}}},
    }
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.pointer == "/a/*/b"


@pytest.mark.parametrize(
    "definitions",
    [
        {"A": {"$ref": "#/$defs/A"}},
        {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
        {"A": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]}},
        {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"oneOf": [{"$ref": "#/$defs/A"}]}},
    ],
)
def test_a_definition_that_only_refers_to_itself_is_refused(definitions: Any) -> None:
    with pytest.raises(SchemaError, match="refers to itself") as caught:
        compile_schema(one({"$ref": "#/$defs/A"}) | {"$defs": definitions})
    assert caught.value.pointer == "/x"


@pytest.mark.parametrize("key", ["items", "not", "allOf", "const"])
def test_hostile_nesting_is_refused_and_never_a_recursion_error(key: str) -> None:
    schema: Any = {"type": "string"}
    for _ in range(10_000):
        schema = {key: [schema] if key == "allOf" else schema}
    with pytest.raises(SchemaError, match="nested deeper than 128 levels"):
        compile_schema(schema)


@pytest.mark.parametrize("key", ["items", "not", "allOf", "properties"])
@pytest.mark.parametrize("dialect", ["json-schema", "llguidance"])
def test_nesting_up_to_the_limit_compiles(key: str, dialect: str) -> None:
    schema: Any = {"type": "string"}
    for _ in range(60):
        schema = {
            key: {"items": [schema], "allOf": [schema], "properties": {"a": schema}}.get(
                key, schema
            )
        }
    compiled = compile_schema(schema, dialect)
    assert compiled.bounded().schema


@pytest.mark.parametrize("value", [{"const": {1, 2}}, {"properties": {1: {}}}, {"const": b""}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(SchemaError, match="expected plain JSON"):
        compile_schema(value)


def test_a_large_enum_is_read_up_to_a_limit_that_is_the_same_everywhere() -> None:
    values = [f"category number {index}" for index in range(10_000)]
    assert compile_schema({"enum": values}, "llguidance").schema == {"enum": values}


def test_references_are_found_by_pointer_anchor_and_the_schemas_own_id() -> None:
    schema = {
        "$id": "https://example.com/s",
        "properties": {
            "a": {"$ref": "#/$defs/a~1b%20c"},
            "b": {"$ref": "#here"},
            "c": {"$ref": "https://example.com/s#/properties/a"},
            "d": {"$ref": "#/anyOf/0"},
            "e": {"$dynamicRef": "#here"},
            "f": {"$ref": "#/$defs/list/0"},
        },
        "anyOf": [{"type": "object"}],
        "$defs": {
            "a/b c": {"type": "integer"},
            "x": {"$anchor": "here", "const": 1},
            "list": [{"type": "null"}],
        },
    }
    compiled = compile_schema(schema)
    assert compiled.schema["$defs"] == {
        "a_b_c": {"type": "integer"},
        "x": {"const": 1},
        "a": {"$ref": "#/$defs/a_b_c"},
        "0": {"type": "object"},
        "0_2": {"type": "null"},
    }


def test_older_drafts_are_read_in_their_own_spelling() -> None:
    tuple_node = read({"items": [{"type": "integer"}], "additionalItems": False, "type": "array"})
    assert isinstance(tuple_node.root, ArrayNode)
    assert isinstance(tuple_node.root.prefix[0], NumberNode)
    assert isinstance(tuple_node.root.items, NeverNode)
    number = read(
        {
            "type": "number",
            "minimum": 0,
            "exclusiveMinimum": True,
            "maximum": 1,
            "exclusiveMaximum": False,
        }
    ).root
    assert isinstance(number, NumberNode)
    assert (number.minimum, number.exclusive_minimum, number.maximum) == (None, 0, 1)
    alone = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"S": {"type": "string"}},
        "properties": {"a": {"$ref": "#/definitions/S", "maxLength": 2}},
    }
    assert compile_schema(alone).schema["properties"]["a"] == {"$ref": "#/$defs/S"}
    third = read({"type": "object", "properties": {"a": {"required": True}}}).root
    assert isinstance(third, ObjectNode)


def test_a_choice_keeps_only_what_the_keywords_beside_it_allow() -> None:
    root = read({"type": "integer", "enum": [1, "a", 2.5, True, 3.0, None], "maximum": 2}).root
    assert isinstance(root, ChoiceNode)
    assert root.values == (1,)
    assert isinstance(read({"type": "null", "const": 3}).root, NeverNode)
    both = read({"const": 1, "enum": [True, 1.0]}).root
    assert isinstance(both, ChoiceNode)
    assert both.values == (1.0,)


def test_what_the_plain_dialect_sends_means_what_the_user_wrote() -> None:
    schema = {
        "type": ["object", "null"],
        "title": "T",
        "description": "D",
        "properties": {"a": {"default": 1, "examples": [2]}, "b": False},
        "required": ["a", "z"],
        "patternProperties": {"^x": {"type": "integer"}},
        "propertyNames": {"maxLength": 9},
        "additionalProperties": {"type": "string", "minLength": 1},
        "minProperties": 1,
        "maxProperties": 5,
        "if": {"required": ["a"]},
        "then": {"properties": {"a": {"$ref": "#/definitions/N"}}},
        "not": {"const": {"$ref": "text"}},
        "definitions": {"N": {"type": "integer"}},
    }
    assert compile_schema(schema).schema == {
        "type": ["object", "null"],
        "properties": {"a": {"default": 1, "examples": [2]}, "b": False},
        "required": ["a", "z"],
        "patternProperties": {"^x": {"type": "integer"}},
        "additionalProperties": {"type": "string", "minLength": 1},
        "propertyNames": {"maxLength": 9},
        "minProperties": 1,
        "maxProperties": 5,
        "description": "D",
        "title": "T",
        "if": {"required": ["a"]},
        "then": {"properties": {"a": {"$ref": "#/$defs/N"}}},
        "not": {"const": {"$ref": "text"}},
        "$defs": {"N": {"type": "integer"}},
    }


def test_keywords_without_a_type_stay_without_a_type_in_the_plain_dialect() -> None:
    assert compile_schema({"minLength": 2, "minimum": 1}).schema == {"minimum": 1, "minLength": 2}
    assert compile_schema({"$ref": "#/$defs/A", "minimum": 1, "$defs": {"A": {}}}).schema == {
        "allOf": [{"$ref": "#/$defs/A"}, {"minimum": 1}],
        "$defs": {"A": {}},
    }
