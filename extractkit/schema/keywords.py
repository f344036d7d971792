"""The keywords of one JSON Schema object, each with the type it must have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object

__all__ = ["Keywords"]

_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")


class Keywords:
    """A view of one schema object.

    Attributes:
        schema: The object itself.
        at: Its place, from the start of the definition that holds it.
    """

    def __init__(self, schema: JsonObject, at: Pointer, base: Pointer) -> None:
        self.schema = schema
        self.at = at
        self._place = base + at

    def fail(self, message: str) -> SchemaError:
        """Return the error that says `message` of this place."""
        return SchemaError(f"{self._place or '(root)'}: {message}", pointer=self._place)

    def __contains__(self, key: str) -> bool:
        return key in self.schema

    def _typed(self, key: str, kind: Any, want: str) -> Any:
        if key not in self.schema:
            return None
        value = self.schema[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._wrong(key, want)
        return value

    def _wrong(self, key: str, want: str) -> SchemaError:
        return self.fail(f'"{key}" is {self.schema[key]!r:.60}, expected {want}')

    def number(self, key: str) -> int | float | None:
        """Return a number, or None where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        number: int | float | None = self._typed(key, (int, float), "a number")
        return number

    def count(self, key: str) -> int | None:
        """Return a whole number of at least 0, or None where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        want = "a whole number of at least 0"
        value: int | float | None = self._typed(key, (int, float), want)
        if value is not None and (value < 0 or value != int(value)):
            raise self._wrong(key, want)
        return None if value is None else int(value)

    def text(self, key: str) -> str | None:
        """Return a text, or None where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        text: str | None = self._typed(key, str, "a string")
        return text

    def flag(self, key: str) -> bool:
        """Return true or false; false where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        return bool(self._typed(key, bool, "true or false"))

    def schemas(self, key: str) -> list[JsonValue]:
        """Return a list of at least one schema.

        Raises:
            SchemaError: If it is something else.
        """
        value = self.schema[key]
        if not is_array(value) or not value:
            raise self._wrong(key, "a list of at least one schema")
        return value

    def mapping(self, key: str) -> Mapping[str, JsonValue]:
        """Return an object of schemas; empty where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        value = self.schema.get(key, {})
        if not is_object(value):
            raise self._wrong(key, "an object of schemas")
        return value

    def names(self) -> list[str]:
        """Return the keys under "required".

        Raises:
            SchemaError: If they are not a list of strings.
        """
        value = self.schema.get("required", [])
        if isinstance(value, bool):  # draft 3 says it at the property
            return []
        if not is_array(value) or not all(isinstance(key, str) for key in value):
            raise self._wrong("required", "a list of keys")
        return value

    def types(self) -> list[str] | None:
        """Return the JSON types under "type", or None where it says nothing.

        Raises:
            SchemaError: If they are not names of JSON types.
        """
        if "type" not in self.schema:
            return None
        value = self.schema["type"]
        names = value if is_array(value) else [value]
        if not names or any(name not in _TYPES for name in names):
            raise self._wrong("type", "names of JSON types")
        if "number" in names:
            names = [name for name in names if name != "integer"]
        return list(dict.fromkeys(names))
