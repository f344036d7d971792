"""Every day that a text counts from another one: tomorrow, last Friday.

Neighbours: `dates` asks here where the user tells the day that such words count from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

__all__ = ["relative_days", "says_relative"]

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NEAR: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
_RELATIVE: Final = re.compile(
    r"\b(?:(?P<over>(?:the\s+)?day\s+(?:after\s+tomorrow|before\s+yesterday))"
    rf"|(?P<near>{'|'.join(_NEAR)})|(?P<which>last|next)\s+(?P<day>{'|'.join(_WEEKDAYS)}))\b",
    re.IGNORECASE,
)
# A length of time counts from it: two weeks from tomorrow, the day after next Friday.
_COUNTED: Final = re.compile(
    r"\b(?:days?|nights?|weekdays?|mornings?|evenings?|weeks?|fortnights?|months?|years?|quarters?)\s+"
    r"(?:after|before|from|since|prior\s+to|following|preceding)\s+\Z",
    re.IGNORECASE,
)
_COUNTS_ON: Final = re.compile(
    r"\s+(?:week|fortnight|but\s+one|(?:last|next)\s+week)\b", re.IGNORECASE
)
_REACH: Final = 30


def says_relative(text: str) -> bool:
    """Return whether the text has a date that counts from another one."""
    return _RELATIVE.search(text) is not None


def relative_days(text: str, reference: date) -> Iterator[tuple[date, int, int, str]]:
    """Yield each day that `text` counts from `reference`, its place, and a doubt about it.

    What counts further from such a day ("a week from tomorrow") is not read.
    """
    for match in _RELATIVE.finditer(text):
        start, end = match.span()
        if _COUNTED.search(text, max(0, start - _REACH), start) or _COUNTS_ON.match(text, end):
            continue
        day = _shift(reference, _distance(match, reference))
        if day is not None:
            doubt = f"{match.group()!r} may also mean a week earlier or later"
            yield day, start, end, doubt if match["which"] else ""


def _distance(match: re.Match[str], reference: date) -> int:
    if match["over"]:
        return 2 if match["over"].lower().endswith("tomorrow") else -2
    if match["near"]:
        return _NEAR[match["near"].lower()]
    weekday = _WEEKDAYS.index(match["day"].lower())
    ahead = (weekday - reference.weekday() - 1) % 7 + 1
    is_next = match["which"].lower() == "next"
    return ahead if is_next else ahead - 7 - (7 if ahead == 7 else 0)


def _shift(reference: date, days: int) -> date | None:
    try:
        return reference + timedelta(days=days)
    except OverflowError:
        return None
