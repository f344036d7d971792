"""The figures of an evaluation as rows, one for each figure, for spreadsheets and data frames.

Neighbours: `_figures` computes them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from extractkit.evaluation import Difference, Interval, Summary
from extractkit.report._figures import EvaluationFigures, outcomes

__all__ = ["evaluation_to_csv"]

_COLUMNS: Final = (
    "configuration",
    "less",
    "group",
    "field",
    "figure",
    "estimate",
    "low",
    "high",
    "inputs",
    "level",
    "method",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

Row: TypeAlias = tuple[object, ...]


def evaluation_to_csv(figures: EvaluationFigures) -> str:
    """Return every figure as a row of CSV, below a line of names.

    "less" names the baseline of a difference and is empty elsewhere; outcomes are counts of places
    without an interval. A cell of text that a spreadsheet would run as a formula has a "'" before
    it.
    """
    target = io.StringIO(newline="")
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in _rows(figures):
        writer.writerow([_cell(value) for value in row])
    return target.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _rows(figures: EvaluationFigures) -> Iterator[Row]:
    for name, summary in figures.summaries.items():
        for row in _summary(summary):
            yield (name, "", *row)
        for field, counts in outcomes(figures.report.answers[name]).items():
            for outcome, count in counts.items():
                yield (name, "", "outcomes", field, outcome, count, *[""] * 5)
        for seconds in summary.first_call_s:
            yield (name, "", "latency", "", "first_call_s", seconds, *[""] * 5)
    for name, difference in figures.differences.items():
        for row in _difference(difference):
            yield (name, figures.baseline, *row)


def _summary(summary: Summary) -> Iterator[Row]:
    yield from _group("rates", "", summary.rates)
    for field, found in summary.fields.items():
        yield from _group("fields", field, found)
    for field, found in summary.lists.items():
        yield from _group("lists", field, found)
    yield from _group("amounts", "", summary.amounts)
    yield from _group("latency", "", summary.latency)


def _difference(difference: Difference) -> Iterator[Row]:
    yield from _group("rates", "", difference.rates)
    for field, found in difference.fields.items():
        yield from _group("fields", field, {"right": found})
    yield from _group("amounts", "", difference.amounts)
    yield from _group("latency", "", difference.latency)


def _group(group: str, field: str, found: Mapping[str, Interval]) -> Iterator[Row]:
    for name, each in found.items():
        yield (
            group,
            field,
            name,
            each.estimate,
            each.low,
            each.high,
            each.count,
            each.level,
            each.method,
        )
