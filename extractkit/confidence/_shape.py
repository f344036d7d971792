"""How many of several answers have as many elements, and leave out the same keys.

A share per leaf says nothing of what others have and one answer has not: of ["a"] and ["a", "b"]
the one leaf of the first is in both.

Neighbours: `_agreement` counts the leaves themselves; `_alike` says what is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from extractkit.confidence._agreement import Tally, require_list
from extractkit.confidence._alike import MISSING, NOT_THERE, Leaf, Places, places_of
from extractkit.confidence._options import json_text
from extractkit.confidence._weighing import Scores
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.results import Confidence
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below
from extractkit.schema.nodes import ArrayNode, Node, ObjectNode
from extractkit.schema.plain import json_key, type_of

__all__ = ["shape_agreement"]

_Keys: TypeAlias = tuple[str | int, ...]
_Part: TypeAlias = tuple[Node | None, JsonValue]
"""A part of an answer, and what speaks of it."""


def shape_agreement(
    documents: Sequence[JsonValue],
    given: JsonValue,
    *,
    compiled: CompiledSchema | None = None,
    asked: int | None = None,
    shares: Sequence[float] | None = None,
) -> Scores:
    """Return how far several answers agree with one on lengths and on keys that it leaves out.

    `lengths` has each list, set and map: the share of answers in which it has as many elements;
    `presence` each key that the answer leaves out and its type or another answer's has: the share
    that leaves it out, too, or has its default. Lists of a fixed length have none unless another
    answer has another one, and what is in a set is a leaf of its own.

    Args:
        documents: Answers in the user's form.
        given: The answer that is given out.
        compiled: The target; None: only what the values say themselves.
        asked: As of `agreement`.
        shares: As of `agreement`.

    Raises:
        UsageError: As of `agreement`.
    """
    require_list("documents", documents)
    tally = Tally(len(documents), asked, shares)
    places = places_of(compiled)
    lengths: dict[Pointer, Confidence] = {}
    presence: dict[Pointer, Confidence] = {}
    for place in _places_in(given, documents, places):
        read = _whole if place.is_left_out else _length
        found = presence if place.is_left_out else lengths
        found[join("", *place.keys)] = tally.of(
            read(places, given, place.keys),
            [read(places, document, place.keys) for document in documents],
            what="left out: " if place.is_left_out else "length: ",
        )
    return Scores(lengths=lengths, presence=presence)


class _Place(NamedTuple):
    """A list or map, or a declared key that is not there.

    Attributes:
        keys: The way to it.
        is_left_out: It is such a key.
    """

    keys: _Keys
    is_left_out: bool


def _places_in(
    document: JsonValue, others: Sequence[JsonValue], places: Places
) -> Iterator[_Place]:
    root = places.tree.root
    pending: list[tuple[_Keys, _Part, list[_Part]]]
    pending = [((), (root, document), [(root, other) for other in others])]
    while pending:
        keys, (spoken, value), beside = pending.pop()
        node = places.settled(spoken, value)
        same = [
            (places.settled(of_other, other), other)
            for of_other, other in beside
            if type(other) is type(value)
        ]
        inner: list[str | int] = []
        if is_array(value):
            is_fixed = isinstance(node, ArrayNode) and node.min_items == node.max_items
            if not is_fixed or any(len(other) != len(value) for _, other in same):
                yield _Place(keys, is_left_out=False)
            inner.extend(() if places.is_set(node) else range(len(value)))
        elif is_object(value):
            is_map = _is_map(places, node, value)
            if is_map:
                yield _Place(keys, is_left_out=False)
            for name in _left_out(places, node, value, same, is_map=is_map):
                yield _Place((*keys, name), is_left_out=True)
            inner.extend(value)
        parts = [
            ((*keys, key), part, _parts(same, key))
            for key in inner
            for part in _parts([(node, value)], key)
        ]
        pending.extend(reversed(parts))


def _parts(containers: Sequence[_Part], key: str | int) -> list[_Part]:
    """Return what stands under a key or position, of those that have it."""
    if isinstance(key, int):
        lists = [(node, value) for node, value in containers if is_array(value)]
        return [(below(node, key), value[key]) for node, value in lists if key < len(value)]
    objects = [(node, value) for node, value in containers if is_object(value)]
    return [(below(node, key), value[key]) for node, value in objects if key in value]


def _left_out(
    places: Places,
    node: Node | None,
    value: JsonObject,
    others: Sequence[_Part],
    *,
    is_map: bool,
) -> Iterator[str]:
    """Yield the keys that an object lacks: of its own type, and of those of other answers.

    How many keys a map has is its length; that of others counts with it.
    """
    names = dict.fromkeys(_declared(node))
    for of_other, other in others:
        if is_object(other):
            names.update((key, None) for key in _declared(of_other) if key in other)
            if not is_map:
                opened = places.open_keys(of_other, other)
                names.update((key, None) for key in other if key in opened)
    yield from (name for name in names if name not in value)


def _declared(node: Node | None) -> list[str]:
    properties = node.properties if isinstance(node, ObjectNode) else ()
    return [prop.name for prop in properties if prop.declared]


def _is_map(places: Places, node: Node | None, value: JsonObject) -> bool:
    if isinstance(node, ObjectNode):
        if node.is_closed and not node.patterns:
            return False
        if node.extra_stated or node.patterns:
            return True
    return bool(places.open_keys(node, value))


def _reach(places: Places, document: JsonValue, keys: _Keys) -> tuple[Any, Node | None]:
    """Return what stands at a place, by default too, and what speaks of it; MISSING if nothing."""
    value: JsonValue = document
    node = places.settled(places.tree.root, value)
    for key in keys:
        spoken = below(node, key)
        if isinstance(key, int):
            if not is_array(value) or key >= len(value):
                return MISSING, None
            value = value[key]
        elif not is_object(value):
            return MISSING, None
        else:
            value = value[key] if key in value else places.default(node, key)
            if value is MISSING:
                return MISSING, None
        node = places.settled(spoken, value)
    return value, node


def _length(places: Places, document: JsonValue, keys: _Keys) -> Leaf:
    """Return how many elements a list, set or map has; what stands there where it is none."""
    value, node = _reach(places, document, keys)
    if is_array(value):
        count = len(value)
        if places.is_set(node):
            count = len({places.element(part, below(node, 0)) for part in value})
    elif is_object(value):
        count = len(places.open_keys(node, value))
    else:
        return _whole(places, document, keys)
    return Leaf(f"{type_of(value)} {count}", str(count))


def _whole(places: Places, document: JsonValue, keys: _Keys) -> Leaf:
    """Return what a whole part counts as."""
    value, node = _reach(places, document, keys)
    if value is MISSING:
        return NOT_THERE
    if value and (is_array(value) or is_object(value)):
        return Leaf(json_key(value), json_text(value))
    return places.leaf(value, node)
