"""References, for targets that take nothing beside them and limit how deep objects stand.

| from | to | back |
|---|---|---|
| a reference with a description | a reference to a copy of the definition that says it | as it is |
| an object deeper inside others than the target takes | a reference to it | as it is |

Equal descriptions of one definition share a copy. Follows `losses`: what could not be enforced
stands in descriptions by then.
"""

from __future__ import annotations

from dataclasses import replace

from extractkit.schema.lowerings.maps import free_name
from extractkit.schema.nodes import Node, ObjectNode, RefNode, SchemaTree, map_children
from extractkit.schema.scope import Scope

__all__ = ["lower_tree"]


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` with references that stand alone."""
    work = _Work(tree, scope.dialect.limits.depth)
    return work.run()


class _Work:
    def __init__(self, tree: SchemaTree, depth: int | None) -> None:
        self._tree = tree
        self._depth = depth
        self._definitions: dict[str, Node] = dict(tree.definitions)
        self._copies: dict[tuple[str, str], str] = {}

    def run(self) -> SchemaTree:
        """Return the new tree."""
        root = self._of(self._tree.root, 0)
        done: dict[str, Node] = {}
        # Copies are added on the way, and hold references of their own.
        while pending := [name for name in self._definitions if name not in done]:
            for name in pending:
                done[name] = self._of(self._definitions[name], 0)
        return replace(self._tree, root=root, definitions=done)

    def _of(self, node: Node, depth: int) -> Node:
        if isinstance(node, RefNode):
            return self._alone(node)
        inner = depth + isinstance(node, ObjectNode)
        if self._depth is not None and inner > self._depth:
            return self._hoisted(node)
        return map_children(node, lambda child: self._of(child, inner))

    def _alone(self, node: RefNode) -> Node:
        if not node.description:
            return node
        known = self._copies.get((node.name, node.description))
        if known is None:
            target = self._definitions[node.name]
            said = node.description
            if target.description and target.description != said:
                said = f"{said} ({target.description})"
            known = free_name(f"{node.name}_2", self._definitions)
            self._definitions[known] = replace(target, description=said)
            self._copies[node.name, node.description] = known
        return replace(node, name=known, description="")

    def _hoisted(self, node: Node) -> Node:
        name = free_name("Part", self._definitions)
        self._definitions[name] = node
        return RefNode(pointer=node.pointer, name=name)
