"""Marks and local decoding: what is sent, what comes of it, and when nothing is asked at all."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import (
    ExtractionResult,
    Grounded,
    Grounding,
    Status,
    Unknown,
    Validity,
    Verbatim,
)
from extractkit.engine import Question, adrive, drive, extract_flow
from extractkit.errors import UsageError
from extractkit.messages import Capabilities, ModelRequest
from extractkit.observe import ExtractionFinished
from extractkit.testing import FakeProvider
from tests.schema.grammar.judge import Judge

MASK = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
NATIVE = Capabilities(enforcement="native", dialect="json-schema", source="a test")
TEXT = "Ida Kern ordered 3 bolts on 2024-05-06."


class Order(BaseModel):
    buyer: Verbatim[str]
    count: Grounded[int]
    day: Grounded[date] | None
    way: Grounded[Literal["card", "cash"]] | Unknown
    note: str


class Plain(BaseModel):
    buyer: str


def put(target: Any, provider: FakeProvider, text: str = TEXT, **options: Any) -> Any:
    question = Question(target=target, text=text, **options)
    flow = extract_flow(
        question, provider="fake", capabilities=provider.capabilities, clock=lambda: 0.0
    )
    return drive(flow, provider)


def decoding(seed: int) -> FakeProvider:
    """Return a provider that writes random bytes under the grammar that it is sent."""

    def answer(request: ModelRequest) -> str:
        constraint = request.constraint
        assert constraint is not None
        assert constraint.kind == "grammar"
        assert constraint.grammar is not None
        written = Judge(constraint.grammar).writes(seed)
        assert written is not None
        return written

    return FakeProvider(answer, capabilities=MASK)


def grammar_sent(target: Any, text: str = TEXT, **options: Any) -> str:
    provider = decoding(1)
    put(target, provider, text, **options)
    constraint = provider.requests[0].constraint
    assert constraint is not None
    assert constraint.schema["type"] == "object"
    return constraint.grammar or ""


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_decoded_under_the_grammar_is_grounded_but_for_what_is_not_marked(
    seed: int,
) -> None:
    result = put(Order, decoding(seed))
    assert result.status is Status.OK
    assert result.value.buyer in TEXT
    missed = [finding.path for finding in result.findings if finding.severity == "error"]
    assert missed in ([], ["/note"])
    assert {"/buyer", "/count"} <= set(result.evidence)


def test_without_enforcement_marks_are_checked_only() -> None:
    assert "substring" in grammar_sent(Order)
    off = grammar_sent(Order, grounding=Grounding(enforce=False))
    assert "substring" not in off
    answer = '{"buyer": "Kai", "count": 3, "day": null, "way": "unknown", "note": "Ida"}'
    result = put(
        Order, FakeProvider([answer], capabilities=MASK), grounding=Grounding(enforce=False)
    )
    assert result.status is Status.OK
    assert result.validity is Validity.CONSISTENT
    assert [finding.path for finding in result.findings if finding.severity == "error"] == [
        "/buyer"
    ]


def test_a_target_without_marks_has_one_grammar_for_all_texts() -> None:
    assert grammar_sent(Plain) is grammar_sent(Plain, "another text")
    assert grammar_sent(Order) != grammar_sent(Order, "Kai ordered 4 nuts")


def test_a_hosted_model_gets_the_schema_and_is_checked_afterwards() -> None:
    answer = '{"buyer": "Kai", "count": 3, "day": null, "way": "unknown", "note": "Ida"}'
    provider = FakeProvider([answer], capabilities=NATIVE)
    result = put(Order, provider)
    constraint = provider.requests[0].constraint
    assert constraint is not None
    assert constraint.kind == "json_schema"
    assert [finding.code for finding in result.findings] == ["not_in_source"]


def test_where_the_source_has_nothing_for_a_field_no_model_is_asked() -> None:
    provider = FakeProvider(["never"], capabilities=MASK)
    result = put(Order, provider, "Ida ordered bolts.")
    assert provider.requests == []
    assert (result.status, result.validity) == (Status.INVALID, Validity.NONE)
    assert (result.value, result.attempts, result.raw) == (None, (), None)
    (finding,) = result.findings
    assert (finding.path, finding.code, finding.severity) == (
        "/count", "nothing_to_ground", "error",
    )  # fmt: skip
    assert result.usage.output_tokens == 0
    assert result.provenance.dialect == "llguidance"
    with pytest.raises(Exception, match="nothing that could stand here"):
        result.unwrap()


class Card(BaseModel):
    number: Grounded[int]
    said: Verbatim[str]
    guess: int


def test_limits_that_decoding_added_are_told_of_what_they_hold_alone() -> None:
    text = "Card 4111111111111111 " + "x" * 300 + " " + "y" * 20
    answer = {"number": 4111111111111111, "said": "x" * 300, "guess": 10**15}
    result = put(Card, FakeProvider([json.dumps(answer)], capabilities=MASK), text)
    assert result.status is Status.OK
    told = [(each.path, each.message) for each in result.findings if each.code == "bound_hit"]
    assert [path for path, _ in told] == ["/said", "/guess"]
    assert "maxLength=300 leaves the value no more room" in told[0][1]
    plain = put(
        Card,
        FakeProvider([json.dumps(answer)], capabilities=MASK),
        text,
        grounding=Grounding(enforce=False),
    )
    told_of_all = [each.path for each in plain.findings if each.code == "bound_hit"]
    assert told_of_all == ["/number", "/said", "/guess"]


def test_such_a_result_can_be_written_and_read_again() -> None:
    result = put(Order, FakeProvider(["never"], capabilities=MASK), "Ida ordered bolts.")
    again = ExtractionResult.from_json(Order, result.to_json())
    assert dataclasses.replace(again, raw=None) == result


def test_observers_are_told_of_a_result_without_an_answer() -> None:
    events: list[Any] = []
    question = Question(target=Order, text="Ida ordered bolts.")
    provider = FakeProvider(["never"], capabilities=MASK)
    flow = extract_flow(
        question, provider="fake", capabilities=MASK, clock=lambda: 0.0, observers=[events.append]
    )
    result = asyncio.run(adrive(flow, provider))
    assert result.status is Status.INVALID
    (finished,) = [event for event in events if isinstance(event, ExtractionFinished)]
    assert finished.attempts == 0


def test_a_source_without_a_candidate_is_answered_where_enforcement_is_off() -> None:
    answer = '{"buyer": "Ida", "count": 3, "day": null, "way": "unknown", "note": "Ida"}'
    provider = FakeProvider([answer], capabilities=MASK)
    result = put(Order, provider, "Ida ordered bolts.", grounding=Grounding(enforce=False))
    assert result.status is Status.OK


def test_options_that_no_search_can_use_are_refused_before_anything_is_asked() -> None:
    provider = FakeProvider(["never"], capabilities=MASK)
    with pytest.raises(UsageError, match="locale"):
        put(Order, provider, grounding=Grounding(locale="xx"))
    assert provider.requests == []
