"""How many typed leaves of a target the schema that is sent holds to their type.

A leaf is a place of the user's that holds no other: a number, a boolean, a text, a choice. Each
is counted once, in the definition that holds it. null says that something is absent, so it is no
leaf; a place of any type has none to enforce and is counted apart.

A leaf is enforced if, at its place in what is sent, its JSON type stands, or a text that a
pattern, a format or a choice limits (the digits of a Decimal). It is not where the place is open,
where it is sent as JSON text or as a text of any kind instead, or where it is not sent at all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from extractkit.paths import Pointer
from extractkit.schema import CompiledSchema
from extractkit.schema.lowerings.untyped import JsonText
from extractkit.schema.nodes import (
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    Node,
    NumberNode,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
    children,
    owners,
)
from extractkit.schema.places import find_places
from extractkit.schema.plain import type_of

__all__ = ["Leaves", "leaves"]

_LEAF: Final = (AnyNode, BooleanNode, ChoiceNode, NumberNode, StringNode)
_TYPES: Final[Mapping[type[Node], str]] = {
    BooleanNode: "boolean",
    NumberNode: "number",
    StringNode: "string",
}
_ALL_TYPES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaves:
    """The leaves of one target.

    Attributes:
        enforced: Typed leaves that are held to their type.
        open: Typed leaves that are not.
        untyped: Places of any type.
    """

    enforced: int
    open: tuple[Pointer, ...]
    untyped: int


def leaves(compiled: CompiledSchema) -> Leaves:
    """Return the leaves of a target by what the schema that is sent makes of them."""
    sent: dict[Pointer, list[Node]] = defaultdict(list)
    sent_at = find_places(compiled.lowered)  # definitions were copied and renamed
    for owner, top in owners(compiled.lowered):
        for leaf in _below(top):
            for place in sent_at[owner]:
                sent[place + leaf.pointer].append(leaf)
    enforced, untyped = 0, 0
    missed: list[Pointer] = []
    anything = _untyped_places(compiled.tree)
    for owner, top in _of_values(compiled.tree):
        places = compiled.tree.places.get(owner, ())
        for at, asked in _by_place(top).items():
            here = [place + at for place in places]
            if not anything.isdisjoint(here):
                untyped += 1
            elif here and _is_held(asked, sent, here):
                enforced += 1
            elif here:
                missed.append(here[0])
    return Leaves(enforced=enforced, open=tuple(missed), untyped=untyped)


def _of_values(tree: SchemaTree) -> Iterator[tuple[str, Node]]:
    """Yield the owners that values stand in; a rule over keys alone holds no leaf."""
    used = {ref.name for _, top in owners(tree) for ref in _refs(top)} | {""}
    yield from ((owner, top) for owner, top in owners(tree) if owner in used)


def _untyped_places(tree: SchemaTree) -> set[Pointer]:
    return {
        place + leaf.pointer
        for owner, top in owners(tree)
        for leaf in _below(top)
        if isinstance(leaf, AnyNode)
        for place in tree.places.get(owner, ())
    }


def _is_held(asked: list[Node], sent: Mapping[Pointer, list[Node]], at: list[Pointer]) -> bool:
    found = [leaf for pointer in at for leaf in sent.get(pointer) or _near(pointer, sent)]
    if not found or any(_is_open(leaf) for leaf in found):
        return False
    types = {name for leaf in found for name in _types(leaf)}
    limited = any(_is_limited(leaf) for leaf in found)
    wanted = {name for leaf in asked for name in _types(leaf)}
    return all(name in types or limited for name in wanted)


def _near(at: Pointer, sent: Mapping[Pointer, list[Node]]) -> list[Node]:
    """Return the leaves of a map whose keys are written out: "/names/left" for "/names/*"."""
    if "*" not in at:
        return []
    some = re.compile(re.escape(at).replace(r"\*", "[^/]*"))
    return [leaf for pointer, found in sent.items() if some.fullmatch(pointer) for leaf in found]


def _is_open(leaf: Node) -> bool:
    return isinstance(leaf, AnyNode) or any(isinstance(way, JsonText) for way in leaf.ways)


def _is_limited(leaf: Node) -> bool:
    """Whether a text stands there that says of what kind it is."""
    if isinstance(leaf, ChoiceNode):
        return True
    return isinstance(leaf, StringNode) and (leaf.pattern is not None or leaf.format is not None)


def _types(leaf: Node) -> set[str]:
    if isinstance(leaf, ChoiceNode):
        return {type_of(value) for value in leaf.values} - {"null"}
    return {_TYPES[type(leaf)]}


def _by_place(top: Node) -> Mapping[Pointer, list[Node]]:
    found: dict[Pointer, list[Node]] = defaultdict(list)
    for leaf in _below(top):
        if not isinstance(leaf, ChoiceNode) or _types(leaf):
            found[leaf.pointer].append(leaf)
    return found


def _below(top: Node) -> Iterator[Node]:
    return (node for node in _values(top) if not isinstance(node, RefNode))


def _refs(top: Node) -> Iterator[RefNode]:
    return (node for node in _values(top) if isinstance(node, RefNode))


def _values(top: Node) -> Iterator[Node]:
    """Yield the leaves and references that stand for values, not for keys."""
    pending = [top]
    while pending:
        node = pending.pop()
        if isinstance(node, (*_LEAF, RefNode)):
            yield node
        elif isinstance(node, ObjectNode):
            pending += [prop.node for prop in node.properties]
            pending += [part for _, part in node.patterns]
            # What a map holds; beside patterns, any other key stands at their place.
            if node.extra_stated and not (node.patterns and isinstance(node.extra, AnyNode)):
                pending.append(node.extra)
        elif isinstance(node, ArrayNode):
            pending += node.prefix
            if node.max_items is None or node.max_items > len(node.prefix):
                pending.append(node.items)
        elif isinstance(node, UnionNode) and len(node.branches) == _ALL_TYPES:
            # Keywords without a type, written out: what they do not speak of has none.
            pending += [part for part in node.branches if not isinstance(part, _LEAF)]
        else:
            pending += children(node)
