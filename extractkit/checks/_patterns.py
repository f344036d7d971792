"""Pointers with `*` for every item of a list or every value of a map, as ready checks take them.

    /total   /lines/*/amount   /orders/*/lines/*/amount

Neighbours: `_ready` compares what stands there. A key that is itself "*" cannot be named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from extractkit.checks._kinds import kinds_of
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, split
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below
from extractkit.schema.digits import is_decimal
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
)

__all__ = ["ABSENT", "Binding", "Pattern", "Place", "align", "require_alike"]

Binding: TypeAlias = tuple[str | int, ...]
"""What each `*` stands for, outermost first."""


ABSENT: Final = object()
"""Nothing stands there, or null, or UNKNOWN where the target has that."""

_STAR: Final = "*"
_POSITION: Final = re.compile(r"(?:0|[1-9][0-9]*)\Z")


class Place(NamedTuple):
    """One place that a pattern leads to.

    Attributes:
        binding: What each `*` stands for.
        pointer: The place.
        value: What stands there, or ABSENT.
        is_decimal: Whether the target reads numbers and texts there as one decimal number.
    """

    binding: Binding
    pointer: Pointer
    value: JsonValue
    is_decimal: bool = False

    @property
    def is_given(self) -> bool:
        """Whether a value stands there."""
        return self.value is not ABSENT


class _Facts(NamedTuple):
    """What the target says of the places of a pattern.

    Attributes:
        kinds: Which kinds of comparable values may stand there.
        unknown: Whether UNKNOWN may.
        decimal: Whether every number and text there is one decimal number.
    """

    kinds: frozenset[str]
    unknown: bool
    decimal: bool


class Pattern:
    """A pointer that may lead to several places.

    Args:
        text: The pointer.
        owner: The check that takes it, for messages.
        whole: Whether it may lead to the whole answer.

    Raises:
        UsageError: If it is no pointer, or leads to the whole answer where it may not.
    """

    def __init__(self, text: Pointer, owner: str, *, whole: bool = False) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"{owner}: found {text!r:.60}, expected a JSON Pointer as a string")
        if not text.startswith("/") and not (whole and not text):
            raise UsageError(
                f"{owner}: {text!r:.80} is no JSON Pointer to a field; it starts with '/', as in "
                "'/total' or '/lines/*/amount'"
            )
        self.text = text
        self.owner = owner
        self.tokens = split(text)
        stars = [at for at, token in enumerate(self.tokens) if token == _STAR]
        self.stars = len(stars)
        self._frame = self.tokens[: stars[-1] + 1] if stars else ()

    def is_within(self, other: Pattern) -> bool:
        """Whether each place of `other` belongs to one place of this pattern, by its stars."""
        return other.tokens[: len(self._frame)] == self._frame

    def places(self, document: JsonValue, compiled: CompiledSchema) -> list[Place]:
        """Return the places in `document`, in its order; a field that is not there is ABSENT.

        Args:
            document: Plain JSON in the user's shape.
            compiled: The target, which says where UNKNOWN may stand.
        """
        facts = self.facts(compiled)
        found: list[Place] = []
        for binding, pointer, value in _expand(document, self.tokens):
            is_absent = value is None or (facts.unknown and value in ("unknown", {"unknown": True}))
            given: JsonValue = ABSENT if is_absent else value
            found.append(Place(binding, pointer, given, facts.decimal))
        return found

    def require_in(self, compiled: CompiledSchema, kinds: frozenset[str] = frozenset()) -> None:
        """Return if the target has such a place, that may hold one of these kinds of values.

        Raises:
            UsageError: If not.
        """
        held = self.facts(compiled).kinds
        if kinds and not kinds & held:
            raise UsageError(
                f"{self.owner}: {self.text!r} of {compiled.name} never holds {_one_of(kinds)} or a "
                "string that spells one; name a field that does"
            )

    def facts(self, compiled: CompiledSchema) -> _Facts:
        """Return what the target says of the places; found out once.

        Raises:
            UsageError: If the target has no such place.
        """
        key = f"checks: {self.text}"
        facts: _Facts | None = compiled.prepared.get(key)
        if facts is None:
            tree = compiled.tree
            nodes = self._nodes(tree)
            facts = _Facts(
                kinds=frozenset[str]().union(*(kinds_of(each, tree) for each in nodes)),
                unknown=any(is_unknown(tree.resolve(each)) for each in _ends(nodes, tree)),
                decimal=all(is_decimal(each, tree) for each in nodes),
            )
            compiled.prepared[key] = facts
        return facts

    def _nodes(self, tree: SchemaTree) -> list[Node]:
        """Return the nodes that may speak of the places.

        Raises:
            UsageError: If there are none.
        """
        found: list[Node] = [tree.root]
        for at, token in enumerate(self.tokens):
            nodes = _ends(found, tree)
            found = [part for node in nodes for part in _parts(node, token)]
            if not found:
                here = join("", *self.tokens[:at]) or "(root)"
                known = sorted({key for node in nodes for key in _names(node)})
                has = f"it has {', '.join(known)[:200]}" if known else "it has no such part"
                raise UsageError(
                    f"{self.owner}: the target has nothing at {self.text!r}: at {here} there is "
                    f"no {token!r}; {has}"
                )
        return found


def align(patterns: Sequence[Pattern]) -> Pattern:
    """Return the pattern with the most stars, in whose places those of all others lie.

    Raises:
        UsageError: If a star of one stands for other items than that of another.
    """
    widest = max(patterns, key=lambda pattern: pattern.stars)
    for pattern in patterns:
        if not pattern.is_within(widest):
            raise UsageError(
                f"{widest.owner}: {pattern.text!r} and {widest.text!r} do not go together: up to "
                "the last '*' one must begin like the other"
            )
    return widest


def require_alike(patterns: Sequence[Pattern], compiled: CompiledSchema) -> None:
    """Return if values of one kind may stand at the places of all patterns.

    Raises:
        UsageError: If not: they would never be compared.
    """
    first, *others = patterns
    shared = first.facts(compiled).kinds
    for other in others:
        held = other.facts(compiled).kinds
        if not shared & held:
            raise UsageError(
                f"{first.owner}: {first.text!r} and {other.text!r} of {compiled.name} have no "
                f"order: the one holds {_one_of(shared)}, the other {_one_of(held)}"
            )
        shared &= held


def _one_of(kinds: frozenset[str]) -> str:
    return " or ".join(f"a {kind}" for kind in sorted(kinds))


def _expand(document: JsonValue, tokens: Sequence[str]) -> list[tuple[Binding, Pointer, JsonValue]]:
    places: list[tuple[Binding, Pointer, JsonValue]] = [((), "", document)]
    for token in tokens:
        if token == _STAR:
            places = [
                ((*binding, key), join(pointer, key), part)
                for binding, pointer, value in places
                for key, part in _items(value)
            ]
        else:
            step = join("", token)
            places = [
                (binding, pointer + step, _part(value, token)) for binding, pointer, value in places
            ]
    return places


def _items(value: JsonValue) -> Iterable[tuple[str | int, JsonValue]]:
    if is_array(value):
        return enumerate(value)
    return value.items() if is_object(value) else ()


def _part(value: JsonValue, token: str) -> JsonValue:
    if is_object(value):
        return value.get(token)
    if is_array(value) and _POSITION.match(token) and int(token) < len(value):
        return value[int(token)]
    return None


# --- in the target -------------------------------------------------------------------------------


def _ends(nodes: Sequence[Node], tree: SchemaTree) -> list[Node]:
    """Return `nodes` with references and alternatives followed."""
    ends: list[Node] = []
    pending = [*reversed(nodes)]
    while pending:
        node = pending.pop()
        if isinstance(node, RefNode):
            pending.append(tree.definitions[node.name])
        elif isinstance(node, UnionNode):
            pending.extend(reversed(node.branches))
        elif isinstance(node, AllOfNode):
            pending.extend(reversed(node.parts))
        else:
            ends.append(node)
    return ends


def _names(node: Node) -> list[str]:
    if isinstance(node, ArrayNode):
        return [_STAR]
    return [prop.name for prop in node.properties] if isinstance(node, ObjectNode) else []


def _parts(node: Node, token: str) -> Iterator[Node]:
    """Yield the nodes that speak of `token` below `node`; none where the target has no such."""
    if isinstance(node, AnyNode):
        yield node
    elif isinstance(node, ArrayNode):
        is_open = node.max_items is None or node.max_items > len(node.prefix)
        if token == _STAR:
            yield from (*node.prefix, *([node.items] if is_open else []))
        elif _POSITION.match(token) and (node.max_items is None or int(token) < node.max_items):
            yield from (found for found in (below(node, int(token)),) if found is not None)
    elif isinstance(node, ObjectNode):
        yield from _members(node, token)


def _members(node: ObjectNode, token: str) -> Iterator[Node]:
    if token == _STAR:
        yield from (prop.node for prop in node.properties)
        yield from (part for _, part in node.patterns)
        yield node.extra
        return
    is_declared = any(prop.name == token for prop in node.properties)
    # An object that declares some fields and says nothing of others is no map.
    if is_declared or node.patterns or node.extra_stated or not node.properties:
        yield from (found for found in (below(node, token),) if found is not None)
