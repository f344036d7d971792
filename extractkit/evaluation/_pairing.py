"""Which elements of two lists belong together.

Neighbours: `_judging` says how alike two elements are. The assignment is written out here, so that
an answer is compared without an extra: SciPy, which has one, takes 80 MB, and the matrices are
small (MOST_PAIRS).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

__all__ = ["MOST_INNER", "MOST_PAIRS", "assigned", "by_key"]

MOST_PAIRS: Final = 10_000
"""Beyond so many possible pairs, elements are paired by position."""
MOST_INNER: Final = 250_000
"""The same of pairs with all those of the lists in the elements: each likeness pairs these anew."""

Pairs: TypeAlias = list[tuple[int, int]]


def by_key(first: Sequence[str | None], second: Sequence[str | None]) -> Pairs:
    """Return the pairs of positions with equal keys, repeats in their order; None pairs nothing."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, key in reversed(list(enumerate(second))):
        if key is not None:
            places[key].append(place)
    return [
        (place, places[key].pop())
        for place, key in enumerate(first)
        if key is not None and places.get(key)
    ]


def assigned(count: int, others: int, alike: Callable[[int, int], float]) -> Pairs:
    """Return the pairs that are together most alike; what is not alike at all is no pair.

    The Hungarian method: cubic in the number of elements.

    Args:
        count: How many elements the first list has.
        others: How many the second has.
        alike: From 0 to 1, by positions.
    """
    if count > others:
        turned = assigned(others, count, lambda row, column: alike(column, row))
        return sorted((column, row) for row, column in turned)
    scores = [[alike(row, column) for column in range(others)] for row in range(count)]
    found = _Assignment(scores).solved()
    return [(row, column) for row, column in enumerate(found) if scores[row][column]]


class _Assignment:
    """Gives each row a column of its own, at the least cost; no more rows than columns.

    Rows and columns count from 1; 0 is nobody. Prices keep the cost that is left of every pair
    from below 0, and it is 0 for the pairs that are taken.
    """

    def __init__(self, scores: Sequence[Sequence[float]]) -> None:
        self._scores = scores
        self._width = len(scores[0]) if scores else 0
        self._of_row = [0.0] * (len(scores) + 1)
        self._of_column = [0.0] * (self._width + 1)
        self._taken = [0] * (self._width + 1)

    def solved(self) -> list[int]:
        """Return the column of each row, from 0 up."""
        for row in range(1, len(self._scores) + 1):
            self._place(row)
        found = [0] * len(self._scores)
        for column, row in enumerate(self._taken[1:]):
            if row:
                found[row - 1] = column
        return found

    def _place(self, row: int) -> None:
        """Give one more row a column; others may have to move."""
        self._taken[0], column = row, 0
        least, before = [math.inf] * (self._width + 1), [0] * (self._width + 1)
        seen = [False] * (self._width + 1)
        while self._taken[column]:
            seen[column] = True
            self._look(column, least, before, seen)
            free = [other for other in range(1, self._width + 1) if not seen[other]]
            following = min(free, key=least.__getitem__)
            self._pay(least[following], least, seen)
            column = following
        while column:
            self._taken[column] = self._taken[before[column]]
            column = before[column]

    def _look(
        self, column: int, least: list[float], before: list[int], seen: Sequence[bool]
    ) -> None:
        row = self._taken[column]
        for other in range(1, self._width + 1):
            cost = self._cost(row, other) - self._of_row[row] - self._of_column[other]
            if not seen[other] and cost < least[other]:
                least[other], before[other] = cost, column

    def _pay(self, step: float, least: list[float], seen: Sequence[bool]) -> None:
        for column in range(self._width + 1):
            if seen[column]:
                self._of_row[self._taken[column]] += step
                self._of_column[column] -= step
            else:
                least[column] -= step

    def _cost(self, row: int, column: int) -> float:
        # Of pairs that are equally alike, those that stand alike are taken.
        return 1e-6 * abs(row - column) / self._width - self._scores[row - 1][column - 1]
