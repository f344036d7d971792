"""Assertions that no node models, in the spelling of 2020-12.

`read` keeps `not`, `if`, `contains` and their like as they were written, so that a target which
knows them can hold an answer to them. What stands inside may be in an older draft, refer to
definitions and count from an address of its own; here it is put as the rest of our schema is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.schema.documents import ADDRESSES, Document
from extractkit.schema.keywords import Keywords
from extractkit.schema.references import REFERENCES
from extractkit.schema.resources import LISTS_OF_SCHEMAS, NAMED_SCHEMAS, SCHEMAS

__all__ = ["Refer", "Rewriter"]

Refer: TypeAlias = Callable[[Keywords, str], str]
"""Returns the name of the definition that the reference under a keyword leads to."""

# What names a place, or asserts nothing.
_LEFT_OUT: Final = frozenset(
    {
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$recursiveAnchor", "$schema",
        "$vocabulary", "additionalItems", "contentSchema", "definitions", "id",
    }
)  # fmt: skip
_EXCLUSIVE: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


class Rewriter:
    """Puts kept assertions of one document into the spelling of 2020-12."""

    def __init__(self, document: Document, refer: Refer) -> None:
        """Prepare to rewrite.

        Args:
            document: Where one is.
            refer: Names what a reference leads to, and sees to it that it is read.
        """
        self._document = document
        self._refer = refer

    def schema(self, value: JsonValue, at: Pointer, base: Pointer) -> JsonValue:
        """Return a schema that stands in a kept keyword.

        Args:
            value: The schema.
            at: The place of what it speaks of, from the start of its definition.
            base: The place of that definition in the user's document.

        Raises:
            SchemaError: If it is no schema, or a keyword in it has the wrong type.
        """
        if isinstance(value, bool):
            return value
        if not is_object(value):
            found = Keywords({}, at, base)
            raise found.fail(
                f"found {value!r:.60}, expected a JSON Schema (an object or bool); write one there"
            )
        before = self._document.resource
        if not ADDRESSES.isdisjoint(value):
            self._document.enter(value, base, at)
        keywords = Keywords(self._document.view(value), at, base)
        written = self.assertions(keywords, list(keywords.schema))
        self._document.resource = before
        return written

    def assertions(self, keywords: Keywords, keys: list[str]) -> JsonObject:
        """Return what a schema says under `keys`.

        Raises:
            SchemaError: If one of them has the wrong type.
        """
        written: JsonObject = {}
        for key in keys:
            if key in _LEFT_OUT or key.startswith("x-extractkit-"):
                continue
            for name, value in self._keyword(keywords, key).items():
                if written.setdefault(name, value) is not value:  # two references, say
                    written.setdefault("allOf", []).append({name: value})
        return written

    def _keyword(self, keywords: Keywords, key: str) -> JsonObject:
        value = keywords.schema[key]
        if key in REFERENCES:
            return {"$ref": f"#/$defs/{self._refer(keywords, key)}"}
        if key in _EXCLUSIVE and isinstance(value, bool):  # draft 4
            return {}
        if key in ("minimum", "maximum"):
            return _bound(keywords, key)
        if key == "dependencies":
            return self._dependencies(keywords)
        if key == "dependentRequired":
            pairs = keywords.mapping(key).items()
            return {key: {name: keywords.keys(needed, key) for name, needed in pairs}}
        if key == "items" and is_array(value):
            return self._positions(keywords, value)
        if key in NAMED_SCHEMAS:
            pairs = keywords.mapping(key).items()
            return {key: {name: self._part(part, keywords) for name, part in pairs}}
        if key in LISTS_OF_SCHEMAS and key != "items":
            return {key: self._list(keywords, key)}
        if key in SCHEMAS:
            return {key: self._part(value, keywords)}
        keywords.check(key)
        return {key: value}

    def _positions(self, keywords: Keywords, listed: list[JsonValue]) -> JsonObject:
        """Return the two keywords that a list under `items` became after 2019-09."""
        prefix = {"prefixItems": self._list(keywords, "items")} if listed else {}
        if "additionalItems" not in keywords.schema:
            return prefix
        return {**prefix, "items": self._part(keywords.schema["additionalItems"], keywords)}

    def _part(self, value: JsonValue, keywords: Keywords) -> JsonValue:
        return self.schema(value, keywords.at, keywords.base)

    def _list(self, keywords: Keywords, key: str) -> list[JsonValue]:
        return [self._part(part, keywords) for part in keywords.schemas(key)]

    def _dependencies(self, keywords: Keywords) -> JsonObject:
        """Return the two keywords that `dependencies` became after draft 7."""
        needed: JsonObject = {}
        schemas: JsonObject = {}
        for name, value in keywords.mapping("dependencies").items():
            if isinstance(value, str):  # draft 3
                needed[name] = [value]
            elif is_array(value):
                needed[name] = keywords.keys(value, "dependencies")
            else:
                schemas[name] = self._part(value, keywords)
        both = {"dependentRequired": needed, "dependentSchemas": schemas}
        return {key: value for key, value in both.items() if value}


def _bound(keywords: Keywords, key: str) -> JsonObject:
    value = keywords.number(key)
    excluded = "exclusiveMinimum" if key == "minimum" else "exclusiveMaximum"
    return {excluded if keywords.schema.get(excluded) is True else key: value}
