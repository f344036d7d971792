"""What a short string is worth if it is one number, one date or one time, and nothing else.

Neighbours: `forms` looks for that value where the text does not have the string. The string is read
as the source is, by `numbers`, `dates` and `times`; what can be read in two ways is worth nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final, Literal

from extractkit.grounding.dates import DateIndex
from extractkit.grounding.locales import Convention
from extractkit.grounding.moments import moment_of
from extractkit.grounding.months import months_of
from extractkit.grounding.numbers import NumberIndex
from extractkit.grounding.times import TimeIndex

__all__ = ["written_moment", "written_month", "written_numbers"]

_LONGEST: Final = 40
_ISO_DATE: Final = 10
_MONTH: Final = re.compile(
    r"(?P<month>[^\W\d_]{3,12})\.?,?\s(?:of\s|de\s)?(?P<year>\d{4})\Z", re.IGNORECASE
)


def written_numbers(written: str, decimal: Literal[".", ","] | None) -> Iterator[Decimal]:
    """Yield what the number that is all of `written` is worth: one value, or none in doubt."""
    own = NumberIndex(written, decimal=decimal)
    for number in own.values():
        for each in own.find(number):
            if (each.start, each.end, each.doubt) == (0, len(written), ""):
                yield number


def written_moment(written: str, own: Convention) -> date | datetime | time | None:
    """Return the day or the time that is all of `written`; None for anything else."""
    if len(written) > _LONGEST:
        return None
    if written[4:5] == "-" and len(written) >= _ISO_DATE:
        return moment_of(written, "datetime")
    dates = DateIndex(written, order=own.order, language=own.language)
    days = {
        day
        for day in dates.days
        for each in dates.find(day)
        if (each.start, each.end, each.doubt) == (0, len(written), "")
    }
    if len(days) == 1:
        return days.pop()
    return None if days else _time(written)


def written_month(written: str, language: str | None) -> tuple[int, int] | None:
    """Return the year and the month that are all of `written`, as March 2024; None for more."""
    match = _MONTH.match(written)
    month = months_of(language).number(match["month"]) if match else None
    return (int(match["year"]), month) if match and month else None


def _time(written: str) -> time | None:
    clock = TimeIndex(written)
    found = {
        moment
        for moment, offset_s in clock.stated
        for each in clock.find(moment)
        if (each.start, each.end, each.doubt) == (0, len(written), "") and offset_s is None
    }
    return found.pop() if len(found) == 1 else None
