"""Alternatives that look alike once they are rewritten, so that an answer must say which it is.

| from | to | back |
|---|---|---|
| alternatives that one answer fits, but not comes back from alike | {"<name>": ...} | its value |
| alternatives that exclude each other, or are sent as they are | kept | as it is |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from extractkit.paths import JsonValue, is_object
from extractkit.schema.convert import Lifter
from extractkit.schema.lowerings.maps import closed, free_name
from extractkit.schema.match import confusable, json_types
from extractkit.schema.nodes import (
    Node,
    ObjectNode,
    Property,
    RefNode,
    SchemaTree,
    UnionNode,
    owners,
    replace,
    walk_kind,
)
from extractkit.schema.scope import Rewrite, Scope, transform_tree
from extractkit.schema.ways import InPlace

__all__ = ["Named", "lower_tree", "name_of"]


@dataclass(frozen=True, slots=True)
class Named(InPlace):
    """A value under the name of its alternative.

    Attributes:
        name: The name.
    """

    name: str
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the object that names the alternative."""
        return {self.name: value}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return what is under the name."""
        del told
        if is_object(value) and value.keys() == {self.name}:
            return value[self.name]
        return value


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` with names on alternatives that could be confused."""
    unions = (node for _, top in owners(tree) for node in walk_kind(top, UnionNode))
    if not any(_may_be_confused(node, tree) for node in unions):
        return tree
    lifter = Lifter(tree)
    if not lifter.lifts:
        return tree
    rewrite = Rewrite(partial(_lower, lifter=lifter), frozenset({UnionNode}))
    return transform_tree(tree, scope, [rewrite])


def _may_be_confused(node: UnionNode, tree: SchemaTree) -> bool:
    """Whether two alternatives share a JSON type."""
    kinds = [json_types(branch, tree) for branch in node.branches]
    return sum(map(len, kinds)) > len(frozenset[str]().union(*kinds))


def _lower(node: UnionNode, scope: Scope, *, lifter: Lifter) -> Node:
    lifting = {branch for branch in node.branches if lifter.of(branch) is not None}
    if not lifting:
        return node
    alike = {
        branch
        for pair in confusable(node, scope.tree, node.tag)
        if not lifting.isdisjoint(pair)
        for branch in pair
    }
    if not alike:
        return node
    scope.change(node, "alternatives that look alike when rewritten", "one named object each")
    names: list[str] = []
    branches: list[Node] = []
    for branch in node.branches:
        if branch in alike:
            name = free_name(name_of(branch), names)
            names.append(name)
            branches.append(_named(branch, name))
        else:
            branches.append(branch)
    return replace(node, branches=tuple(branches), tag=None)


def name_of(branch: Node) -> str:
    """Return a name for one alternative."""
    if isinstance(branch, RefNode):
        return branch.name
    return type(branch).__name__.removesuffix("Node").lower()


def _named(branch: Node, name: str) -> Node:
    return ObjectNode(
        pointer=branch.pointer,
        properties=(Property(name=name, node=branch, required=True),),
        extra=closed(branch),
        extra_stated=True,
        ways=(Named(name),),
    )
