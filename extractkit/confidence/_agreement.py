"""How many of several answers hold the same value: for providers that give no log-probabilities.

Neighbours: `engine` asks several times and hands the documents in; `_alike` says what counts as
the same; `_shape` counts what no leaf shows. No token is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from extractkit.confidence._alike import NOT_THERE, Leaf, Places, places_of
from extractkit.confidence._options import OPEN_LABELS
from extractkit.confidence._words import unavailable
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, get, split
from extractkit.results import Confidence
from extractkit.schema import CompiledSchema
from extractkit.schema.plain import type_of

__all__ = ["Tally", "agreement"]

_FIRST: Final[Any] = object()
_ROUNDING: Final = 1e-9
_NOWHERE: Final = "not available: no answer has such a place"


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
            not one for each document, from 0 up and together at most 1, or a leaf is no pointer.
    """
    require_list("documents", documents)
    tally = Tally(len(documents), asked, shares)
    _require_pointers(leaves)
    places = places_of(compiled)
    read = [_Read(document, places) for document in documents]
    mine = read[0] if given is _FIRST else _Read(given, places)
    found: dict[Pointer, Confidence] = {}
    for pointer in leaves:
        place = mine.place(pointer)
        own, others = mine.at(place), [each.at(place) for each in read]
        if own is NOT_THERE and all(other is NOT_THERE for other in others):
            found[pointer] = unavailable(_NOWHERE)
        else:
            found[pointer] = tally.of(own, others)
    return found


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
            return NOT_THERE
        label = OPEN_LABELS[type_of(value)]  # it has leaves of its own
        return Leaf(label, label)


class Tally:
    """How many answers there should have been, and what each document counts for.

    Args:
        documents: How many there are.
        asked: How often was asked; None: as often as there are documents.
        shares: The weight of each document; None: 1 / asked each.

    Raises:
        UsageError: If there are fewer than two answers, fewer than documents, or the shares are
            not one for each document, from 0 up and together at most 1.
    """

    def __init__(self, documents: int, asked: int | None, shares: Sequence[float] | None) -> None:
        self._documents = documents
        self._count = documents if asked is None else asked
        self._shares = shares
        is_count = isinstance(cast("object", self._count), int)
        if not documents or not is_count or self._count < max(2, documents):
            raise UsageError(
                f"found {documents} documents of {self._count!r:.60} answers; expected at least "
                "two answers, one of them a document, and no more documents than answers"
            )
        if shares is not None:
            _require_shares(shares, documents)

    def of(self, mine: Leaf, read: Sequence[Leaf], *, what: str = "") -> Confidence:
        """Return the share of documents that hold the same as the given answer at one place.

        Args:
            mine: What that holds.
            read: What each document holds.
            what: How the reason begins.
        """
        holders: dict[str, list[int]] = {mine.key: []}
        labels = {mine.key: mine.label}
        for place, leaf in enumerate(read):
            label = leaf.key if leaf.label in labels.values() else leaf.label
            labels.setdefault(leaf.key, label)
            holders.setdefault(leaf.key, []).append(place)
        return Confidence(
            kind="agreement",
            probability=self._share(holders[mine.key]),
            alternatives={
                labels[key]: self._share(places) for key, places in holders.items() if places
            },
            reason=what + self._told(len(holders[mine.key])),
        )

    def _share(self, places: Sequence[int]) -> float:
        if self._shares is None:
            return len(places) / self._count
        return min(1.0, math.fsum(self._shares[place] for place in places))

    def _told(self, agreeing: int) -> str:
        failed = self._count - self._documents
        weighed = "" if self._shares is None else ", by their weights"
        told = f"{agreeing} of {self._count} answers agree{weighed}"
        return f"{told}; {failed} gave no such document" if failed else told


def _require_shares(shares: Sequence[float], documents: int) -> None:
    require_list("shares", shares)
    if len(shares) != documents:
        raise UsageError(
            f"found {len(shares)} shares for {documents} documents; expected one for each"
        )
    numbers = [share for share in shares if isinstance(cast("object", share), int | float)]
    is_whole = len(numbers) == documents and all(0.0 <= share <= 1.0 for share in numbers)
    if not is_whole or math.fsum(numbers) > 1.0 + _ROUNDING:
        raise UsageError(
            f"found the shares {list(shares)!r:.80}; expected numbers from 0 up, together at most "
            "1: divide them by their sum"
        )


def require_list(name: str, given: object) -> None:
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise UsageError(f"{name} is a {type(given).__name__}; expected a list")


def _require_pointers(leaves: Sequence[Pointer]) -> None:
    require_list("leaves", leaves)
    for place, pointer in enumerate(leaves):
        try:
            split(pointer)
        except (ValueError, AttributeError) as error:
            raise UsageError(
                f"leaves[{place}] is {pointer!r:.60}; expected a JSON Pointer such as '/name'"
            ) from error
