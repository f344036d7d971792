"""Where a word begins and ends in a text.

Neighbours: `source` keeps matches only on such edges, `numbers` and `dates` ask about single
characters. This module never looks for anything.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from extractkit.grounding.normalize import IGNORABLE, joins_previous
from extractkit.grounding.rows import parts_numbers

__all__ = [
    "UNSPACED", "is_exponent", "is_letter", "is_point", "is_unspaced", "skip_invisible",
    "stands_alone",
]  # fmt: skip

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
_MARKS = ".,'\u2019^\u066b\u066c\u00b7\u2044"  # may stand inside of a number
_AFTER = _MARKS + "#+-"
_BEFORE = _MARKS + "+-"
_MINUS = "-\u2212"
# Grades and types of blood, which a minus sign makes another of.
_GRADE = re.compile(r"(?<![^\W_])(?<![-\u2010-\u2013])(?:[A-FO]|AB)\Z")
_PLUS_NAME = re.compile(r"\+\+?(?![^\W_])")
_MOST_FLAGS = 400  # even; of a longer row of flags nobody means one
_FLAG_LETTER = re.compile("[\U0001f1e6-\U0001f1ff]")


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is made of whole words and whole numbers.

    An edge between two letters or digits is inside of a word, except next to scripts that write
    without spaces. "480" does not stand alone in "3,480.50", nor "e" before a combining accent,
    "C" in "C#", "Notepad" in "Notepad++", or a flag that is made of the halves of two.
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
            if before not in _BEFORE and after not in _AFTER:
                return True
            return not _goes_on(text, start, end)
    return _stands_alone(text, start, end)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return the same, next to characters of any script."""
    left, right = _skip_back(text, start), skip_invisible(text, end)
    if end < len(text) and (joins_previous(text[end]) or text[end] in _JOINER + _SKIN_TONES):
        return False
    if start and text[start - 1] == _JOINER:
        return False
    if left >= 0 and _inside_word(text[left], text[start]):
        return False
    if right < len(text) and _inside_word(text[end - 1], text[right]):
        return False
    if _inside_flag(text, start) or _inside_flag(text, end):
        return False
    return not _goes_on(text, start, end)


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


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether marks around a place make it a part of a number or of a name."""
    return (
        _inside_number(text, start - 1)
        or _inside_number(text, end)
        or _inside_name(text, end)
        or is_exponent(text, start - 1)
        or is_exponent(text, end)
        or (text[start].isdecimal() and is_point(text, start - 1))
    )


def is_exponent(text: str, at: int) -> bool:
    """Return whether the sign at `at` is one of an exponent, as in 6.02E+23."""
    return (
        1 < at < len(text) - 1
        and text[at] in "+-\u2212"
        and text[at - 1] in "eE"
        and text[at - 2].isdecimal()
        and text[at + 1 : at + 2].isdecimal()
    )


def is_point(text: str, at: int) -> bool:
    """Return whether a point at `at` begins a number, as in ".5": not after a letter or a point."""
    if at < 0 or text[at] != ".":
        return False
    earlier = text[at - 1] if at else " "
    return not (earlier.isalnum() or earlier == ".")


def _inside_number(text: str, at: int) -> bool:
    """Whether the separator at `at` has digits on both sides."""
    return (
        0 < at < len(text) - 1
        and text[at] in _MARKS
        and text[at - 1].isdecimal()
        and text[at + 1].isdecimal()
        and not (text[at] == "," and parts_numbers(text, at))
    )


def _inside_name(text: str, at: int) -> bool:
    """Whether a sign at `at` ends a name that begins before it: C#, C++, A+, A-, Notepad++."""
    mark = text[at : at + 1]
    if mark and mark in _MINUS:
        alone = not text[at + 1 : at + 2].isalnum()
        return alone and _GRADE.search(text, max(0, at - 4), at) is not None
    if not mark or mark not in "#+":
        return False
    letter = at - 1
    if mark == "+" and letter > 0 and text[letter] == "+":
        letter -= 1  # the second plus sign
        return text[letter].isalpha() and not text[at + 1 : at + 2].isalnum()
    if not text[letter].isalpha():
        return False
    alone = letter == 0 or not text[letter - 1].isalnum()
    if mark == "#":
        return alone and not text[at + 1 : at + 2].isalnum()
    match = _PLUS_NAME.match(text, at)
    return match is not None and (alone or match.end() - at == 2)


def _inside_flag(text: str, at: int) -> bool:
    """Whether a place lies between the two letters that make one flag."""
    if not (0 < at < len(text) and _FLAG_LETTER.match(text[at])):
        return False
    before, least = at, max(0, at - _MOST_FLAGS)
    while before > least and _FLAG_LETTER.match(text[before - 1]):
        before -= 1
    return (at - before) % 2 == 1


def skip_invisible(text: str, at: int) -> int:
    """Return the first offset from `at` on whose character has a width, or the text's length."""
    while at < len(text) and _IGNORABLE.match(text[at]):
        at += 1
    return at


def _skip_back(text: str, at: int) -> int:
    at -= 1
    while at >= 0 and _IGNORABLE.match(text[at]):
        at -= 1
    return at
