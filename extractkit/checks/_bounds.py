"""The ready checks that compare dates, times and numbers with each other or with bounds.

Neighbours: `_ready` says what such a check is, `_quantities` reads and compares.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import partial

from extractkit.checks._patterns import Pattern, Place, align
from extractkit.checks._quantities import KINDS, Quantity, bound, quantity
from extractkit.checks._ready import (
    ReadyCheck,
    Said,
    Severity,
    no_quantity,
    not_compared,
    rows_of,
    written,
)
from extractkit.errors import UsageError
from extractkit.paths import Pointer

__all__ = ["in_order", "in_range"]


def in_order(*pointers: Pointer, strict: bool = False, severity: Severity = "error") -> ReadyCheck:
    """Return a check that dates, times or numbers stand in ascending order.

    Places that are null or missing are left out. A date against a date with time is compared by
    the date alone; a time with an offset against one without cannot be compared, which is a note.

    Args:
        pointers: Two or more, earliest first, or one with `*` for the items of a list in turn.
        strict: Equal neighbours are out of order, too.
        severity: Of what it finds.

    Raises:
        UsageError: If a pointer is none, or a single one has no `*`, or stars do not go together.
    """
    patterns = [Pattern(pointer, "in_order") for pointer in pointers]
    if not patterns or (len(patterns) == 1 and not patterns[0].stars):
        raise UsageError("in_order: expected two pointers, or one with '*', such as '/events/*/on'")
    align(patterns)

    return ReadyCheck(
        "in_order",
        patterns,
        partial(_judge_order, patterns=patterns, strict=strict),
        severity=severity,
        kinds=KINDS,
        alike=True,
    )


def _judge_order(
    places: Sequence[list[Place]], *, patterns: Sequence[Pattern], strict: bool
) -> Iterator[Said]:
    if len(places) == 1:
        of_list = itertools.groupby(places[0], key=lambda place: place.binding[:-1])
        rows = [list(group) for _, group in of_list]
    else:
        rows = rows_of(patterns, places)
    for row in rows:
        yield from _order([place for place in row if place.is_given], strict=strict)


def _order(row: Sequence[Place], *, strict: bool) -> Iterator[Said]:
    known: list[tuple[Place, Quantity]] = []
    for place in row:
        read = quantity(place.value)
        if read is None:
            yield no_quantity(place, "date, time or number")
        else:
            known.append((place, read))
    for (before, early), (after, late) in itertools.pairwise(known):
        order = early.compare(late)
        if order is None:
            both = f"{written(before.value)} at {before.pointer} and {written(after.value)} here"
            yield not_compared(after.pointer, f"{both} are of kinds that have no order")
        elif order > 0 or (strict and order == 0):
            expected = "later than" if strict else "not before"
            yield Said(
                path=after.pointer,
                message=f"{written(after.value)} is out of order: expected {expected} "
                f"{written(before.value)}, which stands at {before.pointer}",
                code="order",
            )


def in_range(
    *pointers: Pointer,
    low: Decimal | float | date | None = None,
    high: Decimal | float | date | None = None,
    severity: Severity = "error",
) -> ReadyCheck:
    """Return a check that numbers or dates lie between two bounds, bounds included.

    Args:
        pointers: Where they stand, "" for an answer that is one value; null and missing ones are
            left out.
        low: The least value; None for no bound.
        high: The greatest value; None for no bound.
        severity: Of what it finds.

    Raises:
        UsageError: If a pointer is none, both bounds are missing, one is no finite number or
            date, or they are the wrong way round.
    """
    if not pointers or (low is None and high is None):
        raise UsageError("in_range: expected at least one pointer, and low or high")
    least = None if low is None else bound("in_range", "low", low)
    most = None if high is None else bound("in_range", "high", high)
    order = least.compare(most) if least and most else 0
    if order is None or order > 0:
        raise UsageError(f"in_range(low={low}, high={high}): expected low to be at most high")
    patterns = [Pattern(pointer, "in_range", whole=True) for pointer in pointers]

    return ReadyCheck(
        "in_range",
        patterns,
        partial(_judge_range, least=least, most=most),
        severity=severity,
        kinds=frozenset(limit.kind for limit in (least, most) if limit is not None),
    )


def _judge_range(
    places: Sequence[list[Place]], *, least: Quantity | None, most: Quantity | None
) -> Iterator[Said]:
    for place in itertools.chain.from_iterable(places):
        if place.is_given:
            yield from _range(place, least, most)


def _range(place: Place, least: Quantity | None, most: Quantity | None) -> Iterator[Said]:
    read = quantity(place.value)
    if read is None:
        yield no_quantity(place, "number or date")
        return
    for limit, words, wrong in ((least, "at least", 1), (most, "at most", -1)):
        order = None if limit is None else limit.compare(read)
        if limit is not None and order is None:
            why = f"{written(place.value)} and the bound {limit} are of kinds that have no order"
            yield not_compared(place.pointer, why)
        elif order == wrong:
            message = f"{written(place.value)} is out of range: expected {words} {limit}"
            yield Said(path=place.pointer, message=message, code="out_of_range")
