"""One JSON Schema document while it is read: its draft, its references, and where one is in it.

`read` and `kept` walk the same document and share this. It makes no nodes.
"""

from __future__ import annotations

from typing import Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, Pointer
from extractkit.schema.drafts import UNSTATED, draft_of, unknown_to
from extractkit.schema.references import References, Target
from extractkit.schema.resources import Resource

__all__ = ["ADDRESSES", "Document"]

ADDRESSES: Final = frozenset({"$id", "$schema", "id"})
"""Keywords that may begin a part of a document which counts for itself."""
_LAST_WITH_LONE_REFERENCES: Final = 7
# A reference of those drafts hides every assertion beside it; what is said to people stays.
_BESIDE_REFERENCES: Final = ("$ref", "description", "title", "x-extractkit-mark")


class Document:
    """A document that is being read.

    Attributes:
        draft: What it is written in, as `drafts` names it.
        is_plain: Whether all that a schema says is read.
        resource: The part with an address of its own in which one is.
    """

    def __init__(self, schema: JsonObject) -> None:
        """Begin at the root.

        Raises:
            SchemaError: If the document names a draft that is not known.
        """
        self.draft = draft_of(schema)
        self.is_plain = self.draft == UNSTATED
        self._unknown = unknown_to(self.draft)
        self._references = References(schema, self.draft)
        self.resource: Resource = self._references.resources.root

    def view(self, schema: JsonObject) -> JsonObject:
        """Return what the draft reads of a schema; the same object where it reads all of it."""
        if self.is_plain:
            return schema
        if self.draft <= _LAST_WITH_LONE_REFERENCES and "$ref" in schema:
            return {key: schema[key] for key in _BESIDE_REFERENCES if key in schema}
        if self._unknown.isdisjoint(schema):
            return schema
        return {key: value for key, value in schema.items() if key not in self._unknown}

    def enter(self, schema: JsonObject, base: Pointer, at: Pointer) -> Resource:
        """Go into a schema with one of ADDRESSES and return the resource to go back to.

        Args:
            schema: A schema of the document.
            base: The place of the definition that holds it, for the error.
            at: Its own place from there.

        Raises:
            SchemaError: If it names another draft than the document.
        """
        before = self.resource
        if schema is before.schema:
            return before
        self.resource = self._references.resources.enter(before, schema, "part")
        begins = self.resource is not before  # elsewhere "$schema" says nothing
        if begins and "$schema" in schema and draft_of(schema) not in (self.draft, UNSTATED):
            raise SchemaError(
                f"{base + at or '(root)'}: this part names another draft, "
                f"{schema['$schema']!r:.80}, than the document around it; write both in one draft",
                pointer=base + at,
            )
        return before

    def find(self, keyword: str, schema: JsonObject, at: Pointer) -> Target:
        """Return what the reference under `keyword` leads to; `at` is for the error.

        Raises:
            SchemaError: If it leads nowhere, out of the document, or to more than one place.
        """
        return self._references.find(keyword, schema[keyword], self.resource, at)
