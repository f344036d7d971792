"""Axes, lines and marks as SVG elements, whose looks the style sheet says.

Neighbours: `_plots` says what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from extractkit.evaluation import Interval
from extractkit.report._amounts import rate_text
from extractkit.report._elements import Markup, element

__all__ = ["Axes", "Point", "bar_chart", "thinned"]

Point: TypeAlias = tuple[float, float]
Look: TypeAlias = Literal["line", "behind", "dashed", "dotted"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 302.0, 10.0, 160.0
_SIZE: Final = {"viewBox": "0 0 320 200", "role": "img"}
_MOST_POINTS: Final = 240
_TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


def thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most some hundred of the points of a line, its ends among them."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    step = (len(points) - 1) / (_MOST_POINTS - 1)
    return [points[round(place * step)] for place in range(_MOST_POINTS)]


def _tick(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


class Axes:
    """A plot of something against shares from 0 to 1.

    Args:
        across: What the axis below says.
        up: What the axis at the left says.
        least: Where the axis below begins; above 0, it is one of ratios.
        most: Where it ends, above its beginning.
    """

    def __init__(self, *, across: str, up: str, least: float = 0.0, most: float = 1.0) -> None:
        self._least = least
        self._most = most
        self._parts: list[Markup] = []
        for tick in _TICKS:
            value = least * (most / least) ** tick if least else tick * most
            x, y = self._x(value), self._y(tick)
            self._parts += [
                _line(_LEFT, y, _RIGHT, y, "grid"),
                _text(_LEFT - 5, y + 4, f"{100 * tick:.0f} %", "end"),
                _text(x, _BOTTOM + 15, _tick(value), "middle"),
            ]
        self._parts += [
            _line(_LEFT, _TOP, _LEFT, _BOTTOM, "axis"),
            _line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis"),
            _text((_LEFT + _RIGHT) / 2, _BOTTOM + 33, f"across: {across}; up: {up}", "middle"),
        ]

    def line(self, points: Sequence[Point], look: Look = "line") -> None:
        """Draw a line through points."""
        path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)
        self._parts.append(element("polyline", {"class": look, "points": path}))

    def whisker(self, x: float, low: float, high: float) -> None:
        """Draw an upright interval."""
        self._parts.append(_line(self._x(x), self._y(low), self._x(x), self._y(high), "whisker"))

    def mark(self, shape: str, x: float, y: float) -> None:
        """Draw a mark: a circle for a choice, a square for a sequence, else a diamond."""
        across, up = self._x(x), self._y(y)
        if shape == "choice":
            place = {"cx": f"{across:.1f}", "cy": f"{up:.1f}", "r": "4", "class": "dot"}
            self._parts.append(element("circle", place))
            return
        offsets = _SQUARE if shape == "sequence" else _DIAMOND
        corners = " ".join(f"{across + right:.1f},{up + down:.1f}" for right, down in offsets)
        self._parts.append(element("polygon", {"points": corners, "class": "dot"}))

    def drawn(self, said: str) -> Markup:
        """Return the plot.

        Args:
            said: What it shows, for whoever cannot see it.
        """
        return element("svg", {**_SIZE, "aria-label": said}, *self._parts)

    def _x(self, value: float) -> float:
        if self._least:
            value = max(value, self._least)
            share = math.log(value / self._least) / math.log(self._most / self._least)
        else:
            share = value / self._most
        return _LEFT + (_RIGHT - _LEFT) * share

    def _y(self, value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * value


_SQUARE: Final = ((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5))
_DIAMOND: Final = ((0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0))


def bar_chart(said: str, rows: Sequence[tuple[str, Interval]]) -> Markup:
    """Return bars of shares from 0 to 1, each with its name, its interval and its figure.

    Args:
        said: What it shows, for whoever cannot see it.
        rows: Name and share of each bar, from above.
    """
    parts: list[Markup] = []
    for place, (name, rate) in enumerate(rows):
        y = 8.0 + 38.0 * place
        share = rate.estimate or 0.0
        box = {"x": "4", "y": f"{y + 15:.1f}", "height": "12", "width": f"{_across(share):.1f}"}
        whole = {**box, "width": f"{_across(1.0):.1f}", "class": "empty"}
        parts += [
            _text(4, y + 11, name, "start"),
            _text(316, y + 11, rate_text(rate), "end"),
            element("rect", whole),
            element("rect", {**box, "class": "bar"}),
        ]
        if rate.low is not None and rate.high is not None:
            low, high = 4 + _across(rate.low), 4 + _across(rate.high)
            parts.append(_line(low, y + 21, high, y + 21, "whisker"))
    size = {**_SIZE, "viewBox": f"0 0 320 {12 + 38 * len(rows)}", "aria-label": said}
    return element("svg", size, *parts)


def _across(share: float) -> float:
    return 312.0 * share


def _line(x: float, y: float, to_x: float, to_y: float, look: str) -> Markup:
    ends = {"x1": f"{x:.1f}", "y1": f"{y:.1f}", "x2": f"{to_x:.1f}", "y2": f"{to_y:.1f}"}
    return element("line", {**ends, "class": look})


def _text(x: float, y: float, said: str, anchor: str) -> Markup:
    return element("text", said, {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor})
