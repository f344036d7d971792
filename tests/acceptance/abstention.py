"""The promise of a policy, over simulated populations of which the truth is known.

    python -m tests.acceptance.abstention [--populations 1000]

Of each population answers are drawn, a policy is fitted on them, and the true accuracy of all that
it would ever keep is looked up. Populations differ in how much their confidence says, in how it is
spread, and three in ten have a range in which accuracy drops, so that no map that rises fits.

Bounds, for each number of answers: the true accuracy of the kept is at or above the target in at
least the stated share of populations; and coverage is above 0 wherever the target can be reached.
"Can be reached" means that the exact test of some threshold passes for all samples but one in ten
thousand, on the four fifths of the answers that are tested, at the level of the last starting
point. Where less is given, chance decides. Beside it stands the share among those where somebody
who knows the best threshold beforehand, and tests that one alone on all answers, passes so often.

Then the hardest case: confidence says nothing, and the accuracy is a hair below the target
everywhere, so that every threshold is wrong. One may be given out in one minus the stated share of
samples at most.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from dataclasses import dataclass
from functools import cache
from typing import Final

from extractkit.calibration import AbstentionPolicy
from extractkit.calibration._binomial import upper_tail

from .shared_data import Bounds, machine

TARGET: Final = 0.8
LEVEL: Final = 0.9
_COUNTS: Final = (100, 300, 1000)
_GRID: Final = 400
_CERTAIN: Final = 0.9999
_TESTED: Final = 0.8
_LAST_SHARE: Final = 0.1
"""Of the level, at the last starting point."""


class Population:
    """Answers of which each confidence is right with a probability that need not rise with it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._steep, self._shift = rng.uniform(0.5, 6), rng.uniform(-2, 2)
        self._crowd = rng.uniform(0.5, 4)
        self._dip = rng.uniform(0.3, 0.9) if rng.random() < 0.3 else 2.0

    def right(self, confidence: float) -> float:
        """The probability that an answer of this confidence is right."""
        odds = self._steep * 1.5 * (2 * confidence - 1) + self._shift
        share = 1 / (1 + math.exp(-odds))
        return share * (0.6 if self._dip < confidence < self._dip + 0.1 else 1.0)

    def draw(self, count: int) -> tuple[list[float], list[bool]]:
        """So many confidences, and whether each was right."""
        values = [self._rng.random() ** (1 / self._crowd) for _ in range(count)]
        return values, [self._rng.random() < self.right(value) for value in values]

    def curve(self) -> list[tuple[float, float]]:
        """(threshold, true accuracy of what it keeps) at each 400th of coverage, lowest first."""
        grid = [((place + 0.5) / _GRID) ** (1 / self._crowd) for place in range(_GRID)]
        points: list[tuple[float, float]] = []
        right = 0.0
        for kept, value in enumerate(reversed(grid), 1):
            right += self.right(value)
            points.append((value, right / kept))
        return points[::-1]


def accuracy_at(curve: list[tuple[float, float]], threshold: float) -> float:
    """The true accuracy of all that a threshold keeps."""
    kept = next((place for place, (value, _) in enumerate(curve) if value >= threshold), _GRID - 1)
    return curve[kept][1]


def can_be_shown(curve: list[tuple[float, float]], count: int, level: float) -> float:
    """How likely some threshold, known beforehand, passes its test on so many answers."""
    best = 0.0
    for place in range(0, _GRID, 4):
        kept, accuracy = int(count * (_GRID - place) / _GRID), curve[place][1]
        if accuracy > TARGET and (least := _needed(kept, level)) <= kept:
            best = max(best, upper_tail(least, kept, min(accuracy, 1 - 1e-12)))
    return best


@cache
def _needed(kept: int, level: float) -> int:
    """How many of the kept have to be right, for the exact test to pass."""
    low, high = 0, kept + 1
    while low < high:
        middle = (low + high) // 2
        if upper_tail(middle, kept, TARGET) <= level:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one population."""

    holds: bool
    found: bool
    can_be_reached: bool
    is_known_to_pass: bool
    of_most: float


def main() -> int:
    """Simulate, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--populations", type=int, default=1000)
    populations = parser.parse_args().populations
    bounds = Bounds()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    print(f"target {TARGET:.0%}, stated share {LEVEL:.0%}, {populations} populations each")
    for count in _COUNTS:
        _simulate(populations, count, bounds)
    _flat(2 * populations, bounds)
    return bounds.exit_code()


def _simulate(populations: int, count: int, bounds: Bounds) -> None:
    rows = [row_of(seed, count) for seed in range(populations)]
    held = sum(row.holds for row in rows)
    reached = [row for row in rows if row.can_be_reached]
    known = [row for row in rows if row.is_known_to_pass]
    print(f"\n{count} answers each:")
    bounds.check(
        held >= LEVEL * populations,
        f"true accuracy of the kept at or above {TARGET:.0%} in {LEVEL:.0%} at least",
        f"{held / populations:.1%}",
    )
    bounds.check(
        bool(reached) and all(row.found for row in reached),
        "coverage above 0 wherever the target can be reached",
        f"{sum(row.found for row in reached)} of {len(reached)}",
    )
    of_most = sum(row.of_most for row in known) / max(1, len(known))
    print(
        f"where the best threshold is known and tested alone: {sum(row.found for row in known)} of "
        f"{len(known)}; there, coverage is {of_most:.0%} of the most that is possible on the mean"
    )


def row_of(seed: int, count: int) -> Row:
    """Draw answers of a population, fit a policy on them, and look the truth up."""
    population = Population(random.Random(seed))
    curve = population.curve()
    confidences, correct = population.draw(count)
    policy = AbstentionPolicy.fit(
        confidences, correct, target_accuracy=TARGET, confidence_level=LEVEL
    )
    threshold = policy.threshold
    most = max((_GRID - at for at, (_, share) in enumerate(curve) if share >= TARGET), default=0)
    coverage = sum(policy.keeps(value) for value in confidences) / count
    level = 1 - LEVEL
    tested = can_be_shown(curve, int(_TESTED * count), _LAST_SHARE * level)
    return Row(
        holds=threshold is None or accuracy_at(curve, threshold) >= TARGET,
        found=threshold is not None,
        can_be_reached=tested >= _CERTAIN,
        is_known_to_pass=can_be_shown(curve, count, level) >= _CERTAIN,
        of_most=coverage * _GRID / most if most else 0.0,
    )


def _flat(samples: int, bounds: Bounds) -> None:
    print("\nconfidence that says nothing, accuracy just below the target:")
    for count in _COUNTS:
        wrong = sum(is_given_out_wrongly(seed, count) for seed in range(samples))
        what = f"{count} answers: a threshold is given out in {1 - LEVEL:.0%} of samples at most"
        bounds.check(wrong <= (1 - LEVEL) * samples, what, f"{wrong / samples:.1%}")


def is_given_out_wrongly(seed: int, count: int) -> bool:
    """Whether there is a threshold, where none reaches the target."""
    rng = random.Random(seed)
    confidences = [rng.random() for _ in range(count)]
    correct = [rng.random() < TARGET - 1e-4 for _ in range(count)]
    policy = AbstentionPolicy.fit(
        confidences, correct, target_accuracy=TARGET, confidence_level=LEVEL
    )
    return policy.threshold is not None


if __name__ == "__main__":
    sys.exit(main())
