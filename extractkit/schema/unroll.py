"""Recursion with an end: recursive definitions as a number of copies, one per level.

On the last level, what would go deeper is left out: a list of it can only be empty, an optional
key of it absent, an alternative of it is gone. Where the schema asks for more levels than that,
it is left recursive, and the reason is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from extractkit.schema.nodes import (
    AllOfNode,
    ArrayNode,
    NeverNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
    map_children,
    replace,
    walk_kind,
)

__all__ = ["Unrolled", "groups_of", "unroll"]

_MOST_COPIES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unrolled:
    """A tree without endless recursion.

    Attributes:
        tree: The new tree.
        bounded: Names of the definitions that are limited now.
        left: (definition, reason) of those that are still recursive.
        origin: Which definition each copy comes from.
        cut: Nodes of the last level that had more below them.
    """

    tree: SchemaTree
    bounded: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict[str, str])
    cut: frozenset[Node] = frozenset()


def unroll(tree: SchemaTree, depth: int) -> Unrolled:
    """Return `tree` with at most `depth` levels of each recursive definition."""
    groups = groups_of(tree)
    work = _Work(tree=tree, depth=depth)
    for group in groups:
        work.add(group)
    if not groups:
        return Unrolled(tree=tree)
    definitions = {name: node for name, node in tree.definitions.items() if name not in work.done}
    definitions.update(work.copies)
    return Unrolled(
        tree=replace(tree, definitions=definitions),
        bounded=tuple(work.done),
        left=tuple(work.left),
        origin=work.origin,
        cut=frozenset(work.cut),
    )


def groups_of(tree: SchemaTree) -> list[list[str]]:
    """Return the sets of definitions that lead to each other, each in the tree's order."""
    ahead = {
        name: {part.name for part in walk_kind(node, RefNode)}
        for name, node in tree.definitions.items()
    }
    reach: dict[str, set[str]] = {}
    for name in ahead:
        found: set[str] = set()
        pending = list(ahead[name])
        while pending:
            here = pending.pop()
            if here not in found:
                found.add(here)
                pending.extend(ahead[here])
        reach[name] = found
    groups: list[list[str]] = []
    grouped: set[str] = set()
    for name in ahead:
        if name in reach[name] and name not in grouped:
            group = [other for other in ahead if other in reach[name] and name in reach[other]]
            groups.append(group)
            grouped.update(group)
    return groups


class _Work:
    def __init__(self, *, tree: SchemaTree, depth: int) -> None:
        self._tree = tree
        self._depth = depth
        self.done: list[str] = []
        self.left: list[tuple[str, str]] = []
        self.copies: dict[str, Node] = {}
        self.origin: dict[str, str] = {}
        self.cut: set[Node] = set()

    def add(self, group: list[str]) -> None:
        """Write the copies of one group of mutually recursive definitions."""
        if len(group) * self._depth > _MOST_COPIES:
            self.left.append((group[0], f"{len(group)} definitions recurse into each other"))
            return
        copies: dict[str, Node] = {}
        cut: set[Node] = set()
        for level in range(self._depth, 0, -1):
            # A reference to a later definition of the group stays on the level; one to an
            # earlier definition, or to itself, goes a level deeper.
            for index in range(len(group) - 1, -1, -1):
                trimmer = _Trimmer(group, index, level, copies, cut)
                node = trimmer.trim(self._tree.definitions[group[index]])
                copies[_copy_name(group[index], level)] = node
        if any(isinstance(copies[_copy_name(name, 1)], NeverNode) for name in group):
            self.left.append((group[0], f"it needs more than {self._depth} levels"))
            return
        self.done.extend(group)
        self.cut |= cut
        for name, node in copies.items():
            if not isinstance(node, NeverNode):
                self.copies[name] = node
        self.origin.update(
            (_copy_name(name, level), name) for name in group for level in range(1, self._depth + 1)
        )


def _copy_name(name: str, level: int) -> str:
    return name if level == 1 else f"{name}.level{level}"


class _Trimmer:
    """Points references of one definition on one level to the right copies, or cuts them."""

    def __init__(
        self, group: list[str], index: int, level: int, copies: Mapping[str, Node], cut: set[Node]
    ) -> None:
        self._order = {name: position for position, name in enumerate(group)}
        self._index = index
        self._level = level
        self._copies = copies
        self._cut = cut

    def trim(self, node: Node) -> Node:
        """Return `node` for this level; NeverNode where nothing is left."""
        if isinstance(node, RefNode) and node.name in self._order:
            deeper = self._order[node.name] <= self._index
            name = _copy_name(node.name, self._level + 1 if deeper else self._level)
            copy = self._copies.get(name)
            if copy is None or isinstance(copy, NeverNode):
                return NeverNode(pointer=node.pointer)
            return replace(node, name=name)
        trimmed = map_children(node, self.trim)
        if trimmed is node:
            return node
        if isinstance(trimmed, UnionNode):
            return self._union(trimmed)
        if isinstance(trimmed, ArrayNode) and isinstance(node, ArrayNode):
            return self._list(trimmed, node)
        if isinstance(trimmed, ObjectNode) and isinstance(node, ObjectNode):
            return self._object(trimmed, node)
        if isinstance(trimmed, AllOfNode) and any(map(_is_never, trimmed.parts)):
            return NeverNode(pointer=node.pointer)
        return trimmed

    def _union(self, node: UnionNode) -> Node:
        left = [branch for branch in node.branches if not _is_never(branch)]
        if len(left) == len(node.branches):
            return node
        if not left:
            return NeverNode(pointer=node.pointer)
        # Any of them may stand where a deeper one was wanted.
        left = [replace(branch) for branch in left]
        self._cut.update(left)
        if len(left) > 1:
            return replace(node, branches=tuple(left))
        only = replace(left[0], description=node.description or left[0].description)
        self._cut.add(only)
        return only

    def _list(self, node: ArrayNode, before: ArrayNode) -> Node:
        prefix: list[Node] = []
        for part in node.prefix:
            if _is_never(part):
                break
            prefix.append(part)
        shorter = len(prefix) < len(node.prefix)
        if not shorter and (_is_never(before.items) or not _is_never(node.items)):
            return node
        if node.min_items > len(prefix):
            return NeverNode(pointer=node.pointer)
        short = replace(
            node,
            prefix=tuple(prefix),
            items=NeverNode(pointer=node.items.pointer),
            max_items=len(prefix),
        )
        self._cut.add(short)
        return short

    def _object(self, node: ObjectNode, before: ObjectNode) -> Node:
        if any(prop.required and _is_never(prop.node) for prop in node.properties):
            return NeverNode(pointer=node.pointer)
        patterns = tuple(pair for pair in node.patterns if not _is_never(pair[1]))
        lost = (
            len(patterns) < len(node.patterns)
            or (_is_never(node.extra) and not _is_never(before.extra))
            or any(
                _is_never(prop.node) and not _is_never(old.node)
                for prop, old in zip(node.properties, before.properties, strict=True)
            )
        )
        if not lost:
            return node
        closed = replace(node, patterns=patterns)
        self._cut.add(closed)
        return closed


def _is_never(node: Node) -> bool:
    return isinstance(node, NeverNode)
