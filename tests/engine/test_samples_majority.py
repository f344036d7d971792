"""The answer that is put together of what most answers hold, and when it is not given out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from extractkit import (
    Decoding,
    ExtractionResult,
    Extractor,
    Finding,
    Retry,
    Status,
    Validity,
    extract,
)
from extractkit.checks import CheckContext
from extractkit.engine.judge import judge, judge_assembled
from extractkit.engine.question import Question
from extractkit.engine.setup import prepare
from extractkit.engine.steps import Answer
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason
from extractkit.testing import FakeProvider, Reply
from tests.confidence.making import answer_of, token

TEXT = "Ida ordered 3 bolts for 5 in all, to be paid by Kai."
MAJORITY = Decoding(combine="majority")


class Order(BaseModel):
    buyer: str
    count: int
    total: int


def order(buyer: str, count: int, total: int) -> str:
    return f'{{"buyer": "{buyer}", "count": {count}, "total": {total}}}'


def combined(replies: Sequence[Reply], target: Any = Order, **options: Any) -> Any:
    provider = FakeProvider(replies)
    return extract(
        target, TEXT, model=provider, samples=len(replies), decoding=MAJORITY, **options
    ), provider


def note(result: ExtractionResult[Any]) -> Finding | None:
    return next((found for found in result.findings if found.code == "combined"), None)


def test_a_drawn_answer_that_is_the_majority_is_given_out_as_it_came() -> None:
    result, _ = combined([order("Bo", 3, 5), order("Ida", 3, 5), order("Ida", 4, 5)])
    assert result.unwrap() == Order(buyer="Ida", count=3, total=5)
    assert result.raw is not None
    assert result.raw.text == order("Ida", 3, 5)
    assert note(result) is None
    assert result.confidence["/buyer"].probability == pytest.approx(2 / 3)


def test_an_answer_that_nobody_gave_is_put_together_judged_anew_and_told() -> None:
    result, _ = combined([order("Bo", 3, 5), order("Ida", 4, 5), order("Ida", 3, 6)])
    assert result.unwrap() == Order(buyer="Ida", count=3, total=5)
    assert result.validity is Validity.GROUNDED
    assert TEXT[result.evidence["/buyer"].start : result.evidence["/buyer"].end] == "Ida"
    assert result.raw is None
    assert result.stop_reason is StopReason.STOP
    assert len(result.attempts) == 3
    assert result.provenance.model == "scripted"
    found = note(result)
    assert found is not None
    assert found.severity == "note"
    shares = {round(each.probability or 0, 3) for each in result.confidence.values()}
    assert shares == {0.667}
    assert result.token_confidence == {}
    assert ExtractionResult.from_json(Order, result.to_json()) == result


def test_values_that_do_not_hold_together_give_way_to_the_answer_that_agrees_most() -> None:
    class Sum(BaseModel):
        first: int
        second: int
        total: int

        @model_validator(mode="after")
        def _adds_up(self) -> Sum:
            if self.first + self.second != self.total:
                raise ValueError("does not add up")
            return self

    def numbers(first: int, second: int, total: int) -> str:
        return f'{{"first": {first}, "second": {second}, "total": {total}}}'

    replies = [numbers(1, 3, 4), numbers(1, 5, 6), numbers(2, 3, 5), numbers(2, 4, 6)]
    result, _ = combined(replies, Sum)
    assert result.status is Status.OK
    assert result.document == {"first": 1, "second": 3, "total": 4}
    found = note(result)
    assert found is not None
    assert found.severity == "warning"
    assert "reach SCHEMA together" in found.message
    assert "does not add up" in found.message
    assert result.raw is not None


def test_only_answers_that_fit_the_schema_have_a_vote() -> None:
    cut = ModelResponse(text=order("Bo", 9, 9), stop=StopReason.LENGTH)
    odd = '{"buyer": "Bo", "count": "9", "total": 9}'
    result, _ = combined([cut, odd, order("Ida", 3, 5), odd, "no", cut])
    assert result.document == {"buyer": "Ida", "count": 3, "total": 5}
    assert result.confidence["/buyer"].probability == pytest.approx(1 / 6)


def test_where_nothing_has_a_vote_the_best_of_what_came_is_asked_for_again() -> None:
    provider = FakeProvider(["no", '{"buyer": "Ida"}', order("Ida", 3, 5)])
    result = extract(Order, TEXT, model=provider, samples=2, decoding=MAJORITY)
    assert result.status is Status.OK
    assert "/count" in provider.requests[-1].messages[-1].content
    assert result.confidence["/buyer"].kind == "unavailable"


def test_what_is_put_together_can_be_good_where_no_drawn_answer_is() -> None:
    def check(context: CheckContext) -> list[Finding]:
        wrong = [key for key, value in context.document.items() if value in ("Bo", 9)]
        return [Finding(level=Validity.CONSISTENT, path=f"/{key}", message="odd") for key in wrong]

    replies = [order("Bo", 3, 5), order("Ida", 9, 5), order("Ida", 3, 9)]
    result, provider = combined(replies, checks=(check,))
    assert result.status is Status.OK
    assert result.document == {"buyer": "Ida", "count": 3, "total": 5}
    assert len(provider.requests) == 3


def test_what_is_put_together_and_not_good_enough_is_asked_for_again() -> None:
    def check(context: CheckContext) -> list[Finding]:
        return [Finding(level=Validity.CONSISTENT, path="/count", message="odd")]

    replies = [order("Bo", 3, 5), order("Ida", 4, 5), order("Ida", 3, 6)]
    provider = FakeProvider([*replies, order("Bo", 3, 6)])
    result = extract(
        Order, TEXT, model=provider, samples=3, decoding=MAJORITY, checks=(check,),
        retry=Retry(answers=1),
    )  # fmt: skip
    assert result.status is Status.INVALID
    assert provider.requests[-1].messages[-2].content == order("Bo", 3, 5)
    assert result.document == {"buyer": "Ida", "count": 3, "total": 5}
    assert len(result.attempts) == 4


def test_answers_too_deep_to_be_voted_on_are_told_and_the_first_good_one_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_deep(*_: Any, **__: Any) -> None:
        raise RecursionError

    monkeypatch.setattr("extractkit.confidence.majority", too_deep)
    monkeypatch.setattr("extractkit.confidence.agreement", too_deep)
    result, _ = combined([order("Ida", 3, 5), order("Bo", 3, 5)])
    assert result.document == {"buyer": "Ida", "count": 3, "total": 5}
    found = note(result)
    assert found is not None
    assert "nested too deeply" in found.message
    assert "nested too deeply" in result.confidence["/buyer"].reason


def test_a_recursive_answer_is_voted_on_at_every_depth() -> None:
    class Part(BaseModel):
        name: str
        parts: list[Part] = []

    def nested(*names: str) -> str:
        text = ""
        for name in reversed(names):
            text = f'{{"name": "{name}", "parts": [{text}]}}'
        return text

    deep = tuple("abcdefghij" * 9)
    replies = [nested(*deep), nested(*deep[:-1], "x"), nested(*deep)]
    result, _ = combined(replies, Part, require=Validity.SCHEMA)
    assert result.raw is not None
    assert result.raw.text == nested(*deep)
    assert min(each.probability or 0 for each in result.confidence.values()) == pytest.approx(2 / 3)


def test_a_limit_that_decoding_added_is_told_of_what_is_put_together() -> None:
    class Note(BaseModel):
        text: str
        first: int
        second: int
        third: int

    long, mask = (
        "x" * 4096,
        Capabilities(enforcement="mask", dialect="llguidance", is_greedy=True, source="a test"),
    )

    def reply(request: ModelRequest) -> Reply:
        limit = request.constraint.schema["properties"]["text"]["maxLength"]  # type: ignore[union-attr]  # local requests have one
        first, second, third = [(1, 1, 2), (1, 2, 1), (2, 1, 1)][request.sampling.seed or 0]
        numbers = f'"first": {first}, "second": {second}, "third": {third}'
        return f'{{"text": "{long[:limit]}", {numbers}}}'

    provider = FakeProvider(reply, capabilities=mask)
    result = extract(Note, TEXT, model=provider, samples=3, decoding=MAJORITY)
    assert result.raw is None
    assert "bound_hit" in {found.code for found in result.findings}


def test_what_does_not_fit_the_schema_that_is_sent_is_judged_all_the_same() -> None:
    mask = Capabilities(enforcement="mask", dialect="llguidance", is_greedy=True, source="a test")
    question: Question[Any] = Question(target=Order, text=TEXT)
    setup = prepare(question, mask)
    answer = Answer(response=ModelResponse(text=order("Ida", 3, 5), stop=StopReason.STOP))
    near = judge(setup, answer)
    assert near.status is Status.OK
    made = judge_assembled(setup, {"buyer": "Ida", "count": "many"}, near)
    assert made.status is Status.INVALID
    assert {finding.path for finding in made.findings} == {"/count", "/total"}


def test_structure_that_the_schema_does_not_take_gives_way_to_a_drawn_answer() -> None:
    schema = {
        "type": "object",
        "properties": {key: {"type": "integer"} for key in "abc"},
        "minProperties": 1,
    }
    result, _ = combined(['{"a": 1}', '{"b": 2}', '{"c": 3}'], schema)
    assert result.value == {"a": 1}
    found = note(result)
    assert found is not None
    assert "reach SYNTAX together" in found.message


def test_exact_choices_of_what_nobody_wrote_are_not_asked_for() -> None:
    def reply(text: str) -> ModelResponse:
        return answer_of([token(bytes([byte]), -0.1) for byte in text.encode()])

    mask = Capabilities(
        enforcement="mask", dialect="llguidance", is_greedy=True, logprobs=True, scoring=True,
        source="a test",
    )  # fmt: skip
    replies = [reply(order("Bo", 3, 5)), reply(order("Ida", 4, 5)), reply(order("Ida", 3, 6))]
    provider = FakeProvider(replies, capabilities=mask)
    decoding = Decoding(combine="majority", exact_choices=True)
    with Extractor(Order, model=provider, samples=3, decoding=decoding) as extractor:
        result = extractor.extract(TEXT)
    assert result.raw is None
    assert len(provider.requests) == 3
    assert "not_scored" in {found.code for found in result.findings}
