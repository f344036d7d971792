"""Plots of an evaluation as inline SVG: one panel for each configuration, on shared axes.

Every panel shows its own configuration in ink and the others behind it in grey, so that nothing
has to be told by colour. Neighbours: `_drawing` has axes and marks, `calibration` computes what is
drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final, TypeAlias

from extractkit.calibration import (
    Reliability,
    accuracy_coverage_curve,
    expected_calibration_error,
)
from extractkit.evaluation import Interval, Measures
from extractkit.report._amounts import amount_text, rate_text
from extractkit.report._drawing import Axes, Point, bar_chart, thinned
from extractkit.report._elements import Markup, element
from extractkit.report._figures import EvaluationFigures

__all__ = ["plots"]

Records: TypeAlias = Mapping[str, Sequence[Measures]]

_LEVELS: Final = ("parse", "schema", "consistent", "grounded", "exact")
_KINDS: Final = ("choice", "sequence", "agreement")


def plots(figures: EvaluationFigures) -> Iterator[Markup]:
    """Yield the four plots, each a section with its heading, its panels and how to read them."""
    records = {name: figures.report.measures(name) for name in figures.summaries}
    yield _section(
        "How far answers come",
        "The share of all inputs that reaches each level; the line is the interval.",
        {name: _funnel(figures, name) for name in records},
    )
    yield _section(
        "Latency",
        "The share of inputs answered within so many seconds; samples of an input are averaged, "
        "first calls and failed requests left out. Upright lines: median (dashed), p95 (dotted). "
        "Equal steps to the right are equal ratios.",
        _latency(figures, records),
    )
    yield _section(
        "Reliability of confidences",
        "How often values are right, by the probability that was given for them, in ten bins; on "
        "the dashed line a confidence means what it says. Choices (circles), sequences (squares) "
        "and agreement of samples (diamonds) are not comparable. Places, not inputs; the lines "
        "are Wilson intervals at 95 %.",
        {name: _reliability(name, found) for name, found in records.items()},
    )
    yield _section(
        "Accuracy against coverage",
        "Answers below a threshold of their least confidence are left out: what share is kept, and "
        "what share of the kept is exact. All labelled answers count; those without a confidence "
        "are never kept.",
        _coverage(records),
    )


def _section(title: str, said: str, panels: Mapping[str, tuple[Markup | None, str]]) -> Markup:
    figures = [
        element("figure", element("figcaption", element("b", name), element("br"), caption), drawn)
        for name, (drawn, caption) in panels.items()
        if drawn is not None
    ]
    empty = {name: why for name, (drawn, why) in panels.items() if drawn is None}
    return element(
        "section",
        element("h2", title),
        element("p", said, {"class": "soft"}),
        *([element("div", *figures, {"class": "panels"})] if figures else []),
        *(element("p", f"{name}: {why}.", {"class": "soft"}) for name, why in empty.items()),
    )


def _funnel(figures: EvaluationFigures, name: str) -> tuple[Markup, str]:
    rates = figures.summaries[name].rates
    rows = [(level, rates[level]) for level in _LEVELS if level in rates]
    said = ", ".join(f"{level} {rate_text(rate)}" for level, rate in rows)
    return bar_chart(
        f"Levels reached by {name}: {said}", rows
    ), f"exact {rate_text(rates['exact'])}" if "exact" in rates else "no labels"


# --- latency -------------------------------------------------------------------------------------


def _latency(figures: EvaluationFigures, records: Records) -> dict[str, tuple[Markup | None, str]]:
    seconds = {name: _seconds(found) for name, found in records.items()}
    known = [value for values in seconds.values() for value in values]
    # A tenth of a millisecond is nothing to anybody.
    least = max(1e-4, min(known, default=1e-4))
    most = max(2 * least, *known) if known else 1.0
    curves = {name: _steps(values) for name, values in seconds.items()}
    panels: dict[str, tuple[Markup | None, str]] = {}
    for name, values in seconds.items():
        if not values:
            panels[name] = (None, "nothing but first calls and failed requests")
            continue
        latency = figures.summaries[name].latency
        median, tail = latency["seconds, median"], latency["seconds, p95"]
        said = f"median {amount_text(median)} s, p95 {amount_text(tail)} s"
        axes = Axes(across="seconds", up="share of inputs", least=least, most=most)
        _behind(axes, curves, name)
        axes.line(curves[name])
        axes.line(_upright(median), "dashed")
        axes.line(_upright(tail), "dotted")
        panels[name] = (axes.drawn(f"Latency of {name}: {said}"), said)
    return panels


def _upright(found: Interval) -> list[Point]:
    at = found.estimate
    return [] if at is None else [(at, 0.0), (at, 1.0)]


def _seconds(records: Sequence[Measures]) -> list[float]:
    found: dict[str, list[float]] = {}
    for each in records:
        if not each.is_first and each.status != "error":
            found.setdefault(each.id, []).append(each.seconds)
    return sorted(map(fmean, found.values()))


def _steps(values: Sequence[float]) -> list[Point]:
    points: list[Point] = []
    for place, value in enumerate(values):
        points += [(value, place / len(values)), (value, (place + 1) / len(values))]
    return thinned(points)


def _behind(axes: Axes, curves: Mapping[str, Sequence[Point]], name: str) -> None:
    for other, curve in curves.items():
        if other != name and curve:
            axes.line(curve, "behind")


# --- confidences ---------------------------------------------------------------------------------


def _reliability(name: str, records: Sequence[Measures]) -> tuple[Markup | None, str]:
    pairs: dict[str, list[tuple[float, bool]]] = {}
    for each in records:
        for _, kind, probability, is_right in each.confidences:
            pairs.setdefault(kind, []).append((probability, is_right))
    if not pairs:
        return None, "no confidence of a value that has a label"
    axes = Axes(across="confidence", up="share right")
    axes.line([(0.0, 0.0), (1.0, 1.0)], "dashed")
    said: list[str] = []
    for kind in sorted(pairs, key=_KINDS.index):
        confidences, right = zip(*pairs[kind], strict=True)
        found: Reliability = expected_calibration_error(confidences, right)
        said.append(f"{kind}: {found.count} values, ECE {found.error:.3f}")
        for part in found.bins:
            axes.whisker(part.confidence, *part.interval)
            axes.mark(kind, part.confidence, part.accuracy)
    caption = "; ".join(said)
    return axes.drawn(f"Reliability of {name}: {caption}"), caption


def _coverage(records: Records) -> dict[str, tuple[Markup | None, str]]:
    curves = {name: _curve(found) for name, found in records.items()}
    panels: dict[str, tuple[Markup | None, str]] = {}
    for name, curve in curves.items():
        if not curve:
            panels[name] = (None, "no answer has both a label and a confidence")
            continue
        axes = Axes(across="coverage", up="share exact")
        _behind(axes, curves, name)
        axes.line(curve)
        for x, y in (curve[0], curve[-1]):
            axes.mark("choice", x, y)
        caption = f"{100 * curve[-1][1]:.1f} % exact at a coverage of {100 * curve[-1][0]:.1f} %"
        panels[name] = (axes.drawn(f"Accuracy against coverage of {name}: {caption}"), caption)
    return panels


def _curve(records: Sequence[Measures]) -> list[Point]:
    labelled = [each for each in records if each.exact is not None]
    judged = [
        (each.least_confidence, bool(each.exact))
        for each in labelled
        if each.least_confidence is not None
    ]
    if not judged:
        return []
    points = accuracy_coverage_curve(*zip(*judged, strict=True))
    share = len(judged) / len(labelled)
    return thinned(sorted((point.coverage * share, point.accuracy) for point in points))
