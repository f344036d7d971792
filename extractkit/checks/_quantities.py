"""Numbers, dates and times out of plain JSON, to be compared exactly.

Neighbours: `_ready` compares. A float counts as the decimal number that it prints as.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.paths import JsonValue

__all__ = ["KINDS", "Quantity", "bound", "finite", "number", "quantity"]

KINDS: Final = frozenset({"number", "date", "time"})
"""What can be compared with its like; a date with a time is a date."""

_FARTHEST: Final = 400
"""Digits before or after the point beyond which nothing is added: a sum could fill the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number, a date or a time, which have an order among their like."""

    amount: Decimal | date | time

    @property
    def kind(self) -> str:
        """Which of KINDS it is."""
        if isinstance(self.amount, Decimal):
            return "number"
        return "date" if isinstance(self.amount, date) else "time"

    def compare(self, other: Quantity) -> int | None:
        """Return -1, 0 or 1 as this is less, equal or greater; None where they have no order."""
        mine: Any = self.amount
        theirs: Any = other.amount
        if type(mine) is Decimal is type(theirs):
            return int(mine > theirs) - int(mine < theirs)
        if isinstance(mine, date) and isinstance(theirs, date) and type(mine) is not type(theirs):
            mine, theirs = _day(mine), _day(theirs)
        if type(mine) is not type(theirs):
            return None
        try:
            return int(mine > theirs) - int(mine < theirs)
        except TypeError:  # one has an offset, the other none
            return None

    def __str__(self) -> str:
        return f"{self.amount:f}" if isinstance(self.amount, Decimal) else self.amount.isoformat()


def _day(moment: Any) -> Any:
    return moment.date() if isinstance(moment, datetime) else moment


def number(value: JsonValue) -> Decimal | None:
    """Return a JSON number, or a string that spells one, as a finite Decimal; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = Decimal(value) if isinstance(value, int) else Decimal(str(value))
    except InvalidOperation:
        return None
    return read if read.is_finite() and abs(read.adjusted()) <= _FARTHEST else None


def quantity(value: JsonValue) -> Quantity | None:
    """Return what a JSON number is, or a string of a number, date or time (ISO 8601), else None."""
    read = number(value)
    if read is not None:
        return Quantity(amount=read)
    if isinstance(value, str):
        for kind in (date, datetime, time):
            try:
                return Quantity(amount=kind.fromisoformat(value))
            except ValueError:
                continue
    return None


def bound(owner: str, name: str, value: Any) -> Quantity:
    """Return what a caller gave as a bound.

    Raises:
        UsageError: If it is no finite number and no date or time.
    """
    if isinstance(value, date | time):
        return Quantity(amount=value)
    read = finite(value)
    if read is None:
        raise UsageError(
            f"{owner}({name}={value!r:.40}): expected a finite number, a date or a time, no text"
        )
    return Quantity(amount=read)


def finite(value: Any) -> Decimal | None:
    """Return a number that a caller gave, but for a text, as a finite Decimal; else None."""
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    return None if isinstance(value, str) else number(value)
