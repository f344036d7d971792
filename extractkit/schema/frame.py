"""Pydantic's generator of JSON Schema, made to say where it is and what JSON cannot fulfil.

Neighbours: `generate` adds the facts about each kind of type, `describe` asks where it failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import EnumType
from typing import Any, Final, TypeVar

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError, core_schema, to_jsonable_python

from extractkit.paths import JsonObject

__all__ = ["PREFIX", "Frame"]

PREFIX: Final = "x-extractkit-"
"""Begins the name of each fact that JSON Schema has no word for."""

_S = TypeVar("_S")
_PLAIN: Final = (str, int, bool, type(None))
_FROM_PYTHON: Final = frozenset({"callable", "is-instance", "is-subclass"})
"""Core schemas that take no JSON value at all, whatever JSON Schema stands beside them."""
_ENDLESS: Final[Mapping[str, float]] = {
    "exclusiveMaximum": float("inf"),
    "exclusiveMinimum": float("-inf"),
    "maximum": float("inf"),
    "minimum": float("-inf"),
}


class Frame(GenerateJsonSchema):
    """Pydantic's generator, told where it is.

    Attributes:
        trail: Keys that lead to what is described just now, outermost first. After a failure
            they lead to what could not be described.
        is_fulfilled: Whether all of the schema can be fulfilled as it is; else see `fulfil`.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.trail: list[str] = []
        self.is_fulfilled = True
        self._levels: dict[int, tuple[int, str]] = {}
        self._converted = 0

    @property
    def mode(self) -> JsonSchemaMode:
        """Whether input or output is described; asked for several times at each place."""
        config = self._config_wrapper_stack.tail.config_dict
        return config.get("json_schema_mode_override") or self._mode

    def sort(self, value: JsonObject, parent_key: str | None = None) -> JsonObject:
        """Return `value` in the order of its description; `write` has an order of its own."""
        return value

    def encode_default(self, dft: Any) -> Any:
        """Return a default as JSON; Pydantic leaves out one that JSON does not have."""
        return dft if type(dft) in _PLAIN else _checked(dft, super().encode_default(dft))

    def update_with_validations(
        self, json_schema: JsonObject, core_schema: Any, mapping: dict[str, str]
    ) -> None:
        """Put limits into `json_schema`, but for those that every JSON number keeps."""
        super().update_with_validations(json_schema, core_schema, mapping)
        if _ENDLESS.keys().isdisjoint(json_schema):
            return
        for key, endless in _ENDLESS.items():
            if json_schema.get(key) == endless:
                del json_schema[key]

    def generate_inner(self, schema: Any) -> JsonObject:
        """Return the description of one part, or why no JSON value is ever taken there."""
        if schema["type"] in _FROM_PYTHON and not self._converted:
            return self.not_json(_python_only(schema))
        return super().generate_inner(schema)

    def not_json(self, reason: str) -> JsonObject:
        """Return that no JSON document can hold what is described."""
        self.is_fulfilled = False
        return {f"{PREFIX}invalid": reason}

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Any:
        """Return what is asked for after code of the type has changed the input."""
        return self._after_code(super().function_before_schema, schema)

    def function_wrap_schema(self, schema: core_schema.WrapValidatorFunctionSchema) -> Any:
        """Return what is asked for while code of the type may change the input."""
        return self._after_code(super().function_wrap_schema, schema)

    def _after_code(self, describe: Callable[[_S], JsonObject], schema: _S) -> JsonObject:
        self._converted += 1
        try:
            return describe(schema)
        finally:
            self._converted -= 1

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonObject:
        """Return alternatives."""
        described = super().union_schema(schema)
        if any(f"{PREFIX}unknown" in branch for branch in described.get("anyOf", ())):
            self.is_fulfilled = False
        return described

    def inside(
        self, describe: Callable[[_S], JsonObject], schema: _S, key: str = "*"
    ) -> JsonObject:
        """Return what stands under a key of what is described just now."""
        self.trail.append(key)
        described = describe(schema)
        self.trail.pop()
        return described

    def note_fields(self, fields: Mapping[str, Any]) -> None:
        """Note the keys of fields, which Pydantic describes without their names."""
        level = len(self.trail)
        for name, field in fields.items():
            alias = field.get("validation_alias")
            self._levels[id(field)] = level, alias if isinstance(alias, str) else name

    def in_field(self, describe: Callable[[_S], JsonObject], schema: _S) -> JsonObject:
        """Return what stands in a field that has been noted."""
        level, key = self._levels.get(id(schema), (len(self.trail), "*"))
        del self.trail[level:]  # a field that was left out has not come back
        return self.inside(describe, schema, key)


def _checked(default: object, encoded: Any) -> Any:
    # Pydantic writes null for a number without end, which may be another value of the field.
    whole = to_jsonable_python(default, inf_nan_mode="constants", fallback=str, by_alias=True)
    try:
        json.dumps([encoded, whole], allow_nan=False)
    except (TypeError, ValueError) as exc:
        raise PydanticSerializationError(f"no JSON value: {default!r:.60}") from exc
    return encoded


def _python_only(schema: Mapping[str, Any]) -> str:
    if schema["type"] == "callable":
        return "a function"
    name = getattr(schema["cls"], "__name__", repr(schema["cls"]))
    if isinstance(schema["cls"], EnumType):
        return f"a value of the Enum {name}, which has no members,"
    return f"a class (type[{name}])" if schema["type"] == "is-subclass" else f"an object ({name})"
