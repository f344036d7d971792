"""What a target may have at a place of a document, by the core schema that Pydantic made of it.

Neighbours: `_places` reads values with what is found here. Of several types those are left out that
what came so far speaks against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from extractkit.fields import Unknown
from extractkit.paths import JsonValue, is_object

__all__ = [
    "OF_FIELDS", "OWN_CODE", "PLAIN", "Core", "Part", "below", "boxes", "core_of",
    "fields_of", "is_position", "keys_of", "looks_around",
]  # fmt: skip

Core: TypeAlias = Mapping[str, Any]
"""A core schema of Pydantic."""

OF_FIELDS: Final = frozenset({"model-fields", "typed-dict", "dataclass-args"})
_CONFIGURED: Final = frozenset({"model", "dataclass", "typed-dict"})
_MAPS: Final = frozenset({"dict", "ordered-dict", "counter"})
_ITEMS: Final = frozenset({"list", "set", "frozenset", "generator", "deque"})
_WRAPPED: Final = {
    "model": "schema", "dataclass": "schema", "nullable": "schema", "default": "schema",
    "function-before": "schema", "function-after": "schema", "function-wrap": "schema",
    "custom-error": "schema", "lax-or-strict": "strict_schema", "json-or-python": "json_schema",
}  # fmt: skip
_LEAVES: Final = frozenset({
    "none", "bool", "int", "float", "decimal", "str", "bytes", "date", "time", "datetime",
    "timedelta", "literal", "enum", "url", "multi-host-url", "uuid",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the target may have at one place.

    Attributes:
        schema: What reads it; None where its type is not known beforehand, and JSON is its value.
        config: The configuration that holds there.
        name: What validators are told as the name of the field that it is, or is inside of.
        before: The fields declared before that one: what they are called, and their keys.
        up: How many steps up the object with these fields is; 0 where there is none.
    """

    schema: Core | None = None
    config: Core | None = None
    name: str = ""
    before: tuple[tuple[str, str], ...] = ()
    up: int = 0


_NONE: Final[Core] = {}
PLAIN: Final = Part()
OWN_CODE: Final = Part(schema={"type": "function-plain"})
"""A part of what the target reads by code of its own, or in a way that is not known here."""


def below(
    parts: Sequence[Part], token: str, value: JsonValue, by_ref: Mapping[str, Core]
) -> tuple[Part, ...]:
    """Return what the target may have below a place; nothing where it has no such place.

    Args:
        parts: What may stand at the place.
        token: The key or position.
        value: What came there so far.
        by_ref: The target's definitions.
    """
    found = [part for part in parts if part.schema is None]
    for box in boxes(parts, value, by_ref):
        below = _in_box(box, token, value)
        if below is not None and all(below.schema is not each.schema for each in found):
            found.append(below)
    return tuple(found)


def boxes(parts: Sequence[Part], value: JsonValue, by_ref: Mapping[str, Core]) -> Sequence[Part]:
    """Return what may stand at a place, out of all that is wrapped around it."""
    found: list[Part] = []
    waiting = list(reversed(parts))
    while waiting:
        part = waiting.pop()
        schema = part.schema
        if schema is None:
            continue
        kind = schema["type"]
        if kind in _CONFIGURED:
            inherited = part.config if kind == "typed-dict" else None
            part = replace(part, config=schema.get("config", inherited))
        if kind == "definition-ref":
            waiting.append(replace(part, schema=by_ref[schema["schema_ref"]]))
        elif kind in _WRAPPED:
            name = "root" if schema.get("root_model") else part.name
            waiting.append(replace(part, schema=schema[_WRAPPED[kind]], name=name))
        elif kind == "chain":
            waiting.append(replace(part, schema=schema["steps"][0]))
        elif kind in ("union", "tagged-union"):
            choices = reversed(_choices(schema, value))
            waiting += [replace(part, schema=each) for each in choices]
        else:
            found.append(part)
    if len(found) == 1:
        return found
    return [box for box in found if _may_be(box, value)] or found


def core_of(box: Part) -> Core:
    """Return what reads a place whose type is known."""
    return box.schema or _NONE


def _in_box(box: Part, token: str, value: JsonValue) -> Part | None:
    core = core_of(box)
    kind = core["type"]
    if kind in OF_FIELDS:
        return _field(box, token)
    inner = replace(box, up=box.up + 1 if box.up else 0)
    if kind in _MAPS:
        return replace(inner, schema=core.get("values_schema"))
    if kind in _ITEMS:
        return replace(inner, schema=core.get("items_schema")) if is_position(token) else None
    if kind == "tuple":
        return _item(inner, int(token)) if is_position(token) else None
    if fields := fields_of(core):
        return _of_tuple(inner, fields, token, value)
    if kind in _LEAVES or _is_unknown(core):
        return None
    return PLAIN if kind == "any" else OWN_CODE


def is_position(token: str) -> bool:
    """Whether it is one as JSON Pointers write it."""
    return token.isascii() and token.isdecimal() and (len(token) == 1 or token[0] != "0")


def _is_unknown(core: Core) -> bool:
    """Whether it reads our own mark for what is not known, which has no parts."""
    if not core["type"].startswith("function-"):
        return False
    return getattr(core["function"]["function"], "__module__", None) == Unknown.__module__


def _item(box: Part, index: int) -> Part | None:
    core = core_of(box)
    items = core["items_schema"]
    if core.get("variadic_item_index") is not None:
        index = min(index, len(items) - 1)
    return replace(box, schema=items[index]) if index < len(items) else None


def _of_tuple(
    box: Part, fields: Sequence[tuple[str, Core]], token: str, value: JsonValue
) -> Part | None:
    """Return a part of a named tuple, which is written as an array or as an object."""
    for position, (name, field) in enumerate(fields):
        if token == name or (token == str(position) and not is_object(value)):
            return replace(box, schema=field["schema"], name=name)
    return None


def _field(box: Part, key: str) -> Part | None:
    core, config = core_of(box), box.config
    before: list[tuple[str, str]] = []
    for name, field in fields_of(core):
        keys = keys_of(name, field, config)
        if key in keys:
            known = tuple(before)
            return Part(schema=field["schema"], config=config, name=name, before=known, up=1)
        before.append((name, keys[0]))
    extra = core.get("extra_behavior") or (config or _NONE).get("extra_fields_behavior")
    if extra != "allow":
        return None
    return Part(schema=core.get("extras_schema"), config=config, before=tuple(before), up=1)


def fields_of(core: Core) -> list[tuple[str, Core]]:
    """Return what has a name in an object or named tuple, in order; nothing of anything else."""
    kind = core.get("type")
    if kind == "call":  # older versions of Pydantic read a named tuple so
        fields: Any = core["arguments_schema"].get("arguments_schema", ())
    elif kind in OF_FIELDS or kind == "named-tuple":
        fields = core["fields"]
    else:
        fields = ()
    if isinstance(fields, Mapping):
        return list(cast("Mapping[str, Core]", fields).items())
    return [(field["name"], field) for field in fields]


def keys_of(name: str, field: Core, config: Core | None) -> list[str]:
    """Return the keys that a field may have in a document; the first is the one asked for."""
    alias: Any = field.get("validation_alias")
    if alias is None:
        return [name]
    options = config or _NONE
    keys = [path[0] for path in _paths(alias) if len(path) == 1]
    by_name = options.get("validate_by_name") or options.get("populate_by_name")
    return [*keys, name] if by_name or not keys else keys


def _paths(written: Any) -> list[list[Any]]:
    """Return the ways to a key, as an alias or a discriminator has them; none for a function."""
    if callable(written):
        return []
    if isinstance(written, str):
        return [[written]]
    return written if isinstance(written[0], list) else [written]


def _choices(schema: Core, value: JsonValue) -> list[Core]:
    choices: Any = schema["choices"]
    if schema["type"] == "union":
        return [each[0] if isinstance(each, tuple) else each for each in choices]
    tags = [path[0] for path in _paths(schema["discriminator"]) if len(path) == 1]
    said = [value[tag] for tag in tags if is_object(value) and tag in value]
    named = [each for key, each in choices.items() if getattr(key, "value", key) in said]
    return named or list(choices.values())


def _may_be(box: Part, value: JsonValue) -> bool:
    """Whether a box may hold what came so far."""
    if core_of(box)["type"] not in OF_FIELDS or not is_object(value):
        return True
    for name, field in fields_of(core_of(box)):
        only = _literals(field["schema"])
        key = next((key for key in keys_of(name, field, box.config) if key in value), None)
        if only is not None and key is not None and value[key] not in only:
            return False
    return True


def _literals(schema: Core) -> list[Any] | None:
    more: list[Any] = []
    while schema["type"] in ("default", "nullable"):
        more += [None] if schema["type"] == "nullable" else []
        schema = schema["schema"]
    if schema["type"] != "literal":
        return None
    return [*more, *(getattr(each, "value", each) for each in schema["expected"])]


def looks_around(schema: Core, by_ref: Mapping[str, Core]) -> bool:
    """Whether a validator of a field may look at the fields before it."""
    waiting: list[Any] = [schema]
    seen: set[str] = set()
    while waiting:
        part: Any = waiting.pop()
        if is_object(part) and part.get("type") not in OF_FIELDS:
            if part.get("type") == "with-info" or part.get("default_factory_takes_data"):
                return True
            if part.get("type") == "definition-ref" and part["schema_ref"] not in seen:
                seen.add(part["schema_ref"])
                waiting.append(by_ref[part["schema_ref"]])
            waiting += [part[key] for key in part if key not in ("metadata", "serialization")]
        elif isinstance(part, list | tuple):
            waiting += cast("list[Any]", part)
    return False
