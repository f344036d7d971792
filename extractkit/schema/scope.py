"""What a lowering may look at and write to besides its node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from extractkit.schema.dialects import Dialect
from extractkit.schema.nodes import Node, SchemaTree, map_children
from extractkit.schema.report import Report

__all__ = ["Scope", "transform_tree"]


@dataclass(slots=True, kw_only=True)
class Scope:
    """One pass of one lowering.

    Attributes:
        dialect: The target.
        tree: All nodes as they were before this pass.
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


_Lower: TypeAlias = Callable[[Node, Scope], Node]


def _transform(node: Node, scope: Scope, lower: _Lower) -> Node:
    """Return `node` with `lower` applied to it and everything below, innermost first."""
    return lower(map_children(node, partial(_transform, scope=scope, lower=lower)), scope)


def transform_tree(tree: SchemaTree, scope: Scope, lower: _Lower) -> SchemaTree:
    """Return `tree` with `lower` applied everywhere."""
    definitions: dict[str, Node] = {}
    for name, node in tree.definitions.items():
        scope.owner = name
        definitions[name] = _transform(node, scope, lower)
    scope.owner = ""
    return replace(tree, root=_transform(tree.root, scope, lower), definitions=definitions)
