"""Diagrams of reliability, and of accuracy against coverage.

Neighbours: `_figures` computes what is drawn. Needs matplotlib (extra "plots"), which is loaded
when something is drawn; no window is opened, and no state outside of the figure is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from extractkit.calibration._figures import CoveragePoint, Reliability
from extractkit.calibration._pairs import is_share, listed
from extractkit.errors import MissingDependencyError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["accuracy_coverage_diagram", "reliability_diagram"]

_FEW: Final = 20
_COLOURS: Final = ("#1b6ca8", "#c0392b", "#2e7d4f", "#8e5aa6", "#b7791f")


def reliability_diagram(
    tables: Mapping[str, Reliability], *, path: Path | str | None = None
) -> Figure:
    """Return a figure of confidence against accuracy, one line per table.

    Each bin is a point at its mean confidence, with the Wilson interval of its accuracy at 95 %;
    its area grows with the count. On the diagonal confidence is what it says.

    Args:
        tables: By the name that the legend shows.
        path: Where the figure is written, as the ending says; None writes nothing.

    Raises:
        UsageError: If there is no table, or they have no names.
        MissingDependencyError: If matplotlib is not installed.
    """
    example = '{"as given": expected_calibration_error(...)}'
    _require_named(tables, "tables", example)
    for table in tables.values():
        _require_kind(table, Reliability, "tables", example)
    if not tables:
        raise UsageError("found no table; expected at least one")
    figure, axes = _figure("reliability_diagram")
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle="--", label="calibrated")
    for place, (name, table) in enumerate(tables.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        across = [found.confidence for found in table.bins]
        up = [found.accuracy for found in table.bins]
        below = [max(0.0, found.accuracy - found.interval[0]) for found in table.bins]
        above = [max(0.0, found.interval[1] - found.accuracy) for found in table.bins]
        sizes = [12 + 120 * found.count / table.count for found in table.bins]
        axes.errorbar(across, up, yerr=[below, above], color=colour, linewidth=1, alpha=0.5)
        bins = "bin" if len(table.bins) == 1 else "bins"
        kind = "equal width" if table.scheme == "width" else "equal mass"
        label = f"{name}: ECE {100 * table.error:.1f} % ({len(table.bins)} {bins} of {kind})"
        axes.scatter(across, up, s=sizes, color=colour, label=label, zorder=3)
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_aspect("equal")
    return _finished(figure, axes, path)


def accuracy_coverage_diagram(
    curves: Mapping[str, Sequence[CoveragePoint]],
    *,
    target_accuracy: float | None = None,
    path: Path | str | None = None,
) -> Figure:
    """Return a figure of the accuracy of what is kept against the share that is kept.

    Args:
        curves: By the name that the legend shows; see `accuracy_coverage_curve`.
        target_accuracy: Drawn as a line across; None draws none.
        path: Where the figure is written, as the ending says; None writes nothing.

    Raises:
        UsageError: If there is no curve, one is empty, or they have no names.
        MissingDependencyError: If matplotlib is not installed.
    """
    example = '{"as given": accuracy_coverage_curve(...)}'
    _require_named(curves, "curves", example)
    for curve in curves.values():
        for point in listed("curves", curve):
            _require_kind(point, CoveragePoint, "curves", example)
    if target_accuracy is not None and not is_share(target_accuracy):
        raise UsageError(f"target_accuracy={target_accuracy!r:.60}: expected a number from 0 to 1")
    if not curves or not all(map(len, curves.values())):
        raise UsageError("found no curve, or an empty one; expected one with points at least")
    figure, axes = _figure("accuracy_coverage_diagram")
    lowest = 1.0
    for place, (name, curve) in enumerate(curves.items()):
        label = f"{name}: {100 * curve[-1].accuracy:.1f} % at full coverage"
        across = [100 * point.coverage for point in curve]
        up = [100 * point.accuracy for point in curve]
        axes.step(
            across,
            up,
            where="post",
            color=_COLOURS[place % len(_COLOURS)],
            label=label,
            marker="." if len(curve) <= _FEW else None,  # one point alone makes no line
        )
        lowest = min(lowest, *(point.accuracy for point in curve if point.kept >= 10), up[-1] / 100)
    if target_accuracy is not None:
        label = f"target {100 * target_accuracy:g} %"
        axes.axhline(
            100 * target_accuracy, color="#888888", linewidth=1, linestyle="--", label=label
        )
        lowest = min(lowest, target_accuracy)
    axes.set(
        xlabel="coverage: answers kept (%)",
        ylabel="accuracy of the kept (%)",
        xlim=(0, 101),
        ylim=(max(0.0, 100 * lowest - 5), 101),
    )
    return _finished(figure, axes, path)


def _require_named(given: object, name: str, example: str) -> None:
    if not isinstance(given, Mapping):
        raise UsageError(
            f"{name} is a {type(given).__name__}; expected a dict by name, such as {example}"
        )


def _require_kind(given: object, kind: type, name: str, example: str) -> None:
    if not isinstance(given, kind):
        raise UsageError(f"{name} holds {given!r:.60}; expected what it has in {example}")


def _figure(feature: str) -> tuple[Any, Any]:
    """Return a figure and its axes, whose own types say too little."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_feature(
            feature, package="matplotlib", extra="plots"
        ) from error
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    return figure, figure.subplots()


def _finished(figure: Any, axes: Any, path: Path | str | None) -> Figure:
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="best", fontsize="small")
    if path is not None:
        figure.savefig(path, dpi=150)
    drawn: Figure = figure
    return drawn
