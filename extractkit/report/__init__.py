"""Results as one self-contained HTML file: no script, no network, every text escaped.

    _elements   escaped elements and the page around them
    _style      the style sheet
    _parts      badges, lists of facts and the like, for both kinds of page
    _source     the source with its values marked
    _values     the values with their places and findings, and how the answer came about
    _figures    the figures of an evaluation, computed once; _csv writes them as rows
    _evaluation their page, of _figure_tables, _plots and _failures
    _pairs      accepted answers for fine-tuning

Neighbours: `results` and `evaluation` say what is shown, `cli` writes the file. This room asks
nobody and judges nothing.
"""

from __future__ import annotations

from typing import Any

from extractkit.errors import UsageError
from extractkit.report._amounts import amount_text, difference_text, is_apart, rate_text
from extractkit.report._csv import evaluation_to_csv
from extractkit.report._elements import element, page
from extractkit.report._evaluation import evaluation_to_html
from extractkit.report._figures import EvaluationFigures
from extractkit.report._pairs import ACCEPTED, FORMATS, Accepted, Format, training_pairs
from extractkit.report._source import legend, marked_source
from extractkit.report._values import asked, ending, found_values, general_findings, value_rows
from extractkit.results import ExtractionResult

__all__ = [
    "ACCEPTED",
    "FORMATS",
    "Accepted",
    "EvaluationFigures",
    "Format",
    "amount_text",
    "difference_text",
    "evaluation_to_csv",
    "evaluation_to_html",
    "is_apart",
    "rate_text",
    "to_html",
    "training_pairs",
]


def to_html(result: ExtractionResult[Any], text: str, *, title: str = "Extraction") -> str:
    """Return a page that shows `result` beside its source, with every found value marked.

    Hovering over a marked value, or reaching it with the keyboard, shows its path, value, match
    grade and level; following it leads to its row among the values, and back. What was not found
    and every finding stand beside. The file needs nothing but itself, loads nothing and runs no
    script. Control characters are shown by their pictures, such as ␀; halves of surrogate pairs,
    characters that are none, and those that turn the direction of what follows them as �.

    Args:
        result: Any result, with a value or without.
        text: The text that it was made from.
        title: The heading of the page.

    Raises:
        UsageError: If `result`, `text` or `title` is of another kind, or evidence lies outside of
            `text`, which then is another one.
    """
    _require("result", result, ExtractionResult)
    _require("text", text, str)
    _require("title", title, str)
    end = max((span.end for span in result.evidence.values()), default=0)
    if end > len(text):
        raise UsageError(
            f"the evidence reaches to character {end}, the text has {len(text)}: expected the text "
            "that the result was made from"
        )
    values = found_values(result)
    body = [
        element("header", element("h1", title), ending(result)),
        element(
            "main",
            element(
                "section",
                element("h2", "Source"),
                marked_source(text, values),
                legend(values),
                {"class": "source"},
            ),
            element(
                "section",
                element("h2", "Values"),
                value_rows(result, values, text),
                *general_findings(result),
                {"class": "values"},
            ),
        ),
        element("footer", element("h2", "How it was asked"), asked(result)),
    ]
    return page(title, body)


def _require(name: str, given: object, kind: type) -> None:
    if not isinstance(given, kind):
        found = type(given).__name__
        raise UsageError(f"to_html: {name} is a {found}; expected {kind.__name__}")
