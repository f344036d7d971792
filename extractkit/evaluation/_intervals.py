"""Figures over inputs with their intervals. The unit is the input: one value each.

    rate_interval         a share of inputs
    mean_interval         an amount per input: tokens, dollars
    ratio_interval        a sum over a sum: tokens for each right answer
    quantile_interval     median and tail: seconds
    difference_interval   two configurations on the same inputs

Inputs are what is drawn anew in a bootstrap, never samples: two answers to one input say less than
answers to two. The page `docs/reference/evaluation.md` says which method is used where, after
whom, and where it fails. Neighbours: `_tails` has the distributions, `_resampling` draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Literal

from extractkit.errors import UsageError
from extractkit.evaluation._resampling import Draws, bca, studentised, widened
from extractkit.evaluation._tails import at_least, share_bounds
from extractkit.messages import require_number

__all__ = [
    "Interval",
    "difference_interval",
    "mean_interval",
    "quantile_difference",
    "quantile_interval",
    "rate_interval",
    "ratio_interval",
]

RESAMPLES: Final = 4000
_FEW: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure over inputs and where it may lie.

    Attributes:
        estimate: The figure of the inputs that were seen; None where it has none, such as a ratio
            to nothing.
        low: Lower end; None where the data bound it by nothing.
        high: Upper end; None where the data bound it by nothing.
        count: How many inputs it stands on.
        level: How often such intervals hold the truth, two-sided.
        method: How it was computed.
    """

    estimate: float | None
    low: float | None
    high: float | None
    count: int
    level: float
    method: Literal["mid-p", "bca", "bootstrap-t", "percentile", "order statistics", "constant"]


def rate_interval(
    values: Iterable[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return a share of inputs with its interval.

    Args:
        values: One for each input, in [0, 1]: whether it holds, or the share of its samples.
        level: Two-sided.
        resamples: How often inputs are drawn anew, where they are.
        seed: Of the draws: the same values give the same interval.

    Raises:
        UsageError: If there are no values, one is not in [0, 1], or a setting is out of its range.
    """
    shares = _numbers("values", values, low=0.0, high=1.0)
    _require_settings(level, resamples)
    share, count = fmean(shares), len(shares)
    effective = _effective(shares, share)
    if effective is not None:
        low, high = share_bounds(share * effective, effective, level)
        return Interval(
            estimate=share, low=low, high=high, count=count, level=level, method="mid-p"
        )
    low, high = bca(shares, None, share, level, Draws(count, resamples, seed))
    return Interval(estimate=share, low=low, high=high, count=count, level=level, method="bca")


def _effective(shares: Sequence[float], share: float) -> float | None:
    """Return how many inputs of 0 or 1 say as much as these; None where they can be drawn anew.

    Drawn anew, shares that are nearly all the same would say that nothing else is possible.
    """
    count = len(shares)
    spread = fmean([(value - share) ** 2 for value in shares])
    if all(value in (0.0, 1.0) for value in shares) or spread == 0.0:
        return float(count)
    effective = max(float(count), count * share * (1.0 - share) / spread)
    return effective if effective * min(share, 1.0 - share) < _FEW else None


def _effective_ratio(
    above: Sequence[float], below: Sequence[float], ratio: float, counted: int
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
    amounts = _numbers("values", values)
    _require_settings(level, resamples)
    mean, count = fmean(amounts), len(amounts)
    if min(amounts) == max(amounts):
        return _constant(mean, count, level)
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
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return one sum over inputs divided by another, with its interval.

    Args:
        numerators: One for each input, not negative.
        denominators: One for each input, not negative.
        is_rate: The ratio is a share, such as a precision: no numerator exceeds its denominator.
        level: Two-sided.
        resamples: How often inputs are drawn anew.
        seed: Of the draws.

    Raises:
        UsageError: If there are no values or not as many of one as of the other, one is negative
            or no finite number, or a setting is out of its range.
    """
    above = _numbers("numerators", numerators, low=0.0)
    below = _numbers("denominators", denominators, low=0.0)
    _require_pairs(above, below)
    _require_settings(level, resamples)
    if is_rate and any(one > other for one, other in zip(above, below, strict=True)):
        raise UsageError("a numerator exceeds its denominator; a share cannot (is_rate=True)")
    counted = sum(value > 0.0 for value in below)
    if not counted:
        return Interval(estimate=None, low=None, high=None, count=0, level=level, method="constant")
    ratio = math.fsum(above) / math.fsum(below)
    effective = _effective_ratio(above, below, ratio, counted) if is_rate else None
    if effective is not None:
        low, high = share_bounds(ratio * effective, effective, level)
        return Interval(
            estimate=ratio, low=low, high=high, count=counted, level=level, method="mid-p"
        )
    if all(math.isclose(one, ratio * other) for one, other in zip(above, below, strict=True)):
        return _constant(ratio, counted, level)
    low, high = bca(above, below, ratio, level, Draws(len(above), resamples, seed))
    return Interval(
        estimate=ratio,
        low=low,
        high=None if math.isinf(high) else high,
        count=counted,
        level=level,
        method="bca",
    )


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
    amounts = sorted(_numbers("values", values))
    _require_share("share", share)
    _require_share("level", level)
    tail = (1.0 - level) / 2.0
    low = _rank(len(amounts), share, 1.0 - tail)
    high = _rank(len(amounts), 1.0 - share, 1.0 - tail)
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
    before, after = _numbers("first", first, **limits), _numbers("second", second, **limits)
    _require_pairs(before, after)
    _require_settings(level, resamples)
    gains = [new - old for old, new in zip(before, after, strict=True)]
    gain, count = fmean(gains), len(gains)
    if min(gains) < max(gains):
        low, high = widened(gains, level, Draws(count, resamples, seed))
        return Interval(
            estimate=gain, low=low, high=high, count=count, level=level, method="percentile"
        )
    if not is_rate:
        return _constant(gain, count, level)
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
    before, after = _numbers("first", first), _numbers("second", second)
    _require_pairs(before, after)
    _require_share("share", share)
    _require_settings(level, resamples)
    draws = Draws(len(before), resamples, seed)
    low, high = draws.of_quantiles(before, after, share, level)
    rank = 1.0 + share * (len(before) - 1)
    return Interval(
        estimate=_between(sorted(after), rank) - _between(sorted(before), rank),
        low=low,
        high=high,
        count=len(before),
        level=level,
        method="percentile",
    )


def _constant(value: float, count: int, level: float) -> Interval:
    """Return the interval of values that are all the same: they show no spread."""
    return Interval(
        estimate=value, low=value, high=value, count=count, level=level, method="constant"
    )


def _numbers(
    name: str, values: Iterable[float], *, low: float = -math.inf, high: float = math.inf
) -> list[float]:
    found: list[Any] = list(values)
    for place, value in enumerate(found):
        if not isinstance(value, int | float) or not low <= value <= high or math.isinf(value):
            limits = f" from {low:g} to {high:g}" if high < math.inf else ""
            limits = limits or (" from 0 up" if low == 0.0 else "")
            raise UsageError(f"{name}[{place}] is {value!r:.60}; expected a finite number{limits}")
    if not found:
        raise UsageError(f"{name} is empty; expected one value for each input")
    return [float(value) for value in found]


def _require_pairs(first: Sequence[float], second: Sequence[float]) -> None:
    if len(first) != len(second):
        raise UsageError(
            f"found {len(first)} values and {len(second)}; expected both for each input, in the "
            "same order"
        )


def _require_settings(level: float, resamples: int) -> None:
    _require_share("level", level)
    require_number("an interval", "resamples", resamples, low=200, whole=True)


def _require_share(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise UsageError(f"{name}={value!r:.60}: expected a number above 0 and below 1")
