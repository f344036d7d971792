"""Tails of the binomial and of Student's distribution, by the incomplete beta function.

Neighbours: `_intervals` and `_quantiles` ask for them. Nothing here needs a package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

__all__ = ["at_least", "exact_bounds", "share_bounds", "student_quantile"]

_TINY: Final = 1e-300
_STEPS: Final = 60


@lru_cache(maxsize=4096)
def share_bounds(successes: float, count: float, level: float) -> tuple[float, float]:
    """Return the mid-P interval of a share: no share in it is refused by what was seen.

    A share is refused if what was seen or more, or what was seen or less, has a probability below
    (1 - level) / 2, what was seen itself counted half.

    Args:
        successes: From 0 to `count`; both may be fractions, of an effective number of inputs.
        count: Above 0.
        level: Two-sided, above 0 and below 1.
    """
    tail = (1.0 - level) / 2.0

    def above(share: float) -> float:
        return at_least(successes, count, share) + at_least(successes + 1.0, count, share)

    low = 0.0 if successes <= 0.0 else _solved(lambda share: above(share) / 2.0 - tail)
    high = 1.0 if successes >= count else _solved(lambda share: above(share) / 2.0 - 1.0 + tail)
    return low, high


@lru_cache(maxsize=4096)
def exact_bounds(successes: float, count: float, level: float) -> tuple[float, float]:
    """Return the interval of a share that holds it at least as often as it says.

    After Clopper and Pearson (1934): what was seen counts whole in both tails.

    Args:
        successes: From 0 to `count`; both may be fractions, of an effective number of inputs.
        count: Above 0.
        level: Two-sided, above 0 and below 1.
    """
    tail, failures = (1.0 - level) / 2.0, count - successes
    low, high = 0.0, 1.0
    if successes > 0.0:
        low = _solved(lambda share: _beta(share, successes, failures + 1.0) - tail)
    if failures > 0.0:
        high = _solved(lambda share: _beta(share, successes + 1.0, failures) - 1.0 + tail)
    return low, high


@lru_cache(maxsize=256)
def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's distribution.

    Args:
        share: Above 0.5 and below 1.
        freedom: Degrees of freedom, at least 1.
    """
    both = 2.0 * (1.0 - share)
    part = _solved(lambda x: _beta(x, freedom / 2.0, 0.5) - both)
    return math.sqrt(freedom * (1.0 - part) / part)


def at_least(successes: float, count: float, share: float) -> float:
    """Return the probability of at least so many successes where each has `share`."""
    if successes <= 0.0:
        return 1.0
    if successes > count:
        return 0.0
    if successes == count:
        return math.pow(share, count)
    return _beta(share, successes, count - successes + 1.0)


def _solved(rising: Callable[[float], float]) -> float:
    """Return where a rising function of [0, 1] crosses 0."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if rising(middle) < 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of I_x(a, b), by Lentz's method."""
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for step in range(1, 400):
        twice = a + 2 * step
        for factor in (
            step * (b - step) * x / ((twice - 1.0) * twice),
            -(a + step) * (a + b + step) * x / (twice * (twice + 1.0)),
        ):
            d = 1.0 / _apart(1.0 + factor * d)
            c = _apart(1.0 + factor / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return value


def _apart(value: float) -> float:
    """Return a number that can be divided by."""
    return value if abs(value) > _TINY else _TINY
