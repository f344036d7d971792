"""Where definitions stand in the user's document, and which of them say nothing at all.

`read` uses this once per target, so that every loss can be told at every place it concerns.
"""

from __future__ import annotations

from collections import deque

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
    walk_nodes,
)
from extractkit.schema.plain import parts_of

__all__ = ["find_places", "reachable", "refuse_empty_cycles"]

_PLACES_PER_DEFINITION = 16
"""Shared definitions can stand at very many places; the first of them are told."""


def find_places(tree: SchemaTree) -> dict[str, tuple[Pointer, ...]]:
    """Return where each definition stands; the root's own key is "".

    A recursive definition is told where it is entered, not at each depth.
    """
    edges = {
        owner: [(node.pointer, node.name) for node in walk_nodes(top) if isinstance(node, RefNode)]
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
    while pending:
        for node in walk_nodes(pending.pop()):
            names = {node.name} if isinstance(node, RefNode) else set[str]()
            for name in (names | (_kept_names(node) & tree.definitions.keys())) - found:
                found.add(name)
                pending.append(tree.definitions[name])
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


def refuse_empty_cycles(tree: SchemaTree) -> None:
    """Check that no definition refers to itself without a step into a list or an object.

    Raises:
        SchemaError: If one does; such a definition says nothing and never ends.
    """
    ahead = {name: _same_place(node) for name, node in tree.definitions.items()}
    state: dict[str, int] = {}
    for start in ahead:
        pending: list[tuple[str, bool]] = [(start, False)]
        while pending:
            name, leaving = pending.pop()
            if leaving:
                state[name] = 2
            elif state.get(name) == 1:
                continue
            elif state.get(name) is None:
                state[name] = 1
                pending.append((name, True))
                for target in ahead[name]:
                    if state.get(target) == 1:
                        raise SchemaError(
                            f'the definition "{target}" refers to itself without a step into a '
                            "list or an object, so it never ends; say what it holds",
                            pointer=tree.places.get(target, ("",))[0],
                        )
                    pending.append((target, False))


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
