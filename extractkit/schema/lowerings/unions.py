"""Alternatives, for targets that know anyOf only.

| from | to | back |
|---|---|---|
| oneOf whose branches exclude each other | anyOf | as it is |
| oneOf whose branches may overlap | anyOf; oneOf is told as not enforced | as it is |
| keywords of one JSON type without `type` | that type alone | as it is |
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from extractkit.schema.match import are_disjoint
from extractkit.schema.nodes import Node, UnionNode
from extractkit.schema.scope import Scope, same

__all__ = ["lift", "lower", "lower_value"]


def lower(node: Node, scope: Scope) -> Node:
    """Return `node` without oneOf and without an open list of JSON types."""
    if not isinstance(node, UnionNode):
        return node
    if node.implied is not None:
        return _implied(node, scope)
    if node.form != "oneOf":
        return node
    if all(
        are_disjoint(one, other, scope.tree, node.tag)
        for one, other in combinations(node.branches, 2)
    ):
        scope.change(node, "oneOf", "anyOf (no value fits two branches)")
    else:
        scope.lose(node, "oneOf", "a value that fits two branches is admitted")
        scope.change(node, "oneOf", "anyOf")
    return replace(node, form="anyOf")


def _implied(node: UnionNode, scope: Scope) -> Node:
    """Return the branch that the keywords speak of: nobody writes "properties" for a number."""
    for branch in node.branches:
        (name,) = [kind for kind in _TYPE_NAMES if type(branch).__name__ == _TYPE_NAMES[kind]]
        if name == node.implied:
            scope.change(node, f"no type beside keywords of {name}", f"type {name}")
            return replace(
                branch, description=node.description, mark=node.mark, notes=node.notes,
                rest=node.rest, beyond=node.beyond,
            )  # fmt: skip
    return node


_TYPE_NAMES = {
    "null": "NullNode",
    "boolean": "BooleanNode",
    "number": "NumberNode",
    "string": "StringNode",
    "array": "ArrayNode",
    "object": "ObjectNode",
}

lower_value = same
lift = same
