"""What the leaves of an answer count as, so that several answers can be compared.

Neighbours: `_agreement` counts what is given here, `_majority` votes by it; `schema` says what a
place may hold. Nothing here knows how an answer came.

Two leaves are the same where they mean the same to the user's type: numbers by value, also where
a Decimal came as a text; date-times by the moment; texts as `grounding` folds them (case, white
space, quotes, dashes, compatible characters); members of closed sets as they are written. A key
that is not there is the same as its default, where the type has one in its schema. Elements
of a set have no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from extractkit.confidence._options import ABSENT, json_text
from extractkit.errors import UsageError
from extractkit.grounding.normalize import fold_phrase
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below, settle
from extractkit.schema.digits import is_decimal
from extractkit.schema.nodes import (
    AnyNode,
    ArrayNode,
    ChoiceNode,
    Node,
    ObjectNode,
    Property,
    SchemaTree,
    StringNode,
)
from extractkit.schema.plain import json_key, parts_of

__all__ = ["MISSING", "NOT_THERE", "Leaf", "Places", "places_of"]

MISSING: Final = object()
"""In place of a value: the key is not there."""


class Leaf(NamedTuple):
    """A leaf of an answer.

    Attributes:
        key: Equal for leaves that mean the same.
        label: The value as JSON text.
    """

    key: str
    label: str


NOT_THERE: Final = Leaf(ABSENT, ABSENT)
"""What counts for a key that is not there, and has no default."""


class Places:
    """What speaks of each place of the user's documents.

    Args:
        tree: The user's own nodes.
        has_defaults: Whether a default in the schema is what a missing key means.
    """

    def __init__(self, tree: SchemaTree, *, has_defaults: bool) -> None:
        self.tree = tree
        self._has_defaults = has_defaults

    def settled(self, node: Node | None, value: JsonValue) -> Node | None:
        """Return what speaks of `value`: references followed, the branch of a union chosen."""
        return None if node is None else settle(node, value, self.tree)

    def is_set(self, node: Node | None) -> bool:
        """Whether the order of a list says nothing: to the user's type it is a set."""
        is_unique = isinstance(node, ArrayNode) and node.unique and not node.prefix
        return is_unique and self._has_defaults

    def element(self, value: JsonValue, node: Node | None) -> str:
        """Return what is equal for elements of a set that are the same."""
        is_leaf = not isinstance(value, dict | list)
        return self.leaf(value, node).key if is_leaf else json_key(value)

    def leaves(
        self, value: JsonValue, node: Node | None, moved: dict[Pointer, Pointer] | None = None
    ) -> dict[Pointer, Leaf]:
        """Return every leaf of a part of a document, and of what it leaves out by default.

        Elements of a set stand under themselves, so that they meet wherever they stand.

        Args:
            value: The part.
            node: What speaks of it; None where nothing does.
            moved: Gets the pointers of leaves that stand elsewhere in what is returned.
        """
        found: dict[Pointer, Leaf] = {}
        pending: list[tuple[Pointer, Pointer, Node | None, JsonValue, bool]]
        pending = [("", "", node, value, True)]
        while pending:
            pointer, there, spoken, part, is_given = pending.pop()
            if not (is_object(part) or (part and is_array(part))):
                found[pointer] = self.leaf(part, spoken)
                if moved is not None and there != pointer:
                    moved[there] = pointer
                continue
            inner = self.settled(spoken, part)
            if not part:
                found[pointer] = self.leaf(part, inner)
            if is_given:  # a default may have defaults of its own, without end
                pending.extend(
                    (join(pointer, prop.name), join(there, prop.name), prop.node, default, False)
                    for prop, default in self._defaults(inner)
                    if prop.name not in part
                )
            as_set = self.is_set(inner)
            for key, each in parts_of(part):
                child = below(inner, key)
                name = f"={self.element(each, child)}" if as_set else key
                pending.append((join(pointer, name), join(there, key), child, each, is_given))
        return found

    def leaf(self, value: JsonValue, node: Node | None) -> Leaf:
        """Return what a scalar, or an empty list or object, counts as.

        Raises:
            UsageError: If it is nothing that JSON has.
        """
        given: object = value
        if given is not None and not isinstance(given, str | int | float | list | dict):
            raise UsageError(f"found {given!r:.60} in a document; expected plain JSON")
        if node is not None and is_decimal(node, self.tree):
            return Leaf(_decimal_key(value), json_text(value))
        if not isinstance(value, str):
            return Leaf(json_key(value), json_text(value))
        spoken = self.settled(node, value)
        if isinstance(spoken, ChoiceNode):
            return Leaf(json_key(value), json_text(value))
        if isinstance(spoken, StringNode) and spoken.format == "date-time":
            return Leaf(json_key(_moment(value)), json_text(value))
        return Leaf(json_key(fold_phrase(value)), json_text(value))

    def default(self, node: Node | None, key: str) -> JsonValue:
        """Return the value that a missing key of an object means; MISSING where it has none."""
        found = (value for prop, value in self._defaults(node) if prop.name == key)
        return next(found, MISSING)

    def open_keys(self, node: Node | None, value: JsonObject) -> frozenset[str]:
        """Return the keys that only a map has: those that the object's type does not declare."""
        if not isinstance(node, ObjectNode):
            return frozenset(value)
        if self._has_defaults and not (node.extra_stated or node.patterns):
            return frozenset()  # a type drops what it does not know
        return frozenset(value) - {prop.name for prop in node.properties}

    def _defaults(self, node: Node | None) -> Iterator[tuple[Property, JsonValue]]:
        if self._has_defaults and isinstance(node, ObjectNode):
            for prop in node.properties:
                if "default" in prop.node.notes:
                    yield prop, prop.node.notes["default"]


def places_of(compiled: CompiledSchema | None) -> Places:
    """Return the places of a target's documents; of no target, nothing is known of them."""
    if compiled is None:
        return Places(SchemaTree(root=AnyNode()), has_defaults=False)
    known: Places | None = compiled.prepared.get("agreement")
    if known is None:
        known = Places(compiled.tree, has_defaults=compiled.adapter is not None)
        compiled.prepared["agreement"] = known
    return known


def _decimal_key(value: JsonValue) -> str:
    """Return the same for the spellings of one number; whatever else stands there is itself."""
    try:
        number = Decimal(str(value)) if isinstance(value, int | float | str) else None
    except InvalidOperation:
        number = None
    if number is None or isinstance(value, bool) or not number.is_finite():
        return json_key(value)
    return str(number.normalize() if number else abs(number.normalize()))


def _moment(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return (moment if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()
