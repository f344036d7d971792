"""What of an answer can be shown in the user's form before it is whole, by node.

Neighbours: `schema` says how each place was rewritten, and takes finished parts back; `_growth`
walks the answer beside the nodes. Nothing here looks at a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, TypeAlias

from extractkit.paths import JsonValue
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below
from extractkit.schema.lowerings.defaults import NullIsAbsent
from extractkit.schema.lowerings.maps import Entries, Others
from extractkit.schema.lowerings.names import Renamed
from extractkit.schema.lowerings.required import EmptyIsAbsent
from extractkit.schema.lowerings.tuples import Positions, Shifted
from extractkit.schema.match import is_unknown, json_types, tags
from extractkit.schema.nodes import (
    ArrayNode,
    Node,
    ObjectNode,
    UnionNode,
    owners,
    walk_kind,
)
from extractkit.schema.plain import json_key
from extractkit.schema.ways import InPlace, Way

__all__ = ["AS_IT_IS", "Hold", "Lift", "Route", "Shape", "Shapes"]

Lift: TypeAlias = Callable[[JsonValue], JsonValue]
"""Takes a finished part back to the user's form."""

Hold: TypeAlias = Literal["", "null", "empty"]
"""What a value may turn out to be that leaves nothing in its place: null, or an empty list."""

_User: TypeAlias = Literal["object", "array", "place", "entries", "unknown"]


@dataclass(frozen=True, slots=True)
class Route:
    """Where the user finds what an answer has under a key.

    Attributes:
        key: The user's key; None where its parts stand beside the other parts of the container.
        hold: When there is nothing there in the end.
        taken: Keys that its parts must not have, because they are declared.
    """

    key: str | int | None
    hold: Hold = ""
    taken: frozenset[str] = frozenset()


@dataclass(slots=True)
class Shape:
    """How a container of an answer is taken back.

    Attributes:
        user: What the user has there: a container of their own, the one part itself ("place"), or
            an object whose members come as entries; "unknown" until it is whole.
        lift: Takes it back as a whole, where that is the only way.
        lifts: What undoes the rewriting of the container itself, its parts being taken back.
        node: What speaks of its parts; None where all have the user's form.
        ways: How the keys were rewritten, last to first.
        is_user_form: All of it, to the leaves, has the user's form.
        tag: Of an object that is one of several: the key whose value says which.
        branches: What it may be one of.
        is_guess: Only of an answer that fits its schema the tag says which.
    """

    user: _User = "object"
    lift: Lift | None = None
    lifts: Sequence[Callable[[JsonValue, list[str]], JsonValue]] = ()
    node: Node | None = None
    ways: Sequence[Way] = ()
    is_user_form: bool = False
    tag: str | None = None
    branches: Sequence[Node] = ()
    is_guess: bool = False
    _routes: dict[str, Route] = field(default_factory=dict[str, Route])
    _below: dict[str, Node] = field(default_factory=dict[str, Node])

    def below(self, key: str | int) -> Node | None:
        """Return what speaks of the part under a key."""
        if isinstance(key, str) and isinstance(self.node, ObjectNode):
            if not self._below:
                self._below = {prop.name: prop.node for prop in self.node.properties}
            found = self._below.get(key)
            if found is not None:
                return found
        return below(self.node, key)

    def route(self, key: str | int) -> Route:
        """Return where the user finds the part under a key."""
        if isinstance(key, int):
            return _route(self.ways, key)
        known = self._routes.get(key)
        if known is None:
            known = _route(self.ways, key)
            if key in self._below:
                self._routes[key] = known
        return known


def _route(ways: Sequence[Way], key: str | int) -> Route:
    hold: Hold = ""
    for way in ways:
        if isinstance(way, NullIsAbsent) and key in way.names:
            hold = "null"
        elif isinstance(way, EmptyIsAbsent) and key in way.names:
            hold = "empty"
        else:
            users = way.key(key, None)
            if users is None:
                return Route(None, taken=way.declared if isinstance(way, Others) else frozenset())
            key = users
    return Route(key, hold)


AS_IT_IS: Final = Shape(is_user_form=True)
_OF_OBJECTS: Final = (Renamed, NullIsAbsent, EmptyIsAbsent, Others)


class Shapes:
    """The shapes of one schema, each made once."""

    def __init__(self, compiled: CompiledSchema) -> None:
        self._tree = compiled.lowered
        self._lifter = compiled.lifter
        self._compiled = compiled
        self._known: dict[tuple[Node, str], Shape] = {}
        self._lifts: dict[tuple[Node, str], Lift | None] = {}

    @property
    def root(self) -> Node | None:
        """What speaks of the whole answer; None where it has the user's form."""
        return self._tree.root if self._lifter.lifts else None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The JSON types that an answer may have."""
        return json_types(self._tree.root, self._tree)

    @cached_property
    def respells(self) -> bool:
        """Whether a number may become the text of its digits, where a float has not all of them."""
        if self._compiled.adapter is None:
            return False
        tree = self._compiled.tree
        return any(union.decimal for _, top in owners(tree) for union in walk_kind(top, UnionNode))

    def of(self, node: Node, kind: str) -> Shape:
        """Return how a container of this kind is taken back that stands at `node`."""
        at = (node, kind)
        if at not in self._known:
            self._known[at] = self._made(node, kind)
        return self._known[at]

    def named(self, shape: Shape, value: JsonValue) -> Shape | None:
        """Return the shape of the alternative that the value of the tag names, if it is known.

        The tag alone decides, whatever keys come: see `match.choose`.
        """
        key = json_key(value)
        for branch in shape.branches:
            tag = shape.tag or ""
            if key in tags(branch, self._tree, required=False).get(tag, ()):
                found = self.of(branch, "object")
                return None if found.user == "unknown" else found
        return None

    def lift_of(self, node: Node, kind: str) -> Lift | None:
        """Return what takes a scalar of this kind back; None where it has the user's form."""
        at = (node, kind)
        if at not in self._lifts:
            near = self._near(node, kind)
            lifts = any(self._lifter.of(each) is not None for each in near)
            self._lifts[at] = self._as_a_whole(node) if lifts else None
        return self._lifts[at]

    def _made(self, node: Node, kind: str) -> Shape:
        near = self._near(node, kind)
        if not any(self._is_rewritten(each) for each in near):
            return AS_IT_IS
        (only, *others) = near
        is_told = isinstance(only, ObjectNode if kind == "object" else ArrayNode)
        if others or not is_told:
            shape = Shape("unknown", self._as_a_whole(node))
            if others and kind == "object":
                self._find_tag(node, shape)
            return shape
        ways = [way for way in reversed(only.ways) if way.lifts or type(way).key is not Way.key]
        user = _users(kind, ways)
        if user == "unknown":
            return Shape("unknown", self._as_a_whole(node))
        lifts = [way.lift for way in ways if way.lifts]
        return Shape(user, None, lifts, only, ways)

    def _is_rewritten(self, node: Node) -> bool:
        if self._lifter.of(node) is not None:
            return True
        return any(type(way).key is not Way.key for way in node.ways)

    def _near(self, node: Node, kind: str) -> list[Node]:
        """Return the alternatives that a value of this kind may belong to."""
        found: list[Node] = []
        waiting = [node]
        while waiting:
            here = self._tree.resolve(waiting.pop())
            if isinstance(here, UnionNode):
                waiting.extend(reversed(here.branches))
            elif kind in json_types(here, self._tree):
                found.append(here)
        return found

    def _find_tag(self, node: Node, shape: Shape) -> None:
        """Find the key whose value says which of several objects one is."""
        here = self._tree.resolve(node)
        near: list[Node] = []
        while isinstance(here, UnionNode):
            near = [part for part in here.branches if "object" in json_types(part, self._tree)]
            if len(near) != 1:
                break
            here = self._tree.resolve(near[0])
        if not isinstance(here, UnionNode):
            return
        if any(is_unknown(self._tree.resolve(part)) for part in near):
            return
        shape.branches = near
        shape.tag = here.tag
        if here.tag is None:
            shape.tag, shape.is_guess = self._telling(near), True

    def _telling(self, branches: Sequence[Node]) -> str | None:
        """Return a key whose values are others in each of the branches, if there is one."""
        known = [tags(branch, self._tree, required=False) for branch in branches]
        for key in known[0]:
            values = [each[key] for each in known if key in each]
            count = sum(map(len, values))
            if len(values) == len(known) and count == len(frozenset[str]().union(*values)):
                return key
        return None

    def _as_a_whole(self, node: Node) -> Lift:
        lift = self._lifter.of(node)
        return (lambda value: value) if lift is None else (lambda value: lift(value, None, []))


def _users(kind: str, ways: Sequence[Way]) -> _User:
    """Return what the user has where an answer has this kind of container."""
    user: _User = "object" if kind == "object" else "array"
    for index, way in enumerate(ways):
        if user == "object" and isinstance(way, _OF_OBJECTS):
            continue
        if user == "array" and isinstance(way, Shifted):
            continue
        is_last = index == len(ways) - 1
        if user == "object" and isinstance(way, Positions):
            user = "array"
        elif user == "array" and isinstance(way, Entries) and is_last:
            user = "entries"
        elif isinstance(way, InPlace) and is_last:
            user = "place"
        else:
            return "unknown"
    return user
