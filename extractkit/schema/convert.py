"""A document from the user's form to the form that is sent, and back.

Both ways walk the lowered nodes, outermost first, and apply the pairs of the dialect's lowerings
in their order on the way there and in reverse on the way back. Each container is a copy; depth is
limited by memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from extractkit.paths import JsonValue, is_object
from extractkit.schema.lowerings import Lowering
from extractkit.schema.match import choose
from extractkit.schema.nodes import ArrayNode, Node, ObjectNode, SchemaTree, UnionNode
from extractkit.schema.plain import parts_of

__all__ = ["below", "lift", "lower", "settle"]

_Step: TypeAlias = Callable[[JsonValue, Node], JsonValue]


def lower(value: JsonValue, tree: SchemaTree, lowerings: Sequence[Lowering]) -> JsonValue:
    """Return a user's document in the form that `tree` asks for."""

    def apply(part: JsonValue, node: Node) -> JsonValue:
        for lowering in lowerings:
            part = lowering.lower_value(part, node)
        return part

    return _convert(value, tree, apply)


def lift(value: JsonValue, tree: SchemaTree, lowerings: Sequence[Lowering]) -> JsonValue:
    """Return an answer to `tree` in the user's form."""
    backwards = tuple(reversed(lowerings))

    def apply(part: JsonValue, node: Node) -> JsonValue:
        for lowering in backwards:
            part = lowering.lift(part, node)
        return part

    return _convert(value, tree, apply)


def settle(node: Node, value: JsonValue, tree: SchemaTree) -> Node | None:
    """Return the node that speaks of `value`: references followed, branches chosen."""
    while True:
        resolved = tree.resolve(node)
        if not isinstance(resolved, UnionNode):
            return resolved
        branch = choose(resolved, value, tree)
        if branch is None:
            return None
        node = branch


def below(node: Node | None, key: str | int) -> Node | None:
    """Return the node of one key or list position of `node`, or None where none speaks of it."""
    if isinstance(node, ArrayNode) and isinstance(key, int):
        return node.prefix[key] if key < len(node.prefix) else node.items
    if isinstance(node, ObjectNode) and isinstance(key, str):
        return _of_key(node, key)
    return None


def _of_key(node: ObjectNode, key: str) -> Node | None:
    for prop in node.properties:
        if prop.name == key:
            return prop.node
    # All patterns of one object lead to values of one kind wherever a lowering looks.
    return node.patterns[0][1] if node.patterns else node.extra


def _convert(value: JsonValue, tree: SchemaTree, apply: _Step) -> JsonValue:
    """Return a new document; `apply` runs once per container, and never on what it added."""
    holder: list[Any] = [value]
    pending: list[tuple[Any, Any, Node | None]] = [(holder, 0, tree.root)]
    while pending:
        container, key, node = pending.pop()
        part = container[key]
        if node is None or not isinstance(part, dict | list):
            continue
        settled = settle(node, part, tree)
        if settled is None:
            continue
        part = apply(part, settled)
        copied: Any = dict(part) if is_object(part) else list(part)
        container[key] = copied
        pending.extend((copied, name, below(settled, name)) for name, _ in parts_of(copied))
    return holder[0]
