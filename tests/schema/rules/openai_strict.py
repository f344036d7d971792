"""OpenAI's strict subset, as providers.md 2.1 states it; the strict reading where sources conflict.

Readings taken:

* `const` is flagged. The list of supported keywords does not name it (only the limit on characters
  does), and an `enum` of one value says the same.
* `minLength` and `maxLength` are flagged: refusals are reported, the guide does not list them.
* `default`, `examples`, `readOnly`, `writeOnly`, `$comment`, `$schema` are flagged: undocumented.
* `anyOf` and `$ref` stand alone (`anyOf` with a title or description); a keyword stands only beside
  a type that it speaks of.
* A level of nesting is an object inside an object; whether arrays and references count too is not
  documented: `doubts` counts them.
* "Objects in one anyOf must not share identical first keys" was an error of 2024-25 and is reported
  gone where the first key tells the objects apart: `doubts` gives it where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from extractkit.paths import JsonObject, JsonValue, get, is_array, is_object
from tests.schema.rules import patterns
from tests.schema.rules.document import (
    Counts,
    Nesting,
    Place,
    format_outside,
    keywords_outside,
    length,
    over_limits,
    places,
    reference_faults,
    target,
    type_name,
    types_of,
)

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
ANNOTATIONS = ("title", "description")
BY_TYPE = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "minItems", "maxItems"),
    "string": ("pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "boolean": (),
    "null": (),
}
KEYWORDS = {
    "type",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
    *ANNOTATIONS,
    *(keyword for keywords in BY_TYPE.values() for keyword in keywords),
}
FORMATS = (
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
)
PROPERTIES = 5000
LEVELS = 10
CHARACTERS = 120_000
ENUM_VALUES = 1000
LONG_ENUM_VALUES = 250
LONG_ENUM_CHARACTERS = 15_000


def at_root(schema: JsonValue) -> Iterator[str]:
    """Yield what is wrong with the outermost schema only."""
    if not is_object(schema) or schema.get("type") != "object":
        yield "(root): the type is not 'object'"
    if is_object(schema):
        for keyword in ("anyOf", "$ref"):
            if keyword in schema:
                yield f"(root): {keyword!r} stands at the root"


def everywhere(root: JsonValue) -> Iterator[str]:
    """Yield what is wrong with each schema."""
    for place in places(root):
        if not is_object(place.schema):
            if place.under != "additionalProperties":
                yield f"{place}: {place.schema!r} stands where a schema must name a type"
            continue
        for rule in RULES:
            for what in rule(root, place.schema):
                yield f"{place}: {what}"
        if "$defs" in place.schema and place.pointer:
            yield f"{place}: '$defs' stands below the root"


def _keywords(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    return keywords_outside(schema, KEYWORDS)


def _typed(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if not {"type", "anyOf", "$ref"} & schema.keys():
        yield "the node has no type"
    named = schema.get("type")
    if "type" in schema and not (isinstance(named, str) or (named and is_array(named))):
        yield f"'type' is {named!r}"
    types = types_of(schema)
    for name in types:
        if name not in TYPES:
            yield f"the type {name!r} is unknown"
    if len(set(types)) < len(types):
        yield "a type is named twice"


def _fitting(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    fitting = {keyword for name in types_of(schema) for keyword in BY_TYPE.get(name, ())}
    spoken = {keyword for keywords in BY_TYPE.values() for keyword in keywords}
    for keyword in sorted(schema.keys() & spoken - fitting):
        yield f"{keyword!r} stands beside no type that it speaks of"


def _objects(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if "object" not in types_of(schema):
        return
    if schema.get("additionalProperties") is not False:
        yield "'additionalProperties' is not false"
    properties = schema.get("properties")
    if not is_object(properties):
        yield "the object has no 'properties'"
    elif schema.get("required") != list(properties):
        yield "'required' is not the list of all properties in their order"


def _arrays(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if "array" in types_of(schema) and not is_object(schema.get("items")):
        yield "the array has no 'items'"


def _formats(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    return format_outside(schema, FORMATS)


def _patterns(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        for token in patterns.tokens(pattern):
            if token.kind == "look-around":
                yield f"the pattern has look-around {token.text!r}"


def _references(root: JsonValue, schema: JsonObject) -> Iterator[str]:
    return reference_faults(root, schema, ("#/$defs/",))


def _alternatives(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if "anyOf" not in schema:
        return
    if not is_array(schema["anyOf"]) or not schema["anyOf"]:
        yield "'anyOf' has no alternatives"
    for keyword in sorted(schema.keys() - {"anyOf", *ANNOTATIONS}):
        yield f"{keyword!r} stands beside 'anyOf'"


def _enums(_root: JsonValue, schema: JsonObject) -> Iterator[str]:
    if "enum" not in schema:
        return
    values = schema["enum"]
    if not is_array(values) or not values:
        yield "'enum' has no values"
        return
    types = types_of(schema)
    for value in values:
        name = type_name(value)
        if name not in types and not (name == "integer" and "number" in types):
            yield f"the enum value {value!r:.80} is of none of the types {list(types)}"
    if len(values) > LONG_ENUM_VALUES and sum(map(length, values)) > LONG_ENUM_CHARACTERS:
        yield f"an enum of {len(values)} values is longer than {LONG_ENUM_CHARACTERS} characters"


RULES: tuple[Callable[[JsonValue, JsonObject], Iterator[str]], ...] = (
    _keywords,
    _typed,
    _fitting,
    _objects,
    _arrays,
    _formats,
    _patterns,
    _references,
    _alternatives,
    _enums,
)


def limits(counted: Counts) -> Iterator[str]:
    """Yield the limits that `counted` breaks."""
    return over_limits(
        (
            (counted.properties, PROPERTIES, "properties"),
            (counted.depth, LEVELS, "levels of nesting"),
            (counted.characters, CHARACTERS, "characters of names and values"),
            (counted.enum_values, ENUM_VALUES, "enum values"),
        )
    )


def doubts(root: JsonValue) -> Iterator[str]:
    """Yield what is sent at a risk: sources leave open whether it is refused."""
    levels = Nesting(root=root).of(root)
    if levels > LEVELS:
        yield f"(root): {levels} levels of nesting, if arrays and references count"
    for place in places(root):
        schema = place.schema
        if is_object(schema) and is_array(schema.get("anyOf")):
            yield from _alike(root, place, schema["anyOf"])


def _alike(root: JsonValue, place: Place, alternatives: list[JsonValue]) -> Iterator[str]:
    seen: dict[str, list[list[JsonValue]]] = {}
    for alternative in alternatives:
        for key, fixed in _first_key(root, alternative):
            for other in seen.setdefault(key, []):
                if not fixed or not other or any(item in other for item in fixed):
                    yield f"{place}: alternatives begin with the same key {key!r}"
            seen[key].append(fixed)


def _first_key(root: JsonValue, schema: JsonValue) -> Iterator[tuple[str, list[JsonValue]]]:
    """Yield the first key of an object and the values it is fixed to; nothing for what is none."""
    if is_object(schema) and "$ref" in schema:
        schema = get(root, target(schema["$ref"]))
    properties = schema.get("properties") if is_object(schema) else None
    for key, value in list(properties.items())[:1] if is_object(properties) else ():
        yield key, value.get("enum", []) if is_object(value) else []
