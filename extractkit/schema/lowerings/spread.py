"""Alternatives beyond the number of unions that a target takes.

| from | to | back |
|---|---|---|
| one of several alternatives | an object with a list for each, one of them with an element | it |
| null beside them | all of the lists empty | null |

The target does not hold an answer to exactly one element, so "anyOf" is told as not enforced; an
answer that fills none or several is told as a fault. Comes after `losses`: the counts that tell
the alternatives apart here are not sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from extractkit.paths import JsonValue, is_array, is_object
from extractkit.schema.lowerings.alternatives import name_of
from extractkit.schema.lowerings.maps import closed, free_name
from extractkit.schema.nodes import (
    ArrayNode,
    NeverNode,
    Node,
    NullNode,
    ObjectNode,
    Property,
    SchemaTree,
    UnionNode,
    replace,
)
from extractkit.schema.quotas import count_unions
from extractkit.schema.scope import Rewrite, Scope, transform_tree
from extractkit.schema.ways import InPlace

__all__ = ["Listed", "lower_tree"]


@dataclass(frozen=True, slots=True)
class Listed(InPlace):
    """A value as the one element of the list of its alternative.

    Attributes:
        name: The list; None for null, which is in none.
        names: All lists.
    """

    name: str | None
    names: tuple[str, ...]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the object of lists.

        Raises:
            ValueError: If this is the alternative null, and the value is another one.
        """
        if self.name is None and value is not None:
            raise ValueError("it is not null; give null")
        return {name: [value] if name == self.name else [] for name in self.names}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the element of the one list that is not empty."""
        if not is_object(value) or value.keys() != set(self.names):
            return value
        elements = [item for items in value.values() if is_array(items) for item in items]
        if not elements and self.name is None:
            return None
        if len(elements) != 1:
            told.append(f"one of {', '.join(self.names)} must hold one element, and only one")
            return value
        return elements[0]


@dataclass(slots=True)
class _Excess:
    unions: int


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` with no more unions than the target takes."""
    most = scope.dialect.limits.unions
    if most is None:
        return tree
    excess = count_unions(tree) - most
    if excess <= 0:
        return tree
    return transform_tree(
        tree, scope, [Rewrite(partial(_lower, excess=_Excess(excess)), frozenset({UnionNode}))]
    )


def _lower(node: UnionNode, scope: Scope, *, excess: _Excess) -> Node:
    if excess.unions <= 0:
        return node
    excess.unions -= 1
    scope.change(node, "one of several alternatives", "an object with a list per alternative")
    scope.lose(node, "anyOf", "none or several of the lists can be filled; that is a fault")
    names: list[str] = []
    for branch in node.branches:
        if not isinstance(branch, NullNode):
            names.append(free_name(name_of(branch), names))
    free = iter(names)
    branches = tuple(
        _branch(branch, None if isinstance(branch, NullNode) else next(free), tuple(names))
        for branch in node.branches
    )
    told = f"{node.description} (one element in one of the lists)".strip()
    return replace(node, branches=branches, form="lists", tag=None, description=told)


def _branch(branch: Node, name: str | None, names: tuple[str, ...]) -> Node:
    never = NeverNode(pointer=branch.pointer)
    properties = [
        Property(
            name=other,
            required=True,
            node=ArrayNode(
                pointer=branch.pointer,
                items=branch if other == name else never,
                min_items=int(other == name),
                max_items=int(other == name),
                ways=(InPlace(),),
            ),
        )
        for other in names
    ]
    return ObjectNode(
        pointer=branch.pointer,
        properties=tuple(properties),
        extra=closed(branch),
        extra_stated=True,
        ways=(Listed(name, names),),
    )
