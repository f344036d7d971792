"""Places that state a date, a time, or both.

Neighbours: `dates` and `times` read the text; `source` asks here. A value is never more exact than
the text: a day, a time or an offset that the text does not give makes a miss.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Literal

from extractkit.grounding.align import Place
from extractkit.grounding.dates import DateIndex, DateReading
from extractkit.grounding.stamps import Stamps
from extractkit.grounding.times import TimeIndex, TimeReading

__all__ = ["Miss", "find_date", "find_datetime", "find_time", "moment_of"]

_SECONDS = re.compile(r"(?:T|\s|^)\d\d:?\d\d:?\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """Why no place was found.

    Attributes:
        code: Short stable name of the reason.
        reason: What is missing, to follow the value in a sentence.
    """

    code: str = "not_in_source"
    reason: str = "is not in the source"


def moment_of(value: str, kind: str) -> date | datetime | time | None:
    """Return the ISO `value` as what `kind` says; None where it is no such thing.

    A datetime without a time of day is a date.
    """
    parse: Callable[[str], date | datetime | time]
    if kind == "time":
        parse = time.fromisoformat
    elif kind == "date" or len(value) <= 10:
        parse = date.fromisoformat
    else:
        parse = datetime.fromisoformat
    try:
        return parse(value)
    except ValueError:
        return None


def find_date(text: str, dates: DateIndex, wanted: date, spelled: str) -> list[Place] | Miss:
    """Return the places that state the day `wanted`, which the answer writes as `spelled`."""
    found = dates.find(wanted)
    if found:
        return [_date_place(text, reading, spelled) for reading in found]
    coarser = dates.coarser(wanted)
    if coarser:
        return Miss(code="date_precision", reason=f"day not in the source, which gives {coarser}")
    if unread := dates.unread(wanted):
        return Miss(
            reason=f"is not in the source, unless {unread!r} says it in words that are not read; "
            "Grounding(locale=...) tells the language"
        )
    if dates.mentions_relative:
        return Miss(
            reason="is not in the source; relative dates are read only with "
            "Grounding(reference_date=...)"
        )
    return Miss()


def find_time(text: str, times: TimeIndex, wanted: time, spelled: str) -> list[Place] | Miss:
    """Return the places that state the time `wanted`, in its own or another offset."""
    found = _times(times, datetime.combine(date(2000, 1, 1), wanted), spelled)
    if isinstance(found, Miss):
        return found
    return [
        Place(
            start=each.start,
            end=each.end,
            grade=_grade(text, each.start, each.end, spelled),
            doubt=each.doubt,
            code="ambiguous_time" if each.doubt else "",
        )
        for _, each in found
    ]


def find_datetime(
    text: str, dates: DateIndex, times: TimeIndex, wanted: datetime, spelled: str
) -> list[Place] | Miss:
    """Return the places that state the day and the time of `wanted` side by side.

    Where both stand in the text but far apart, or each beside another, the place is the day's and
    carries a doubt.
    """
    clock = _times(times, wanted, spelled)
    days = {wanted.date()} if isinstance(clock, Miss) else {day for day, _ in clock}
    found = {day: dates.find(day) for day in sorted(days)}
    if not any(found.values()):
        missing = find_date(text, dates, wanted.date(), spelled)
        return missing if isinstance(missing, Miss) else Miss()
    if isinstance(clock, Miss):
        if clock.code == "not_in_source":
            return Miss(code="date_precision", reason="time not in the source, which gives the day")
        return clock
    stamps = dates.stamps(times.spans)
    together = sorted(
        place
        for day, readings in found.items()
        for place in _pair(
            text, stamps, readings, [each for on, each in clock if on == day], spelled
        )
    )
    return together or [
        Place(
            start=reading.start,
            end=reading.end,
            grade="normalised",
            doubt="day and time stand in different places of the source",
            code="date_time_apart",
        )
        for readings in found.values()
        for reading in readings
    ]


def _date_place(text: str, reading: DateReading, spelled: str) -> Place:
    return Place(
        start=reading.start,
        end=reading.end,
        grade=_grade(text, reading.start, reading.end, spelled),
        doubt=reading.doubt,
        code="ambiguous_date" if reading.doubt else "",
    )


def _times(
    times: TimeIndex, wanted: datetime, spelled: str
) -> list[tuple[date, TimeReading]] | Miss:
    """Return (day, reading) for each reading of the same time, the day shifted with the offset."""
    with_seconds = _SECONDS.search(spelled) is not None
    own = [
        (wanted.date(), reading) for reading in times.find(wanted.time(), with_seconds=with_seconds)
    ]
    offset = wanted.utcoffset()
    if offset is None:
        return own or Miss()
    same = [(day, each) for day, each in own if each.offset_s == offset.total_seconds()]
    for offset_s in times.offsets:
        if offset_s != offset.total_seconds():
            there = _shift(wanted, offset_s)
            same.extend(
                (there.date(), each)
                for each in times.find(there.time(), with_seconds=with_seconds)
                if each.offset_s == offset_s
            )
    if not same and any(each.offset_s is None for _, each in own):
        return Miss(code="date_precision", reason="offset not in the source, which gives the time")
    return sorted(same, key=lambda pair: pair[1].start) or Miss()


def _shift(wanted: datetime, offset_s: int) -> datetime:
    try:
        return wanted.astimezone(timezone(timedelta(seconds=offset_s)))
    except OverflowError:  # within a day of the first or last year
        return wanted.replace(tzinfo=UTC)


def _pair(
    text: str,
    stamps: Stamps,
    days: Sequence[DateReading],
    clock: Sequence[TimeReading],
    spelled: str,
) -> Iterator[Place]:
    """Yield a place for each time that belongs to one of the days."""
    at = {stamps.place_of((day.start, day.end)): day for day in days}
    for time_reading in clock:
        day = at.get(stamps.owner((time_reading.start, time_reading.end)))
        if day is not None:
            start = min(day.start, time_reading.start)
            end = max(day.end, time_reading.end)
            yield Place(
                start=start,
                end=end,
                grade=_grade(text, start, end, spelled),
                doubt=day.doubt or time_reading.doubt,
                code=_code(day, time_reading),
            )


def _code(day: DateReading, clock: TimeReading) -> str:
    if day.doubt:
        return "ambiguous_date"
    return "ambiguous_time" if clock.doubt else ""


def _grade(text: str, start: int, end: int, spelled: str) -> Literal["exact", "normalised"]:
    return "exact" if text[start:end] == spelled else "normalised"
