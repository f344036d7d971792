"""An answer that was cut off, from the form that was sent to the user's form.

Neighbours: `parsing` says what of it is finished, `convert` knows the way back of whole answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from extractkit.paths import JsonValue, Pointer, get, is_array, is_object, split
from extractkit.results import FieldState, PartialResult
from extractkit.schema.convert import Lifter, Place, below, pointer_of, settle, step
from extractkit.schema.nodes import ArrayNode, Node, SchemaTree

__all__ = ["take_back_unfinished"]

_RANK = {FieldState.MISSING: 0, FieldState.PRESENT: 1, FieldState.PENDING: 2}


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a wire pointer leads: the node that holds it, and the user's place."""

    holder: Node | None
    place: Place


def take_back_unfinished(partial: PartialResult, tree: SchemaTree, lifter: Lifter) -> PartialResult:
    """Return `partial` with document and pointers in the user's form.

    Of places that become one the least finished state counts. What stands for an absent key is
    gone, and so is its state. An entry of a map that is not finished is left out of the document.

    Args:
        partial: What could be read, in the form that was sent.
        tree: The nodes of that form.
        lifter: The way back of whole answers.
    """
    if not lifter.lifts or not partial.states:
        return partial
    spots = {pointer: _spot(tree, partial.document, split(pointer)) for pointer in partial.states}
    document = lifter.lift(_without_begun(partial, spots))[0]
    states: dict[Pointer, FieldState] = {}
    for pointer, state in partial.states.items():
        place = pointer_of(spots[pointer].place)
        if state is FieldState.PRESENT and not _stands(document, place):
            continue
        states[place] = max(states.get(place, state), state, key=_RANK.__getitem__)
    return PartialResult(document=document, states=states)


def _spot(tree: SchemaTree, document: JsonValue, tokens: tuple[str, ...]) -> _Spot:
    holder: Node | None = None
    node: Node | None = settle(tree.root, document, tree)
    value, place = document, None
    for token in tokens:
        key: str | int = int(token) if is_array(value) and token.isdecimal() else token
        holder = node
        place = (place, key) if node is None else step(node, place, key, _as_whole(value, key))
        value = _inner(value, key)
        inner = below(node, key)
        node = None if inner is None else settle(inner, value, tree)
    return _Spot(holder, place)


def _inner(value: JsonValue, key: str | int) -> JsonValue:
    if is_object(value):
        return value.get(str(key))
    return value[key] if is_array(value) and isinstance(key, int) and key < len(value) else None


def _as_whole(value: JsonValue, key: str | int) -> JsonValue:
    """Return a list with something at `key`: what was begun there may not be in the document."""
    if is_array(value) and isinstance(key, int) and key >= len(value):
        return [*value, *[None] * (key + 1 - len(value))]
    return value


def _without_begun(partial: PartialResult, spots: Mapping[Pointer, _Spot]) -> JsonValue:
    """Return the document without the last element of lists that stand for something else."""
    begun = [
        pointer
        for pointer, state in partial.states.items()
        if state is FieldState.PENDING and _is_rewritten_list(spots[pointer].holder)
    ]
    document = partial.document
    for pointer in begun:
        *above, last = split(pointer)
        document = _without(document, tuple(above), last)
    return document


def _is_rewritten_list(node: Node | None) -> bool:
    return isinstance(node, ArrayNode) and any(way.lifts for way in node.ways)


def _without(document: JsonValue, above: tuple[str, ...], last: str) -> JsonValue:
    if not above:
        if is_array(document) and int(last) < len(document):
            return document[: int(last)]
        return document
    key, *rest = above
    inner = _inner(document, int(key) if is_array(document) else key)
    changed = _without(inner, tuple(rest), last)
    if is_object(document) and key in document:
        return {**document, key: changed}
    if is_array(document) and int(key) < len(document):
        return [*document[: int(key)], changed, *document[int(key) + 1 :]]
    return document


def _stands(document: JsonValue, pointer: Pointer) -> bool:
    try:
        get(document, pointer)
    except KeyError:
        return False
    return True
