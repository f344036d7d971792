"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the first. Where a list has a value several times, these take its places one after the other. The
same claims and text always give the same choice.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from operator import add, lt
from typing import Literal, NamedTuple, TypeAlias

from extractkit.paths import Pointer

__all__ = ["Grade", "Place", "Places", "choose", "line_breaks"]

# Rows of a table are lines: what stands on another line is further away than its distance says.
_LINE_BREAK_COST = 40
_SIBLINGS = 8
_FAR = sys.maxsize

Grade: TypeAlias = Literal["exact", "normalised", "fuzzy"]


class Place(NamedTuple):
    """One place in the text that states a value; a tuple, for there are very many.

    Attributes:
        start: First character.
        end: One past the last character.
        grade: "exact" where the text has the value's own characters.
        doubt: Why it may not state that value, as a sentence; "" for a plain yes.
        code: Short name of that doubt.
    """

    start: int
    end: int
    grade: Grade
    doubt: str = ""
    code: str = ""


class Places:
    """All places of one value, at least one, in the order of the text.

    Attributes:
        starts: Where the best of them start: those without a doubt, if there are any.
        grade: The grade of the first of these.
        best: These themselves; None where all are of that grade and without a doubt.
        count: How many there are, the best and others.
        head: Where the first of them starts.
        is_doubtful: Whether there is a doubt about each of them.
    """

    __slots__ = (
        "_are_apart",
        "_beside",
        "_ends",
        "_found",
        "best",
        "count",
        "grade",
        "head",
        "is_doubtful",
        "starts",
    )

    def __init__(
        self,
        starts: list[int],
        ends: list[int] | int,
        grade: Grade,
        *,
        beside: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Make places without a doubt, all of one grade.

        Args:
            starts: Where they start, at least one.
            ends: Where they end, or the length that all of them have.
            grade: The grade of all.
            beside: Where others start and end, about which there is a doubt.
        """
        self.starts, self._ends, self.grade = starts, ends, grade
        self.best: Sequence[Place] | None = None
        self.is_doubtful = False
        self._are_apart: bool | None = None
        self._found: Sequence[Place] = ()
        self._beside = beside
        self.count = len(starts)
        self.head = starts[0]
        if beside:
            self.count += len(beside)
            self.head = min(self.head, beside[0][0])

    @classmethod
    def of(cls, found: Sequence[Place], *, beside: Sequence[tuple[int, int]] = ()) -> Places:
        """Return these places, at least one; `beside` others only if none of these is doubtful."""
        best = found
        if len(found) > 1:
            best = [place for place in found if not place[3]] or found
        starts, ends = [place[0] for place in best], [place[1] for place in best]
        made = cls(starts, ends, best[0][2], beside=beside)
        made.best = best
        made.is_doubtful = best[0][3] != ""
        if beside:
            return made
        made._found = found
        made.count = len(found)
        made.head = found[0][0]
        return made

    @property
    def ends(self) -> list[int]:
        """Where the best of them end."""
        ends = self._ends
        if isinstance(ends, int):
            length = ends
            ends = self._ends = [start + length for start in self.starts]
        return ends

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where all of them stand, in the order of the text."""
        if self._found:
            return tuple([(place[0], place[1]) for place in self._found])
        return tuple(sorted([*zip(self.starts, self.ends, strict=True), *self._beside]))

    def are_apart(self) -> bool:
        """Return whether the best ones end in the order in which they start."""
        if self._are_apart is None:
            ends = self.ends
            self._are_apart = all(map(lt, ends, ends[1:]))
        return self._are_apart

    @property
    def first(self) -> tuple[int, int]:
        """Where the first of all starts and ends."""
        if self._found:
            return self._found[0][:2]
        return min([(self.starts[0], self.ends[0]), *self._beside[:1]])

    @property
    def all_starts(self) -> tuple[int, ...]:
        """Where all of them start."""
        if self._found:
            return tuple([place[0] for place in self._found])
        return tuple(sorted([*self.starts, *(start for start, _ in self._beside)]))


def line_breaks(text: str) -> list[int]:
    """Return where the line breaks of `text` stand."""
    return list(map(add, accumulate(map(len, text.split("\n")[:-1])), count()))


def choose(places: Mapping[Pointer, Places], breaks: Sequence[int]) -> list[int]:
    """Return which of the best places is taken, for each pointer in the order of `places`.

    Args:
        places: What was found for each.
        breaks: Where the line breaks of the text stand.
    """
    chosen = [0] * len(places)
    placed: dict[Pointer, _Siblings] = {}
    undecided: list[tuple[int, _Siblings, Places]] = []
    listed: dict[tuple[int, int], list[int]] = {}
    for index, (pointer, each) in enumerate(places.items()):
        parent, _, name = pointer.rpartition("/")
        siblings = placed.get(parent)
        if siblings is None:
            siblings = placed[parent] = _Siblings(breaks)
        if len(each.starts) == 1:
            siblings.add(each.starts[0], each.ends[0])
        else:
            undecided.append((index, siblings, each))
            if name.isdecimal():
                listed.setdefault((id(siblings), id(each)), []).append(index)
    again = {
        index: (same, at)
        for same in listed.values()
        if len(same) > 1
        for at, index in enumerate(same)
    }
    every = list(places.items()) if again else ()
    for index, siblings, each in undecided:
        taken = _next(*again[index], every, chosen) if index in again else None
        if taken is None:
            taken = siblings.nearest(each) if siblings.starts else 0
        chosen[index] = taken
        siblings.add(each.starts[taken], each.ends[taken])
    return chosen


def _next(
    same: Sequence[int], at: int, places: Sequence[tuple[Pointer, Places]], chosen: Sequence[int]
) -> int | None:
    """Return the place of a value that a list has again: the next in the text; None for no more.

    Where the text has it more often than the list, that is the next behind the value before.

    Args:
        same: Which values of the list are the same.
        at: Which of these is asked for.
        places: The places of all values.
        chosen: What is taken for those before.
    """
    index = same[at]
    pointer, each = places[index]
    free = chosen[same[at - 1]] + 1 if at else 0
    if index and len(same) < len(each.starts):
        before, its_places = places[index - 1]
        if before.rpartition("/")[0] == pointer.rpartition("/")[0]:
            free = max(free, bisect_left(each.starts, its_places.starts[chosen[index - 1]]))
    return free if free < len(each.starts) else None


class _Siblings:
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
        return _distance(place, self.starts, self.ends, self._breaks, -1)

    def _breaks_after(self, end: int) -> int:
        """Return what line breaks cost between a place that ends there and all of these."""
        at = bisect_left(self._breaks, end)
        line_end = self._breaks[at] if at < len(self._breaks) else _FAR
        if line_end >= self.high:
            return 0
        if line_end < self.low:
            return _LINE_BREAK_COST * len(self.starts)
        return _LINE_BREAK_COST * len([start for start in self.starts if start > line_end])

    def _breaks_before(self, start: int) -> int:
        """Return what line breaks cost between all of these and a place that starts there."""
        at = bisect_left(self._breaks, start)
        line_end = self._breaks[at - 1] if at else -1
        if line_end < self.low:
            return 0
        if line_end >= self.high:
            return _LINE_BREAK_COST * len(self.ends)
        return _LINE_BREAK_COST * len([end for end in self.ends if end <= line_end])


def _least(
    places: Places, near: list[int], starts: list[int], ends: list[int], breaks: Sequence[int]
) -> int:
    """Return the first of the nearest among the places with these numbers."""
    nearest, least = 0, -1
    for index in near:
        own = places.starts[index], places.ends[index]
        distance = _distance(own, starts, ends, breaks, least)
        if least < 0 or distance < least:
            nearest, least = index, distance
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


def _distance(
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
                total += _LINE_BREAK_COST
            if 0 <= most <= total:
                return most
    return total
