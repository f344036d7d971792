"""An evaluation as a page: all figures with intervals, every failure, nothing run, bounded."""

from __future__ import annotations

import base64
import csv
import dataclasses
import hashlib
import io
import json
import re
from typing import Any, Literal

import pytest

from extractkit.errors import BadRequestError, UsageError
from extractkit.evaluation import Configuration, Dataset, EvaluationReport, Interval, evaluate
from extractkit.messages import ModelResponse, StopReason
from extractkit.report import (
    EvaluationFigures,
    amount_text,
    difference_text,
    evaluation_to_csv,
    evaluation_to_html,
    is_apart,
    rate_text,
)
from extractkit.testing import FakeProvider
from tests.evaluation.making import LABEL, echo
from tests.report.making import EVIL, UNLABELLED, broken, cut, made, with_confidences, wrong
from tests.report.test_to_html import Page, read


def page_of(report: EvaluationReport, **options: Any) -> tuple[str, Page]:
    raw = evaluation_to_html(EvaluationFigures.of(report), **options)
    return raw, read(raw)


def interval(estimate: float | None, low: float | None, high: float | None) -> Interval:
    return Interval(estimate=estimate, low=low, high=high, count=9, level=0.95, method="percentile")


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return with_confidences(made([("right", echo), ("wrong", wrong)]))


# --- figures -------------------------------------------------------------------------------------


def test_the_baseline_is_the_first_configuration_or_the_one_that_is_named(
    report: EvaluationReport,
) -> None:
    figures = EvaluationFigures.of(report)
    assert figures.baseline == "right"
    assert figures.differences["wrong"].rates["exact"].estimate == -1.0
    other = EvaluationFigures.of(report, baseline="wrong")
    assert other.differences["right"].rates["exact"].estimate == 1.0
    with pytest.raises(UsageError, match="no configuration 'none'"):
        EvaluationFigures.of(report, baseline="none")
    with pytest.raises(UsageError, match="no configuration; expected at least one"):
        EvaluationFigures.of(dataclasses.replace(report, answers={}))


def test_configurations_with_fewer_or_other_inputs_are_told(report: EvaluationReport) -> None:
    right, wrong_ = report.answers["right"], report.answers["wrong"]
    fewer = dataclasses.replace(report, answers={"right": right, "wrong": wrong_[:1]})
    (note,) = EvaluationFigures.of(fewer).notes
    assert note == "wrong has answers to 1 of 4 inputs; its rates are over those"
    apart = dataclasses.replace(report, answers={"right": right[:2], "wrong": wrong_[2:]})
    figures = EvaluationFigures.of(apart, notes=["mine"])
    assert figures.notes[0] == "mine"
    assert figures.notes[-1] == "wrong has no input in common with right; they are not compared"
    assert figures.differences == {}
    assert "they are not compared" in read(evaluation_to_html(figures)).body


def test_plain_figures_are_json_and_say_what_they_were_measured_on(
    report: EvaluationReport,
) -> None:
    record = json.loads(json.dumps(EvaluationFigures.of(report, level=0.9).plain()))
    assert (record["unit"], record["level"], record["baseline"]) == ("input", 0.9, "right")
    one = record["configurations"]["wrong"]
    assert one["outcomes"]["/total"] == {"wrong": 4}
    assert one["outcomes"]["/day"] == {"missed": 4}
    assert len(one["failed_inputs"]) == 4
    assert one["asked"]["provider"] == ["fake"]
    assert "pydantic" in one["asked"]["versions"]
    assert one["figures"]["rates"]["exact"]["level"] == 0.9
    assert record["differences"]["wrong"]["rates"]["exact"]["estimate"] == -1.0


def test_every_figure_is_a_row_of_csv(report: EvaluationReport) -> None:
    renamed = dataclasses.replace(
        report,
        answers={"=right": report.answers["right"], "b": report.answers["wrong"]},
        facts={"=right": report.facts["right"], "b": report.facts["wrong"]},
    )
    figures = EvaluationFigures.of(renamed)
    rows = list(csv.DictReader(io.StringIO(evaluation_to_csv(figures))))

    def one(**wanted: str) -> dict[str, str]:
        (row,) = [row for row in rows if all(row[key] == it for key, it in wanted.items())]
        return row

    exact = one(configuration="'=right", less="", figure="exact")
    assert (exact["estimate"], exact["inputs"], exact["method"]) == ("1.0", "4", "exact")
    assert one(configuration="b", field="/lines", figure="recall")["estimate"] == "0.5"
    assert one(configuration="b", field="/total", figure="wrong")["estimate"] == "4"
    assert one(configuration="b", less="'=right", figure="exact")["estimate"] == "-1.0"
    tail = one(configuration="b", less="", figure="seconds, p95")
    assert (tail["group"], tail["high"]) == ("latency", "")
    assert one(configuration="b", figure="first_call_s")["group"] == "latency"
    assert len({tuple(row.values()) for row in rows}) == len(rows)


def test_figures_in_words() -> None:
    assert rate_text(interval(0.5, 0.25, None)) == "50.0 % (25.0 to ?)"
    assert rate_text(None) == rate_text(interval(None, None, None)) == "-"
    assert amount_text(interval(1234.5, 0.0123456, 123.44)) == "1,234 (0.0123 to 123.4)"
    assert amount_text(interval(2.0, None, 3.0)) == "2 (? to 3)"
    assert amount_text(None) == "-"
    rate = interval(-0.05, -0.1, -0.01)
    assert difference_text(rate, is_rate=True) == "-5.0 pp (-10.0 to -1.0)"
    assert is_apart(rate)
    amount = interval(20.0, -3.5, None)
    assert difference_text(amount, is_rate=False) == "+20 (-3.5 to ?)"
    assert not is_apart(amount)
    assert is_apart(interval(1, 0.5, None))
    assert difference_text(None, is_rate=True) == "-"


# --- the page ------------------------------------------------------------------------------------


def test_the_page_shows_rates_fields_lists_differences_and_how_it_was_asked(
    report: EvaluationReport,
) -> None:
    body = page_of(report, title="A & B")[1].body
    assert body.count("A & B") == 2
    for said in (
        "4 inputs, 2 configurations. The unit of analysis is the input",
        "exact, of those with a value",
        "fabricated, of those absent",
        "-100.0 pp (",
        "seconds, p95",
        "tokens per exact value",
        "first calls",
        "prompt version",
        "schema as sent",
        "pydantic",
        f"Target: fingerprint {report.target}",
        "Failed inputs",
        "seednone",
        "50.0 %",
    ):
        assert said in body, said


def test_each_plot_has_a_panel_for_each_configuration(report: EvaluationReport) -> None:
    raw, page = page_of(report)
    labels = re.findall(r'aria-label="([^"]+)"', raw)
    kinds = [label.split(" of ")[0] for label in labels if " of " in label]
    assert kinds.count("Latency") == 2
    assert kinds.count("Reliability") == 1
    assert kinds.count("Accuracy against coverage") == 1
    assert sum(label.startswith("Levels reached by") for label in labels) == 2
    assert "no confidence of a value that has a label" in page.body
    assert "no answer has both a label and a confidence" in page.body
    assert "choice: 4 values, ECE" in page.body
    # One of four answers has no confidence, and is never kept.
    assert "at a coverage of 75.0 %" in page.body
    assert {"polyline", "circle", "polygon", "rect"} <= page.tags


def test_a_failed_input_shows_its_values_beside_the_label_and_in_the_source(
    report: EvaluationReport,
) -> None:
    _, page = page_of(report)
    assert "0 of 4 inputs." in page.body
    assert "4 of 4 inputs." in page.body
    assert "/name wrong, /day missed, /total wrong and 2 more" in page.body
    assert '"1.00"' in page.body
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    marked = {mark.text for mark in page.marks}
    assert marked
    assert page.text.count("Invoice 0 of Acme Inc.") == 1
    tips = [mark.attributes["data-tip"] for mark in page.marks]
    assert '/total = "1.00"\nwrong: 62.00 expected, found 1.00' in tips
    assert {mark.attributes["class"] for mark in page.marks} >= {"mark exact", "mark exact wrong"}


def test_answers_without_a_value_show_what_was_said_instead() -> None:
    def refuses(request: Any) -> Any:
        return ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I <must> not")

    def fails(request: Any) -> Any:
        return BadRequestError("too long", provider="fake")

    models = [("broken", broken), ("cut", cut), ("refused", refuses), ("failed", fails)]
    _, page = page_of(made(models, inputs=1))
    for said in (
        "the model wrote",
        "There is no value. The label says:",
        "error SCHEMA",
        "error SYNTAX",
        "the model declined\nI <must> not",
        "not asked\nBadRequestError: too long",
        "nothing but first calls and failed requests",
    ):
        assert said in page.body, said


def test_an_answer_that_is_one_value_shows_what_its_label_says() -> None:
    dataset = Dataset.of([{"id": "a", "text": "It was bad.", "label": "bad"}])
    model = FakeProvider(['"good"'])
    configs = [Configuration(name="one", options={"model": model})]
    _, page = page_of(evaluate(Literal["good", "bad"], dataset, configs=configs))
    assert "(answer) wrong" in page.body
    assert '"bad" expected, found "good"' in page.body


def test_lists_in_another_order_and_samples_are_told_apart() -> None:
    lines = list(reversed(LABEL["lines"]))
    answers = iter([json.dumps(LABEL), json.dumps({**LABEL, "lines": lines}), broken])
    model = [("one", lambda request: next(answers))]
    _, page = page_of(made(model, inputs=1, samples=3))
    assert "sample 1: a list in another order" in page.body
    assert "sample 2: invalid" in page.body
    assert "sample 0" not in page.body


def test_answers_without_a_label_fail_where_there_is_no_value() -> None:
    _, page = page_of(made([("a", echo), ("b", broken)], inputs=2, label=UNLABELLED))
    assert "0 of 2 inputs." in page.body
    assert "2 of 2 inputs." in page.body
    assert "no labels" in page.body
    assert "The label says" not in page.body


def test_what_is_left_out_is_told_and_the_page_stays_small() -> None:
    lines = [{"sku": f"s{number}", "price": "1"} for number in range(40)]
    answer = json.dumps({**LABEL, "name": "x" * 5000, "lines": lines})
    report = made([("a", lambda request: answer), ("b", wrong)], inputs=8, more="word " * 2000)
    raw, page = page_of(report, failures=6)
    assert page.body.count("5 more failed inputs are not shown here") == 2
    assert "more characters of the source are not shown here" in page.body
    assert "more values of the answer are not shown here" in page.body
    assert "x" * 400 not in raw
    assert len(raw) < 400_000
    bare = page_of(report, failures=0)[1]
    assert "8 more failed inputs" in bare.body
    assert bare.marks == []


def test_many_findings_and_bad_rows_are_cut_and_counted() -> None:
    lines = [{"sku": 1, "price": "x"} for _ in range(15)]
    report = made([("a", lambda request: json.dumps({**LABEL, "lines": lines}))], inputs=1)
    report = dataclasses.replace(report, bad=tuple(f"line {at}: <no>" for at in range(30)))
    _, page = page_of(report)
    assert re.search(r"\d+ more findings are not shown here", page.body)
    assert "30 rows of the data left out" in page.body
    assert "and 10 more" in page.body
    assert "line 19: <no>" in page.body
    assert "line 20" not in page.body


def test_a_long_run_is_drawn_with_few_points() -> None:
    report = made([("a", echo)], inputs=300)
    raw, _ = page_of(report)
    (line,) = re.findall(r'<polyline class="line" points="([^"]+)"', raw)
    points = line.split()
    assert len(points) == 240
    assert points[-1].endswith(",10.0")


def test_the_page_allows_its_own_style_and_nothing_else(report: EvaluationReport) -> None:
    raw, page = page_of(report)
    policy = next(each["content"] for each in page.metas if "http-equiv" in each)
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert not re.search(r"url\(|@import|https?:", page.style)
    assert " style=" not in raw


def test_nothing_of_a_document_or_an_answer_is_markup() -> None:
    models = [(EVIL, wrong), ("b", broken), ("c", cut)]
    report = made(models, more=EVIL, inputs=2, instructions=EVIL)
    raw, page = page_of(report, title=EVIL)
    raw.encode()
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "h4", "dl",
        "dt", "dd", "main", "section", "pre", "a", "ol", "ul", "li", "div", "span", "bdi", "footer",
        "p", "b", "br", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption", "svg",
        "line", "text", "polyline", "rect", "details", "summary",
    }  # fmt: skip
    assert not {name for name in page.names if name.startswith("on")}
    assert "\u202e" not in raw
    assert all(link.startswith("#") for link in page.links)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"figures": "x"}, "figures is a str; expected EvaluationFigures"),
        ({"failures": -1}, "failures"),
        ({"failures": 1.5}, "failures"),
    ],
)
def test_arguments_of_another_kind_are_refused(
    change: Any, why: str, report: EvaluationReport
) -> None:
    with pytest.raises(UsageError, match=why):
        evaluation_to_html(**{"figures": EvaluationFigures.of(report), **change})
