"""Every day that a text tells in words, with its month and its year: the sixth of March 2026.

Neighbours: `dates` asks here for a day that no digits give. English, and the word for the first
day of a month in German, French, Spanish, Italian and Portuguese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from extractkit.grounding.months import Months, plain_word
from extractkit.grounding.named import day_of

__all__ = ["told_days"]

_FIRST: Final = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_UNITS: Final = _FIRST.split()
_DAYS: Final = {
    **{word: number for number, word in enumerate(_UNITS, 1)},
    "twentieth": 20,
    "thirtieth": 30,
    **{f"twenty {word}": number for number, word in enumerate(_UNITS[:9], 21)},
    "thirty first": 31,
    **dict.fromkeys(("premier", "primo", "primero", "primeiro", "erster", "ersten"), 1),
}
_WORDS: Final = (
    rf"(?:(?:twenty|thirty)[-\s])?(?:{'|'.join(word for word in _DAYS if ' ' not in word)})"
)
_DAY_FIRST: Final = re.compile(
    rf"\b(?P<day>{_WORDS})(?:\s\(\d{{1,2}}(?:st|nd|rd|th)?\))?\s"
    r"(?P<of>(?:day\s)?(?:of|de|di)\s)?(?P<month>[^\W\d_]{3,12})\.?,?\s(?:of\s|de\s|del\s)?"
    r"(?P<year>\d{4})(?!\d|\.\d)",
    re.IGNORECASE,
)
_MONTH_FIRST: Final = re.compile(
    rf"\b(?P<month>[^\W\d_]{{3,12}})\.?\s(?:the\s)?(?P<day>{_WORDS}),?\s(?P<year>\d{{4}})(?!\d|\.\d)",
    re.IGNORECASE,
)
_MAY_COUNT: Final = "the word may count something else"


def told_days(text: str, months: Months) -> Iterator[tuple[date, int, int, str]]:
    """Yield each day of `text` in words, its place, and a doubt about it."""
    lowered = text.lower()
    if not any(word in lowered for word in _DAYS):  # much quicker than the patterns
        return
    for pattern in (_DAY_FIRST, _MONTH_FIRST):
        for match in pattern.finditer(text):
            number = _DAYS.get(" ".join(plain_word(match["day"]).replace("-", " ").split()))
            day = day_of(int(match["year"]), months.number(match["month"]), number or 0)
            if day is not None:
                is_sure = (
                    pattern is _MONTH_FIRST or match["of"] or match["day"].lower() not in _UNITS[:3]
                )
                yield day, *match.span(), "" if is_sure else _MAY_COUNT
