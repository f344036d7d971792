"""References, for targets that take nothing beside them and limit how deep objects stand.

| from | to | back |
|---|---|---|
| a reference with a description | a reference to a copy of the definition that says it | as it is |
| the same, where a copy would hold what the target counts | told one level up | as it is |
| an object deeper inside others than the target takes | a reference to it | as it is |

Equal descriptions of one definition share a copy. Follows `losses`: what could not be enforced
stands in descriptions by then.
"""

from __future__ import annotations

from typing import Final

from extractkit.schema.dialects import Limits
from extractkit.schema.lowerings.maps import free_name
from extractkit.schema.nodes import (
    KINDS,
    LEAVES,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
    has_children,
    map_children,
    owners,
    replace,
    walk_kind,
    walk_nodes,
)
from extractkit.schema.scope import Scope

__all__ = ["lower_tree"]

_NO_REFERENCES: Final = KINDS - {RefNode}
_OTHER_LEAVES: Final = LEAVES - {RefNode}


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` with references that stand alone."""
    limits = scope.dialect.limits
    references = (node for _, top in owners(tree) for node in walk_kind(top, RefNode))
    if limits.depth is None and not any(node.description for node in references):
        return tree
    return _Work(tree, limits).run()


class _Work:
    def __init__(self, tree: SchemaTree, limits: Limits) -> None:
        self._tree = tree
        self._depth = limits.depth
        self._counts = limits.unions is not None
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
        if root is self._tree.root and done == self._tree.definitions:
            return self._tree
        return replace(self._tree, root=root, definitions=done)

    def _of(self, node: Node, depth: int) -> Node:
        if isinstance(node, RefNode):
            return self._alone(node)
        if not has_children(node):
            return node
        inner = depth + isinstance(node, ObjectNode)
        if self._depth is not None and inner > self._depth:
            return self._hoisted(node)
        if self._counts and self._tree.definitions:
            node = self._told_outside(node)
        return map_children(node, lambda child: self._of(child, inner), _OTHER_LEAVES)

    def _told_outside(self, node: Node) -> Node:
        """Return `node` with the descriptions of references that cannot have a copy."""
        told: list[str] = []

        def without(child: Node) -> Node:
            if not isinstance(child, RefNode) or not child.description or self._is_free(child):
                return child
            if child.description not in told:
                told.append(child.description)
            return replace(child, description="")

        changed = map_children(node, without, _NO_REFERENCES)
        if not told:
            return node
        if isinstance(node, ObjectNode):
            named = [(prop.name, prop.node.description) for prop in node.properties]
            told = [f"{name}: {text}" for name, text in named if text in told]
        return replace(changed, description=f"{node.description} ({'; '.join(told)})".strip())

    def _is_free(self, node: RefNode) -> bool:
        """Whether a copy of what `node` refers to costs nothing that is counted."""
        return not any(
            isinstance(part, UnionNode)
            or (isinstance(part, ObjectNode) and any(not p.required for p in part.properties))
            for part in walk_nodes(self._definitions[node.name])
        )

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
