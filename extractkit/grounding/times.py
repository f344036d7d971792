"""Every time of day that a text states.

Neighbours: `source` asks for times and joins them to dates, `spoken` reads what is told in words.
A time without "am" or "pm" is read as it stands; this module never adds twelve hours on its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import time
from functools import cached_property
from operator import attrgetter

from extractkit.grounding.spoken import spoken_times

__all__ = ["TimeIndex", "TimeReading"]

_CLOCK = re.compile(
    r"(?<![\d.,:])(?P<hour>[01]?\d|2[0-4])(?:(?P<mark>[:.h\u6642\u65f6\uff1a])(?P<minute>[0-5]\d)"
    r"(?:[:.\u5206\uff1a](?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,9}))?)?\u5206?)?"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?|\s?(?P<word>uhr|o'clock)\b)?"
    r"(?P<zone>\s?(?:Z|UTC|GMT)\b|\s?[+-](?:0\d|1[0-4]):?[0-5]\d(?!\d))?(?![\d:]|[.,]\d)",
    re.IGNORECASE,
)

# "25 to 7 p.m." does not tell 7 p.m., "10 to 11 p.m." may.
_TOLD_BEFORE = re.compile(
    r"(?:\b(?:half|quarter|five|ten|twenty|twenty.five|min\w*|2[05]|[3-5]\d)\s+"
    r"(?:past|after|to|before|till)|\b\d\d?\s+(?:past|after))\s+\Z",
    re.IGNORECASE,
)
_MAY_BE_TOLD = re.compile(r"(?<!\d)[012]?\d\s(?:(?:to|before|till)\s)?\Z", re.IGNORECASE)
_REACH = 24
_START = attrgetter("start")
_PART = "the hour may be a part of a time that is told in words"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeReading:
    """One time of day.

    Attributes:
        start: First character.
        end: One past the last character, "pm" and the offset included.
        second: Seconds with their fraction, or None where the text gives none.
        offset_s: Seconds east of UTC, or None where the text gives no offset.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    start: int
    end: int
    second: float | None
    offset_s: int | None
    doubt: str = ""


class TimeIndex:
    """The times of one text, filed by hour and minute."""

    def __init__(self, text: str) -> None:
        self._readings: defaultdict[tuple[int, int], list[TimeReading]] = defaultdict(list)
        self._offsets: set[int] = set()
        self._text = text
        for match in _CLOCK.finditer(text):
            self._add(match)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Every offset that the text gives, in seconds east of UTC, ascending."""
        return tuple(sorted(self._offsets))

    @property
    def stated(self) -> tuple[tuple[time, int | None], ...]:
        """Every time of day with its offset in seconds, each once."""
        return tuple(
            dict.fromkeys(
                (_time(hour, minute, reading.second or 0.0), reading.offset_s)
                for (hour, minute), readings in (*self._readings.items(), *self._told.items())
                for reading in readings
            )
        )

    def find(self, wanted: time, *, with_seconds: bool = True) -> tuple[TimeReading, ...]:
        """Return every reading of this time, whatever its offset, in the order of the text.

        Args:
            wanted: The time; its offset is not looked at.
            with_seconds: False where the wanted time says nothing of seconds.
        """
        exact = wanted.second + wanted.microsecond / 1e6
        at = wanted.hour, wanted.minute
        found = tuple(
            reading
            for reading in self._readings.get(at, ())
            if not with_seconds or (reading.second or 0.0) == exact
        )
        if (exact and with_seconds) or not all(reading.doubt for reading in found):
            return found
        return tuple(sorted((*found, *self._told.get(at, ())), key=_START))

    @cached_property
    def _told(self) -> defaultdict[tuple[int, int], list[TimeReading]]:
        """What is told in words, which is looked at only for a time that no clock shows."""
        told: defaultdict[tuple[int, int], list[TimeReading]] = defaultdict(list)
        for start, end, hour, minute, doubt in spoken_times(self._text):
            told[hour, minute].append(
                TimeReading(start=start, end=end, second=None, offset_s=None, doubt=doubt)
            )
        return told

    def _add(self, match: re.Match[str]) -> None:
        hour = _hour(match)
        told = self._told_before(match) if match["mark"] is None else ""
        if hour is None or told is None:
            return
        second = float(match["second"]) if match["second"] else None
        if second is not None and match["fraction"]:
            second += int(match["fraction"][:6].ljust(6, "0")) / 1e6
        reading = TimeReading(
            start=match.start(),
            end=match.end(),
            second=second,
            offset_s=_offset(match["zone"]),
            doubt=told,
        )
        if reading.offset_s is not None:
            self._offsets.add(reading.offset_s)
        self._readings[hour, int(match["minute"] or 0)].append(reading)

    def _told_before(self, match: re.Match[str]) -> str | None:
        """Return the doubt about an hour for what stands before it; None where it is a minute."""
        start = match.start()
        begin = max(0, start - _REACH)
        if _TOLD_BEFORE.search(self._text, begin, start):
            return None
        before = _MAY_BE_TOLD.search(self._text, begin, start)
        if before is None:
            return ""
        if before.group()[:-1].isdecimal():  # "12 20 p.m." has no hour of its own
            if len(match["hour"]) == 1:
                return ""
            return _PART if match["hour"][0] != "0" and int(match["hour"]) <= 12 else None
        return _PART


def _time(hour: int, minute: int, second: float) -> time:
    return time(hour, minute, int(second), round(second % 1 * 1e6))


def _hour(match: re.Match[str]) -> int | None:
    """Return the hour from 0 to 23, or None where the match is no time."""
    hour, half, mark = int(match["hour"]), match["half"], match["mark"]
    said = bool(half or match["word"])
    if not said and (mark is None or mark == "."):
        return None  # "21" is a number, "21.13" an amount or a section
    if half:
        if not 1 <= hour <= 12:
            return hour if hour < 24 else None
        return hour % 12 + (12 if half in "pP" else 0)
    return hour if hour < 24 else None


def _offset(zone: str | None) -> int | None:
    if not zone:
        return None
    sign, digits = zone.strip()[0], re.sub(r"\D", "", zone)
    if not digits:
        return 0
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if sign == "-" else seconds
