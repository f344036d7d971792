"""The lowest threshold that is shown to reach a target, by tests in an order that was fixed before.

For each threshold t of a list that was fixed beforehand, the answers with a confidence of at least
t are a sample of those that t keeps; how many of them are right is binomial, whatever the
distribution. So "the accuracy of what t keeps is below the target" is tested exactly, and the
lowest t for which that is rejected is taken. Many thresholds are tested, and still all errors
together stay below 1 - confidence_level: they are tested in an order that was fixed beforehand,
and a level is handed on from a rejected hypothesis to the next one only.

This is split fixed-sequence testing as in Learn then Test (Angelopoulos, Bates, Candes, Jordan and
Lei, 2021, arXiv:2110.01052): a part of the pairs that is not tested says where to begin. From there
it goes on to lower thresholds. Two more starting points at higher ones share the level, as in
the fallback procedure (Wiens, Pharmaceutical Statistics 2, 2003), for when the first test fails;
where no labels say where to begin, one at a lower one, too.

Neighbours: `_binomial` has the tails, `_abstention` is the policy with the threshold.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, TypeAlias

from extractkit.calibration._binomial import least_count, upper_tail
from extractkit.calibration._maps import PlattScaling
from extractkit.calibration._pairs import Pairs, checked_pairs, listed

__all__ = ["Grid", "ThresholdTest", "apart", "claimed"]

_STARTS: Final = ((1.0, 0.7), (0.5, 0.2), (0.25, 0.1))
"""Starting points: coverage as a share of the first one's, and share of the level."""
_BELIEVED_STARTS: Final = ((1.0, 0.5), (0.5, 0.2), (0.25, 0.1))
"""The same where the list believes the confidences: the rest is for a start of its own."""
_WIDE_START: Final = (0.75, 0.2)
"""Coverage of all of the list, and share of the level: for when the most confident are wrong."""
_ROOM: Final = 1.2
"""So many times the fewest answers that can show anything are wanted for a start."""
_GRID_SHARE: Final = 5
"""One pair of so many says which thresholds are tested and in which order, and is not tested."""
_LINE_WEIGHT: Final = 10
"""As many pairs as the line through all of them counts for, where thresholds are put in order."""

Grid: TypeAlias = list[tuple[float, float]]
"""(confidence, probability of being right as far as is known), highest confidence first."""


def apart(pairs: Pairs) -> tuple[Grid, Pairs]:
    """Return what one pair in five says, and the other pairs; by chance, not by order.

    Few pairs say little of where the accuracy is highest: a line through them says more. It
    counts as much as so many of them.
    """
    order = sorted(range(len(pairs)), key=lambda at: hashlib.sha256(str(at).encode()).digest())
    size = max(1, len(pairs) // _GRID_SHARE)
    untested = [pairs[at] for at in order[:size]]
    line = PlattScaling.fit((value for value, _ in untested), (right for _, right in untested))
    weight = size / (size + _LINE_WEIGHT)
    grid = [
        (value, (1.0 - weight) * line.apply(value) + weight * right) for value, right in untested
    ]
    grid.sort(reverse=True)
    return grid, [pairs[at] for at in order[size:]]


def claimed(unlabelled: Iterable[float]) -> Grid:
    """Return confidences, believed as they are: the order may be a poor one, the test is exact."""
    values = listed("unlabelled", unlabelled)
    pairs = checked_pairs(values, [True] * len(values))
    return sorted(((value, value) for value, _ in pairs), reverse=True)


class ThresholdTest:
    """Tests of one threshold after the other on the same pairs."""

    def __init__(self, pairs: Pairs, target: float, level: float) -> None:
        self._values = [value for value, _ in pairs]
        self._target, self._level = target, level
        self._least = least_count(target, level * _STARTS[0][1])
        self._right_from = [0] * (len(pairs) + 1)
        for place in range(len(pairs) - 1, -1, -1):
            self._right_from[place] = self._right_from[place + 1] + pairs[place][1]

    def counts(self, threshold: float) -> tuple[int, int]:
        """Return how many pairs a threshold keeps, and how many of these are right."""
        place = bisect_left(self._values, threshold)
        return len(self._values) - place, self._right_from[place]

    def lowest(self, grid: Grid, *, is_claimed: bool = False) -> float | None:
        """Return the lowest threshold that is shown to reach the target.

        Args:
            grid: Of answers that are not among the tested pairs.
            is_claimed: Nothing but the confidences themselves says where it is worth beginning.
        """
        found: float | None = None
        carried = 0.0
        for threshold, share in self._sequence(grid, is_claimed=is_claimed):
            level = carried + share * self._level
            carried = 0.0
            if not level:
                continue
            kept, right = self.counts(threshold)
            if kept and upper_tail(right, kept, self._target) <= level:
                carried = level
                found = threshold if found is None else min(found, threshold)
        return found

    def _sequence(self, grid: Grid, *, is_claimed: bool) -> list[tuple[float, float]]:
        """Return thresholds in the order of their tests, with the share of the level of each."""
        thresholds, signals = self._signals(grid)
        first = max(range(len(thresholds)), key=signals.__getitem__)
        sequence: list[tuple[float, float]] = []
        end = len(thresholds)
        for coverage, share in _BELIEVED_STARTS if is_claimed else _STARTS:
            start = min(int((first + 1) * coverage), end - 1) if end < len(thresholds) else first
            start = max(start, 0)
            chain = thresholds[start:end]
            sequence += [(value, share * (not place)) for place, value in enumerate(chain)]
            end = start
            if not end:
                break
        if is_claimed:  # thresholds may come twice: each time has a level of its own
            coverage, share = _WIDE_START
            wide = thresholds[int(len(thresholds) * coverage) :]
            sequence += [(value, share * (not place)) for place, value in enumerate(wide)]
        return sequence

    def _signals(self, grid: Grid) -> tuple[list[float], list[float]]:
        """Return thresholds from the highest one down, and how clearly each should pass.

        In standard errors, by what the grid says; far below 0 where so few answers are kept that
        none could pass.
        """
        share = len(self._values) / len(grid)
        thresholds: list[float] = []
        signals: list[float] = []
        total = 0.0
        for kept, (value, accuracy) in enumerate(grid, 1):
            total += accuracy
            tested = kept * share
            signal = (total / kept - self._target) * math.sqrt(tested)
            if thresholds and thresholds[-1] == value:
                thresholds.pop()
                signals.pop()
            thresholds.append(value)
            signals.append(signal if tested >= self._least * _ROOM else tested - len(self._values))
        if thresholds[-1] > 0.0:
            thresholds.append(0.0)
            signals.append(signals[-1])
        return thresholds, signals

    def why_not(self) -> str:
        """Return why no threshold was found."""
        count = len(self._values)
        if count < self._least:
            return (
                f"{count} tested pairs cannot show an accuracy of {self._target:g}, if all are "
                f"right; {self._least} can: give more pairs"
            )
        right = self._right_from[0]
        return (
            f"no threshold is shown to reach {self._target:g}: of {count} tested answers {right} "
            "are right; give more pairs, a lower target, or a better model"
        )
