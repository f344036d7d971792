"""Lists whose positions differ, for targets that know one kind of element only.

| from | to | back |
|---|---|---|
| a list of fixed positions | an object with the keys "0", "1", ... | a list in this order |
| further elements of one kind after them | one more key "rest", which holds their list | appended |
| a list that can only be empty | null | an empty list |

A position that may be missing is a key that may be absent; an answer can then lack a position
before one that it gives. Of a type the default stands there. Where there is none, no list says
that: it is told as "prefixItems" before, and of an answer as a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from extractkit.schema.plain import is_same
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
        defaults: What a position that is missing means to the type, where it says so.
    """

    count: int
    has_rest: bool
    defaults: Mapping[int, JsonValue] = field(default_factory=dict[int, JsonValue])
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the object of a list.

        Raises:
            ValueError: If it is no list, or has more elements than positions.
        """
        if not is_array(value):
            raise ValueError("it is no list; give a list")
        if len(value) > self.count and not self.has_rest:
            raise ValueError(
                f"it has {len(value)} elements, at most {self.count} can be; shorten it"
            )
        lowered: JsonObject = {str(i): item for i, item in enumerate(value[: self.count])}
        if self.has_rest:
            lowered[_REST] = value[self.count :]
        return lowered

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the list of an object; one with a gap, or other keys, is left as it is.

        A gap stands for the defaults of its positions. Where nothing but defaults follows, the
        list ends before it.
        """
        if not is_object(value):
            return value
        names = {str(at): at for at in range(self.count)}
        rest: JsonValue = value.get(_REST, []) if self.has_rest else []
        known = {names[key]: item for key, item in value.items() if key in names}
        if len(known) + (self.has_rest and _REST in value) < len(value) or not is_array(rest):
            told.append("there are keys that are no positions")
            return value
        gap = next((at for at in range(self.count) if at not in known), self.count)
        if not rest and all(at < gap or self._is_default(at, item) for at, item in known.items()):
            return [known[at] for at in range(gap)]
        filled = {**self.defaults, **known}
        end = self.count if rest else max(known) + 1
        if any(at not in filled for at in range(end)):
            told.append(f"position {gap} is missing, and a later one is given")
            return value
        return [*(filled[at] for at in range(end)), *rest]

    def _is_default(self, at: int, item: JsonValue) -> bool:
        return at in self.defaults and is_same(self.defaults[at], item)

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
            raise ValueError("only an empty list can be sent here; leave its elements out")
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
    defaults = _defaults(prefix) if scope.is_type else {}
    # The last one that can be missing leaves a gap only if something may follow it.
    gaps = range(node.min_items, count if has_rest else count - 1)
    if any(at not in defaults for at in gaps):
        scope.lose(
            node,
            "prefixItems",
            "a position can be missing before one that is given; that is a fault",
        )
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
        ways=(*node.ways, Positions(count, has_rest, defaults)),
    )
    return stand_in(keyed, node)


def _defaults(prefix: Sequence[Node]) -> dict[int, JsonValue]:
    return {at: part.notes["default"] for at, part in enumerate(prefix) if "default" in part.notes}


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
