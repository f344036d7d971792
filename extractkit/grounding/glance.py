"""What a short text states beyond doubt, seen without reading all of it.

Neighbours: `source` asks here before it reads; `scales` knows the words that change a number.
Most values of an answer stand somewhere between two spaces as they are. Then it is settled that
they are found, and where else they stand can wait until somebody looks. What is not seen here may
still be there.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from extractkit.grounding.places import ClaimKind
from extractkit.grounding.quoted import is_quantity
from extractkit.grounding.scales import CHANGED, CHANGING_WORDS, is_parted
from extractkit.paths import JsonValue

__all__ = ["Glance", "Seen"]

# Digits that can be read in one way only: without leading zeros, and with no mark that may set
# thousands apart.
_ONE_READING: Final = re.compile(r"(?:[1-9]\d*|0)(?:\.\d\d?)?\Z", re.ASCII)
_LARGEST: Final = 10**15
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_AS_TEXT: Final = ("text", "key")
_STOPS: Final = (".", ",", ";", ":")
_BREAKS: Final = ("\n", "\r", "\t")
_APART: Final = {code: " " for code in range(128) if not chr(code).isalnum()}
_AS_ZEROS: Final = dict.fromkeys(range(ord("0"), ord("9") + 1), "0")


# What stands beside a number in a line that may make another number of it: a sign or a bracket by
# itself, before a currency, or at the end of a word.
_BESIDE: Final = (" -", "- ", " (", "( ", " )", " +", "+ ", " %", " ^")


def _has_sign(line: str) -> bool:
    return any(each in line for each in _BESIDE)


class Seen:
    """A value that stands somewhere in the text without a doubt.

    Attributes:
        value: As the answer has it.
        kind: What it is looked for as.
        mark: The same for two values only if both may have the same place: where a string stands,
            and the digits of a number.
    """

    __slots__ = ("kind", "mark", "value")

    def __init__(self, value: JsonValue, kind: ClaimKind, mark: int | str) -> None:
        self.value = value
        self.kind: ClaimKind = kind
        self.mark = mark

    @property
    def spelled(self) -> str:
        """The value as the text has it."""
        return self.mark if isinstance(self.mark, str) else str(self.value)


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

    def see(self, value: str | float, kind: ClaimKind) -> Seen | None:
        """Return a value with a place in plain sight; None where it has none.

        Args:
            value: No bool.
            kind: What it is looked for as.
        """
        if not isinstance(value, str):
            spelled = repr(value) if 0 <= value < _LARGEST else ""
        elif kind in _AS_TEXT:
            spelled = value
            # A number or an amount may be less than what its place says: 48 of -48, $48 of $48m.
            if value[:4].isalpha() or not is_quantity(value):
                at = self._padded.find(f" {value} ")
                if at < 0:
                    at = self._before_stop(value)
                return (
                    Seen(value, kind, at) if at >= 0 and value and value.strip() == value else None
                )
        else:
            spelled = value if kind == "number" else ""
        if not _ONE_READING.match(spelled):
            return None
        words = self._different_words
        if spelled in words or any(f"{spelled}{stop}" in words for stop in _STOPS):
            return Seen(value, kind, spelled)
        if isinstance(value, float) and (cents := f"{value:.2f}") in words:
            return Seen(value, kind, cents)
        return None

    def has_as_many(self, seen: Seen, wanted: int) -> bool:
        """Return whether a value stands in plain sight at as many places."""
        spelled = seen.spelled
        if seen.mark is not spelled:
            return self._padded.count(f" {spelled} ") >= wanted
        found = self._words.count(spelled)
        if found < wanted:
            found += sum(self._words.count(f"{spelled}{stop}") for stop in _STOPS)
        return found >= wanted

    def marks_at(self, start: int) -> tuple[int | str, ...]:
        """Return the marks that a value which stands there shares with what is seen there."""
        word = _NUMBER.match(self._text, start)
        return (start, word.group()) if word else (start,)

    @cached_property
    def _words(self) -> list[str]:
        """The words of the lines where a number is what it seems to be."""
        lines = self._text.replace("\t", " ").split("\n")
        if any(each in self._padded for each in _BESIDE):
            lines = [line for line in lines if not _has_sign(f" {line} ")]
        plain = "\n".join(lines)
        if CHANGED.search(plain):
            plain = "\n".join(line for line in lines if not CHANGED.search(line))
        is_changed = not CHANGING_WORDS.isdisjoint(plain.lower().translate(_APART).split())
        if is_changed or is_parted(self._text) or "0 000" in plain.translate(_AS_ZEROS):
            return []
        return plain.split()

    @cached_property
    def _different_words(self) -> frozenset[str]:
        return frozenset(self._words)

    def _before_stop(self, phrase: str) -> int:
        """Return where a phrase stands with a stop behind it; -1 where it does not."""
        return max([self._padded.find(f" {phrase}{stop} ") for stop in _STOPS]) if phrase else -1
