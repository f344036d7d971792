"""Objects, lists, unions and references: the same documents as the engine's own reading."""

from __future__ import annotations

import json
from typing import Any, Literal

import jsonschema_rs
import llguidance
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from extractkit.errors import SchemaError
from extractkit.schema import Bounds
from extractkit.schema.grammar import JSON_OPTIONS
from tests.schema.engine import admits
from tests.schema.grammar.judge import compiled_for, grammar_of, judge, judge_as_written
from tests.schema.strategies_models import budget, models, values

INTEGER = {"type": "integer", "minimum": 0, "maximum": 9}
TEXT = {"type": "string"}


def closed(properties: dict[str, Any], required: list[str], **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        **more,
    }


SHAPES: dict[str, tuple[Any, list[str], list[str]]] = {
    "keys in their order": (
        closed({"b": INTEGER, "a": INTEGER}, ["b", "a"]),
        ['{"b": 1, "a": 2}'],
        ['{"a": 2, "b": 1}', '{"b": 1}', "{}", '{"b":1,"a":2}', '{"b": 1, "a": 2,}'],
    ),
    "keys that may be absent": (
        closed({"a": INTEGER, "b": INTEGER, "c": INTEGER, "d": INTEGER}, ["c"]),
        ['{"c": 1}', '{"a": 1, "c": 1}', '{"b": 1, "c": 1, "d": 1}', '{"a": 1, "b": 1, "c": 1}'],
        ["{}", '{"a": 1}', '{, "c": 1}', '{"c": 1, }', '{"c": 1, "b": 1}'],
    ),
    "only keys that may be absent": (
        closed({"a": INTEGER, "b": INTEGER}, []),
        ["{}", '{"a": 1}', '{"b": 1}', '{"a": 1, "b": 1}'],
        ['{"b": 1, "a": 1}', '{"c": 1}'],
    ),
    "no key": (closed({}, []), ["{}"], ['{"a": 1}', "{ }"]),
    "a key that cannot be": (
        closed({"a": False, "b": INTEGER}, ["b"]), ['{"b": 1}'], ['{"a": 1, "b": 1}'],
    ),
    "names that need escapes": (
        closed({'say "a"\n': INTEGER, "é/<|x|>": INTEGER}, ['say "a"\n', "é/<|x|>"]),
        [r'{"say \"a\"\n": 1, "é/<|x|>": 2}'],
        [],
    ),
    "a map": (
        {"type": "object", "additionalProperties": {"type": "string", "maxLength": 2}},
        ["{}", '{"a": "b"}', '{"a": "b", "c": "é"}'],
        ['{"a": "bcd"}', '{"a": 1}', '{"a": "b",}'],
    ),
    "a map that is counted": (
        {
            "type": "object", "additionalProperties": {"type": "null"},
            "minProperties": 2, "maxProperties": 3,
        },
        ['{"a": null, "b": null}', '{"a": null, "b": null, "c": null}'],
        ["{}", '{"a": null}', '{"a": null, "b": null, "c": null, "d": null}'],
    ),
    "keys by a pattern beside others": (
        {
            "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "patternProperties": {"^x_[0-9]$": {"type": "string"}}, "additionalProperties": False,
        },
        ['{"a": "v"}', '{"a": "v", "x_1": "w", "x_2": ""}'],
        ['{"x_1": "w"}', '{"a": "v", "y": "w"}', '{"a": "v", "x_11": "w"}'],
    ),
    "keys that may be absent beside others": (
        {
            "type": "object", "properties": {"a": INTEGER},
            "additionalProperties": {"type": "string"},
        },
        ["{}", '{"a": 1}', '{"b": "v"}', '{"a": 1, "b": "v"}'],
        ['{"a": "v"}', '{"b": 1}', '{"b": "v", "a": 1}'],
    ),
    "keys that fall under two rules are left to the engine": (
        {
            "type": "object", "properties": {"x_1": {"type": "string", "maxLength": 1}},
            "patternProperties": {"^x_": {"type": "string", "maxLength": 3}},
            "additionalProperties": False,
        },
        ['{"x_1": "a"}', '{"x_2": "abc"}'],
        ['{"x_1": "ab"}', '{"y": "a"}'],
    ),
    "a list with a beginning": (
        {
            "type": "array", "prefixItems": [INTEGER, {"type": "string"}],
            "items": {"type": "null"}, "minItems": 1, "maxItems": 4,
        },
        ["[1]", '[1, "a"]', '[1, "a", null, null]'],
        ["[]", "[1, null]", '[1, "a", null, null, null]', "[1, ]"],
    ),
    "a list that is cut in its beginning": (
        {"type": "array", "prefixItems": [INTEGER, INTEGER], "maxItems": 1},
        ["[]", "[1]"], ["[1, 2]", "[null]"],
    ),
    "a list with nothing after its beginning": (
        {"type": "array", "prefixItems": [INTEGER], "items": False}, ["[]", "[1]"], ["[1, 1]"],
    ),
    "a list that is counted": (
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
        ['["a", "b"]', '["a", "b", "c"]'],
        ["[]", '["a"]', '["a", "b", "c", "d"]', '["a","b"]'],
    ),
    "an empty list": ({"type": "array", "items": INTEGER, "maxItems": 0}, ["[]"], ["[1]"]),
    "alternatives that begin alike": (
        {
            "anyOf": [
                closed({"code_scheme": TEXT, "code": TEXT}, ["code_scheme", "code"]),
                closed({"code": TEXT, "name": TEXT}, ["name"]),
                {"type": "object", "additionalProperties": {"type": "null"}},
            ]
        },
        ['{"code_scheme": "a", "code": "b"}', '{"code": "b", "name": ""}', '{"name": ""}',
         '{"code": null}', '{"code_scheme": null, "x": null}', "{}"],
        ['{"code_scheme": "a"}', '{"code": "b"}', '{"code": "b", "name": null}'],
    ),
    "alternatives of one kind": (
        {"anyOf": [{"enum": ["a", 5, 1.0]}, {"type": "number", "minimum": 5, "maximum": 6},
                   {"type": "string", "maxLength": 1}, {"type": ["null", "boolean"]}]},
        ['"a"', '"b"', "5", "5.5", "1", "null", "true"], ['"ab"', "4", "7"],
    ),
    "constants of every kind": (
        {"enum": [None, True, "é\"", [1, {"a": 2}], {"b": []}]},
        ["null", "true", r'"é\""', '[1, {"a": 2}]', '{"b": []}'], ["false", "[1]", "{}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_written_in_one_way_only(name: str) -> None:
    schema, admitted, refused = SHAPES[name]
    grammar = judge_as_written(schema)
    assert [text for text in admitted if not grammar.admits(text)] == []
    assert [text for text in refused if grammar.admits(text)] == []


class Leaf(BaseModel):
    label: str
    kind: Literal["oak", "pine"]


class Tree(BaseModel):
    name: str = Field(max_length=3)
    leaves: list[Leaf]
    below: list[Tree]
    twin: Tree | None = None


def test_a_recursive_type_goes_as_deep_as_decoding_allows() -> None:
    grammar = judge(Tree, bounds=Bounds(depth=2))
    inner = '{"name": "b", "leaves": [], "below": [], "twin": null}'
    outer = '{"name": "a", "leaves": [{"label": "x", "kind": "oak"}], "below": [%s], "twin": %s}'
    assert grammar.admits(outer % (inner, inner))
    assert grammar.admits(outer % ("", "null"))
    assert not grammar.admits(outer % (inner.replace('"b"', '"long"'), "null"))
    deepest = inner.replace('[], "twin"', f'[{inner}], "twin"')
    assert not grammar.admits(outer % (deepest, "null"))


@budget(20)
@given(st.data())
def test_every_document_that_the_engine_reads_from_the_schema_fits_the_grammar(
    data: st.DataObject,
) -> None:
    target = data.draw(models())
    try:
        compiled = compiled_for(target)
        bounded = compiled.bounded()
    except SchemaError:
        assume(False)
    document = compiled.lower(data.draw(values(target)))
    assume(admits(bounded.schema, document))
    assert judge(target).admits(json.dumps(document, ensure_ascii=False))


@budget(25)
@given(st.data(), st.integers(0, 10**9))
def test_every_answer_to_the_grammar_fits_the_schema(data: st.DataObject, seed: int) -> None:
    target = data.draw(models())
    try:
        bounded = compiled_for(target).bounded()
    except SchemaError:
        assume(False)
    written = judge(target).writes(seed)
    assume(written is not None)
    # jsonschema_rs takes (?s:.) for no line break, which llguidance and Python's re do not.
    judged = json.loads(json.dumps(bounded.schema).replace("(?s:.)", r"[\\s\\S]"))
    assert jsonschema_rs.validator_for(judged).is_valid(json.loads(written or ""))


def test_one_target_has_one_grammar_and_no_mark_needs_a_source() -> None:
    assert grammar_of(Tree).text == grammar_of(Tree).text
    assert grammar_of(Tree).text == grammar_of(Tree, "some source").text


def test_a_nested_object_of_many_keys_is_no_burden() -> None:
    many = closed({f"k{at}": {"type": "string"} for at in range(1500)}, [])
    text = grammar_of(many).text
    assert llguidance.LLMatcher.grammar_from_lark(text)
    assert len(text) < 500_000


def test_what_is_left_to_the_engine_is_read_under_these_options() -> None:
    assert json.dumps(JSON_OPTIONS) in grammar_of({"type": "integer"}).text
