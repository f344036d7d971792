"""An evaluation as one page: rates, plots, differences, fields, and every failed input.

Neighbours: `_figure_tables`, `_plots` and `_failures` make the parts, `_elements` the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extractkit.errors import UsageError
from extractkit.messages import require_number
from extractkit.report import _figure_tables as tables
from extractkit.report._elements import Markup, element, page
from extractkit.report._evaluation_style import EVALUATION_STYLE
from extractkit.report._failures import Failures
from extractkit.report._figures import EvaluationFigures
from extractkit.report._parts import fact_list, place_name
from extractkit.report._plots import plots
from extractkit.report._style import STYLE

__all__ = ["evaluation_to_html"]

_MOST_OPEN = 3


def evaluation_to_html(
    figures: EvaluationFigures, *, title: str = "Evaluation", failures: int = 200
) -> str:
    """Return a page that shows an evaluation: figures with intervals, plots, failed inputs.

    The file needs nothing but itself, loads nothing and runs no script; texts of documents and
    models are escaped. It is of bounded size: where failures, texts or answers are many or long,
    it says what it leaves out.

    Args:
        figures: What was found.
        title: The heading of the page.
        failures: How many failed inputs are shown in all, shared among the configurations.

    Raises:
        UsageError: If an argument is of another kind, or `failures` is below 0.
    """
    given: Any = figures
    if not isinstance(given, EvaluationFigures):
        found = type(given).__name__
        raise UsageError(
            f"evaluation_to_html: figures is a {found}; expected EvaluationFigures.of(report)"
        )
    require_number("evaluation_to_html", "failures", failures, low=0, whole=True)
    body = [
        element("header", element("h1", title), *_measured_on(figures)),
        element("main", *_parts(figures, failures), {"class": "evaluation"}),
        element("footer", element("h2", "How it was asked"), *_asked(figures)),
    ]
    return page(title, body, STYLE + EVALUATION_STYLE)


def _measured_on(figures: EvaluationFigures) -> Iterator[Markup]:
    report = figures.report
    inputs = len({each.case.id for found in report.answers.values() for each in found})
    said = (
        f"{_counted(inputs, 'input')}, {_counted(len(report.answers), 'configuration')}. "
        f"The unit of analysis is the {report.unit}: several samples of one are averaged first, "
        f"and every interval, at {100 * figures.level:g} %, is over inputs. Rates count all; "
        'those that leave some out say "of". "?" stands where the inputs are too few, or too much '
        "alike, to bound a figure."
    )
    yield element("p", said, {"class": "lead"})
    for note in figures.notes:
        yield element("p", note, {"class": "note"})
    if report.bad:
        shown = [element("li", element("bdi", each[:300])) for each in report.bad[:20]]
        more = len(report.bad) - len(shown)
        yield element(
            "details",
            element("summary", f"{_counted(len(report.bad), 'row')} of the data left out"),
            element("ul", *shown),
            *([element("p", f"and {more:,} more", {"class": "note"})] if more else []),
        )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _parts(figures: EvaluationFigures, failures: int) -> Iterator[Markup]:
    yield element("section", element("h2", "Rates"), tables.rates(figures))
    yield from plots(figures)
    if figures.differences:
        yield element(
            "section",
            element("h2", "Differences"),
            element(
                "p",
                f"Each configuration less {figures.baseline}, paired by input; rates and fields in "
                "percentage points (pp). Where the interval leaves out 0 there is a star; with "
                "many rows, some stars are chance.",
                {"class": "soft"},
            ),
            tables.differences(figures),
        )
    yield element("section", element("h2", "Latency (s), tokens, cost"), tables.amounts(figures))
    if any(each.fields for each in figures.summaries.values()):
        yield element("section", element("h2", "Fields"), *_fields(figures))
    yield from tables.lists(figures)
    made = Failures(figures, failures)
    yield element(
        "section",
        element("h2", "Failed inputs"),
        element(
            "p",
            "With a label: the answer is not exact. Without: there is no value. In the sources, "
            "values of the answer that were found are marked; a wavy line says that the label says "
            "something else.",
            {"class": "soft"},
        ),
        *(element("section", element("h3", name), *made.of(name)) for name in figures.summaries),
    )


def _fields(figures: EvaluationFigures) -> Iterator[Markup]:
    said = (
        "Above, shares over inputs, and how often values hold null and UNKNOWN; covered: the "
        "answer commits itself, to a value or to null. Below, counts of places. Empty: both say "
        "that there is nothing. Missed: the answer alone does. Fabricated: the label alone does. "
        "Declined: the answer is UNKNOWN. Unanswered: there is no value."
    )
    yield element("p", said, {"class": "soft"})
    for place, name in enumerate(figures.summaries):
        is_open = {"open": ""} if place < _MOST_OPEN else {}
        yield element("details", is_open, element("summary", name), *tables.fields(figures, name))


def _asked(figures: EvaluationFigures) -> Iterator[Markup]:
    yield element("p", f"Target: fingerprint {figures.report.target}", {"class": "soft"})
    if figures.report.rules:
        yield element("p", "Compared by rules, all else by its type:", {"class": "soft"})
        rules = figures.report.rules.items()
        yield fact_list((place_name(field), element("bdi", rule)) for field, rule in rules)
    for name in figures.summaries:
        yield element("section", element("h3", name), tables.asking(figures, name))
