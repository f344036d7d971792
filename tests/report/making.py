"""Evaluations of hostile documents by scripted models, for the tests of this room."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from pydantic import create_model

from extractkit.evaluation import (
    UNLABELLED,
    Answered,
    Case,
    Configuration,
    Dataset,
    EvaluationReport,
    evaluate,
)
from extractkit.messages import ModelRequest
from extractkit.results import Retry
from extractkit.testing import FakeProvider
from tests.evaluation.making import LABEL, Invoice, changed, echo

EVIL = "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)> \u202e & 1"


def text_of(number: int, more: str = "") -> str:
    return f"Invoice {number} of Acme Inc., 62.00 in all. {more} answer: {json.dumps(LABEL)}"


def wrong(request: ModelRequest) -> str:
    return json.dumps(changed(total="1.00", day=None, name=EVIL, lines=LABEL["lines"][:1]))


def broken(request: ModelRequest) -> str:
    return f'{{"name": "{EVIL[:30]}'


def cut(request: ModelRequest) -> str:
    return json.dumps(changed(kind=EVIL))


def made(
    models: Sequence[tuple[str, Any]] = (("right", echo), ("wrong", wrong)),
    *,
    inputs: int = 4,
    samples: int = 1,
    more: str = "",
    label: Any = LABEL,
    **options: Any,
) -> EvaluationReport:
    """An evaluation of invoices by scripted models."""
    dataset = Dataset(
        Case(id=f"{number} <b>&", text=text_of(number, more), label=label)
        for number in range(inputs)
    )
    configs = [
        Configuration(
            name=name,
            samples=samples,
            options={"model": FakeProvider(reply), "retry": Retry(answers=0), **options},
        )
        for name, reply in models
    ]
    return evaluate(Invoice, dataset, configs=configs)


def unbroken(*, inputs: int = 2, samples: int = 2, configurations: int = 8) -> EvaluationReport:
    """An evaluation in which no name, id, value or text has a blank where a line could end."""
    names = ("total_" * 30, "W" * 150, "ümläut" * 30)
    item = create_model("Item", **{names[1]: (str, ...)})  # type: ignore[call-overload]  # by name
    fields: dict[str, Any] = {names[0]: (str, ...), names[1]: (list[item], ...), names[2]: (int, 1)}
    target = create_model("Target", **fields)
    right = {names[0]: "right" * 60, names[1]: [{names[1]: "v" * 250}], names[2]: 7}
    wrong_ = {names[0]: "right" * 61, names[1]: [], names[2]: 8}
    replies = (json.dumps(wrong_), json.dumps(right), "q" * 900, json.dumps(wrong_))
    dataset = Dataset(
        Case(id=f"{number}{'id' * 90}", text="T" * 900 + "right" * 60, label=right)
        for number in range(inputs)
    )
    configs = [
        Configuration(
            name=f"{number}{'model' * 40}",
            samples=samples,
            options={
                "model": FakeProvider([*replies[number % 4 :], *replies] * inputs * samples),
                "retry": Retry(answers=0),
            },
        )
        for number in range(configurations)
    ]
    return evaluate(target, dataset, configs=configs)


def with_confidences(report: EvaluationReport) -> EvaluationReport:
    """The same with a confidence of every kind, of every answer of the first configuration."""

    def told(answered: Answered, place: int) -> Answered:
        share = (place % 10 + 0.5) / 10
        measures = dataclasses.replace(
            answered.measures,
            confidences=tuple(
                ("/total", kind, share, place % 3 > 0)
                for kind in ("choice", "sequence", "agreement")
            ),
            least_confidence=share if place else None,
        )
        return dataclasses.replace(answered, measures=measures)

    first, *others = report.answers
    changed_answers = tuple(told(each, place) for place, each in enumerate(report.answers[first]))
    return dataclasses.replace(
        report,
        answers={first: changed_answers, **{name: report.answers[name] for name in others}},
    )


__all__ = [
    "EVIL",
    "UNLABELLED",
    "broken",
    "cut",
    "made",
    "text_of",
    "unbroken",
    "with_confidences",
    "wrong",
]
