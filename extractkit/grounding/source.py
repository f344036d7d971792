"""One text, read once, and asked for many values.

Neighbours: `phrases`, `numbers`, `dates` and `times` read the text, `forms` looks for strings that
these do not have, `align` chooses among the places found here. Each reading is made when the first
claim of its kind asks for it. This module never changes a value and never judges a document.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, cast

from extractkit.errors import UsageError
from extractkit.fields import Mark
from extractkit.grounding.align import Grade, Place, Places
from extractkit.grounding.dates import DateIndex
from extractkit.grounding.forms import Forms
from extractkit.grounding.glance import Glance, Seen
from extractkit.grounding.locales import convention
from extractkit.grounding.moments import Miss, find_date, find_datetime, find_time, moment_of
from extractkit.grounding.normalize import Folded, fold_phrase
from extractkit.grounding.numbers import NumberIndex, number_of
from extractkit.grounding.phrases import PhraseIndex
from extractkit.grounding.places import ClaimKind
from extractkit.grounding.quoted import is_quantity, quoted
from extractkit.grounding.readings import NumberReading
from extractkit.grounding.scales import power_of
from extractkit.grounding.shared import may_share
from extractkit.grounding.spelled import reader
from extractkit.grounding.times import TimeIndex
from extractkit.paths import JsonValue, Pointer, split
from extractkit.results import Grounding

__all__ = ["Answers", "ClaimKind", "ClaimRow", "Source"]

ClaimRow: TypeAlias = tuple[Pointer, JsonValue, ClaimKind, Mark | None]
"""Pointer, value, kind and mark of a claim."""

_EQUAL = (str, int)  # two of these that are equal read alike
_KINDS_OF_KEYS: tuple[ClaimKind, ...] = ("number", "date", "datetime", "time")

_new: Any = cast("Any", tuple).__new__  # the constructor of a named tuple takes twice as long
_NO_WORDS: frozenset[str] = frozenset()
_SHORT = 16_384  # a longer text has places without number, which nothing should hold
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PERCENT_WORDS = frozenset(("pct", "perc", "percent", "percentage", "prozent"))
_SHARE_WORDS = frozenset(
    ("rate", "ratio", "share", "proportion", "fraction", "margin", "growth", "yield", "probability")
)


class _InUnits(NamedTuple):
    """A number of which the text also says the unit, so that the field's name counts."""

    readings: tuple[NumberReading, ...]
    spelled: str


class Answers(NamedTuple):
    """What a text says of a set of claims.

    Attributes:
        places: Every place that states each value that is found, in the order of the claims; keys
            are left out. Of a value that stands in plain sight, what `Source.read` makes them of.
        read: Those of `places` that are read already.
        misses: What is not found, keys among them, and why.
        exempt: How many are not looked for.
    """

    places: dict[Pointer, Places | Seen]
    read: dict[Pointer, Places]
    misses: list[tuple[ClaimRow, Miss]]
    exempt: int


class Source:
    """A text with its readings.

    Args:
        text: What the user gave; all offsets count its characters.
        options: Language, reference date.

    Attributes:
        is_short: Whether it is so short that it may be held to be read later.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If numbers in words are asked for and cannot be read.
    """

    def __init__(self, text: str, options: Grounding) -> None:
        self._text = text
        if options.spelled:
            reader(options.locale)  # refuses before anything is looked for
        self._options = options
        self._convention = convention(options.locale)
        self._reference = _reference(options.reference_date)
        self._read: dict[Seen, Places | Miss | _InUnits] = {}
        self.is_short = len(text) <= _SHORT
        # Neither in a long text nor beyond ASCII is a glance enough.
        self._glance = Glance(text if self.is_short and text.isascii() else "")

    def find_all(self, rows: Iterable[ClaimRow]) -> Answers:
        """Return what the text says of each claim.

        A value that is not what its kind says is looked for as what it is. Each value is looked
        for once, but for numbers of which the text says the unit: there the last name of the
        pointer counts.
        """
        places: dict[Pointer, Places | Seen] = {}
        read: dict[Pointer, Places] = {}
        misses: list[tuple[ClaimRow, Miss]] = []
        exempt = 0
        known: defaultdict[ClaimKind, dict[object, Places | Miss | _InUnits | Seen]]
        known = defaultdict(dict)
        seen: list[Seen] = []
        glance = self._glance
        for row in rows:
            pointer, value, kind, _ = row
            key = value if value.__class__ in _EQUAL else _key(value)
            if key is None or kind == "exempt":
                exempt += 1
                continue
            same = known[kind]
            found = same.get(key)
            if found is None:
                found = same[key] = glance.see(value, kind) or self._find(value, kind)
            if isinstance(found, Seen):
                if kind != "key":
                    if not found.claims:
                        seen.append(found)
                    found.claims += 1
                    places[pointer] = found
            elif isinstance(found, Miss):
                misses.append((row, found))
            elif kind != "key":
                places[pointer] = read[pointer] = self._of(found, pointer)
        crowded = may_share(places, read, seen, glance)
        if crowded:
            read = self._read_some(places, crowded)
        return Answers(places=places, read=read, misses=misses, exempt=exempt)

    def _read_some(
        self, places: dict[Pointer, Places | Seen], wanted: Collection[Seen]
    ) -> dict[Pointer, Places]:
        """Put all places of each of `wanted` into `places`; return what is read there now."""
        for pointer, each in places.items():
            if isinstance(each, Seen) and each in wanted:
                places[pointer] = self.read(pointer, each)
        return {at: each for at, each in places.items() if isinstance(each, Places)}

    def read(self, pointer: Pointer, seen: Seen) -> Places:
        """Return every place of a value of which one has been seen, for the claim at `pointer`."""
        found = self._read.get(seen)
        if found is None:
            found = self._read[seen] = self._find(seen.value, seen.kind)
        if isinstance(found, Miss):
            return Places([self._text.find(seen.spelled)], len(seen.spelled), "exact")
        return self._of(found, pointer)

    def _of(self, found: Places | _InUnits, pointer: Pointer) -> Places:
        """Return the places for one claim: of a number with a unit, its field's name counts."""
        if isinstance(found, Places):
            return found
        return self._number_places(*found, _words(pointer))

    def _find(self, value: JsonValue, kind: ClaimKind) -> Places | Miss | _InUnits:
        if kind == "text" and isinstance(value, str):
            return self._find_text(value)
        if kind == "number" or not isinstance(value, str):
            number = number_of(value)
            if number is not None:
                return self._find_number(number)
        if kind == "key" and isinstance(value, str):
            return self._find_key(value)
        if isinstance(value, bool):
            return Miss(reason="cannot be looked up: true and false are never stated word for word")
        if not isinstance(value, str):
            return Miss(reason="is no finite number, so that no source can state it")
        if kind in ("date", "datetime", "time"):
            moment = moment_of(value, kind)
            if moment is not None:
                found = self.find_moment(moment, value)
                return found if isinstance(found, Miss) else Places.of(found)
        return self._find_text(value)

    def _find_key(self, key: str) -> Places | Miss | _InUnits:
        """Look for a key of a map as text, and then as what it may spell."""
        found: Places | Miss | _InUnits = self._find_text(key)
        for kind in _KINDS_OF_KEYS:
            if not isinstance(found, Miss):
                break
            other = self._find(key, kind)
            found = found if isinstance(other, Miss) else other
        return found

    @cached_property
    def _forms(self) -> Forms:
        return Forms(
            text=self._text, readings=self, options=self._options, convention=self._convention
        )

    @property
    def folded(self) -> Folded:
        """The text, folded."""
        return self._phrases.folded

    def count_folded(self, phrase: str) -> int:
        """Return at how many places `phrase` stands after folding."""
        needle = fold_phrase(phrase)
        return len(self._phrases.find(needle)) if needle else 0

    @cached_property
    def _phrases(self) -> PhraseIndex:
        return PhraseIndex(self._text)

    @cached_property
    def _without_references(self) -> PhraseIndex:
        return PhraseIndex(self._text, skip_references=True)

    @property
    def numbers(self) -> NumberIndex:
        """Its numbers."""
        return self._numbers

    @property
    def dates(self) -> DateIndex:
        """Its dates."""
        return self._dates

    @property
    def times(self) -> TimeIndex:
        """Its times of day."""
        return self._times

    @cached_property
    def _numbers(self) -> NumberIndex:
        return NumberIndex(self._text, decimal=self._convention.decimal)

    @cached_property
    def _dates(self) -> DateIndex:
        own = self._convention
        return DateIndex(
            self._text, order=own.order, reference=self._reference, language=own.language
        )

    @cached_property
    def _times(self) -> TimeIndex:
        return TimeIndex(self._text)

    def _find_text(self, value: str) -> Places | Miss | _InUnits:
        wanted = value.strip()
        as_is = self._phrases.find_as_is(wanted) if wanted else None
        if as_is is not None:
            found: Places | Miss = Places(as_is, len(wanted), "exact")
        else:
            found = self._find_words(value)
        if isinstance(found, Miss) or found.best is not None or not is_quantity(wanted):
            return found
        readings = tuple(quoted(self._text, zip(found.starts, found.ends, strict=True)))
        if any(reading.unit for reading in readings):
            return _InUnits(readings, wanted)
        if all(not reading.doubt for reading in readings) and len(readings) == found.count:
            return found
        return self._number_places(readings, wanted, _NO_WORDS) if readings else Miss()

    def _find_words(self, value: str) -> Places | Miss:
        needle = fold_phrase(value)
        if not needle:
            return Miss(code="empty_string", reason="is empty, which states nothing; use null")
        return self._text_places(value, needle) or self._forms.find(value)

    def _text_places(self, value: str, needle: str) -> Places | None:
        """Return where `value` stands: as it is, else folded, else folded between references."""
        found = self._phrases.find(needle)
        wanted = value.strip()
        exact = [span for span in found if self._text[span[0] : span[1]] == wanted]
        if not found and wanted[:1].isdecimal():
            exact = self._numbers.spelled(wanted)
        if not (found or exact or self._phrases.is_plain) and (
            "[" not in value and self._phrases.has_words(needle)
        ):
            found = self._without_references.find(needle)
        spans = exact or found
        if not spans:
            return None
        starts, ends = [span[0] for span in spans], [span[1] for span in spans]
        return Places(starts, ends, "exact" if exact else "normalised")

    def _find_number(self, number: Decimal) -> Places | Miss | _InUnits:
        spelled = str(number)
        alike = self._numbers.find_alike(number, spelled)
        if alike is not None:
            return _places_of(*alike, spelled)
        readings = self._numbers.find(number)
        if readings:
            if any(reading.unit for reading in readings):
                return _InUnits(readings, spelled)
            return self._number_places(readings, spelled, _NO_WORDS)
        if 1000 <= number <= 9999 and number == int(number):
            part = "the number is part of a date"
            years = self._dates.years(int(number))
            if years:
                return Places.of(
                    [Place(*year, "exact", part, "ambiguous_number") for year in years]
                )
        return self._forms.spelled(number) or Miss()

    def _number_places(
        self, readings: Sequence[NumberReading], spelled: str, words: frozenset[str]
    ) -> Places:
        text = self._text
        found: list[Place] = []
        for _, start, end, unit, own in readings:
            mismatch = _unit_mismatch(unit, words) if unit else ""
            doubt = mismatch or own
            code = "unit_mismatch" if mismatch else "ambiguous_number" if doubt else ""
            grade = "exact" if text[start:end] == spelled else "normalised"
            found.append(_new(Place, (start, end, grade, doubt, code)))
        return Places.of(found)

    def find_moment(self, moment: date | datetime | time, spelled: str) -> Sequence[Place] | Miss:
        """Return where the text states a day, a time, or both side by side, or why it does not.

        Args:
            moment: What is looked for.
            spelled: How the answer writes it.
        """
        if isinstance(moment, datetime):
            return find_datetime(self._text, self._dates, self._times, moment, spelled)
        if isinstance(moment, date):
            return find_date(self._text, self._dates, moment, spelled)
        return find_time(self._text, self._times, moment, spelled)


def _key(value: JsonValue) -> object:
    """Return what is equal for values that read alike; None for what states nothing.

    1, 1.0 and True are equal, and so are 0.0 and -0.0, which read differently.
    """
    if value is None or isinstance(value, list | dict):
        return None
    return value if value.__class__ in _EQUAL else (value.__class__, repr(value))


def _places_of(
    alike: Sequence[tuple[str, list[int]]], beside: Sequence[tuple[int, int]], spelled: str
) -> Places:
    """Return the places of tokens, all of which are worth what is `spelled`."""
    if len(alike) == 1:
        token, starts = alike[0]
        return Places(starts, len(token), _grade(token, spelled), beside=beside)
    found: list[Place] = []
    for token, starts in alike:
        grade, length = _grade(token, spelled), len(token)
        found += [_new(Place, (start, start + length, grade, "", "")) for start in starts]
    places = Places.of(sorted(found), beside=beside)
    length = len(spelled)
    unlike = [abs(place[1] - place[0] - length) for place in places.best or ()]
    places.preferred = unlike.index(min(unlike))
    return places


def _grade(written: str, spelled: str) -> Grade:
    return "exact" if written == spelled else "normalised"


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
        word = unit.lower().removesuffix("s").removesuffix(".")
        power = power_of(word)
        fits = word in words or (power is not None and power in map(power_of, words))
    return "" if fits else f"the source counts in {unit!r}, which the field's name does not say"
