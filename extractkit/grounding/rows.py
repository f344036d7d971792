"""Digits that commas join: one number, or several in a row of a table.

Neighbours: `separators` says what digits with separators may be worth, `tokens` files the parts
that are found here, `words` asks which comma is an edge. A row is told by what stands beside it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from extractkit.grounding.scales import CURRENCY, GAPS, SYMBOLS, is_paid
from extractkit.grounding.separators import digit_readings, to_ascii

__all__ = ["Part", "is_comma_list", "may_be_pair", "parts_numbers", "parts_of", "stands_in_row"]

_COMMAS: Final = ",\uff0c"
_PIECE: Final = re.compile(rf"[^{_COMMAS}]+")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?\Z", re.ASCII)
_GROUP: Final = re.compile(r"[1-9]\d{0,2}\Z", re.ASCII)
_NEXT_GROUP: Final = re.compile(r"\d{3}(?:\.\d+)?\Z", re.ASCII)
_GROUPED: Final = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+\Z", re.ASCII)
_CENTS: Final = re.compile(r"\d{1,2}\Z", re.ASCII)
_PRICE: Final = re.compile(r"\d+,\d\d\Z", re.ASCII)
_BACK: Final = re.compile(r"[\d.,]*\Z")
_AHEAD: Final = re.compile(r"[\d.,]*")
_REACH: Final = 40
_COUNTED: Final = re.compile(rf"[{GAPS}]?(?:{CURRENCY}(?![^\W_])|[{SYMBOLS}%])", re.IGNORECASE)


class Part(NamedTuple):
    """A number between commas.

    Attributes:
        digits: As it is written.
        start: Where it starts in the whole.
        end: Where it ends.
        is_apart: Whether no comma beside it may belong to it.
        has_point: Whether a decimal point among the parts says that the commas part them.
    """

    digits: str
    start: int
    end: int
    is_apart: bool
    has_point: bool


@lru_cache(maxsize=1024)
def parts_of(token: str) -> tuple[Part, ...]:
    """Return the numbers that commas part in `token`, which may be one number as a whole."""
    found = [(to_ascii(match.group()), *match.span()) for match in _PIECE.finditer(token)]
    pieces = [digits for digits, _, _ in found]
    may_join = [_may_join(left, right) for left, right in pairwise(pieces)]
    is_list = not digit_readings(token, None)
    has_point = any("." in digits for digits in pieces)
    return tuple(
        Part(
            digits, start, end, is_list and True not in may_join[max(0, at - 1) : at + 1], has_point
        )
        for at, (digits, start, end) in enumerate(found)
        if _NUMBER.match(digits)
    )


def is_comma_list(token: str) -> bool:
    """Return whether commas in a token can only part numbers, never the digits of one."""
    return not digit_readings(token, None) and len(parts_of(token)) > 1


def stands_in_row(before: str, after: str) -> bool:
    """Return whether digits with commas may be several numbers, by what stands beside them.

    Args:
        before: What stands before them, up to the number before.
        after: What stands behind them.
    """
    return (
        (before[-1:] == "," and not before[-2:-1].isspace())
        or (after[:1] == "," and after[1:2] != "" and not after[1:2].isspace())
        or (before.rstrip("-")[-1:] == "[" and after[:1] == "]")
    )


def may_be_pair(token: str, before: str, after: str) -> bool:
    """Return whether digits with one comma may be two numbers: 42,43 or (3,7)."""
    low, comma, high = token.partition(",")
    if not comma or not low.isdecimal() or not high.isdecimal():
        return False
    if int(high) == int(low) + 1 and len(high) < 7:
        return not (is_paid(before) or _COUNTED.match(after))
    return before[-1:] == "(" and after[:1] == ")" and not _PRICE.match(token)


def parts_numbers(text: str, at: int) -> bool:
    """Return whether the comma at `at`, with digits on both sides, can only part two numbers."""
    left = _BACK.search(text, max(0, at - _REACH), at)
    right = _AHEAD.match(text, at + 1, at + 1 + _REACH)
    if left is None or right is None:  # pragma: no cover - both may be empty
        return False
    digits = left.group().lstrip(".,")
    token = f"{digits},{right.group()}".rstrip(".,")
    if digit_readings(token, None):
        return False
    parts, seam = parts_of(token), len(digits)
    return any(each.start == seam + 1 for each in parts) and any(each.end == seam for each in parts)


def _may_join(left: str, right: str) -> bool:
    """Whether two pieces may be one number with a comma in it: 1,234.50 or 1.234,50."""
    grouped = _GROUP.match(left) is not None and _NEXT_GROUP.match(right) is not None
    return grouped or (_GROUPED.match(left) is not None and _CENTS.match(right) is not None)
