"""The keywords of one JSON Schema object, each with the type it must have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.schema.expressions import fault
from extractkit.schema.extent import fault_of_choices

__all__ = ["Keywords", "TypedKeywords"]

_CORRECT: Final = "correct it or leave it out"
_TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


class TypedKeywords:
    """A view of one schema object.

    Attributes:
        schema: The object itself.
        at: Its place, from the start of the definition that holds it.
        base: The place of that definition in the user's document.
    """

    __slots__ = ("at", "base", "schema")

    def __init__(self, schema: JsonObject, at: Pointer, base: Pointer) -> None:
        """Look at a schema.

        Args:
            schema: The object.
            at: Its place, from the start of the definition that holds it.
            base: The place of that definition in the user's document.
        """
        self.schema = schema
        self.at = at
        self.base = base

    @property
    def place(self) -> Pointer:
        """The place in the user's document."""
        return self.base + self.at

    def fail(self, message: str) -> SchemaError:
        """Return the error that says `message` of this place."""
        return SchemaError(f"{self.place or '(root)'}: {message}", pointer=self.place)

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
        return self.fail(f'"{key}" is {self.schema[key]!r:.60}, expected {want}; {_CORRECT}')

    def number(self, key: str) -> int | float | None:
        """Return a number, or None where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        number: int | float | None = self._typed(key, (int, float), "a number")
        if isinstance(number, float) and not isfinite(number):
            raise self._wrong(key, "a number that JSON can write")
        return number

    def count(self, key: str) -> int | None:
        """Return a whole number of at least 0, or None where the keyword is missing.

        Raises:
            SchemaError: If it is something else.
        """
        want = "a whole number of at least 0"
        value: int | float | None = self._typed(key, (int, float), want)
        if value is None:
            return None
        if not isfinite(value) or value < 0 or value != int(value):
            raise self._wrong(key, want)
        return int(value)

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
        if key == "patternProperties":
            for pattern in value:
                self.check_pattern(pattern)
        return value

    def check_pattern(self, pattern: str) -> None:
        """Check that something is a regular expression.

        Raises:
            SchemaError: If it is none in any language.
        """
        why = fault(pattern)
        if why is not None:
            raise self.fail(f"the pattern {pattern!r:.60} cannot be used: {why}; {_CORRECT}")


class Keywords(TypedKeywords):
    """A view of one schema object, with the keywords that have rules of their own."""

    __slots__ = ()

    def step(self) -> int | float | None:
        """Return what a number must be a multiple of, or None where nothing is said.

        Raises:
            SchemaError: If it is not a number above 0.
        """
        step = self.number("multipleOf")
        if step is not None and step <= 0:
            raise self._wrong("multipleOf", "a number of more than 0")
        return step

    def pattern(self) -> str | None:
        """Return the regular expression, or None where there is none.

        Raises:
            SchemaError: If it is not a text, or no regular expression in any language.
        """
        pattern = self.text("pattern")
        if pattern is not None:
            self.check_pattern(pattern)
        return pattern

    def choices(self) -> list[JsonValue]:
        """Return the values under "enum".

        Raises:
            SchemaError: If they are no list, or more than any target takes.
        """
        listed = self.schema["enum"]
        if not is_array(listed):
            raise self._wrong("enum", "a list of values")
        self.check_choices(listed)
        return listed

    def check_choices(self, values: list[JsonValue]) -> None:
        """Check that values to choose from are not more than any target takes.

        Raises:
            SchemaError: If they are.
        """
        error = fault_of_choices(values, self.place)
        if error is not None:
            raise error

    def names(self) -> list[str]:
        """Return the keys under "required", each once.

        Raises:
            SchemaError: If they are not a list of strings.
        """
        value = self.schema.get("required", [])
        if isinstance(value, bool):  # draft 3 says it at the property
            return []
        return self.keys(value, "required")

    def keys(self, value: JsonValue, keyword: str) -> list[str]:
        """Return a list of keys, each once.

        Raises:
            SchemaError: If `value` is not a list of strings.
        """
        if not is_array(value) or not all(isinstance(key, str) for key in value):
            raise self.fail(f'"{keyword}" is {value!r:.60}, expected a list of keys; {_CORRECT}')
        return list(dict.fromkeys(value))

    def types(self) -> list[str] | None:
        """Return the JSON types under "type", or None where it says nothing.

        Raises:
            SchemaError: If they are not names of JSON types.
        """
        if "type" not in self.schema:
            return None
        value = self.schema["type"]
        names: list[Any] = value if is_array(value) else [value]
        if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
            raise self._wrong("type", f"names of JSON types ({', '.join(sorted(_TYPES))})")
        if len(names) == 1:
            return names
        if "number" in names:
            names = [name for name in names if name != "integer"]
        return list(dict.fromkeys(names))

    def check(self, key: str) -> None:
        """Check the type of a keyword that holds no schema; unknown ones hold anything.

        Raises:
            SchemaError: If it has the wrong type.
        """
        if key in _CHECKS:
            _CHECKS[key](self, key)


_CHECKS: Final[Mapping[str, Callable[[Keywords, str], object]]] = {
    **dict.fromkeys(
        (
            "maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems",
            "minLength", "minProperties",
        ),
        Keywords.count,
    ),
    **dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), Keywords.number
    ),
    "enum": lambda keywords, _: keywords.choices(),
    "format": Keywords.text,
    "multipleOf": lambda keywords, _: keywords.step(),
    "pattern": lambda keywords, _: keywords.pattern(),
    "required": lambda keywords, _: keywords.names(),
    "type": lambda keywords, _: keywords.types(),
    "uniqueItems": Keywords.flag,
}  # fmt: skip
