"""What digits with separators may be worth.

Neighbours: `tokens` cuts them out of a text, `numbers` asks here. This module looks at nothing
around them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from extractkit.grounding.normalize import IGNORABLE

__all__ = [
    "ARABIC",
    "GROUP_GAPS",
    "digit_readings",
    "digits_of",
    "significant",
    "to_ascii",
    "zero_doubt",
]

GROUP_GAPS = "'\u2019\u00a0\u202f\u2009"
"""What may set thousands apart besides a point, a comma and a space."""

ARABIC = "\u066b\u066c"
"""Decimal mark and mark of thousands that need no reading."""

_SEPARATORS = str.maketrans("", "", f".,\uff0e\uff0c {GROUP_GAPS}{ARABIC}")
_PLAIN = str.maketrans({"\uff0e": ".", "\uff0c": ",", **dict.fromkeys(f" {GROUP_GAPS}")})
_INVISIBLE = re.compile(f"[{IGNORABLE}]+")
_WESTERN_GROUPS = re.compile(r"[1-9]\d{0,2}(?:S\d{3})+\Z")
_INDIAN_GROUPS = re.compile(r"[1-9]\d?(?:S\d{2})+S\d{3}\Z")


def digit_readings(digits: str, decimal: Literal[".", ","] | None) -> tuple[tuple[str, str], ...]:
    """Return (number in plain decimal form, doubt) for each way to read separators."""
    if digits.isdecimal():
        return ((digits, ""),)
    if not digits.isascii():
        digits = _INVISIBLE.sub("", digits)
        if digits.isdecimal():
            return ((digits, ""),)
        if any(mark in digits for mark in ARABIC):
            return _arabic(digits)
    plain = digits.translate(_PLAIN)
    grouped = len(plain) != len(digits)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return ((plain, ""),)
    if grouped:
        return ((plain.replace(",", "."), ""),)
    last = marks[-1]
    whole, _, fraction = plain.rpartition(last)
    if len(marks) == 1:
        return _one_mark(whole, fraction, last, decimal)
    if len(set(marks)) == 1:
        return ((plain.replace(last, ""), ""),) if _is_grouped(plain, last) else ()
    if marks.count(last) == 1 and _is_grouped(whole, marks[0]):
        return ((f"{whole.replace(marks[0], '')}.{fraction}", ""),)
    return ()


def _arabic(digits: str) -> tuple[tuple[str, str], ...]:
    """Return the one reading of digits with Arabic marks, whose meaning is fixed."""
    point, thousands = ARABIC[0], ARABIC[1]
    whole, mark, fraction = digits.partition(point)
    grouped = whole.isdecimal() or _is_grouped(whole, thousands)
    if not grouped or (mark and not fraction.isdecimal()):
        return ()
    plain = whole.replace(thousands, "")
    return ((f"{plain}.{fraction}" if mark else plain, ""),)


def _one_mark(
    whole: str, fraction: str, mark: str, decimal: Literal[".", ","] | None
) -> tuple[tuple[str, str], ...]:
    point = f"{whole}.{fraction}"
    if len(fraction) != 3 or len(whole) > 3 or whole.startswith("0"):
        return ((point, ""),)
    thousands = whole + fraction
    if decimal is not None:
        return ((point if mark == decimal else thousands, ""),)
    doubt = f"{whole}{mark}{fraction} may be {thousands} or {point}"
    # A comma before three digits nearly always sets thousands apart; a point does either.
    return (thousands, "" if mark == "," else doubt), (point, doubt)


def _is_grouped(whole: str, mark: str) -> bool:
    marked = whole.replace(mark, "S")
    if _WESTERN_GROUPS.match(marked):
        return True
    return mark == "," and _INDIAN_GROUPS.match(marked) is not None


def zero_doubt(number: str) -> str:
    """Return why a number in plain decimal form may be none; "" for no doubt."""
    whole = number.partition(".")[0]
    padded = len(whole) > 2 and whole.startswith("0")
    return "with leading zeros it may be an identifier" if padded else ""


def digits_of(written: str) -> str:
    """Return the significant digits of a decimal as `significant` gives those of a token."""
    if "E" in written:
        written = written[: written.index("E")]
    return written.lstrip("-").replace(".", "").strip("0")


def significant(token: str) -> str:
    """Return the digits of a token, without those zeros that a scale may add or take away."""
    if not token.isdecimal():
        token = token.translate(_SEPARATORS)
        if not token.isascii():
            token = _INVISIBLE.sub("", token)
    return (token if token.isascii() else to_ascii(token)).strip("0")


def to_ascii(token: str) -> str:
    """Return `token` with the digits of all scripts as 0 to 9."""
    if token.isascii():
        return token
    return "".join(str(unicodedata.decimal(char, char)) for char in token)
