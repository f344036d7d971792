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
from typing import Literal, NamedTuple

from extractkit.paths import Pointer

__all__ = ["Place", "Places", "choose"]

# Rows of a table are lines: what stands on another line is further away than its distance says.
_LINE_BREAK_COST = 40
_SIBLINGS = 8


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
    grade: Literal["exact", "normalised"]
    doubt: str = ""
    code: str = ""


class Places:
    """All places of one value, at least one, in the order of the text.

    Attributes:
        found: They.
        best: Those without a doubt, if there are any.
    """

    __slots__ = ("_order", "best", "found")

    def __init__(self, found: Sequence[Place]) -> None:
        self.found = found
        self.best: Sequence[Place] = found
        if len(found) > 1:
            self.best = [place for place in found if not place[3]] or found
        self._order: tuple[list[int], bool] | None = None

    @property
    def order(self) -> tuple[list[int], bool]:
        """Where the best ones start, and whether they end in the same order."""
        if self._order is None:
            ends = [place[1] for place in self.best]
            self._order = [place[0] for place in self.best], all(map(lt, ends, ends[1:]))
        return self._order


def choose(places: Mapping[Pointer, Places], text: str) -> dict[Pointer, Place]:
    """Return one place for each pointer, in the order of `places`.

    Args:
        places: What was found for each.
        text: What the offsets count in.
    """
    chosen: dict[Pointer, Place] = {}
    placed: defaultdict[Pointer, tuple[list[int], list[int]]] = defaultdict(_nowhere)
    undecided: list[tuple[Pointer, Pointer, Places]] = []
    for pointer, each in places.items():
        best = each.best
        chosen[pointer] = first = best[0]
        parent = pointer[: pointer.rfind("/")] if "/" in pointer else ""
        if len(best) == 1:
            starts, ends = placed[parent]
            starts.append(first[0])
            ends.append(first[1])
        else:
            undecided.append((pointer, parent, each))
    for pointer, parent, each in undecided:
        starts, ends = placed[parent]
        place = each.best[0]
        if starts:
            place = _nearest(each, starts[-_SIBLINGS:], ends[-_SIBLINGS:], text)
        chosen[pointer] = place
        starts.append(place[0])
        ends.append(place[1])
    return chosen


def _nowhere() -> tuple[list[int], list[int]]:
    return [], []


def _nearest(places: Places, starts: list[int], ends: list[int], text: str) -> Place:
    """Return the place with the least distance to all siblings together, the first among equals.

    Args:
        places: What there is to choose from.
        starts: Where the siblings start.
        ends: Where they end.
        text: What the offsets count in.
    """
    best = places.best
    own, are_apart = places.order
    low, high = min(starts), max(ends)
    at = bisect_left(own, low)
    if not are_apart or (at and best[at - 1][1] > low):
        return _least(best, _near(own, starts), starts, ends, text)
    behind = bisect_left(own, high, at)
    if behind > at + 1:
        return _least(best, _near(own, starts), starts, ends, text)
    # Of those before all siblings only the last can be the nearest, of those after them only the
    # first: with at most one among them, it is one of three.
    nearest, least = -1, -1
    if at:
        nearest, least = at - 1, _distance_behind(best[at - 1][1], starts, text)
    if behind > at and least:
        distance = _distance(best[at], starts, ends, text, least)
        if least < 0 or distance < least:
            nearest, least = at, distance
    if behind < len(best) and least:
        start = best[behind][0]
        gaps = start * len(ends) - sum(ends)
        if least < 0 or (gaps < least and _distance_before(start, gaps, ends, text) < least):
            nearest = behind
    return best[nearest]


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


def _least(
    best: Sequence[Place], near: list[int], starts: list[int], ends: list[int], text: str
) -> Place:
    """Return the first of the nearest among the places with these numbers."""
    nearest, least = 0, -1
    for index in near:
        distance = _distance(best[index], starts, ends, text, least)
        if least < 0 or distance < least:
            nearest, least = index, distance
        if not least:
            break
    return best[nearest]


def _near(own: Sequence[int], starts: Sequence[int]) -> list[int]:
    """Return the numbers of the first place and of those near one of the siblings, ascending."""
    near = {0}
    for start in starts:
        at = bisect_left(own, start)
        near.update(range(max(0, at - 2), min(len(own), at + 2)))
    return sorted(near)


def _distance(place: Place, starts: list[int], ends: list[int], text: str, most: int) -> int:
    """Return the distance to all siblings together; no more than `most`, unless that is < 0."""
    start, end = place[0], place[1]
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
