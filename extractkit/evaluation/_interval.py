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
    "GREATEST",
    "RESAMPLES",
    "Interval",
    "numbers",
    "require_pairs",
    "require_settings",
    "require_share",
    "unbounded",
]

RESAMPLES: Final = 4000
GREATEST: Final = 1e100
"""No amount is larger; products of some such are still numbers."""
_DIGITS: Final = 40


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
    method: Literal[
        "exact", "mid-p", "bca", "bootstrap-t", "percentile", "order statistics", "constant", "none"
    ]


def unbounded(estimate: float, count: int, level: float) -> Interval:
    """Return the interval of inputs that are too few, or too much alike, to bound the figure."""
    return Interval(estimate=estimate, low=None, high=None, count=count, level=level, method="none")


def numbers(
    name: str, values: Iterable[float], *, low: float = -math.inf, high: float = math.inf
) -> list[float]:
    found: list[Any] = list(values)
    for place, value in enumerate(found):
        if (
            not isinstance(value, int | float)
            or not low <= value <= high
            or not -GREATEST <= value <= GREATEST
        ):
            limits = f" from {low:g} to {high:g}" if high < math.inf else ""
            limits = limits or (f" from 0 up, at most {GREATEST:g}" if low == 0.0 else "")
            limits = limits or f" of at most {GREATEST:g} in size"
            raise UsageError(
                f"{name}[{place}] is {_shown(value)}; expected a finite number{limits}"
            )
    if not found:
        raise UsageError(f"{name} is empty; expected one value for each input")
    return [float(value) for value in found]


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 4 * _DIGITS:
        return f"a whole number of {value.bit_length()} bits"
    return f"{value!r:.60}"


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
