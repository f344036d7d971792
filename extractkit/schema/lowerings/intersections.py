"""allOf, and keywords beside $ref, merged into one node.

| from | to | back |
|---|---|---|
| allOf of objects | one object with the keys of all, in order | as it is |
| allOf of numbers, texts or lists | one with the narrower of each bound | as it is |
| allOf with a union inside | the union of the merged branches, up to 96 | as it is |
| anything else | kept as allOf | as it is |

Merging comes before objects are closed: two closed parts of one object would exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import lcm
from typing import Any, Final, TypeVar

from extractkit.paths import join
from extractkit.schema.match import accepts
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    NumberNode,
    ObjectNode,
    Property,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
    map_children,
    owners,
    rebase,
    replace,
    taken_into,
    walk_kind,
)
from extractkit.schema.scope import Rewrite, Scope

__all__ = ["prepare"]

N = TypeVar("N", bound=Node)

_DEPTH: Final = 8
"""References followed into one merged node; deeper means recursion that a merge cannot end."""
_INLINED: Final = 64
"""References followed in all for one merged node."""
_BRANCHES: Final = 96
"""Most branches that a union inside an allOf may grow to, those of its branches counted in."""
_MERGED: Final = 512
"""Most branches that are merged in all for one node: of unions below each other, too."""


class _NoMergeError(Exception):
    """The parts cannot be written as one node."""


def prepare(tree: SchemaTree, scope: Scope) -> Rewrite | None:
    """Return what makes one node of an allOf, where there is one; None where no allOf is."""
    del scope
    found = (node for _, top in owners(tree) for node in walk_kind(top, AllOfNode))
    if next(found, None) is None:
        return None
    return Rewrite(_lower, frozenset({AllOfNode}))


def _lower(node: AllOfNode, scope: Scope) -> Node:
    try:
        merged = reduce(_Merger(scope.tree).merge, node.parts)
    except _NoMergeError:
        scope.change(node, "allOf", "allOf (its parts cannot be merged)")
        return node
    scope.change(node, "allOf or keywords beside $ref", "one merged schema")
    return taken_into(merged, node)


class _Merger:
    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._depth = 0
        self._inlined = 0
        self._merged = 0

    def merge(self, one: Node, other: Node) -> Node:
        """Return a node that takes what both take.

        Raises:
            _NoMergeError: If no single node says that.
        """
        if isinstance(one, RefNode) and isinstance(other, RefNode) and one.name == other.name:
            return one
        for node, against in ((one, other), (other, one)):
            if self._adds_nothing(node, against):
                return against
        self._depth += 1
        try:
            return self._merge(self._inline(one), self._inline(other))
        finally:
            self._depth -= 1

    def _adds_nothing(self, node: Node, other: Node) -> bool:
        """Whether everything that fits `other` fits `node`; then references stay references."""
        if node.rest or node.beyond or node.description or node.mark:
            return False
        if isinstance(node, AnyNode):
            return True
        return (
            isinstance(node, ObjectNode)
            and isinstance(node.extra, AnyNode)
            and not (node.properties or node.patterns or node.names or node.min_properties)
            and node.max_properties is None
            and isinstance(self._tree.resolve(other), ObjectNode)
        )

    def _settled(self, node: Node) -> Node:
        """Return an inlined definition with its own allOf merged, as far as that goes."""
        node = map_children(node, self._settled)
        if not isinstance(node, AllOfNode):
            return node
        try:
            return reduce(self.merge, node.parts)
        except _NoMergeError:
            return node

    def _inline(self, node: Node) -> Node:
        if isinstance(node, AllOfNode):
            return reduce(self.merge, node.parts)
        if not isinstance(node, RefNode):
            return node
        self._inlined += 1
        if self._depth > _DEPTH or self._inlined > _INLINED:
            raise _NoMergeError
        found = self._settled(rebase(self._tree.definitions[node.name], node.pointer))
        found = replace(
            found,
            description=node.description or found.description,
            mark=node.mark or found.mark,
        )
        return self._inline(found)

    def _merge(self, one: Node, other: Node) -> Node:
        for node, against in ((one, other), (other, one)):
            if isinstance(node, AnyNode):
                return _with_both(against, one, other)
            if isinstance(node, NeverNode):
                return node
        for node, against in ((one, other), (other, one)):
            if isinstance(node, ChoiceNode):
                values = tuple(v for v in node.values if accepts(against, v, self._tree))
                if not values:
                    return NeverNode(pointer=node.pointer)
                return _with_both(replace(node, values=values), one, other)
        for node, against in ((one, other), (other, one)):
            if isinstance(node, UnionNode):
                return self._distribute(node, against, first=node is one)
        if type(one) is not type(other):
            return NeverNode(pointer=one.pointer)
        return self._same_type(one, other)

    def _distribute(self, union: UnionNode, other: Node, *, first: bool) -> Node:
        if _width(union) * _width(other) > _BRANCHES:
            raise _NoMergeError
        self._merged += len(union.branches)
        if self._merged > _MERGED:
            raise _NoMergeError
        merged = [
            self.merge(branch, other) if first else self.merge(other, branch)
            for branch in union.branches
        ]
        branches = tuple(branch for branch in merged if not _is_empty(branch))
        if not branches:
            return NeverNode(pointer=union.pointer)
        if len(branches) == 1:
            return _with_both(branches[0], branches[0], union)
        form = union.form if union.form == "oneOf" else "anyOf"
        return replace(union, branches=branches, form=form, implied=None)

    def _same_type(self, one: Node, other: Node) -> Node:
        if isinstance(one, NullNode | BooleanNode):
            return _with_both(one, one, other)
        merger = self._by_type()[type(one)]
        return _with_both(merger(one, other), one, other)

    def _by_type(self) -> Mapping[type[Node], Callable[[Any, Any], Node]]:
        return {
            NumberNode: _numbers,
            StringNode: _texts,
            ArrayNode: self._lists,
            ObjectNode: self._objects,
        }

    def _lists(self, one: ArrayNode, other: ArrayNode) -> Node:
        longer = max(len(one.prefix), len(other.prefix))

        def at(node: ArrayNode, index: int) -> Node:
            return node.prefix[index] if index < len(node.prefix) else node.items

        return replace(
            one,
            prefix=tuple(self.merge(at(one, i), at(other, i)) for i in range(longer)),
            items=self.merge(one.items, other.items),
            min_items=max(one.min_items, other.min_items),
            max_items=_least(one.max_items, other.max_items),
            unique=one.unique or other.unique,
        )

    def _objects(self, one: ObjectNode, other: ObjectNode) -> Node:
        if one.names or other.names or (one.patterns and other.patterns):
            raise _NoMergeError
        theirs = {prop.name: prop for prop in other.properties}
        mine = {prop.name for prop in one.properties}
        properties = [self._pair(prop, theirs.get(prop.name), other) for prop in one.properties]
        properties.extend(
            self._pair(prop, None, one) for prop in other.properties if prop.name not in mine
        )
        return replace(
            one,
            properties=tuple(properties),
            patterns=one.patterns or other.patterns,
            extra=self.merge(one.extra, other.extra),
            extra_stated=one.extra_stated or other.extra_stated,
            min_properties=max(one.min_properties, other.min_properties),
            max_properties=_least(one.max_properties, other.max_properties),
        )

    def _pair(self, prop: Property, twin: Property | None, other: ObjectNode) -> Property:
        if twin is None:
            if other.patterns:
                raise _NoMergeError  # a pattern of the other part may hold for this key
            extra = replace(other.extra, pointer=join(other.pointer, prop.name))
            return replace(prop, node=self.merge(prop.node, extra))
        # An undeclared twin only says "required".
        if not prop.declared:
            return replace(twin, required=True)
        if not twin.declared:
            return replace(prop, required=True)
        return replace(
            prop,
            node=self.merge(prop.node, twin.node),
            required=prop.required or twin.required,
        )


def _with_both(node: N, one: Node, other: Node) -> N:
    """Return `node` with the description, mark and kept keywords of both."""
    shared = one.rest.keys() & other.rest.keys()
    if any(one.rest[key] != other.rest[key] for key in shared):
        raise _NoMergeError
    return replace(
        node,
        description=one.description or other.description,
        mark=one.mark or other.mark,
        rest={**one.rest, **other.rest},
        beyond={**one.beyond, **other.beyond},
        notes={**other.notes, **one.notes},
    )


def _width(node: Node) -> int:
    """Return how many alternatives there are at this place, those inside of others counted."""
    return sum(map(_width, node.branches)) if isinstance(node, UnionNode) else 1


def _is_empty(node: Node) -> bool:
    return isinstance(node, NeverNode) or (
        isinstance(node, ObjectNode)
        and any(prop.required and _is_empty(prop.node) for prop in node.properties)
    )


def _least(one: Any, other: Any) -> Any:
    given = [value for value in (one, other) if value is not None]
    return min(given) if given else None


def _most(one: Any, other: Any) -> Any:
    given = [value for value in (one, other) if value is not None]
    return max(given) if given else None


def _numbers(one: NumberNode, other: NumberNode) -> Node:
    steps = [node.multiple_of for node in (one, other) if node.multiple_of is not None]
    if len(set(steps)) == 2:
        if not all(isinstance(step, int) for step in steps):
            raise _NoMergeError
        steps = [lcm(*(int(step) for step in steps))]
    return replace(
        one,
        integer=one.integer or other.integer,
        minimum=_most(one.minimum, other.minimum),
        maximum=_least(one.maximum, other.maximum),
        exclusive_minimum=_most(one.exclusive_minimum, other.exclusive_minimum),
        exclusive_maximum=_least(one.exclusive_maximum, other.exclusive_maximum),
        multiple_of=steps[0] if steps else None,
        decimals=_least(one.decimals, other.decimals),
    )


def _texts(one: StringNode, other: StringNode) -> Node:
    for name in ("pattern", "format"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine and theirs and mine != theirs:
            raise _NoMergeError
    return replace(
        one,
        min_length=max(one.min_length, other.min_length),
        max_length=_least(one.max_length, other.max_length),
        pattern=one.pattern or other.pattern,
        format=one.format or other.format,
        offset=one.offset if one.format else other.offset,
    )
