"""How many of several answers have as many elements, and leave out the same keys.

A share per leaf says nothing of what others have and one answer has not: of ["a"] and ["a", "b"]
the one leaf of the first is in both.

Neighbours: `_agreement` counts the leaves themselves; `_alike` says what is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from extractkit.confidence._agreement import Tally
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
    `presence` each declared key that the answer leaves out: the share that leaves it out, too, or
    has its default. Lists of a fixed length have none, and what is in a set is a leaf of its own.

    Args:
        documents: Answers in the user's form.
        given: The answer that is given out.
        compiled: The target; None: only what the values say themselves.
        asked: As of `agreement`.
        shares: As of `agreement`.

    Raises:
        UsageError: As of `agreement`.
    """
    tally = Tally(len(documents), asked, shares)
    places = places_of(compiled)
    lengths: dict[Pointer, Confidence] = {}
    presence: dict[Pointer, Confidence] = {}
    for place in _places_in(given, places):
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


def _places_in(document: JsonValue, places: Places) -> Iterator[_Place]:
    pending: list[tuple[_Keys, Node | None, JsonValue]] = [((), places.tree.root, document)]
    while pending:
        keys, spoken, value = pending.pop()
        node = places.settled(spoken, value)
        if is_array(value):
            if not (isinstance(node, ArrayNode) and node.min_items == node.max_items):
                yield _Place(keys, is_left_out=False)
            if not places.is_set(node):
                parts = [((*keys, at), below(node, at), part) for at, part in enumerate(value)]
                pending.extend(reversed(parts))
        elif is_object(value):
            if _is_map(places, node, value):
                yield _Place(keys, is_left_out=False)
            for prop in node.properties if isinstance(node, ObjectNode) else ():
                if prop.declared and prop.name not in value:
                    yield _Place((*keys, prop.name), is_left_out=True)
            named = [((*keys, key), below(node, key), part) for key, part in value.items()]
            pending.extend(reversed(named))


def _is_map(places: Places, node: Node | None, value: JsonObject) -> bool:
    if isinstance(node, ObjectNode) and (node.extra_stated or node.patterns):
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
