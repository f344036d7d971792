"""Lists whose positions differ, for targets that know one kind of element only.

| from | to | back |
|---|---|---|
| a list of fixed positions | an object with the keys "0", "1", ... | a list in this order |
| further elements of one kind after them | one more key "rest", which holds their list | appended |
| a list that can only be empty | null | an empty list |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.schema.lowerings.maps import closed
from extractkit.schema.nodes import (
    ArrayNode,
    NeverNode,
    Node,
    NullNode,
    ObjectNode,
    Property,
    replace,
    stand_in,
)
from extractkit.schema.scope import Scope
from extractkit.schema.ways import Way

__all__ = ["Empty", "Positions", "Shifted", "lower"]

_REST: Final = "rest"


@dataclass(frozen=True, slots=True)
class Positions(Way):
    """A list as an object with a key per position.

    Attributes:
        count: How many positions have a key of their own.
        has_rest: Whether more elements may follow, under "rest".
    """

    count: int
    has_rest: bool
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the object of a list.

        Raises:
            ValueError: If it is no list, or has more elements than positions.
        """
        if not is_array(value):
            raise ValueError("it is no list")
        if len(value) > self.count and not self.has_rest:
            raise ValueError(f"it has {len(value)} elements, at most {self.count} can be")
        lowered: JsonObject = {str(i): item for i, item in enumerate(value[: self.count])}
        if self.has_rest:
            lowered[_REST] = value[self.count :]
        return lowered

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the list of an object; one with a gap, or other keys, is left as it is."""
        if not is_object(value):
            return value
        known = [str(i) for i in range(self.count)]
        rest: JsonValue = value.get(_REST, []) if self.has_rest else []
        first = [value[key] for key in known if key in value]
        is_whole = len(first) == self.count or not rest
        keys = [*known[: len(first)], *([_REST] if self.has_rest else [])]
        if not is_array(rest) or not is_whole or not value.keys() <= set(keys):
            told.append("positions are missing, or there are keys that are none")
            return value
        return [*first, *rest]

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return the position; "rest" stands at the place of the list itself."""
        del value
        if key == _REST:
            return None
        return int(key) if isinstance(key, str) and key.isdecimal() else key


@dataclass(frozen=True, slots=True)
class Shifted(Way):
    """The list of further elements: its positions count from `start`."""

    start: int

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return the position in the whole list."""
        del value
        return key + self.start if isinstance(key, int) else key


@dataclass(frozen=True, slots=True)
class Empty(Way):
    """An empty list as null."""

    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return null for an empty list.

        Raises:
            ValueError: If it is anything else.
        """
        if value != []:
            raise ValueError("only an empty list can be sent here")
        return None

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return an empty list for null."""
        del told
        return [] if value is None else value


def lower(node: ArrayNode, scope: Scope) -> Node:
    """Return `node` with its positions as keys."""
    if node.max_items == 0 or (isinstance(node.items, NeverNode) and not node.prefix):
        return _empty(node, scope)
    if not node.prefix or scope.dialect.enforces("prefixItems"):
        return node
    return _positions(node, scope)


def _empty(node: ArrayNode, scope: Scope) -> Node:
    if node.min_items > 0:
        return NeverNode(pointer=node.pointer)
    scope.change(node, "a list that can only be empty", "null")
    return NullNode(
        pointer=node.pointer, description=node.description, mark=node.mark, rest=node.rest,
        ways=(*node.ways, Empty()),
    )  # fmt: skip


def _positions(node: ArrayNode, scope: Scope) -> Node:
    prefix = node.prefix if node.max_items is None else node.prefix[: node.max_items]
    count = len(prefix)
    has_rest = not isinstance(node.items, NeverNode) and (
        node.max_items is None or node.max_items > count
    )
    properties = [
        Property(name=str(i), node=part, required=i < node.min_items)
        for i, part in enumerate(prefix)
    ]
    if has_rest:
        properties.append(Property(name=_REST, node=_rest(node, count), required=True))
    elif node.min_items > count:
        return NeverNode(pointer=node.pointer)
    scope.change(node, "a list of fixed positions", "an object with a key per position")
    if node.unique:
        scope.lose(node, "uniqueItems", "positions that are keys are not compared")
    keyed = ObjectNode(
        properties=tuple(properties),
        extra=closed(node),
        extra_stated=True,
        ways=(*node.ways, Positions(count, has_rest)),
    )
    return stand_in(keyed, node)


def _rest(node: ArrayNode, count: int) -> Node:
    return replace(
        node,
        description="",
        mark=None,
        notes={},
        rest={},
        beyond={},
        prefix=(),
        min_items=max(0, node.min_items - count),
        max_items=None if node.max_items is None else node.max_items - count,
        unique=False,
        ways=(Shifted(count),),
    )
