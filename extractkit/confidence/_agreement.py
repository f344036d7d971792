"""How many of several answers hold the same value: for providers that give no log-probabilities.

Neighbours: `engine` asks several times and hands the documents in; `_alike` says what counts as
the same. No token is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from extractkit.confidence._alike import Leaf, Places, places_of
from extractkit.confidence._options import ABSENT, OPEN_LABELS
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, get
from extractkit.results import Confidence
from extractkit.schema import CompiledSchema
from extractkit.schema.plain import type_of

__all__ = ["agreement"]

_FIRST: Final[Any] = object()
_ABSENT: Final = Leaf(ABSENT, ABSENT)


def agreement(
    documents: Sequence[JsonValue],
    leaves: Sequence[Pointer],
    *,
    given: JsonValue = _FIRST,
    compiled: CompiledSchema | None = None,
    asked: int | None = None,
    shares: Sequence[float] | None = None,
) -> Mapping[Pointer, Confidence]:
    """Return the share of answers that hold the same value at each leaf of one of them.

    Numbers are the same if they are equal, texts if they differ in case, white space, quotes,
    dashes or compatible characters only; members of closed sets if they are written alike. A place
    that another answer lacks is another value there, unless it has that value by default. Elements
    of lists are compared by position, those of sets wherever they stand.

    Args:
        documents: Answers in the user's form.
        leaves: The pointers of the leaves of the answer that is given out.
        given: That answer, which need not be one of `documents`; by default the first of them.
        compiled: The target, for what its places mean; None: only what the values say themselves.
        asked: How often was asked, where some answers are no documents; None: as often as there
            are documents. Those that are none agree with nothing.
        shares: The weight of each document, from 0 up, together at most 1; None: 1 / asked each.

    Raises:
        UsageError: If there are fewer than two answers, fewer than documents, or the shares are
            not one for each document.
    """
    count = len(documents) if asked is None else asked
    if not documents or count < max(2, len(documents)):
        raise UsageError(
            f"found {len(documents)} documents of {count} answers; expected at least two answers, "
            "one of them a document, and no more documents than answers"
        )
    if shares is not None and len(shares) != len(documents):
        raise UsageError(
            f"found {len(shares)} shares for {len(documents)} documents; expected one for each"
        )
    places = places_of(compiled)
    counting = _Counting(
        [_Read(document, places) for document in documents],
        count,
        shares,
    )
    mine = counting.read[0] if given is _FIRST else _Read(given, places)
    return {pointer: counting.at(pointer, mine) for pointer in leaves}


class _Read:
    """One document and what its leaves count as."""

    def __init__(self, document: JsonValue, places: Places) -> None:
        self._document = document
        self._moved: dict[Pointer, Pointer] = {}
        self._leaves = places.leaves(document, places.tree.root, self._moved)

    def place(self, pointer: Pointer) -> Pointer:
        """Return where others have what stands at a place of this one."""
        return self._moved.get(pointer, pointer)

    def at(self, pointer: Pointer) -> Leaf:
        """Return what stands at a place."""
        leaf = self._leaves.get(pointer)
        if leaf is not None:
            return leaf
        try:
            value = get(self._document, pointer)
        except KeyError:
            return _ABSENT
        label = OPEN_LABELS[type_of(value)]  # it has leaves of its own
        return Leaf(label, label)


class _Counting:
    """Several documents, their weights, and how many there should have been."""

    def __init__(self, read: Sequence[_Read], count: int, shares: Sequence[float] | None) -> None:
        self.read = read
        self._count = count
        self._shares = shares

    def at(self, pointer: Pointer, given: _Read) -> Confidence:
        """Return the share of documents that hold the same as `given` at one place."""
        pointer = given.place(pointer)
        mine = given.at(pointer)
        holders: dict[str, list[int]] = {mine.key: []}
        labels = {mine.key: mine.label}
        for place, document in enumerate(self.read):
            leaf = document.at(pointer)
            labels.setdefault(leaf.key, leaf.label)
            holders.setdefault(leaf.key, []).append(place)
        return Confidence(
            kind="agreement",
            probability=self._share(holders[mine.key]),
            alternatives={
                labels[key]: self._share(places) for key, places in holders.items() if places
            },
            reason=self._told(len(holders[mine.key])),
        )

    def _share(self, places: Sequence[int]) -> float:
        if self._shares is None:
            return len(places) / self._count
        return min(1.0, math.fsum(self._shares[place] for place in places))

    def _told(self, agreeing: int) -> str:
        failed = self._count - len(self.read)
        weighed = "" if self._shares is None else ", by their weights"
        told = f"{agreeing} of {self._count} answers agree{weighed}"
        return f"{told}; {failed} gave no such document" if failed else told
