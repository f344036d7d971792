"""Every time of day that a text states.

Neighbours: `source` asks for times and joins them to dates, `clocks` and `eastern` read each of
them, `spoken` reads what is told in words. This module never adds twelve hours where the text does
not say which half of the day it means; where a mark of one may belong to a time or not, both hours
are doubtful.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import time
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Final

from extractkit.grounding.clocks import Clock, clocks
from extractkit.grounding.eastern import eastern_clocks
from extractkit.grounding.halves import Part, hours_in
from extractkit.grounding.legible import legible
from extractkit.grounding.spoken import spoken_times

__all__ = ["TimeIndex", "TimeReading"]

# "25 to 7 p.m." does not tell 7 p.m., "10 to 11 p.m." may.
_TOLD_BEFORE: Final = re.compile(
    r"(?:\b(?:half|quarter|five|ten|twenty|twenty.five|min\w*|2[05]|[3-5]\d)\s+"
    r"(?:past|after|to|before|till)|\b\d\d?\s+(?:past|after))\s+\Z",
    re.IGNORECASE,
)
_MAY_BE_TOLD: Final = re.compile(r"(?<!\d)[012]?\d\s(?:(?:to|before|till)\s)?\Z", re.IGNORECASE)
_REACH: Final = 24
_START: Final = attrgetter("start")
_PART: Final = "the hour may be a part of a time that is told in words"
_HALF: Final = "the source does not say for certain which half of the day is meant"
# What joins the times of a range or of a list, so that one PM may be said of all.
_LINK: Final = re.compile(
    r"\s?(?:[-\u2013\u2014/&~\u301c\u81f3\u5230]|\u304b\u3089|(?:,\s?)?(?:and|or|to|till|until|"
    r"und|bis|oder|et|ou|a|\u00e0|y|o|e|al|alle|tot|en|til|do|\u0434\u043e))\s?"
)
_COMMA: Final = re.compile(r"\s?,\s?")
_LINK_REACH: Final = 8


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
        self._legible = legible(text)
        self._text = self._legible.text
        found = clocks(self._text)
        if eastern := [*eastern_clocks(self._text)]:
            found = sorted((*found, *eastern))
        self._shown = {clock.start for clock in found if not clock.is_bare}
        shared = _shared_halves(self._text, found)
        for clock in found:
            self._add(clock, shared.get(clock.start, ()))

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

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where a time stands, whichever, in the order of the text."""
        return tuple(
            sorted({(each.start, each.end) for found in self._readings.values() for each in found})
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
        for begin, stop, hour, minute, doubt in spoken_times(self._text):
            if begin in self._shown:
                continue
            start, end = self._legible.span(begin, stop)
            told[hour, minute].append(
                TimeReading(start=start, end=end, second=None, offset_s=None, doubt=doubt)
            )
        return told

    def _add(self, clock: Clock, further: tuple[int, ...]) -> None:
        start, end, hours, minute, second, offset_s, _, is_bare, doubt = clock
        if is_bare:
            told = self._told_before(clock)
            if told is None:
                return
            doubt = told or doubt
        if further:
            hours = tuple(dict.fromkeys((*hours, *further)))
        if len(hours) > 1:
            doubt = doubt or _HALF
        start, end = self._legible.span(start, end)
        reading = TimeReading(start=start, end=end, second=second, offset_s=offset_s, doubt=doubt)
        if offset_s is not None:
            self._offsets.add(offset_s)
        for hour in hours:
            self._readings[hour, minute].append(reading)

    def _told_before(self, clock: Clock) -> str | None:
        """Return the doubt about an hour for what stands before it; None where it is a minute."""
        start = clock.start
        begin = max(0, start - _REACH)
        if _TOLD_BEFORE.search(self._text, begin, start):
            return None
        before = _MAY_BE_TOLD.search(self._text, begin, start)
        if before is None:
            return ""
        if before.group()[:-1].isdecimal():  # "12 20 p.m." has no hour of its own
            written = self._text[start : start + 2]
            if not written[1:].isdecimal():
                return ""
            return _PART if written[0] != "0" and int(written) <= 12 else None
        return _PART


def _time(hour: int, minute: int, second: float) -> time:
    return time(hour, minute, int(second), round(second % 1 * 1e6))


def _shared_halves(text: str, found: list[Clock]) -> dict[int, tuple[int, ...]]:
    """Return the further hour of each time that the PM of another may be said of, too.

    9:00-11:00 PM, 2:00 PM - 4:00: but not 11:00 - 2:00 PM, which would begin after its end.
    """
    shared: dict[int, tuple[int, ...]] = {}
    if all(clock.part is None for clock in found):
        return shared
    for order in (found, found[::-1]):
        part, edge = None, 0
        for here, there in pairwise(order):
            if here.part is not None:
                part, edge = here.part, here.hours[0]
            hour = _further(text, here, there, part) if part else None
            if hour is None or (hour < edge if here.start < there.start else hour > edge):
                part = None
            else:
                shared.setdefault(there.start, (hour,))
    return shared


def _further(text: str, here: Clock, there: Clock, part: Part) -> int | None:
    """Return the hour of `there` in the part of the day of `here`, if it may be meant."""
    if there.part is not None or not 1 <= there.hours[0] <= 12 or there.second is not None:
        return None
    start, end = min(here.end, there.end), max(here.start, there.start)
    if not 0 < end - start <= _LINK_REACH:
        return None
    is_list = there.start < here.start and _COMMA.fullmatch(text, start, end)
    if not (is_list or _LINK.fullmatch(text, start, end)):
        return None
    return hours_in(part, there.hours[0])[0]
