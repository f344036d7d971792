"""Which day a time of the text belongs to, where several days and times stand near each other.

Neighbours: `moments` asks here before it joins a day and a time. A time belongs to the day that it
is written closest to; where two days are equally close, the order of all of them tells, or nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

__all__ = ["Span", "Stamps"]

Span: TypeAlias = tuple[int, int]
# How far a time may stand from its day: "6 March 2026, Terminal 2, 9:05 PM" belongs together.
_TOGETHER: Final = 40

_AT: Final = re.compile(
    r"\s(?:(?:at|um|on|am|a|\u00e0|alle|as|\u00e0s|om|den|the|le|el|il|\u0432|kl\.?)\s)?",
    re.IGNORECASE,
)
# How closely a gap joins: a space or "at" joins tightly, words between do not.
_TIGHT: Final = 1
_LOOSE: Final = 4
# Days by less than a date, which may have a time of their own: Monday 10:00, tomorrow 10:00, 4.3.
_LOOSE_DAY: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|yesterday"
    r"|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|heute|morgen|gestern"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|hier"
    r"|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo|ma\u00f1ana|hoy)\b"
    r"|(?<!\d)\d{1,2}\u6708\d{1,2}\u65e5|(?<![\w./-])\d{1,2}(?:/\d{1,2}(?![\w/])|\.\d{1,2}\.(?!\w))",
    re.IGNORECASE,
)
_BESIDE: Final = 3
_BLANK_LINE: Final = re.compile(r"\n\s*\n")


class Stamps:
    """The days and the times of one text, as places.

    Args:
        text: The source.
        days: Where a day stands, whichever, with or without its year.
        times: Where a time stands, whichever.
    """

    def __init__(self, text: str, days: Sequence[Span], times: Sequence[Span]) -> None:
        self._text = text
        dated = list(_merged(days))
        self._days = list(_merged([*dated, *_loose(text, dated)]))
        self._day_starts = [start for start, _ in self._days]
        self._times = [each for each in _merged(times) if self._around(each) is None]
        self._time_starts = [start for start, _ in self._times]
        self._layouts = self._read_layouts()

    def place_of(self, day: Span) -> Span | None:
        """Return the whole place that a day is part of: of 6 March 2024 all of 4-6 March 2024."""
        return self._around(day)

    def owner(self, time: Span) -> Span | None:
        """Return the place of the day that a time belongs to; None where none is sure."""
        around = self._around(time)
        if around is not None:
            return around
        after = bisect_left(self._day_starts, time[1])
        before = self._rank(self._days[after - 1][1], time[0]) if after else None
        behind = None
        if after < len(self._days):
            behind = self._rank(time[1], self._days[after][0])
        if before is None or behind is None:
            index = after if before is None else after - 1
            return None if before is behind else self._days[index]
        layout = self._layout_at(time[0])
        told = {"dt": after - 1, "td": after}.get(layout)
        if before == behind:
            return None if told is None else self._days[told]
        nearer = after - 1 if before < behind else after
        is_clear = min(before, behind) <= _TIGHT and max(before, behind) >= _LOOSE
        return self._days[nearer] if is_clear or told in (None, nearer) else None

    def _around(self, span: Span) -> Span | None:
        at = bisect_left(self._day_starts, span[1])
        return self._days[at - 1] if at and self._days[at - 1][1] > span[0] else None

    def _rank(self, start: int, end: int) -> int | None:
        """Return how loosely a gap joins what it parts; None where it is too wide."""
        if end - start > _TOGETHER:
            return None
        first, last = bisect_left(self._time_starts, start), bisect_left(self._time_starts, end)
        rank = 0
        for begin, stop in self._times[first:last]:  # 10:00 and 11:00 may both follow one day
            rank = max(rank, _rank_of(self._text[start:begin]))
            start = max(start, stop)
        return max(rank, _rank_of(self._text[start:end]))

    def _read_layouts(self) -> list[tuple[int, str]]:
        """Return where each chain of days and times begins, and which comes first: dt, td or "".

        A chain that begins and ends with the same says nothing.
        """
        chains: list[tuple[int, str]] = []
        begin = done = 0
        kinds = ""
        marked = sorted(
            [(*each, "d") for each in self._days] + [(*each, "t") for each in self._times]
        )
        for start, end, kind in marked:
            if kinds and (start - done > _TOGETHER or (kind == "d" and kinds[-1] == "d")):
                chains.append((begin, _layout(kinds)))
                kinds = ""
            if not kinds:
                begin = start
            kinds = kinds[:1] + kind
            done = end
        if kinds:
            chains.append((begin, _layout(kinds)))
        return chains

    def _layout_at(self, offset: int) -> str:
        at = bisect_right(self._layouts, offset, key=_first)
        return self._layouts[at - 1][1] if at else ""


def _first(chain: tuple[int, str]) -> int:
    return chain[0]


def _layout(kinds: str) -> str:
    return kinds if kinds in ("dt", "td") else ""


def _rank_of(gap: str) -> int:
    if gap in ("", "T", "t", "_", ":"):
        return 0
    if _AT.fullmatch(gap) and "\n" not in gap:
        return 1
    if "\n" in gap:
        return 7 if _BLANK_LINE.search(gap) else 6
    bare = gap.strip()
    if bare in ("", ",", "@"):
        return 2
    if not any(map(str.isalnum, bare)):
        return 3
    return 5 if ". " in gap or ";" in gap else 4


def _loose(text: str, dated: Sequence[Span]) -> Iterator[Span]:
    """Yield where days stand that are no dates; with the date beside it, of which one is a part."""
    starts = [start for start, _ in dated]
    for match in _LOOSE_DAY.finditer(text):
        start, end = match.span()
        after = bisect_left(starts, start)
        if after and _is_beside(text, dated[after - 1][1], start):
            start = dated[after - 1][0]
        if after < len(dated) and _is_beside(text, end, dated[after][0]):
            end = dated[after][1]
        yield start, end


def _is_beside(text: str, start: int, end: int) -> bool:
    """Whether only marks stand between two places, or none at all."""
    return end - start <= _BESIDE and not any(map(str.isalnum, text[start:end]))


def _merged(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the places without those that overlap apart."""
    last: Span | None = None
    for span in sorted(spans):
        if last is not None and span[0] < last[1]:
            last = last[0], max(last[1], span[1])
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
