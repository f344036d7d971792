"""A JSON Schema as a document: its places, its references, and what a provider counts in it.

Written for judging what is sent; it shares no code with the compiler.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from extractkit.paths import JsonObject, JsonValue, get, is_array, is_object, join

MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
CHOICES = ("anyOf", "oneOf", "allOf")
LISTS = (*CHOICES, "prefixItems")
SINGLES = (
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)
DEFINITIONS = ("#/$defs/", "#/definitions/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A schema inside a schema.

    Attributes:
        pointer: Where it stands.
        schema: What stands there; true and false are schemas too.
        under: The keyword that holds it, empty at the root.
        levels: Objects inside each other down to here, this one counted.
    """

    pointer: str
    schema: Any
    under: str = ""
    levels: int = 0

    def __str__(self) -> str:
        return self.pointer or "(root)"


def _held(schema: JsonObject) -> Iterator[tuple[str, tuple[str | int, ...], JsonValue]]:
    """Yield (keyword, path, schema) of the schemas directly inside; a `const` is not entered."""
    for keyword, held in schema.items():
        if keyword in MAPS and is_object(held):
            for name, value in held.items():
                yield keyword, (keyword, name), value
        elif keyword in LISTS and is_array(held):
            for index, value in enumerate(held):
                yield keyword, (keyword, index), value
        elif keyword in SINGLES and isinstance(held, dict | bool):
            yield keyword, (keyword,), held


def places(schema: JsonValue) -> Iterator[Place]:
    """Yield the schema and all schemas inside, in the order of the document."""
    waiting = [Place(pointer="", schema=schema, levels=int(_is_object_type(schema)))]
    while waiting:
        place = waiting.pop()
        yield place
        if is_object(place.schema):
            waiting.extend(reversed([_inside(place, *held) for held in _held(place.schema)]))


def _inside(place: Place, under: str, path: tuple[str | int, ...], schema: JsonValue) -> Place:
    outer = 0 if under in ("$defs", "definitions") else place.levels
    return Place(
        pointer=join(place.pointer, *path),
        schema=schema,
        under=under,
        levels=outer + _is_object_type(schema),
    )


def _is_object_type(schema: JsonValue) -> bool:
    return "object" in types_of(schema)


def types_of(schema: JsonValue) -> tuple[str, ...]:
    """Return the names under `type`: one, several, or none."""
    named = schema.get("type") if is_object(schema) else None
    listed = named if is_array(named) else [named]
    return tuple(name for name in listed if isinstance(name, str))


def type_name(value: JsonValue) -> str:
    """Return the JSON Schema type of a value; whole numbers are integers."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names: dict[type[Any], str] = {float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def target(reference: str) -> str:
    """Return the pointer in a local reference: "#/$defs/a%20b" names "/$defs/a b"."""
    return unquote(reference[1:])


def resolves(root: JsonValue, reference: JsonValue, *, definitions: tuple[str, ...]) -> bool:
    """Whether `reference` is "#" or names a definition at the root that is there."""
    if reference == "#":
        return True
    if not isinstance(reference, str) or not reference.startswith(definitions):
        return False
    if reference.count("/") > 2:
        return False
    try:
        get(root, target(reference))
    except LookupError:
        return False
    return True


def references(root: JsonValue) -> dict[str, str]:
    """Return the pointer of each schema with a `$ref`, and the pointer of what it names."""
    return {
        place.pointer: target(place.schema["$ref"])
        for place in places(root)
        if is_object(place.schema) and isinstance(place.schema.get("$ref"), str)
    }


def recursive(root: JsonValue) -> list[str]:
    """Return the pointers of the references that lead back to themselves."""
    found = references(root)
    within = {
        named: {at for at in found if at == named or at.startswith(named + "/")}
        for named in set(found.values())
    }
    steps = {at: within[named] for at, named in found.items()}
    return [at for at in found if at in _reached(steps, at)]


def _reached(steps: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = steps[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    return reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What providers count.

    Attributes:
        optional: Properties that are not required, by occurrence in the document.
        unions: Every `anyOf` and every list of more than one type, by occurrence.
        properties: Properties of all objects, by occurrence.
        depth: Objects inside each other at most, the root counted. A definition begins anew: if
            references were followed, recursion, which is allowed, would have no depth.
        enum_values: Values of all enums together.
        characters: Length of the names of properties and definitions and of the values of `enum`
            and `const` (a value that is no string by its JSON text).
    """

    optional: int = 0
    unions: int = 0
    properties: int = 0
    depth: int = 0
    enum_values: int = 0
    characters: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            optional=self.optional + other.optional,
            unions=self.unions + other.unions,
            properties=self.properties + other.properties,
            depth=max(self.depth, other.depth),
            enum_values=self.enum_values + other.enum_values,
            characters=self.characters + other.characters,
        )


def counts(schema: JsonValue) -> Counts:
    """Return what providers count in `schema`."""
    here = [_counts_here(place) for place in places(schema) if is_object(place.schema)]
    return sum(here, Counts())


def _counts_here(place: Place) -> Counts:
    schema: JsonObject = place.schema
    properties = _mapping(schema, "properties")
    required = schema.get("required")
    needed = set(required) if is_array(required) else set[str]()
    listed = schema.get("enum")
    values: list[JsonValue] = listed if is_array(listed) else []
    fixed = [schema["const"]] if "const" in schema else []
    names = [*properties, *_mapping(schema, "$defs"), *_mapping(schema, "definitions")]
    return Counts(
        optional=sum(name not in needed for name in properties),
        unions=("anyOf" in schema) + (len(types_of(schema)) > 1),
        properties=len(properties),
        depth=place.levels,
        enum_values=len(values),
        characters=sum(map(len, names)) + sum(map(length, [*values, *fixed])),
    )


def _mapping(schema: JsonObject, keyword: str) -> JsonObject:
    held = schema.get(keyword)
    return held if is_object(held) else {}


def length(value: JsonValue) -> int:
    """Return the characters of a value: of a text itself, else of its JSON."""
    return len(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@dataclass(slots=True)
class Nesting:
    """How deep values can be nested if arrays and references count as levels too.

    Every definition is measured once, so that of definitions that name each other in a circle
    only one way round is counted.
    """

    root: JsonValue
    known: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, schema: JsonValue) -> int:
        """Return the levels of `schema` and below it."""
        if not is_object(schema):
            return 0
        here = int(bool({"object", "array"} & {*types_of(schema)}))
        below = [
            self.of(held) + (0 if under in CHOICES else here)
            for under, _, held in _held(schema)
            if under not in ("$defs", "definitions")
        ]
        return max([here, *below, self._named(schema.get("$ref"))])

    def _named(self, reference: JsonValue) -> int:
        if not isinstance(reference, str):
            return 0
        if reference not in self.known:
            self.known[reference] = 0
            if resolves(self.root, reference, definitions=DEFINITIONS):
                self.known[reference] = self.of(get(self.root, target(reference)))
        return self.known[reference]


def keywords_outside(schema: JsonObject, supported: Container[str]) -> Iterator[str]:
    """Yield what is wrong with the keywords of one schema."""
    for keyword in schema:
        if keyword not in supported:
            yield f"{keyword!r} is not among the supported keywords"


def format_outside(schema: JsonObject, supported: Container[str]) -> Iterator[str]:
    """Yield what is wrong with the format of one schema."""
    if "format" in schema and schema["format"] not in supported:
        yield f"the format {schema['format']!r} is not supported"


def reference_faults(
    root: JsonValue, schema: JsonObject, definitions: tuple[str, ...]
) -> Iterator[str]:
    """Yield what is wrong with the reference of one schema, which must stand alone."""
    if "$ref" not in schema:
        return
    if len(schema) > 1:
        yield f"'$ref' has siblings {sorted(schema.keys() - {'$ref'})}"
    if not resolves(root, schema["$ref"], definitions=definitions):
        yield f"the reference {schema['$ref']!r} names no definition at the root"


def over_limits(limits: Iterable[tuple[int, int, str]]) -> Iterator[str]:
    """Yield the limits that are broken, each given as what was found, the limit, and its name."""
    for found, limit, what in limits:
        if found > limit:
            yield f"(root): {found} {what}, more than {limit}"
