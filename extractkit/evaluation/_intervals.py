"""Shares, means, ratios and differences over inputs, with their intervals.

    rate_interval         a share of inputs
    mean_interval         an amount per input: tokens, dollars
    ratio_interval        a sum over a sum: tokens for each right answer
    difference_interval   two configurations on the same inputs

Inputs are what is drawn anew in a bootstrap, never samples: two answers to one input say less than
answers to two. The page `docs/reference/evaluation.md` says which method is used where, after
whom, and where it fails. Neighbours: `_quantiles` has medians and tails, `_tails` the
distributions, `_resampling` draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.evaluation._interval import (
    RESAMPLES,
    Interval,
    constant,
    numbers,
    require_pairs,
    require_settings,
)
from extractkit.evaluation._resampling import Draws, bca, studentised, widened
from extractkit.evaluation._tails import share_bounds
from extractkit.messages import require_number

__all__ = ["difference_interval", "mean_interval", "rate_interval", "ratio_interval"]

_FEW: Final = 10.0


def rate_interval(
    values: Iterable[float],
    *,
    samples: int | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a share of inputs with its interval.

    Args:
        values: One for each input, in [0, 1]: whether it holds, or the share of its samples.
        samples: How many there are of each input, the most: the interval is then no narrower than
            if all were inputs of their own. None: unknown.
        level: Two-sided.
        resamples: How often inputs are drawn anew, where they are.
        seed: Of the draws: the same values give the same interval.

    Raises:
        UsageError: If there are no values, one is not in [0, 1], or a setting is out of its range.
    """
    shares = numbers("values", values, low=0.0, high=1.0)
    require_settings(level, resamples)
    share, count = fmean(shares), len(shares)
    effective = _effective(shares, share, _most(count, samples))
    if effective is not None:
        low, high = share_bounds(share * effective, effective, level)
        return Interval(
            estimate=share, low=low, high=high, count=count, level=level, method="mid-p"
        )
    low, high = bca(shares, None, share, level, Draws(count, resamples, seed))
    return Interval(estimate=share, low=low, high=high, count=count, level=level, method="bca")


def _most(places: float, samples: int | None) -> float:
    """Return the most inputs of 0 or 1 that say as much: as many as there are answers."""
    if samples is None:
        return math.inf
    require_number("an interval", "samples", samples, low=1, whole=True)
    return places * samples


def _effective(shares: Sequence[float], share: float, most: float) -> float | None:
    """Return how many inputs of 0 or 1 say as much as these; None where they can be drawn anew.

    Drawn anew, shares that are nearly all the same would say that nothing else is possible.
    """
    count = len(shares)
    spread = fmean([(value - share) ** 2 for value in shares])
    if all(value in (0.0, 1.0) for value in shares) or spread == 0.0:
        return float(count)
    effective = max(float(count), count * share * (1.0 - share) / spread)
    if effective >= most:
        return most
    return effective if effective * min(share, 1.0 - share) < _FEW else None


def _effective_ratio(
    above: Sequence[float], below: Sequence[float], ratio: float, counted: int, most: float
) -> float | None:
    """Return the same of a share of sums: how many places, if each were an input of its own."""
    if ratio <= 0.0 or ratio >= 1.0:
        return float(counted)
    apart = [(one - ratio * other) ** 2 for one, other in zip(above, below, strict=True)]
    spread = math.fsum(apart) / math.fsum(below) ** 2
    if math.isclose(spread, 0.0, abs_tol=1e-12):
        return float(counted)
    effective = ratio * (1.0 - ratio) / spread
    if all(value in (0.0, 1.0) for value in (*above, *below)):
        return effective
    if effective >= most:
        return most
    return effective if effective * min(ratio, 1.0 - ratio) < _FEW else None


def mean_interval(
    values: Iterable[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the mean of an amount over inputs with its interval.

    Args:
        values: One for each input.
        level: Two-sided.
        resamples: How often inputs are drawn anew.
        seed: Of the draws.

    Raises:
        UsageError: If there are no values, one is no finite number, or a setting is out of its
            range.
    """
    amounts = numbers("values", values)
    require_settings(level, resamples)
    mean, count = fmean(amounts), len(amounts)
    if min(amounts) == max(amounts):
        return constant(mean, count, level)
    draws = Draws(count, resamples, seed)
    bounds = studentised(amounts, level, draws)
    low, high = bounds or bca(amounts, None, mean, level, draws)
    return Interval(
        estimate=mean,
        low=max(low, 0.0) if min(amounts) >= 0.0 else low,
        high=high,
        count=count,
        level=level,
        method="bootstrap-t" if bounds else "bca",
    )


def ratio_interval(
    numerators: Iterable[float],
    denominators: Iterable[float],
    *,
    is_rate: bool = False,
    samples: int | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return one sum over inputs divided by another, with its interval.

    Args:
        numerators: One for each input, not negative.
        denominators: One for each input, not negative.
        is_rate: The ratio is a share, such as a precision: no numerator exceeds its denominator.
        samples: How many answers to each input the sums of a share are means over, the most.
        level: Two-sided.
        resamples: How often inputs are drawn anew.
        seed: Of the draws.

    Raises:
        UsageError: If there are no values or not as many of one as of the other, one is negative
            or no finite number, or a setting is out of its range.
    """
    above = numbers("numerators", numerators, low=0.0)
    below = numbers("denominators", denominators, low=0.0)
    require_pairs(above, below)
    require_settings(level, resamples)
    if is_rate and any(one > other for one, other in zip(above, below, strict=True)):
        raise UsageError("a numerator exceeds its denominator; a share cannot (is_rate=True)")
    counted = sum(value > 0.0 for value in below)
    if not counted:
        return Interval(estimate=None, low=None, high=None, count=0, level=level, method="constant")
    ratio = math.fsum(above) / math.fsum(below)
    most = _most(math.fsum(below), samples)
    effective = _effective_ratio(above, below, ratio, counted, most) if is_rate else None
    if effective is not None:
        low, high = share_bounds(ratio * effective, effective, level)
        return Interval(
            estimate=ratio, low=low, high=high, count=counted, level=level, method="mid-p"
        )
    if all(math.isclose(one, ratio * other) for one, other in zip(above, below, strict=True)):
        return constant(ratio, counted, level)
    low, high = bca(above, below, ratio, level, Draws(len(above), resamples, seed))
    return Interval(
        estimate=ratio,
        low=low,
        high=None if math.isinf(high) else high,
        count=counted,
        level=level,
        method="bca",
    )


def difference_interval(
    first: Iterable[float],
    second: Iterable[float],
    *,
    is_rate: bool = True,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the mean of second - first over the same inputs, with its interval.

    Args:
        first: One value for each input.
        second: One value for each of the same inputs, in the same order.
        is_rate: All values lie in [0, 1].
        level: Two-sided.
        resamples: How often inputs are drawn anew.
        seed: Of the draws.

    Raises:
        UsageError: If there are no values or not as many of one as of the other, one is out of its
            range, or a setting is.
    """
    limits: dict[str, Any] = {"low": 0.0, "high": 1.0} if is_rate else {}
    before, after = numbers("first", first, **limits), numbers("second", second, **limits)
    require_pairs(before, after)
    require_settings(level, resamples)
    gains = [new - old for old, new in zip(before, after, strict=True)]
    gain, count = fmean(gains), len(gains)
    if min(gains) < max(gains):
        low, high = widened(gains, level, Draws(count, resamples, seed))
        return Interval(
            estimate=gain, low=low, high=high, count=count, level=level, method="percentile"
        )
    if not is_rate:
        return constant(gain, count, level)
    # All the same, mostly no difference at all: so few may differ that none was seen.
    most = share_bounds(0.0, count, level)[1]
    return Interval(
        estimate=gain,
        low=max(-1.0, gain - most * (1.0 + gain)),
        high=min(1.0, gain + most * (1.0 - gain)),
        count=count,
        level=level,
        method="mid-p",
    )
