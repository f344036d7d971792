"""What could legally stand at each place of an answer, and what that is to the user.

Neighbours: `schema` compiled the nodes of the form that was sent, `_places` walks a document beside
them, `_choice` weighs the options. Found out once per schema and kept. Nothing here sees a
token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from extractkit.confidence._matching import Menu, Option
from extractkit.paths import JsonValue, Pointer, is_array, is_object, split
from extractkit.schema.convert import below
from extractkit.schema.match import accepts, is_unknown, json_types
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ChoiceNode,
    NeverNode,
    Node,
    RefNode,
    SchemaTree,
    UnionNode,
)
from extractkit.schema.plain import json_key, type_of

__all__ = ["ABSENT", "OPEN_LABELS", "UNKNOWN_LABEL", "Plan", "Spot", "json_text"]

ABSENT: Final = "(absent)"
"""The label of a key that is not there at all."""

UNKNOWN_LABEL: Final = '{"unknown": true}'
"""The label of UNKNOWN where it is written as an object: beside any text."""

OPEN_LABELS: Final[Mapping[str, str]] = {
    "string": "(text)",
    "number": "(number)",
    "array": "(list)",
    "object": "(object)",
}
"""The label of any value of a JSON type."""

_OPENERS: Final[Mapping[str, bytes]] = {
    "string": b'"',
    "number": b"-0123456789",
    "array": b"[",
    "object": b"{",
}
_MOST_KEPT: Final = 10_000

_Key: TypeAlias = "tuple[tuple[Node, ...], str | int]"


class Plan:
    """The places of one lowered tree. Safe to share between threads."""

    def __init__(self, tree: SchemaTree) -> None:
        self.tree = tree
        self._spots: dict[tuple[tuple[Node, ...], bool], Spot] = {}
        self._below: dict[_Key, Spot] = {}
        self.root = self.spot((tree.root,), absent=False)

    def spot(self, nodes: tuple[Node, ...], *, absent: bool) -> Spot:
        """Return the place of which `nodes` speak.

        Args:
            nodes: One of them holds for what stands there.
            absent: Whether null there means that the user's key is not there.
        """
        found = self._spots.get((nodes, absent))
        if found is None:
            found = Spot(self.tree, nodes, absent=absent)
            if len(self._spots) < _MOST_KEPT:
                self._spots[nodes, absent] = found
        return found

    def below(self, nodes: tuple[Node, ...], key: str | int) -> Spot:
        """Return the place under `key` where one of `nodes` holds for the container."""
        found = self._below.get((nodes, key))
        if found is None:
            inner = tuple(_below(node, key, self.tree) for node in nodes)
            absent = isinstance(key, str) and any(_drops_null(node, key) for node in nodes)
            found = self.spot(inner, absent=absent)
            if len(self._below) < _MOST_KEPT:
                self._below[nodes, key] = found
        return found

    def at(self, pointer: Pointer) -> Spot:
        """Return the place at `pointer`, of whatever may stand above it."""
        spot = self.root
        for key in split(pointer):
            inner = [self.below(spot.objects, key)] if spot.objects else []
            if spot.lists and key.isdigit():
                inner.append(self.below(spot.lists, int(key)))
            nodes = tuple(node for each in inner for node in each.source)
            spot = self.spot(nodes, absent=False)
        return spot

    def narrowed(self, nodes: tuple[Node, ...], key: str, value: JsonValue) -> tuple[Node, ...]:
        """Return which of `nodes` can still hold for a container with `value` under `key`."""
        left = tuple(
            node for node in nodes if accepts(_below(node, key, self.tree), value, self.tree, 1)
        )
        return left or nodes


class Spot:
    """One place before its value is looked at.

    Attributes:
        source: What speaks of it.
        objects: What of that may hold for an object, without references and unions.
        lists: What may hold for a list.
        options: What could stand there, all different.
        menu: The same, sorted.
    """

    __slots__ = ("_exact", "_known", "_open", "lists", "menu", "objects", "options", "source")

    def __init__(self, tree: SchemaTree, nodes: tuple[Node, ...], *, absent: bool) -> None:
        self.source = nodes
        flat = tuple(_flat(nodes, tree)) or (AnyNode(),)
        self.objects = tuple(node for node in flat if "object" in json_types(node, tree))
        self.lists = tuple(node for node in flat if "array" in json_types(node, tree))
        exact, open_types = _sorted_out(flat, tree, absent=absent)
        options: list[Option] = []
        self._exact: dict[str, int] = {}
        self._open: dict[str, int] = {}
        for label, values in exact.items():
            self._exact.update((json_key(value), len(options)) for value in values)
            texts = tuple(dict.fromkeys(text for value in values for text in _spellings(value)))
            options.append(Option(label=label, texts=texts))
        for label in dict.fromkeys(open_types.values()):
            kinds = [kind for kind, given in open_types.items() if given == label]
            self._open.update(dict.fromkeys(kinds, len(options)))
            openers = b"".join(_OPENERS[kind] for kind in kinds)
            options.append(Option(label=label, openers=openers))
        self.options = tuple(options)
        self.menu = Menu(options)
        self._known: dict[tuple[type, JsonValue], int | None] = {}

    def option_of(self, value: JsonValue) -> int | None:
        """Return the position of the option that `value` is; None where it is none of them."""
        if not self._exact or is_object(value) or is_array(value):
            return self._open.get(type_of(value))
        kind = value.__class__
        if (kind, value) in self._known:
            return self._known[kind, value]
        found = self._exact.get(json_key(value))
        if found is None:
            return self._open.get(type_of(value))
        return self._known.setdefault((kind, value), found)

    def is_in_words(self, value: JsonValue) -> bool:
        """Whether a value that is no option is a member as the user has it, and not its code."""
        return bool(self._exact) and any(
            option.texts and option.label == json_text(value) for option in self.options
        )


def _below(node: Node, key: str | int, tree: SchemaTree) -> Node:
    """Return what speaks of one key or position of `node`; where nothing does, it may be any."""
    if not isinstance(node, AllOfNode):
        return below(node, key) or AnyNode()
    telling: list[Node] = []
    for part in node.parts:
        ways = [_below(flat, key, tree) for flat in _flat((part,), tree)]
        ways = [way for way in ways if not isinstance(way, AnyNode)]
        telling.extend([UnionNode(branches=tuple(ways))] if len(ways) > 1 else ways)
    if len(telling) > 1:
        return AllOfNode(parts=tuple(telling))
    return telling[0] if telling else AnyNode()


def json_text(value: JsonValue) -> str:
    """Return a value as JSON text, as it is shown to the user."""
    return json.dumps(value, ensure_ascii=False)


def _flat(nodes: tuple[Node, ...], tree: SchemaTree) -> Iterator[Node]:
    pending, entered = list(reversed(nodes)), set[str]()
    while pending:
        node = pending.pop()
        if isinstance(node, RefNode):
            if node.name not in entered:
                entered.add(node.name)
                pending.append(tree.definitions[node.name])
        elif isinstance(node, UnionNode) and not node.decimal:
            pending.extend(reversed(node.branches))
        elif not isinstance(node, NeverNode):
            yield node


def _sorted_out(
    nodes: tuple[Node, ...], tree: SchemaTree, *, absent: bool
) -> tuple[dict[str, list[JsonValue]], dict[str, str]]:
    """Return the single values by label, and the types of which any value will do."""
    exact: dict[str, list[JsonValue]] = {}
    opened: dict[str, str] = {}
    for node in nodes:
        values = _values(node, tree)
        for value in values or ():
            kind = type_of(value)
            if kind in ("array", "object"):
                opened[kind] = OPEN_LABELS[kind]
            else:
                label = ABSENT if absent and value is None else _label(node, value)
                exact.setdefault(label, []).append(value)
        if values is None:
            for kind in sorted(json_types(node, tree)):
                _open(node, kind, exact, opened, absent=absent)
    swallowed = {
        label
        for label, values in exact.items()
        if any(type_of(value) in opened for value in values)
    }
    return {label: exact[label] for label in exact if label not in swallowed}, opened


def _open(
    node: Node,
    kind: str,
    exact: dict[str, list[JsonValue]],
    opened: dict[str, str],
    *,
    absent: bool,
) -> None:
    if kind == "null":
        exact.setdefault(ABSENT if absent else "null", []).append(None)
    elif kind == "boolean":
        for value in (True, False):
            exact.setdefault(json_text(value), []).append(value)
    elif kind == "object" and is_unknown(node) and kind not in opened:
        opened[kind] = UNKNOWN_LABEL
    elif isinstance(node, UnionNode):  # a decimal number, which may be written as a text
        opened[kind] = OPEN_LABELS["number"]
    else:
        opened[kind] = OPEN_LABELS[kind]


def _values(node: Node, tree: SchemaTree) -> tuple[JsonValue, ...] | None:
    """Return the values of a closed set; None where the set is not closed."""
    if isinstance(node, ChoiceNode):
        return node.values
    if isinstance(node, AllOfNode):
        for part in node.parts:
            values = _values(tree.resolve(part), tree)
            if values is not None:
                return tuple(value for value in values if accepts(node, value, tree))
    return None


def _label(node: Node, value: JsonValue) -> str:
    """Return the user's value of what an answer to `node` says."""
    for way in reversed(node.ways):
        if way.lifts:
            value = way.lift(value, [])
    return json_text(value)


def _spellings(value: JsonValue) -> tuple[bytes, ...]:
    plain = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    escaped = json.dumps(value).encode()
    return (plain,) if plain == escaped else (plain, escaped)


def _drops_null(node: Node, key: str) -> bool:
    """Whether null under `key` of an answer to `node` stands for no key at all."""
    value: dict[str, Any] = {key: None}
    here: str | int | None = key
    for way in reversed(node.ways):
        if here is None:
            return False
        if not way.lifts:
            continue
        here = way.key(here, value)
        lifted = way.lift(value, [])
        if not is_object(lifted) or isinstance(here, int):
            return False
        if here is not None and here not in lifted:
            return True
        value = lifted
    return False
