"""A document from the user's form to the form that is sent, and back.

Both walk the lowered nodes and apply the ways that stand on them: there from the outside in, since
a way decides which parts there are; back from the inside out. Parts that no way touches are given
back as they are, uncopied. `Lifter` is made once per schema and keeps one function per node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from extractkit.paths import JsonValue, Pointer, is_array, is_object, join
from extractkit.schema.match import accepts, choose, is_found, json_types
from extractkit.schema.nodes import (
    LEAVES,
    ArrayNode,
    NeverNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
    walk_nodes,
)
from extractkit.schema.plain import digits_of, is_same, type_of
from extractkit.schema.ways import Way

__all__ = [
    "Fault",
    "Lifter",
    "Place",
    "RefusedError",
    "below",
    "lower",
    "pointer_of",
    "settle",
    "step",
]

Place: TypeAlias = "tuple[Place, str | int] | None"
"""A place of the user's document: what it stands in, and its key there; None is the root."""
_AS_SENT: Final = LEAVES - {RefNode}
"""Kinds of nodes whose values are the user's own, unless a way says otherwise."""
_Lift: TypeAlias = Callable[[JsonValue, Place, "list[Fault]"], JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something in an answer that cannot be taken back exactly.

    Attributes:
        pointer: The place in the user's document.
        message: What is wrong with the answer there.
    """

    pointer: Pointer
    message: str


def settle(node: Node, value: JsonValue, tree: SchemaTree) -> Node | None:
    """Return the node that speaks of `value`: references followed, branches chosen."""
    while True:
        resolved = tree.resolve(node)
        if not isinstance(resolved, UnionNode):
            return resolved
        branch = choose(resolved, value, tree)
        if branch is None:
            return None
        node = branch


def below(node: Node | None, key: str | int) -> Node | None:
    """Return the node of one key or list position of `node`, or None where none speaks of it."""
    if isinstance(node, ArrayNode) and isinstance(key, int):
        return node.prefix[key] if key < len(node.prefix) else node.items
    if isinstance(node, ObjectNode) and isinstance(key, str):
        return _of_key(node, key)
    return None


def _of_key(node: ObjectNode, key: str) -> Node:
    for prop in node.properties:
        if prop.name == key:
            return prop.node
    for pattern, part in node.patterns:
        if is_found(pattern, key):
            return part
    return node.extra


def pointer_of(place: Place) -> Pointer:
    """Return a place as a JSON Pointer."""
    keys: list[str | int] = []
    while place is not None:
        place, key = place
        keys.append(key)
    return join("", *reversed(keys)) if keys else ""


def step(node: Node, place: Place, key: str | int, value: JsonValue) -> Place:
    """Return the user's place of what an answer to `node` has under `key`."""
    for way in reversed(node.ways):
        here = way.key(key, value)
        if here is None:
            return place
        key = here
    return (place, key)


def _keeps_keys(node: Node) -> bool:
    """Whether the parts of an answer to `node` stand under the user's own keys."""
    return all(type(way).key is Way.key for way in node.ways)


class Lifter:
    """Takes answers to one tree back to the user's form. Safe to share between threads."""

    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._changing = _changing(tree)
        self._of_definition: dict[str, _Lift] = {}
        self._known: dict[Node, _Lift | None] = {}
        self._run = self.of(tree.root)

    @property
    def lifts(self) -> bool:
        """Whether any answer has another form than the user's."""
        return self._run is not None

    def lift(self, document: JsonValue) -> tuple[JsonValue, tuple[Fault, ...]]:
        """Return an answer in the user's form, and what could not be taken back exactly.

        Never raises: what fits nowhere is given back as it is.
        """
        if self._run is None:
            return document, ()
        faults: list[Fault] = []
        try:
            lifted = self._run(document, None, faults)
        except RecursionError:
            return document, (Fault(pointer="", message="it is nested too deeply to be read"),)
        return lifted, tuple(faults)

    def of(self, node: Node) -> _Lift | None:
        """Return what takes an answer to `node` back; None where it has the user's form."""
        if type(node) in _AS_SENT and not node.ways:
            return None
        if node not in self._known:
            self._known[node] = self._make(node)
        return self._known[node]

    def _make(self, node: Node) -> _Lift | None:
        if isinstance(node, RefNode):
            return self._reference(node)
        if isinstance(node, UnionNode):
            return self._union(node)
        parts = self._parts(node)
        lifts = [way.lift for way in reversed(node.ways) if way.lifts]
        if not lifts:
            return parts

        def run(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
            if parts is not None:
                value = parts(value, at, faults)
            told: list[str] = []
            for lift in lifts:
                value = lift(value, told)
            if told:
                faults.extend(Fault(pointer=pointer_of(at), message=message) for message in told)
            return value

        return run

    def _reference(self, node: RefNode) -> _Lift | None:
        if node.name not in self._changing:
            return None

        def run(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
            known = self._of_definition.get(node.name)
            if known is None:
                known = self.of(self._tree.definitions[node.name]) or _as_it_is
                self._of_definition[node.name] = known
            return known(value, at, faults)

        return run

    def _union(self, node: UnionNode) -> _Lift | None:
        lifts = {branch: self.of(branch) for branch in node.branches}
        if not any(lifts.values()):
            return None
        by_type = self._by_type(lifts)
        tree = self._tree

        def run(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
            if by_type is not None:
                lift = by_type.get(value.__class__)
            else:
                branch = choose(node, value, tree)
                lift = None if branch is None else lifts[branch]
            return value if lift is None else lift(value, at, faults)

        return run

    def _by_type(self, lifts: Mapping[Node, _Lift | None]) -> dict[type, _Lift | None] | None:
        """Return what lifts a value of each Python type; None if the type does not decide."""
        found: dict[type, _Lift | None] = {}
        for branch, lift in lifts.items():
            for name in json_types(branch, self._tree):
                for kind in _PYTHON_TYPES[name]:
                    if kind in found:
                        return None
                    found[kind] = lift
        return found

    def _parts(self, node: Node) -> _Lift | None:
        if isinstance(node, ArrayNode):
            return self._list(node)
        if isinstance(node, ObjectNode):
            return self._object(node)
        return None

    def _list(self, node: ArrayNode) -> _Lift | None:
        prefix, items = [self.of(part) for part in node.prefix], self.of(node.items)
        if items is None and not any(prefix):
            return None
        in_place = not prefix and _keeps_keys(node)

        def run(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
            if not is_array(value):
                return value
            if items is not None and in_place:
                return [items(part, (at, index), faults) for index, part in enumerate(value)]
            lifts = [*prefix[: len(value)], *[items] * (len(value) - len(prefix))]
            return [
                part if lift is None else lift(part, step(node, at, index, value), faults)
                for index, (part, lift) in enumerate(zip(value, lifts, strict=True))
            ]

        return run

    def _object(self, node: ObjectNode) -> _Lift | None:
        named = {prop.name: self.of(prop.node) for prop in node.properties}
        lifting = {name: lift for name, lift in named.items() if lift is not None}
        patterns = [(pattern, self.of(part)) for pattern, part in node.patterns]
        extra = self.of(node.extra)
        if extra is not None or any(lift for _, lift in patterns):
            return _of_open(node, named, patterns, extra)
        return _of_closed(node, lifting) if lifting else None


def _of_closed(node: ObjectNode, lifting: Mapping[str, _Lift]) -> _Lift:
    in_place = _keeps_keys(node)

    def run(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
        if not is_object(value):
            return value
        lifted = dict(value)
        for key, lift in lifting.items():
            if key in value:
                place = (at, key) if in_place else step(node, at, key, value)
                lifted[key] = lift(value[key], place, faults)
        return lifted

    return run


def _of_open(
    node: ObjectNode,
    named: Mapping[str, _Lift | None],
    patterns: Sequence[tuple[str, _Lift | None]],
    extra: _Lift | None,
) -> _Lift:
    def of_key(key: str) -> _Lift | None:
        if key in named:
            return named[key]
        return next((lift for pattern, lift in patterns if is_found(pattern, key)), extra)

    def run(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
        if not is_object(value):
            return value
        lifted = dict(value)
        for key in value:
            lift = of_key(key)
            if lift is not None:
                lifted[key] = lift(value[key], step(node, at, key, value), faults)
        return lifted

    return run


_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


_TYPES: Final[Mapping[str, str]] = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "an object",
}


def _as_it_is(value: JsonValue, at: Place, faults: list[Fault]) -> JsonValue:
    del at, faults
    return value


def _changing(tree: SchemaTree) -> set[str]:
    """Return the definitions that lead to a way which changes answers."""
    ahead: dict[str, set[str]] = {}
    changing: set[str] = set()
    for name, top in tree.definitions.items():
        parts = list(walk_nodes(top))
        ahead[name] = {part.name for part in parts if isinstance(part, RefNode)}
        if any(way.lifts for part in parts for way in part.ways):
            changing.add(name)
    grown = True
    while grown:
        more = {name for name, names in ahead.items() if names & changing} - changing
        changing |= more
        grown = bool(more)
    return changing


def lower(value: JsonValue, tree: SchemaTree, lifter: Lifter) -> JsonValue:
    """Return a user's document in the form that `tree` asks for; `value` is not changed.

    Args:
        value: Plain JSON.
        tree: The nodes of what is sent.
        lifter: What takes answers to `tree` back: among alternatives it shows which one holds.

    Raises:
        RefusedError: If it has no place there; the error names the user's place.
    """
    return _Lowerer(tree, lifter).of(tree.root, value, None)


class RefusedError(Exception):
    """A part of a document that cannot be sent.

    Attributes:
        pointer: Its place in the user's document.
        why: The reason.
    """

    def __init__(self, pointer: Pointer, why: str) -> None:
        super().__init__(pointer, why)
        self.pointer = pointer
        self.why = why


class _Lowerer:
    def __init__(self, tree: SchemaTree, lifter: Lifter) -> None:
        self._tree = tree
        self._lifter = lifter

    def of(self, node: Node, value: JsonValue, at: Place) -> JsonValue:
        """Return `value` as an answer to `node`."""
        node = self._tree.resolve(node)
        if isinstance(node, UnionNode):
            return self._branch(node, value, at)
        try:
            for way in node.ways:
                value = way.lower_value(value)
        except ValueError as exc:
            raise RefusedError(pointer_of(at), str(exc)) from None
        if type_of(value) not in json_types(node, self._tree):
            raise RefusedError(pointer_of(at), _of_wrong_type(value, json_types(node, self._tree)))
        if isinstance(node, ObjectNode) and is_object(value):
            return self._object(node, value, at)
        if isinstance(node, ArrayNode) and is_array(value):
            return self._list(node, value, at)
        return value

    def _list(self, node: ArrayNode, value: list[JsonValue], at: Place) -> JsonValue:
        if node.max_items is not None and len(value) > node.max_items:
            why = f"it has {len(value)} elements, at most {node.max_items} can be sent; shorten it"
            raise RefusedError(pointer_of(at), why)
        return [
            self.of(part, item, step(node, at, index, value))
            for index, item in enumerate(value)
            if (part := below(node, index))
        ]

    def _object(self, node: ObjectNode, value: dict[str, JsonValue], at: Place) -> JsonValue:
        lowered: dict[str, Any] = {
            prop.name: self.of(prop.node, value[prop.name], step(node, at, prop.name, value))
            for prop in node.properties
            if prop.name in value
        }
        for key, item in value.items():
            if key not in lowered:
                part, place = _of_key(node, key), step(node, at, key, value)
                if isinstance(part, NeverNode):
                    why = "the schema that is sent has no such key; leave it out, or declare it"
                    raise RefusedError(pointer_of(place), why)
                lowered[key] = self.of(part, item, place)
        for prop in node.properties:
            if prop.required and prop.name not in lowered:
                why = "it is missing, and the schema that is sent asks for it; give it"
                raise RefusedError(pointer_of(step(node, at, prop.name, value)), why)
        return lowered

    def _branch(self, node: UnionNode, value: JsonValue, at: Place) -> JsonValue:
        """Return `value` as an answer to the first alternative that it comes back from."""
        near: list[JsonValue] = []
        refusals: list[RefusedError] = []
        for branch in self._likely(node, value):
            try:
                candidate = self.of(branch, value, at)
            except RefusedError as exc:
                refusals.append(exc)
                continue
            if not accepts(branch, candidate, self._tree):
                continue
            back = self._back(node, candidate)
            if is_same(back, value):
                return candidate
            if _is_respelled(back, value):
                near.append(candidate)
        if near:
            return near[0]
        if self._lifter.of(node) is None and not refusals:
            chosen = choose(node, value, self._tree)
            return value if chosen is None else self.of(chosen, value, at)
        if len(refusals) == 1:
            raise refusals[0]
        reasons = dict.fromkeys(f"{exc.pointer or '(root)'}: {exc.why}" for exc in refusals)
        told = f" ({' / '.join(reasons)})" if reasons else ""
        why = f"it fits none of the alternatives that are sent{told}; give a value of one of them"
        raise RefusedError(pointer_of(at), why)

    def _back(self, node: Node, candidate: JsonValue) -> JsonValue:
        lift = self._lifter.of(node)
        return candidate if lift is None else lift(candidate, None, [])

    def _likely(self, node: UnionNode, value: JsonValue) -> list[Node]:
        """Return the branches worth trying, the one that `value` names first."""
        kind = type_of(value)
        chosen = choose(node, value, self._tree)
        first = [] if chosen is None else [chosen]
        others = [branch for branch in node.branches if branch is not chosen]
        return first + [
            branch
            for branch in others
            if self._has_ways(branch) or kind in json_types(branch, self._tree)
        ]

    def _has_ways(self, node: Node) -> bool:
        """Whether a value of `node` may be sent as one of another type."""
        node = self._tree.resolve(node)
        if isinstance(node, UnionNode):
            return any(self._has_ways(branch) for branch in node.branches)
        return bool(node.ways)


def _of_wrong_type(value: JsonValue, types: Collection[str]) -> str:
    wanted = " or ".join(words for name, words in _TYPES.items() if name in types)
    advice = f"give {wanted}" if wanted else "nothing can stand here; leave it out"
    return f"found {_TYPES[type_of(value)]}, which it cannot be; {advice}"


def _is_respelled(back: JsonValue, value: JsonValue) -> bool:
    """Whether `back` is `value` to the type, if not as text.

    A Decimal may be a number and come back as its digits; a key that is absent, or a position
    at the end of a list, may come back with its default.
    """
    if is_object(back) and is_object(value):
        return value.keys() <= back.keys() and all(
            _is_respelled(back[key], item) for key, item in value.items()
        )
    if is_array(back) and is_array(value):
        pairs = zip(back, value, strict=False)
        return len(back) >= len(value) and all(_is_respelled(new, old) for new, old in pairs)
    if isinstance(back, str) and isinstance(value, int | float):
        return back == digits_of(value)
    return is_same(back, value)
