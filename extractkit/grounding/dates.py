"""Every date that a text states, with its precision and with every reading it has.

Neighbours: `locales` says which order of day and month a language uses, `source` asks for dates.
Two-digit years are read with the pivot of POSIX: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to
2068. This module never fills in a day, a month or a year that the text does not give.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeAlias

from extractkit.grounding.digits import may_be_numeric
from extractkit.grounding.legible import legible
from extractkit.grounding.locales import Order
from extractkit.grounding.months import months_elsewhere, months_of
from extractkit.grounding.named import ORDINAL, NamedDay, day_of, named_days
from extractkit.grounding.numeric import compact_days, numeric_days, week_days
from extractkit.grounding.ordinals import told_days
from extractkit.grounding.relative import relative_days, says_relative
from extractkit.grounding.stamps import Span, Stamps
from extractkit.grounding.unread import unread_days

__all__ = ["DateIndex", "DateReading"]

_Months: TypeAlias = "defaultdict[tuple[int, int], list[tuple[int, int]]]"

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
    rf"(?<![\w.,:])(?=(?P<whole>(?P<day>\d{{1,2}}){ORDINAL}\s(?:of\s|de\s)?(?P<month>[^\W\d_]{{3,12}})"
    rf"|(?P<first>[^\W\d_]{{3,12}})\.?\s(?:the\s)?(?P<second>\d{{1,2}})(?:st|nd|rd|th)?)"
    r"(?![\w:]|,?\s{1,2}(?:of\s|de\s)?\d{4}))"
)
_DECADE = re.compile(r"(?<!\d)(?P<digits>\d{3}0)['\u2019]?s\b")


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
        self._source = text
        self._legible = legible(text)
        self._text = text = self._legible.text
        self._language = language
        self._months = months_of(language)
        self._days: defaultdict[date, dict[Span, DateReading]] = defaultdict(dict)
        self._stamps: Stamps | None = None
        self._years: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        marked, compact = may_be_numeric(text)
        if marked:
            self._file(numeric_days(text, order))
        if compact:
            self._file(compact_days(text))
        self._file(named_days(text, self._months))
        if not text.isascii():
            self._scan_eastern()
        for found in relative_days(text, reference) if reference is not None else ():
            self._add_to(self._days, *found)

    def find(self, wanted: date) -> tuple[DateReading, ...]:
        """Return every place that can be read as this day, in the order of the text."""
        found = self._days.get(wanted) or self._elsewhere.get(wanted, {})
        return tuple(found[span] for span in sorted(found))

    def years(self, year: int) -> tuple[tuple[int, int], ...]:
        """Return where `year` stands as a part of a date written in digits."""
        spans = sorted(set(self._years.get(year, ())))
        return tuple(self._legible.span(*span) for span in spans)

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
        spans = sorted(self._months_and_years[0].get((year, month), ()))
        return tuple(self._legible.span(*span) for span in spans)

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
    def _elsewhere(self) -> dict[date, dict[Span, DateReading]]:
        """Days in forms that are tried only where the others do not help."""
        found: defaultdict[date, dict[Span, DateReading]] = defaultdict(dict)
        for day, start, end in week_days(self._text):
            self._add_to(found, day, start, end)
        for each in told_days(self._text, self._months):
            self._add_to(found, *each)
        months = months_elsewhere(self._language)
        for day, start, end, _, doubt in (
            named_days(self._text, months) if months.are_named(self._text) else ()
        ):
            self._add_to(found, day, start, end, doubt)
        return dict(found)

    def stamps(self, times: Sequence[Span]) -> Stamps:
        """Return which day each time of the text belongs to; made once.

        Args:
            times: Where a time stands, whichever.
        """
        if self._stamps is None:
            span = self._legible.span
            places = [
                each
                for days in (self._days, self._elsewhere)
                for readings in days.values()
                for each in readings
            ]
            places += (
                span(*match.span("whole"))
                for match in self._months_with_days
                if "\n" not in match["whole"]
            )
            self._stamps = Stamps(self._source, places, times)
        return self._stamps

    @cached_property
    def _decades(self) -> tuple[tuple[int, int, str], ...]:
        """First year, number of years and words of each decade or century, each once."""
        return tuple(dict.fromkeys(map(_decade, _DECADE.finditer(self._text))))

    @cached_property
    def _days_without_year(self) -> set[tuple[int, int]]:
        """Month and day of each that the text gives no year."""
        months = self._months
        return {
            (month, int(match["day"] or match["second"]))
            for match in self._months_with_days
            if (month := months.number(match["month"] or match["first"])) is not None
        }

    @cached_property
    def _months_with_days(self) -> list[re.Match[str]]:
        return [
            match
            for match in _DAY_AND_MONTH.finditer(self._text)
            if self._months.numbers(match["month"] or match["first"])
        ]

    @cached_property
    def mentions_relative(self) -> bool:
        """Whether the text has a date that counts from another one ("last Friday")."""
        return says_relative(self._text)

    def _add(self, year: int, match: re.Match[str]) -> None:
        """Add a day whose month and day are groups of `match`."""
        day = day_of(year, int(match["month"]), int(match["day"]))
        if day is not None:
            self._add_to(self._days, day, *match.span())

    def _add_to(
        self,
        days: defaultdict[date, dict[Span, DateReading]],
        day: date,
        start: int,
        end: int,
        doubt: str = "",
    ) -> None:
        span = self._legible.span(start, end)
        if span not in days[day]:
            days[day][span] = DateReading(start=span[0], end=span[1], doubt=doubt)

    def _file(self, found: Iterable[NamedDay]) -> None:
        for day, start, end, year, doubt in found:
            self._add_to(self._days, day, start, end, doubt)
            if year is not None:
                self._years[day.year].append(year)

    def _scan_eastern(self) -> None:
        for match in self._east_asian:
            if match["day"] is not None:
                self._add(int(match["year"]), match)
        for match in _ERA.finditer(self._text) if self._has_east_asian_years else ():
            year = 1 if match["year"] == "\u5143" else int(match["year"])
            self._add(_ERAS[match["era"]] + year, match)
        for match in _VIETNAMESE.finditer(self._text) if "\u00e1ng " in self._text else ():
            self._add(int(match["year"]), match)

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
            begin, stop = self._legible.span(start, end)
            if begin in starts or stop in ends:
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


def _decade(match: re.Match[str]) -> tuple[int, int, str]:
    """Return (first year, number of years, words) of "1990s", or of "1800s": a century."""
    low = int(match["digits"])
    return low, 100 if low % 100 == 0 else 10, match.group()
