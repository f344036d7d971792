"""Every day that a text writes in digits and marks, with every way to read it.

Neighbours: `digits` knows where one may begin, `dates` files what is found here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Final

from extractkit.grounding.digits import compact_starts, numeric_starts
from extractkit.grounding.locales import Order
from extractkit.grounding.named import NamedDay, day_of, year_of

__all__ = ["compact_days", "numeric_days", "week_days"]

_GROUPS: Final = (
    r"(?=(?P<whole>(?P<a>\d{1,4})(?P<mark>\s?[-/.\u2013]\s?)(?P<b>\d{1,2})(?P=mark)"
    r"(?P<c>\d{4}|\d{1,2}))"
)
_NUMERIC: Final = re.compile(rf"(?<![^\W_])(?<!\d[-/.\u2013]){_GROUPS}(?!\d|[-/.\u2013]\d))")
# Digits touch it over a mark: a day only where these are the other end of a range.
_JOINED: Final = re.compile(rf"(?<![^\W_]){_GROUPS}(?!\d))")
_OTHER_END: Final = r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4})"
_END_BEFORE: Final = re.compile(rf"(?<![^\W_])(?<!\d[-/.\u2013]){_OTHER_END}[-/\u2013]\Z")
_BEGIN_AFTER: Final = re.compile(rf"[-/\u2013]{_OTHER_END}(?!\d|[-/.\u2013]\d)")
_REACH: Final = 11
_COMPACT: Final = re.compile(
    r"(?<![A-Za-z\d])(?=(?P<whole>(?P<a>\d{4})(?P<b>\d{2})(?P<c>\d{2}))"
    r"(?P<time>T\d{4}(?:\d\d)?(?!\d))?(?!\d))"
)
_EIGHT: Final = "eight digits may be a date or a number"
_WEEK: Final = re.compile(
    r"W(?<=\d{4}-W)(?<!\d{5}-W)(?P<week>\d\d)-(?P<day>[1-7])(?![\w-])|W(?<=\d{4}W)(?<!\d{5}W)(?P<w>\d\d)(?P<d>[1-7])(?!\w)"
)


def numeric_days(text: str, order: Order | None) -> Iterator[NamedDay]:
    """Yield each reading of each day of `text` in digits."""
    starts = list(numeric_starts(text))
    matches = list(map(partial(_NUMERIC.match, text), starts))
    if None in matches:
        matches = [
            match or _joined(text, start) for match, start in zip(matches, starts, strict=True)
        ]
    for match in filter(None, matches):
        start, end = match.span("whole")
        year = next((match.span(group) for group in ("a", "c") if len(match[group]) == 4), None)
        for day, doubt in _readings(match, order):
            yield NamedDay(day, start, end, year, doubt)


def compact_days(text: str) -> Iterator[NamedDay]:
    """Yield each day of `text` in eight digits, which are a day for certain before a time."""
    for match in filter(None, map(partial(_COMPACT.match, text), compact_starts(text))):
        day = day_of(int(match["a"]), int(match["b"]), int(match["c"]))
        if day is not None and (match["time"] or 1900 <= day.year < 2100):
            yield NamedDay(
                day, *match.span("whole"), match.span("a"), "" if match["time"] else _EIGHT
            )


def week_days(text: str) -> Iterator[tuple[date, int, int]]:
    """Yield each day that `text` gives by its week, as 2026-W10-5, with its place."""
    for match in _WEEK.finditer(text) if "W" in text else ():
        start = match.start() - (5 if match["week"] else 4)
        year, week, day = int(text[start : start + 4]), match["week"] or match["w"], match["day"]
        try:
            found = date.fromisocalendar(year, int(week), int(day or match["d"]))
        except ValueError:
            continue
        yield found, start, match.end()


def _joined(text: str, start: int) -> re.Match[str] | None:
    """Return a day that is an end of a range without spaces: 2024-03-04/2024-03-05."""
    match = _JOINED.match(text, start)
    if match is None or 4 not in (len(match["a"]), len(match["c"])):
        return None
    end = match.end("whole")
    is_cut = start > 1 and text[start - 2].isdecimal() and text[start - 1] in "-/.\u2013"
    if is_cut and not _END_BEFORE.search(text, max(0, start - _REACH - 1), start):
        return None
    goes_on = (
        text[end : end + 1] in ("-", "/", ".", "\u2013") and text[end + 1 : end + 2].isdecimal()
    )
    return None if goes_on and not _BEGIN_AFTER.match(text, end) else match


def _readings(match: re.Match[str], order: Order | None) -> Iterator[tuple[date, str]]:
    """Yield (day, doubt) for each way to read three groups of digits."""
    a, b, c = match["a"], match["b"], match["c"]
    if len(a) == 4 and len(c) <= 2:
        day = day_of(int(a), int(b), int(c))
        if day is not None:
            yield day, ""
        return
    if len(a) > 2 or len(c) not in (2, 4):
        return
    yield from _two_readings(match, order)


def _two_readings(match: re.Match[str], order: Order | None) -> Iterator[tuple[date, str]]:
    """Yield the readings of 03/06/2026, and of 12-01-19 with the year first as well."""
    a, b, c = int(match["a"]), int(match["b"]), year_of(match["c"])
    day_first, month_first = day_of(c, b, a), day_of(c, a, b)
    year_first = None if len(match["c"]) == 4 else day_of(year_of(match["a"]), b, int(match["c"]))
    # With points the day comes first nearly everywhere.
    pointed = match["mark"].strip() == "."
    own = {"ymd": year_first, "mdy": None if pointed else month_first, "dmy": day_first}
    settled = own[order] if order else None
    if settled is not None:
        yield settled, ""
        return
    readings = [day for day in (day_first, month_first) if day is not None]
    two = len(set(readings)) == 2
    doubt = f"it may be {' or '.join(map(str, readings))}" if two else ""
    if day_first is not None:
        yield day_first, "" if pointed and order != "mdy" else doubt
    if month_first is not None and month_first != day_first:
        yield month_first, doubt
    if year_first is not None and year_first not in readings:
        yield year_first, "the year may come first or last"
