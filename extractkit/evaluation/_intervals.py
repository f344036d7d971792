"""Shares, means, ratios and differences over inputs, with their intervals.

    rate_interval         a share of inputs
    mean_interval         an amount per input: tokens, dollars
    ratio_interval        a sum over a sum: tokens for each right answer
    difference_interval   two configurations on the same inputs

Inputs are what is drawn anew in a bootstrap, never samples: two answers to one input say less than
answers to two. Of fewer than six inputs an amount has no interval at 95 %. The page
`docs/reference/evaluation.md` says which method is used where, after whom, and where it fails.
Neighbours: `_few` has what needs no draws, `_quantiles` medians and tails, `_resampling` draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final, Literal, TypeAlias

from extractkit.errors import UsageError
from extractkit.evaluation._few import (
    CAUTIOUS,
    Bounds,
    counted_bounds,
    fewer_inputs,
    gain_bounds,
    hull,
    mean_bounds,
    ratio_bounds,
    says_too_little,
    shows_a_constant,
    unseen_bounds,
)
from extractkit.evaluation._interval import (
    GREATEST,
    RESAMPLES,
    Interval,
    numbers,
    require_pairs,
    require_settings,
    unbounded,
)
from extractkit.evaluation._resampling import Draws, bca, studentised, widened
from extractkit.messages import require_number

__all__ = ["difference_interval", "mean_interval", "rate_interval", "ratio_interval"]

_FEW: Final = 10.0
_SAME: Final = 1e-12


def rate_interval(
    values: Iterable[float],
    *,
    samples: int | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a share of inputs with its interval.

    Samples of fewer than 60 inputs make it no narrower than one answer to each would: what seldom
    fails may fail always on inputs that were not seen.

    Args:
        values: One for each input, in [0, 1]: whether it holds, or the share of its samples.
        samples: How many there are of each input, the most: the interval of 60 inputs or more is
            then never as narrow as if all were inputs of their own. None: unknown.
        level: Two-sided.
        resamples: How often inputs are drawn anew, where they are.
        seed: Of the draws: the same values give the same interval.

    Raises:
        UsageError: If there are no values, one is not in [0, 1], or a setting is out of its range.
    """
    shares = numbers("values", values, low=0.0, high=1.0)
    require_settings(level, resamples)
    share, count = fmean(shares), len(shares)
    effective = _effective(shares, share, _most(count, samples), level)
    draws = Draws(count, resamples, seed)
    return _share(share, shares, [1.0] * count, effective, level, draws)


def _most(places: float, samples: int | None) -> float:
    """Return the most inputs of 0 or 1 that say as much: as many as there are answers."""
    if samples is None:
        return math.inf
    require_number("an interval", "samples", samples, low=1, whole=True)
    return places * samples


def _share(
    share: float,
    above: Sequence[float],
    below: Sequence[float],
    effective: float | None,
    level: float,
    draws: Draws,
) -> Interval:
    """Return the interval of a share of sums.

    Args:
        share: What was seen.
        above: One for each input.
        below: One for each input; 1 for all of a plain share.
        effective: How many inputs of 0 or 1 say as much; None where they are drawn anew.
        level: Two-sided.
        draws: Of the inputs.
    """
    count = sum(value > 0.0 for value in below)
    method: Literal["exact", "mid-p", "bca"]
    if effective is None:
        is_plain = all(value == 1.0 for value in below)
        method, bounds = "bca", bca(above, None if is_plain else below, share, level, draws)
    else:
        method = "exact" if count < CAUTIOUS else "mid-p"
        bounds = counted_bounds(share, effective, count, level)
    if count >= CAUTIOUS and not _is_whole(above, below):
        bounds = hull(bounds, unseen_bounds(above, below, level))
    return Interval(
        estimate=share, low=bounds[0], high=bounds[1], count=count, level=level, method=method
    )


def _is_whole(above: Sequence[float], below: Sequence[float]) -> bool:
    """Whether each input has one place, right or wrong: the number of rights is all there is."""
    return all(value in (0.0, 1.0) for value in (*above, *below))


def _effective(shares: Sequence[float], share: float, most: float, level: float) -> float | None:
    """Return how many inputs of 0 or 1 say as much as these; None where they can be drawn anew.

    Drawn anew, shares that are nearly all the same would say that nothing else is possible. Fewer
    than `CAUTIOUS` inputs count as that many, however alike they are: see `_told`.
    """
    count = len(shares)
    apart = math.fsum((value - share) ** 2 for value in shares)
    if count < CAUTIOUS or _is_whole(shares, ()) or math.isclose(apart, 0.0, abs_tol=1e-12):
        return float(count)
    effective = count * share * (1.0 - share) * (count - 1) / apart
    return _told(effective, float(count), share, most, count, level)


def _effective_ratio(
    above: Sequence[float],
    below: Sequence[float],
    ratio: float,
    counted: int,
    most: float,
    level: float,
) -> float | None:
    """Return the same of a share of sums: how many places, if each were an input of its own.

    Fewer than `CAUTIOUS` inputs count as that many, less what unequal sums take (Kish 1965).
    """
    whole = math.fsum(below)
    least = whole**2 / math.fsum(value * value for value in below)
    apart = math.fsum((one - ratio * other) ** 2 for one, other in zip(above, below, strict=True))
    if counted < CAUTIOUS or math.isclose(apart / whole**2, 0.0, abs_tol=1e-12):
        return least
    if _is_whole(above, below):
        return float(counted)
    effective = ratio * (1.0 - ratio) * whole**2 * (counted - 1) / (counted * apart)
    return _told(effective, least, ratio, most, counted, level)


def _told(
    effective: float, least: float, share: float, most: float, count: int, level: float
) -> float | None:
    """Return how many inputs of 0 or 1 to count; None where there are enough to be drawn.

    No shares spread more than those of 0 or 1 with the same mean (Hoeffding 1963), so that there
    are at least as many as inputs. That there are more is read off the inputs that were seen; of
    few, it is not known, since a rare input that always fails is seldom among them.

    Args:
        effective: How many would spread as much as was seen.
        least: How many there are if all samples of an input are alike: no inputs spread more.
        share: What was seen.
        most: How many answers there are.
        count: How many inputs there are, at least `CAUTIOUS`.
        level: Two-sided.
    """
    effective = max(effective, least)
    is_drawn = effective * min(share, 1.0 - share) >= _FEW
    if is_drawn and effective < most:
        return None
    return max(fewer_inputs(min(effective, most), count, level), least)


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
    draws = Draws(len(amounts), resamples, seed)
    found = _amount(amounts, max(map(abs, amounts)), level, lambda each: _drawn(each, level, draws))
    if min(amounts) < 0.0 or found.low is None:
        return found
    return replace(found, low=max(found.low, 0.0))


_Method: TypeAlias = Literal["bootstrap-t", "bca", "percentile"]


def _drawn(values: Sequence[float], level: float, draws: Draws) -> tuple[_Method, Bounds]:
    """Return the interval of a mean whose inputs are drawn anew, and its method."""
    bounds = studentised(values, level, draws)
    if bounds:
        return "bootstrap-t", bounds
    return "bca", bca(values, None, fmean(values), level, draws)


def _amount(
    values: Sequence[float],
    size: float,
    level: float,
    drawn: Callable[[Sequence[float]], tuple[_Method, Bounds]],
) -> Interval:
    """Return the mean of amounts, or of what they gain.

    Args:
        values: One for each input.
        size: The greatest number that they were made of: what is small beside it is nothing.
        level: Two-sided.
        drawn: The interval of enough inputs, of values in units of `size`.
    """
    count = len(values)
    unit = size or 1.0
    inside = [value / unit for value in values]
    mean = fmean(inside)
    if says_too_little(count, level):
        return unbounded(mean * unit, count, level)
    if max(inside) - min(inside) <= _SAME:
        return _constant(mean * unit, count, level)
    method, (low, high) = drawn(inside)
    if count < CAUTIOUS:
        low, high = hull((low, high), mean_bounds(inside, level))
    return Interval(
        estimate=mean * unit,
        low=low * unit,
        high=high * unit,
        count=count,
        level=level,
        method=method,
    )


def _constant(value: float, count: int, level: float) -> Interval:
    """Return the interval of equal values: fewer than 59 say little of others."""
    if not shows_a_constant(count, level):
        return unbounded(value, count, level)
    return Interval(
        estimate=value, low=value, high=value, count=count, level=level, method="constant"
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
            or no finite number, the ratio is too large, or a setting is out of its range.
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
    # In units of the greatest, so that no square of a number is too large or small to be one.
    unit = max(below)
    size = unit if is_rate else max(above) or unit
    tops, bottoms = [value / size for value in above], [value / unit for value in below]
    draws = Draws(len(above), resamples, seed)
    if not is_rate:
        return _amounts_ratio(tops, bottoms, size / unit, level, draws)
    ratio = math.fsum(tops) / math.fsum(bottoms)
    most = _most(math.fsum(below), samples)
    effective = _effective_ratio(tops, bottoms, ratio, counted, most, level)
    return _share(ratio, tops, bottoms, effective, level, draws)


def _amounts_ratio(
    above: Sequence[float], below: Sequence[float], unit: float, level: float, draws: Draws
) -> Interval:
    """Return the ratio of sums of amounts, times `unit`."""
    ratio = math.fsum(above) / math.fsum(below)
    counted = sum(value > 0.0 for value in below)
    if not ratio * unit <= GREATEST:
        raise UsageError(
            f"the ratio is above {GREATEST:g}; expected denominators that are not nearly 0"
        )
    if says_too_little(draws.count, level):
        return unbounded(ratio * unit, counted, level)
    if all(math.isclose(one, ratio * other) for one, other in zip(above, below, strict=True)):
        return _constant(ratio * unit, counted, level)
    low, high = bca(above, below, ratio, level, draws)
    if draws.count < CAUTIOUS:
        low, high = hull((low, high), ratio_bounds(above, below, level))
    return Interval(
        estimate=ratio * unit,
        low=low * unit,
        high=None if math.isinf(high) else high * unit,
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
    draws = Draws(len(gains), resamples, seed)
    if is_rate:
        return _gained(gains, level, draws)
    size = max(map(abs, (*before, *after)))
    return _amount(gains, size, level, lambda each: ("percentile", widened(each, level, draws)))


def _gained(gains: Sequence[float], level: float, draws: Draws) -> Interval:
    """Return the mean of gains from -1 to 1."""
    gain, count = fmean(gains), len(gains)
    method: Literal["exact", "mid-p", "percentile"]
    if max(gains) - min(gains) <= _SAME:
        # All the same, mostly no difference at all: so few may differ that none was seen.
        method = "exact" if count < CAUTIOUS else "mid-p"
        most = counted_bounds(0.0, float(count), count, level)[1]
        low, high = gain - most * (1.0 + gain), gain + most * (1.0 - gain)
    elif says_too_little(count, level):
        method, (low, high) = "exact", gain_bounds(gains, level)
    else:
        method, (low, high) = "percentile", widened(gains, level, draws)
        if count < CAUTIOUS:
            low, high = hull((low, high), gain_bounds(gains, level))
    return Interval(
        estimate=gain,
        low=max(low, -1.0),
        high=min(high, 1.0),
        count=count,
        level=level,
        method=method,
    )
