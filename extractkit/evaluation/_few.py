"""Intervals of few inputs, which draws would make too narrow.

What is drawn from two or three inputs says nothing of those that were not seen. From so few that
even a sign test could not tell a gain from chance at this level (Dixon, Mood 1946), an amount has
no interval at all; below `CAUTIOUS` inputs what is drawn is joined with what needs no draws.
Neighbours: `_intervals` and `_quantiles` choose, `_tails` has the distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import Final, TypeAlias

from extractkit.evaluation._tails import exact_bounds, share_bounds, student_quantile

__all__ = [
    "CAUTIOUS",
    "Bounds",
    "counted_bounds",
    "fewer_inputs",
    "gain_bounds",
    "hull",
    "mean_bounds",
    "ratio_bounds",
    "says_too_little",
    "shows_a_constant",
    "unseen_bounds",
]

Bounds: TypeAlias = tuple[float, float]

CAUTIOUS: Final = 60
"""From so many inputs on, draws are good enough by themselves."""
_SURE: Final = 1e-12


def says_too_little(count: int, level: float) -> bool:
    """Whether so few inputs could all gain by chance, as in a two-sided sign test: 5 at 95 %."""
    return 2.0 * math.pow(0.5, count) > 1.0 - level + _SURE


def shows_a_constant(count: int, level: float) -> bool:
    """Whether so many equal values show that nearly all inputs have this one (Wilks 1941).

    At 95 %, 59 values show it of 95 % of inputs.
    """
    return math.pow(level, count) <= 1.0 - level


def hull(*bounds: Bounds) -> Bounds:
    """Return the least interval that holds them all."""
    return min(low for low, _ in bounds), max(high for _, high in bounds)


def counted_bounds(share: float, effective: float, count: int, level: float) -> Bounds:
    """Return the interval of a share: of few inputs the exact one (Clopper, Pearson 1934).

    The mid-P interval, which holds on average, is at some shares of few inputs below its level.

    Args:
        share: What was seen.
        effective: How many inputs of 0 or 1 say as much.
        count: How many inputs there are.
        level: Two-sided.
    """
    bounds = exact_bounds if count < CAUTIOUS else share_bounds
    return bounds(share * effective, effective, level)


def fewer_inputs(effective: float, count: int, level: float) -> float:
    """Return how many inputs count, where their number was itself read off a few of them.

    The ratio of the normal to Student's quantile, squared, as in Korn and Graubard (1998).

    Args:
        effective: How many inputs of 0 or 1 would spread as much as these.
        count: How many inputs there are, at least 2.
        level: Two-sided.
    """
    share = (1.0 + level) / 2.0
    return effective * (NormalDist().inv_cdf(share) / student_quantile(share, count - 1)) ** 2


def mean_bounds(values: Sequence[float], level: float) -> Bounds:
    """Return Student's interval of a mean, of at least two values."""
    count = len(values)
    mean = fmean(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    way = student_quantile((1.0 + level) / 2.0, count - 1) * math.sqrt(spread / count)
    return mean - way, mean + way


def gain_bounds(gains: Sequence[float], level: float) -> Bounds:
    """Return the interval of a mean of gains from -1 to 1.

    From so few inputs that all could gain by chance, no gains spread more than those of -1 or 1
    (Hoeffding 1956): the exact interval of that share. From more, two inputs are added, of which
    half gain or lose all, as Agresti and Min (2005) do, with Student's quantile.

    Args:
        gains: One for each input.
        level: Two-sided.
    """
    count = len(gains)
    if says_too_little(count, level):
        low, high = exact_bounds(math.fsum((gain + 1.0) / 2.0 for gain in gains), count, level)
        return 2.0 * low - 1.0, 2.0 * high - 1.0
    mean = math.fsum(gains) / (count + 2.0)
    spread = (math.fsum(gain * gain for gain in gains) + 1.0) / (count + 2.0) - mean * mean
    way = student_quantile((1.0 + level) / 2.0, count - 1) * math.sqrt(spread / (count + 2.0))
    return max(mean - way, -1.0), min(mean + way, 1.0)


def unseen_bounds(above: Sequence[float], below: Sequence[float], level: float) -> Bounds:
    """Return the interval of a share of sums that leaves room for an input unlike all others.

    Where one input in a hundred always fails, 100 inputs have none of them in 37 % of data sets,
    and then nothing that was seen spreads as much as it would. So one input of the mean size is
    added, half of it right and half wrong, as Jeffreys (1946) does with a share and Agresti and
    Min (2005) do with differences, with Student's quantile.

    Args:
        above: One for each input, at least two, from 0 to that of `below`.
        below: One for each input; their sum is above 0.
        level: Two-sided.
    """
    size, whole = fmean(below), math.fsum(below)
    share = (math.fsum(above) + size / 2.0) / (whole + size)
    apart = math.fsum((one - share * other) ** 2 for one, other in zip(above, below, strict=True))
    apart += size * size * (share * share + (1.0 - share) ** 2) / 2.0
    quantile = student_quantile((1.0 + level) / 2.0, len(above) - 1)
    way = quantile * math.sqrt(apart) / (whole + size)
    return max(share - way, 0.0), min(share + way, 1.0)


def ratio_bounds(above: Sequence[float], below: Sequence[float], level: float) -> Bounds:
    """Return Fieller's (1954) interval of a ratio of sums; its upper end may be infinite.

    Args:
        above: One for each input, at least two.
        below: One for each input; their sum is above 0.
        level: Two-sided.
    """
    count = len(above)
    top, bottom = fmean(above), fmean(below)
    factor = student_quantile((1.0 + level) / 2.0, count - 1) ** 2 / (count * (count - 1.0))

    def product(one: Sequence[float], other: Sequence[float]) -> float:
        means = fmean(one), fmean(other)
        return factor * math.fsum(
            (a - means[0]) * (b - means[1]) for a, b in zip(one, other, strict=True)
        )

    square = bottom * bottom - product(below, below)
    half = top * bottom - product(above, below)
    rest = top * top - product(above, above)
    inside = half * half - square * rest
    if square <= 0.0 or inside < 0.0:
        # The denominator may be nothing: only the lower end can be told, if any.
        is_bounded = rest > 0.0 and inside >= 0.0 and half > 0.0
        return (rest / (half + math.sqrt(inside)) if is_bounded else 0.0), math.inf
    return max((half - math.sqrt(inside)) / square, 0.0), (half + math.sqrt(inside)) / square
