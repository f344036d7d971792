"""Order of keys: reasoning before answers, everything else as declared.

| from | to | back |
|---|---|---|
| a Reasoning field after other fields | the same field first | as it is: keys have no order |
"""

from __future__ import annotations

from extractkit.fields import Mark
from extractkit.schema.nodes import (
    Node,
    ObjectNode,
    UnionNode,
    replace,
)
from extractkit.schema.scope import Scope

__all__ = ["lower"]


def lower(node: ObjectNode, scope: Scope) -> Node:
    """Return `node` with its reasoning fields first."""
    first = [prop for prop in node.properties if _is_reasoning(prop.node)]
    if not first:
        return node
    ordered = (*first, *(prop for prop in node.properties if prop not in first))
    if all(one is other for one, other in zip(ordered, node.properties, strict=True)):
        return node
    for prop, before in zip(ordered, node.properties, strict=True):
        if prop is not before and prop in first:
            scope.change(prop.node, "reasoning after answers", "written first")
    return replace(node, properties=ordered)


def _is_reasoning(node: Node) -> bool:
    if node.mark is Mark.REASONING:
        return True
    if isinstance(node, UnionNode):
        return any(_is_reasoning(branch) for branch in node.branches)
    return False
