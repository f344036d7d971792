"""Where a list states a value more often than the source does.

Neighbours: `align` lets every value have its place, this module says where one place had to do
for several. It is a doubt and no verdict: a header can hold for every row of a table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from operator import attrgetter, gt

from extractkit.grounding.align import Places
from extractkit.paths import Pointer, join, split
from extractkit.results import Finding, Validity

__all__ = ["shared_places"]

_HEAD, _COUNT = attrgetter("head"), attrgetter("count")


def shared_places(
    pointers: Sequence[Pointer],
    places: Sequence[Places],
    text: str,
    count_folded: Callable[[str], int],
) -> Iterator[Finding]:
    """Yield a warning for each value that one column of a list has more often than the text.

    Args:
        pointers: Of the found values, in the order of the answer.
        places: Every place of each of these.
        text: What the offsets count in.
        count_folded: Returns how often a string stands in the text after folding.
    """
    # Most values are claimed no more often than they stand there, whatever their columns.
    firsts = Counter(map(_HEAD, places))
    groups: defaultdict[tuple[Pointer, tuple[int, ...]], list[Places]] = defaultdict(list)
    if not any(map(gt, map(firsts.__getitem__, map(_HEAD, places)), map(_COUNT, places))):
        return
    for pointer, each in zip(pointers, places, strict=True):
        if firsts[each.head] > each.count and (column := _column(pointer)) != pointer:
            groups[column, each.all_starts].append(each)
    for (column, starts), group in groups.items():
        if len(group) > len(starts):
            start, end = group[0].first
            said, count = text[start:end], len(starts)
            if group[0].grade == "exact" and any(map(str.isalpha, said)):
                # Where a string has places as it is, those in other letters are left out.
                count = max(count, count_folded(said))
            if len(group) > count:
                yield _warning(column, len(group), count, said)


def _column(pointer: Pointer) -> Pointer:
    """Return `pointer` with every list position as `*`."""
    return join("", *("*" if token.isdecimal() else token for token in split(pointer)))


def _warning(column: Pointer, values: int, places: int, said: str) -> Finding:
    shown = said if len(said) <= 40 else f"{said[:37]}..."
    where = "one place" if places == 1 else f"{places} places"
    return Finding(
        level=Validity.GROUNDED,
        path=join("", *takewhile("*".__ne__, split(column))),
        message=f"{values} values at {column} share {where} in the source ({shown!r}), so that "
        "some of them may be invented",
        severity="warning",
        code="shared_place",
    )
