"""Hostile input: refused at once with its place, or read at once; never fetched, never endless."""

import json
import socket
from typing import Any

import pytest

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, compile_schema
from tests.clock import works_within

SECONDS = 2.0
"""Each takes a tenth of it on an idle machine."""


def one(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


def deep(key: str, levels: int = 10_000) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {key: [schema] if key in ("allOf", "anyOf") else schema}
    return schema


def shared(wrap: Any, levels: int) -> Any:
    """Return a schema whose parts are the same Python object, 2 ** levels times in all."""
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


def multiplied(wrap: Any, levels: int = 30) -> Any:
    """Return a schema with 2 ** levels ways through its definitions."""
    definitions = {f"d{i}": wrap({"$ref": f"#/$defs/d{i + 1}"}) for i in range(levels)}
    definitions[f"d{levels}"] = {"type": "string"}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def cyclic() -> Any:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema, "b": schema}
    return schema


def refused(schema: Any, dialect: str = "json-schema") -> SchemaError:
    with works_within(SECONDS), pytest.raises(SchemaError) as caught:
        compile_schema(schema, dialect)
    return caught.value


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "values",
    [
        [f"category number {index}" for index in range(50_000)],
        ["x" * 1_000_000, "y"],
        [{"key": "x" * 300_000}],
    ],
)
def test_an_enum_of_a_megabyte_is_refused_everywhere_and_says_what_to_do(
    values: Any, dialect: str
) -> None:
    error = refused(one({"enum": values}), dialect)
    assert error.pointer == "/x"
    assert "expected at most 262,144; ask for a text and look it up" in error.message


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (one({"const": "x" * 300_000}), "/x"),
        (one({"not": {"enum": ["x" * 300_000]}}), "/x"),
        (one({"items": {"if": {"const": "a"}, "then": {"enum": ["x" * 300_000]}}}), "/x/*"),
    ],
)
def test_such_an_enum_is_found_wherever_it_stands(schema: Any, pointer: str) -> None:
    error = refused(schema)
    assert error.pointer == pointer
    assert "262,144" in error.message


def test_an_enum_within_the_limit_is_read() -> None:
    values = [f"label {index}" for index in range(15_000)]
    assert len(json.dumps(values, ensure_ascii=False)) < 262_144
    assert compile_schema({"enum": values}).schema == {"enum": values}


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        (cyclic(), "", "more than 250,000 parts"),
        ({"default": list(range(300_000))}, "", "more than 250,000 parts"),
        (shared(lambda part: {"anyOf": [part, part]}, 60), "", "more than 250,000 parts"),
        (shared(lambda part: {"properties": {"a": part, "b": part}}, 30), "", "parts"),
        (deep("items"), "/items/items/items/items/items/items", "deeper than 128"),
        (deep("not"), "/not/not/not/not/not/not", "deeper than 128"),
        (deep("anyOf"), "/anyOf/0/anyOf/0/anyOf/0", "deeper than 128"),
        ({"const": {1: 2}}, "/const", "the key 1"),
        ({"const": {"\ud800": 2}}, "/const", "no Unicode text"),
        ({"properties": {"\udfff": {}}}, "/properties", "no Unicode text"),
        ({"pattern": "\udfff"}, "/pattern", "no Unicode text"),
        ({"enum": ["a", "\ud800"]}, "/enum/1", "no Unicode text"),
        ({"description": "\ud800"}, "/description", "no Unicode text"),
        ({"maximum": json.loads("1e999")}, "/maximum", "JSON has no such number"),
        ({"enum": [float("nan")]}, "/enum/0", "JSON has no such number"),
        ({"maxLength": float("inf")}, "/maxLength", "JSON has no such number"),
        ({"const": 10**5000}, "/const", "3,900 digits"),
        ({"const": object()}, "/const", "a Python object"),
        ({"const": (1, 2)}, "/const", "a Python tuple"),
    ],
)
def test_what_is_no_json_or_too_much_of_it_is_refused_with_its_place_in_the_schema(
    schema: Any, place: str, words: str
) -> None:
    error = refused(schema)
    assert error.pointer == ""
    assert place in error.message
    assert words in error.message


@pytest.mark.parametrize(
    ("steps", "pointer"),
    [
        ("properties a~1b default", "/a~1b"),
        ("properties properties const", "/properties"),
        ("properties a items properties b enum", "/a/*/b"),
        ("properties a prefixItems 0 const", "/a/0"),
        ("properties a anyOf 1 additionalProperties examples", "/a/*"),
        ("patternProperties ^x allOf 0 properties b title", "/*/b"),
        ("properties a not const", "/a"),
        ("$defs A properties a const", ""),
        ("const", ""),
    ],
)
def test_a_pointer_is_a_place_in_documents_whatever_is_wrong_with_the_schema(
    steps: str, pointer: str
) -> None:
    schema: Any = float("nan")
    for step in reversed(steps.split()):
        step = step.replace("~1", "/")
        schema = [{}, schema][1 - int(step) :] if step in ("0", "1") else {step: schema}
    error = refused(schema)
    assert error.pointer == pointer
    assert f"at /{steps.replace(' ', '/')}" in error.message


@pytest.mark.parametrize(
    ("schema", "pointer", "words"),
    [
        (one({"not": 5}), "/x", "found 5, expected a JSON Schema"),
        (one({"if": []}), "/x", "expected a JSON Schema"),
        (one({"contains": None}), "/x", "expected a JSON Schema"),
        (one({"not": {"type": "text"}}), "/x", "names of JSON types"),
        (one({"not": {"minLength": -1}}), "/x", "a whole number"),
        (one({"not": {"minimum": "1"}}), "/x", "a number"),
        (one({"not": {"multipleOf": 0}}), "/x", "more than 0"),
        (one({"not": {"required": [1]}}), "/x", "a list of keys"),
        (one({"not": {"uniqueItems": 1}}), "/x", "true or false"),
        (one({"not": {"format": 1}}), "/x", "a string"),
        (one({"not": {"allOf": []}}), "/x", "at least one schema"),
        (one({"not": {"enum": 1}}), "/x", "a list of values"),
        (one({"not": {"$ref": "#/nowhere"}}), "/x", "points nowhere"),
        (one({"minContains": "1"}), "/x", "a whole number"),
        (one({"dependentRequired": {"a": "b"}}), "/x", "a list of keys"),
        (one({"dependentSchemas": []}), "/x", "an object of schemas"),
        (one({"dependencies": 5}), "/x", "an object of schemas"),
        (one({"$defs": 5}), "/x", "an object of schemas"),
        (one({"$anchor": 5}), "/x", "a string"),
        (one({"$id": 5}), "/x", "a string"),
        (one({"type": [["string"]]}), "/x", "names of JSON types"),
        (one({"properties": {"a": None}}), "/x/a", "expected a JSON Schema"),
        (one({"type": "object", "x-extractkit-reads": 5}), "/x", "a list of keys"),
        (one({"x-extractkit-mark": ["a"]}), "/x", "verbatim"),
        (one({"type": "array", "minItems": -1}), "/x", "a whole number of at least 0"),
        (one({"type": "array", "minItems": 1.5}), "/x", "a whole number of at least 0"),
    ],
)
def test_a_keyword_of_the_wrong_type_is_refused_inside_kept_keywords_too(
    schema: Any, pointer: str, words: str
) -> None:
    error = refused(schema)
    assert error.pointer == pointer
    assert words in error.message


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "*a", "a{2,1}", "(?<n", "a" * 100_000, "(" * 5000 + ")" * 5000, "(?P<n>a)(?P<n>b)"],
)
@pytest.mark.parametrize("where", ["pattern", "patternProperties", "not"])
def test_an_expression_that_no_language_reads_is_refused(pattern: str, where: str) -> None:
    inner: Any = {"patternProperties": {pattern: {}}} if where == "patternProperties" else {}
    error = refused(one(inner or {"not": {"pattern": pattern}, "pattern": pattern}))
    assert error.pointer == "/x"
    assert "cannot be used" in error.message


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\p{Lu}\P{L}$", r"(?<year>\d{4})", r"(?<a>x)\k<a>", r"\u{1F600}", r"\cA", "[^]", r"\/",
        r"^(?!a)b", r"(?i)a", r"a{1000000000}", r"(((a{1000}){1000}){1000})",
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_an_expression_of_any_common_language_is_read(pattern: str, dialect: str) -> None:
    with works_within(SECONDS):
        compile_schema(one({"type": "string", "pattern": pattern}), dialect)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^(a+)+$", "enum": ["a" * 5000 + "b", "aa"]},
        {"type": "string", "pattern": "^(?=(a+)+$)", "enum": ["a" * 40 + "b", "a"]},
        {"type": "string", "pattern": r"(a|a)*\1(b)\2$", "enum": ["a" * 24 + "x", "abb"]},
        {"type": "string", "pattern": "a*a*a*a*a*a*a*b$", "enum": ["a" * 5000, "b"]},
    ],
)
def test_an_expression_that_may_take_for_ever_is_not_tried_on_long_texts(
    schema: Any, dialect: str
) -> None:
    with works_within(SECONDS):
        compiled = compile_schema(one(schema), dialect)
        assert compiled.lift(compiled.lower({"x": schema["enum"][1]})) == {"x": schema["enum"][1]}


@pytest.mark.parametrize(
    "reference",
    ["http://example.com/s", "https://example.com/s#/a", "file:///etc/passwd", "other.json",
     "//example.com/s", "urn:example:s", "data:,{}", "http://json-schema.org/draft-07/schema#"],
)  # fmt: skip
def test_nothing_is_ever_fetched(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr(socket.socket, "connect", connect)
    error = refused(one({"$ref": reference}))
    assert error.pointer == "/x"
    assert "nothing is ever fetched" in error.message


@pytest.mark.parametrize(
    "named",
    ["https://example.com/meta", "http://json-schema.org/draft-07/hyper-schema#", "urn:x", 5, []],
)
def test_a_draft_that_is_not_known_is_refused(named: Any) -> None:
    error = refused({"$schema": named, "type": "string"})
    assert error.pointer == ""
    assert "expected one of the drafts 4, 6, 7, 2019-09 and 2020-12" in error.message


MULTIPLIED: dict[str, Any] = {
    "keys": multiplied(
        lambda part: {
            "type": "object",
            "properties": {"a": part, "b": part},
            "required": ["a", "b"],
            "additionalProperties": False,
        }
    ),
    "optional keys": multiplied(
        lambda part: {"type": "object", "properties": {"a": part, "b": {**part, "title": "B"}}}
    ),
    "described": multiplied(
        lambda part: {
            "type": "object",
            "properties": {"a": {**part, "description": "A"}, "b": {**part, "description": "B"}},
            "required": ["a", "b"],
        }
    ),
    "places": multiplied(lambda part: {"type": "array", "prefixItems": [part, part]}),
    "parts": multiplied(lambda part: {"allOf": [part, part]}),
    "mixed": multiplied(lambda part: {"anyOf": [part, {"type": "array", "items": part}]}),
    "objects": multiplied(lambda part: {"anyOf": [part, one(part)]}),
    "kept": multiplied(lambda part: {"not": {"anyOf": [part, part]}}),
}


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("name", sorted(MULTIPLIED))
def test_two_to_the_power_of_thirty_ways_are_compiled_or_refused_at_once(
    name: str, dialect: str
) -> None:
    with works_within(SECONDS):
        try:
            compiled = compile_schema(MULTIPLIED[name], dialect)
            compiled.explain()
            compiled.claims({"a": {"b": "x"}})
            compiled.bounded()
        except SchemaError as error:
            assert error.message


def _either(index: int) -> Any:
    keys = ({f"{letter}{index}": {"type": "string"}} for letter in "ab")
    return {"anyOf": [{"type": "object", "properties": key, "required": [*key]} for key in keys]}


@pytest.mark.parametrize("dialect", sorted({*DIALECTS} - {"json-schema"}))
@pytest.mark.parametrize("parts", [7, 13, 200])
def test_alternatives_that_multiply_inside_all_of_are_told_instead(
    parts: int, dialect: str
) -> None:
    with works_within(SECONDS):
        compiled = compile_schema({"allOf": [_either(index) for index in range(parts)]}, dialect)
    assert ("", "allOf") in [(lost.pointer, lost.keyword) for lost in compiled.unenforced]
    assert len(compiled.encoded) < 10_000


@pytest.mark.parametrize("dialect", sorted({*DIALECTS} - {"json-schema"}))
def test_unions_below_each_other_multiply_up_to_a_limit(dialect: str) -> None:
    schema: Any = {"type": "string"}
    for _ in range(3):
        objects = [
            {"type": "object", "properties": {"p": schema, name: {"type": "string"}}}
            for name in "ab"
        ]
        schema = {"allOf": [{"anyOf": objects}, {"anyOf": objects}]}
    with works_within(SECONDS):
        compiled = compile_schema(schema, dialect)
    assert len(compiled.encoded) < 100_000


def test_few_alternatives_inside_all_of_are_merged() -> None:
    compiled = compile_schema({"allOf": [_either(index) for index in range(6)]}, "llguidance")
    assert "allOf" not in [lost.keyword for lost in compiled.unenforced]


def test_a_table_of_very_many_places_is_cut_off_and_says_so() -> None:
    definitions = multiplied(lambda part: {"type": "object", "properties": {"a": part, "b": part}})
    table = compile_schema(definitions).explain()
    assert not table.is_whole
    assert "only the first 2000 places" in str(table)


def test_alternatives_that_multiply_are_refused_with_their_place() -> None:
    definitions = multiplied(lambda part: {"anyOf": [part, part]})["$defs"]
    error = refused({**one({"$ref": "#/$defs/d0"}), "$defs": definitions})
    assert error.pointer == "/x"
    assert "more than 10,000 with all references followed" in error.message


def test_many_alternatives_are_read() -> None:
    compiled = compile_schema({"anyOf": [{"const": index} for index in range(3000)]})
    assert len(compiled.schema["anyOf"]) == 3000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}, "minItems": 10**12},
        {"type": "array", "items": {"type": "array", "minItems": 60_000}, "minItems": 60_000},
        {"type": "string", "minLength": 10**12},
        {"type": "object", "minProperties": 10**12},
        {"type": "object", "properties": {k: {"type": "string", "minLength": 60_000} for k in "ab"},
         "required": ["a", "b"], "minProperties": 70_000},
    ],
)  # fmt: skip
def test_what_only_an_endless_answer_fits_is_refused_where_answers_are_bounded(
    schema: Any,
) -> None:
    with works_within(SECONDS), pytest.raises(SchemaError, match="no finite document fits"):
        compile_schema(schema, "llguidance").bounded()


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("schema", "good"),
    [
        ({"type": "integer", "enum": [10**400, 3], "multipleOf": 3}, 3),
        ({"type": "number", "enum": [10**400, 2.5], "multipleOf": 0.1}, 2.5),
        ({"type": "number", "enum": [1, 2.5], "multipleOf": 5e-324}, 2.5),
        ({"type": "string", "maxLength": 1e308}, "a"),
        ({"type": "integer", "maximum": 10**400, "minimum": -(10**400)}, 7),
        ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "a"]}, None),
        (
            {
                "type": "object",
                "properties": {"": {"type": "string"}, "__proto__": {"type": "integer"}},
                "required": ["", "__proto__"],
                "additionalProperties": False,
            },
            {"": "a", "__proto__": 1},
        ),
    ],
)
def test_odd_and_yet_right_schemas_are_read(schema: Any, good: Any, dialect: str) -> None:
    good = {"a": None} if good is None else good
    compiled = compile_schema(schema, dialect)
    assert compiled.lift(compiled.lower(good)) == good


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("key", ["items", "not", "additionalProperties"])
def test_nesting_near_the_limit_is_compiled_or_refused_in_words(key: str, dialect: str) -> None:
    with works_within(SECONDS):
        try:
            assert isinstance(compile_schema(deep(key, 120), dialect).schema, dict)
        except SchemaError as error:
            assert "nested too deeply" in error.message or "deep" in error.message
