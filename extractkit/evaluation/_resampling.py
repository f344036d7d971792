"""Bootstraps over inputs: draw as many inputs as there are, with replacement, many times.

Neighbours: `_intervals` chooses among them and says why. Needs NumPy, in the extra `evaluation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from extractkit.errors import MissingDependencyError
from extractkit.evaluation._tails import student_quantile

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[numpy.float64]

__all__ = ["Draws", "bca", "studentised", "widened"]

_NORMAL: Final = NormalDist()
_EDGE: Final = 1e-9
_UNSEEN: Final = 5.0
_FLAT: Final = 1e-9
_BLOCK: Final = 1 << 20
"""Inputs drawn at once: 8 MB."""


class Draws:
    """The same draws of inputs for the same numbers, on every machine.

    Args:
        count: How many inputs there are.
        resamples: How often that many are drawn.
        seed: Of the draws.
    """

    def __init__(self, count: int, resamples: int, seed: int) -> None:
        self.count = count
        self.resamples = resamples
        self._seed = seed

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield places of inputs: shape (resamples in this block, count)."""
        random = _numpy().random.default_rng(self._seed)
        block = max(1, _BLOCK // self.count)
        for start in range(0, self.resamples, block):
            rows = min(block, self.resamples - start)
            yield random.integers(self.count, size=(rows, self.count))

    def means(self, values: Sequence[float]) -> Array:
        """Return the mean of each draw: shape (resamples,)."""
        numpy = _numpy()
        array = numpy.asarray(values)
        found: Array = numpy.concatenate([array[drawn].mean(axis=1) for drawn in self])
        return found

    def of_quantiles(
        self, first: Sequence[float], second: Sequence[float], share: float, level: float
    ) -> tuple[float, float]:
        """Return where a quantile of `second` less that of `first` lies in most draws."""
        numpy = _numpy()
        before, after = numpy.asarray(first), numpy.asarray(second)
        found = numpy.concatenate(
            [
                numpy.quantile(after[drawn], share, axis=1)
                - numpy.quantile(before[drawn], share, axis=1)
                for drawn in self
            ]
        )
        return _ends(found, *_tails(self.count, level))


def widened(values: Sequence[float], level: float, draws: Draws) -> tuple[float, float]:
    """Return the percentile interval of the mean, widened for the number of inputs."""
    return _ends(draws.means(values), *_tails(draws.count, level))


def bca(
    above: Sequence[float],
    below: Sequence[float] | None,
    estimate: float,
    level: float,
    draws: Draws,
) -> tuple[float, float]:
    """Return the bias-corrected and accelerated interval of a mean or ratio, widened likewise.

    Args:
        above: One value for each input.
        below: What their sum is divided by the sum of; None for a mean.
        estimate: The mean or ratio.
        level: Two-sided.
        draws: Of the inputs.
    """
    numpy = _numpy()
    tops = numpy.asarray(above)
    bottoms = numpy.ones(len(tops)) if below is None else numpy.asarray(below)
    with numpy.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = draws.means(above) / (1.0 if below is None else draws.means(below))
        without = (tops.sum() - tops) / (bottoms.sum() - bottoms)
    found = numpy.sort(found[~numpy.isnan(found)])
    without = without[numpy.isfinite(without)]
    apart = without.mean() - without
    spread = float((apart**2).sum())
    bend = float((apart**3).sum()) / (6.0 * spread**1.5) if spread else 0.0
    less = (numpy.sum(found < estimate) + numpy.sum(found <= estimate)) / (2.0 * len(found))
    shift = _NORMAL.inv_cdf(min(max(float(less), 1e-6), 1.0 - 1e-6))
    low, high = (
        _NORMAL.cdf(shift + (shift + z) / (1.0 - bend * (shift + z)))
        for z in map(_NORMAL.inv_cdf, _tails(draws.count, level))
    )
    return _ends(found, low, high)


def studentised(values: Sequence[float], level: float, draws: Draws) -> tuple[float, float] | None:
    """Return the bootstrap-t interval of the mean: each draw is measured by its own spread.

    None where too many draws have no spread, since few inputs differ from the others.
    """
    numpy = _numpy()
    array = numpy.asarray(values)
    mean = array.mean()
    found: list[Array] = []
    for drawn in draws:
        part = array[drawn]
        spread = part.std(axis=1)
        apart = part.mean(axis=1) - mean
        is_flat = spread <= _FLAT * array.std()
        endless = numpy.where(apart < 0.0, -numpy.inf, numpy.inf)
        found.append(numpy.where(is_flat, endless, apart / numpy.where(is_flat, 1.0, spread)))
    # Less is cut off of few inputs, whose long tails are seldom seen.
    tail = (1.0 - level) / 2.0 * max(1.0 - _UNSEEN / draws.count, 1.0 / _UNSEEN)
    low, high = _ends(numpy.concatenate(found), tail, 1.0 - tail)
    if math.isinf(low) or math.isinf(high):
        return None
    return float(mean - high * array.std()), float(mean - low * array.std())


def _tails(count: int, level: float) -> tuple[float, float]:
    """Return which shares of the draws are cut off, after Hesterberg (2015).

    What is drawn spreads less than the inputs do, and few inputs say little of their spread. One
    input is never drawn from: it has no spread.
    """
    wide = math.sqrt(count / (count - 1)) * student_quantile((1.0 + level) / 2.0, count - 1)
    tail = max(_NORMAL.cdf(-wide), _EDGE)
    return tail, 1.0 - tail


def _ends(found: Array, low: float, high: float) -> tuple[float, float]:
    """Return what so large shares of the draws lie below.

    Draws that are equal lie half below each other (the mid-distribution), so that figures which
    take few values do not push both ends outward.
    """
    numpy = _numpy()
    values, counts = numpy.unique(found, return_counts=True)
    middles = (numpy.cumsum(counts) - counts / 2.0) / len(found)
    return _quantile(values, middles, low), _quantile(values, middles, high)


def _quantile(values: Array, middles: Array, share: float) -> float:
    at = int(_numpy().searchsorted(middles, share))
    if at == 0 or at == len(values):
        return float(values[min(at, len(values) - 1)])
    for end in (values[at - 1], values[at]):
        if math.isinf(end):
            return float(end)
    way = (share - middles[at - 1]) / (middles[at] - middles[at - 1])
    return float(values[at - 1] + way * (values[at] - values[at - 1]))


def _numpy() -> Any:
    try:
        import numpy
    except ModuleNotFoundError as exc:
        raise MissingDependencyError.for_feature(
            "an interval that is drawn", package="numpy", extra="evaluation"
        ) from exc
    return numpy
