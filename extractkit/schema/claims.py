"""Which leaves of an answer claim to come from the source.

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
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.plain import parts_of

__all__ = ["Claim", "ClaimKind", "find_claims"]

ClaimKind: TypeAlias = Literal["text", "number", "date", "datetime", "time", "exempt"]

_FORMATS: Final[dict[str, ClaimKind]] = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One leaf of an answer.

    Attributes:
        pointer: Where it stands in the user's document.
        value: The leaf: a scalar, or an empty list or object.
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


def find_claims(document: JsonValue, tree: SchemaTree) -> tuple[Claim, ...]:
    """Return one claim per leaf of `document`, in document order.

    Args:
        document: An answer in the user's shape; it need not be valid.
        tree: The user's own nodes, not lowered.
    """
    claims: list[Claim] = []
    pending: list[tuple[Pointer, JsonValue, _Known]] = [("", document, _Known(nodes=(tree.root,)))]
    while pending:
        pointer, value, known = pending.pop()
        known = _settle(known, value, tree)
        if isinstance(value, dict | list) and value:
            steps = [(join(pointer, key), part, _step(known, key)) for key, part in parts_of(value)]
            pending.extend(reversed(steps))
        else:
            kind = _kind(value, known)
            claims.append(Claim(pointer=pointer, value=value, kind=kind, mark=known.mark))
    return tuple(claims)


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
