"""What the codes of a schema stand for, in the order in which an answer comes to them.

Neighbours: `lowerings.codes` put them there; `prompts` tells them to the model, by the keys under
which it writes them. Equal choices are told once, however often they stand in the schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from extractkit.schema.codable import Member
from extractkit.schema.lowerings.codes import Codes
from extractkit.schema.nodes import (
    AllOfNode,
    ArrayNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
)

__all__ = ["CodedChoice", "Member", "legend_of"]

_MOST_LEVELS: Final = 16
"""How deep references are followed: a choice below that is told by where it stands higher up."""

_Step: TypeAlias = tuple[str, Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedChoice:
    """A choice that is answered by codes.

    Attributes:
        names: Where it stands in the form that is sent: its key, or all keys on the way to it
            where another choice stands under the same key ("lines[].unit").
        members: Its members with their codes, in order.
    """

    names: tuple[str, ...]
    members: tuple[Member, ...]


def legend_of(tree: SchemaTree) -> tuple[CodedChoice, ...]:
    """Return the coded choices of what is sent, each once.

    Args:
        tree: The nodes of what is sent.
    """
    found: dict[tuple[Member, ...], dict[str, str]] = {}
    for path, members in _choices(tree):
        key = path.rpartition(".")[2]
        found.setdefault(members, {}).setdefault(path, path if key[:1] in "*[" else key)
    users: dict[str, set[tuple[Member, ...]]] = {}
    for members, names in found.items():
        for name in names.values():
            users.setdefault(name, set()).add(members)
    return tuple(
        CodedChoice(
            names=tuple(
                dict.fromkeys(
                    path if len(users[name]) > 1 else name for path, name in names.items()
                )
            ),
            members=members,
        )
        for members, names in found.items()
    )


def _choices(tree: SchemaTree) -> Iterator[tuple[str, tuple[Member, ...]]]:
    """Yield (path, members) of every place of a coded choice, in the order of an answer."""
    pending: list[tuple[str, Node, tuple[str, ...]]] = [("", tree.root, ())]
    seen: set[tuple[str, str]] = set()
    while pending:
        path, node, entered = pending.pop()
        for way in node.ways:
            if isinstance(way, Codes):
                yield path, way.members
        if isinstance(node, RefNode):
            name = node.name
            if name not in entered and (path, name) not in seen and len(entered) < _MOST_LEVELS:
                seen.add((path, name))
                pending.append((path, tree.definitions[name], (*entered, name)))
        else:
            pending.extend((to, part, entered) for to, part in reversed(_steps(path, node)))


def _steps(path: str, node: Node) -> list[_Step]:
    """Return what stands below a node, with the way to it in the words of the form."""
    if isinstance(node, ObjectNode):
        before = f"{path}." if path else ""
        named = [(f"{before}{prop.name}", prop.node) for prop in node.properties]
        others = [part for _, part in node.patterns]
        return [*named, *[(f"{before}*", part) for part in [*others, node.extra]]]
    if isinstance(node, ArrayNode):
        return [(f"{path}[]", part) for part in (*node.prefix, node.items)]
    if isinstance(node, UnionNode):
        return [(path, part) for part in node.branches]
    if isinstance(node, AllOfNode):
        return [(path, part) for part in node.parts]
    return []
