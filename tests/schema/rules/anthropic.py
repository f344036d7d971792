"""Anthropic's structured outputs and strict tools, as providers.md 3.1 states them.

Readings taken, each the strict one:

* `$ref` has no siblings: none are documented, and Anthropic's own helper drops them.
* Unions are counted by occurrence, every `anyOf` and every list of types.
* "Large" repetitions are not given a number: LARGEST_REPEAT is ours.
* "Classes" in patterns are [..] and \\d \\w \\s; Unicode properties and inline flags are not
  among what is named.
* A bare array has no documented meaning: `items` must be there. A node must say something of its
  values: a type, an enum, a const, anyOf, allOf or a reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from tests.schema.rules import patterns
from tests.schema.rules.document import (
    DEFINITIONS,
    Counts,
    format_outside,
    keywords_outside,
    over_limits,
    places,
    recursive,
    reference_faults,
    type_name,
    types_of,
)

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
KEYWORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "definitions",
    "default",
    "title",
    "description",
    "format",
    "pattern",
}
SAYING = {"type", "enum", "const", "anyOf", "allOf", "$ref"}
FORMATS = (
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
)
LARGEST_REPEAT = 100
OPTIONAL = 24
UNIONS = 16
TOOLS = 20
TOOL_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def everywhere(root: JsonValue, *, tool: bool) -> Iterator[str]:
    """Yield what is wrong with each schema; `tool` is whether it is the input of a strict tool."""
    looping = set(recursive(root))
    rules = (*RULES, _keys) if tool else RULES
    for place in places(root):
        if not is_object(place.schema):
            if place.under != "additionalProperties":
                yield f"{place}: {place.schema!r} stands where a schema must say something"
            continue
        for rule in rules:
            for what in rule(root, place.schema):
                yield f"{place}: {what}"
        if place.pointer in looping:
            yield f"{place}: the reference {place.schema['$ref']!r} is recursive"
        if place.under == "allOf" and "$ref" in place.schema:
            yield f"{place}: a reference stands inside 'allOf'"


def at_root_of_tool(schema: JsonValue) -> Iterator[str]:
    """Yield what is wrong with the outermost schema of a tool."""
    if not is_object(schema) or schema.get("type") != "object":
        yield "(root): the type is not 'object'"
    if is_object(schema):
        for keyword in ("oneOf", "anyOf", "allOf"):
            if keyword in schema:
                yield f"(root): {keyword!r} stands at the root of a tool"


def _keywords(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    return keywords_outside(schema, KEYWORDS)


def _typed(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if not SAYING & schema.keys():
        yield "the node has no type"
    for name in types_of(schema):
        if name not in TYPES:
            yield f"the type {name!r} is unknown"


def _objects(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if "object" not in types_of(schema):
        return
    if schema.get("additionalProperties") is not False:
        yield "'additionalProperties' is not false"
    properties = schema.get("properties")
    declared = properties if is_object(properties) else {}
    required = schema.get("required", [])
    for name in required if is_array(required) else []:
        if name not in declared:
            yield f"the required key {name!r} is not declared, so that no value fits"


def _arrays(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if "array" in types_of(schema) and not is_object(schema.get("items")):
        yield "the array has no 'items'"
    if "minItems" in schema and schema["minItems"] not in (0, 1):
        yield f"'minItems' is {schema['minItems']!r}, neither 0 nor 1"


def _formats(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    return format_outside(schema, FORMATS)


def _patterns(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return
    for token in patterns.tokens(pattern):
        if token.kind != "repeat":
            yield f"the pattern has {token.text!r} ({token.kind})"
        elif token.number > LARGEST_REPEAT:
            yield f"the pattern repeats {token.number} times, more than {LARGEST_REPEAT}"


def _references(root: JsonValue, schema: JsonObject) -> Iterator[str]:
    return reference_faults(root, schema, DEFINITIONS)


def _alternatives(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    for keyword in ("anyOf", "allOf"):
        if keyword in schema and not (is_array(schema[keyword]) and schema[keyword]):
            yield f"{keyword!r} has no alternatives"


def _enums(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    values = schema.get("enum", [])
    if "enum" in schema and not (is_array(values) and values):
        yield "'enum' has no values"
        return
    fixed = [schema["const"]] if "const" in schema else []
    types = types_of(schema)
    for value in [*values, *fixed]:
        name = type_name(value)
        if name in ("object", "array"):
            yield f"the value {value!r:.80} is no scalar"
        elif types and name not in types and not (name == "integer" and "number" in types):
            yield f"the value {value!r:.80} is of none of the types {list(types)}"


def _keys(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    properties = schema.get("properties")
    for name in properties if is_object(properties) else ():
        if not TOOL_KEY.fullmatch(name):
            yield f"the key {name!r:.80} of a tool is not 1 to 64 of A-Z a-z 0-9 _ . -"


RULES: tuple[Callable[[JsonValue, JsonObject], Iterator[str]], ...] = (
    _keywords,
    _typed,
    _objects,
    _arrays,
    _formats,
    _patterns,
    _references,
    _alternatives,
    _enums,
)


def limits(counted: Counts) -> Iterator[str]:
    """Yield the limits of a request that `counted` breaks."""
    return over_limits(
        (
            (counted.optional, OPTIONAL, "optional properties"),
            (counted.unions, UNIONS, "unions"),
        )
    )
