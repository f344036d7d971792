"""Puts the limits of `bounds` into lowered nodes, and remembers which ones it put where."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from extractkit.paths import Pointer, join
from extractkit.schema.dialects import Dialect
from extractkit.schema.limits import Bounds, InjectedBound
from extractkit.schema.lowerings.texts import DATE_PATTERNS, WITH_END, is_bounded
from extractkit.schema.match import admits_null
from extractkit.schema.minimal import EXAMPLES
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
    replace,
)
from extractkit.schema.patterns import parse
from extractkit.schema.unroll import unroll

__all__ = ["Injector"]

_FIXED_LENGTH: Final = frozenset({"date", "date-time", "ipv4", "ipv6", "time", "uuid"})

_EXACT_DIGITS: Final = 15
"""Up to so many digits every decimal number comes back from a double as it was written."""


class Injector:
    """One run over one tree.

    Attributes:
        limits: What was put on each node of the bounded tree, for `hits`.
    """

    def __init__(self, tree: SchemaTree, dialect: Dialect, bounds: Bounds) -> None:
        self.limits: dict[Node, tuple[InjectedBound, ...]] = {}
        self._tree = tree
        self._dialect = dialect
        self._bounds = bounds
        self._owner = ""
        self._told: list[tuple[str, InjectedBound]] = []
        self._open: list[tuple[str, Pointer, str]] = []
        self._any_levels: dict[str, Node] = {}
        self._by_type: Mapping[type[Node], Callable[[Any], Node]] = {
            StringNode: self._text,
            NumberNode: self._number,
            ArrayNode: self._list,
            ObjectNode: self._object,
            AnyNode: self._any,
        }

    def run(self) -> SchemaTree:
        """Return the bounded tree."""
        unrolled = unroll(self._tree, self._bounds.depth)
        for name in unrolled.bounded:
            self._told.append((name, self._limit("", "depth", self._bounds.depth)))
        self._open.extend((name, "", reason) for name, reason in unrolled.left)
        self._cut = unrolled.cut
        self._tree = unrolled.tree
        definitions: dict[str, Node] = {}
        for name, node in unrolled.tree.definitions.items():
            self._owner = unrolled.origin.get(name, name)
            definitions[name] = self._bound(node)
        self._owner = ""
        root = self._bound(unrolled.tree.root)
        return replace(unrolled.tree, root=root, definitions={**definitions, **self._any_levels})

    def injected(self) -> tuple[InjectedBound, ...]:
        """Return every limit at every place of the user's document."""
        return tuple(
            dict.fromkeys(
                replace(limit, pointer=place + limit.pointer)
                for owner, limit in self._told
                for place in self._tree.places.get(owner, ())
            )
        )

    def unbounded(self) -> tuple[tuple[Pointer, str], ...]:
        """Return what no limit could be put on, and why."""
        return tuple(
            dict.fromkeys(
                (place + pointer, reason)
                for owner, pointer, reason in self._open
                for place in self._tree.places.get(owner, ())
            )
        )

    def _limit(self, pointer: Pointer, keyword: str, limit: float) -> InjectedBound:
        return InjectedBound(pointer=pointer, keyword=keyword, limit=limit)

    def _put(self, node: Node, **limits: float) -> Node:
        """Note limits on a bounded node; returns the node."""
        noted = tuple(self._limit(node.pointer, key, limit) for key, limit in limits.items())
        self._told.extend((self._owner, limit) for limit in noted)
        self.limits[node] = self.limits.get(node, ()) + noted
        return node

    def _leave(self, node: Node, reason: str) -> None:
        self._open.append((self._owner, node.pointer, reason))

    def _bound(self, node: Node) -> Node:
        if isinstance(node, AllOfNode):
            self._leave(node, "an allOf whose parts cannot be merged is left as it is")
            return node
        is_cut = node in self._cut
        written = self._write_all(node) if isinstance(node, ObjectNode) else _as_number(node)
        bounded = map_children(written, self._bound)
        inject = self._by_type.get(type(node))
        bounded = inject(bounded) if inject else bounded
        if is_cut:
            bounded = replace(bounded)  # a node of its own, shared with no other place
            depth = self._limit(bounded.pointer, "depth", self._bounds.depth)
            self.limits[bounded] = (depth,)
        return bounded

    def _text(self, node: StringNode) -> Node:
        exact = DATE_PATTERNS.get((node.format or "", node.offset))
        if exact and node.pattern is None and node.max_length is None and not node.min_length:
            return replace(node, format=None, pattern=exact)  # of real dates, with an end
        ended = WITH_END.get(node.pattern or "")
        if ended is not None and node.max_length is None:
            return replace(node, pattern=ended)
        if node.max_length is not None or node.format in _FIXED_LENGTH:
            return node
        shortest = len(EXAMPLES.get(node.format or "", ""))
        if node.pattern is not None:
            parsed = parse(node.pattern)
            if parsed is not None and parsed.longest is not None:
                return node
            if node.format or (parsed and parsed.nested):
                self._leave(node, "this pattern and a length cannot surely be combined")
                return node
            shortest = 2 * len(parsed.shortest) if parsed else shortest
        if not self._dialect.enforces("maxLength"):
            self._leave(node, f"{self._dialect.name} does not bound the length of a text")
            return node
        longest = max(self._bounds.max_length, node.min_length, shortest)
        return self._put(replace(node, max_length=longest), maxLength=longest)

    def _number(self, node: NumberNode) -> Node:
        if not self._dialect.enforces("minimum"):
            self._leave(node, f"{self._dialect.name} does not bound numbers")
            return node
        size = self._bounds.max_number
        low = _most(node.minimum, node.exclusive_minimum)
        high = _least(node.maximum, node.exclusive_maximum)
        limits: dict[str, Any] = {}
        if low is None:
            limits["minimum"] = -size if high is None else min(-size, math.floor(high) - size)
        if high is None:
            limits["maximum"] = size if low is None else max(size, math.ceil(low) + size)
        bounded = replace(node, **limits)
        if node.integer or node.multiple_of is not None:
            return self._put(bounded, **limits)
        if node.decimals is not None:  # the type's own limit, which no answer is cut by
            return self._put(replace(bounded, multiple_of=_step(node.decimals)), **limits)
        step = _step(self._bounds.decimals + _leading_zeros(low, high))
        return self._put(replace(bounded, multiple_of=step), **limits, multipleOf=step)

    def _list(self, node: ArrayNode) -> Node:
        if node.max_items is not None or isinstance(node.items, NeverNode):
            return node
        if not self._dialect.enforces("maxItems"):
            self._leave(node, f"{self._dialect.name} does not bound the length of a list")
            return node
        most = max(self._bounds.max_items, node.min_items, len(node.prefix))
        return self._put(replace(node, max_items=most), maxItems=most)

    def _object(self, node: ObjectNode) -> Node:
        properties = node.properties
        if node.is_closed and not node.patterns:
            return node
        limits: dict[str, float] = {}
        if node.max_properties is None:
            if self._dialect.enforces("maxProperties") and all(p.required for p in properties):
                most = max(len(properties) + self._bounds.max_items, node.min_properties)
                node = replace(node, max_properties=most)
                limits["maxProperties"] = most
            else:
                self._leave(node, f"{self._dialect.name} cannot count the keys of this object")
        if self._dialect.enforces("patternProperties") and not (properties or node.patterns):
            limits["keyLength"] = self._bounds.max_key_length
            node = replace(
                node,
                patterns=((f"^(?s:.){{0,{self._bounds.max_key_length}}}$", node.extra),),
                extra=NeverNode(pointer=join(node.pointer, "*")),
                extra_stated=True,
            )
        elif not node.is_closed:
            self._leave(node, "the length of keys beside declared ones cannot be bounded")
        return self._put(node, **limits)

    def _write_all(self, node: ObjectNode) -> ObjectNode:
        properties = tuple(self._always_written(prop) for prop in node.properties)
        return replace(node, properties=properties)

    def _always_written(self, prop: Property) -> Property:
        target = self._tree.resolve(prop.node)
        single = isinstance(target, ChoiceNode) and len(target.values) == 1
        if prop.required or prop.of_map or not (single or admits_null(target, self._tree)):
            return prop
        self._told.append((self._owner, self._limit(prop.node.pointer, "required", 1)))
        return replace(prop, required=True)

    def _any(self, node: AnyNode) -> Node:
        """Return a reference to values of limited depth."""
        self._told.append((self._owner, self._limit(node.pointer, "depth", self._bounds.depth)))
        names = [f"any.{level}" for level in range(self._bounds.depth + 1)]
        if not self._any_levels:
            owner, self._owner = self._owner, "any"  # stands at no place of its own
            for level, name in enumerate(names):
                self._any_levels[name] = self._any_level(names, level)
            self._owner = owner
        return RefNode(
            pointer=node.pointer, name=names[-1], description=node.description, mark=node.mark
        )

    def _any_level(self, names: list[str], level: int) -> Node:
        scalars = (NullNode(), BooleanNode(), self._number(NumberNode()), self._text(StringNode()))
        if level == 0:
            return UnionNode(branches=scalars)
        inner = RefNode(name=names[level - 1])
        containers = (
            self._list(ArrayNode(items=inner)),
            self._object(ObjectNode(extra=inner, extra_stated=True)),
        )
        if level == 1:
            for node in containers:
                depth = self._limit("", "depth", self._bounds.depth)
                self.limits[node] = (*self.limits.get(node, ()), depth)
        return UnionNode(branches=(*scalars, *containers))


def _as_number(node: Node) -> Node:
    """Return a decimal with bounds as a number alone: its text would be held to fewer of them."""
    if not (isinstance(node, UnionNode) and node.decimal):
        return node
    numbers = [part for part in node.branches if isinstance(part, NumberNode)]
    others = [part for part in node.branches if not isinstance(part, NumberNode | StringNode)]
    if others or len(numbers) != 1 or not is_bounded(numbers[0]):
        return node
    (number,) = numbers
    if number.digits is not None and number.digits > _EXACT_DIGITS:
        return node
    return replace(number, description=node.description, mark=node.mark)


def _step(decimals: int) -> int | float:
    return 1 if decimals == 0 else float(f"1e-{decimals}")


def _leading_zeros(*edges: float | None) -> int:
    """Zeros after the point of the smallest edge, so that a step reaches between the edges."""
    sizes = [abs(edge) for edge in edges if edge]
    smallest = min(sizes, default=1.0)
    return max(0, math.ceil(-math.log10(smallest)))


def _most(*edges: float | None) -> float | None:
    return max((edge for edge in edges if edge is not None), default=None)


def _least(*edges: float | None) -> float | None:
    return min((edge for edge in edges if edge is not None), default=None)
