"""The places of a target as the rules look at them: in declared order, each with its setting.

Neighbours: `nodes` says what stands at a place, the files of rules judge it. A definition that
contains itself is entered once on each way, and every definition at its first four places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from extractkit.fields import Mark
from extractkit.paths import Pointer, join
from extractkit.schema.match import is_unknown, json_types
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
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
    replace,
)

__all__ = ["Limit", "Meaning", "Spot", "Walk", "meaning_of"]

_MOST_SPOTS: Final = 5_000
_SPOTS_PER_DEFINITION: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a node means in the end: references followed, alternatives side by side.

    Attributes:
        alternatives: Nodes of one kind each; no reference, union or allOf.
        said: Titles and descriptions on the way, outermost first; an object's own is not among
            them, since it speaks of what is inside.
        mark: The innermost mark on the way.
        decimal: One of the alternatives is a decimal number.
        names: Names of the definitions on the way.
    """

    alternatives: tuple[Node, ...]
    said: tuple[str, ...] = ()
    mark: Mark | None = None
    decimal: bool = False
    names: tuple[str, ...] = ()

    @property
    def has_null(self) -> bool:
        """Whether null is a value."""
        return any(
            isinstance(node, NullNode | AnyNode)
            or (isinstance(node, ChoiceNode) and any(value is None for value in node.values))
            for node in self.alternatives
        )

    @property
    def has_unknown(self) -> bool:
        """Whether UNKNOWN is a value."""
        return any(is_unknown(node) for node in self.alternatives)

    @property
    def answers(self) -> tuple[Node, ...]:
        """The alternatives that are neither null nor UNKNOWN alone."""
        return tuple(
            node
            for node in self.alternatives
            if not isinstance(node, NullNode) and not is_unknown(node)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spot:
    """One place of a target.

    Attributes:
        pointer: The place in the user's document.
        node: What stands there, as it was read.
        meaning: The same, resolved; what a list says of itself holds for its items, too.
        prop: The key that leads here; None for the root, list items and values of maps.
        names: Declared keys and titles of tuple positions on the way here, outermost first.
        position: Its place in a tuple, counted from 0.
        is_item: It is an item of a list or a value of a map, so that its absence needs no word.
        is_tag: Its value picks the alternative that it stands in.
        above: The objects on the way, outermost first.
        may_lack: The object that it is a key of can be left out as a whole.
        is_entered: Its parts are looked at, too; not so where a definition stands once more.
    """

    pointer: Pointer
    node: Node
    meaning: Meaning
    prop: Property | None = None
    names: tuple[str, ...] = ()
    position: int | None = None
    is_item: bool = False
    is_tag: bool = False
    above: tuple[ObjectNode, ...] = ()
    may_lack: bool = False
    is_entered: bool = True

    @property
    def name(self) -> str:
        """The nearest declared key, or nothing."""
        return self.names[-1] if self.names else ""

    @property
    def may_be_left_out(self) -> bool:
        """Whether an answer can do without a value here."""
        absent = self.prop is not None and not self.prop.required
        return absent or self.is_item or self.meaning.has_null


@dataclass(slots=True)
class _Found:
    """Collects a meaning."""

    alternatives: list[Node] = field(default_factory=list[Node])
    said: list[str] = field(default_factory=list[str])
    mark: Mark | None = None
    decimal: bool = False
    names: list[str] = field(default_factory=list[str])


def meaning_of(node: Node, tree: SchemaTree, mark: Mark | None = None) -> Meaning:
    """Return what `node` means.

    Args:
        node: Any node.
        tree: Where references lead.
        mark: The mark of the nearest container that has one.
    """
    found = _Found(mark=mark)
    _collect(node, tree, found)
    return Meaning(
        alternatives=tuple(dict.fromkeys(found.alternatives)),
        said=tuple(dict.fromkeys(text for text in found.said if text)),
        mark=found.mark,
        decimal=found.decimal,
        names=tuple(found.names),
    )


def _collect(node: Node, tree: SchemaTree, found: _Found) -> None:
    found.mark = node.mark or found.mark
    if not isinstance(node, ObjectNode):
        found.said += [*_title(node), node.description]
    if isinstance(node, RefNode):
        if node.name not in found.names:  # the second time adds nothing
            found.names.append(node.name)
            _collect(tree.definitions[node.name], tree, found)
    elif isinstance(node, UnionNode):
        found.decimal = found.decimal or node.decimal
        for branch in _branches(node):
            _collect(branch, tree, found)
    elif isinstance(node, AllOfNode):
        found.alternatives += _of_all(node, tree, found)
    elif not isinstance(node, NeverNode):
        found.alternatives.append(node)


def _branches(node: UnionNode) -> tuple[Node, ...]:
    """Return the alternatives that the user thinks of."""
    if node.decimal:  # a number and its spelling as a text
        numbers = tuple(part for part in node.branches if not isinstance(part, StringNode))
        return numbers or node.branches
    if node.implied is not None:  # "properties" without "type" speaks of objects
        return tuple(part for part in node.branches if _KINDS[node.implied] is type(part))
    return node.branches


_KINDS: Final[dict[str, type[Node]]] = {
    "number": NumberNode,
    "string": StringNode,
    "array": ArrayNode,
    "object": ObjectNode,
}


def _of_all(node: AllOfNode, tree: SchemaTree, found: _Found) -> list[Node]:
    """Return the alternatives that can fulfil every part: a closed set tells more than a type."""
    parts: list[Node] = []
    for part in node.parts:
        inner = _Found(mark=found.mark, names=found.names)
        _collect(part, tree, inner)
        found.mark, found.decimal = inner.mark, found.decimal or inner.decimal
        found.said += inner.said
        parts += inner.alternatives
    types = json_types(node, tree)
    known = [part for part in parts if json_types(part, tree) & types]
    closed: list[Node] = [part for part in known if isinstance(part, ChoiceNode)]
    typed = [part for part in known if not isinstance(part, AnyNode)]
    return closed or typed or known


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A place behind which no more was looked at.

    Attributes:
        pointer: The first such place.
        definition: The definition that stands at too many places; None for too large a target.
        told_at: Where this definition was looked at.
    """

    pointer: Pointer
    definition: str | None = None
    told_at: tuple[Pointer, ...] = ()


@dataclass(slots=True)
class Walk:
    """One walk over a target; `limits` is complete once `spots` is at its end."""

    tree: SchemaTree
    limits: list[Limit] = field(default_factory=list[Limit])
    _entered: dict[str, list[Pointer]] = field(default_factory=dict[str, list[Pointer]])

    def spots(self) -> Iterator[Spot]:
        """Yield every place in declared order."""
        root = Spot(pointer="", node=self.tree.root, meaning=meaning_of(self.tree.root, self.tree))
        pending: list[tuple[Spot, frozenset[str]]] = [(root, frozenset())]
        count = 0
        while pending:
            spot, above = pending.pop()
            if count == _MOST_SPOTS:
                self.limits.append(Limit(pointer=spot.pointer))
                return
            count += 1
            names = spot.meaning.names
            is_entered = above.isdisjoint(names) and self._enters(spot.pointer, names)
            yield spot if is_entered else replace(spot, is_entered=False)
            if is_entered:
                below = above.union(names)
                pending += [(part, below) for part in reversed(self._parts(spot))]

    def _enters(self, pointer: Pointer, names: tuple[str, ...]) -> bool:
        full = [name for name in names if len(self._entered.get(name, ())) >= _SPOTS_PER_DEFINITION]
        if full and all(limit.definition != full[0] for limit in self.limits):
            told_at = tuple(self._entered[full[0]])
            self.limits.append(Limit(pointer=pointer, definition=full[0], told_at=told_at))
        if not full:
            for name in names:
                self._entered.setdefault(name, []).append(pointer)
        return not full

    def _parts(self, spot: Spot) -> list[Spot]:
        tags = _tags(spot.node, self.tree)
        parts: list[Spot] = []
        for node in spot.meaning.alternatives:
            if isinstance(node, ObjectNode):
                parts += self._of_object(spot, node, tags)
            elif isinstance(node, ArrayNode):
                parts += self._of_list(spot, node)
        return parts

    def _of_object(self, spot: Spot, node: ObjectNode, tags: frozenset[str]) -> list[Spot]:
        above = (*spot.above, node)
        parts = [
            self._part(
                spot,
                prop.node,
                prop.name,
                prop=prop,
                names=(*spot.names, prop.name),
                is_tag=prop.name in tags,
                above=above,
                may_lack=spot.may_be_left_out,
            )
            for prop in node.properties
        ]
        values = [part for _, part in node.patterns]
        if node.extra_stated and not isinstance(node.extra, NeverNode | AnyNode):
            values.append(node.extra)
        return parts + [self._item(spot, part, above=above) for part in values]

    def _of_list(self, spot: Spot, node: ArrayNode) -> list[Spot]:
        parts = [
            self._part(spot, part, index, names=(*spot.names, *_title(part)), position=index)
            for index, part in enumerate(node.prefix)
        ]
        if node.max_items is not None and node.max_items <= len(node.prefix):
            return parts
        if not isinstance(node.items, NeverNode):
            parts.append(self._item(spot, node.items))
        return parts

    def _item(self, spot: Spot, node: Node, above: tuple[ObjectNode, ...] | None = None) -> Spot:
        made = self._part(spot, node, "*", above=above or spot.above, is_item=True)
        meaning = replace(made.meaning, said=(*spot.meaning.said, *made.meaning.said))
        return replace(made, meaning=meaning)

    def _part(
        self,
        spot: Spot,
        node: Node,
        key: str | int,
        *,
        prop: Property | None = None,
        names: tuple[str, ...] | None = None,
        position: int | None = None,
        is_item: bool = False,
        is_tag: bool = False,
        above: tuple[ObjectNode, ...] | None = None,
        may_lack: bool = False,
    ) -> Spot:
        return Spot(
            pointer=join(spot.pointer, key),
            node=node,
            meaning=meaning_of(node, self.tree, spot.meaning.mark),
            prop=prop,
            names=spot.names if names is None else names,
            position=position,
            is_item=is_item,
            is_tag=is_tag,
            above=spot.above if above is None else above,
            may_lack=may_lack,
        )


def _title(node: Node) -> tuple[str, ...]:
    title = node.notes.get("title")
    return (title,) if isinstance(title, str) else ()


def _tags(node: Node, tree: SchemaTree) -> frozenset[str]:
    """Return the keys that pick an alternative of the unions at this very place."""
    tags: set[str] = set()
    seen: set[str] = set()
    pending = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, RefNode) and here.name not in seen:
            seen.add(here.name)
            pending.append(tree.definitions[here.name])
        elif isinstance(here, UnionNode):
            tags.update([here.tag] if here.tag else ())
            pending += here.branches
        elif isinstance(here, AllOfNode):
            pending += here.parts
    return frozenset(tags)
