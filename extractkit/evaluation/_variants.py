"""A target with one field less, or with one field that may hold anything.

Neighbours: `_schema_cost` asks with them. Only what is sent is another one: fields keep their
names, descriptions, order and marks. Validators of a class are left out in every variant, the
whole one too, since they speak of fields that may not be there.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, create_model

from extractkit.errors import UsageError
from extractkit.paths import is_object
from extractkit.schema import CompiledSchema, compile_schema
from extractkit.schema.nodes import ObjectNode

__all__ = ["Variants"]

_TOLD: Final = ("title", "description")
"""What a JSON Schema still says of a field that may hold anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """A target whose fields can be taken away.

    Attributes:
        whole: The target without validators of its own.
        names: Names of its fields in an answer, in order.
        keys: Name in an answer -> name in the target.
    """

    whole: Any
    names: tuple[str, ...]
    keys: Mapping[str, str]

    @classmethod
    def of(cls, target: Any) -> Variants:
        """Return the variants of a model class or of a JSON Schema of an object.

        Raises:
            UsageError: If it is neither, or has fewer than two fields.
            SchemaError: If the target cannot be expressed.
        """
        keys = _keys(target)
        if len(keys) < 2:
            raise UsageError(
                f"schema_cost() of {target!r:.60}: found {len(keys)} fields; expected a class of "
                "BaseModel or a JSON Schema with 'properties', with at least two of them"
            )
        whole = _without(target, None, is_loose=False)
        names = _names(compile_schema(whole, "json-schema"))
        found: dict[str, str] = {}
        for key in keys:
            rest = _names(compile_schema(_without(target, key, is_loose=False), "json-schema"))
            found |= {name: key for name in names if name not in rest}
        return cls(whole=whole, names=tuple(names), keys=found)

    def without(self, name: str) -> Any:
        """Return the target without a field."""
        return _without(self.whole, self.keys[name], is_loose=False)

    def loose(self, name: str) -> Any:
        """Return the target with a field that may hold any JSON value."""
        return _without(self.whole, self.keys[name], is_loose=True)


def _keys(target: Any) -> tuple[str, ...]:
    if isinstance(target, type) and issubclass(target, BaseModel):
        return tuple(target.model_fields)
    properties: Any = target.get("properties", {}) if is_object(target) else {}
    return tuple(properties)


def _names(compiled: CompiledSchema) -> list[str]:
    root = compiled.tree.resolve(compiled.tree.root)
    return [prop.name for prop in root.properties] if isinstance(root, ObjectNode) else []


def _without(target: Any, key: str | None, *, is_loose: bool) -> Any:
    if is_object(target):
        return _schema_without(target, key, is_loose=is_loose)
    parts: dict[str, Any] = {}
    for name, info in target.model_fields.items():
        field = copy.copy(info)
        if name == key:
            field.annotation, field.metadata = Any, []
        if name != key or is_loose:
            parts[name] = (field.annotation, field)
    return create_model(
        target.__name__,
        __config__=target.model_config,
        __doc__=target.__doc__,
        __module__=target.__module__,
        **parts,
    )


def _schema_without(schema: Mapping[str, Any], key: str | None, *, is_loose: bool) -> Any:
    properties = dict(schema["properties"])
    required = [name for name in schema.get("required", ()) if name != key or is_loose]
    if key is not None:
        told = properties.pop(key)
        if is_loose:
            kept = {word: told[word] for word in _TOLD if word in told}
            properties = {
                name: kept if name == key else schema["properties"][name]
                for name in schema["properties"]
            }
    return {**schema, "properties": properties, "required": required}
