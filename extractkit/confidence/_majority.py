"""One document out of several: at each place the value that most of them hold.

Neighbours: `engine` hands in the documents of several answers and judges what comes of it anew;
`_alike` says which leaves are the same. Nothing here asks, and no document is changed.

Structure is voted on before what it holds, and only those who share it vote on that:

* a key that is declared may be there or not, each by itself; the keys of a map are one whole;
* of a union, the branch (a tag is never mixed with the fields of another one);
* of a list, the length; then each position. Within an element only those vote that have more than
  half of its leaves in common with the one that most support, so that two things that stand at
  the same position in two lists are never mixed into one that nobody named. Where a list then
  holds an element more often than any of the lists does, the list that agrees most with the
  others is taken whole instead.

Ties go to the earliest document.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeAlias

from extractkit.confidence._alike import MISSING, Leaf, Places, places_of
from extractkit.errors import UsageError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below
from extractkit.schema.nodes import ArrayNode, Node

__all__ = ["majority", "nearest"]

_Leaves: TypeAlias = Mapping[Pointer, Leaf]
_NOTHING: Final = ("missing",)


def majority(documents: Sequence[JsonValue], compiled: CompiledSchema) -> JsonValue:
    """Return a document that holds at each place what most of `documents` hold there.

    It need be none of them, and nothing says that it fits the schema. Of several spellings of the
    same value the one that comes most often is taken. Cost: linear in the leaves of all documents.

    Args:
        documents: Answers in the user's form, earliest first.
        compiled: The target.

    Raises:
        UsageError: If there is no document.
    """
    if not documents:
        raise UsageError("found no document; expected at least one to take the values from")
    places = places_of(compiled)
    return copy.deepcopy(_Vote(places).of(places.tree.root, None, "", list(documents)))


def nearest(document: JsonValue, documents: Sequence[JsonValue], compiled: CompiledSchema) -> int:
    """Return the position of the document that has most leaves in common with `document`.

    Args:
        document: What is looked for.
        documents: Among these, at least one; of equals the first is taken.
        compiled: The target.
    """
    places = places_of(compiled)
    mine = places.leaves(document, places.tree.root)
    scores = [_common(mine, places.leaves(each, places.tree.root)) for each in documents]
    return max(range(len(scores)), key=scores.__getitem__)


def _common(one: _Leaves, other: _Leaves) -> tuple[int, int, int]:
    """Return how many leaves are the same, how few are not there, how many are written alike."""
    pairs = [(leaf, other[pointer]) for pointer, leaf in one.items() if pointer in other]
    same = sum(mine.key == theirs.key for mine, theirs in pairs)
    alike = sum(mine.label == theirs.label for mine, theirs in pairs)
    return same, -abs(len(one) - len(other)), alike


class _Vote:
    """Votes on the places of one target."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def of(
        self, node: Node | None, outer: Node | None, key: str, values: list[JsonValue]
    ) -> JsonValue:
        """Return what most of `values` are, MISSING among them.

        Args:
            node: What speaks of the place.
            outer: What speaks of the object that it is a key of, if it is.
            key: That key.
            values: What each document holds there, at least one, earliest document first.
        """
        shapes: dict[Hashable, list[JsonValue]] = {}
        for value in values:
            shapes.setdefault(self._shape(node, outer, key, value), []).append(value)
        group = max(shapes.values(), key=len)
        first = group[0]
        if first is not MISSING and is_object(first):
            return self._object(self._places.settled(node, first), group)
        if first is not MISSING and is_array(first):
            return self._list(self._places.settled(node, first), group)
        labels = ["" if value is MISSING else repr(value) for value in group]
        (best, _), *_ = Counter(labels).most_common(1)
        return group[labels.index(best)]

    def _shape(self, node: Node | None, outer: Node | None, key: str, value: JsonValue) -> Hashable:
        """Return what is equal for values that are voted on together."""
        if value is MISSING:
            default = self._places.default(outer, key)
            return _NOTHING if default is MISSING else self._shape(node, None, "", default)
        if is_array(value):
            return "list", len(value)
        if is_object(value):
            settled = self._places.settled(node, value)
            return "object", id(settled), self._places.open_keys(settled, value)
        return self._places.leaf(value, node).key

    def _object(self, node: Node | None, group: list[JsonValue]) -> JsonObject:
        found: JsonObject = {}
        for key in dict.fromkeys(key for value in group for key in value):
            held = [value.get(key, MISSING) for value in group]
            part = self.of(below(node, key), node, key, held)
            if part is not MISSING:
                found[key] = part
        return found

    def _list(self, node: Node | None, group: list[JsonValue]) -> list[JsonValue]:
        fixed = len(node.prefix) if isinstance(node, ArrayNode) else 0
        found: list[JsonValue] = []
        for position in range(len(group[0])):
            held = [value[position] for value in group]
            spoken = below(node, position)
            if position >= fixed:
                held = self._of_one_thing(spoken, held)
            found.append(self.of(spoken, None, "", held))
        if self._repeats_more(node, found[fixed:], [value[fixed:] for value in group], fixed):
            whole: list[JsonValue] = group[self._supported(node, group)[0]]
            return whole
        return found

    def _of_one_thing(self, node: Node | None, items: list[JsonValue]) -> list[JsonValue]:
        """Return the items that are the same thing as the one that most support."""
        best, leaves = self._supported(node, items)
        reference = leaves[best]
        return [
            item
            for item, mine in zip(items, leaves, strict=True)
            if 2 * _common(reference, mine)[0] > max(len(reference), len(mine))
        ]

    def _supported(self, node: Node | None, values: list[JsonValue]) -> tuple[int, list[_Leaves]]:
        """Return which value has the leaves that most others hold, too, and the leaves of all."""
        leaves: list[_Leaves] = [self._places.leaves(value, node) for value in values]
        support = Counter((at, leaf.key) for each in leaves for at, leaf in each.items())
        scores = [
            sum(support[at, leaf.key] for at, leaf in each.items()) / len(each) for each in leaves
        ]
        return scores.index(max(scores)), leaves

    def _repeats_more(
        self,
        node: Node | None,
        items: list[JsonValue],
        lists: list[list[JsonValue]],
        fixed: int,
    ) -> bool:
        """Whether an item stands more often among `items` than in any of the lists."""
        spoken = below(node, fixed)
        most: Counter[Hashable] = Counter()
        for each in lists:
            most |= Counter(self._identity(spoken, item) for item in each)
        made = Counter(self._identity(spoken, item) for item in items)
        return any(count > max(1, most[item]) for item, count in made.items())

    def _identity(self, node: Node | None, value: JsonValue) -> Hashable:
        leaves = self._places.leaves(value, node)
        return frozenset((at, leaf.key) for at, leaf in leaves.items())
