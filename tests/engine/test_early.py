"""Confidence and evidence of fields that are final, as a stream shows them, beside the result's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import Decoding, ExtractionResult, Grounding, stream
from extractkit.engine.early import Early
from extractkit.engine.question import Question
from extractkit.engine.setup import prepare
from extractkit.messages import Capabilities, Delta, TokenLogprob
from extractkit.results import Confidence, FieldState, PartialResult, Span
from extractkit.testing import FakeProvider
from tests.confidence.making import answer_of, likely

ABLE = Capabilities(source="a test", logprobs=True)
TEXT = "Ida ordered 3 bolts in Bonn."


class Part(BaseModel):
    name: str
    count: int


class Order(BaseModel):
    kind: Literal["order", "return"]
    city: str | None
    parts: list[Part]


TOKENS = (
    likely('{"kind": "'), likely("order", 0.7, **{"return": 0.2}), likely('", "city": '),
    likely('"', 0.6, null=0.4), likely("Bonn", 0.9), likely('", "parts": [{"name": "'),
    likely("bolts", 0.5), likely('", "count": '), likely("3", 0.8, **{"2": 0.1}), likely("}"),
    likely("]", 0.9), likely("}"),
)  # fmt: skip


class Seen:
    """What a stream told of each place, when it did so first."""

    def __init__(self) -> None:
        self.confidence: dict[str, Confidence] = {}
        self.evidence: dict[str, Span] = {}
        self.first: dict[str, int] = {}
        self.final: dict[str, int] = {}
        self.pieces = 0

    def look(self, partial: PartialResult) -> None:
        self.pieces += 1
        for pointer, state in partial.states.items():
            now = partial.at(pointer)
            if state is FieldState.PRESENT:
                self.final.setdefault(pointer, self.pieces)
            if now.confidence is not None:
                assert state is FieldState.PRESENT
                assert self.confidence.setdefault(pointer, now.confidence) == now.confidence
                self.first.setdefault(pointer, self.pieces)
            if now.evidence is not None:
                assert state is FieldState.PRESENT
                assert self.evidence.setdefault(pointer, now.evidence) == now.evidence


def _streamed(
    tokens: Sequence[TokenLogprob], target: Any = Order, able: Capabilities = ABLE, **options: Any
) -> tuple[Seen, ExtractionResult[Any]]:
    seen = Seen()
    model = FakeProvider([answer_of(tokens)], capabilities=able)
    with stream(target, TEXT, model=model, **options) as answer:
        for partial in answer:
            seen.look(partial)
        return seen, answer.result


def test_each_field_has_the_confidence_and_evidence_of_the_result_when_it_is_final() -> None:
    seen, result = _streamed(TOKENS)
    assert seen.confidence == result.confidence
    assert seen.evidence == result.evidence
    assert set(seen.evidence) == {"/city", "/parts/0/name", "/parts/0/count"}
    assert all(seen.first[pointer] == seen.final[pointer] for pointer in seen.first)
    assert [*seen.first] == ["/kind", "/city", "/parts/0/name", "/parts/0/count"]


def test_what_is_switched_off_is_never_told() -> None:
    seen, _ = _streamed(
        TOKENS, decoding=Decoding(confidence=False), grounding=Grounding(locate=False)
    )
    assert (seen.confidence, seen.evidence) == ({}, {})
    unable, _ = _streamed(TOKENS, able=Capabilities(source="a test"))
    assert unable.confidence == {}


def test_an_answer_in_one_piece_is_told_of_too() -> None:
    class Whole(FakeProvider):
        stream = None  # type: ignore[assignment]  # a provider that cannot stream

    seen = Seen()
    model = Whole([answer_of(TOKENS)], capabilities=ABLE)
    with stream(Order, TEXT, model=model) as answer:
        for partial in answer:
            seen.look(partial)
        assert seen.confidence == answer.result.confidence
    assert seen.pieces == 1


def _early(**options: Any) -> Early:
    question: Question[Any] = Question(target=Order, text=TEXT, **options)
    return Early(prepare(question, ABLE))


def test_nothing_is_said_before_the_tokens_of_a_value_have_come() -> None:
    early = _early()
    early.hear(Delta(text='{"kind": "order",'))
    assert early.confidence("/kind") is None
    early.hear(Delta(tokens=(*TOKENS[:2], likely('",'))))
    assert early.confidence("/kind") is not None
    off = _early(decoding=Decoding(confidence=False))
    off.hear(Delta(text='{"kind": "order",', tokens=(*TOKENS[:2], likely('",'))))
    assert off.confidence("/kind") is None


def test_what_was_not_heard_is_taken_from_the_whole_answer() -> None:
    early = _early()
    early.hear(Delta(text='{"kind": "', tokens=TOKENS[:1]))
    response = answer_of(TOKENS)
    early.over(response.text[len('{"kind": "') :], response)
    assert early.confidence("/parts/0/count") is not None


def test_an_answer_that_is_asked_for_again_is_weighed_by_its_own_tokens() -> None:
    seen = Seen()
    prose = answer_of([likely("I think"), likely(' it is "order".')])
    model = FakeProvider([prose, answer_of(TOKENS)], capabilities=ABLE)
    with stream(Order, TEXT, model=model, strategy="prompt") as answer:
        for partial in answer:
            seen.look(partial)
        assert len(model.requests) == 2
        assert seen.confidence == answer.result.confidence


def test_what_is_read_as_another_document_in_the_end_is_left_to_the_result() -> None:
    tokens = [
        *TOKENS[:5], likely('", "parts": "['), likely('{\\"name\\": \\"'), likely("bolts", 0.5),
        likely('\\", \\"count\\": '), likely("3", 0.8), likely("}"), likely(']"}'),
    ]  # fmt: skip
    seen, result = _streamed(tokens, strategy="prompt")
    assert result.unwrap().parts == [Part(name="bolts", count=3)]
    assert set(seen.confidence) == {"/kind", "/city"}
    assert seen.confidence.items() <= {**result.confidence}.items()
    assert result.confidence["/parts/0/name"].probability == pytest.approx(0.5)
