"""Distances between places of a text.

Neighbours: `align` chooses places by them.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Sequence

from extractkit.grounding.places import Places

__all__ = ["LINE_BREAK_COST", "Siblings", "distance", "to_nearest"]

LINE_BREAK_COST = 40
"""Rows of a table are lines: what stands on another line is so much further away."""
_SIBLINGS = 8
_FAR = sys.maxsize


class Siblings:
    """Where the values stand that were found for one parent; the last eight of them count.

    Attributes:
        starts: Where each starts.
        ends: Where each ends.
        low: Where the first of them starts.
        high: Where the last of them ends.
    """

    __slots__ = ("_breaks", "_end_sum", "_start_sum", "ends", "high", "low", "starts")

    def __init__(self, breaks: Sequence[int]) -> None:
        self._breaks = breaks
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.low, self.high = _FAR, 0
        self._start_sum = self._end_sum = 0

    def add(self, start: int, end: int) -> None:
        """Count one more."""
        self.starts.append(start)
        self.ends.append(end)
        self._start_sum += start
        self._end_sum += end
        low, high = self.low, self.high
        self.low = start if start < low else low
        self.high = end if end > high else high
        if len(self.starts) > _SIBLINGS:
            self._start_sum -= self.starts.pop(0)
            self._end_sum -= self.ends.pop(0)
            self.low, self.high = min(self.starts), max(self.ends)

    def pick(self, places: Places, free: Sequence[int] = ()) -> int:
        """Return which place is taken beside these: the nearest, or where none is, the preferred.

        Args:
            places: Of one value.
            free: Which of them can be taken, the first rather than one behind it; empty: all.
        """
        if not self.starts:
            return free[0] if free and places.preferred not in free else places.preferred
        if not free:
            return self.nearest(places)
        starts, ends = places.starts, places.ends
        left = Places([starts[at] for at in free], [ends[at] for at in free], "exact")
        return free[self.nearest(left)]

    def nearest(self, places: Places) -> int:
        """Return which place has the least distance to all of these, the first among equals."""
        own, own_ends, low = places.starts, places.ends, self.low
        at = bisect_left(own, low)
        behind = bisect_left(own, self.high, at)
        if behind > at + 1 or not places.are_apart() or (at and own_ends[at - 1] > low):
            return _least(places, _near(own, self.starts), self.starts, self.ends, self._breaks)
        # Of those before all siblings only the last can be the nearest, of those after them only
        # the first: with at most one among them, it is one of three. Line breaks only add to a
        # distance, so that the likely one is looked at before the other.
        count = len(self.starts)
        before = self._start_sum - own_ends[at - 1] * count if at else _FAR
        after = own[behind] * count - self._end_sum if behind < len(own) else _FAR
        among = _FAR
        if behind > at:
            place = own[at], own_ends[at]
            among = 0 if count == 1 else self._among(place)
        if after < before:
            if after < among:
                after += self._breaks_before(own[behind])
            if before <= among and before <= after:
                before += self._breaks_after(own_ends[at - 1])
        else:
            if before <= among:
                before += self._breaks_after(own_ends[at - 1])
            if after < among and after < before:
                after += self._breaks_before(own[behind])
        if before <= among and before <= after:
            return at - 1
        return at if among <= after else behind

    def _among(self, place: tuple[int, int]) -> int:
        return distance(place, self.starts, self.ends, self._breaks, -1)

    def _breaks_after(self, end: int) -> int:
        """Return what line breaks cost between a place that ends there and all of these."""
        at = bisect_left(self._breaks, end)
        line_end = self._breaks[at] if at < len(self._breaks) else _FAR
        if line_end >= self.high:
            return 0
        if line_end < self.low:
            return LINE_BREAK_COST * len(self.starts)
        return LINE_BREAK_COST * len([start for start in self.starts if start > line_end])

    def _breaks_before(self, start: int) -> int:
        """Return what line breaks cost between all of these and a place that starts there."""
        at = bisect_left(self._breaks, start)
        line_end = self._breaks[at - 1] if at else -1
        if line_end < self.low:
            return 0
        if line_end >= self.high:
            return LINE_BREAK_COST * len(self.ends)
        return LINE_BREAK_COST * len([end for end in self.ends if end <= line_end])


def _least(
    places: Places, near: list[int], starts: list[int], ends: list[int], breaks: Sequence[int]
) -> int:
    """Return the first of the nearest among the places with these numbers."""
    nearest, least = 0, -1
    for index in near:
        own = places.starts[index], places.ends[index]
        away = distance(own, starts, ends, breaks, least)
        if least < 0 or away < least:
            nearest, least = index, away
        if not least:
            break
    return nearest


def _near(own: Sequence[int], starts: Sequence[int]) -> list[int]:
    """Return the numbers of the first place and of those near one of the siblings, ascending."""
    near = {0}
    for start in starts:
        at = bisect_left(own, start)
        near.update(range(max(0, at - 2), min(len(own), at + 2)))
    return sorted(near)


def distance(
    own: tuple[int, int], starts: list[int], ends: list[int], breaks: Sequence[int], most: int
) -> int:
    """Return the distance to all siblings together; no more than `most`, unless that is < 0."""
    start, end = own
    total = 0
    for index, sibling in enumerate(starts):
        first, last = (end, sibling) if start <= sibling else (ends[index], start)
        if last > first:
            total += last - first
            at = bisect_left(breaks, first)
            if at < len(breaks) and breaks[at] < last:
                total += LINE_BREAK_COST
            if 0 <= most <= total:
                return most
    return total


def to_nearest(place: tuple[int, int], places: Places, breaks: Sequence[int]) -> int:
    """Return the distance between a place and the nearest of others."""
    at = bisect_left(places.starts, place[0])
    near = range(max(0, at - 2), min(len(places.starts), at + 2))
    return min(
        distance(place, [places.starts[one]], [places.ends[one]], breaks, -1) for one in near
    )
