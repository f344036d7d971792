"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the first. The same claims and text always give the same choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from extractkit.paths import Pointer

__all__ = ["Place", "choose"]

# Rows of a table are lines: what stands on another line is further away than its distance says.
_LINE_BREAK_COST = 40
_SIBLINGS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place in the text that states a value.

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


def choose(places: Mapping[Pointer, Sequence[Place]], text: str) -> dict[Pointer, Place]:
    """Return one place for each pointer, in the order of `places`.

    Args:
        places: At least one place for each pointer, in the order of the text.
        text: What the offsets count in.
    """
    options = {pointer: _best_kind(found) for pointer, found in places.items()}
    chosen: dict[Pointer, Place] = {}
    placed: defaultdict[Pointer, list[Place]] = defaultdict(list)

    def take(pointer: Pointer, place: Place) -> None:
        chosen[pointer] = place
        placed[_parent(pointer)].append(place)

    for pointer, found in options.items():
        if len(found) == 1:
            take(pointer, found[0])
    for pointer, found in options.items():
        if len(found) > 1:
            take(pointer, _nearest(found, placed[_parent(pointer)][-_SIBLINGS:], text))
    return {pointer: chosen[pointer] for pointer in places}


def _best_kind(found: Sequence[Place]) -> Sequence[Place]:
    return [place for place in found if not place.doubt] or found


def _parent(pointer: Pointer) -> Pointer:
    return pointer.rpartition("/")[0]


def _nearest(found: Sequence[Place], siblings: Sequence[Place], text: str) -> Place:
    """Return the place with the least distance to all siblings together, the first among equals."""
    starts = [place.start for place in found]
    near = {0}
    for sibling in siblings:
        at = bisect_left(starts, sibling.start)
        near.update(range(max(0, at - 2), min(len(found), at + 2)))
    return min(
        (found[index] for index in sorted(near)),
        key=lambda place: sum(_distance(place, sibling, text) for sibling in siblings),
    )


def _distance(place: Place, sibling: Place, text: str) -> int:
    low, high = sorted((place, sibling), key=lambda each: each.start)
    gap = max(0, high.start - low.end)
    return gap + (_LINE_BREAK_COST if text.find("\n", low.end, high.start) >= 0 else 0)
