"""Diagrams: what is drawn, and that nothing is needed to import them."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from extractkit.calibration import accuracy_coverage_curve, expected_calibration_error
from extractkit.calibration.plots import accuracy_coverage_diagram, reliability_diagram
from extractkit.errors import MissingDependencyError, UsageError
from tests.calibration.making import pairs


def test_a_reliability_diagram_has_a_point_for_each_bin(tmp_path: Path) -> None:
    tables = {
        "raw": expected_calibration_error(*pairs(400, temperature=3)),
        "equal mass": expected_calibration_error(*pairs(400), scheme="mass", bins=5),
    }
    path = tmp_path / "reliability.png"
    figure = reliability_diagram(tables, path=path)
    assert path.read_bytes().startswith(b"\x89PNG")
    (axes,) = figure.axes
    points = [len(part.get_offsets()) for part in axes.collections if hasattr(part, "get_sizes")]
    assert [len(tables["raw"].bins), 5] == [count for count in points if count]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("equal mass" in text and "5 bins" in text for text in legend)


def test_an_accuracy_coverage_diagram_has_a_line_for_each_curve(tmp_path: Path) -> None:
    curve = accuracy_coverage_curve(*pairs(400))
    path = tmp_path / "coverage.svg"
    figure = accuracy_coverage_diagram({"model": curve}, target_accuracy=0.9, path=path)
    assert "<svg" in path.read_text(encoding="utf-8")
    (axes,) = figure.axes
    line = axes.get_lines()[0]
    assert list(line.get_xdata()) == [100 * point.coverage for point in curve]
    assert list(line.get_ydata()) == [100 * point.accuracy for point in curve]
    assert len(axes.get_lines()) == 2
    assert len(accuracy_coverage_diagram({"model": curve}).axes[0].get_lines()) == 1


def test_a_curve_of_one_point_is_seen() -> None:
    """Where all confidences are equal, there is one threshold, and no line through it."""
    curve = accuracy_coverage_curve([0.5] * 10, [True, False] * 5)
    line = accuracy_coverage_diagram({"model": curve}).axes[0].get_lines()[0]
    assert line.get_marker() == "."
    many = accuracy_coverage_curve(*pairs(100))
    line = accuracy_coverage_diagram({"model": many}).axes[0].get_lines()[0]
    assert line.get_marker() == "None"


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="no table"):
        reliability_diagram({})
    with pytest.raises(UsageError, match="no curve"):
        accuracy_coverage_diagram({"empty": ()})


def test_what_has_no_names_is_refused() -> None:
    table: Any = expected_calibration_error(*pairs(50))
    with pytest.raises(UsageError, match="tables is a Reliability; expected a dict by name"):
        reliability_diagram(table)
    curve: Any = accuracy_coverage_curve(*pairs(50))
    with pytest.raises(UsageError, match=r"curves is a .*; expected a dict by name"):
        accuracy_coverage_diagram(curve)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r'pip install "\.\[plots\]"'):
        accuracy_coverage_diagram({"model": accuracy_coverage_curve([0.5], [True])})
