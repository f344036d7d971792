"""Every date that a text states, with its precision and with every reading it has.

Neighbours: `locales` says which order of day and month a language uses, `source` asks for dates.
Two-digit years are read with the pivot of POSIX: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to
2068. This module never fills in a day, a month or a year that the text does not give.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, partial
from typing import TypeAlias

from extractkit.grounding.digits import compact_starts, may_be_numeric, numeric_starts
from extractkit.grounding.locales import Order
from extractkit.grounding.months import months_elsewhere, months_of
from extractkit.grounding.named import ORDINAL, day_of, named_days, year_of
from extractkit.grounding.unread import unread_days

__all__ = ["DateIndex", "DateReading"]

_Months: TypeAlias = "defaultdict[tuple[int, int], list[tuple[int, int]]]"

# All of these look ahead without consuming, so that no reading hides one that starts inside it.
_NUMERIC = re.compile(
    r"(?<!\w)(?<!\d[-/.])(?=(?P<whole>(?P<a>\d{1,4})(?P<mark>\s?[-/.]\s?)(?P<b>\d{1,2})(?P=mark)"
    r"(?P<c>\d{4}|\d{1,2}))(?!\d|[-/.]\d))"
)
_COMPACT = re.compile(r"(?<![A-Za-z\d])(?=(?P<whole>(?P<a>\d{4})(?P<b>\d{2})(?P<c>\d{2}))(?!\d))")
_EAST_ASIAN = re.compile(
    r"(?<!\d)(?P<year>\d{4})\s?[\u5e74\ub144]\s?(?P<month>\d{1,2})\s?[\u6708\uc6d4]"
    r"(?:\s?(?P<day>\d{1,2})\s?[\u65e5\u53f7\u865f\uc77c])?"
)
# Japanese years count from an emperor's first, which is not always written as a digit.
_ERAS = {"\u4ee4\u548c": 2018, "\u5e73\u6210": 1988, "\u662d\u548c": 1925, "\u5927\u6b63": 1911}
_ERA = re.compile(
    rf"(?P<era>{'|'.join(_ERAS)})\s?(?P<year>\d{{1,2}}|\u5143)\s?\u5e74\s?(?P<month>\d{{1,2}})\s?\u6708"
    r"\s?(?P<day>\d{1,2})\s?\u65e5"
)
_VIETNAMESE = re.compile(
    r"(?<!\d)(?P<day>\d{1,2})\sth\u00e1ng\s(?P<month>\d{1,2}),?\s(?:n\u0103m\s)?(?P<year>\d{4})(?!\d)",
    re.IGNORECASE,
)
_YEAR_MARKS = ("\u5e74", "\ub144")
_YEAR = re.compile(r"(?<!\d)(?=(?P<year>\d{4})(?!\d))")
_MONTH_YEAR = re.compile(
    r"(?<![\w/.-])(?:(?P<month>\d{1,2})[/.-](?P<year>\d{4})|(?P<year_first>\d{4})-(?P<second>\d{2}))"
    r"(?![\w/-]|\.\d)"
)
_MONTH_OF = re.compile(r"(?<![^\W\d_])(?P<month>[^\W\d_]{3,12})\.?,?\s{0,2}(?:of\s|de\s)?\Z")
_DAY_AND_MONTH = re.compile(
    rf"(?<![\w.,])(?:(?P<day>\d{{1,2}}){ORDINAL}\s(?:of\s|de\s)?(?P<month>[^\W\d_]{{3,12}})"
    rf"|(?P<first>[^\W\d_]{{3,12}})\.?\s(?:the\s)?(?P<second>\d{{1,2}})(?:st|nd|rd|th)?)"
    r"(?!\w|,?\s{1,2}(?:of\s|de\s)?\d{4})"
)
_DECADE = re.compile(r"(?<!\d)(?P<digits>\d{3}0)['\u2019]?s\b")
_RELATIVE = re.compile(
    r"\b(?:(?P<near>today|yesterday|tomorrow)|(?P<which>last|next)\s+"
    r"(?P<day>monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b",
    re.IGNORECASE,
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NEAR = {"yesterday": -1, "today": 0, "tomorrow": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class DateReading:
    """One date at one place.

    Attributes:
        start: First character.
        end: One past the last character.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    start: int
    end: int
    doubt: str = ""


class DateIndex:
    """The dates of one text.

    Args:
        text: The source.
        order: Order of day, month and year in the text's language; None where any is possible.
        reference: What relative dates count from; None leaves them unread.
        language: Whose names of months are read beside the common ones.
    """

    def __init__(
        self,
        text: str,
        *,
        order: Order | None = None,
        reference: date | None = None,
        language: str | None = None,
    ) -> None:
        self._text = text
        self._language = language
        self._months = months_of(language)
        self._order: Order | None = order
        self._days: defaultdict[date, dict[tuple[int, int], DateReading]] = defaultdict(dict)
        self._years: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        if may_be_numeric(text):
            self._scan_numeric()
        self._scan_named()
        self._scan_east_asian()
        if reference is not None:
            self._scan_relative(reference)

    def find(self, wanted: date) -> tuple[DateReading, ...]:
        """Return every place that can be read as this day, in the order of the text."""
        found = self._days.get(wanted) or self._elsewhere.get(wanted, {})
        return tuple(found[span] for span in sorted(found))

    def years(self, year: int) -> tuple[tuple[int, int], ...]:
        """Return where `year` stands as a part of a date written in digits."""
        return tuple(sorted(set(self._years.get(year, ()))))

    @property
    def days(self) -> tuple[date, ...]:
        """Every day that some place can be read as, each once."""
        return tuple(dict.fromkeys((*self._days, *self._elsewhere)))

    @property
    def years_in_digits(self) -> tuple[int, ...]:
        """Every year that `years` finds, each once."""
        return tuple(self._years)

    def months(self, year: int, month: int) -> tuple[tuple[int, int], ...]:
        """Return where the text gives this month without a day, in its order."""
        return tuple(sorted(self._months_and_years[0].get((year, month), ())))

    def coarser(self, wanted: date) -> str:
        """Return what less exact date of `wanted` the text gives, as words; "" for none."""
        months, years = self._months_and_years
        if (wanted.year, wanted.month) in months:
            return f"only the month {wanted.year:04}-{wanted.month:02}"
        if wanted.year in years and not self.unread(wanted):
            return f"only the year {wanted.year:04}"
        if (wanted.month, wanted.day) in self._days_without_year:
            return f"only the day {wanted.month:02}-{wanted.day:02} without a year"
        for low, size, said in self._decades:
            if low <= wanted.year < low + size:
                return f"only {said!r}"
        return ""

    def unread(self, wanted: date) -> str:
        """Return what may be this day in words that are not read; "" for nothing."""
        if str(wanted.year) not in self._text:
            return ""
        return self._unread.get((wanted.year, wanted.day), "")

    def _month(self, word: str) -> int | None:
        return self._months.number(word) or months_elsewhere(self._language).number(word)

    @cached_property
    def _unread(self) -> dict[tuple[int, int], str]:
        further = months_elsewhere(self._language)
        return unread_days(
            self._text, lambda word: bool(self._months.numbers(word) or further.numbers(word))
        )

    @cached_property
    def _elsewhere(self) -> dict[date, dict[tuple[int, int], DateReading]]:
        """Days by names of months that are tried only where the others do not help."""
        found: defaultdict[date, dict[tuple[int, int], DateReading]] = defaultdict(dict)
        months = months_elsewhere(self._language)
        if not months.are_named(self._text):
            return {}
        for day, start, end, _, doubt in named_days(self._text, months):
            found[day][start, end] = DateReading(start=start, end=end, doubt=doubt)
        return dict(found)

    @cached_property
    def _decades(self) -> tuple[tuple[int, int, str], ...]:
        """First year, number of years and words of each decade or century, each once."""
        return tuple(dict.fromkeys(map(_decade, _DECADE.finditer(self._text))))

    @cached_property
    def _days_without_year(self) -> set[tuple[int, int]]:
        """Month and day of each that the text gives no year."""
        found: set[tuple[int, int]] = set()
        for match in _DAY_AND_MONTH.finditer(self._text):
            month = self._months.number(match["month"] or match["first"])
            if month is not None:
                found.add((month, int(match["day"] or match["second"])))
        return found

    @cached_property
    def mentions_relative(self) -> bool:
        """Whether the text has a date that counts from another one ("last Friday")."""
        return _RELATIVE.search(self._text) is not None

    def _add(self, day: date | None, start: int, end: int, doubt: str = "") -> None:
        if day is not None:
            self._days[day].setdefault((start, end), DateReading(start=start, end=end, doubt=doubt))

    def _scan_numeric(self) -> None:
        numeric = map(partial(_NUMERIC.match, self._text), numeric_starts(self._text))
        compact = map(partial(_COMPACT.match, self._text), compact_starts(self._text))
        for match in filter(None, (*numeric, *compact)):
            start, end = match.span("whole")
            for day, doubt in _numeric_readings(match, self._order):
                self._add(day, start, end, doubt)
                for group in ("a", "c"):
                    if len(match[group]) == 4:
                        self._years[day.year].append(match.span(group))

    def _scan_named(self) -> None:
        for day, start, end, year, doubt in named_days(self._text, self._months):
            self._add(day, start, end, doubt)
            if year is not None:
                self._years[day.year].append(year)

    def _scan_east_asian(self) -> None:
        for match in self._east_asian:
            if match["day"] is not None:
                day = day_of(int(match["year"]), int(match["month"]), int(match["day"]))
                self._add(day, *match.span())
        for match in _ERA.finditer(self._text) if self._has_east_asian_years else ():
            year = _ERAS[match["era"]] + (1 if match["year"] == "\u5143" else int(match["year"]))
            self._add(day_of(year, int(match["month"]), int(match["day"])), *match.span())
        for match in _VIETNAMESE.finditer(self._text) if "\u00e1ng " in self._text else ():
            day = day_of(int(match["year"]), int(match["month"]), int(match["day"]))
            self._add(day, *match.span())

    @cached_property
    def _east_asian(self) -> tuple[re.Match[str], ...]:
        return tuple(_EAST_ASIAN.finditer(self._text)) if self._has_east_asian_years else ()

    @cached_property
    def _has_east_asian_years(self) -> bool:
        return any(mark in self._text for mark in _YEAR_MARKS)

    @cached_property
    def _months_and_years(self) -> tuple[_Months, set[int]]:
        """Months and years without a day; those inside of a full date are none."""
        months: _Months = defaultdict(list)
        for match in self._east_asian:
            if match["day"] is None:
                months[int(match["year"]), int(match["month"])].append(match.span())
        years: set[int] = set()
        days = *self._days.values(), *self._elsewhere.values()
        taken = [span for places in days for span in places]
        starts, ends = {start for start, _ in taken}, {end for _, end in taken}
        for match in _YEAR.finditer(self._text):
            start, end = match.span("year")
            if start in starts or end in ends:
                continue
            years.add(int(match["year"]))
            before = _MONTH_OF.search(self._text, max(0, start - 20), start)
            month = self._month(before["month"]) if before else None
            if before and month:
                months[int(match["year"]), month].append((before.start("month"), end))
        for match in _MONTH_YEAR.finditer(self._text):
            year, month_text = (
                match["year"] or match["year_first"],
                match["month"] or match["second"],
            )
            months[int(year), int(month_text)].append(match.span())
        return months, years

    def _scan_relative(self, reference: date) -> None:
        for match in _RELATIVE.finditer(self._text):
            if match["near"]:
                days, doubt = _NEAR[match["near"].lower()], ""
            else:
                weekday = _WEEKDAYS.index(match["day"].lower())
                ahead = (weekday - reference.weekday() - 1) % 7 + 1
                is_next = match["which"].lower() == "next"
                days = ahead if is_next else ahead - 7 - (7 if ahead == 7 else 0)
                doubt = f"{match.group()!r} may also mean a week earlier or later"
            self._add(_shift(reference, days), *match.span(), doubt)


def _decade(match: re.Match[str]) -> tuple[int, int, str]:
    """Return (first year, number of years, words) of "1990s", or of "1800s": a century."""
    low = int(match["digits"])
    return low, 100 if low % 100 == 0 else 10, match.group()


def _shift(reference: date, days: int) -> date | None:
    try:
        return reference + timedelta(days=days)
    except OverflowError:
        return None


def _numeric_readings(match: re.Match[str], order: Order | None) -> Iterator[tuple[date, str]]:
    """Yield (day, doubt) for each way to read three groups of digits."""
    a, b, c = match["a"], match["b"], match["c"]
    if len(a) == 4 and len(c) <= 2:
        day = day_of(int(a), int(b), int(c))
        compact = "mark" not in match.re.groupindex
        if day is not None and (not compact or 1900 <= day.year < 2100):
            yield day, "eight digits may be a date or a number" if compact else ""
        return
    if len(a) > 2 or len(c) not in (2, 4):
        return
    yield from _two_readings(match, order)


def _two_readings(match: re.Match[str], order: Order | None) -> Iterator[tuple[date, str]]:
    """Yield the readings of 03/06/2026, and of 12-01-19 with the year first as well."""
    a, b, c = int(match["a"]), int(match["b"]), year_of(match["c"])
    day_first, month_first = day_of(c, b, a), day_of(c, a, b)
    year_first = None if len(match["c"]) == 4 else day_of(year_of(match["a"]), b, int(match["c"]))
    if order == "ymd" and year_first is not None:
        yield year_first, ""
        return
    if order == "mdy" and month_first is not None:
        yield month_first, ""
        return
    if order == "dmy" and day_first is not None:
        yield day_first, ""
        return
    readings = [day for day in (day_first, month_first) if day is not None]
    two = len(set(readings)) == 2
    doubt = f"it may be {' or '.join(map(str, readings))}" if two else ""
    # With points the day comes first nearly everywhere.
    pointed = match["mark"].strip() == "."
    if day_first is not None:
        yield day_first, "" if pointed else doubt
    if month_first is not None and month_first != day_first:
        yield month_first, doubt
    if year_first is not None and year_first not in readings:
        yield year_first, "the year may come first or last"
