"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the first. The same claims and text always give the same choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import lt
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from extractkit.paths import Pointer

__all__ = ["Grade", "Place", "Places", "choose"]

# Rows of a table are lines: what stands on another line is further away than its distance says.
_LINE_BREAK_COST = 40
_SIBLINGS = 8
_new: Any = cast("Any", tuple).__new__  # the constructor of a named tuple takes twice as long

Grade: TypeAlias = Literal["exact", "normalised"]


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
        count: How many there are.
        head: Where the first of them starts.
        starts: Where the best of them start: those without a doubt, if there are any.
        ends: Where these end.
    """

    __slots__ = ("_are_apart", "_best", "_found", "_grade", "count", "ends", "head", "starts")

    def __init__(self, found: Sequence[Place]) -> None:
        best = found
        if len(found) > 1:
            best = [place for place in found if not place[3]] or found
        self.starts = [place[0] for place in best]
        self.ends = [place[1] for place in best]
        self._grade: Grade = best[0][2]
        self._are_apart: bool | None = None
        self.count = len(found)
        self.head = found[0][0]
        self._found = found
        self._best: Sequence[Place] | None = best

    @classmethod
    def alike(cls, starts: list[int], ends: list[int], grade: Grade) -> Places:
        """Return places without a doubt, all of one grade, at least one."""
        made = object.__new__(cls)
        made.starts, made.ends, made._grade, made._are_apart = starts, ends, grade, None
        made.count = len(starts)
        made.head = starts[0]
        made._found = ()
        made._best = None
        return made

    def __getitem__(self, index: int) -> Place:
        """Return one of the best."""
        if self._best is not None:
            return self._best[index]
        place: Place = _new(Place, (self.starts[index], self.ends[index], self._grade, "", ""))
        return place

    @property
    def are_apart(self) -> bool:
        """Whether the best ones end in the order in which they start."""
        if self._are_apart is None:
            self._are_apart = all(map(lt, self.ends, self.ends[1:]))
        return self._are_apart

    @property
    def first(self) -> tuple[int, int]:
        """Where the first of all starts and ends."""
        if self._found:
            return self._found[0][0], self._found[0][1]
        return self.starts[0], self.ends[0]

    @property
    def all_starts(self) -> tuple[int, ...]:
        """Where all of them start."""
        return tuple([place[0] for place in self._found] if self._found else self.starts)


def choose(places: Mapping[Pointer, Places], text: str) -> dict[Pointer, Place]:
    """Return one place for each pointer, in the order of `places`.

    Args:
        places: What was found for each.
        text: What the offsets count in.
    """
    chosen: dict[Pointer, int] = {}
    placed: defaultdict[Pointer, tuple[list[int], list[int]]] = defaultdict(_nowhere)
    undecided: list[tuple[Pointer, Pointer, Places]] = []
    for pointer, each in places.items():
        chosen[pointer] = 0
        parent = pointer[: pointer.rfind("/")] if "/" in pointer else ""
        if len(each.starts) == 1:
            starts, ends = placed[parent]
            starts.append(each.starts[0])
            ends.append(each.ends[0])
        else:
            undecided.append((pointer, parent, each))
    for pointer, parent, each in undecided:
        starts, ends = placed[parent]
        nearest = 0
        if starts:
            nearest = _nearest(each, starts[-_SIBLINGS:], ends[-_SIBLINGS:], text)
            chosen[pointer] = nearest
        starts.append(each.starts[nearest])
        ends.append(each.ends[nearest])
    return {pointer: places[pointer][index] for pointer, index in chosen.items()}


def _nowhere() -> tuple[list[int], list[int]]:
    return [], []


def _nearest(places: Places, starts: list[int], ends: list[int], text: str) -> int:
    """Return which place has the least distance to all siblings together, the first among equals.

    Args:
        places: What there is to choose from.
        starts: Where the siblings start.
        ends: Where they end.
        text: What the offsets count in.
    """
    own, own_ends = places.starts, places.ends
    low, high = min(starts), max(ends)
    at = bisect_left(own, low)
    if not places.are_apart or (at and own_ends[at - 1] > low):
        return _least(places, _near(own, starts), starts, ends, text)
    behind = bisect_left(own, high, at)
    if behind > at + 1:
        return _least(places, _near(own, starts), starts, ends, text)
    # Of those before all siblings only the last can be the nearest, of those after them only the
    # first: with at most one among them, it is one of three.
    nearest, least = -1, -1
    if at:
        nearest, least = at - 1, _distance_behind(own_ends[at - 1], starts, text)
    if behind > at and least:
        distance = _distance((own[at], own_ends[at]), starts, ends, text, least)
        if least < 0 or distance < least:
            nearest, least = at, distance
    if behind < len(own) and least:
        start = own[behind]
        gaps = start * len(ends) - sum(ends)
        if least < 0 or (gaps < least and _distance_before(start, gaps, ends, text) < least):
            nearest = behind
    return nearest


def _distance_behind(end: int, starts: list[int], text: str) -> int:
    """Return the distance of a place that ends there, before all siblings."""
    gaps = sum(starts) - end * len(starts)
    line_end = text.find("\n", end, max(starts))
    if line_end < 0:
        return gaps
    return gaps + _LINE_BREAK_COST * len([start for start in starts if start > line_end])


def _distance_before(start: int, gaps: int, ends: list[int], text: str) -> int:
    """Return the distance of a place that starts there, after all siblings."""
    line_end = text.rfind("\n", min(ends), start)
    if line_end < 0:
        return gaps
    return gaps + _LINE_BREAK_COST * len([end for end in ends if end <= line_end])


def _least(places: Places, near: list[int], starts: list[int], ends: list[int], text: str) -> int:
    """Return the first of the nearest among the places with these numbers."""
    nearest, least = 0, -1
    for index in near:
        own = places.starts[index], places.ends[index]
        distance = _distance(own, starts, ends, text, least)
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
    own: tuple[int, int], starts: list[int], ends: list[int], text: str, most: int
) -> int:
    """Return the distance to all siblings together; no more than `most`, unless that is < 0."""
    start, end = own
    total = 0
    for index, sibling in enumerate(starts):
        first, last = (end, sibling) if start <= sibling else (ends[index], start)
        if last > first:
            total += last - first
            if text.find("\n", first, last) >= 0:
                total += _LINE_BREAK_COST
            if 0 <= most <= total:
                return most
    return total
