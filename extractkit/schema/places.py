"""Where definitions stand in the user's document, and which of them say nothing at all.

`read` uses this once per target, so that every loss can be told at every place it concerns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from extractkit.errors import SchemaError
from extractkit.paths import Pointer, is_object
from extractkit.schema.nodes import (
    AllOfNode,
    Node,
    RefNode,
    SchemaTree,
    UnionNode,
    children,
    owners,
    walk_kind,
)
from extractkit.schema.plain import parts_of

__all__ = ["find_places", "reachable", "refuse_endless"]

_PLACES_PER_DEFINITION = 16
"""Shared definitions can stand at very many places; the first of them are told."""

_MOST_PARTS = 10_000
"""More alternatives of one place than this would be walked for each value."""


def find_places(tree: SchemaTree) -> dict[str, tuple[Pointer, ...]]:
    """Return where each definition stands; the root's own key is "".

    A recursive definition is told where it is entered, not at each depth.
    """
    edges = {
        owner: [(node.pointer, node.name) for node in walk_kind(top, RefNode)]
        for owner, top in owners(tree)
    }
    places: dict[str, list[Pointer]] = {owner: [] for owner in edges}
    places[""] = [""]
    queue: deque[tuple[str, Pointer, frozenset[str]]] = deque([("", "", frozenset())])
    while queue:
        owner, place, above = queue.popleft()
        for pointer, target in edges[owner]:
            known = places[target]
            here = place + pointer
            if target in above or len(known) >= _PLACES_PER_DEFINITION or here in known:
                continue
            known.append(here)
            queue.append((target, here, above | {target}))
    return {owner: tuple(found) for owner, found in places.items()}


def reachable(tree: SchemaTree) -> set[str]:
    """Return the names of the definitions that the root leads to, kept keywords included."""
    found: set[str] = set()
    pending: list[Node] = [tree.root]
    while pending and len(found) < len(tree.definitions):
        node = pending.pop()
        names = {node.name} if isinstance(node, RefNode) else set[str]()
        if node.rest:
            names |= _kept_names(node) & tree.definitions.keys()
        for name in names - found if names else ():
            found.add(name)
            pending.append(tree.definitions[name])
        pending.extend(children(node))
    return found


def _kept_names(node: Node) -> set[str]:
    names: set[str] = set()
    pending = list(node.rest.values())
    while pending:
        value = pending.pop()
        if is_object(value) and isinstance(value.get("$ref"), str):
            names.add(value["$ref"].removeprefix("#/$defs/"))
        pending.extend(part for _, part in parts_of(value))
    return names


def refuse_endless(tree: SchemaTree) -> None:
    """Check that each place means something, and not too much to be looked at.

    Raises:
        SchemaError: If a definition refers to itself without a step into a list or an object:
            it says nothing and never ends. Or if the alternatives and parts of one place, with
            all references followed, are more than 10,000.
    """
    counts: dict[str, int] = {}
    for name in tree.definitions:
        _count_parts(name, tree, counts)
    _check_width(_width(tree.root, counts), "", tree)


def _count_parts(start: str, tree: SchemaTree, counts: dict[str, int]) -> None:
    """Note how many nodes a document at the place of a definition is held against."""
    pending = [start]
    entered: set[str] = set()
    while pending:
        name = pending[-1]
        ahead = [target for target in _same_place(tree.definitions[name]) if target not in counts]
        if name in counts or not ahead:
            pending.pop()
            if name not in counts:
                counts[name] = _width(tree.definitions[name], counts)
                _check_width(counts[name], name, tree)
            continue
        entered.add(name)
        for target in ahead:
            if target in entered:
                raise SchemaError(
                    f'the definition "{target}" refers to itself without a step into a '
                    "list or an object, so it never ends; say what it holds",
                    pointer=tree.places.get(target, ("",))[0],
                )
        pending.append(ahead[0])


def _width(node: Node, counts: Mapping[str, int]) -> int:
    return 1 + sum(counts[name] for name in _same_place(node))


def _check_width(width: int, name: str, tree: SchemaTree) -> None:
    if width > _MOST_PARTS:
        place = tree.places.get(name, ("",))[0] if name else ""
        raise SchemaError(
            f"{place or '(root)'}: the alternatives here are more than {_MOST_PARTS:,} with all "
            "references followed; write what repeats as one alternative",
            pointer=place,
        )


def _same_place(node: Node) -> list[str]:
    """Names that a document at this very place is handed on to."""
    names: list[str] = []
    pending = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, RefNode):
            names.append(here.name)
        elif isinstance(here, UnionNode | AllOfNode):
            pending.extend(children(here))
    return names
