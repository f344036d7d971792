"""Pointers with `*` for every item of a list or every value of a map, as ready checks take them.

    /total   /lines/*/amount   /orders/*/lines/*/amount

Neighbours: `_ready` compares what stands there. A key that is itself "*" cannot be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, split
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below
from extractkit.schema.match import is_unknown, json_types
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

__all__ = ["ABSENT", "Binding", "Pattern", "Place", "align"]

Binding: TypeAlias = tuple[str | int, ...]
"""What each `*` stands for, outermost first."""


ABSENT: Final = object()
"""Nothing stands there, or null, or UNKNOWN where the target has that."""

_STAR: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place that a pattern leads to.

    Attributes:
        binding: What each `*` stands for.
        pointer: The place.
        value: What stands there, or ABSENT.
    """

    binding: Binding
    pointer: Pointer
    value: JsonValue

    @property
    def is_given(self) -> bool:
        """Whether a value stands there."""
        return self.value is not ABSENT


class Pattern:
    """A pointer that may lead to several places.

    Args:
        text: The pointer.
        owner: The check that takes it, for messages.

    Raises:
        UsageError: If it is no pointer, or leads to the whole answer.
    """

    def __init__(self, text: Pointer, owner: str) -> None:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"{owner}: found {text!r:.60}, expected a JSON Pointer as a string")
        if not text.startswith("/"):
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

    def places(self, document: JsonValue, tree: SchemaTree) -> list[Place]:
        """Return the places in `document`, in its order; a field that is not there is ABSENT.

        Args:
            document: Plain JSON in the user's shape.
            tree: The user's nodes, which say where UNKNOWN may stand.
        """
        unknown = any(is_unknown(tree.resolve(node)) for node in self._nodes(tree))
        found: list[Place] = []
        for binding, pointer, value in _expand(document, self.tokens):
            is_absent = value is None or (unknown and value in ("unknown", {"unknown": True}))
            given: JsonValue = ABSENT if is_absent else value
            found.append(Place(binding=binding, pointer=pointer, value=given))
        return found

    def require_in(self, compiled: CompiledSchema, types: frozenset[str] = frozenset()) -> None:
        """Return if the target has such a place, that may hold one of these JSON types.

        Raises:
            UsageError: If not.
        """
        tree = compiled.tree
        nodes = self._nodes(tree)
        if types and not types & frozenset[str]().union(
            *(json_types(each, tree) for each in nodes)
        ):
            raise UsageError(
                f"{self.owner}: {self.text!r} of {compiled.name} never holds a "
                f"{' or a '.join(sorted(types))}; name a field that does"
            )

    def _nodes(self, tree: SchemaTree) -> list[Node]:
        """Return the nodes that may speak of the places.

        Raises:
            UsageError: If there are none.
        """
        nodes = _ends([tree.root], tree)
        for at, token in enumerate(self.tokens):
            inner = [part for node in nodes for part in _parts(node, token)]
            if not inner:
                here = join("", *self.tokens[:at]) or "(root)"
                known = sorted({key for node in nodes for key in _names(node)})
                has = f"it has {', '.join(known)[:200]}" if known else "it has no such part"
                raise UsageError(
                    f"{self.owner}: the target has nothing at {self.text!r}: at {here} there is "
                    f"no {token!r}; {has}"
                )
            nodes = _ends(inner, tree)
        return nodes


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


def _expand(
    document: JsonValue, tokens: Sequence[str]
) -> Iterator[tuple[Binding, Pointer, JsonValue]]:
    pending: list[tuple[int, Binding, Pointer, JsonValue]] = [(0, (), "", document)]
    while pending:
        at, binding, pointer, value = pending.pop()
        if at == len(tokens):
            yield binding, pointer, value
            continue
        token = tokens[at]
        if token == _STAR:
            inner: list[tuple[str | int, JsonValue]] = (
                list(enumerate(value)) if is_array(value) else []
            )
            if is_object(value):
                inner = list(value.items())
            pending += [
                (at + 1, (*binding, key), join(pointer, key), part) for key, part in reversed(inner)
            ]
        else:
            pending.append((at + 1, binding, join(pointer, token), _part(value, token)))


def _part(value: JsonValue, token: str) -> JsonValue:
    if is_object(value):
        return value.get(token)
    if is_array(value) and token.isdecimal() and int(token) < len(value):
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
        elif token.isdecimal() and (node.max_items is None or int(token) < node.max_items):
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
