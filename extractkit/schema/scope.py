"""What a lowering may look at and write to besides its node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from extractkit.schema.dialects import Dialect
from extractkit.schema.nodes import KINDS, LEAVES, Node, SchemaTree, map_children, replace
from extractkit.schema.report import Report

__all__ = ["Rewrite", "Scope", "transform_tree"]


@dataclass(slots=True, kw_only=True)
class Scope:
    """One walk over a tree.

    Attributes:
        dialect: The target.
        tree: All nodes as they were before this walk.
        report: Where losses and rewritings are noted.
        owner: The definition at work; "" is the root.
        is_type: Whether the target is a type, for which a default stands for an absent key; to
            a JSON Schema both are different documents.
    """

    dialect: Dialect
    tree: SchemaTree
    report: Report
    owner: str = ""
    is_type: bool = False

    def lose(self, node: Node, keyword: str, why: str) -> None:
        """Note that `keyword` is not enforced at `node`."""
        self.report.lose(self.owner, node.pointer, keyword, why)

    def change(self, node: Node, before: str, after: str) -> None:
        """Note that `before` became `after` at `node`."""
        self.report.change(self.owner, node.pointer, before, after)


class Rewrite(NamedTuple):
    """What is done to nodes of some kinds, one after the other.

    Attributes:
        change: Returns the node that takes the place of one; its children are rewritten already.
        kinds: The kinds of nodes that are changed.
    """

    change: Callable[[Any, Scope], Node]
    kinds: frozenset[type[Node]] = KINDS


def transform_tree(tree: SchemaTree, scope: Scope, rewrites: Sequence[Rewrite]) -> SchemaTree:
    """Return `tree` with every node rewritten, innermost first, by each of `rewrites` in turn."""
    still = LEAVES.difference(*(rewrite.kinds for rewrite in rewrites))

    def transform(node: Node) -> Node:
        node = map_children(node, transform, still)
        if type(node) in still:
            return node
        for change, kinds in rewrites:
            if type(node) in kinds:
                node = change(node, scope)
        return node

    definitions: dict[str, Node] = {}
    for name, node in tree.definitions.items():
        scope.owner = name
        definitions[name] = transform(node)
    scope.owner = ""
    root = transform(tree.root)
    if root is tree.root and definitions == tree.definitions:
        return tree
    return replace(tree, root=root, definitions=definitions)
