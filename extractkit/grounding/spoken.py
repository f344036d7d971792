"""Every time of day that a text tells as people say it: half past six, 25 to 7 p.m., noon.

Neighbours: `times` reads the clock's own form and asks here when that does not have a time. "In
the evening" and its like say which half of the day is meant, as `halves` tells; where nothing does,
the hour is read as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from extractkit.grounding.halves import Part, hours_in

__all__ = ["Spoken", "spoken_times"]

_UNITS: Final = "one two three four five six seven eight nine ten eleven twelve"
_HOURS: Final = {word: number for number, word in enumerate(_UNITS.split(), 1)}
_MINUTES: Final = {
    **{word: number for word, number in _HOURS.items() if number in (5, 10)},
    "half": 30,
    "quarter": 15,
    "twenty": 20,
    "twenty five": 25,
    "twenty-five": 25,
}
_FIXED: Final = {"noon": 12, "midday": 12, "midnight": 0}
_PARTS: Final[Mapping[str, Part]] = {
    "a": "am",
    "p": "pm",
    "morning": "am",
    "afternoon": "pm",
    "evening": "pm",
    "night": "night",
}

_HOUR: Final = rf"(?P<hour>(?:[01]?\d|2[0-3])(?!\d)|{'|'.join(_HOURS)})"
_PART: Final = (
    r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?"
    r"|(?P<link>\s+o['\u2019]?clock)?\s+(?P<at>(?:in\s+the|at|this|of\s+the)\s+)?"
    r"(?P<part>morning|afternoon|evening|night)\b)"
)
_MINUTE: Final = "|".join(sorted(_MINUTES, key=len, reverse=True))
_RELATIVE: Final = re.compile(
    rf"(?<![\w.,:])(?:a\s+)?(?P<minute>[1-5]?\d|{_MINUTE})(?:\s+min(?:ute)?s?)?\s+"
    rf"(?P<way>past|after|to|before|till)\s+{_HOUR}(?![\w:]|[.,]\d){_PART}?",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(
    rf"(?<![\w.,:/-]){_HOUR}(?:[\s:.](?P<minute>[0-5]\d))?(?![\d:]|[.,]\d){_PART}", re.IGNORECASE
)
_PAIR: Final = re.compile(
    r"(?<![\d.,:/$\u20ac\u00a3-])(?<!\d\s)(?P<hour>[01]?\d|2[0-3])\s(?P<minute>[0-5]\d)"
    r"(?![\d:%]|[.,/-]\d|\s\d)"
)
_FIXED_WORD: Final = re.compile(rf"\b(?P<word>{'|'.join(_FIXED)})\b", re.IGNORECASE)

_SPAN: Final = "it may be a time or reach from one number to the other"
_TWO_NUMBERS: Final = "the digits may be a time or two numbers"


class Spoken(NamedTuple):
    """One time as it is said.

    Attributes:
        start: First character.
        end: One past the last character.
        hour: From 0 to 23.
        minute: From 0 to 59.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    start: int
    end: int
    hour: int
    minute: int
    doubt: str = ""


def spoken_times(text: str) -> list[Spoken]:
    """Return every time of day that `text` tells in words, in its order.

    None is a part of another: "25 to 7 p.m." does not tell 7 p.m.
    """
    found = sorted(_each(text), key=lambda spoken: (spoken.start, -spoken.end))
    kept: list[Spoken] = []
    end = 0
    for spoken in found:
        if spoken.end > end:
            kept.append(spoken)
            end = spoken.end
    return kept


def _each(text: str) -> Iterator[Spoken]:
    for match in _RELATIVE.finditer(text):
        minute = _number(match["minute"], _MINUTES)
        hour = _hour(_number(match["hour"], _HOURS), match["half"], match["part"])
        if match["way"].lower() in ("to", "before", "till"):
            hour, minute = (hour - (1 if minute else 0)) % 24, -minute % 60
        yield Spoken(*match.span(), hour, minute, _span_doubt(match))
    for match in _PLAIN.finditer(text):
        if not (match["minute"] or match["half"] or match["link"] or match["at"]):
            continue  # "2 night" counts nights
        hour = _hour(_number(match["hour"], _HOURS), match["half"], match["part"])
        yield Spoken(*match.span(), hour, int(match["minute"] or 0))
    for match in _PAIR.finditer(text):
        yield Spoken(*match.span(), int(match["hour"]), int(match["minute"]), _TWO_NUMBERS)
    for match in _FIXED_WORD.finditer(text):
        yield Spoken(*match.span(), _FIXED[match["word"].lower()], 0)


def _span_doubt(match: re.Match[str]) -> str:
    """Return why "8 to 9" may not be a time, "" where it is one: "25 to 9", "8 minutes to 9 pm"."""
    hours = match["minute"].isdecimal() and match["hour"].isdecimal() and int(match["minute"]) < 24
    plain = match["way"].lower() == "to" and "min" not in match.group().lower()
    return _SPAN if hours and plain and int(match["minute"]) != 20 else ""


def _number(word: str, words: dict[str, int]) -> int:
    return int(word) if word.isdecimal() else words[" ".join(word.lower().split())]


def _hour(hour: int, half: str | None, part: str | None) -> int:
    """Return the hour from 0 to 23, which the part of the day may tell."""
    said = part or half
    return hours_in(_PARTS[said.lower()], hour or 12)[0] if said else hour
