"""Medians and tails over inputs, with their intervals, whatever the distribution.

Neighbours: `_intervals` has shares and means, `_tails` the distributions, `_resampling` draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from extractkit.evaluation._interval import (
    RESAMPLES,
    Interval,
    numbers,
    require_pairs,
    require_settings,
    require_share,
    unbounded,
)
from extractkit.evaluation._resampling import Draws
from extractkit.evaluation._tails import at_least

__all__ = ["quantile_difference", "quantile_interval"]


def quantile_interval(values: Iterable[float], share: float, *, level: float = 0.95) -> Interval:
    """Return a quantile of inputs with its interval, whatever their distribution.

    Args:
        values: One for each input.
        share: Which quantile: 0.5 is the median.
        level: Two-sided.

    Raises:
        UsageError: If there are no values, one is no finite number, or a share is not between 0
            and 1.
    """
    amounts = sorted(numbers("values", values))
    require_share("share", share)
    require_share("level", level)
    tail = (1.0 - level) / 2.0
    low = _rank(len(amounts), share, 1.0 - tail)
    high = _rank(len(amounts), 1.0 - share, 1.0 - tail)
    if low is None or high is None:  # Too few to go between two ranks.
        low, high = (None if rank is None else float(math.floor(rank)) for rank in (low, high))
    return Interval(
        estimate=_between(amounts, 1.0 + share * (len(amounts) - 1)),
        low=None if low is None else _between(amounts, low),
        high=None if high is None else _between(amounts, len(amounts) + 1.0 - high),
        count=len(amounts),
        level=level,
        method="order statistics",
    )


def _rank(count: int, share: float, wanted: float) -> float | None:
    """Return the rank, from 1 up, below which the quantile lies with probability 1 - wanted.

    Ranks are whole; between two, as Nyblom (1992) does it.
    """
    if at_least(1.0, count, share) < wanted:
        return None
    rank, beyond = 1, count + 1  # the greatest rank that the quantile is not below
    while beyond - rank > 1:
        middle = (rank + beyond) // 2
        if at_least(middle, count, share) < wanted:
            beyond = middle
        else:
            rank = middle
    if rank == count:
        return float(count)
    here, following = at_least(rank, count, share), at_least(rank + 1, count, share)
    way = (here - wanted) / (here - following)
    lean = rank * (1.0 - share) / ((count - rank) * share)
    return rank + way / (way + lean * (1.0 - way))


def _between(ordered: Sequence[float], rank: float) -> float:
    """Return what stands at a rank from 1 up, or between two."""
    place = math.floor(rank)
    if place >= len(ordered):
        return ordered[-1]
    return ordered[place - 1] + (rank - place) * (ordered[place] - ordered[place - 1])


def quantile_difference(
    first: Iterable[float],
    second: Iterable[float],
    share: float,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a quantile of `second` less that of `first`, over the same inputs, with its interval.

    Where the inputs are too few to bound either quantile on both sides, they do not bound the
    difference: at 95 %, fewer than 6 for medians, fewer than 72 for p95.

    Args:
        first: One value for each input.
        second: One value for each of the same inputs, in the same order.
        share: Which quantile: 0.5 is the median.
        level: Two-sided.
        resamples: How often inputs are drawn anew.
        seed: Of the draws.

    Raises:
        UsageError: If there are no values or not as many of one as of the other, one is no finite
            number, or a setting is out of its range.
    """
    before, after = numbers("first", first), numbers("second", second)
    require_pairs(before, after)
    require_share("share", share)
    require_settings(level, resamples)
    rank = 1.0 + share * (len(before) - 1)
    estimate = _between(sorted(after), rank) - _between(sorted(before), rank)
    wanted = (1.0 + level) / 2.0
    if any(_rank(len(before), each, wanted) is None for each in (share, 1.0 - share)):
        return unbounded(estimate, len(before), level)
    draws = Draws(len(before), resamples, seed)
    low, high = draws.of_quantiles(before, after, share, level)
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        count=len(before),
        level=level,
        method="percentile",
    )
