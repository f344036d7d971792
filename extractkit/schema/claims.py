"""Which leaves of an answer claim to come from the source, and which parts the target drops.

The keys of an open map claim too: they are invented text like any other. What a type leaves out
because it declares no such key reaches no value, and claims nothing.

Walks the user's document beside the user's nodes. `grounding` looks for the claims; this file
knows no text. What is exempt by rule is listed too, so that it can be counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from extractkit.fields import Mark
from extractkit.paths import JsonValue, Pointer, join
from extractkit.schema.convert import below
from extractkit.schema.match import choose
from extractkit.schema.nodes import (
    AllOfNode,
    ChoiceNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.plain import parts_of

__all__ = ["Claim", "ClaimKind", "find_claims", "find_dropped"]

ClaimKind: TypeAlias = Literal["text", "number", "date", "datetime", "time", "key", "exempt"]

_FORMATS: Final[dict[str, ClaimKind]] = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One leaf of an answer, or one key of an open map.

    Attributes:
        pointer: Where it stands in the user's document; of a key, where its value stands.
        value: The leaf: a scalar, or an empty list or object; of a key, the key.
        kind: What it is looked for as; "exempt" where nothing is claimed.
        mark: The user's mark on it or on the nearest container that has one.
    """

    pointer: Pointer
    value: JsonValue
    kind: ClaimKind
    mark: Mark | None = None

    @property
    def required_grounding(self) -> bool:
        """Whether the value must be found in the source."""
        return self.kind != "exempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What the nodes say of one place: several nodes where an allOf speaks of it."""

    nodes: tuple[Node, ...]
    mark: Mark | None = None
    decimal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One part of a document.

    Attributes:
        key: What it is called, where the model invented that.
        dropped: A type leaves it out.
    """

    pointer: Pointer
    value: JsonValue
    known: _Known
    key: str | None = None
    dropped: bool = False


def find_claims(
    document: JsonValue, tree: SchemaTree, *, is_type: bool = False
) -> tuple[Claim, ...]:
    """Return one claim per leaf of `document` and per key of an open map, in document order.

    Args:
        document: An answer in the user's shape; it need not be valid.
        tree: The user's own nodes, not lowered.
        is_type: The target is a type, which drops keys that it does not declare.
    """
    claims: list[Claim] = []
    pending = [_Part(pointer="", value=document, known=_Known(nodes=(tree.root,)))]
    while pending:
        part = pending.pop()
        if part.dropped and is_type:
            continue
        pointer, value, known = part.pointer, part.value, part.known
        if part.key is not None:
            claims.append(Claim(pointer=pointer, value=part.key, kind="key", mark=known.mark))
        known = _settle(known, value, tree)
        if isinstance(value, dict | list) and value:
            pending.extend(reversed(_parts(pointer, value, known, tree)))
        else:
            kind = _kind(value, known)
            claims.append(Claim(pointer=pointer, value=value, kind=kind, mark=known.mark))
    return tuple(claims)


def find_dropped(document: JsonValue, tree: SchemaTree) -> tuple[Pointer, ...]:
    """Return the outermost keys of `document` that a type does not declare and leaves out."""
    dropped: list[Pointer] = []
    pending = [_Part(pointer="", value=document, known=_Known(nodes=(tree.root,)))]
    while pending:
        part = pending.pop()
        if part.dropped:
            dropped.append(part.pointer)
            continue
        known = _settle(part.known, part.value, tree)
        pending.extend(reversed(_parts(part.pointer, part.value, known, tree)))
    return tuple(dropped)


def _parts(pointer: Pointer, value: JsonValue, known: _Known, tree: SchemaTree) -> list[_Part]:
    keys_claim = _keys_claim(known, tree)
    return [
        _Part(
            pointer=join(pointer, key),
            value=part,
            known=_step(known, key),
            key=key if keys_claim and isinstance(key, str) else None,
            dropped=_drops(known, key),
        )
        for key, part in parts_of(value)
    ]


def _keys_claim(known: _Known, tree: SchemaTree) -> bool:
    """Whether these are maps whose keys are free text, and nothing exempts them."""
    maps = [node for node in known.nodes if isinstance(node, ObjectNode)]
    if not maps or known.mark in (Mark.INFERRED, Mark.REASONING):
        return False
    return not any(node.properties or _is_finite(node.names, tree) for node in maps)


def _is_finite(names: Node | None, tree: SchemaTree) -> bool:
    return names is not None and isinstance(tree.resolve(names), ChoiceNode)


def _drops(known: _Known, key: str | int) -> bool:
    """Whether no node reads `key`, nor says anything of keys that it does not declare."""
    maps = [node for node in known.nodes if isinstance(node, ObjectNode)]
    return bool(maps) and all(
        bool(node.properties)
        and not (node.extra_stated or node.patterns or key in node.reads)
        and all(prop.name != key for prop in node.properties)
        for node in maps
    )


def _step(known: _Known, key: str | int) -> _Known:
    nodes = tuple(found for node in known.nodes if (found := below(node, key)) is not None)
    return _Known(nodes=nodes, mark=known.mark)


def _settle(known: _Known, value: JsonValue, tree: SchemaTree) -> _Known:
    """Return what speaks of `value` in the end; a mark further in replaces one further out."""
    settled: list[Node] = []
    mark, decimal = known.mark, False
    pending = list(reversed(known.nodes))
    while pending:
        node = pending.pop()
        mark = node.mark or mark
        if isinstance(node, RefNode):
            pending.append(tree.definitions[node.name])
        elif isinstance(node, AllOfNode):
            pending.extend(reversed(node.parts))
        elif isinstance(node, UnionNode):
            decimal = decimal or node.decimal
            branch = choose(node, value, tree)
            if branch is not None:
                pending.append(branch)
        else:
            settled.append(node)
    return _Known(nodes=tuple(settled), mark=mark, decimal=decimal)


def _kind(value: JsonValue, known: _Known) -> ClaimKind:
    if value is None or isinstance(value, bool | dict | list):
        return "exempt"
    if known.mark in (Mark.INFERRED, Mark.REASONING):
        return "exempt"
    choices = [node for node in known.nodes if isinstance(node, ChoiceNode)]
    if any(node.unknown for node in choices) or (choices and known.mark is None):
        return "exempt"
    if isinstance(value, int | float) or known.decimal:
        return "number"
    for node in known.nodes:
        if isinstance(node, StringNode) and node.format in _FORMATS:
            return _FORMATS[node.format]
    return "text"
