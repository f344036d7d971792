"""What a short text states beyond doubt, seen without reading all of it.

Neighbours: `source` asks here before it reads; `scales` knows the words that change a number.
Most values of an answer stand somewhere between two spaces as they are. Then it is settled that
they are found, and where else they stand can wait until somebody looks. What is not seen here may
still be there.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cached_property
from typing import Final

from extractkit.grounding.places import ClaimKind
from extractkit.grounding.quoted import is_quantity
from extractkit.grounding.scales import CHANGING_WORDS, is_changed, is_parted
from extractkit.paths import JsonValue

__all__ = ["Glance", "Seen"]

# Digits that can be read in one way only: without leading zeros, and with no mark that may set
# thousands apart.
_ONE_READING: Final = re.compile(r"(?:[1-9]\d*|0)(?:\.\d\d?)?\Z", re.ASCII)
_LARGEST: Final = 10**15
_FIRST_YEAR: Final = 1000  # of four digits
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_AS_TEXT: Final = ("text", "key")
_STOPS: Final = (",", ".", ":", ";")
_ENDS: Final = (" ", *[f"{stop} " for stop in _STOPS])
_BREAKS: Final = ("\n", "\r", "\t")
_APART: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
# What stands beside a number in a line that may make another number of it: a sign or a bracket by
# itself, before a currency, or at the end of a word.
_BESIDE: Final = {
    "-": (" -", "- "), "(": (" (", "( "), ")": (" )",), "+": (" +", "+ "), "%": (" %",),
    "^": (" ^",),
}  # fmt: skip
# Names that mean one month in all languages that are read, and are no other words.
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


class Seen:
    """A value that stands somewhere in the text without a doubt.

    Attributes:
        value: As the answer has it.
        kind: What it is looked for as.
        spelled: As the text has it.
        mark: The same for two values only if both may have the same place: where a string or a day
            stands, and the digits of a number.
        claims: How many claims have it.
    """

    __slots__ = ("claims", "kind", "mark", "spelled", "value")

    def __init__(self, value: JsonValue, kind: ClaimKind, spelled: str, mark: int | str) -> None:
        self.value = value
        self.kind: ClaimKind = kind
        self.spelled = spelled
        self.mark = mark
        self.claims = 0


class Glance:
    """A text in which values can be seen.

    Args:
        text: The source, in ASCII.
    """

    def __init__(self, text: str) -> None:
        padded = f" {text} "
        for line_break in _BREAKS:
            padded = padded.replace(line_break, " ")
        self._text, self._padded = text, padded

    def see(self, value: JsonValue, kind: ClaimKind) -> Seen | None:
        """Return a value with a place in plain sight; None where it has none.

        Args:
            value: A leaf of an answer.
            kind: What it is looked for as.
        """
        if not isinstance(value, str):
            is_plain = isinstance(value, int | float) and 0 <= value < _LARGEST
            return self._see_number(value, kind, repr(value)) if is_plain else None
        if kind == "number":
            return self._see_number(value, kind, value)
        if kind in _AS_TEXT:
            # A number or an amount may be less than what its place says: 48 of -48, $48 of $48m.
            if not value[:4].isalpha() and is_quantity(value):
                return self._see_number(value, kind, value)
            is_whole = value.strip() == value != ""
            return self._see_phrase(value, kind, value) if is_whole else None
        return self._see_day(value) if kind == "date" else None

    def _see_number(self, value: str | float, kind: ClaimKind, spelled: str) -> Seen | None:
        if not _ONE_READING.match(spelled):
            return None
        words = self._plain[1]
        if spelled in words or any(f"{spelled}{stop}" in words for stop in _STOPS):
            return Seen(value, kind, spelled, spelled)
        if isinstance(value, float) and (cents := f"{value:.2f}") in words:
            return Seen(value, kind, cents, cents)
        return None

    def _see_phrase(self, value: str, kind: ClaimKind, spelled: str) -> Seen | None:
        """Return a value that stands between spaces, or with a stop behind it."""
        for end in _ENDS:
            at = self._padded.find(f" {spelled}{end}")
            if at >= 0:
                return Seen(value, kind, spelled, at)
        return None

    def _see_day(self, value: str) -> Seen | None:
        """Return an ISO date that stands as it is, or with the name of its month."""
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return None
        if day.isoformat() != value or day.year < _FIRST_YEAR:
            return None
        name = _MONTHS[day.month - 1]
        return (
            self._see_phrase(value, "date", value)
            or self._see_phrase(value, "date", f"{day.day} {name} {day.year}")
            or self._see_phrase(value, "date", f"{name} {day.day}, {day.year}")
        )

    def has_as_many(self, seen: Seen) -> bool:
        """Return whether a value stands in plain sight as often as it is claimed."""
        spelled, wanted = seen.spelled, seen.claims
        if isinstance(seen.mark, int):
            return self._padded.count(f" {spelled} ") >= wanted
        found = self._words.count(spelled)
        if found < wanted:
            found += sum(self._words.count(f"{spelled}{stop}") for stop in _STOPS)
        return found >= wanted

    def marks_at(self, start: int) -> tuple[int | str, ...]:
        """Return the marks that a value which stands there shares with what is seen there."""
        word = _NUMBER.match(self._text, start)
        return (start, word.group()) if word else (start,)

    @property
    def _words(self) -> list[str]:
        """The words of the lines where a number is what it seems to be."""
        return self._plain[0]

    @cached_property
    def _plain(self) -> tuple[list[str], set[str]]:
        """These words, and each of them once."""
        plain = self._text.replace("\t", " ")
        if _has_sign(self._padded) or is_changed(plain):
            lines = plain.split("\n")
            plain = "\n".join([x for x in lines if not (_has_sign(f" {x} ") or is_changed(x))])
        words = plain.split()
        different = set(words)
        parts = " ".join(different).lower().translate(_APART).split()
        if is_parted(self._text) or not CHANGING_WORDS.isdisjoint(parts):
            return [], set()
        return words, different


def _has_sign(padded: str) -> bool:
    return any(
        mark in padded and any(each in padded for each in beside)
        for mark, beside in _BESIDE.items()
    )
