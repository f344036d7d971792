"""Alternatives, for targets that know anyOf only.

| from | to | back |
|---|---|---|
| oneOf whose branches exclude each other | anyOf | as it is |
| oneOf whose branches may overlap | anyOf; oneOf is told as not enforced | as it is |
| keywords of one JSON type without `type` | that type alone | as it is |
| a list of types, for targets that rewrite what is inside | anyOf | as it is |
| an alternative that no value fits | left out | as it is |
| alternatives inside alternatives | beside them | as it is |
"""

from __future__ import annotations

from operator import is_

from extractkit.schema.match import confusable
from extractkit.schema.nodes import (
    NeverNode,
    Node,
    UnionNode,
    replace,
    stand_in,
    taken_into,
)
from extractkit.schema.scope import Scope

__all__ = ["lower"]


def lower(node: UnionNode, scope: Scope) -> Node:
    """Return `node` without oneOf and without an open list of JSON types."""
    if node.implied is not None:
        implied = _implied(node, scope)
        if implied is not node:
            return implied
    if not scope.dialect.open_objects:
        flat = _flat(node)
        if not isinstance(flat, UnionNode):
            return flat
        node = flat
    if node.form != "oneOf":
        return node
    if _exclude_each_other(node, scope, None):
        scope.change(node, "oneOf", "anyOf (no value fits two branches)")
    elif _exclude_each_other(node, scope, node.tag):
        scope.change(node, "oneOf", f'anyOf ("{node.tag}" decides)')
        if not scope.is_type or scope.dialect.open_objects:  # else `required` writes the key
            scope.lose(node, "oneOf", f'a value without "{node.tag}" is admitted')
    else:
        scope.lose(node, "oneOf", "a value that fits two branches is admitted")
        scope.change(node, "oneOf", "anyOf")
    return replace(node, form="anyOf")


def _exclude_each_other(node: UnionNode, scope: Scope, tag: str | None) -> bool:
    return next(confusable(node, scope.tree, tag), None) is None


def _flat(node: UnionNode) -> Node:
    """Return `node` without alternatives that cannot be, and with those inside others beside them.

    What is closed or rewritten later can no longer share its keywords with other types.
    """
    form = "anyOf" if node.form == "types" else node.form
    branches: list[Node] = []
    for branch in node.branches:
        if isinstance(branch, UnionNode) and _is_bare(branch) and branch.form == form == "anyOf":
            branches.extend(branch.branches)
        elif not isinstance(branch, NeverNode):
            branches.append(branch)
    if not branches:
        return NeverNode(pointer=node.pointer)
    if form == node.form and _are_same(branches, node.branches):
        return node
    if len(branches) > 1 or node.decimal:
        return replace(node, branches=tuple(branches), form=form)
    (only,) = branches
    return taken_into(only, node)


def _are_same(branches: list[Node], before: tuple[Node, ...]) -> bool:
    return len(branches) == len(before) and len(branches) > 1 and all(map(is_, branches, before))


def _is_bare(node: UnionNode) -> bool:
    return not (node.description or node.mark or node.rest or node.beyond or node.decimal)


def _implied(node: UnionNode, scope: Scope) -> Node:
    """Return the branch that the keywords speak of: nobody writes "properties" for a number."""
    wanted = _TYPE_NAMES.get(node.implied or "")
    for branch in node.branches:
        if type(branch).__name__ == wanted:
            name = node.implied
            scope.change(node, f"no type beside keywords of {name}", f"type {name}")
            return stand_in(branch, node)
    return node


_TYPE_NAMES = {
    "null": "NullNode",
    "boolean": "BooleanNode",
    "number": "NumberNode",
    "string": "StringNode",
    "array": "ArrayNode",
    "object": "ObjectNode",
}
