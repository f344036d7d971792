import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from extractkit.errors import SchemaError
from extractkit.schema import compile_schema
from extractkit.schema.compile import compile_uncached
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
    assert re.search("; (correct|write|add|put)", caught.value.message)


def test_a_type_that_is_misspelt_is_told_with_those_that_there_are() -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema({"type": "strin"})
    assert caught.value.message == (
        "(root): \"type\" is 'strin', expected names of JSON types (array, boolean, integer, null, "
        "number, object, string); correct it or leave it out"
    )


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


# --- drafts and addresses ------------------------------------------------------------------------

DRAFTS: Any = {
    "draft7": ("http://json-schema.org/draft-07/schema#", jsonschema_rs.Draft7Validator),
    "draft2019-09": (
        "https://json-schema.org/draft/2019-09/schema",
        jsonschema_rs.Draft201909Validator,
    ),
    "draft2020-12": (
        "https://json-schema.org/draft/2020-12/schema",
        jsonschema_rs.Draft202012Validator,
    ),
}
# Groups of the suite that are refused, each for what the message says; they may only get fewer.
REFUSED = {
    "leaves the document": 31,  # files of the suite's own server, and meta-schemas
    "depending on the way there": 4,  # dynamic references that mean several schemas
    '"$schema" is': 3,  # vocabularies of one's own
}
# Verdicts that change, by file: what only draft 7 asserts, and is told as not enforced.
CHANGED = {"draft7/optional/content.json": 3}


def suite_groups(folder: Path, draft: str) -> list[tuple[str, Any]]:
    return [
        (f"{draft}/{path.relative_to(folder / draft).as_posix()}", group)
        for path in sorted((folder / draft).rglob("*.json"))
        for group in json.loads(path.read_text(encoding="utf-8"))
        if isinstance(group["schema"], dict)
    ]


def test_a_schema_keeps_its_verdict_on_every_test_of_three_drafts(shared_data: Path) -> None:
    folder = shared_data / "json_schema_test_suite" / "dev" / "tests"
    if not folder.is_dir():
        pytest.skip(f"no JSON-Schema-Test-Suite at {folder}")
    tried, refused, changed = 0, Counter[str](), Counter[str]()
    for draft, (uri, validator) in DRAFTS.items():
        for name, group in suite_groups(folder, draft):
            schema = {"$schema": uri, **group["schema"]}
            try:
                sent = compile_uncached(schema, "json-schema").schema
            except SchemaError as error:
                refused[next(why for why in REFUSED if why in error.message)] += 1
                continue
            before = validator(schema, validate_formats=False)
            after = jsonschema_rs.Draft202012Validator(sent, validate_formats=False)
            for case in group["tests"]:
                tried += 1
                if before.is_valid(case["data"]) != after.is_valid(case["data"]):
                    changed[name] += 1
    assert tried > 3000
    assert refused == REFUSED
    assert changed == CHANGED


def test_what_draft_7_asserts_of_contents_is_told_as_not_enforced() -> None:
    schema = {
        "$schema": DRAFTS["draft7"][0],
        "type": "object",
        "properties": {
            "a": {"type": "string", "contentMediaType": "application/json"},
            "b": {"type": "string", "contentEncoding": "base64"},
        },
    }
    lost = {(item.pointer, item.keyword) for item in compile_schema(schema).unenforced}
    assert lost == {("/a", "contentMediaType"), ("/b", "contentEncoding")}


def test_each_draft_reads_only_the_keywords_it_knows() -> None:
    def sent(draft: str, schema: Any) -> Any:
        return compile_schema({"$schema": DRAFTS[draft][0], **schema}).schema

    assert sent("draft7", {"prefixItems": [{"type": "string"}], "minContains": 3}) == {}
    assert sent("draft2019-09", {"prefixItems": [{"type": "string"}]}) == {}
    assert sent("draft2020-12", {"$recursiveRef": "#"}) == {}
    assert sent("draft2020-12", {"items": {}, "additionalItems": False}) == {}
    fourth = {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1, "if": False}
    assert compile_schema(fourth).schema == {}


def test_a_reference_of_an_older_draft_hides_assertions_and_keeps_words() -> None:
    schema = {
        "$schema": DRAFTS["draft7"][0],
        "definitions": {"S": {"type": "string"}},
        "$ref": "#/definitions/S",
        "maxLength": 2,
        "description": "said",
    }
    assert compile_schema(schema).schema == {
        "$ref": "#/$defs/S",
        "description": "said",
        "$defs": {"S": {"type": "string"}},
    }


def test_kept_keywords_are_put_into_the_newest_spelling() -> None:
    schema = {
        "$schema": DRAFTS["draft7"][0],
        "definitions": {"N": {"type": "integer"}},
        "dependencies": {"a": ["b", "b"], "c": {"required": ["d"]}},
        "not": {
            "properties": {"const": {"$ref": "#/definitions/N", "title": "T"}, "enum": False},
            "items": [{"$id": "#here", "type": "null"}, True],
            "additionalItems": {"const": {"$ref": "#/definitions/N"}},
            "definitions": {"unused": {}},
        },
    }
    assert compile_schema(schema).schema == {
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"required": ["d"]}},
        "not": {
            "properties": {"const": {"$ref": "#/$defs/N", "title": "T"}, "enum": False},
            "prefixItems": [{"type": "null"}, True],
            "items": {"const": {"$ref": "#/definitions/N"}},
        },
        "$defs": {"N": {"type": "integer"}},
    }
    fourth = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "not": {"minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": False},
    }
    assert compile_schema(fourth).schema == {"not": {"exclusiveMinimum": 1, "maximum": 3}}
    assert compile_schema({"dependencies": {"a": "b"}}).schema == {
        "dependentRequired": {"a": ["b"]}
    }


def test_an_if_of_a_part_has_nothing_to_do_with_a_then_around_it() -> None:
    schema = {"allOf": [{"if": {"type": "integer"}}], "then": {"minimum": 3}, "not": {"const": 5}}
    sent = compile_schema(schema).schema
    for value in (1, 5, "a"):
        assert jsonschema_rs.is_valid(sent, value) == jsonschema_rs.is_valid(schema, value)


def test_two_references_in_a_kept_keyword_both_hold() -> None:
    schema = {
        "not": {"$ref": "#/$defs/A", "$dynamicRef": "#/$defs/B"},
        "$defs": {"A": {"minimum": 3}, "B": {"maximum": 5}},
    }
    assert compile_schema(schema).schema["not"] == {
        "$ref": "#/$defs/A",
        "allOf": [{"$ref": "#/$defs/B"}],
    }


def test_parts_with_addresses_of_their_own_are_found_by_them() -> None:
    schema = {
        "$id": "https://example.com/main.json",
        "properties": {
            "a": {"$ref": "parts/one.json"},
            "b": {"$ref": "https://example.com/parts/one.json#deep"},
            "c": {"$ref": "parts/one.json#/$defs/x"},
            "d": {"not": {"$id": "parts/two.json", "$ref": "one.json"}},
        },
        "$defs": {
            "P": {
                "$id": "parts/one.json",
                "$ref": "#/$defs/x",
                "$defs": {"x": {"type": "integer"}, "y": {"$anchor": "deep", "const": 1}},
            }
        },
    }
    sent = compile_schema(schema).schema
    assert sent["$defs"] == {
        "P": {"$ref": "#/$defs/x"},
        "y": {"const": 1},
        "x": {"type": "integer"},
    }
    assert sent["properties"]["d"] == {"not": {"$ref": "#/$defs/P"}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            {
                "$ref": "a.json",
                "$defs": {"one": {"$id": "a.json"}, "two": {"$id": "a.json", "const": 2}},
            },
            "leaves the document",
        ),
        (
            {
                "$schema": DRAFTS["draft7"][0],
                "properties": {"a": {"$id": "x", "$schema": DRAFTS["draft2019-09"][0]}},
            },
            "names another draft",
        ),
        (
            {
                "$schema": DRAFTS["draft2019-09"][0],
                "contains": {"const": 1},
                "unevaluatedItems": False,
            },
            "another thing in 2019-09 than in 2020-12",
        ),
        (
            {"dependencies": {"a": ["b"]}, "dependentRequired": {"a": ["c"]}},
            "write dependentRequired and dependentSchemas only",
        ),
        ({"x-extractkit-invalid": "a hat"}, "a hat cannot come out of a JSON document"),
    ],
)
def test_what_would_change_its_meaning_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        compile_schema(schema)


def test_a_value_that_may_or_may_not_fit_the_pattern_is_kept_with_the_pattern() -> None:
    schema = {"type": "string", "enum": ["é", "a"], "pattern": r"^\w$"}
    assert compile_schema(schema).schema == {
        "allOf": [{"enum": ["é", "a"]}, {"type": "string", "pattern": r"^\w$"}]
    }


def test_a_draft_that_is_named_inside_without_an_address_says_nothing() -> None:
    inner = {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}
    assert compile_schema({"items": inner}).schema == {"items": {"const": 1}}


def test_what_people_write_beside_is_no_reason_to_refuse() -> None:
    root = read({"type": "string", "description": ["a", "list"], "id": 5, "title": 3}).root
    assert root.description == ""
