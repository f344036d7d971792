"""Shapes that a tool's arguments may have: objects, and which of them take undeclared keys.

Neighbours: `_tool` and `_definitions` ask. Only the words of a JSON Schema are looked at; no value
is judged here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, is_array, is_object

__all__ = ["as_object", "closed", "require_object"]

_OBJECTS: Final = ("anyOf", "oneOf")


def require_object(name: str, schema: JsonObject) -> None:
    """Return if only objects fit a schema, as far as its outermost words say.

    Raises:
        SchemaError: If something else fits.
    """
    if not _is_object(schema, schema, 0):
        raise SchemaError(
            f"tool {name!r}: its arguments are no JSON object; put what it takes into a field of a "
            "model, or a parameter of a function",
            pointer="",
        )


def _is_object(schema: JsonValue, root: JsonObject, depth: int) -> bool:
    if not is_object(schema) or depth > 8:
        return False
    reference = schema.get("$ref")
    if isinstance(reference, str):
        definitions: Mapping[str, JsonValue] = root.get("$defs") or root.get("definitions") or {}
        return _is_object(definitions.get(reference.rpartition("/")[2]), root, depth + 1)
    for word in _OBJECTS:
        if is_array(schema.get(word)):
            return all(_is_object(part, root, depth + 1) for part in schema[word])
    return schema.get("type") == "object" or ("type" not in schema and "properties" in schema)


def as_object(schema: JsonObject) -> JsonObject:
    """Return a schema that says at its root what the arguments of every tool are: an object."""
    return schema if schema.get("type") == "object" else {"type": "object", **schema}


def closed(schema: JsonObject) -> JsonObject:
    """Return the schema of a tool's arguments, closed to keys where it declares some.

    A nested object that declares an empty set of keys is a map; at the root it is a tool without
    arguments. What is only a part of an object, because others are declared beside it, stays as it
    is. The given schema is not changed.
    """
    made = _closed(schema, is_root=True)
    if not _composes(schema):
        for word in ("$defs", "definitions"):
            if is_object(made.get(word)):
                made[word] = {key: _closed_part(part) for key, part in made[word].items()}
    return made


def _composes(schema: JsonValue) -> bool:
    """Whether one object is put together of several schemas anywhere in it."""
    pending: list[JsonValue] = [schema]
    while pending:
        part = pending.pop()
        if is_array(part):
            pending += part
        elif is_object(part):
            if "allOf" in part or ("$ref" in part and "properties" in part):
                return True
            pending += part.values()
    return False


def _closed(schema: JsonObject, *, is_root: bool = False) -> JsonObject:
    parts: JsonObject = {}
    is_whole = "properties" not in schema  # else alternatives only say more of the same object
    for word, held in schema.items():
        if word == "properties" and is_object(held):
            parts[word] = {key: _closed_part(part) for key, part in held.items()}
        elif is_array(held) and (word == "prefixItems" or (word in _OBJECTS and is_whole)):
            parts[word] = [_closed_part(part) for part in held]
        else:
            parts[word] = _closed_part(held) if word == "items" else held
    declared = schema.get("properties")
    is_declared = bool(declared) or (is_root and declared is not None)
    if is_declared and not _OPEN.intersection(schema):
        parts["additionalProperties"] = False
    return parts


_OPEN: Final = frozenset(
    {
        "$ref", "additionalProperties", "allOf", "anyOf", "dependentSchemas", "if", "oneOf",
        "patternProperties", "unevaluatedProperties",
    }
)  # fmt: skip
"""Words beside which other keys may be declared elsewhere."""


def _closed_part(part: JsonValue) -> JsonValue:
    return _closed(part) if is_object(part) else part
