"""Beams and penalties: where they are sent, where they are not, and who says so."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Decoding, Sampling, extract
from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import ALL_SAMPLING, PENALTIES, Capabilities
from extractkit.testing import FakeProvider

TEXT = "Note by Ida"
ANSWER = '{"who": "Ida"}'
LOCAL = Capabilities(sampling=ALL_SAMPLING.union(PENALTIES), beam=8, is_greedy=True)
PENALISED = {"repetition_penalty": 1.2, "presence_penalty": 0.5, "frequency_penalty": -0.5}


class Note(BaseModel):
    who: str


def asked(provider: FakeProvider, **options: Any) -> Any:
    return extract(Note, TEXT, model=provider, **options)


def test_a_beam_goes_with_the_answer_and_the_result_says_so() -> None:
    provider = FakeProvider([ANSWER], capabilities=LOCAL)
    result = asked(provider, decoding=Decoding(beam=4))
    assert [request.beam for request in provider.requests] == [4]
    assert result.provenance.parameters == {"beam": 4}


def test_without_one_nothing_is_said_of_it() -> None:
    provider = FakeProvider([ANSWER], capabilities=LOCAL)
    result = asked(provider)
    assert [request.beam for request in provider.requests] == [1]
    assert result.provenance.parameters == {}


def test_an_answer_that_is_asked_for_again_has_the_beam_too() -> None:
    provider = FakeProvider(["{}", ANSWER], capabilities=LOCAL)
    asked(provider, decoding=Decoding(beam=4))
    assert [request.beam for request in provider.requests] == [4, 4]


def test_reasoning_has_the_penalties_and_no_beam_and_the_answer_the_reverse() -> None:
    provider = FakeProvider(["Ida wrote it.", ANSWER], capabilities=LOCAL)
    result = asked(
        provider,
        decoding=Decoding(two_step=True, beam=4),
        sampling=Sampling(**PENALISED, max_output_tokens=99),
    )
    reasoning, answer = provider.requests
    assert reasoning.sampling == Sampling(**PENALISED, max_output_tokens=99)
    assert answer.sampling == Sampling(max_output_tokens=99)
    assert (reasoning.beam, answer.beam) == (1, 4)
    assert result.provenance.parameters == {**PENALISED, "max_output_tokens": 99, "beam": 4}


def test_reasoning_before_several_answers_has_the_penalties_too() -> None:
    provider = FakeProvider(["It was Ida.", ANSWER] * 2, capabilities=LOCAL)
    asked(
        provider,
        decoding=Decoding(two_step=True),
        sampling=Sampling(repetition_penalty=1.2),
        samples=2,
    )
    penalties = [request.sampling.repetition_penalty for request in provider.requests]
    assert penalties.count(1.2) == penalties.count(None) == 2


@pytest.mark.parametrize("name", PENALTIES)
def test_a_penalty_on_an_answer_is_refused_with_the_reason(name: str) -> None:
    provider = FakeProvider([], capabilities=LOCAL)
    with pytest.raises(
        UnsupportedError,
        match=rf"Sampling\({name}=1.1\): a penalty forbids repeated keys.*two_step=True",
    ):
        asked(provider, sampling=Sampling(**{name: 1.1}))
    assert provider.requests == []


@pytest.mark.parametrize("name", PENALTIES)
def test_a_penalty_on_reasoning_is_refused_where_the_model_does_not_take_it(name: str) -> None:
    provider = FakeProvider([])
    with pytest.raises(
        UnsupportedError, match=rf"Sampling\({name}=1.1\): this model does not .* a local model"
    ):
        asked(provider, sampling=Sampling(**{name: 1.1}), decoding=Decoding(two_step=True))
    assert provider.requests == []


@pytest.mark.parametrize(
    ("capabilities", "options", "said"),
    [
        (Capabilities(), {"decoding": Decoding(beam=2)}, r"\(beam=2\): .* ask a local model"),
        (LOCAL, {"decoding": Decoding(beam=9)}, r"\(beam=9\): this model follows at most 8"),
        (
            LOCAL,
            {"decoding": Decoding(beam=2), "sampling": Sampling(temperature=0.7)},
            r"Sampling\(temperature=0.7\) with beam=2: a beam draws nothing",
        ),
        (
            LOCAL,
            {"decoding": Decoding(beam=2, two_step=True), "sampling": Sampling(top_k=5)},
            r"Sampling\(top_k=5\) with beam=2",
        ),
    ],
)
def test_a_beam_that_cannot_be_is_refused_before_anything_is_asked(
    capabilities: Capabilities, options: dict[str, Any], said: str
) -> None:
    provider = FakeProvider([], capabilities=capabilities)
    with pytest.raises(UnsupportedError, match=said):
        asked(provider, **options)
    assert provider.requests == []


def test_a_beam_gives_one_answer_only() -> None:
    with pytest.raises(UsageError, match="beam"):
        asked(FakeProvider([], capabilities=LOCAL), decoding=Decoding(beam=2), samples=3)
