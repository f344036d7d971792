"""One text, read once, and asked for many values.

Neighbours: `phrases`, `numbers`, `dates` and `times` read the text, `align` chooses among the
places found here. Each reading is made when the first claim of its kind asks for it. This module
never changes a value and never judges a document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Literal, TypeAlias

from extractkit.errors import UnsupportedError, UsageError
from extractkit.grounding.align import Place
from extractkit.grounding.dates import DateIndex
from extractkit.grounding.locales import convention
from extractkit.grounding.moments import Miss, find_date, find_datetime, find_time, moment_of
from extractkit.grounding.normalize import fold
from extractkit.grounding.numbers import NumberIndex, NumberReading, number_of
from extractkit.grounding.phrases import PhraseIndex
from extractkit.grounding.times import TimeIndex
from extractkit.paths import JsonValue, Pointer, split
from extractkit.results import Grounding

__all__ = ["ClaimKind", "Source"]

ClaimKind: TypeAlias = Literal["text", "number", "date", "datetime", "time", "key", "exempt"]

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PERCENT_WORDS = frozenset(("pct", "perc", "percent", "percentage", "prozent"))
_SHARE_WORDS = frozenset(
    ("rate", "ratio", "share", "proportion", "fraction", "margin", "growth", "yield", "probability")
)


class Source:
    """A text with its readings.

    Args:
        text: What the user gave; all offsets count its characters.
        options: Language, reference date.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If fuzzy matches are asked for.
    """

    def __init__(self, text: str, options: Grounding) -> None:
        if options.fuzzy:
            raise UnsupportedError(
                "Grounding(fuzzy=True): near matches are not supported by this version; leave it "
                "out: values are found after normalisation"
            )
        self._text = text
        self._convention = convention(options.locale)
        self._reference = _reference(options.reference_date)
        self._texts: dict[str, list[Place]] = {}

    def find_key(self, key: str) -> Sequence[Place] | Miss:
        """Return every place that states the key of a map, as text or as what it spells."""
        found = self._find_text(key)
        kinds: tuple[ClaimKind, ...] = ("number", "date", "datetime", "time")
        for kind in kinds:
            if not isinstance(found, Miss):
                break
            other = self.find("", key, kind)
            found = found if isinstance(other, Miss) else other
        return found

    def find(self, pointer: Pointer, value: JsonValue, kind: ClaimKind) -> Sequence[Place] | Miss:
        """Return every place that states `value`, in the order of the text, or why there is none.

        A value that is not what `kind` says is looked for as what it is.

        Args:
            pointer: Where the value stands in the answer; its last name may tell the unit.
            value: A JSON scalar other than null.
            kind: What the value is meant to be.
        """
        if isinstance(value, bool):
            return Miss(reason="cannot be looked up: true and false are never stated word for word")
        if not isinstance(value, str) or kind == "number":
            number = number_of(value)
            if number is not None:
                return self._find_number(number, _words(pointer))
        if not isinstance(value, str):
            return Miss(reason="is no finite number, so that no source can state it")
        if kind in ("date", "datetime", "time"):
            moment = moment_of(value, kind)
            if moment is not None:
                return self._find_moment(moment, value)
        return self._find_text(value)

    @cached_property
    def _phrases(self) -> PhraseIndex:
        return PhraseIndex(self._text)

    @cached_property
    def _without_references(self) -> PhraseIndex:
        return PhraseIndex(self._text, skip_references=True)

    @cached_property
    def _numbers(self) -> NumberIndex:
        return NumberIndex(self._text, decimal=self._convention.decimal)

    @cached_property
    def _dates(self) -> DateIndex:
        return DateIndex(self._text, order=self._convention.order, reference=self._reference)

    @cached_property
    def _times(self) -> TimeIndex:
        return TimeIndex(self._text)

    def _find_text(self, value: str) -> Sequence[Place] | Miss:
        needle = fold(value).text.strip(" ")
        if not needle:
            return Miss(code="empty_string", reason="is empty, which states nothing; use null")
        if value not in self._texts:
            self._texts[value] = self._text_places(value, needle)
        return self._texts[value] or Miss()

    def _text_places(self, value: str, needle: str) -> list[Place]:
        """Return where `value` stands: as it is, else folded, else folded between references."""
        found = self._phrases.find(needle)
        wanted = value.strip()
        exact = [span for span in found if self._text[slice(*span)] == wanted]
        if not found and wanted[:1].isdecimal():
            exact = self._numbers.spelled(wanted)
        if not (found or exact or "[" in value) and self._phrases.has_words(needle):
            found = self._without_references.find(needle)
        if exact:
            return [Place(start=start, end=end, grade="exact") for start, end in exact]
        return [Place(start=start, end=end, grade="normalised") for start, end in found]

    def _find_number(self, number: Decimal, words: frozenset[str]) -> Sequence[Place] | Miss:
        readings = self._numbers.find(number)
        if readings:
            spelled = str(number)
            return [self._number_place(reading, spelled, words) for reading in readings]
        if 1000 <= number <= 9999 and number == int(number):
            part = "the number is part of a date"
            years = self._dates.years(int(number))
            found = [
                Place(start=start, end=end, grade="exact", doubt=part, code="ambiguous_number")
                for start, end in years
            ]
            if found:
                return found
        return Miss()

    def _number_place(self, reading: NumberReading, spelled: str, words: frozenset[str]) -> Place:
        mismatch = _unit_mismatch(reading.unit, words)
        doubt, code = (
            (mismatch, "unit_mismatch") if mismatch else (reading.doubt, "ambiguous_number")
        )
        return Place(
            start=reading.start,
            end=reading.end,
            grade="exact" if self._text[reading.start : reading.end] == spelled else "normalised",
            doubt=doubt,
            code=code if doubt else "",
        )

    def _find_moment(self, moment: date | datetime | time, spelled: str) -> Sequence[Place] | Miss:
        if isinstance(moment, datetime):
            return find_datetime(self._text, self._dates, self._times, moment, spelled)
        if isinstance(moment, date):
            return find_date(self._text, self._dates, moment, spelled)
        return find_time(self._text, self._times, moment, spelled)


def _reference(written: str | None) -> date | None:
    if written is None:
        return None
    try:
        return date.fromisoformat(written)
    except ValueError as exc:
        raise UsageError(
            f"Grounding(reference_date={written!r}): expected an ISO date such as '2026-03-06'"
        ) from exc


def _words(pointer: Pointer) -> frozenset[str]:
    """Return the words of the last name in `pointer` in the singular, list positions left out."""
    names = [token for token in split(pointer) if not token.isdecimal()]
    words = _WORD.findall(names[-1]) if names else []
    return frozenset(word.lower().removesuffix("s") for word in words)


def _unit_mismatch(unit: str, words: frozenset[str]) -> str:
    """Return in what way a number with `unit` may not be what the field asks for; "" if it is."""
    if not unit:
        return ""
    if unit.startswith("1/"):
        counts = not words.isdisjoint(_PERCENT_WORDS)
        return f"the source counts in {unit[2:]} and so does the field's name" if counts else ""
    if unit in ("%", "\u2030"):
        fits = not words.isdisjoint(_PERCENT_WORDS | _SHARE_WORDS)
    else:
        fits = unit.lower().removesuffix("s") in words
    return "" if fits else f"the source counts in {unit!r}, which the field's name does not say"
