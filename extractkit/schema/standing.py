"""What a target says of each place of a document: kept, so that it is found out once.

Neighbours: `claims` walks a document with this. A place is known by the nodes that speak of it and
by the mark that it inherits; which branch of a union speaks depends on the value, most often on
its type only. Nothing here looks into a text.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from extractkit.fields import Mark
from extractkit.paths import JsonValue, join
from extractkit.schema.convert import below
from extractkit.schema.match import choose, is_unknown, json_types
from extractkit.schema.nodes import (
    AllOfNode,
    ArrayNode,
    ChoiceNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.plain import type_of

__all__ = ["Child", "ClaimKind", "Known", "Leaf", "Plan", "Spot"]

ClaimKind: TypeAlias = Literal["text", "number", "date", "datetime", "time", "key", "exempt"]
Leaf: TypeAlias = tuple[ClaimKind, Mark | None]
Child: TypeAlias = "tuple[str, Spot, bool]"
"""Last token of the pointer with its slash, place, whether a type leaves it out."""

_Settled: TypeAlias = tuple[tuple[Node, ...], Mark | None, bool, bool]
"""What speaks of a value in the end, its mark, whether the mark is its own, whether a decimal."""

_FORMATS: Final[dict[str, ClaimKind]] = {
    "date": "date",
    "date-time": "datetime",
    "duration": "exempt",  # a span of time is read out of no text
    "time": "time",
}
_MOST_KEPT: Final = 10_000
"""Places kept of one target: combinations of branches can be very many."""
_MOST_ITEMS: Final = 1000
"""Items of a list whose pointers are kept."""


class Plan:
    """What is known of the places of one target. Safe to share between threads.

    Attributes:
        tree: The user's own nodes, not lowered.
        root: The outermost place.
        top: What the document itself is the only part of.
    """

    def __init__(self, tree: SchemaTree) -> None:
        self.tree = tree
        self._spots: dict[tuple[tuple[Node, ...], Mark | None], Spot] = {}
        self._known: dict[_Settled, Known] = {}
        self.root = self.spot((tree.root,), None)
        self.top = Known(self, ((), None, False, False))
        self.top.children[""] = "", self.root, False

    def spot(self, nodes: tuple[Node, ...], mark: Mark | None) -> Spot:
        """Return the place of which `nodes` speak."""
        found = self._spots.get((nodes, mark))
        if found is None:
            found = Spot(self, nodes, mark)
            if len(self._spots) < _MOST_KEPT:
                self._spots[nodes, mark] = found
        return found

    def known(self, settled: _Settled) -> Known:
        """Return what nodes, with neither unions nor references among them, say of a value."""
        found = self._known.get(settled)
        if found is None:
            found = Known(self, settled)
            if len(self._known) < _MOST_KEPT:
                self._known[settled] = found
        return found


class Spot:
    """A place before its value is looked at.

    Attributes:
        mark: The mark that it inherits.
        leaves: Kind and mark of the leaves here, by the type of their value, where no more than
            that decides. Containers are not in it.
    """

    __slots__ = ("_by_type", "_nodes", "_plan", "leaves", "mark")

    def __init__(self, plan: Plan, nodes: tuple[Node, ...], mark: Mark | None) -> None:
        self._plan = plan
        self._nodes = nodes
        self.mark = mark
        self.leaves: dict[type[object], Leaf] = {}
        self._by_type: dict[type[object], Known] = {}

    def leaf(self, value: JsonValue) -> Leaf:
        """Return kind and mark of `value`, a scalar or an empty container."""
        kind = value.__class__
        known = self.known(value)
        leaf = _kind(value, known), known.mark
        if kind in self._by_type and kind not in (dict, list):
            self.leaves[kind] = leaf
        return leaf

    def known(self, value: JsonValue) -> Known:
        """Return what speaks of `value` in the end."""
        return self._by_type.get(value.__class__) or self._settle(value)

    def is_known_by_type(self, value: JsonValue) -> bool:
        """Whether the same speaks of every value of this type."""
        self.known(value)
        return value.__class__ in self._by_type

    def _settle(self, value: JsonValue) -> Known:
        """Follow references, parts and branches; a mark further in replaces one further out."""
        settled: list[Node] = []
        mark, own, decimal, by_type = self.mark, False, False, True
        pending = list(reversed(self._nodes))
        tree = self._plan.tree
        while pending:
            node = pending.pop()
            mark = node.mark or mark
            own = own or node.mark is not None
            if isinstance(node, RefNode):
                pending.append(tree.definitions[node.name])
            elif isinstance(node, AllOfNode):
                pending.extend(reversed(node.parts))
            elif isinstance(node, UnionNode):
                decimal = decimal or node.decimal
                by_type = by_type and _is_chosen_by_type(node, value, tree)
                branch = choose(node, value, tree)
                if branch is not None:
                    pending.append(branch)
            else:
                settled.append(node)
        known = self._plan.known((tuple(settled), mark, own, decimal))
        if by_type:
            self._by_type[value.__class__] = known
        return known


def _is_chosen_by_type(node: UnionNode, value: JsonValue, tree: SchemaTree) -> bool:
    """Whether `choose` takes the same branch for every value of this type."""
    kind = type_of(value)
    near = [branch for branch in node.branches if kind in json_types(branch, tree)]
    named = kind == "object" and node.tag is not None
    return len(near) <= 1 and not named and not any(is_unknown(tree.resolve(each)) for each in near)


class Known:
    """What the nodes say of a value in the end: several nodes where an allOf speaks of it.

    Attributes:
        nodes: They; none is a union, a reference or an allOf.
        mark: The user's mark on it or on the nearest container that has one.
        own: The mark is its own.
        decimal: It is a decimal number in one of its spellings.
        keys_claim: The keys of such an object are invented text, or marked, and claim too.
        key_mark: The mark that holds for its keys.
        children: Those of its parts of which it is known already what is said of them.
    """

    __slots__ = (
        "_dropped_items",
        "_items",
        "_last_item",
        "_named",
        "_plan",
        "children",
        "decimal",
        "key_mark",
        "keys_claim",
        "mark",
        "nodes",
        "own",
    )

    def __init__(self, plan: Plan, settled: _Settled) -> None:
        self._plan = plan
        self.nodes, self.mark, self.own, self.decimal = settled
        nodes = self.nodes
        self.children: dict[str | int, Child] = {}
        self._items: dict[int, Spot] = {}
        self._named: frozenset[str] | None = None
        names = [each.names for each in nodes if isinstance(each, ObjectNode) and each.names]
        marks = [mark for each in names if (mark := each.mark or plan.tree.resolve(each).mark)]
        self.key_mark = marks[0] if marks else self.mark
        self.keys_claim = self._do_keys_claim(is_marked=bool(marks))
        own = [len(node.prefix) for node in nodes if isinstance(node, ArrayNode)]
        self._last_item = max(own, default=0)  # from there on, all items are alike
        self._dropped_items = _drops(nodes, 0)

    def child(self, key: str | int) -> Child:
        """Return what is said of the member with this key, or of the item at this position."""
        if isinstance(key, int):
            at = min(key, self._last_item)
            spot = self._items.get(at)
            if spot is None:
                spot = self._items[at] = self._below(at)
            item = f"/{key}", spot, self._dropped_items
            if key < _MOST_ITEMS:
                self.children[key] = item
            return item
        member = join("", key), self._below(key), _drops(self.nodes, key)
        if self._named is None:
            self._named = _names(self.nodes)
        if key in self._named or len(self.children) < _MOST_ITEMS:
            self.children[key] = member
        return member

    def _below(self, key: str | int) -> Spot:
        nodes = tuple(found for node in self.nodes if (found := below(node, key)) is not None)
        return self._plan.spot(nodes, self.mark)

    def _do_keys_claim(self, *, is_marked: bool) -> bool:
        """Whether these are maps whose keys are free text or marked, and nothing exempts them.

        Args:
            is_marked: The keys have a mark of their own; then those of a choice claim, too.
        """
        maps = [node for node in self.nodes if isinstance(node, ObjectNode)]
        if not maps or self.key_mark in (Mark.INFERRED, Mark.REASONING):
            return False
        tree = self._plan.tree
        return not any(
            node.properties or (not is_marked and _is_finite(node.names, tree)) for node in maps
        )


def _is_finite(names: Node | None, tree: SchemaTree) -> bool:
    return names is not None and isinstance(tree.resolve(names), ChoiceNode)


def _names(nodes: tuple[Node, ...]) -> frozenset[str]:
    """Return the keys that the nodes know by name; others can be without number."""
    maps = [node for node in nodes if isinstance(node, ObjectNode)]
    declared = {prop.name for node in maps for prop in node.properties}
    return frozenset(declared.union(*(node.reads for node in maps)))


def _drops(nodes: tuple[Node, ...], key: str | int) -> bool:
    """Whether no node reads `key`, nor says anything of keys that it does not declare."""
    maps = [node for node in nodes if isinstance(node, ObjectNode)]
    return bool(maps) and all(
        bool(node.properties)
        and not (node.extra_stated or node.patterns or key in node.reads)
        and all(prop.name != key for prop in node.properties)
        for node in maps
    )


def _kind(value: JsonValue, known: Known) -> ClaimKind:
    """Return what a leaf is looked for as; the same for every value of a type."""
    if value is None or isinstance(value, bool | dict | list):
        return "exempt"
    if known.mark in (Mark.INFERRED, Mark.REASONING):
        return "exempt"
    choices = [node for node in known.nodes if isinstance(node, ChoiceNode)]
    if any(node.unknown for node in choices) or (choices and known.mark is None):
        return "exempt"
    if choices and not known.own and all(len(node.values) == 1 for node in choices):
        return "exempt"  # a tag below a marked container is a part of the form
    if isinstance(value, int | float) or known.decimal:
        return "number"
    for node in known.nodes:
        if isinstance(node, StringNode) and node.format in _FORMATS:
            return _FORMATS[node.format]
    return "text"
