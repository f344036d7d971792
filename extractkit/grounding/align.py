"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the first. The same claims and text always give the same choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    placed: defaultdict[Pointer, list[Place]] = defaultdict(list)
    undecided: list[tuple[Pointer, Pointer, Places]] = []
    for pointer, each in places.items():
        best = each.best
        chosen[pointer] = best[0]
        parent = pointer[: pointer.rfind("/")] if "/" in pointer else ""
        if len(best) == 1:
            placed[parent].append(best[0])
        else:
            undecided.append((pointer, parent, each))
    for pointer, parent, each in undecided:
        siblings = placed[parent]
        place = _nearest(each, siblings[-_SIBLINGS:], text) if siblings else each.best[0]
        chosen[pointer] = place
        siblings.append(place)
    return chosen


def _nearest(places: Places, siblings: Sequence[Place], text: str) -> Place:
    """Return the place with the least distance to all siblings together, the first among equals."""
    best = places.best
    starts, are_apart = places.order
    low = min([place[0] for place in siblings])
    high = max([place[1] for place in siblings])
    at = bisect_left(starts, low)
    near: Iterable[int] | None = None
    if are_apart and (not at or best[at - 1][1] <= low):
        # Of those before all siblings only the last can be the nearest, of those after them only
        # the first: with at most one among them, it is one of three.
        behind = bisect_left(starts, high, at)
        if behind <= at + 1:
            near = range(max(0, at - 1), min(len(best), behind + 1))
    if near is None:
        near = _near(starts, siblings)
    nearest, least = 0, -1
    for index in near:
        distance = _distance(best[index], siblings, text, least)
        if least < 0 or distance < least:
            nearest, least = index, distance
        if not least:
            break
    return best[nearest]


def _near(starts: Sequence[int], siblings: Sequence[Place]) -> list[int]:
    """Return the numbers of the first place and of those near one of the siblings, ascending."""
    near = {0}
    for sibling in siblings:
        at = bisect_left(starts, sibling[0])
        near.update(range(max(0, at - 2), min(len(starts), at + 2)))
    return sorted(near)


def _distance(place: Place, siblings: Sequence[Place], text: str, most: int) -> int:
    """Return the distance to all siblings together; no more than `most`, unless that is < 0."""
    start, end = place[0], place[1]
    total = 0
    for sibling in siblings:
        first, last = (end, sibling[0]) if start <= sibling[0] else (sibling[1], start)
        if last > first:
            total += last - first
            if text.find("\n", first, last) >= 0:
                total += _LINE_BREAK_COST
            if 0 <= most <= total:
                return most
    return total
