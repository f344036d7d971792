"""Which leaves of an answer claim to come from the source, and which parts the target drops.

The keys of an open map claim too: they are invented text like any other. What a type leaves out
because it declares no such key reaches no value, and claims nothing.

Walks the user's document once, beside what `standing` knows of its places. `grounding` looks for
the claims; this file knows no text. What is exempt by rule is listed too, to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from extractkit.fields import Mark
from extractkit.paths import JsonValue, Pointer, is_array, is_object, split
from extractkit.schema.nodes import SchemaTree
from extractkit.schema.standing import ClaimKind, Known, Plan

__all__ = ["Claim", "ClaimKind", "ClaimReader", "Reading", "Row"]

Row: TypeAlias = tuple[Pointer, JsonValue, ClaimKind, Mark | None]
"""Pointer, value, kind and mark of a claim; see `Claim`."""
_Parts: TypeAlias = Iterator[tuple[str | int, JsonValue]]
_Level: TypeAlias = tuple[Pointer, _Parts, Known]
"""Pointer of a container, those of its parts that are still to be read, what speaks of it."""


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
class Reading:
    """What one walk over a document finds.

    Attributes:
        rows: The claims, in document order.
        dropped: The outermost keys that a type does not declare and leaves out.
    """

    rows: list[Row]
    dropped: list[Pointer]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The rows as values."""
        return tuple(
            Claim(pointer=pointer, value=value, kind=kind, mark=mark)
            for pointer, value, kind, mark in self.rows
        )


class ClaimReader:
    """Reads documents of one target; faster from the second on. Safe between threads."""

    def __init__(self, tree: SchemaTree, *, is_type: bool) -> None:
        """Prepare to read.

        Args:
            tree: The user's own nodes, not lowered.
            is_type: The target is a type, which drops keys that it does not declare.
        """
        self._plan = Plan(tree)
        self._is_type = is_type

    def read(self, document: JsonValue) -> Reading:
        """Return one row per leaf of `document` and per key of an open map, and what is dropped.

        Args:
            document: An answer in the user's shape; it need not be valid.
        """
        rows: list[Row] = []
        dropped: list[Pointer] = []
        add = rows.append
        # Iterators, not calls: a document may be nested deeper than calls may.
        outer: list[_Level] = []
        parts: _Parts = iter([("", document)])
        pointer, known = "", self._plan.top
        while True:
            children, keys_claim = known.children, known.keys_claim
            for key, value in parts:
                suffix, spot, is_dropped = children.get(key) or known.child(key)
                at = pointer + suffix
                if is_dropped and self._is_type:
                    dropped.append(at)
                    continue
                if keys_claim and isinstance(key, str):
                    add((at, key, "key", known.key_mark))
                leaf = spot.leaves.get(value.__class__)
                if leaf is None:
                    inner = _parts(value)
                    if inner is not None:
                        outer.append((pointer, parts, known))
                        pointer, parts, known = at, inner, spot.known(value)
                        break
                    leaf = spot.leaf(value)
                add((at, value, leaf[0], leaf[1]))
            else:
                if not outer:
                    return Reading(rows=rows, dropped=dropped)
                pointer, parts, known = outer.pop()

    def row_at(
        self, pointer: Pointer, document: JsonValue, is_final: Callable[[Pointer], bool]
    ) -> Row | None:
        """Return the row of one leaf of a document that is still being written.

        Args:
            pointer: Where the leaf stands; it and its containers are in the document.
            document: The document so far.
            is_final: Whether a container holds all that it will.

        Returns:
            None where it is dropped, or where it depends on the rest of a container what is said
            of it.
        """
        at, here, known = "", document, self._plan.top
        ways: list[str | int] = [""]
        values = [document]
        for token in split(pointer):
            key = int(token) if is_array(here) else token
            here = here[token] if is_object(here) else here[int(token)]
            ways.append(key)
            values.append(here)
        for key, value in zip(ways, values, strict=True):
            suffix, spot, is_dropped = known.children.get(key) or known.child(key)
            at += suffix
            if is_dropped and self._is_type:
                return None
            if _parts(value) is None:
                return (at, value, *spot.leaf(value))
            known = spot.known(value)
            if not (spot.is_known_by_type(value) or is_final(at)):
                return None
        return None


def _parts(value: JsonValue) -> _Parts | None:
    """Return the keys and values of a container, unless it is empty or `value` is none."""
    if not value:
        return None
    if is_object(value):
        return iter(value.items())
    return enumerate(value) if is_array(value) else None
