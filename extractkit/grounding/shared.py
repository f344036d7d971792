"""Where a list states a value more often than the source does.

Neighbours: `align` lets every value have its place, this module says where one place had to do
for several. It is a doubt and no verdict: a header can hold for every row of a table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from operator import attrgetter, gt

from extractkit.grounding.align import Places, is_in_list
from extractkit.grounding.glance import Glance, Seen
from extractkit.paths import Pointer, join, split
from extractkit.results import Finding, Validity

__all__ = ["may_share", "shared_places"]

_HEAD, _COUNT = attrgetter("head"), attrgetter("count")


def may_share(
    places: Mapping[Pointer, Places | Seen],
    read: Mapping[Pointer, Places],
    seen: Sequence[Seen],
    glance: Glance,
) -> set[Seen]:
    """Return the values of which one place has been seen, and others may have the same places.

    These are claimed more often than they are seen, or where they are seen stands another value
    of the same column of a list.

    Args:
        places: Every place of each found value, or the one that was seen.
        read: The former of these.
        seen: What was seen.
        glance: Where it was seen.
    """
    if not seen:
        return set()
    few = {each for each in seen if each.claims > 1 and not glance.has_as_many(each)}
    first: dict[int | str, Seen] = {}
    contested: defaultdict[int | str, set[Places | Seen]] = defaultdict(set)
    for each in seen:
        other = first.setdefault(each.mark, each)
        if other is not each:
            contested[each.mark] |= {other, each}
    done: set[Places] = set()
    for pointer, found in read.items():
        if found not in done and is_in_list(pointer):
            done.add(found)
            there = chain.from_iterable(glance.marks_at(start) for start, _ in found.spans)
            for mark in first.keys() & there:
                contested[mark] |= {first[mark], found}
    return few | _same_column(places, tuple(contested.values())) if contested else few


def _same_column(
    places: Mapping[Pointer, Places | Seen], contested: Sequence[set[Places | Seen]]
) -> set[Seen]:
    """Return what is seen in those of the groups of which two values are in one column."""
    involved = set(chain.from_iterable(contested))
    claims = [(each, pointer) for pointer, each in places.items() if each in involved]
    in_lists = [claim for claim in claims if is_in_list(claim[1])]
    found: set[Seen] = set()
    if len(in_lists) < 2:
        return found
    columns: defaultdict[Places | Seen, set[Pointer]] = defaultdict(set)
    for each, pointer in in_lists:
        columns[each].add(_column(pointer))
    for group in contested if len(columns) > 1 else ():
        together = Counter(chain.from_iterable(columns[each] for each in group))
        if any(count > 1 for count in together.values()):
            found.update(each for each in group if isinstance(each, Seen))
    return found


def shared_places(
    found: Mapping[Pointer, Places],
    text: str,
    count_folded: Callable[[str], int],
) -> Iterator[Finding]:
    """Yield a warning for each value that one column of a list has more often than the text.

    Args:
        found: Every place of each value that may be one, in the order of the answer.
        text: What the offsets count in.
        count_folded: Returns how often a string stands in the text after folding.
    """
    # Most values are claimed no more often than they stand there, whatever their columns.
    places = found.values()
    firsts = Counter(map(_HEAD, places))
    groups: defaultdict[tuple[Pointer, tuple[tuple[int, int], ...]], list[Places]] = defaultdict(
        list
    )
    if not any(map(gt, map(firsts.__getitem__, map(_HEAD, places)), map(_COUNT, places))):
        return
    for pointer, each in found.items():
        if firsts[each.head] > each.count and (column := _column(pointer)) != pointer:
            groups[column, each.spans].append(each)
    for (column, spans), group in groups.items():
        if len(group) > len(spans):
            start, end = group[0].first
            said, count = text[start:end], len(spans)
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
