"""Figures that say how good confidences are: error of calibration, Brier, log loss, AUC, coverage.

Neighbours: `plots` draws what is computed here. A figure never comes without what it was computed
from: bins are stated, accuracy comes with its coverage.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import NormalDist
from typing import Any, Final, Literal

from extractkit.calibration._pairs import Pairs, checked_pairs, is_share, listed, require_share
from extractkit.errors import UsageError
from extractkit.messages import require_number

__all__ = [
    "Bin",
    "CoveragePoint",
    "Reliability",
    "accuracy_at_coverage",
    "accuracy_coverage_curve",
    "auc",
    "brier_score",
    "expected_calibration_error",
    "log_loss",
    "wilson_interval",
]

_LEAST: Final = 1e-15
_MOST_BINS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The answers whose confidence lies in one range.

    Attributes:
        low: Where the range begins; of bins of equal mass the least confidence in it.
        high: Where it ends; of bins of equal mass the greatest confidence in it.
        count: How many answers.
        confidence: Their mean confidence.
        accuracy: The share that is right.
        interval: Wilson interval of `accuracy` at 95 %.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """The expected calibration error, with the bins that it depends on.

    Attributes:
        error: Mean distance between confidence and accuracy of the bins, weighed by count.
        scheme: "width": equally wide bins; "mass": bins with equally many answers, equal
            confidences kept together.
        bins: Those that hold answers, in order.
        count: How many answers.
    """

    error: float
    scheme: Literal["width", "mass"]
    bins: tuple[Bin, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePoint:
    """What is left when all answers below a threshold are abstained on.

    Attributes:
        threshold: The least confidence that is kept.
        kept: How many answers are kept.
        coverage: Their share of all.
        accuracy: The share of the kept that is right.
    """

    threshold: float
    kept: int
    coverage: float
    accuracy: float


def expected_calibration_error(
    confidences: Iterable[float],
    correct: Iterable[bool],
    *,
    bins: int = 10,
    scheme: Literal["width", "mass"] = "width",
    start: float = 0.0,
) -> Reliability:
    """Return the expected calibration error (ECE) with its bins.

    It depends on the bins: compare two figures only if both were computed with the same.

    Args:
        confidences: Probabilities.
        correct: Whether each answer was right.
        bins: How many bins, from 1 to 10,000.
        scheme: See Reliability. A bin of equal width holds its lower end; the last one both.
        start: Where the first bin of equal width begins; of two alternatives, the chosen one is
            never below 0.5.

    Raises:
        UsageError: If there are no pairs, `bins` is out of its range, or a confidence is below
            `start`.
    """
    pairs = sorted(checked_pairs(confidences, correct))
    named: Any = scheme
    if not isinstance(named, str) or named not in ("width", "mass"):
        raise UsageError(f"scheme={scheme!r:.60}: expected 'width' or 'mass'")
    require_number("expected_calibration_error", "bins", bins, low=1, whole=True)
    if bins > _MOST_BINS:
        raise UsageError(f"bins={bins}: expected at most {_MOST_BINS}")
    if not is_share(start) or start == 1.0:
        raise UsageError(f"start={start!r:.60}: expected a number from 0 to below 1")
    if scheme == "width" and pairs[0][0] < start:
        raise UsageError(f"a confidence is {pairs[0][0]}, below start={start}; lower the start")
    ranges = _by_width(pairs, bins, start) if scheme == "width" else _by_mass(pairs, bins)
    held = tuple(_bin(low, high, part) for low, high, part in ranges if part)
    error = sum(item.count * abs(item.accuracy - item.confidence) for item in held) / len(pairs)
    return Reliability(error=error, scheme=scheme, bins=held, count=len(pairs))


def _by_width(pairs: Pairs, bins: int, start: float) -> list[tuple[float, float, Pairs]]:
    # Divided last: 3 / 10 is 0.3, as a confidence would be, and 3 * 0.1 is not.
    edges = [start + (1.0 - start) * place / bins for place in range(bins)] + [1.0]
    cuts = [bisect_left(pairs, edge, key=itemgetter(0)) for edge in edges[:-1]] + [len(pairs)]
    return [
        (edges[place], edges[place + 1], pairs[cuts[place] : cuts[place + 1]])
        for place in range(bins)
    ]


def _by_mass(pairs: Pairs, bins: int) -> list[tuple[float, float, Pairs]]:
    parts: list[Pairs] = [[]]
    placed = 0
    for _, equal in groupby(pairs, key=itemgetter(0)):
        if parts[-1] and placed * bins >= len(parts) * len(pairs):
            parts.append([])
        together = list(equal)
        parts[-1].extend(together)
        placed += len(together)
    return [(part[0][0], part[-1][0], part) for part in parts]


def _bin(low: float, high: float, part: Pairs) -> Bin:
    right = sum(outcome for _, outcome in part)
    return Bin(
        low=low,
        high=high,
        count=len(part),
        confidence=math.fsum(value for value, _ in part) / len(part),
        accuracy=right / len(part),
        interval=wilson_interval(right, len(part)),
    )


def brier_score(confidences: Iterable[float], correct: Iterable[bool]) -> float:
    """Return the mean squared distance between confidence and outcome; 0 is best. No bins.

    Raises:
        UsageError: If there are no pairs.
    """
    pairs = checked_pairs(confidences, correct)
    return math.fsum((value - outcome) ** 2 for value, outcome in pairs) / len(pairs)


def log_loss(confidences: Iterable[float], correct: Iterable[bool]) -> float:
    """Return the mean negative logarithm of the probability of what came; 0 is best.

    Probabilities of 0 for what came count as 1e-15.

    Raises:
        UsageError: If there are no pairs.
    """
    pairs = checked_pairs(confidences, correct)
    masses = (value if outcome else 1.0 - value for value, outcome in pairs)
    return -math.fsum(math.log(max(mass, _LEAST)) for mass in masses) / len(pairs)


def auc(confidences: Iterable[float], correct: Iterable[bool]) -> float:
    """Return how often a right answer has the higher confidence of a right and a wrong one.

    The area under the ROC curve; equal confidences count half, 0.5 is chance.

    Raises:
        UsageError: If all are right or all are wrong: then there is nothing to compare.
    """
    pairs = sorted(checked_pairs(confidences, correct))
    right = sum(outcome for _, outcome in pairs)
    wrong = len(pairs) - right
    if not right or not wrong:
        raise UsageError(
            f"found {right} right and {wrong} wrong answers; expected at least one of each"
        )
    above, below = 0.0, 0
    for _, equal in groupby(pairs, key=itemgetter(0)):
        outcomes = [outcome for _, outcome in equal]
        rights = sum(outcomes)
        wrongs = len(outcomes) - rights
        above += rights * (below + wrongs / 2)
        below += wrongs
    return above / (right * wrong)


def wilson_interval(
    successes: int, count: int, *, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Return the Wilson interval of a share, in [0, 1].

    Args:
        successes: From 0 to `count`.
        count: At least 1.
        confidence_level: Two-sided.

    Raises:
        UsageError: If a number is out of its range.
    """
    require_share("confidence_level", confidence_level)
    if not (_is_whole(successes) and _is_whole(count) and count >= 1 and 0 <= successes <= count):
        raise UsageError(
            f"found {successes!r:.60} of {count!r:.60}; expected whole numbers, 0 to count of at "
            "least 1"
        )
    z = NormalDist().inv_cdf(0.5 + confidence_level / 2)
    share = successes / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    spread = share * (1 - share) / count + z * z / (4 * count * count)
    half = z * math.sqrt(spread) / (1 + z * z / count)
    low = 0.0 if not successes else max(0.0, middle - half)
    high = 1.0 if successes == count else min(1.0, middle + half)
    return low, high


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number, NumPy's too."""
    with suppress(TypeError):
        return not isinstance(value, bool) and operator.index(value) == value
    return False


def accuracy_coverage_curve(
    confidences: Iterable[float], correct: Iterable[bool]
) -> tuple[CoveragePoint, ...]:
    """Return what each threshold leaves, from the highest confidence to everything.

    Equal confidences are kept or abstained on together.

    Raises:
        UsageError: If there are no pairs.
    """
    pairs = sorted(checked_pairs(confidences, correct), reverse=True)
    points: list[CoveragePoint] = []
    kept = right = 0
    for threshold, equal in groupby(pairs, key=itemgetter(0)):
        outcomes = [outcome for _, outcome in equal]
        kept += len(outcomes)
        right += sum(outcomes)
        points.append(
            CoveragePoint(
                threshold=threshold,
                kept=kept,
                coverage=kept / len(pairs),
                accuracy=right / kept,
            )
        )
    return tuple(points)


def accuracy_at_coverage(curve: Sequence[CoveragePoint], coverage: float) -> CoveragePoint:
    """Return the point of a curve that keeps at least `coverage`, and as little more as it can.

    Raises:
        UsageError: If `coverage` is not above 0 and at most 1, or the curve is empty.
    """
    given = listed("curve", curve)
    points = [point for point in given if isinstance(point, CoveragePoint)]
    if len(points) < len(given):
        raise UsageError(f"curve={curve!r:.60}: expected what accuracy_coverage_curve gives")
    if not is_share(coverage) or coverage == 0.0 or not points:
        raise UsageError(f"coverage={coverage!r:.60}: expected above 0 and at most 1, and a curve")
    return next(point for point in points if point.coverage >= coverage - 1e-12)
