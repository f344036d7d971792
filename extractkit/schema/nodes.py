"""What a target means, as a tree of small frozen nodes.

`read` makes them, `lowerings` rewrite them, `write` turns them into JSON Schema again; `match`,
`claims` and `bounds` walk them beside a document. A node knows nothing of Pydantic or of any
dialect. Nodes are compared by identity: two equal-looking places are still two places.

Pointers: a node's `pointer` is a place in the user's document, where `*` stands for every list
position or map key ("/lines/*/price"). Inside a definition it counts from that definition;
`SchemaTree.places` says where definitions stand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypeVar

from extractkit.fields import Mark
from extractkit.messages import changed as replace
from extractkit.paths import JsonObject, JsonValue, Pointer
from extractkit.schema.ways import Way

__all__ = [
    "KINDS",
    "LEAVES",
    "NO_TREE",
    "AllOfNode",
    "AnyNode",
    "ArrayNode",
    "BooleanNode",
    "ChoiceNode",
    "NeverNode",
    "Node",
    "NullNode",
    "NumberNode",
    "ObjectNode",
    "Property",
    "RefNode",
    "SchemaTree",
    "StringNode",
    "UnionNode",
    "children",
    "has_children",
    "map_children",
    "owners",
    "rebase",
    "replace",
    "stand_in",
    "taken_into",
    "walk_kind",
    "walk_nodes",
]

N = TypeVar("N", bound="Node")
_Number: TypeAlias = int | float
_Change: TypeAlias = "Callable[[Node], Node]"
_Kinds: TypeAlias = "Collection[type[Node]]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """One place of a target.

    Attributes:
        pointer: The place, from the start of the definition that holds it.
        description: What the user says about it.
        mark: Where its value comes from, if the user says so.
        notes: Annotations that assert nothing: title, default, examples and the like.
        rest: Assertions that no node models, as they were written.
        beyond: What the type asks for besides, in words: JSON Schema has none for it.
        ways: How this place was rewritten, first to last; empty in the user's own form.
    """

    pointer: Pointer = ""
    description: str = ""
    mark: Mark | None = None
    notes: JsonObject = field(default_factory=dict[str, Any])
    rest: JsonObject = field(default_factory=dict[str, Any])
    beyond: Mapping[str, str] = field(default_factory=dict[str, str])
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnyNode(Node):
    """Any JSON value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NeverNode(Node):
    """No value at all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NullNode(Node):
    """The value null."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BooleanNode(Node):
    """true or false."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberNode(Node):
    """A number.

    Attributes:
        decimals: How many digits after the point the type allows, where it says so.
        digits: How many digits in all.
    """

    integer: bool = False
    minimum: _Number | None = None
    maximum: _Number | None = None
    exclusive_minimum: _Number | None = None
    exclusive_maximum: _Number | None = None
    multiple_of: _Number | None = None
    decimals: int | None = None
    digits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StringNode(Node):
    """A text. `offset` says whether a date-time needs a UTC offset, may have one, or has none."""

    min_length: int = 0
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    offset: Literal["optional", "required", "none"] = "optional"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChoiceNode(Node):
    """One of a closed set of JSON values, in the user's order.

    Attributes:
        values: The set.
        unknown: It is the type Unknown.
        said: What the user says of single values: (key of the value, words).
    """

    values: tuple[JsonValue, ...]
    unknown: bool = False
    said: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArrayNode(Node):
    """A list: first the places of `prefix`, then any number of `items`."""

    prefix: tuple[Node, ...] = ()
    items: Node = field(default_factory=AnyNode)
    min_items: int = 0
    max_items: int | None = None
    unique: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Property:
    """One key of an object.

    Attributes:
        name: The key, whatever characters it holds.
        node: What stands there.
        required: Whether the key must be there.
        declared: False for a key that is only named as required.
        of_map: It is one of the keys that a map may hold, so that its absence says something.
    """

    name: str
    node: Node
    required: bool = False
    declared: bool = True
    of_map: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectNode(Node):
    """An object: declared keys in order, then keys by pattern, then any other key.

    Attributes:
        properties: Declared keys, in the order in which they are written.
        patterns: (regular expression over keys, node) pairs.
        extra: What any other key holds; NeverNode closes the object.
        extra_stated: Whether the user said anything about other keys.
        names: What every key must be, or None.
        key_mark: The user's mark on the keys themselves, kept where `names` is rewritten.
        reads: Keys that the type reads although they are not declared: other names of fields.
    """

    properties: tuple[Property, ...] = ()
    patterns: tuple[tuple[str, Node], ...] = ()
    extra: Node = field(default_factory=AnyNode)
    extra_stated: bool = False
    names: Node | None = None
    key_mark: Mark | None = None
    reads: frozenset[str] = frozenset()
    min_properties: int = 0
    max_properties: int | None = None

    @property
    def is_closed(self) -> bool:
        """Whether no key beyond the declared ones and the patterns is possible."""
        return isinstance(self.extra, NeverNode)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnionNode(Node):
    """One of several alternatives.

    Attributes:
        branches: The alternatives, in order.
        form: How it is written: anyOf, oneOf (exactly one holds), a list of JSON types, or an
            object with a list per branch (see `lowerings.spread`).
        tag: The key whose value picks the branch, where the user names one.
        implied: The one JSON type that keywords without `type` speak of, or None.
        decimal: The alternatives are spellings of one decimal number.
    """

    branches: tuple[Node, ...]
    form: Literal["anyOf", "oneOf", "types", "lists"] = "anyOf"
    tag: str | None = None
    implied: str | None = None
    decimal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllOfNode(Node):
    """Everything that each part asks for."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefNode(Node):
    """What the named definition says."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SchemaTree:
    """A whole target.

    Attributes:
        root: The outermost node.
        definitions: Nodes that are referred to by name.
        places: Where each definition stands in the user's document, "" being the root's own key.
    """

    root: Node
    definitions: Mapping[str, Node] = field(default_factory=dict[str, Node])
    places: Mapping[str, tuple[Pointer, ...]] = field(
        default_factory=dict[str, tuple[Pointer, ...]]
    )

    def resolve(self, node: Node) -> Node:
        """Return `node`, or what it refers to in the end."""
        while isinstance(node, RefNode):
            node = self.definitions[node.name]
        return node


KINDS: Final[frozenset[type[Node]]] = frozenset(
    {
        AllOfNode, AnyNode, ArrayNode, BooleanNode, ChoiceNode, NeverNode, NullNode, NumberNode,
        ObjectNode, RefNode, StringNode, UnionNode,
    }
)  # fmt: skip
"""Every kind of node."""

NO_TREE: Final = SchemaTree(root=AnyNode())
"""For questions about a node that refers to nothing."""


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below `node`."""
    of_kind = _CHILDREN.get(type(node))
    return () if of_kind is None else of_kind(node)


def _of_object(node: ObjectNode) -> tuple[Node, ...]:
    found = [prop.node for prop in node.properties]
    found += [value for _, value in node.patterns]
    found.append(node.extra)
    if node.names is not None:
        found.append(node.names)
    return tuple(found)


_CHILDREN: Final[Mapping[type[Node], Callable[[Any], tuple[Node, ...]]]] = {
    AllOfNode: lambda node: node.parts,
    ArrayNode: lambda node: (*node.prefix, node.items),
    ObjectNode: _of_object,
    UnionNode: lambda node: node.branches,
}


LEAVES: Final = KINDS.difference(_CHILDREN)
"""The kinds that no node can stand below."""


def has_children(node: Node) -> bool:
    """Whether nodes can stand below `node`."""
    return type(node) in _CHILDREN


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yield `node` and everything below it, without following references."""
    pending = [node]
    while pending:
        here = pending.pop()
        yield here
        if type(here) in _CHILDREN:
            pending.extend(children(here)[::-1])


def walk_kind(node: Node, kind: type[N]) -> Iterator[N]:
    """Yield those of one kind among `node` and everything below it; references end there."""
    others = LEAVES - {kind}
    pending = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, kind):
            yield here
        if type(here) in _CHILDREN:
            pending.extend([part for part in children(here)[::-1] if type(part) not in others])


def stand_in(new: N, old: Node, **changes: Any) -> N:
    """Return `new` at the place of `old`, saying all that `old` says besides its kind.

    Args:
        new: A node, or one that is like it but for `changes`.
        old: Where it stands, and what is said there.
        **changes: Attributes of the kind of `new`.
    """
    return replace(
        new,
        pointer=old.pointer,
        description=old.description,
        mark=old.mark,
        notes=old.notes,
        rest=old.rest,
        beyond=old.beyond,
        **changes,
    )


def taken_into(new: N, old: Node) -> N:
    """Return `new` at the place of `old`, saying what both say; where they differ, `old` counts.

    Args:
        new: What takes the place: what `old` refers to or is made of.
        old: Where it stands, and what is said there.
    """
    return replace(
        new,
        pointer=old.pointer,
        description=old.description or new.description,
        mark=old.mark or new.mark,
        notes={**new.notes, **old.notes},
        rest={**new.rest, **old.rest},
        beyond={**new.beyond, **old.beyond},
    )


def owners(tree: SchemaTree) -> Iterator[tuple[str, Node]]:
    """Yield ("", root) and then every (name, definition)."""
    yield "", tree.root
    yield from tree.definitions.items()


def map_children(
    node: Node, change: Callable[[Node], Node], still: Collection[type[Node]] = ()
) -> Node:
    """Return `node` with each child changed; the same object where nothing changed.

    Args:
        node: Any node.
        change: Returns what takes the place of a child.
        still: Kinds of children that stay as they are, unasked.
    """
    of_kind = _MAPPED.get(type(node))
    return node if of_kind is None else of_kind(node, change, still)


# Nodes and properties are equal where they are the same, so that tuples of them are, too.


def _map_all_of(node: AllOfNode, change: _Change, still: _Kinds) -> Node:
    parts = tuple([part if type(part) in still else change(part) for part in node.parts])
    return node if parts == node.parts else replace(node, parts=parts)


def _map_array(node: ArrayNode, change: _Change, still: _Kinds) -> Node:
    prefix = tuple([change(part) for part in node.prefix]) if node.prefix else ()
    items = node.items if type(node.items) in still else change(node.items)
    if items is node.items and prefix == node.prefix:
        return node
    return replace(node, prefix=prefix, items=items)


def _map_union(node: UnionNode, change: _Change, still: _Kinds) -> Node:
    branches = tuple([part if type(part) in still else change(part) for part in node.branches])
    return node if branches == node.branches else replace(node, branches=branches)


def _map_object(node: ObjectNode, change: _Change, still: _Kinds) -> Node:
    properties = tuple(
        [
            prop
            if type(prop.node) in still or (new := change(prop.node)) is prop.node
            else replace(prop, node=new)
            for prop in node.properties
        ]
    )
    patterns = tuple([(pattern, change(value)) for pattern, value in node.patterns])
    extra = node.extra if type(node.extra) in still else change(node.extra)
    names = None if node.names is None else change(node.names)
    if (
        extra is node.extra
        and names is node.names
        and properties == node.properties
        and patterns == node.patterns
    ):
        return node
    return replace(node, properties=properties, patterns=patterns, extra=extra, names=names)


_MAPPED: Final[Mapping[type[Node], Callable[[Any, _Change, _Kinds], Node]]] = {
    AllOfNode: _map_all_of,
    ArrayNode: _map_array,
    ObjectNode: _map_object,
    UnionNode: _map_union,
}


def rebase(node: Node, prefix: Pointer) -> Node:
    """Return a copy of `node` whose pointers start with `prefix`."""
    if not prefix:
        return node
    moved = map_children(node, lambda child: rebase(child, prefix))
    return replace(moved, pointer=prefix + moved.pointer)
