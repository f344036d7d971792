"""What an interval is, and what its makers take: one number for each input.

Neighbours: `_intervals` and `_quantiles` make them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from extractkit.errors import UsageError
from extractkit.messages import require_number

__all__ = [
    "RESAMPLES",
    "Interval",
    "constant",
    "numbers",
    "require_pairs",
    "require_settings",
    "require_share",
]

RESAMPLES: Final = 4000


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


def constant(value: float, count: int, level: float) -> Interval:
    """Return the interval of values that are all the same: they show no spread.

    One value shows none either, and says nothing of others.
    """
    end = value if count > 1 else None
    return Interval(estimate=value, low=end, high=end, count=count, level=level, method="constant")


def numbers(
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


def require_pairs(first: Sequence[float], second: Sequence[float]) -> None:
    if len(first) != len(second):
        raise UsageError(
            f"found {len(first)} values and {len(second)}; expected both for each input, in the "
            "same order"
        )


def require_settings(level: float, resamples: int) -> None:
    require_share("level", level)
    require_number("an interval", "resamples", resamples, low=200, whole=True)


def require_share(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise UsageError(f"{name}={value!r:.60}: expected a number above 0 and below 1")
