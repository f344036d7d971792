"""Which of several places a value was taken from.

Neighbours: `source` finds the places, this module chooses among them. A place without a doubt is
taken before one with a doubt, then the place nearest to what was found for the same parent, then
the one written most like the value, then the first. Where a list has a value several times, these
take its places one after the other, and so do fields with the same value; a field outside of lists
leaves what others have taken. The same claims and text always give the same choice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, count, islice
from operator import add
from typing import TypeAlias

from extractkit.grounding.places import Grade, Place, Places
from extractkit.grounding.siblings import LINE_BREAK_COST, Siblings, distance, to_nearest
from extractkit.paths import Pointer

__all__ = ["Grade", "Place", "Places", "choose", "is_in_list", "line_breaks"]

_IN_LIST = re.compile(r"/\d+(?:/|\Z)")
# Of more places of one value than these, the first free ones are looked at.
_CANDIDATES = 32
# More fields of one object than these with the same value are a map: each takes what is nearest.
_FIELDS = 16

_Open: TypeAlias = "tuple[int, Siblings, Places]"
"""A value with several places: its number, its siblings, its places."""


def line_breaks(text: str) -> list[int]:
    """Return where the line breaks of `text` stand."""
    return list(map(add, accumulate(map(len, text.split("\n")[:-1])), count()))


def is_in_list(pointer: Pointer) -> bool:
    """Return whether the place is an item of a list, or inside of one."""
    return _IN_LIST.search(pointer) is not None


def choose(places: Mapping[Pointer, Places], breaks: Sequence[int]) -> list[int]:
    """Return which of the best places is taken, for each pointer in the order of `places`.

    Args:
        places: What was found for each.
        breaks: Where the line breaks of the text stand.
    """
    choice = _Choice(places, breaks)
    placed: dict[Pointer, Siblings] = {}
    in_lists: list[_Open] = []
    rows: defaultdict[Pointer, list[_Open]] = defaultdict(list)
    others: list[_Open] = []
    for index, (pointer, each) in enumerate(choice.every):
        parent = pointer.rpartition("/")[0]
        siblings = placed.get(parent)
        if siblings is None:
            siblings = placed[parent] = Siblings(breaks)
        if len(each.starts) == 1:
            choice.put(index, siblings, each, 0)
        elif is_in_list(pointer):
            in_lists.append((index, siblings, each))
            if _is_item(parent):
                rows[parent].append((index, siblings, each))
        else:
            others.append((index, siblings, each))
    choice.group((*in_lists, *others))
    anchored: set[int] = set()
    for index, siblings, each in in_lists:
        parent = choice.every[index][0].rpartition("/")[0]
        if not siblings.starts and parent in rows:
            anchored.add(choice.anchor(rows[parent], _around(parent, placed)))
        if index not in anchored:
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

    def put(self, index: int, siblings: Siblings, each: Places, taken: int) -> None:
        """Let a value have one of its places."""
        self.chosen[index] = taken
        start, end = each.starts[taken], each.ends[taken]
        self.used.add((start, end))
        siblings.add(start, end)

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

    def anchor(self, row: Sequence[_Open], around: Siblings | None) -> int:
        """Place one value of a row of which nothing is placed; return its number.

        It is the one with the fewest places, and goes where the others of the row are nearest,
        before that where no other value is; where all that is equal, near what is `around` the
        list that the row is in.
        """
        index, siblings, each = min(row, key=lambda one: len(one[2].starts))
        others = [places for number, _, places in row if number != index]
        least: tuple[int, int] | None = None
        taken = 0
        for at in self._candidates(each):
            place = each.starts[at], each.ends[at]
            cost = LINE_BREAK_COST if place in self.used else 0
            for places in others:
                cost += to_nearest(place, places, self._breaks)
            further = 0
            if around is not None:
                further = distance(place, around.starts, around.ends, self._breaks, -1)
            if least is None or (cost, further) < least:
                least, taken = (cost, further), at
        self.put(index, siblings, each, taken)
        return index

    def _candidates(self, each: Places) -> Sequence[int]:
        """Return the numbers of the places that are looked at: of very many, the first free."""
        if len(each.starts) <= _CANDIDATES:
            return range(len(each.starts))
        spans = zip(each.starts, each.ends, strict=True)
        free = (at for at, span in enumerate(spans) if span not in self.used)
        return [*islice(free, _CANDIDATES)] or [each.preferred]

    def take(self, index: int, siblings: Siblings, each: Places, *, is_in_list: bool) -> None:
        """Choose a place for a value that has several."""
        same, at = self._same.get(index, (None, 0))
        taken: int | None = None
        parent, _, last = self.every[index][0].rpartition("/")
        if last.isdecimal() and not _is_item(parent):
            taken = None if same is None else _next(same, at, self.every, self.chosen)
        elif (same is not None or not is_in_list) and (same is None or len(same) <= _FIELDS):
            first = same[0] if same else index
            if first not in self._apart:  # a key that is a number may come before it
                wanted = len(same) if same else 1
                self._apart[first] = self._spread(siblings, each, wanted, is_in_list=is_in_list)
            apart = self._apart[first]
            taken = apart[at] if at < len(apart) else None
        if taken is None:
            taken = siblings.pick(each)
        self.put(index, siblings, each, taken)

    def _spread(
        self, siblings: Siblings, each: Places, wanted: int, *, is_in_list: bool
    ) -> list[int]:
        """Return a place for each of several fields with the same value, in the order of the text.

        Fields of a row take places on one line; others those that no other value has taken.
        """
        starts, ends = each.starts, each.ends
        spans = zip(starts, ends, strict=True)
        free = [at for at, span in enumerate(spans) if is_in_list or span not in self.used]
        found: list[int] = []
        while free and len(found) < wanted:
            taken = siblings.pick(each, free)
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


def _is_item(pointer: Pointer) -> bool:
    return pointer.rpartition("/")[2].isdecimal()


def _around(pointer: Pointer, placed: Mapping[Pointer, Siblings]) -> Siblings | None:
    """Return what is placed of the nearest item of a list that the item at `pointer` is in."""
    while pointer:
        pointer = pointer.rpartition("/")[0]
        siblings = placed.get(pointer)
        if siblings is not None and siblings.starts and _is_item(pointer):
            return siblings
    return None
