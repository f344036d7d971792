"""Which values a node takes, and which alternatives can never be confused.

Used where a document is walked beside nodes: to pick the branch of a union and to know when two
branches exclude each other. It is not the judge of an answer; `checks` is.
"""

from __future__ import annotations

import datetime
import ipaddress
import uuid
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Final

from extractkit.paths import JsonValue, is_array, is_object
from extractkit.schema.expressions import finds
from extractkit.schema.nodes import (
    AllOfNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    NumberNode,
    ObjectNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.plain import json_key, type_of

__all__ = [
    "accepts",
    "admits_null",
    "are_disjoint",
    "choose",
    "confusable",
    "is_found",
    "is_unknown",
    "json_types",
    "tags",
]

_ALL: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})
_NODE_TYPES: Final[dict[type[Node], frozenset[str]]] = {
    NullNode: frozenset({"null"}),
    BooleanNode: frozenset({"boolean"}),
    NumberNode: frozenset({"number"}),
    StringNode: frozenset({"string"}),
    ArrayNode: frozenset({"array"}),
    ObjectNode: frozenset({"object"}),
    NeverNode: frozenset(),
}
_MOST_COMPARED: Final = 256
_DEPTH: Final = 64
"""How deep a value is looked into before it counts as fitting."""


def json_types(node: Node, tree: SchemaTree) -> frozenset[str]:
    """Return the JSON types that a value of `node` may have; integers are numbers."""
    node = tree.resolve(node)
    if isinstance(node, UnionNode):
        return frozenset[str]().union(*(json_types(branch, tree) for branch in node.branches))
    if isinstance(node, AllOfNode):
        return _ALL.intersection(*(json_types(part, tree) for part in node.parts))
    if isinstance(node, ChoiceNode):
        return frozenset(type_of(value) for value in node.values)
    return _NODE_TYPES.get(type(node), _ALL)


def admits_null(node: Node, tree: SchemaTree) -> bool:
    """Whether null is a value of `node`."""
    return accepts(node, None, tree)


def accepts(node: Node, value: JsonValue, tree: SchemaTree, depth: int = _DEPTH) -> bool:
    """Whether `value` fits `node`; kept keywords and formats but dates are taken as holding.

    Args:
        node: What is asked for.
        value: Plain JSON.
        tree: Where references lead.
        depth: How many levels of the value are looked at; deeper parts count as fitting.
    """
    node = tree.resolve(node)
    types = _NODE_TYPES.get(type(node))
    if types is not None and type_of(value) not in types:
        return False
    if isinstance(node, UnionNode):
        return any(accepts(branch, value, tree, depth) for branch in node.branches)
    if isinstance(node, AllOfNode):
        return all(accepts(part, value, tree, depth) for part in node.parts)
    if isinstance(node, ChoiceNode):
        key = json_key(value)
        return any(json_key(known) == key for known in node.values)
    if isinstance(node, NumberNode):
        return _accepts_number(node, value)
    if isinstance(node, StringNode):
        return _accepts_text(node, value)
    if depth <= 0:
        return True
    if isinstance(node, ArrayNode):
        return _accepts_list(node, value, tree, depth - 1)
    if isinstance(node, ObjectNode):
        return _accepts_object(node, value, tree, depth - 1)
    return True


def _accepts_number(node: NumberNode, value: float) -> bool:
    if node.integer and value != int(value):
        return False
    if node.multiple_of is not None and not _is_multiple(value, node.multiple_of):
        return False
    return (
        (node.minimum is None or value >= node.minimum)
        and (node.maximum is None or value <= node.maximum)
        and (node.exclusive_minimum is None or value > node.exclusive_minimum)
        and (node.exclusive_maximum is None or value < node.exclusive_maximum)
    )


def _is_multiple(value: float, step: float) -> bool:
    try:
        quotient = value / step
        return abs(quotient - round(quotient)) <= 1e-9 * max(1.0, abs(quotient))
    except OverflowError:  # beyond what a double can say
        return Fraction(value) % Fraction(step) == 0


def _accepts_text(node: StringNode, value: str) -> bool:
    if len(value) < node.min_length:
        return False
    if node.max_length is not None and len(value) > node.max_length:
        return False
    if node.pattern is not None and not is_found(node.pattern, value):
        return False
    return node.format not in _FORMATS or _is_date_like(node.format, value)


def is_found(pattern: str, value: str) -> bool:
    """Whether `pattern` occurs in `value`; True where that cannot be told: the judge decides."""
    return finds(pattern, value) is not False


_FORMATS: Final[dict[str, Callable[[str], object]]] = {
    "date": datetime.date.fromisoformat,
    "date-time": datetime.datetime.fromisoformat,
    "time": datetime.time.fromisoformat,
    "uuid": uuid.UUID,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
}


def _is_date_like(name: str, value: str) -> bool:
    if name == "date" and len(value) != 10:
        return False
    if name == "date-time" and len(value) <= 10:
        return False
    try:
        _FORMATS[name](value)
    except ValueError:
        return False
    return True


def _accepts_list(node: ArrayNode, value: list[JsonValue], tree: SchemaTree, depth: int) -> bool:
    if len(value) < node.min_items:
        return False
    if node.max_items is not None and len(value) > node.max_items:
        return False
    if node.unique and len({json_key(item) for item in value}) < len(value):
        return False
    return all(
        accepts(node.prefix[i] if i < len(node.prefix) else node.items, item, tree, depth)
        for i, item in enumerate(value)
    )


def _accepts_object(
    node: ObjectNode, value: dict[str, JsonValue], tree: SchemaTree, depth: int
) -> bool:
    if len(value) < node.min_properties:
        return False
    if node.max_properties is not None and len(value) > node.max_properties:
        return False
    declared = {prop.name: prop for prop in node.properties}
    if any(prop.required and prop.name not in value for prop in node.properties):
        return False
    for key, item in value.items():
        if node.names is not None and not accepts(node.names, key, tree, depth):
            return False
        nodes = [part for pattern, part in node.patterns if is_found(pattern, key)]
        if key in declared:
            nodes.append(declared[key].node)
        if not all(accepts(part, item, tree, depth) for part in nodes or [node.extra]):
            return False
    return True


def choose(node: UnionNode, value: JsonValue, tree: SchemaTree) -> Node | None:
    """Return the branch that `value` belongs to, or None where none comes near.

    The named tag decides where there is one; else, of the branches that take the value whole, the
    one that declares the most of its keys, as Pydantic has it, and of these the first; else, for a
    value that is not valid, one whose constant keys it has, or the first of its JSON type. UNKNOWN
    comes before all others that could be spelled so.
    """
    named = _named(node, value, tree)
    if named is not None:
        return named
    kind = type_of(value)
    near = [branch for branch in node.branches if kind in json_types(branch, tree)]
    if len(near) > 1:
        fitting = [branch for branch in near if accepts(branch, value, tree)]
        if len(fitting) > 1 and kind in ("object", "array"):
            return max(fitting, key=lambda branch: _declared_keys(branch, value, tree))
        tagged = (branch for branch in near if _has_its_tags(branch, value, tree))
        return fitting[0] if fitting else next(tagged, near[0])
    return near[0] if near else None


def _declared_keys(node: Node, value: JsonValue, tree: SchemaTree, depth: int = _DEPTH) -> int:
    """Return how many keys of `value`, on all levels, `node` declares by name."""
    node = tree.resolve(node)
    if depth <= 0:
        return 0
    if isinstance(node, UnionNode):
        return max(_declared_keys(each, value, tree, depth - 1) for each in node.branches)
    if isinstance(node, AllOfNode):
        return sum(_declared_keys(each, value, tree, depth - 1) for each in node.parts)
    if isinstance(node, ArrayNode) and is_array(value):
        items = [*node.prefix[: len(value)], *[node.items] * (len(value) - len(node.prefix))]
        parts = zip(items, value, strict=True)
        return sum(_declared_keys(item, part, tree, depth - 1) for item, part in parts)
    if not (isinstance(node, ObjectNode) and is_object(value)):
        return 0
    known = [prop for prop in node.properties if prop.name in value]
    below = [_declared_keys(prop.node, value[prop.name], tree, depth - 1) for prop in known]
    return len(known) + sum(below)


def _named(node: UnionNode, value: JsonValue, tree: SchemaTree) -> Node | None:
    """Return the branch that the value itself names, by its tag or by being UNKNOWN."""
    tag = node.tag or ""
    named = json_key(value[tag]) if is_object(value) and node.tag in value else None
    for branch in node.branches:
        if named is not None and named in tags(branch, tree, required=False).get(tag, ()):
            return branch
        if is_unknown(tree.resolve(branch)) and accepts(branch, value, tree):
            return branch
    return None


def is_unknown(node: Node) -> bool:
    """Whether UNKNOWN is the only value of `node`, as a text or as the reserved object."""
    if isinstance(node, ObjectNode) and len(node.properties) == 1:
        (prop,) = node.properties
        return prop.name == "unknown" and is_unknown(prop.node)
    return isinstance(node, ChoiceNode) and node.unknown


def _has_its_tags(node: Node, value: JsonValue, tree: SchemaTree) -> bool:
    known = tags(node, tree, required=False) if is_object(value) else {}
    present = [json_key(value[key]) in keys for key, keys in known.items() if key in value]
    return bool(present) and all(present)


def tags(node: Node, tree: SchemaTree, *, required: bool = True) -> dict[str, frozenset[str]]:
    """Return the keys of an object that hold one of a closed set, with the keys of that set.

    Args:
        node: Any node; only objects have tags.
        tree: Where references lead.
        required: Leave out keys that an object may lack.
    """
    node = tree.resolve(node)
    if isinstance(node, AllOfNode):
        found: dict[str, frozenset[str]] = {}
        for part in node.parts:
            found.update(tags(part, tree, required=required))
        return found
    if not isinstance(node, ObjectNode):
        return {}
    return {
        prop.name: frozenset(json_key(value) for value in choice.values)
        for prop in node.properties
        if (prop.required or not required)
        and isinstance(choice := tree.resolve(prop.node), ChoiceNode)
    }


def are_disjoint(
    one: Node, other: Node, tree: SchemaTree, tag: str | None = None, depth: int = 3
) -> bool:
    """Whether it is certain that no value fits both; False means "not known".

    Args:
        one: A node.
        other: Another one.
        tree: Where references lead.
        tag: A key that the user names as deciding, so that it need not be required.
        depth: How many levels of keys are looked into.
    """
    one, other = tree.resolve(one), tree.resolve(other)
    if not json_types(one, tree) & json_types(other, tree):
        return True
    for union, against in ((one, other), (other, one)):
        if isinstance(union, UnionNode):
            return all(are_disjoint(part, against, tree, tag, depth) for part in union.branches)
    for choice, against in ((one, other), (other, one)):
        if isinstance(choice, ChoiceNode):
            return not any(accepts(against, value, tree) for value in choice.values)
    return (
        _have_disjoint_tags(one, other, tree, tag)
        or _lack_a_key(one, other)
        or (depth > 0 and _have_a_disjoint_key(one, other, tree, depth - 1))
    )


def confusable(
    node: UnionNode, tree: SchemaTree, tag: str | None = None
) -> Iterator[tuple[Node, Node]]:
    """Yield the pairs of alternatives that some value may fit both of.

    Of more than 256 alternatives each is paired with its neighbour, unseen: all pairs would take
    too long, and to call two of them confusable is always safe.
    """
    if len(node.branches) > _MOST_COMPARED:
        yield from pairwise(node.branches)
        return
    for one, other in combinations(node.branches, 2):
        if not are_disjoint(one, other, tree, tag):
            yield one, other


def _have_disjoint_tags(one: Node, other: Node, tree: SchemaTree, tag: str | None) -> bool:
    """Whether a key that one asks for has no value in it that the other allows."""
    mine, theirs = (tags(node, tree, required=False) for node in (one, other))
    asked = {*tags(one, tree), *tags(other, tree), *(() if tag is None else (tag,))}
    return any(not mine[key] & theirs[key] for key in mine.keys() & theirs.keys() if key in asked)


def _have_a_disjoint_key(one: Node, other: Node, tree: SchemaTree, depth: int) -> bool:
    """Whether a key that one asks for has values in the two that surely differ."""
    if not (isinstance(one, ObjectNode) and isinstance(other, ObjectNode)):
        return False
    theirs = {prop.name: prop for prop in other.properties}
    return any(
        (prop.required or theirs[prop.name].required)
        and are_disjoint(prop.node, theirs[prop.name].node, tree, depth=depth)
        for prop in one.properties
        if prop.name in theirs
    )


def _lack_a_key(one: Node, other: Node) -> bool:
    """Whether one asks for a key that the other forbids."""
    if not (isinstance(one, ObjectNode) and isinstance(other, ObjectNode)):
        return False
    return _forbids(one, other) or _forbids(other, one)


def _forbids(closed: ObjectNode, asking: ObjectNode) -> bool:
    if not closed.is_closed:
        return False
    known = {prop.name for prop in closed.properties}
    return any(
        prop.required
        and prop.name not in known
        and not any(is_found(pattern, prop.name) for pattern, _ in closed.patterns)
        for prop in asking.properties
    )
