"""Every day that a text gives with a month's name, alone or as an end of a range.

Neighbours: `months` knows the names, `dates` files what is found here. Of 4-6 March 2024 both days
are found, the first with all of it as its place; only what both share in writing is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Final, NamedTuple

from extractkit.grounding.digits import beside
from extractkit.grounding.months import Months

__all__ = ["ORDINAL", "NamedDay", "day_of", "named_days", "year_of"]

ORDINAL: Final = r"(?:st|nd|rd|th|er|\u00ba|\u00aa|\.)?"
"""What may stand behind a day."""
_GAP: Final = r"[\s\-/.,]{0,3}"  # between a day and a month

# Behind a year of two digits may follow what makes another number of it: 6 March 20:15.
_YEAR: Final = r"(?P<year>\d{4}(?!\d|\.\d|,\d{3}(?!\d))|['\u2019]?\d{2}(?!\d|[:.,]\d))"
# Mon Mar  4 21:13:05 +0000 2024
_CLOCK: Final = r"\s\d\d:\d\d(?::\d\d)?\s(?:[A-Z]{2,5}\s|[+-]\d{4}\s)?"
_LINKS: Final = (
    "to and till until through thru bis und au et al a e y tot en til og do \u0434\u043e \u0438 "
    "\u043f\u043e"
)
_LINK_WORDS: Final = frozenset((*_LINKS.split(), "the"))
_LINK_MARKS: Final = "-\u2013\u2014&"
_LINK_REACH: Final = 12
_LINK: Final = rf"(?:\s?[{_LINK_MARKS}]\s?|\s(?:{'|'.join(_LINKS.split())})\s)"

# These look ahead without consuming, so that no reading hides one that starts inside it.
_DAY_FIRST: Final = re.compile(
    rf"(?<!\d)(?<!\d[.,:])(?=(?P<day>\d{{1,2}}){ORDINAL}(?P<gap>{_GAP})(?:day\s+of\s+|of\s+|de\s+)?"
    rf"(?P<month>[^\W\d_]{{3,12}}){_GAP}(?:of\s+|de\s+)?{_YEAR})",
    re.IGNORECASE,
)
_DAY_YEAR: Final = re.compile(
    rf"(?<!\d)(?=(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"(?:{_LINK}(?P<last>\d{{1,2}})(?:st|nd|rd|th)?(?=[\s,]))?"
    rf"(?P<gap>[\s\-/.,]{{1,3}}|{_CLOCK}){_YEAR})",
    re.IGNORECASE,
)
_YEAR_FIRST: Final = re.compile(
    r"(?<!\d)(?<!\d[.,])(?=(?P<year>\d{4})(?P<gap>(?:\s?m\.)?[\s\-/.,]{1,3})"
    r"(?P<month>[^\W\d_]{3,12})[\s\-/.,]{1,3}"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![A-Za-z\d%]|[.,:]\d|,?\s(?:\d{4}(?!\d)|['\u2019]\d\d)))"
)
_MONTH_BEFORE: Final = re.compile(
    rf"(?<![^\W\d_])(?P<month>[^\W\d_]{{3,12}}){_GAP}(?:the\s)?\Z", re.IGNORECASE
)
_FIRST_DAY: Final = re.compile(
    rf"(?<![\w.,/:\-\u2013])(?P<day>\d{{1,2}}){ORDINAL}"
    rf"(?:\s(?:of\s|de\s)?(?P<month>[^\W\d_]{{3,12}})\.?)?{_LINK}(?:the\s)?\Z",
    re.IGNORECASE,
)
_FIRST_MONTH: Final = re.compile(
    rf"(?<!\w)(?P<month>[^\W\d_]{{3,12}})\.?\s(?:the\s)?(?P<day>\d{{1,2}}){ORDINAL}{_LINK}\Z",
    re.IGNORECASE,
)
# One more day before those of a list: 3, 4 and 5 March 2024.
_LISTED: Final = re.compile(rf"(?<![\w.,/:\-\u2013])(?P<day>\d{{1,2}}){ORDINAL},\s\Z")
_REACH: Final = 36
_MOST_LISTED: Final = 10
_BLANK_LINE: Final = re.compile(r"\n[\s\-/.,]*\n")
_AMOUNT_MARKS: Final = frozenset("$\u20ac\u00a3\u00a5\u20b9\u20bd#\u00a7")
_FIRST_WITHOUT_SPACES: Final = "\u0590"
_GLUED: Final = "the day may be the end of what stands before it"
_MORE: Final = "the number may be none of the days"


class NamedDay(NamedTuple):
    """One day at one place.

    Attributes:
        day: The day.
        start: First character.
        end: One past the last character.
        year: Where four digits of it are its year; None where it has two.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    day: date
    start: int
    end: int
    year: tuple[int, int] | None
    doubt: str = ""


def named_days(text: str, months: Months) -> Iterator[NamedDay]:
    """Yield every day of `text` whose month is one of `months` by its name."""
    before, after = beside(text, months.may_stand(text))
    for pattern in (_DAY_FIRST, _YEAR_FIRST):
        for match in filter(None, map(partial(pattern.match, text), before)):
            start = match.start()
            doubt = "" if not start or text[start - 1].isspace() else _before(text, start, match)
            if doubt is None or (pattern is _YEAR_FIRST and _has_month(text, start, months)):
                continue
            span = start, max(match.end("day"), match.end("year"))
            for found in _days(match, match["month"], match["day"], span, months):
                yield found._replace(doubt=doubt) if doubt else found
                yield from _first_of(text, found, months)
    for match in filter(None, map(partial(_DAY_YEAR.match, text), after)):
        start = match.start()
        month = _MONTH_BEFORE.search(text, max(0, start - 22), start)
        gap = match["gap"]
        # "March 6 20" is a day and a count; "March 6, 20" and "March 6 '20" are dates.
        if month and (len(match["year"]) > 2 or not (":" in gap or gap.isspace())):
            yield from _month_first(text, match, month, months)


def _month_first(
    text: str, match: re.Match[str], month: re.Match[str], months: Months
) -> Iterator[NamedDay]:
    span = month.start("month"), match.end("year")
    for found in _days(match, month["month"], match["last"] or match["day"], span, months):
        yield found
        if match["last"] is None:
            yield from _first_of(text, found, months)
        elif int(match["day"]) < int(match["last"]):
            yield found._replace(day=found.day.replace(day=int(match["day"])))


def _days(
    match: re.Match[str], word: str, day: str, span: tuple[int, int], months: Months
) -> Iterator[NamedDay]:
    if match.string.count("\n", *span) > 1 and _BLANK_LINE.search(match.string, *span):
        return
    year = match["year"]
    numbers = months.numbers(word)
    doubt = months.doubt(word) if numbers else ""
    at = match.span("year") if len(year) == 4 else None
    for number in numbers:
        found = day_of(year_of(year.lstrip("'\u2019")), number, int(day))
        if found is not None:
            yield NamedDay(found, *span, at, doubt)


def _first_of(text: str, last: NamedDay, months: Months) -> Iterator[NamedDay]:
    """Yield the first day of a range that ends with `last`, if one does."""
    begin = max(0, last.start - _REACH)
    words = text[max(0, last.start - _LINK_REACH) : last.start].split()
    if not words or (words[-1].lower() not in _LINK_WORDS and words[-1][-1] not in _LINK_MARKS):
        return
    for pattern in (_FIRST_MONTH, _FIRST_DAY):
        match = pattern.search(text, begin, last.start)
        if match is None:
            continue
        named = match["month"]
        month = last.day.month if named is None else months.number(named)
        first = day_of(last.day.year, month, int(match["day"]))
        if first is not None and first < last.day:
            yield last._replace(day=first, start=match.start())
            if named is None and words[-1].isalpha():
                yield from _listed(text, last._replace(day=first, start=match.start()))


def _listed(text: str, last: NamedDay) -> Iterator[NamedDay]:
    """Yield the days that stand before `last` with a comma between, which may be other numbers."""
    for _ in range(_MOST_LISTED):
        match = _LISTED.search(text, max(0, last.start - _LINK_REACH), last.start)
        if match is None or not 0 < int(match["day"]) < last.day.day:
            return
        day = last.day.replace(day=int(match["day"]))
        last = last._replace(day=day, start=match.start(), doubt=_MORE)
        yield last


def _before(text: str, start: int, match: re.Match[str]) -> str | None:
    """Return the doubt about a date for what touches it; None where that has its first digits.

    The 4 of A4 March 2024 is none, the 14 of Rev14 March 2024 may be; so may that of ON14-MAR-24.
    """
    char = text[start - 1]
    if char in _AMOUNT_MARKS:
        return None
    is_apart = match["gap"][:1].isspace()
    if not (char.isalpha() and char < _FIRST_WITHOUT_SPACES):
        if char == "." and text[start - 2 : start - 1].isalpha():
            return _GLUED
        return None if char == "_" and is_apart else ""
    is_code = is_apart and not text[max(0, start - 2) : start].isalpha()
    return None if is_code or start == 1 else _GLUED


def _has_month(text: str, start: int, months: Months) -> bool:
    """Whether a year is that of the month before it: 4 March 2024 March 5."""
    month = _MONTH_BEFORE.search(text, max(0, start - 16), start)
    return month is not None and bool(months.numbers(month["month"]))


def year_of(digits: str) -> int:
    """Return the year that two or four digits stand for."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year >= 69 else 2000)


def day_of(year: int, month: int | None, day: int) -> date | None:
    """Return the day; None where the calendar has no such day."""
    try:
        return date(year, month or 0, day)
    except ValueError:
        return None
