"""Where a word begins and ends in a text.

Neighbours: `source` keeps matches only on such edges, `numbers` and `dates` ask about single
characters. This module never looks for anything.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from extractkit.grounding.normalize import IGNORABLE, joins_previous

__all__ = ["UNSPACED", "is_letter", "is_unspaced", "stands_alone"]

UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
"""Scripts without spaces between words, as the inside of a character class."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_IGNORABLE = re.compile(f"[{IGNORABLE}]")
_JOINER = "\u200d"
_BEYOND_ASCII = "\x80"
_MARKS = ".,'\u2019"  # may stand inside of a number


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is made of whole words and whole numbers.

    An edge between two letters or digits is inside of a word, except next to scripts that write
    without spaces. "480" does not stand alone in "3,480.50", nor "e" before a combining accent.
    """
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    if before < _BEYOND_ASCII and after < _BEYOND_ASCII:
        first, last = text[start], text[end - 1]
        if first < _BEYOND_ASCII and last < _BEYOND_ASCII:
            if before == " " == after:
                return True
            if (before.isalnum() and first.isalnum()) or (after.isalnum() and last.isalnum()):
                return False
            if before not in _MARKS and after not in _MARKS:
                return True
            return not (_inside_number(text, start - 1) or _inside_number(text, end))
    return _stands_alone(text, start, end)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return the same, next to characters of any script."""
    left, right = _skip_back(text, start), _skip(text, end)
    if end < len(text) and (joins_previous(text[end]) or text[end] in _JOINER + _SKIN_TONES):
        return False
    if start and text[start - 1] == _JOINER:
        return False
    if left >= 0 and _inside_word(text[left], text[start]):
        return False
    if right < len(text) and _inside_word(text[end - 1], text[right]):
        return False
    return not (_inside_number(text, start - 1) or _inside_number(text, end))


@lru_cache(maxsize=4096)
def is_unspaced(char: str) -> bool:
    """Return whether `char` belongs to a script that does not set words apart by spaces."""
    return _UNSPACED.match(char) is not None


def is_letter(char: str) -> bool:
    """Return whether `char` is a letter of a script that sets words apart by spaces."""
    return char.isalpha() and not is_unspaced(char)


_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


@lru_cache(maxsize=4096)
def _class(char: str) -> str:
    """Return "L" for letters and marks, "D" for digits, "N" for ½ and ², else ""."""
    if is_unspaced(char):
        return ""
    if char.isdecimal():
        return "D"
    if char.isalpha() or unicodedata.category(char)[0] == "M":
        return "L"
    return "N" if char.isalnum() else ""


def _inside_word(before: str, after: str) -> bool:
    left, right = _class(before), _class(after)
    # A raised digit after a letter is a note, after a digit it belongs to the number.
    return bool(left and right) and (left, right) != ("L", "N")


def _inside_number(text: str, at: int) -> bool:
    """Whether the separator at `at` has digits on both sides."""
    return (
        0 < at < len(text) - 1
        and text[at] in _MARKS
        and text[at - 1].isdecimal()
        and text[at + 1].isdecimal()
    )


def _skip(text: str, at: int) -> int:
    while at < len(text) and _IGNORABLE.match(text[at]):
        at += 1
    return at


def _skip_back(text: str, at: int) -> int:
    at -= 1
    while at >= 0 and _IGNORABLE.match(text[at]):
        at -= 1
    return at
