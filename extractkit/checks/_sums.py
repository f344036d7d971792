"""The ready check of sums. Nothing is rounded.

Neighbours: `_ready` says what such a check is, `_quantities` reads numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import partial, reduce
from typing import Final

from extractkit.checks._patterns import Pattern, Place, align
from extractkit.checks._quantities import finite, number
from extractkit.checks._ready import (
    ReadyCheck,
    Said,
    Severity,
    no_quantity,
    not_compared,
)
from extractkit.errors import UsageError
from extractkit.paths import Pointer

__all__ = ["adds_up"]

_ZERO: Final = Decimal(0)
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def adds_up(
    *parts: Pointer,
    to: Pointer,
    tolerance: Decimal | float = 0,
    severity: Severity = "error",
) -> ReadyCheck:
    """Return a check that the numbers at `parts` add up to the one at `to`.

    The sum is exact, also of floats, which count as what they print. A part that is null or
    missing leaves the sum unknown, and no parts at all leave nothing to compare: both are notes.

    Args:
        parts: Pointers, with `*` for every item: "/lines/*/amount", or "/net" and "/tax".
        to: Pointer to the sum. Stars that it shares with the parts stand for the same items, so
            that "/orders/*/lines/*/amount" adds up to "/orders/*/total" order by order.
        tolerance: How far apart the two may be, at most; not negative.
        severity: Of what it finds.

    Raises:
        UsageError: If a pointer is none, stars do not go together, the sum is one of its parts, or
            the tolerance is not a finite number from 0 up.
    """
    if not parts:
        raise UsageError("adds_up: expected at least one pointer to what is added")
    limit = finite(tolerance)
    if limit is None or limit < 0:
        raise UsageError(
            f"adds_up(tolerance={tolerance!r:.40}): expected a number from 0 up, such as "
            "Decimal('0.01')"
        )
    total = Pattern(to, "adds_up")
    patterns = [*(Pattern(part, "adds_up") for part in parts), total]
    if to in parts:
        raise UsageError(
            f"adds_up: {to!r} is a part and the sum as well; expected a sum that stands elsewhere"
        )
    for pattern in patterns:
        if not total.is_within(pattern):
            align([total, pattern])
            raise UsageError(f"adds_up: {to!r} has a '*' that {pattern.text!r} lacks")
    return ReadyCheck(
        "adds_up",
        patterns,
        partial(_judge_sums, parts=patterns[:-1], total=total, limit=limit),
        severity=severity,
        kinds=frozenset({"number"}),
    )


def _judge_sums(
    places: Sequence[list[Place]], *, parts: Sequence[Pattern], total: Pattern, limit: Decimal
) -> Iterator[Said]:
    *added, sums = places
    for place in sums:
        mine = [
            part for each in added for part in each if part.binding[: total.stars] == place.binding
        ]
        yield from _sum(mine, place, " and ".join(part.text for part in parts), limit)


def _sum(parts: Sequence[Place], to: Place, what: str, limit: Decimal) -> Iterator[Said]:
    absent = [place for place in (*parts, to) if not place.is_given]
    if not parts:
        yield not_compared(to.pointer, f"nothing stands at {what}, so that there is no sum")
    elif absent:
        places = ", ".join(place.pointer for place in absent[:5])
        why = f"no number stands at {places}, so that the sum of {what} is not compared"
        yield not_compared(absent[0].pointer, why)
    wrong = [place for place in (*parts, to) if place.is_given and number(place.value) is None]
    yield from (no_quantity(place, "number") for place in wrong)
    if not parts or absent or wrong:
        return
    added = reduce(_EXACT.add, [number(place.value) or _ZERO for place in parts], _ZERO)
    stated = number(to.value) or _ZERO
    apart = _EXACT.subtract(added, stated).copy_abs()
    if apart > limit:
        both = f"the values at {what} add up to {added:f}, but {to.pointer} says {stated:f}"
        allowed = f", at most {limit:f} is allowed" if limit else ""
        yield Said(path=to.pointer, message=f"{both}: {apart:f} apart{allowed}", code="sum")
