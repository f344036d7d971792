"""The judge of dialects is judged: each rule by a schema that breaks it, and by what is refused."""

from collections.abc import Sequence
from typing import Any

import pytest

from extractkit.schema import DIALECTS
from tests.schema.rules import Counts, counts, openai_strict, patterns, request_violations
from tests.schema.rules import violations as found
from tests.schema.rules.document import recursive

TEXT = {"type": "string"}
HOSTED = ("openai-strict", "anthropic", "anthropic-tool")


def obj(required: list[str] | None = None, /, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def at(node: Any) -> dict[str, Any]:
    """Return an object whose only property is `node`."""
    return obj(x=node)


def less(schema: dict[str, Any], *keywords: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in keywords}


def array(items: Any = TEXT, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def nested(levels: int) -> dict[str, Any]:
    schema = obj(x=TEXT)
    for _ in range(levels - 1):
        schema = obj(x=schema)
    return schema


def tree_of_optional_keys(levels: int) -> dict[str, Any]:
    """Return a small schema whose expression is huge: every key is written many times in it."""
    definitions = {"L0": TEXT}
    for level in range(levels):
        part = {f"p{n}": {"$ref": f"#/$defs/L{level}"} for n in range(10)}
        definitions[f"L{level + 1}"] = obj([], **part)
    return {**definitions.pop(f"L{levels}"), "$defs": definitions}


TREE = obj(next={"anyOf": [{"$ref": "#"}, {"type": "null"}]})
DEFINED = {**obj(x={"$ref": "#/$defs/A"}), "$defs": {"A": obj(y=TEXT)}}
CHOICE = {"anyOf": [obj(kind={"type": "string", "enum": ["a"]}), {"type": "null"}]}

RICH = obj(
    a={"type": "string", "description": "d", "title": "A", "format": "date"},
    b={"type": "integer", "enum": [1, 2]},
    c=array({"type": ["number", "null"]}),
    d=CHOICE,
    e={"type": "string", "pattern": r"^[a-z]{1,3}(?:-\d+)?$"},
    f={"type": "boolean"},
    g={"type": "number", "enum": [1, 2.5]},
    h=obj(),
)

WITHIN: dict[str, list[dict[str, Any]]] = {
    "openai-strict": [
        RICH,
        TREE,
        DEFINED,
        nested(10),
        at({"type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 3}),
        at({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
        at(array(minItems=2, maxItems=3)),
        at({"type": "string", "pattern": r"^\b[(?=]\(?!\\1$"}),
        obj(**dict.fromkeys(("title", "type", "default", "$ref", "anyOf", "enum"), TEXT)),
        at({"type": "string", "enum": [f"{n:060}" for n in range(250)]}),
        {**obj(x={"$ref": "#/$defs/a%20b"}), "$defs": {"a b": TEXT}},
    ],
    "anthropic": [
        RICH,
        DEFINED,
        array(minItems=1),
        {"anyOf": [TEXT, {"type": "null"}]},
        at({"type": "string", "default": "a", "format": "uri"}),
        at({"enum": ["a", None, 1]}),
        at({"const": "a"}),
        at({"allOf": [TEXT, {"type": "string", "pattern": "a{100}"}]}),
        obj([], a=TEXT, b=TEXT),
        less(obj([], a=TEXT), "required"),
        {**obj(x={"$ref": "#/definitions/A"}), "definitions": {"A": TEXT}},
        obj(**dict.fromkeys(("minimum", "oneOf", "not", "a key/with ~signs"), TEXT)),
    ],
    "anthropic-tool": [RICH, DEFINED, obj(**{"a.b-c_9": TEXT, "n" * 64: TEXT})],
    "json-schema": [{}, {"type": "object"}, {"oneOf": [TEXT]}, TREE, DEFINED],
    "llguidance": [RICH, TREE, DEFINED],
    "outlines-core": [RICH, {"type": "array", "items": TEXT}],
}


@pytest.mark.parametrize(
    ("dialect", "schema"), [(name, schema) for name, many in WITHIN.items() for schema in many]
)
def test_a_schema_inside_the_dialect_breaks_no_rule(dialect: str, schema: Any) -> None:
    assert found(dialect, schema) == []


Broken = Sequence[tuple[Any, str, str]]

BOTH: Broken = (
    (at({}), "/properties/x", "no type"),
    (at({"description": "anything"}), "/properties/x", "no type"),
    (at(True), "/properties/x", "True stands"),
    (at(array(True)), "/properties/x", "no 'items'"),
    (at({"type": "array"}), "/properties/x", "no 'items'"),
    (at({"type": "array", "items": {}}), "/properties/x/items", "no type"),
    (at({"type": "text"}), "/properties/x", "the type 'text' is unknown"),
    (at(less(obj(y=TEXT), "additionalProperties")), "/properties/x", "is not false"),
    (at({**obj(y=TEXT), "additionalProperties": True}), "/properties/x", "is not false"),
    (at({**obj(), "additionalProperties": TEXT}), "/properties/x", "is not false"),
    (less(obj(y=TEXT), "additionalProperties"), "(root)", "is not false"),
    (at({"anyOf": [TEXT, {"type": "object"}]}), "/properties/x/anyOf/1", "is not false"),
    (at(array({"type": "object"})), "/properties/x/items", "is not false"),
    ({**at(TEXT), "$defs": {"A": {"type": "object"}}}, "/$defs/A", "is not false"),
    (at({"type": "string", "format": "binary"}), "/properties/x", "format 'binary'"),
    (at({"type": "string", "pattern": "a(?=b)"}), "/properties/x", "look-around"),
    (at({"type": "string", "pattern": "(?<!a)b"}), "/properties/x", "look-around"),
    (at({"type": "string", "enum": []}), "/properties/x", "'enum' has no values"),
    (at({"type": "string", "enum": ["a", 1]}), "/properties/x", "value 1 is of none"),
    (at({"type": "integer", "enum": [1.5]}), "/properties/x", "value 1.5 is of none"),
    (at({"anyOf": []}), "/properties/x", "'anyOf' has no alternatives"),
    (at({"$ref": "#/$defs/B"}), "/properties/x", "names no definition"),
    (at({"$ref": "https://example.org/a.json"}), "/properties/x", "names no definition"),
    ({**obj(x={"$ref": "#/$defs/A/properties/y"}), "$defs": DEFINED["$defs"]}, "/properties/x", ""),
    ({**DEFINED, "properties": {"x": {"$ref": "#/$defs/A", "title": "t"}}}, "/properties/x", "sib"),
    ({"$schema": "https://json-schema.org/draft/2020-12/schema", **at(TEXT)}, "(root)", "$schema"),
    *(
        (at({**node, keyword: value}), "/properties/x", f"{keyword!r} is not among")
        for node, keyword, value in (
            (TEXT, "minLength", 1),
            (TEXT, "maxLength", 9),
            (TEXT, "examples", ["a"]),
            (TEXT, "readOnly", True),
            (TEXT, "writeOnly", True),
            (TEXT, "$comment", "c"),
            (TEXT, "contentEncoding", "base64"),
            (TEXT, "not", {"type": "null"}),
            (TEXT, "if", {"type": "null"}),
            (TEXT, "discriminator", {"propertyName": "kind"}),
            (array(), "uniqueItems", True),
            (array(), "prefixItems", [TEXT]),
            (array(), "contains", TEXT),
            (array(), "minContains", 1),
            (array(), "unevaluatedItems", False),
            (obj(), "propertyNames", TEXT),
            (obj(), "patternProperties", {"^a": TEXT}),
            (obj(), "minProperties", 1),
            (obj(), "maxProperties", 1),
            (obj(), "dependentRequired", {"a": ["b"]}),
            (obj(), "dependentSchemas", {"a": obj()}),
            (obj(), "unevaluatedProperties", False),
            (TEXT, "oneOf", [TEXT]),
        )
    ),
)

OPENAI: Broken = (
    (array(), "(root)", "the type is not 'object'"),
    (TEXT, "(root)", "the type is not 'object'"),
    ({**obj(), "type": ["object", "null"]}, "(root)", "the type is not 'object'"),
    ({"anyOf": [obj(), obj(a=TEXT)]}, "(root)", "'anyOf' stands at the root"),
    ({"$ref": "#/$defs/A", "$defs": {"A": obj()}}, "(root)", "'$ref' stands at the root"),
    (obj(["x"], x=TEXT, y=TEXT), "(root)", "'required' is not"),
    (obj(["y", "x"], x=TEXT, y=TEXT), "(root)", "'required' is not"),
    (less(at(TEXT), "required"), "(root)", "'required' is not"),
    (at(obj([], y=TEXT)), "/properties/x", "'required' is not"),
    (at(less(obj(), "properties")), "/properties/x", "no 'properties'"),
    (at({"enum": ["a"]}), "/properties/x", "no type"),
    (at({"type": []}), "/properties/x", "'type' is []"),
    (at({"type": ["string", "string"]}), "/properties/x", "named twice"),
    (at({"type": "string", "const": "a"}), "/properties/x", "'const' is not among"),
    (at({"type": "string", "default": "a"}), "/properties/x", "'default' is not among"),
    (at({"allOf": [TEXT]}), "/properties/x", "'allOf' is not among"),
    (at({"type": "string", "format": "uri"}), "/properties/x", "format 'uri'"),
    (at({"type": "integer", "pattern": "a"}), "/properties/x", "'pattern' stands beside no type"),
    (at({"type": "string", "minimum": 1}), "/properties/x", "'minimum' stands beside no type"),
    (at({"type": "null", "items": TEXT}), "/properties/x", "'items' stands beside no type"),
    (at({"type": "string", "anyOf": [TEXT]}), "/properties/x", "'type' stands beside 'anyOf'"),
    (at({"enum": ["a"], "anyOf": [TEXT]}), "/properties/x", "'enum' stands beside 'anyOf'"),
    (at({**obj(), "$defs": {"A": TEXT}}), "/properties/x", "'$defs' stands below the root"),
    (
        {**obj(x={"$ref": "#/definitions/A"}), "definitions": {"A": TEXT}},
        "/properties/x",
        "names no definition",
    ),
    (nested(11), "(root)", "11 levels of nesting, more than 10"),
    (obj(**{f"p{n}": TEXT for n in range(5001)}), "(root)", "5001 properties, more than 5000"),
    (obj(**{"n" * 120_001: TEXT}), "(root)", "120001 characters"),
    (
        obj(
            x={"type": "integer", "enum": [*range(600)]},
            y={"type": "integer", "enum": [*range(401)]},
        ),
        "(root)",
        "1001 enum values, more than 1000",
    ),
    (
        at({"type": "string", "enum": [f"{n:060}" for n in range(251)]}),
        "/properties/x",
        "an enum of 251 values is longer than 15000",
    ),
)

ANTHROPIC: Broken = (
    (TREE, "/properties/next/anyOf/0", "recursive"),
    (
        {**at({"$ref": "#/$defs/A"}), "$defs": {"A": array({"$ref": "#/$defs/A"})}},
        "/$defs/A/items",
        "rec",
    ),
    (
        {
            **at({"$ref": "#/$defs/A"}),
            "$defs": {"A": obj(b={"$ref": "#/$defs/B"}), "B": array({"$ref": "#/$defs/A"})},
        },
        "/$defs/B/items",
        "recursive",
    ),
    (at(array(minItems=2)), "/properties/x", "'minItems' is 2"),
    *(
        (at({**node, keyword: 1}), "/properties/x", f"{keyword!r} is not among")
        for node, keywords in (
            (array(), ("maxItems",)),
            (
                {"type": "integer"},
                ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            ),
        )
        for keyword in keywords
    ),
    (at({"enum": ["a", {"b": 1}]}), "/properties/x", "is no scalar"),
    (at({"const": ["a"]}), "/properties/x", "is no scalar"),
    (at({"allOf": []}), "/properties/x", "'allOf' has no alternatives"),
    (
        {**at({"allOf": [{"$ref": "#/$defs/A"}]}), "$defs": {"A": TEXT}},
        "/properties/x/allOf/0",
        "a reference stands inside 'allOf'",
    ),
    (obj(["y"], x=TEXT), "(root)", "the required key 'y' is not declared"),
    *(
        (at({"type": "string", "pattern": pattern}), "/properties/x", what)
        for pattern, what in (
            (r"(a)\1", "(back-reference)"),
            (r"(?<n>a)\k<n>", "(back-reference)"),
            (r"(?P<n>a)(?P=n)", "(back-reference)"),
            (r"\bword", "(boundary)"),
            (r"\p{Lu}", "(property)"),
            (r"[\p{Lu}a]", "(property)"),
            ("(?i)a", "(extension)"),
            ("a{101}", "repeats 101 times"),
            ("a{1,101}", "repeats 101 times"),
            ("a{101,}", "repeats 101 times"),
        )
    ),
    (
        obj([], **{f"p{n}": TEXT for n in range(25)}),
        "(root)",
        "25 optional properties, more than 24",
    ),
    (obj(**{f"p{n}": CHOICE for n in range(17)}), "(root)", "17 unions, more than 16"),
    (obj(**{f"p{n}": {"type": ["string", "null"]} for n in range(17)}), "(root)", "17 unions"),
)

TOOL: Broken = (
    (array(), "(root)", "the type is not 'object'"),
    ({"$ref": "#/$defs/A", "$defs": {"A": obj()}}, "(root)", "the type is not 'object'"),
    *(
        ({**obj(), keyword: [obj()]}, "(root)", f"{keyword!r} stands at the root of a tool")
        for keyword in ("oneOf", "anyOf", "allOf")
    ),
    (obj(**{"a b": TEXT}), "(root)", "the key 'a b' of a tool"),
    (at(obj(é=TEXT)), "/properties/x", "the key 'é' of a tool"),
    (obj(**{"n" * 65: TEXT}), "(root)", "of a tool is not 1 to 64"),
    (obj(**{"": TEXT}), "(root)", "the key '' of a tool"),
)

ENGINES: dict[str, Broken] = {
    "json-schema": (
        ({"type": "text"}, "/type", "is not valid"),
        ({"type": "object", "required": "a"}, "/required", "is not of type 'array'"),
        (at({"$ref": "#/$defs/B"}), "/properties/x", "names no definition"),
    ),
    "llguidance": (
        (at({"type": "string", "format": "binary"}), "(root)", "Unknown format"),
        (at(array(uniqueItems=True)), "(root)", "uniqueItems"),
        (at({"type": 7}), "/properties/x/type", "is not valid"),
    ),
    "outlines-core": (
        (at({"description": "anything"}), "(root)", "Unsupported JSON Schema structure"),
        (at({"type": "string", "format": "duration"}), "(root)", "outlines-core"),
        (tree_of_optional_keys(4), "(root)", "outlines-core ends with"),
    ),
}

BROKEN = [
    *((dialect, *row) for dialect in HOSTED for row in BOTH),
    *(("openai-strict", *row) for row in OPENAI),
    *((dialect, *row) for dialect in HOSTED[1:] for row in ANTHROPIC),
    *(("anthropic-tool", *row) for row in TOOL),
    *((dialect, *row) for dialect, rows in ENGINES.items() for row in rows),
]


@pytest.mark.parametrize(
    ("dialect", "schema", "pointer", "rule"),
    BROKEN,
    ids=[f"{row[0]}-{index}-{row[3]}" for index, row in enumerate(BROKEN)],
)
def test_a_schema_that_breaks_a_rule_is_told_with_its_place(
    dialect: str, schema: Any, pointer: str, rule: str
) -> None:
    told = found(dialect, schema)
    assert any(what.startswith(pointer + ": ") and rule in what for what in told), told


def test_numbers_are_counted_by_occurrence() -> None:
    schema = {
        **obj(
            ["a"],
            a={"type": ["string", "null"]},
            b=CHOICE,
            c={"$ref": "#/$defs/Long"},
            d=array(obj([], e={"type": "integer", "enum": [10, 200]})),
        ),
        "$defs": {"Long": obj([], f={"const": "xyz"}, g={"anyOf": [TEXT]})},
    }
    assert counts(schema) == Counts(
        optional=6,
        unions=3,
        properties=8,
        depth=2,
        enum_values=3,
        characters=sum(map(len, ("abcd", "kind", "a", "e", "10", "200", "Long", "fg", "xyz"))),
    )
    assert counts({"a": 1}) == counts(True) == Counts()


def test_a_definition_begins_anew_when_levels_are_counted() -> None:
    split = {**obj(x={"$ref": "#/$defs/A"}), "$defs": {"A": nested(10)}}
    assert counts(split).depth == 10
    assert found("openai-strict", split) == []
    assert list(openai_strict.doubts(split)) == [
        "(root): 11 levels of nesting, if arrays and references count"
    ]


def test_the_way_back_to_a_definition_has_no_depth_of_its_own() -> None:
    assert list(openai_strict.doubts(TREE)) == []
    assert list(openai_strict.doubts(at({"$ref": "#/$defs/B"}))) == []
    assert list(openai_strict.doubts(at(array(array(array(nested(7))))))) == [
        "(root): 11 levels of nesting, if arrays and references count"
    ]


def kind(*names: str, **more: Any) -> dict[str, Any]:
    return obj(kind={"type": "string", "enum": list(names)}, **more)


@pytest.mark.parametrize(
    ("alternatives", "alike"),
    [
        ([kind("a"), kind("b", y=TEXT)], False),
        ([kind("a"), kind("a", "b")], True),
        ([kind("a"), obj(kind=TEXT, y=TEXT)], True),
        ([obj(kind=TEXT), {"$ref": "#/$defs/A"}], True),
        ([obj(y=TEXT), {"$ref": "#/$defs/A"}, obj(), TEXT], False),
    ],
)
def test_alternatives_with_one_first_key_are_a_doubt_unless_it_tells_them_apart(
    alternatives: list[Any], alike: bool
) -> None:
    schema = {**at({"anyOf": alternatives}), "$defs": {"A": obj(kind=TEXT)}}
    assert found("openai-strict", schema) == []
    told = ["/properties/x: alternatives begin with the same key 'kind'"]
    assert list(openai_strict.doubts(schema)) == (told if alike else [])


def test_references_that_lead_back_are_found_and_no_others() -> None:
    assert recursive(TREE) == ["/properties/next/anyOf/0"]
    assert recursive(DEFINED) == []
    assert recursive({"$defs": {"A": {"$ref": "#/$defs/A"}}}) == ["/$defs/A"]
    chain = {"A": {"$ref": "#/$defs/B"}, "B": array({"$ref": "#/$defs/C"}), "C": TEXT}
    assert recursive({"$defs": chain}) == []
    assert recursive({"$defs": {**chain, "C": {"$ref": "#/$defs/B"}}}) == [
        "/$defs/B/items",
        "/$defs/C",
    ]


def test_an_expression_is_read_token_by_token() -> None:
    pattern = r"\\(?:a)[(?!](?<=b)\\b\b\(?=x{2,3}"
    assert [(token.kind, token.text) for token in patterns.tokens(pattern)] == [
        ("look-around", "(?<="),
        ("boundary", r"\b"),
        ("repeat", "{2,3}"),
    ]


@pytest.mark.parametrize("dialect", HOSTED[1:])
def test_the_limits_of_a_request_are_summed_over_its_schemas(dialect: str) -> None:
    part = obj([], **{f"p{n}": {"type": ["string", "null"]} for n in range(12)})
    assert request_violations(dialect, [part]) == []
    assert request_violations(dialect, [part, part]) == [
        "(root): 24 unions, more than 16 in one request"
    ]
    assert "(root): 25 optional properties, more than 24 in one request" in request_violations(
        dialect, [part, part, obj([], x=TEXT)]
    )


def test_a_request_holds_twenty_strict_tools() -> None:
    assert request_violations("anthropic-tool", [DEFINED] * 20) == []
    assert request_violations("anthropic-tool", [DEFINED] * 21) == [
        "(root): 21 strict tools, more than 20"
    ]
    assert request_violations("openai-strict", [RICH] * 21) == []


def test_a_schema_of_a_request_is_judged_by_itself_too() -> None:
    assert "(root): 'additionalProperties' is not false" in request_violations(
        "anthropic", [RICH, {"type": "object"}]
    )


def test_an_unknown_dialect_has_no_judge() -> None:
    with pytest.raises(KeyError):
        found("morse", TEXT)


def test_every_dialect_of_the_package_has_a_judge() -> None:
    for dialect in DIALECTS:
        assert found(dialect, obj(a=TEXT)) == []
