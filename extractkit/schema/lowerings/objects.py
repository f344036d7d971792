"""Objects that say nothing about other keys: closed, so that a model adds none.

| from | to | back |
|---|---|---|
| declared keys, nothing said of others | additionalProperties: false | as it is |
| a key that is required but not declared | a declared key of any value | as it is |
| open on purpose (extra="allow"), maps | kept | as it is |
| an object with a key that can hold nothing | no value at all, so that it is left out | as it is |
"""

from __future__ import annotations

from extractkit.paths import join
from extractkit.schema.nodes import (
    NeverNode,
    Node,
    ObjectNode,
    replace,
)
from extractkit.schema.scope import Scope

__all__ = ["lower"]


def lower(node: ObjectNode, scope: Scope) -> Node:
    """Return `node`, closed where the user left it open without saying so."""
    if not scope.dialect.open_objects and any(
        prop.required and isinstance(prop.node, NeverNode) for prop in node.properties
    ):
        scope.change(node, "an object that no value fits", "left out")
        return NeverNode(pointer=node.pointer)
    if any(not prop.declared for prop in node.properties):
        node = replace(
            node, properties=tuple(replace(prop, declared=True) for prop in node.properties)
        )
    if node.extra_stated or not (node.properties or node.patterns):
        return node
    scope.change(node, "object open to other keys", "additionalProperties: false")
    closed = NeverNode(pointer=join(node.pointer, "*"))
    return replace(node, extra=closed, extra_stated=True)
