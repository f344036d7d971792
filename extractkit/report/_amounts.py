"""Figures with their intervals in words, for pages and terminals.

Neighbours: `_figure_tables`, `_plots` and the command line show them.
"""

from __future__ import annotations

from extractkit.evaluation import Interval

__all__ = ["amount_text", "difference_text", "is_apart", "rate_text"]


def rate_text(found: Interval | None) -> str:
    """Return a share with its interval in per cent, such as "67.0 % (13.2 to 98.4)"."""
    if found is None or found.estimate is None:
        return "-"
    return f"{100 * found.estimate:.1f} % ({_share(found.low)} to {_share(found.high)})"


def _share(end: float | None) -> str:
    return "?" if end is None else f"{100 * end:.1f}"


def amount_text(found: Interval | None) -> str:
    """Return an amount with its interval; an end that the data do not bound is "?"."""
    if found is None or found.estimate is None:
        return "-"
    return f"{_number(found.estimate)} ({_number(found.low)} to {_number(found.high)})"


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 100 else f"{value:.3g}"


def difference_text(found: Interval | None, *, is_rate: bool) -> str:
    """Return a difference with its interval and signs; of rates, in percentage points."""
    if found is None or found.estimate is None:
        return "-"
    factor, unit = (100.0, " pp") if is_rate else (1.0, "")
    ends = [_signed(end, factor, is_rate) for end in (found.low, found.high)]
    return f"{_signed(found.estimate, factor, is_rate)}{unit} ({ends[0]} to {ends[1]})"


def _signed(value: float | None, factor: float, is_rate: bool) -> str:
    if value is None:
        return "?"
    return f"{factor * value:+.1f}" if is_rate else f"{'+' if value >= 0 else ''}{_number(value)}"


def is_apart(found: Interval) -> bool:
    """Whether the interval of a difference leaves out 0."""
    return (found.low is not None and found.low > 0) or (found.high is not None and found.high < 0)
