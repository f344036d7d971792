"""Accepted answers as lines for fine-tuning: what was sent, what was right, each once."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import Decoding, Example
from extractkit.errors import UsageError
from extractkit.evaluation import Case, Configuration, Dataset, evaluate
from extractkit.messages import Capabilities
from extractkit.report import training_pairs
from extractkit.testing import FakeProvider
from tests.evaluation.making import LABEL, Invoice, echo
from tests.report.making import made, wrong


def test_only_exact_answers_are_taken_and_equal_ones_once() -> None:
    report = made([("a", echo), ("b", wrong), ("c", echo)], samples=2)
    assert len(list(training_pairs(report, Invoice))) == 4
    assert len(list(training_pairs(report, Invoice, accept="ok"))) == 8
    plain = list(training_pairs(report, Invoice, format="plain", configuration="c"))
    assert [each["configuration"] for each in plain] == ["c"] * 4
    assert plain[0]["document"] == LABEL


@pytest.mark.parametrize("accept", ["grounded", "consistent"])
def test_levels_accept_what_reached_them(accept: Any) -> None:
    report = made([("a", echo), ("b", wrong)], inputs=2)
    pairs = training_pairs(report, Invoice, format="plain", accept=accept)
    documents = [each["document"] for each in pairs]
    reached = [
        each.observation.document
        for found in report.answers.values()
        for each in found
        if getattr(each.measures, accept)
    ]
    assert reached
    assert documents == reached


@pytest.mark.parametrize("dialect", [None, "openai-strict", "anthropic"])
def test_the_conversation_is_the_one_that_was_sent(dialect: str | None) -> None:
    """In the shape that was asked for, whatever dialect that was."""
    takes = Capabilities(enforcement=None if dialect is None else "native", dialect=dialect)
    provider = FakeProvider(echo, capabilities=takes)
    case = Case(id="a", text=f"answer: {json.dumps(LABEL)}", label=LABEL)
    configuration = Configuration(name="a", options={"model": provider, "instructions": "Mind it."})
    report = evaluate(Invoice, Dataset([case]), configs=[configuration])
    (record,) = training_pairs(report, Invoice)
    sent = [{"role": turn.role, "content": turn.content} for turn in provider.requests[0].messages]
    *turns, answer = record["messages"]
    assert turns == sent
    assert answer["role"] == "assistant"
    assert json.loads(answer["content"]).keys() == LABEL.keys()


def test_words_that_cannot_be_built_again_are_no_conversation() -> None:
    example = Example(text="Nothing", value=LABEL)
    report = made([("a", echo)], inputs=1, examples=[example], decoding=Decoding(label_codes=True))
    with pytest.raises(
        UsageError, match=r"'0 <b>&' was asked with examples, decoding\.label_codes"
    ):
        list(training_pairs(report, Invoice))
    assert len(list(training_pairs(report, Invoice, format="plain"))) == 1


class Cash(BaseModel):
    kind: Literal["cash"] = "cash"
    amount: int


class Card(BaseModel):
    kind: Literal["card"] = "card"
    amount: int
    owner: str | None = None


class Paid(BaseModel):
    by: Cash | Card


def test_an_answer_of_another_alternative_is_no_pair() -> None:
    card = {"by": {"kind": "card", "amount": 5, "owner": "Al"}}
    labels = [{"by": {"kind": "cash", "amount": 5}}, {"by": {**card["by"], "owner": None}}, card]
    dataset = Dataset(
        Case(id=str(at), text=f"answer: {json.dumps(card)}", label=label)
        for at, label in enumerate(labels)
    )
    model = Configuration(name="a", options={"model": FakeProvider(echo)})
    report = evaluate(Paid, dataset, configs=[model])
    pairs = training_pairs(report, Paid, format="plain")
    assert [each["id"] for each in pairs] == ["2"]
    (first, *_) = report.measures("a")
    assert first.fields["/by/owner"] == {"fabricated": 1}


def test_unknown_choices_are_refused() -> None:
    report = made([("a", echo)], inputs=1)
    for wanted in ({"format": "xml"}, {"accept": "all"}, {"configuration": "b"}):
        with pytest.raises(UsageError, match=r"expected|found"):
            training_pairs(report, Invoice, **wanted)  # type: ignore[arg-type]
