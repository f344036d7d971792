"""Where a comparison stands in a target: the nodes, fields and pointers below a place.

Neighbours: `_judging` compares what stands there. A field is a place of the target: all elements
of a list, and all keys of a map, are "*".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from extractkit.evaluation._judged import State
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, split
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below, settle
from extractkit.schema.digits import is_decimal
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import AllOfNode, AnyNode, ArrayNode, Node, ObjectNode, UnionNode

__all__ = ["LEFT_OUT", "Places", "Spot", "of_place", "state"]

LEFT_OUT: Final[Any] = object()
"""In place of a value: the key is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a comparison stands: nodes, field, and the places in the label and in the answer.

    In a union both may be instances of different alternatives: `node` is the label's, `other` the
    answer's. `is_left_out` says that nobody wrote it: what stands there is what a left-out key
    means.
    """

    node: Node | None
    other: Node | None
    field: str = ""
    pointer: Pointer = ""
    found_at: Pointer = ""
    is_left_out: bool = False

    def of(self, node: Node | None, other: Node | None) -> Spot:
        """Return the same place with the nodes that label and answer are instances of."""
        if node is self.node and other is self.other:
            return self
        return Spot(
            node=node,
            other=other,
            field=self.field,
            pointer=self.pointer,
            found_at=self.found_at,
            is_left_out=self.is_left_out,
        )

    def alone(self, *, is_label: bool) -> Spot:
        """Return the same place as it is to one of both sides."""
        node = self.node if is_label else self.other
        return self.of(node, node)


class Places:
    """The places of a target.

    Args:
        compiled: The target.

    Attributes:
        root: Where a comparison starts.
        is_typed: The target is a Python type: it has defaults, and leaves out what it does not
            know.
    """

    def __init__(self, compiled: CompiledSchema) -> None:
        self._tree = compiled.tree
        self.is_typed = compiled.adapter is not None
        self.root = Spot(node=self._tree.root, other=self._tree.root)

    def has(self, field: Pointer) -> bool:
        """Whether a field is a place of the target."""
        return any(self._nodes_at(self._tree.root, split(field)))

    def is_single(self, field: Pointer) -> bool:
        """Whether a field names one element of a list or one key of a map, and not all of them."""
        tokens = split(field)
        return any(
            key != "*" and not (isinstance(node, ObjectNode) and _declares(node, key))
            for at, key in enumerate(tokens)
            for node in self._nodes_at(self._tree.root, tokens[:at])
            if isinstance(node, ArrayNode | ObjectNode)
        )

    def _nodes_at(self, node: Node, tokens: Sequence[str]) -> Iterator[Node]:
        """Yield the nodes at a field."""
        node = self._tree.resolve(node)
        if isinstance(node, UnionNode | AllOfNode):
            parts = node.branches if isinstance(node, UnionNode) else node.parts
            for part in parts:
                yield from self._nodes_at(part, tokens)
        elif not tokens or isinstance(node, AnyNode):
            yield node
        elif isinstance(node, ArrayNode):
            if tokens[0] == "*" or tokens[0].isdecimal():
                for part in (*node.prefix, node.items):
                    yield from self._nodes_at(part, tokens[1:])
        elif isinstance(node, ObjectNode):
            named = [prop.node for prop in node.properties if prop.name == tokens[0]]
            of_map = [node.extra, *(part for _, part in node.patterns)]
            for part in named or ([] if self.drops(node, tokens[0]) else of_map):
                yield from self._nodes_at(part, tokens[1:])

    def settled(self, node: Node | None, value: JsonValue) -> Node | None:
        """Return the node that a value is an instance of; None where there is no value."""
        if node is None or value is LEFT_OUT:
            return None
        return settle(node, value, self._tree)

    def drops(self, node: Node | None, key: str) -> bool:
        """Whether the type leaves out a key that it does not declare."""
        if not self.is_typed or not isinstance(node, ObjectNode):
            return False
        return not (_declares(node, key) or node.extra_stated or node.patterns)

    def is_set(self, node: Node | None) -> bool:
        """Whether the type is a set of the user's class, whose order says nothing."""
        is_unique = isinstance(node, ArrayNode) and node.unique and not node.prefix
        return is_unique and self.is_typed

    def is_decimal(self, node: Node | None) -> bool:
        """Whether the type is a Decimal, which may be spelled as a text."""
        return node is not None and is_decimal(node, self._tree)

    def default(self, node: Node | None, name: str) -> JsonValue:
        """Return what a key that is left out means to the type."""
        if self.is_typed and isinstance(node, ObjectNode):
            for prop in node.properties:
                if prop.name == name and "default" in prop.node.notes:
                    return prop.node.notes["default"]
        return LEFT_OUT

    def held(self, node: Node | None, value: Mapping[str, JsonValue], name: str) -> JsonValue:
        """Return what a type reads under a key of an object: what is written, or its default."""
        if name in value and not self.drops(node, name):
            return value[name]
        return self.default(node, name)

    def left_out(self, spot: Spot, *written: str) -> Iterator[str]:
        """Yield the keys that a type declares and nobody wrote.

        Below a default they are none of these: a type may be its own default without end.
        """
        sides = [spot.node] if spot.node is spot.other else [spot.node, spot.other]
        declared = [side.properties for side in sides if isinstance(side, ObjectNode)]
        names = dict.fromkeys(prop.name for properties in declared for prop in properties)
        for name in names if not spot.is_left_out else ():
            if name not in written:
                yield name

    def children(self, spot: Spot, value: JsonValue) -> Iterator[tuple[Spot, JsonValue]]:
        """Yield what stands right below a place of one side, with what left-out keys mean."""
        if is_object(value):
            for key, part in value.items():
                if not self.drops(spot.node, key):
                    yield self.of_key(spot, key), part
            for key in self.left_out(spot, *value):
                place = replace(self.of_key(spot, key), is_left_out=True)
                yield place, self.default(spot.node, key)
        elif is_array(value):
            for at, part in enumerate(value):
                yield of_place(spot, at), part

    def of_key(self, spot: Spot, key: str) -> Spot:
        """Return where a key of an object stands; the field is named by the label's type."""
        is_map = isinstance(spot.node, ObjectNode) and not _declares(spot.node, key)
        return Spot(
            node=below(spot.node, key),
            other=below(spot.other, key),
            field=join(spot.field, "*" if is_map else key),
            pointer=join(spot.pointer, key),
            found_at=join(spot.found_at, key),
            is_left_out=spot.is_left_out,
        )

    def leaves(self, spot: Spot, value: JsonValue) -> Iterator[tuple[Spot, JsonValue, Node | None]]:
        """Yield every value below a place of one side that has no values below it."""
        node = self.settled(spot.node, value)
        children = list(self.children(spot.of(node, node), value))
        if not children or state(value, node) != "value":
            yield spot, value, node
        for child, part in children if state(value, node) == "value" else ():
            yield from self.leaves(child, part)


def _declares(node: ObjectNode, key: str) -> bool:
    return any(prop.name == key for prop in node.properties)


def state(value: JsonValue, node: Node | None) -> State:
    """Return whether a place holds a value, null or UNKNOWN; what is left out counts as null."""
    if value is None or value is LEFT_OUT:
        return "null"
    return "unknown" if node is not None and is_unknown(node) else "value"


def of_place(spot: Spot, at: int, found_at: int | None = None) -> Spot:
    """Return where an element of a list stands; in the answer, its partner may stand elsewhere."""
    return Spot(
        node=below(spot.node, at),
        other=below(spot.other, at if found_at is None else found_at),
        field=f"{spot.field}/*",
        pointer=f"{spot.pointer}/{at}",
        found_at=f"{spot.found_at}/{at if found_at is None else found_at}",
        is_left_out=spot.is_left_out,
    )
