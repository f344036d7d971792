"""Keys that may be absent, for models that tend to leave out what they may.

| from | to | back |
|---|---|---|
| optional key that cannot be null | required; null stands for its absence | null -> no key |
| optional key that can be null | kept optional, since null is a value of its own | as it is |
| optional key in one of two alternatives that could be confused | kept optional | as it is |
| optional key with one possible value (a tag) | kept optional | as it is |

A key that stays optional here is made required by `CompiledSchema.bounded` wherever that asks
for nothing invented: there null, or the one possible value, is in the user's form already.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from extractkit.paths import JsonValue, Pointer, is_object
from extractkit.schema.match import admits_null, confusable
from extractkit.schema.nodes import (
    AllOfNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    ObjectNode,
    Property,
    RefNode,
    SchemaTree,
    UnionNode,
    owners,
    replace,
    walk_nodes,
)
from extractkit.schema.scope import Rewrite, Scope
from extractkit.schema.ways import Way

__all__ = ["NullIsAbsent", "or_null", "prepare"]


@dataclass(frozen=True, slots=True)
class NullIsAbsent(Way):
    """Keys that are always written, with null for their absence.

    Attributes:
        names: The keys.
    """

    names: frozenset[str]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return `value` with null for each absent key.

        Raises:
            ValueError: If null stands under one of the keys, whose values it is not.
        """
        if not is_object(value):
            return value
        for name in self.names:
            if name in value and value[name] is None:
                raise ValueError(f"{name!r} is null, which is none of its values; leave it out")
        return {**value, **{name: None for name in self.names if name not in value}}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return `value` without the keys whose null stands for absence."""
        del told
        if not is_object(value) or None not in value.values():
            return value
        names = self.names
        return {key: item for key, item in value.items() if item is not None or key not in names}


def or_null(node: Node) -> Node:
    """Return what takes null besides what `node` takes."""
    return UnionNode(
        pointer=node.pointer,
        description=node.description,
        mark=node.mark,
        branches=(replace(node, description=""), NullNode(pointer=node.pointer)),
    )


def prepare(tree: SchemaTree, scope: Scope) -> Rewrite:
    """Return what lets null stand for the absence of keys that cannot be null."""
    del scope
    return Rewrite(partial(_lower, ambiguous=_find_ambiguous(tree)), frozenset({ObjectNode}))


def _find_ambiguous(tree: SchemaTree) -> frozenset[tuple[str, Pointer]]:
    """Return (owner, pointer) of every object below branches that are not surely disjoint.

    There null could stand for an absent key in one branch and for null in the other, so that
    nothing could tell which one is meant.
    """
    found: set[tuple[str, Pointer]] = set()
    for owner, top in owners(tree):
        for node in walk_nodes(top):
            for part in _confusable(node, tree):
                _collect(part, owner, tree, found)
    return frozenset(found)


def _confusable(node: Node, tree: SchemaTree) -> Iterator[Node]:
    if isinstance(node, AllOfNode) or node.rest:
        yield node
    if isinstance(node, UnionNode):
        for pair in confusable(node, tree, node.tag):
            yield from pair


def _collect(node: Node, owner: str, tree: SchemaTree, found: set[tuple[str, Pointer]]) -> None:
    pending = [(owner, node)]
    entered: set[str] = set()
    while pending:
        here, top = pending.pop()
        for part in walk_nodes(top):
            if isinstance(part, ObjectNode):
                found.add((here, part.pointer))
            elif isinstance(part, RefNode) and part.name not in entered:
                entered.add(part.name)
                pending.append((part.name, tree.definitions[part.name]))


def _lower(
    node: ObjectNode, scope: Scope, *, ambiguous: frozenset[tuple[str, Pointer]]
) -> ObjectNode:
    if all(prop.required for prop in node.properties):
        return node
    node = _without_counts(node, scope)
    if (scope.owner, node.pointer) in ambiguous:
        return node
    absent = frozenset(prop.name for prop in node.properties if _can_be_told(prop, scope))
    if not absent:
        return node
    properties = tuple(
        _always_written(prop, scope) if prop.name in absent else prop for prop in node.properties
    )
    return replace(node, properties=properties, ways=(*node.ways, NullIsAbsent(absent)))


def _without_counts(node: ObjectNode, scope: Scope) -> ObjectNode:
    """Return `node` without counts of keys: keys that may be absent would be counted wrongly."""
    why = "keys of this object may be absent, and then the engine cannot count them"
    if node.min_properties:
        scope.lose(node, "minProperties", why)
    if node.max_properties is not None:
        scope.lose(node, "maxProperties", why)
    return replace(node, min_properties=0, max_properties=None)


def _can_be_told(prop: Property, scope: Scope) -> bool:
    """Whether null can stand for the absence of a key, and for nothing else."""
    target = scope.tree.resolve(prop.node)
    single = isinstance(target, ChoiceNode) and len(target.values) == 1
    if prop.required or single or isinstance(target, NeverNode):
        return False
    return not admits_null(prop.node, scope.tree)


def _always_written(prop: Property, scope: Scope) -> Property:
    scope.change(prop.node, "optional key", "required, null stands for its absence")
    return replace(prop, required=True, node=or_null(prop.node))
