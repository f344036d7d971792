"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the first. The same claims and text always give the same choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
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
        starts: Where the best ones start.
        are_apart: Whether the best ones end in the order in which they start.
    """

    __slots__ = ("are_apart", "best", "found", "starts")

    def __init__(self, found: Sequence[Place]) -> None:
        self.found = found
        self.best: Sequence[Place] = found
        if len(found) > 1:
            self.best = [place for place in found if not place.doubt] or found
        self.starts = [place.start for place in self.best]
        ends = [place.end for place in self.best]
        self.are_apart = all(map(int.__lt__, ends, ends[1:]))


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
        first = each.best[0]
        chosen[pointer] = first
        parent = pointer.rpartition("/")[0]
        if len(each.best) == 1:
            placed[parent].append(first)
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
    starts, best = places.starts, places.best
    low = min([place.start for place in siblings])
    high = max([place.end for place in siblings])
    at = bisect_left(starts, low)
    # Where no place stands among the siblings, only their two neighbours can be the nearest.
    if places.are_apart and (not at or best[at - 1].end <= low):
        if at == len(starts):
            return best[-1]
        if starts[at] >= high:
            return _nearer(best[at - 1], best[at], siblings, text) if at else best[0]
    return _least(places, siblings, text)


def _nearer(before: Place, after: Place, siblings: Sequence[Place], text: str) -> Place:
    """Return the nearer one of a place before all siblings and one after them."""
    end, start = before.end, after.start
    difference = 0
    for sibling in siblings:
        difference += sibling.start - end - start + sibling.end
        if text.find("\n", end, sibling.start) >= 0:
            difference += _LINE_BREAK_COST
        if text.find("\n", sibling.end, start) >= 0:
            difference -= _LINE_BREAK_COST
    return before if difference <= 0 else after


def _least(places: Places, siblings: Sequence[Place], text: str) -> Place:
    """Return the nearest of the places near one of the siblings."""
    starts, best = places.starts, places.best
    near = {0}
    for sibling in siblings:
        at = bisect_left(starts, sibling.start)
        near.update(range(max(0, at - 2), min(len(best), at + 2)))
    nearest, least = best[0], -1
    for index in sorted(near):
        distance = _distance(best[index], siblings, text, least)
        if least < 0 or distance < least:
            nearest, least = best[index], distance
        if not least:
            break
    return nearest


def _distance(place: Place, siblings: Sequence[Place], text: str, most: int) -> int:
    """Return the distance to all siblings together; no more than `most`, unless that is < 0."""
    start, end = place.start, place.end
    total = 0
    for sibling in siblings:
        first, last = (end, sibling.start) if start <= sibling.start else (sibling.end, start)
        if last > first:
            total += last - first
            if text.find("\n", first, last) >= 0:
                total += _LINE_BREAK_COST
            if 0 <= most <= total:
                return most
    return total
