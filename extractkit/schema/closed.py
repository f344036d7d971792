"""Whether a target is made of closed sets alone, so that each of its leaves is a choice.

Neighbours: `strategies` asks this of a target that is to be decided leaf by leaf. Walks the nodes
of what is sent; sees no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extractkit.paths import Pointer
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import (
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    Node,
    NullNode,
    NumberNode,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)

__all__ = ["first_open"]

_WORDS: Final[dict[type[Node], str]] = {
    AnyNode: "any value",
    ArrayNode: "a list or an open map",
    NumberNode: "a number",
    ObjectNode: "an object with keys that are not declared",
    RefNode: "a definition that holds itself",
    StringNode: "a free text",
}


def first_open(tree: SchemaTree) -> tuple[Pointer, str] | None:
    """Return the first place that is no closed set, and what it is; None where there is none.

    Closed sets are bool, Literal and Enum, each with null or UNKNOWN beside it or not. Objects
    with declared keys are looked into.

    Args:
        tree: The nodes of what is sent.
    """
    return next(_open_places(tree.root, "", (), tree), None)


def _open_places(
    node: Node, base: Pointer, entered: tuple[str, ...], tree: SchemaTree
) -> Iterator[tuple[Pointer, str]]:
    """Yield every open place of `node`, whose pointers count from `base`."""
    place = base + node.pointer
    if isinstance(node, RefNode) and node.name not in entered:
        yield from _open_places(tree.definitions[node.name], place, (*entered, node.name), tree)
    elif isinstance(node, ObjectNode) and node.is_closed and not node.patterns:
        for prop in node.properties:
            yield from _open_places(prop.node, base, entered, tree)
    elif told := next(_told(node, tree), ""):
        yield place, told


def _told(node: Node, tree: SchemaTree) -> Iterator[str]:
    """Yield what makes a place an open one; nothing for a closed set."""
    if isinstance(node, UnionNode):
        for branch in node.branches:
            inner = tree.resolve(branch)
            if isinstance(inner, ObjectNode) and not is_unknown(inner):
                yield "an object that may be missing, or something else"
            else:
                yield from _told(inner, tree)
    elif not (isinstance(node, BooleanNode | ChoiceNode | NullNode) or is_unknown(node)):
        yield _WORDS.get(type(node), "no closed set")
