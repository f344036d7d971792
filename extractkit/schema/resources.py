"""The schemas with an address of their own inside one JSON Schema document, and their anchors.

`references` asks here where an address leads. Only places that hold schemas are looked at, so
that an `$id` or an anchor among the values of an enum names nothing. Nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import urljoin

from extractkit.paths import JsonObject, JsonValue, is_array, is_object

__all__ = ["LISTS_OF_SCHEMAS", "NAMED_SCHEMAS", "SCHEMAS", "Resource", "Resources"]

SCHEMAS: Final = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
        "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
NAMED_SCHEMAS: Final = frozenset(
    {
        "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties",
        "properties",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Resource:
    """A schema with an address of its own; the document is one, too. Equal by address.

    Attributes:
        uri: Its address without a fragment, made whole as far as the document tells.
        schema: What it says.
        name: What it is called where it stands.
    """

    uri: str
    schema: JsonObject = field(compare=False, repr=False)
    name: str = field(compare=False, default="root")


_Anchors: TypeAlias = dict[tuple[str, str], tuple[str, JsonObject]]


@dataclass(slots=True, kw_only=True)
class _Index:
    by_uri: dict[str, Resource] = field(default_factory=dict[str, Resource])
    twice: set[str] = field(default_factory=set[str])
    anchors: _Anchors = field(default_factory=_Anchors)
    dynamic: dict[str, list[Resource]] = field(default_factory=dict[str, list[Resource]])
    recursive: list[Resource] = field(default_factory=list[Resource])


class Resources:
    """All resources of one document; looked for when first asked."""

    def __init__(self, schema: JsonObject, draft: int) -> None:
        """Begin with the document itself.

        Args:
            schema: The document.
            draft: What it is written in, as `drafts` names it.
        """
        self._draft = draft
        self.root = self.enter(Resource("", schema), schema, "root")
        self._found: _Index | None = None

    def enter(self, around: Resource, schema: JsonObject, name: str) -> Resource:
        """Return the resource that `schema` begins, or else the one around it."""
        address, _, _ = self._address(schema).partition("#")
        return Resource(urljoin(around.uri, address), schema, name) if address else around

    def resource(self, uri: str) -> Resource | None:
        """Return what stands at an address; None if nothing does, or more than one thing."""
        if uri == self.root.uri:
            return self.root
        index = self._index()
        return None if uri in index.twice else index.by_uri.get(uri)

    def anchor(self, uri: str, name: str) -> tuple[str, JsonObject] | None:
        """Return the schema that has a name in the resource at `uri`, and its key there."""
        return self._index().anchors.get((uri, name))

    def dynamic(self, uri: str, name: str) -> list[Resource]:
        """Return every resource with that dynamic anchor; none if the one at `uri` lacks it."""
        found = self._index().dynamic.get(name, [])
        return found if any(each.uri == uri for each in found) else []

    def recursive(self, uri: str) -> list[Resource]:
        """Return every resource with a recursive anchor; none if the one at `uri` lacks it."""
        found = self._index().recursive
        return found if any(each.uri == uri for each in found) else []

    def _address(self, schema: JsonObject) -> str:
        if 0 < self._draft <= 7 and "$ref" in schema:  # the reference hides what is beside it
            return ""
        address = schema.get("id" if self._draft in (3, 4) else "$id")
        return address if isinstance(address, str) else ""

    def _index(self) -> _Index:
        if self._found is None:
            self._found = _Index()
            pending: list[tuple[JsonObject, str, Resource]] = [(self.root.schema, "", self.root)]
            while pending:
                schema, name, around = pending.pop()
                here = self.enter(around, schema, name) if name else around
                self._note(schema, name, here, self._found)
                pending.extend(
                    (part, key, here) for key, part in _subschemas(schema) if is_object(part)
                )
        return self._found

    def _note(self, schema: JsonObject, name: str, here: Resource, index: _Index) -> None:
        if here.schema is schema:
            if index.by_uri.setdefault(here.uri, here) is not here:
                index.twice.add(here.uri)
            if schema.get("$recursiveAnchor") is True and self._draft != 2020:
                index.recursive.append(here)
        _, _, fragment = self._address(schema).partition("#")  # up to draft 7, "#name" is a name
        for anchor in (fragment, schema.get("$anchor"), schema.get("$dynamicAnchor")):
            if isinstance(anchor, str) and anchor:
                index.anchors[here.uri, anchor] = (name, schema)
        dynamic = schema.get("$dynamicAnchor")
        if isinstance(dynamic, str):
            index.dynamic.setdefault(dynamic, []).append(here)


def _subschemas(schema: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    """Yield what stands directly inside a schema where a schema must stand, with its own key."""
    for key, value in schema.items():
        if key in NAMED_SCHEMAS and is_object(value):
            yield from value.items()
        elif key in LISTS_OF_SCHEMAS and is_array(value):
            for position, part in enumerate(value):
                yield str(position), part
        elif key in SCHEMAS:
            yield key, value
