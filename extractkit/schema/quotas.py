"""What a whole request holds of the things that a target limits, and whether that is too much.

`compile` asks for one schema; whoever sends several schemas at once asks for all of them
together. Counts are of the nodes that are sent, each definition once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

from extractkit.errors import SchemaError
from extractkit.schema.dialects import Dialect
from extractkit.schema.nodes import (
    LEAVES,
    ArrayNode,
    ChoiceNode,
    NeverNode,
    Node,
    ObjectNode,
    SchemaTree,
    UnionNode,
    children,
    owners,
    walk_kind,
)

__all__ = ["Counts", "check_counts", "count", "count_unions", "refuse_impossible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much a schema holds of what `dialects.Limits` limits."""

    optional: int = 0
    unions: int = 0
    properties: int = 0
    depth: int = 0
    enum_values: int = 0
    characters: int = 0
    tools: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of both together; of depth the greater one."""
        summed = {
            item.name: getattr(self, item.name) + getattr(other, item.name)
            for item in fields(self)
            if item.name != "depth"
        }
        return Counts(depth=max(self.depth, other.depth), **summed)


_UNCOUNTED: Final = LEAVES - {ChoiceNode}
_FITTED: Final = LEAVES - {NeverNode}
"""Leaves that some value always fits."""
_WHAT: Final = {
    "optional": "keys that may be absent",
    "unions": "places that hold one of several types",
    "properties": "properties",
    "depth": "levels of objects inside each other",
    "enum_values": "values in all choices",
    "characters": "characters in names and choices",
    "tools": "strict tools",
}


def count(tree: SchemaTree) -> Counts:
    """Return the counts of one tree as it is sent."""
    found = dict.fromkeys(_WHAT, 0)
    found["characters"] = sum(map(len, tree.definitions))
    for _, top in owners(tree):
        pending = [(top, 0)]
        while pending:
            node, depth = pending.pop()
            _count(node, found)
            if isinstance(node, ObjectNode):
                depth += 1
                found["depth"] = max(found["depth"], depth)
            pending.extend(
                [(child, depth) for child in children(node) if type(child) not in _UNCOUNTED]
            )
    return Counts(**found)


def _count(node: Node, found: dict[str, int]) -> None:
    if isinstance(node, UnionNode):
        found["unions"] += _is_counted(node)
    elif isinstance(node, ObjectNode):
        found["properties"] += len(node.properties)
        found["optional"] += sum([not prop.required for prop in node.properties])
        found["characters"] += sum([len(prop.name) for prop in node.properties])
    elif isinstance(node, ChoiceNode):
        found["enum_values"] += len(node.values)
        found["characters"] += sum([len(v) for v in node.values if isinstance(v, str)])


def count_unions(tree: SchemaTree) -> int:
    """Return how many places hold one of several types, each definition counted once."""
    return sum(_is_counted(node) for _, top in owners(tree) for node in walk_kind(top, UnionNode))


def _is_counted(node: UnionNode) -> bool:
    return node.form != "lists"


def check_counts(counts: Counts, dialect: Dialect, what: str) -> None:
    """Check that a request stays within the limits of its dialect.

    Args:
        counts: Of everything in the request together.
        dialect: The target.
        what: The request in words, for the error.

    Raises:
        SchemaError: If it does not; names what there is too much of.
    """
    for name, words in _WHAT.items():
        most: int | None = getattr(dialect.limits, name)
        if most is not None and getattr(counts, name) > most:
            raise SchemaError(
                f"{what}: {getattr(counts, name)} {words}, and {dialect.name} takes {most} in one "
                "request; split the model, or extract its parts one after the other",
                pointer="",
            )


def refuse_impossible(tree: SchemaTree, dialect: Dialect) -> None:
    """Check that a value can stand everywhere that one is asked for.

    Raises:
        SchemaError: If nothing fits somewhere, so that the target would be asked for nothing.
    """
    for owner, top in owners(tree):
        pending = [top]
        while pending:
            node = pending.pop()
            if isinstance(node, NeverNode):
                place = tree.places.get(owner, ("",))[0] + node.pointer
                raise SchemaError(
                    f"{place or '(root)'}: no value fits here, and {dialect.name} has no way to "
                    "say so; remove it, or correct the rules that exclude each other",
                    pointer=place,
                )
            pending.extend([part for part in _asked(node) if type(part) not in _FITTED])


def _asked(node: Node) -> Sequence[Node]:
    """Return the parts of which a value has to be there, or can be."""
    if isinstance(node, ObjectNode):
        return [prop.node for prop in node.properties]
    if isinstance(node, ArrayNode):
        return [] if node.max_items == 0 else [node.items]
    return children(node)
