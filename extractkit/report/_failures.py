"""What came of each input that failed: values beside the label, findings, and the marked source.

Bounded: of many failures, long texts and long answers a part is shown, and it is said what is not.
Neighbours: `_source` marks places, `_evaluation` puts the page together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from extractkit.evaluation import Answered, Judged
from extractkit.paths import JsonValue, Pointer, walk
from extractkit.report._elements import Markup, element
from extractkit.report._figures import EvaluationFigures, failed_inputs
from extractkit.report._parts import badge, cut, finding_item, json_text, place_name
from extractkit.report._source import FoundValue, marked_source
from extractkit.results import Span

__all__ = ["Failures"]

_TEXT: Final = 4_000
"""Characters of a source that are shown."""
_SHORT: Final = 600
"""Up to so many characters, and lines as follow, a source is shown without a scroll bar."""
_SHORT_LINES: Final = 15
_VALUES: Final = 60
"""Values of an answer that are shown, and places of a label that it misses."""
_FINDINGS: Final = 20
_VALUE: Final = 300
"""Characters of a value, an answer that could not be read, or a message."""


class Failures:
    """The parts of a page about failed inputs; rows are numbered through the page.

    Args:
        figures: What was found.
        most: How many inputs are shown in all, shared among the configurations.
    """

    def __init__(self, figures: EvaluationFigures, most: int) -> None:
        self._report = figures.report
        self._each = max(1, most // len(figures.summaries)) if most else 0
        self._number = 0

    def of(self, name: str) -> Iterator[Markup]:
        """Yield the failed inputs of one configuration, closed; then what was left out."""
        failed = failed_inputs(self._report, name)
        inputs = len({each.case.id for each in self._report.answers[name]})
        yield element("p", f"{len(failed)} of {inputs} inputs.", {"class": "soft"})
        for answers in failed[: self._each]:
            yield self._input(answers)
        if len(failed) > self._each:
            said = (
                f"{len(failed) - self._each} more failed inputs are not shown here, to keep this "
                "page small; the JSON output names them all, and the journal holds their answers."
            )
            yield element("p", said, {"class": "note"})

    def _input(self, answers: Sequence[Answered]) -> Markup:
        case = answers[0].case
        return element(
            "details",
            {"class": "failure"},
            element(
                "summary",
                element("bdi", _cut(case.id), {"class": "path"}),
                f" {'; '.join(dict.fromkeys(map(_short, answers)))}",
            ),
            *(part for each in answers for part in self._answer(each, several=len(answers) > 1)),
        )

    def _answer(self, answered: Answered, *, several: bool) -> Iterator[Markup]:
        observation = answered.observation
        if several:
            yield element("h4", f"sample {answered.sample}: {_short(answered)}")
        told = [
            ("the model declined", observation.refusal or ""),
            ("not asked", observation.error),
            ("the model wrote", observation.answer if observation.document is None else ""),
        ]
        for title, said in told:
            if said:
                shown = element("pre", cut(said, 4 * _VALUE), {"class": "answer", "dir": "auto"})
                yield element("div", element("p", title, {"class": "soft"}), shown)
        leaves = list(walk(observation.document)) if observation.document is not None else []
        judged_all = answered.measures.judged
        by_place = {each.found_at: each for each in judged_all if each.found_at is not None}
        text = answered.case.text[:_TEXT]
        marks: list[FoundValue] = []
        rows: list[Markup] = []
        for pointer, value in leaves[:_VALUES]:
            self._number += 1
            judged = by_place.get(pointer)
            found = _found(self._number, answered, pointer, value, judged, len(text))
            marks += [] if found is None else [found]
            rows.append(_row(self._number, pointer, value, judged, found, text))
        if rows:
            yield element("ol", *rows, {"class": "list"})
        yield from _left_out(len(leaves), _VALUES, "values of the answer")
        shown_at = {pointer for pointer, _ in leaves}
        others = [each for each in judged_all if each.found_at not in shown_at]
        yield from _missing(others) if observation.status == "ok" else _label(others)
        yield from _findings(observation.findings)
        is_long = len(text) > _SHORT or text.count("\n") > _SHORT_LINES
        kind = "source long" if is_long else "source"
        yield element("div", marked_source(text, marks), {"class": kind})
        yield from _left_out(len(answered.case.text), _TEXT, "characters of the source")


def _found(
    number: int,
    answered: Answered,
    pointer: Pointer,
    value: JsonValue,
    judged: Judged | None,
    length: int,
) -> FoundValue | None:
    """Return the place of a value in what is shown of the source."""
    place = answered.observation.evidence.get(pointer)
    if place is None or not 0 <= place[0] < place[1] <= length:
        return None
    said = "" if judged is None else f"\n{judged.outcome}: {judged.why}"
    return FoundValue(
        number=number,
        pointer=pointer,
        span=Span(start=place[0], end=place[1]),
        state="fine" if judged is None else "wrong",
        tip=_cut(f"{place_name(pointer)} = {json_text(value)}{said}"),
    )


def _row(
    number: int,
    pointer: Pointer,
    value: JsonValue,
    judged: Judged | None,
    found: FoundValue | None,
    text: str,
) -> Markup:
    facts: list[Markup | str] = []
    if judged is not None:
        facts += [badge(judged.outcome, "bad"), element("bdi", _cut(judged.why))]
    if found is not None:
        quoted = _cut(text[found.span.start : found.span.end])
        link = element("a", element("bdi", quoted), {"href": f"#place-{number}"})
        facts.append(element("span", "in the source: ", link, {"class": "soft"}))
    return element(
        "li",
        element("div", element("bdi", place_name(pointer), {"class": "path"})),
        element("div", element("bdi", _cut(json_text(value)), {"class": "data"})),
        *([element("div", *facts)] if facts else []),
        {"class": "value", "id": f"value-{number}"},
    )


def _label(judged: Sequence[Judged]) -> Iterator[Markup]:
    """Yield what the label says, for an answer without a value."""
    items = [
        element(
            "li",
            element("bdi", place_name(each.pointer), {"class": "path"}),
            " ",
            element("bdi", _cut(json_text(each.expected))),
        )
        for each in judged[:_VALUES]
    ]
    if items:
        yield element("p", "There is no value. The label says:", {"class": "soft"})
        yield element("ul", *items, {"class": "findings"})
    yield from _left_out(len(judged), _VALUES, "places of the label")


def _missing(judged: Sequence[Judged]) -> Iterator[Markup]:
    """Yield the places of the label for which the answer has none."""
    items = [
        element(
            "li",
            badge(each.outcome, "bad"),
            " ",
            element("bdi", f"{place_name(each.pointer)}: {_cut(each.why)}"),
            *(
                []
                if each.expected is None
                else [element("bdi", f", expected {_cut(json_text(each.expected))}")]
            ),
        )
        for each in judged[:_VALUES]
    ]
    if items:
        yield element("ul", *items, {"class": "findings"})
    yield from _left_out(len(judged), _VALUES, "places of the label")


def _findings(findings: Sequence[Any]) -> Iterator[Markup]:
    items = [
        finding_item(
            each["severity"],
            each["level"].upper(),
            _cut(f"{place_name(each['path'])}: {each['message']}"),
        )
        for each in findings[:_FINDINGS]
    ]
    if items:
        yield element("ul", *items, {"class": "findings"})
    yield from _left_out(len(findings), _FINDINGS, "findings")


def _left_out(count: int, shown: int, what: str) -> Iterator[Markup]:
    if count > shown:
        said = f"{count - shown:,} more {what} are not shown here."
        yield element("p", said, {"class": "note"})


def _short(answered: Answered) -> str:
    status = answered.observation.status
    if status != "ok":
        return status
    wrong = (f"{each.field or '(answer)'} {each.outcome}" for each in answered.measures.judged)
    names = list(dict.fromkeys(wrong)) or ["a list in another order"]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def _cut(text: str) -> str:
    return cut(text, _VALUE)
