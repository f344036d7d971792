"""Which kinds of comparable values a target can have at a place, as far as it says.

Neighbours: `_patterns` finds the place, `_ready` refuses a check that could never compare there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extractkit.checks._quantities import KINDS, quantity
from extractkit.schema.digits import is_decimal
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ChoiceNode,
    Node,
    NumberNode,
    SchemaTree,
    StringNode,
    UnionNode,
)

__all__ = ["kinds_of"]

_NONE: Final = frozenset[str]()
# Of a format that is not listed nothing is known.
_FORMATS: Final[Mapping[str, frozenset[str]]] = {
    "date": frozenset({"date"}),
    "date-time": frozenset({"date"}),
    "time": frozenset({"time"}),
    **dict.fromkeys(("duration", "email", "ipv4", "ipv6", "uri", "uuid"), _NONE),
}


def kinds_of(node: Node, tree: SchemaTree) -> frozenset[str]:
    """Return which of KINDS a value of `node` can be, a string by what it may spell."""
    node = tree.resolve(node)
    if isinstance(node, NumberNode) or is_decimal(node, tree):
        return frozenset({"number"})
    if isinstance(node, UnionNode | AllOfNode):
        parts = node.branches if isinstance(node, UnionNode) else node.parts
        return _NONE.union(*(kinds_of(part, tree) for part in parts))
    if isinstance(node, ChoiceNode):
        known = (quantity(value) for value in node.values)
        return frozenset(each.kind for each in known if each is not None)
    if isinstance(node, StringNode):
        return KINDS if node.format is None else _FORMATS.get(node.format, KINDS)
    return KINDS if isinstance(node, AnyNode) else _NONE
