"""Tables of an evaluation: rates, differences, fields, lists, amounts; and how each was asked.

On a narrow screen a row becomes a block whose cells say the names of their columns. Neighbours:
`_figures` computes, `_evaluation` puts the page together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from extractkit.evaluation import Interval
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.report._amounts import amount_text, difference_text, is_apart, rate_text
from extractkit.report._elements import Markup, element
from extractkit.report._figures import EvaluationFigures, asked_of, outcomes
from extractkit.report._parts import fact_list, json_text, place_name

__all__ = ["amounts", "asking", "differences", "fields", "lists", "rates"]

_SHARES: Final = (
    ("right", "right"),
    ("recall", "recall"),
    ("precision", "precision"),
    ("coverage", "coverage"),
    ("right, of those covered", "right, of those covered"),
    ("null given", "null, of values given"),
    ("UNKNOWN given", "unknown, of values given"),
    ("fabricated, of those absent", "fabricated, of those absent"),
)
_OUTCOMES: Final = (
    "right", "empty", "wrong", "missed", "fabricated", "declined", "unanswered",
)  # fmt: skip


def _table(names: Sequence[str], rows: Sequence[Sequence[Markup | str]]) -> Markup:
    """Return a table whose first column names the rows."""
    head = [element("th", name, {"scope": "col"}) for name in names]
    body = [
        element(
            "tr",
            element("th", row[0], {"scope": "row"}),
            *(
                element("td", cell, {"data-label": name})
                for name, cell in zip(names[1:], row[1:], strict=True)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", whole, {"class": "table", "tabindex": "0"})


def rates(figures: EvaluationFigures) -> Markup:
    """Return the rates over all inputs, a column for each configuration."""
    found = {name: summary.rates for name, summary in figures.summaries.items()}
    return _by_configuration("of all inputs", found, rate_text)


def amounts(figures: EvaluationFigures) -> Markup:
    """Return latency, tokens and costs, a column for each configuration."""
    found = {
        name: {**summary.latency, **summary.amounts} for name, summary in figures.summaries.items()
    }
    return _by_configuration("per input", found, amount_text)


def _by_configuration(
    corner: str, found: Mapping[str, Mapping[str, Interval]], said: Any
) -> Markup:
    names = {name: None for each in found.values() for name in each}
    return _table(
        [corner, *found],
        [[name, *(said(each.get(name)) for each in found.values())] for name in names],
    )


def differences(figures: EvaluationFigures) -> Markup:
    """Return what each configuration has more or less than the baseline, paired by input."""
    columns: dict[str, dict[str, Markup | str]] = {}
    for name, found in figures.differences.items():
        column = columns[f"{name} (inputs: {found.inputs})"] = {}
        for group, is_rate in (
            (found.rates, True),
            (found.fields, True),
            (found.amounts, False),
            (found.latency, False),
        ):
            column |= {key: _difference(each, is_rate=is_rate) for key, each in group.items()}
    names = {name: None for each in columns.values() for name in each}
    return _table(
        [f"less {figures.baseline}", *columns],
        [[name, *(each.get(name, "-") for each in columns.values())] for name in names],
    )


def _difference(found: Interval, *, is_rate: bool) -> Markup | str:
    said = difference_text(found, is_rate=is_rate)
    return element("b", said, " *") if is_apart(found) else said


def fields(figures: EvaluationFigures, name: str) -> Iterator[Markup]:
    """Yield the figures of each field of one configuration, and its outcomes as counts."""
    counts = outcomes(figures.report.answers[name])
    shares: list[list[Markup | str]] = []
    places: list[list[Markup | str]] = []
    for field, found in figures.summaries[name].fields.items():
        title = element("bdi", place_name(field))
        shares.append([title, *(rate_text(found.get(key)) for _, key in _SHARES)])
        if field in counts:
            here = counts[field]
            places.append([title, *(str(here.get(outcome, 0)) for outcome in _OUTCOMES)])
    yield _table(["field", *(said for said, _ in _SHARES)], shares)
    if places:
        yield _table(["places of all answers", *_OUTCOMES], places)


def lists(figures: EvaluationFigures) -> Iterator[Markup]:
    """Yield precision and recall of whole elements, where there are lists."""
    rows = [
        [
            element("bdi", place_name(field)),
            name,
            rate_text(found.get("precision")),
            rate_text(found.get("recall")),
        ]
        for name, summary in figures.summaries.items()
        for field, found in summary.lists.items()
    ]
    if rows:
        yield element(
            "section",
            element("h2", "Lists"),
            element(
                "p",
                "Whole elements: matched ones of those that the answer has (precision), and of "
                "those that the label has (recall). The order is not judged here.",
                {"class": "soft"},
            ),
            _table(["list", "configuration", "precision", "recall"], rows),
        )


def asking(figures: EvaluationFigures, name: str) -> Markup:
    """Return who was asked by one configuration, and how."""
    facts = figures.report.facts[name]
    told: list[tuple[str, str]] = [
        ("asked", str(facts["model"])),
        ("samples", str(facts["samples"])),
    ]
    for key, values in asked_of(figures.report.answers[name]).items():
        told.append((_NAMES.get(key, key), _listed(values)))
    told += [(key.replace("_", " "), _said(value)) for key, value in _parameters(facts)]
    if "reruns" in facts:
        told.append(("reruns", str(facts["reruns"])))
    first = figures.summaries[name].first_call_s
    if first:
        told.append(("first calls", ", ".join(f"{seconds:.2f} s" for seconds in first)))
    return fact_list(told)


_NAMES: Final = {
    "model": "answered as",
    "prompt": "prompt version",
    "fingerprint": "schema as sent",
}


def _parameters(facts: JsonObject) -> Iterator[tuple[str, Any]]:
    """Yield the options of a configuration that are set, and its seed in any case."""
    parameters: JsonObject = facts["parameters"]
    for key, value in parameters.items():
        if key == "seed" or (value is not None and key not in ("sample", "prompt")):
            yield key, value


def _listed(values: JsonValue) -> str:
    if is_object(values):
        return ", ".join(f"{key} {' / '.join(each)}" for key, each in values.items())
    return ", ".join(map(str, values))


def _said(value: JsonValue) -> str:
    if is_object(value):
        said = [f"{key}={_said(part)}" for key, part in value.items() if part is not None]
        return ", ".join(said) or "(defaults)"
    if value is None:
        return "none"
    return value if isinstance(value, str) else json_text(value)
