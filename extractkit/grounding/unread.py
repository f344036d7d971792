"""Days that a text may give in words that are not read: 15 मार्च 2024.

Neighbours: `dates` asks here before it says that a text gives only the year. Nothing here is a
date: it is what a date that is not found might be.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

__all__ = ["unread_days"]

# Any word between a day and a year, or behind a year and before a day.
_WORD: Final = r"(?P<{}>[^\s\d.,;:]{{2,15}})\.?,?\s{{1,2}}"
_SHAPE: Final = re.compile(
    rf"(?<!\d)(?:(?P<day>\d{{1,2}})\.?\s{{1,2}}(?:de\s)?{_WORD.format('word')}(?:de\s)?(?P<year>\d{{4}})"
    rf"|(?P<first>\d{{4}})\.?\s{{1,2}}{_WORD.format('second')}(?P<third>\d{{1,2}})"
    r")(?!\d|[.,]\d)"
)


def unread_days(text: str, is_month: Callable[[str], bool]) -> dict[tuple[int, int], str]:
    """Return what is written where a day and a year stand beside a word, by year and day.

    Args:
        text: The source.
        is_month: Whether a word is a name of a month that is read.
    """
    found: dict[tuple[int, int], str] = {}
    for match in _SHAPE.finditer(text):
        word = match["word"] or match["second"]
        if any(map(str.isalpha, word)) and not is_month(word):
            year, day = match["year"] or match["first"], match["day"] or match["third"]
            found.setdefault((int(year), int(day)), match.group())
    return found
