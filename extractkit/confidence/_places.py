"""Walks an answer, its bytes and the form that was sent side by side.

Neighbours: `_options` knows the places of the form, `_score` weighs what is found
here: leaves, values that could have been null, and lists that could have been longer or shorter,
each with its bytes in the answer and its place in the user's document. Keys are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from extractkit.confidence._options import ABSENT, Plan, Spot, json_text
from extractkit.parsing import ParsedDocument
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.schema.convert import settle, step
from extractkit.schema.nodes import ArrayNode, Node, ObjectNode, UnionNode
from extractkit.schema.ways import InPlace

__all__ = [
    "ANY_LIST",
    "Found",
    "ListFound",
    "ValueFound",
    "chosen_of",
    "find",
    "find_from",
    "hides_key",
    "place_below",
    "prefix_of",
    "stands_for",
]

_SPACE: Final = re.compile(rb"[ \t\n\r]*")
_SCALAR: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\]}]+', re.DOTALL)
_KEY: Final = re.compile(rb'[\s,]*"[^"\\]*(?:\\.[^"\\]*)*"\s*:', re.DOTALL)
_EMPTY: Final = re.compile(rb"\[\s*\]|\{\s*\}")
_OPENING: Final = re.compile(rb"[\s\[{]*\Z")

ANY_LIST: Final = ArrayNode()
"""A list of which nothing is said."""


class ValueFound(NamedTuple):
    """A value in the answer.

    Attributes:
        pointer: Where it stands in the user's document.
        spot: What could have stood there.
        value: The value as it was sent.
        start: Its first byte, quotes included.
        end: The byte behind it; of a container, the one behind its opening bracket.
        is_leaf: Whether it is a scalar or an empty container.
    """

    pointer: Pointer
    spot: Spot
    value: JsonValue
    start: int
    end: int
    is_leaf: bool


class ListFound(NamedTuple):
    """A list in the answer.

    Attributes:
        pointer: Where it stands in the user's document.
        node: What the form says of it.
        length: How many elements it has.
        stops: Where each comma stands that went on, and the bracket that ended it: before each
            element and behind the last one, as the first byte that told. Before the first element
            this is the byte with which it begins.
        stands_for: Where the list is only the form of a value that may be missing: the label of
            the missing value. Else None.
    """

    pointer: Pointer
    node: ArrayNode
    length: int
    stops: tuple[int, ...]
    stands_for: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk finds, each in the order of the answer."""

    values: list[ValueFound] = field(default_factory=list[ValueFound])
    lists: list[ListFound] = field(default_factory=list[ListFound])


def find(
    data: bytes,
    parsed: ParsedDocument,
    plan: Plan,
    *,
    spot: Spot | None = None,
    pointer: Pointer = "",
) -> Found:
    """Return the values and lists of an answer.

    Args:
        data: The answer in UTF-8.
        parsed: The document in it.
        plan: The places of the form that was sent.
        spot: What could stand where the document does; None for the root of the form.
        pointer: Where the document stands in the user's.

    Raises:
        RecursionError: If it is nested too deeply.
    """
    return find_from(data, _beginning(data, parsed), parsed.value, plan, spot or plan.root, pointer)


def find_from(
    data: bytes, start: int, value: JsonValue, plan: Plan, spot: Spot, pointer: Pointer
) -> Found:
    """Return the same of one part of an answer.

    Args:
        data: The answer in UTF-8.
        start: Where the part begins.
        value: The part.
        plan: The places of the form that was sent.
        spot: What could stand where the part does.
        pointer: Where it stands in the user's document.

    Raises:
        RecursionError: If it is nested too deeply.
    """
    walk = _Walk(data, plan)
    walk.position = start
    walk.value(spot, value, pointer)
    return walk.found


def _beginning(data: bytes, parsed: ParsedDocument) -> int:
    """Return where the document begins: at once, unless it was taken out of a wrapper."""
    if not parsed.findings or not any(item.code == "unwrapped" for item in parsed.findings):
        return 0
    text = data.decode("utf-8", "surrogatepass")
    first = min((start for start, _ in (*parsed.spans.values(), *parsed.key_spans.values())))
    at = len(text[:first].encode("utf-8", "surrogatepass"))
    for _ in range(_depth(parsed.value)):
        at = max(data.rfind(b"[", 0, at), data.rfind(b"{", 0, at))
    return at


def _depth(value: JsonValue) -> int:
    """Return how many brackets stand before the first key or leaf."""
    depth = 0
    while is_array(value) and value:
        value, depth = value[0], depth + 1
    return depth + (is_object(value) and bool(value))


class _Walk:
    """One walk; `position` is the byte behind what was passed last."""

    def __init__(self, data: bytes, plan: Plan) -> None:
        self._data, self._plan = data, plan
        self.position = 0
        self.found = Found()

    def value(self, spot: Spot, value: JsonValue, pointer: Pointer) -> None:
        """Pass the value that comes next."""
        start = self._next(self.position)
        if value and (is_object(value) or is_array(value)):
            self.position = start + 1
            if len(spot.options) > 1:
                found = ValueFound(pointer, spot, value, start, start + 1, is_leaf=False)
                self.found.values.append(found)
            if is_object(value):
                self._object(spot, value, pointer)
            elif is_array(value):
                self._list(spot, value, pointer)
            return
        shape = _EMPTY if value in ([], {}) else _SCALAR
        match = shape.match(self._data, start)
        self.position = start if match is None else match.end()
        self.found.values.append(
            ValueFound(pointer, spot, value, start, self.position, is_leaf=True)
        )
        if is_array(value):
            self._empty_list(spot, value, pointer, start)

    def _object(self, spot: Spot, value: JsonObject, pointer: Pointer) -> None:
        nodes: tuple[Node, ...] = spot.objects
        chosen = self._chosen(spot, nodes, value)
        below = self._plan.below
        hidden = "key" if hides_key(chosen) else None
        for key, item in value.items():
            match = _KEY.match(self._data, self.position)
            self.position = self.position if match is None else match.end()
            if key == hidden:
                self._pass_scalar()
                continue
            at = place_below(chosen, pointer, key, value)
            self.value(below(nodes, key), item, at)
            if len(nodes) > 1:
                nodes = self._plan.narrowed(nodes, key, item)
        self.position = self._next(self.position) + 1

    def _list(self, spot: Spot, value: list[JsonValue], pointer: Pointer) -> None:
        nodes = spot.lists
        chosen = self._chosen(spot, nodes, value)
        prefix = prefix_of(nodes)
        stops: list[int] = []
        taken: set[Pointer] = set()
        may_repeat = chosen is not None and bool(chosen.ways)
        for index, item in enumerate(value):
            stops.append(self._next(self.position))
            self.position = stops[-1] + (index > 0)
            inner = self._plan.below(nodes, min(index, prefix))
            at = place_below(chosen, pointer, index, value)
            if may_repeat and at in taken:
                self._pass(inner, item, at)
            else:
                taken.add(at)
                self.value(inner, item, at)
        stops.append(self._next(self.position))
        self.position = stops[-1] + 1
        self._note_list(chosen, pointer, len(value), tuple(stops))

    def _empty_list(self, spot: Spot, value: list[JsonValue], pointer: Pointer, start: int) -> None:
        chosen = self._chosen(spot, spot.lists, value)
        self._note_list(chosen, pointer, 0, (self._next(start + 1),))

    def _note_list(
        self, node: Node | None, pointer: Pointer, length: int, stops: tuple[int, ...]
    ) -> None:
        known = node if isinstance(node, ArrayNode) else ANY_LIST
        found = ListFound(pointer, known, length, stops, stands_for(known))
        self.found.lists.append(found)

    def _chosen(self, spot: Spot, nodes: tuple[Node, ...], value: JsonValue) -> Node | None:
        return chosen_of(spot, nodes, value, self._plan)

    def _pass(self, spot: Spot, value: JsonValue, pointer: Pointer) -> None:
        """Pass an entry whose key has come before: of these the first one counts."""
        found, self.found = self.found, Found()
        self.value(spot, value, pointer)
        self.found = found

    def _next(self, at: int) -> int:
        data = self._data
        if at < len(data) and data[at] > 32:
            return at
        match = _SPACE.match(data, at)
        return at if match is None else match.end()

    def _pass_scalar(self) -> None:
        match = _SCALAR.match(self._data, self._next(self.position))
        self.position = self.position if match is None else match.end()


def chosen_of(spot: Spot, nodes: tuple[Node, ...], value: JsonValue, plan: Plan) -> Node | None:
    """Return which of `nodes` holds in the end for a container that stands at `spot`."""
    if len(nodes) <= 1:
        return nodes[0] if nodes else None
    top = spot.source[0] if len(spot.source) == 1 else UnionNode(branches=spot.source)
    return settle(top, value, plan.tree)


def place_below(node: Node | None, pointer: Pointer, key: str | int, value: JsonValue) -> Pointer:
    """Return the user's place of what an answer to `node` has under `key`."""
    if node is not None and node.ways:
        place = step(node, None, key, value)
        if place is None:
            return pointer
        key = place[1]
    if isinstance(key, int) or ("~" not in key and "/" not in key):
        return f"{pointer}/{key}"
    return join(pointer, key)


def stands_for(node: ArrayNode) -> str | None:
    """Return what an empty list means where a list of one stands for its element."""
    if not node.ways or step(node, None, 0, [None]) is not None:
        return None
    value: JsonValue = []
    for way in reversed(node.ways):
        value = way.lift(value, [])
    return json_text(None) if value is None else ABSENT


def prefix_of(nodes: tuple[Node, ...]) -> int:
    """Return from which position on all items of a list are alike."""
    return max((len(node.prefix) for node in nodes if isinstance(node, ArrayNode)), default=0)


def hides_key(node: Node | None) -> bool:
    """Whether an answer to `node` is an entry that stands for one of a map, with its key."""
    return (
        isinstance(node, ObjectNode)
        and len(node.properties) == 2
        and len(node.ways) == 1
        and type(node.ways[0]) is InPlace
    )
