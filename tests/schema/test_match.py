from typing import Any

import pytest

from extractkit.schema.match import accepts, are_disjoint, choose
from extractkit.schema.nodes import UnionNode
from extractkit.schema.plain import json_key, type_of
from extractkit.schema.read import read


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 20},
            [5, 10.0],
            [3, -5, 25, 5.5, "5", True],
        ),
        (
            {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            [0.07, 0.29],
            [0, 1, 0.005],
        ),
        (
            {"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"},
            ["a", "ab"],
            ["", "b", "abc"],
        ),
        ({"type": "string", "pattern": "(?<n>a)"}, ["a"], ["b", 1]),
        ({"type": "string", "pattern": "(?<n>a)\\k<n>"}, ["aa", "b"], [1]),
        ({"type": "string", "format": "date"}, ["2024-02-29"], ["2023-02-29", "20240229", "x"]),
        ({"type": "string", "format": "date-time"}, ["2024-02-29T10:00:00Z"], ["2024-02-29", "x"]),
        ({"type": "string", "format": "time"}, ["10:00:00"], ["25:00:00"]),
        (
            {
                "type": "array",
                "items": {"type": "integer"},
                "minItems": 1,
                "maxItems": 2,
                "uniqueItems": True,
            },
            [[1], [1, 2]],
            [[], [1, 1], [1, 2, 3], ["a"]],
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"const": 1}},
                "required": ["a"],
                "patternProperties": {"^x": {"type": "null"}},
                "additionalProperties": False,
            },
            [{"a": 1, "x1": None}],
            [{}, {"a": 2}, {"a": 1, "b": 1}, {"a": 1, "x": 1}],
        ),
        (
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 2,
                "propertyNames": {"maxLength": 1},
            },
            [{"a": 1}],
            [{}, {"a": 1, "b": 1, "c": 1}, {"ab": 1}],
        ),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, [3], [2, "a"]),
        ({"enum": [1, {"a": [None]}]}, [1, 1.0, {"a": [None]}], [True, {"a": []}]),
        ({}, [None, 1, {"a": []}], []),
        (False, [], [None, 1]),
    ],
)
def test_a_node_accepts_what_its_schema_does(schema: Any, good: list[Any], bad: list[Any]) -> None:
    tree = read(schema)
    assert all(accepts(tree.root, value, tree) for value in good)
    assert not any(accepts(tree.root, value, tree) for value in bad)


@pytest.mark.parametrize(
    ("one", "other", "disjoint"),
    [
        ({"type": "integer"}, {"type": "number"}, False),
        ({"type": "integer"}, {"type": "string"}, True),
        ({"enum": [1, 2]}, {"enum": [3]}, True),
        ({"enum": [1, 2]}, {"type": "integer", "minimum": 2}, False),
        ({"enum": [1, 2]}, {"type": "integer", "minimum": 3}, True),
        ({"type": ["string", "null"]}, {"type": ["integer", "boolean"]}, True),
        ({"anyOf": [{"const": 1}, {"type": "null"}]}, {"type": "string"}, True),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}, False),
        (
            {"properties": {"k": {"const": 1}}, "required": ["k"], "type": "object"},
            {"properties": {"k": {"const": 2}}, "required": ["k"], "type": "object"},
            True,
        ),
        (
            {"properties": {"k": {"const": 1}}, "required": ["k"], "type": "object"},
            {"properties": {"k": {"const": 2}}, "type": "object"},
            True,
        ),
        (
            {"properties": {"k": {"const": 1}}, "type": "object"},
            {"properties": {"k": {"const": 2}}, "type": "object"},
            False,
        ),
        (
            {"properties": {"k": {"type": "string"}}, "required": ["k"], "type": "object"},
            {"properties": {"k": {"type": "array"}}, "type": "object"},
            True,
        ),
        (
            {"properties": {"a": {}}, "type": "object", "additionalProperties": False},
            {"type": "object", "required": ["b"]},
            True,
        ),
        (
            {"type": "object", "patternProperties": {"^b": {}}, "additionalProperties": False},
            {"type": "object", "required": ["b"]},
            False,
        ),
        (
            {"allOf": [{"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}]},
            {"type": "object", "properties": {"k": {"const": 2}}, "required": ["k"]},
            True,
        ),
        ({"type": "array"}, {"type": "array"}, False),
        ({}, {"type": "null"}, False),
    ],
)
def test_branches_exclude_each_other_only_where_that_is_certain(
    one: Any, other: Any, disjoint: bool
) -> None:
    tree = read({"anyOf": [one, other]})
    assert isinstance(tree.root, UnionNode)
    left, right = tree.root.branches
    assert are_disjoint(left, right, tree) is disjoint
    assert are_disjoint(right, left, tree) is disjoint


def test_the_first_branch_of_the_type_is_taken_where_none_fits() -> None:
    tree = read({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "string", "maxLength": 2}]})
    assert isinstance(tree.root, UnionNode)
    assert choose(tree.root, "ab", tree) is tree.root.branches[1]
    assert choose(tree.root, "abc", tree) is tree.root.branches[0]
    assert choose(tree.root, 3, tree) is None


def test_constant_keys_pick_the_branch_of_an_object_that_fits_none() -> None:
    def tagged(name: str) -> Any:
        properties = {"k": {"const": name}, "n": {"type": "integer"}}
        return {"type": "object", "properties": properties, "required": ["k", "n"]}

    tree = read({"anyOf": [tagged("a"), tagged("b"), {"type": "null"}]})
    assert isinstance(tree.root, UnionNode)
    assert choose(tree.root, {"k": "b", "n": "x"}, tree) is tree.root.branches[1]
    assert choose(tree.root, {"n": "x"}, tree) is tree.root.branches[0]


def test_equal_values_and_only_they_have_equal_keys() -> None:
    assert json_key(1) == json_key(1.0) != json_key(True)
    assert json_key({"a": 1, "b": [2]}) == json_key({"b": [2.0], "a": 1})
    assert json_key([1, 2]) != json_key([2, 1])
    assert len({json_key(value) for value in ({}, [], "", None, 0, False, "0", "[")}) == 8
    assert type_of(True) == "boolean"
