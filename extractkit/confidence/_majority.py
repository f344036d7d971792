"""One document out of several: at each place the value that most of them hold.

Neighbours: `engine` hands in the documents of several answers and judges what comes of it anew;
`_alike` says which leaves are the same. Nothing here asks, and no document is changed.

Structure is voted on before what it holds, and only those who share it vote on that:

* a key that is declared may be there or not, each by itself; the keys of a map are one whole;
* of a union, the branch (a tag is never mixed with the fields of another one);
* of a list, the length; then each position. What comes of a vote on an element is one thing to
  those that have more than half of its leaves in common with it, and only these vote on it then;
  where there are none, the element that is most like the others is taken whole. So two things
  that stand at the same position in two lists are not mixed into one that nobody named. Where a
  list then holds an element more often than any of the lists does, the list that is most like the
  others is taken whole. Of a set each element by itself: what more than half of the sets hold.

Ties go to the earliest document.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeAlias

from extractkit.confidence._agreement import require_list
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
    require_list("documents", documents)
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
        filled = next((value for value in group if value is not MISSING and value), None)
        if is_object(filled) or is_array(filled):
            settled, default = self._places.settled(node, filled), self._places.default(outer, key)
            held = [default if value is MISSING else value for value in group]
            return self._object(settled, held) if is_object(filled) else self._list(settled, held)
        labels = ["" if value is MISSING else repr(value) for value in group]
        (best, _), *_ = Counter(labels).most_common(1)
        return group[labels.index(best)]

    def _shape(self, node: Node | None, outer: Node | None, key: str, value: JsonValue) -> Hashable:
        """Return what is equal for values that are voted on together."""
        if value is MISSING:
            default = self._places.default(outer, key)
            return _NOTHING if default is MISSING else self._shape(node, None, "", default)
        if is_array(value):
            is_set = self._places.is_set(self._places.settled(node, value))
            return "set" if is_set else ("list", len(value))
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

    def _set(self, node: Node | None, group: list[JsonValue]) -> list[JsonValue]:
        """Return what more than half of the sets hold; one of them, if that is nothing."""
        held: Counter[str] = Counter()
        first: dict[str, JsonValue] = {}
        spoken = below(node, 0)
        for each in group:
            named = {self._places.element(item, spoken): item for item in each}
            held.update(named.keys())
            first = named | first
        found = [first[name] for name, count in held.items() if 2 * count > len(group)]
        return found or self._supported(node, group)

    def _list(self, node: Node | None, group: list[JsonValue]) -> list[JsonValue]:
        if self._places.is_set(node):
            return self._set(node, group)
        fixed = len(node.prefix) if isinstance(node, ArrayNode) else 0
        found: list[JsonValue] = []
        for position in range(len(group[0])):
            held = [value[position] for value in group]
            spoken = below(node, position)
            is_fixed = position < fixed
            found.append(self.of(spoken, None, "", held) if is_fixed else self._item(spoken, held))
        if self._repeats_more(node, found[fixed:], [value[fixed:] for value in group], fixed):
            whole: list[JsonValue] = self._supported(node, group)
            return whole
        return found

    def _item(self, node: Node | None, items: list[JsonValue]) -> JsonValue:
        """Return what most of `items` are, where that is one thing to several of them."""
        leaves = [self._places.leaves(item, node) for item in items]
        usual = _usual(leaves)
        near = [
            item for item, mine in zip(items, leaves, strict=True) if _is_one_thing(usual, mine)
        ]
        if near:
            made = self.of(node, None, "", near)
            mine = self._places.leaves(made, node)
            if any(_is_one_thing(mine, self._places.leaves(item, node)) for item in near):
                return made
        return self._supported(node, items)

    def _supported(self, node: Node | None, values: list[JsonValue]) -> JsonValue:
        """Return the value whose leaves most of the others hold, too."""
        leaves: list[_Leaves] = [self._places.leaves(value, node) for value in values]
        support = Counter((at, leaf.key) for each in leaves for at, leaf in each.items())
        scores = [
            sum(support[at, leaf.key] for at, leaf in each.items()) / len(each) for each in leaves
        ]
        return values[scores.index(max(scores))]

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


def _usual(several: Sequence[_Leaves]) -> _Leaves:
    """Return the leaf that comes most often at each place where most have one."""
    found: dict[Pointer, Counter[Leaf]] = {}
    for leaves in several:
        for pointer, leaf in leaves.items():
            found.setdefault(pointer, Counter())[leaf._replace(label="")] += 1
    best = {pointer: counts.most_common(1)[0][0] for pointer, counts in found.items()}
    return {
        pointer: leaf
        for pointer, leaf in best.items()
        if 2 * found[pointer].total() >= len(several)
    }


def _is_one_thing(one: _Leaves, other: _Leaves) -> bool:
    """Whether more than half of the leaves of two elements are the same."""
    return 2 * _common(one, other)[0] > max(len(one), len(other))
