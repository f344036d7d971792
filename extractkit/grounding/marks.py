"""Which characters are signs of a number, and where one of them stands as such.

Neighbours: `surroundings` asks here for what it has found before digits. This module looks at what
stands before a sign.
"""

from __future__ import annotations

import re
from typing import Final

from extractkit.grounding.chains import ascends
from extractkit.grounding.words import is_unspaced

__all__ = ["DASHES", "PLUS", "TRUE_MINUS", "standing"]

TRUE_MINUS: Final = "\u2212\uff0d\ufe63\u207b\u2796\u25b2\u25b3\u25bc\u25bd"
"""Signs that a space may part from their digits."""
DASHES: Final = rf"\-\u2010-\u2013{TRUE_MINUS}"
"""Every minus sign and what may be one, as the inside of a character class."""
PLUS: Final = "+\uff0b"
"""Plus signs, which change nothing."""

_TRIANGLES: Final = "\u25b2\u25b3\u25bc\u25bd"
_MAY_BE_A_DASH: Final = "\u2012\u2013"
_MAY_JOIN: Final = "-\u2010\u2011\u2012\u2013"
_NOT_ALONE: Final = frozenset(")]}%-")
_DASH: Final = "the dash before the digits may be a minus sign or not"
_TRIANGLE: Final = "the triangle before the digits may be a minus sign or not"
_NO_SIGN_BEHIND: Final = frozenset(")]}%\uff09")
_WHOLE: Final = re.compile(r"(?<![\d.,])\d{1,9} \Z")
_DIGITS: Final = re.compile(r"\d{1,9}(?!\d|[.,]\d)")


def standing(text: str, at: int, start: int, *, is_paid: bool) -> str | None:
    """Return why a sign may be none, "" where it is one; None where it is none.

    Args:
        text: The source.
        at: Where the sign stands.
        start: Where the digits start.
        is_paid: A currency stands right before the sign.
    """
    if text[at] in _TRIANGLES:
        return _TRIANGLE
    if is_paid and at and text[at - 1].isalpha():  # EUR-9.00 is an amount, USD-48 may be a name
        return "" if re.match(r"\d+[.,]\d\d(?!\d)", text[start : start + 24]) else _DASH
    doubt = _DASH if text[at] in _MAY_BE_A_DASH else ""
    if at == 0:
        return doubt
    before, earlier = text[at - 1], text[at - 2 : at - 1] if at > 1 else ""
    if before.isalnum():
        return _DASH if is_unspaced(before) else None
    if before == text[at] == "-":  # two dashes are one, or an option of a command
        return None if earlier.isalnum() or earlier in _NOT_ALONE else _DASH
    if before in _NO_SIGN_BEHIND or before in _MAY_JOIN or before == "\u2212":
        return None
    if before in "._":  # dots and lines that lead to a number
        return doubt if earlier == before else None
    if before == "/":
        return None if earlier == "+" else _DASH
    return _DASH if _may_end_a_range(text, at, start) else doubt


def _may_end_a_range(text: str, at: int, start: int) -> bool:
    """Whether a dash may stand between two whole numbers, with one space before it: 5 -10."""
    low = _WHOLE.search(text, max(0, at - 12), at) if text[at] in _MAY_JOIN else None
    high = _DIGITS.match(text, start) if low else None
    return low is not None and high is not None and ascends(low.group()[:-1], high.group())
