"""Where a text says a string in another form: asked only for what it does not say as it is.

Neighbours: `source` asks here when `phrases` has found nothing. In this order: other punctuation
and names in the other order (`wording`), an amount by number and unit (`amounts`), a number, a
date or a time by its value, a number in words where that is asked for (`spelled`), and near
matches where those are (`near`). The first that finds a place is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Final, Protocol

from extractkit.grounding.align import Place, Places
from extractkit.grounding.amounts import Amount, amount_of, unit_beside
from extractkit.grounding.dates import DateIndex
from extractkit.grounding.fractions import FractionIndex
from extractkit.grounding.locales import Convention
from extractkit.grounding.moments import Miss
from extractkit.grounding.near import NearIndex
from extractkit.grounding.normalize import Folded, fold_phrase
from extractkit.grounding.numbers import NumberIndex, NumberReading
from extractkit.grounding.separators import GROUP_GAPS, to_ascii
from extractkit.grounding.spelled import SpelledIndex
from extractkit.grounding.wording import WordingIndex
from extractkit.grounding.worth import written_moment, written_month, written_numbers
from extractkit.results import Grounding

__all__ = ["Forms", "Readings"]

_NUMBER: Final = re.compile(rf"[-+\u2212]?\d[\d.,{GROUP_GAPS} ]*\Z")
_NOT_DIGIT: Final = re.compile(r"\D+")
_NUMBER_AND_REST: Final = re.compile(r"(?P<number>\d{1,6})\s+(?P<rest>\D+)\Z")
_LONGEST: Final = 60
_SHOWN: Final = 40


class Readings(Protocol):
    """What `source` has read of the text."""

    @property
    def folded(self) -> Folded:
        """The text, folded."""
        ...

    @property
    def numbers(self) -> NumberIndex:
        """Its numbers."""
        ...

    @property
    def dates(self) -> DateIndex:
        """Its dates."""
        ...

    def find_moment(self, moment: date | datetime | time, spelled: str) -> Sequence[Place] | Miss:
        """Return where the text states a day, a time, or both side by side."""
        ...


@dataclass(frozen=True, kw_only=True)
class Forms:
    """The other forms of one text.

    Attributes:
        text: The source.
        readings: What has been read of it.
        options: What may be tried.
        convention: How its language writes numbers and dates.
    """

    text: str
    readings: Readings
    options: Grounding
    convention: Convention

    def find(self, value: str) -> Places | Miss:
        """Return where the text says `value` in another form, or why it does not.

        Raises:
            UnsupportedError: If numbers in words are asked for and cannot be read.
        """
        spans = self._wording.find(value) or self._wording.find_turned(value)
        if spans:
            return _places(spans)
        by_value = self._by_value(value)
        if isinstance(by_value, Places):
            return by_value
        if self.options.spelled and (spans := sorted(set(self._in_words(value)))):
            return _places(spans)
        if self.options.fuzzy and (spans := self._near.find(value)):
            return self._nearly(value, spans)
        return by_value or Miss()

    def spelled(self, number: Decimal) -> Places | None:
        """Return where `number` stands as a fraction, or in words if that is asked for.

        Raises:
            UnsupportedError: If numbers in words cannot be read.
        """
        spans = self._fractions.find(number)
        if not spans and self.options.spelled:
            spans = self._spelled.find(number)
            doubtful = self._spelled.doubtful(number)
            if doubtful and not spans:
                return Places.of([Place(*each[:2], "normalised", *each[2:]) for each in doubtful])
        return _places(spans) if spans else None

    @cached_property
    def _wording(self) -> WordingIndex:
        return WordingIndex(self.text, self.readings.folded)

    @cached_property
    def _fractions(self) -> FractionIndex:
        return FractionIndex(self.text)

    @cached_property
    def _near(self) -> NearIndex:
        return NearIndex(self.text, self.readings.folded)

    @cached_property
    def _spelled(self) -> SpelledIndex:
        return SpelledIndex(self.text, self.options.locale)

    def _by_value(self, value: str) -> Places | Miss | None:
        """Return where the text states what a number, an amount, a date or a time is worth."""
        plain = value.strip()
        if len(plain) > _LONGEST or not any(map(str.isdecimal, plain)):
            return None
        if _NUMBER.match(plain):
            spans: Sequence[tuple[int, int]] = list(self._same_number(plain))
        else:
            amount = amount_of(plain)
            spans = list(self._same_amount(amount)) if amount else []
        if spans:
            return _places(spans)
        moment = written_moment(plain, self.convention)
        if moment is None:
            month = written_month(plain, self.convention.language)
            spans = self.readings.dates.months(*month) if month else ()
            return _places(spans) if spans else None
        found = self.readings.find_moment(moment, plain)
        return found if isinstance(found, Miss) else Places.of(found)

    def _same_number(self, plain: str) -> Iterator[tuple[int, int]]:
        """Yield where the same digits stand with other separators: 7838.80 and 7,838.80."""
        digits = to_ascii(_NOT_DIGIT.sub("", plain))
        for reading in self._numbers_like(plain):
            start, end = reading.start, reading.end
            while reading.unit and not self.text[end - 1].isdecimal():
                end -= 1  # without the unit, which the value does not have
            if to_ascii(_NOT_DIGIT.sub("", self.text[start:end])) == digits:
                yield start, end

    def _same_amount(self, amount: Amount) -> Iterator[tuple[int, int]]:
        """Yield where the same number stands with the same unit."""
        for reading in self._numbers_like(amount.number):
            span = unit_beside(self.text, reading.start, reading.end, amount.unit)
            if span is not None:
                yield span

    def _numbers_like(self, plain: str) -> Iterator[NumberReading]:
        """Yield the numbers of the text that are worth what `plain` is worth, without a doubt."""
        for number in written_numbers(plain, self.convention.decimal):
            for reading in self.readings.numbers.find(number):
                if not reading.doubt:
                    yield reading

    def _in_words(self, value: str) -> Iterator[tuple[int, int]]:
        """Yield where a number with what it counts stands in words: two years for 2 years."""
        match = _NUMBER_AND_REST.match(value.strip())
        if match is None:
            return
        rest = fold_phrase(match["rest"])
        number = Decimal(match["number"])
        spans = [
            *self._spelled.find(number),
            *(each[:2] for each in self._spelled.doubtful(number) if each.code == "unit_mismatch"),
        ]
        starts = {start for start, _ in spans}
        for words in dict.fromkeys(self.text[start:end] for start, end in spans):
            for span in self._wording.find(f"{words} {rest}"):
                if span[0] in starts:
                    yield span

    def _nearly(self, value: str, spans: Sequence[tuple[int, int]]) -> Places:
        shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
        doubt = f"only a near match of {shown!r} is there"
        return Places.of([Place(*span, "fuzzy", doubt, "near_match") for span in spans])


def _places(spans: Sequence[tuple[int, int]]) -> Places:
    return Places([span[0] for span in spans], [span[1] for span in spans], "normalised")
