"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the one written most like the value, then the first. Where a list has a value several times, these
take its places one after the other, and so do fields with the same value; a field outside of lists
leaves what others have taken. The same claims and text always give the same choice.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from operator import add
from typing import TypeAlias

from extractkit.grounding.places import Grade, Place, Places
from extractkit.paths import Pointer

__all__ = ["Grade", "Place", "Places", "choose", "line_breaks"]

# Rows of a table are lines: what stands on another line is further away than its distance says.
_LINE_BREAK_COST = 40
_SIBLINGS = 8
_FAR = sys.maxsize
# More fields of one object than these with the same value are a map: each takes what is nearest.
_FIELDS = 16

_Open: TypeAlias = "tuple[int, _Siblings, Places]"
"""A value with several places: its number, its siblings, its places."""


def line_breaks(text: str) -> list[int]:
    """Return where the line breaks of `text` stand."""
    return list(map(add, accumulate(map(len, text.split("\n")[:-1])), count()))


def choose(places: Mapping[Pointer, Places], breaks: Sequence[int]) -> list[int]:
    """Return which of the best places is taken, for each pointer in the order of `places`.

    Args:
        places: What was found for each.
        breaks: Where the line breaks of the text stand.
    """
    choice = _Choice(places, breaks)
    placed: dict[Pointer, _Siblings] = {}
    in_lists: list[_Open] = []
    others: list[_Open] = []
    for index, (pointer, each) in enumerate(choice.every):
        parent = pointer.rpartition("/")[0]
        siblings = placed.get(parent)
        if siblings is None:
            siblings = placed[parent] = _Siblings(breaks)
        if len(each.starts) == 1:
            siblings.add(each.starts[0], each.ends[0])
            choice.used.add((each.starts[0], each.ends[0]))
        else:
            is_in_list = any(map(str.isdecimal, pointer.split("/")))
            (in_lists if is_in_list else others).append((index, siblings, each))
    choice.group((*in_lists, *others))
    for index, siblings, each in in_lists:
        choice.take(index, siblings, each, is_in_list=True)
    for index, siblings, each in others:
        choice.take(index, siblings, each, is_in_list=False)
    return choice.chosen


class _Choice:
    """What is taken so far.

    Attributes:
        every: Each pointer and its places.
        chosen: Which place each takes.
        used: The spans of the places that are taken.
    """

    def __init__(self, places: Mapping[Pointer, Places], breaks: Sequence[int]) -> None:
        self.every = list(places.items())
        self.chosen = [0] * len(places)
        self.used: set[tuple[int, int]] = set()
        self._breaks = breaks
        self._same: dict[int, tuple[list[int], int]] = {}
        self._apart: dict[int, list[int]] = {}

    def group(self, undecided: Sequence[_Open]) -> None:
        """Note which values of one parent have the same places."""
        groups: dict[tuple[int, int], list[int]] = {}
        numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        known: dict[int, int] = {}
        for index, siblings, each in undecided:
            number = known.get(id(each))
            if number is None:
                where = tuple(each.starts), tuple(each.ends)
                number = known[id(each)] = numbers.setdefault(where, index)
            groups.setdefault((id(siblings), number), []).append(index)
        for same in groups.values():
            if len(same) > 1:
                self._same.update({index: (same, at) for at, index in enumerate(same)})

    def take(self, index: int, siblings: _Siblings, each: Places, *, is_in_list: bool) -> None:
        """Choose a place for a value that has several."""
        same, at = self._same.get(index, (None, 0))
        taken: int | None = None
        if self.every[index][0].rpartition("/")[2].isdecimal():
            taken = None if same is None else _next(same, at, self.every, self.chosen)
        elif (same is not None or not is_in_list) and (same is None or len(same) <= _FIELDS):
            first = same[0] if same else index
            if first not in self._apart:  # a key that is a number may come before it
                wanted = len(same) if same else 1
                self._apart[first] = self._spread(siblings, each, wanted, is_in_list=is_in_list)
            apart = self._apart[first]
            taken = apart[at] if at < len(apart) else None
        if taken is None:
            taken = siblings.nearest(each) if siblings.starts else each.preferred
        self.chosen[index] = taken
        start, end = each.starts[taken], each.ends[taken]
        self.used.add((start, end))
        siblings.add(start, end)

    def _spread(
        self, siblings: _Siblings, each: Places, wanted: int, *, is_in_list: bool
    ) -> list[int]:
        """Return a place for each of several fields with the same value, in the order of the text.

        Fields of a row take places on one line; others those that no other value has taken.
        """
        starts, ends = each.starts, each.ends
        spans = zip(starts, ends, strict=True)
        free = [at for at, span in enumerate(spans) if is_in_list or span not in self.used]
        found: list[int] = []
        while free and len(found) < wanted:
            if siblings.starts:
                left = Places([starts[at] for at in free], [ends[at] for at in free], "exact")
                taken = free[siblings.nearest(left)]
            else:
                taken = each.preferred if each.preferred in free else free[0]
            if found and is_in_list and not self._on_one_line(starts[found[0]], starts[taken]):
                break
            free.remove(taken)
            found.append(taken)
        return sorted(found)

    def _on_one_line(self, one: int, other: int) -> bool:
        return bisect_left(self._breaks, one) == bisect_left(self._breaks, other)


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
