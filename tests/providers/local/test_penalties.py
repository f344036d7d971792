"""Penalties on what was written before: their values, what they leave alone, who refuses them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import (
    ALL_SAMPLING,
    PENALTIES,
    Capabilities,
    Constraint,
    Message,
    ModelRequest,
    Sampling,
)
from extractkit.providers import Compatible, Local, OpenAIChat
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._decoding import Decoded, PromptMemory, decode, text_of
from extractkit.providers.local._penalties import Penalties
from extractkit.providers.local._sampling import Sampler
from extractkit.providers.local._session import Session
from extractkit.providers.local._waiting import Patience

from .engines import PIECES, START, VOCABULARY, ByteEngine, ids_of

PROMPT = Prompt(stable=(), rest=(*ids_of("a b a b?"), START, *ids_of("assistant\n")))
QUESTION = ModelRequest(messages=(Message(role="user", content="Which tree?"),))


def logits(*scores: float) -> np.ndarray[Any, Any]:
    return np.array(scores, dtype=np.float32)


def penalised(scores: np.ndarray[Any, Any], written: list[int], **options: float) -> list[float]:
    penalties = Penalties(Sampling(**options))
    for token in written:
        penalties.count(token)
    return penalties.applied(scores).tolist()


class TestValues:
    """By hand, on the scores of four tokens of which 0, 1 and 3 were written, 3 of them twice."""

    SCORES = (4.0, -2.0, 8.0, 0.0)
    WRITTEN = (0, 1, 3, 3)

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            # A score above 0 is divided, one below is multiplied, so that both sink.
            ({"repetition_penalty": 2.0}, [2.0, -4.0, 8.0, 0.0]),
            # Below 1 it is a reward: both rise.
            ({"repetition_penalty": 0.5}, [8.0, -1.0, 8.0, 0.0]),
            ({"repetition_penalty": 1.0}, [4.0, -2.0, 8.0, 0.0]),
            ({"presence_penalty": 1.5}, [2.5, -3.5, 8.0, -1.5]),
            ({"presence_penalty": -1.0}, [5.0, -1.0, 8.0, 1.0]),
            ({"frequency_penalty": 1.5}, [2.5, -3.5, 8.0, -3.0]),
            ({"presence_penalty": 0.5, "frequency_penalty": 0.25}, [3.25, -2.75, 8.0, -1.0]),
            # Repetition comes first: 4 / 2 - 1 and -2 * 2 - 1.
            ({"repetition_penalty": 2.0, "presence_penalty": 1.0}, [1.0, -5.0, 8.0, -1.0]),
        ],
        ids=str,
    )
    def test_are_those_of_the_rules(self, options: dict[str, float], expected: list[float]) -> None:
        assert penalised(logits(*self.SCORES), list(self.WRITTEN), **options) == expected

    def test_nothing_changes_before_something_was_written(self) -> None:
        assert penalised(logits(*self.SCORES), [], repetition_penalty=2.0) == list(self.SCORES)

    def test_the_models_own_scores_stay_as_they_are(self) -> None:
        scores = logits(*self.SCORES)
        penalised(scores, [0, 1], repetition_penalty=2.0)
        assert scores.tolist() == list(self.SCORES)

    @given(
        score=st.floats(-50, 50, width=32),
        penalty=st.floats(1.0, 4.0),
        times=st.integers(1, 9),
    )
    def test_a_penalty_never_raises_a_score(self, score: float, penalty: float, times: int) -> None:
        for name in PENALTIES:
            value = min(penalty, 2.0) if name != "repetition_penalty" else penalty
            (after,) = penalised(logits(score), [0] * times, **{name: value})
            assert after <= score

    @given(score=st.floats(-50, 50, width=32), penalty=st.floats(0.1, 2.0))
    def test_frequency_grows_with_each_time_and_presence_does_not(
        self, score: float, penalty: float
    ) -> None:
        once, thrice = (
            penalised(logits(score), [0] * times, frequency_penalty=penalty)[0] for times in (1, 3)
        )
        assert once - thrice == pytest.approx(2 * penalty, abs=1e-4)
        same = [penalised(logits(score), [0] * times, presence_penalty=penalty) for times in (1, 3)]
        assert same[0] == same[1]


class Babbler(ByteEngine):
    """Says "a" for ever; "b", then "c" come next, all three above 0, and the end is far."""

    def _logits(self) -> np.ndarray[Any, Any]:
        scores = np.full(len(PIECES), -30.0, np.float32)
        for place, letter in enumerate("abc"):
            scores[ids_of(letter)[0]] = 6.0 - place
        return scores


def said(engine: ByteEngine, limit: int = 6, **options: Any) -> Decoded:
    sampling = Sampling(**options)
    return decode(
        PromptMemory(engine),
        PROMPT,
        sampler=Sampler(sampling),
        penalties=Penalties.of(sampling),
        limit=limit,
        top_logprobs=3,
    )


class TestFreeText:
    def test_goes_round_without_and_moves_on_with(self) -> None:
        assert text_of(VOCABULARY, said(Babbler()).tokens)[0] == "aaaaaa"
        # 6, 5 and 4; each time one falls by 1.5: a b a c b (a: 3, b: 2, c: 2.5) a
        moved = said(Babbler(), frequency_penalty=1.5)
        assert text_of(VOCABULARY, moved.tokens)[0] == "abacba"
        # Once only: a falls to 4.5 and b to 3.5, so that a is first again and stays so.
        assert text_of(VOCABULARY, said(Babbler(), presence_penalty=1.5).tokens)[0] == "abaaaa"

    def test_words_of_the_prompt_do_not_count(self) -> None:
        assert b"a" in [PIECES[token] for token in PROMPT.rest]
        first = said(Babbler(), limit=1, presence_penalty=2)
        assert text_of(VOCABULARY, first.tokens)[0] == "a"

    def test_what_is_recorded_are_the_models_own_numbers(self) -> None:
        plain, lowered = said(Babbler()), said(Babbler(), frequency_penalty=1.5)
        assert lowered.records[0] == plain.records[0]
        second = lowered.records[1]
        assert second.token == b"b"
        assert second.logprob == pytest.approx(plain.records[1].logprob - 1.0, abs=1e-5)
        assert second.alternatives[0].token == b"a"

    def test_penalties_come_before_the_temperature(self) -> None:
        """At a temperature near 0 the best penalised token is drawn, whatever the seed."""
        for seed in range(5):
            hot = said(Babbler(), frequency_penalty=1.5, temperature=0.01, seed=seed)
            assert text_of(VOCABULARY, hot.tokens)[0] == "abacba"

    def test_an_answer_says_so(self) -> None:
        session = Session(Babbler(), facts={}, name="local:toy")
        sampling = Sampling(frequency_penalty=1.5, max_output_tokens=4)
        response = session.answer(dataclasses.replace(QUESTION, sampling=sampling), Patience(None))
        assert response.text == "abac"
        assert response.details["sampling"] == "greedy, frequency_penalty=1.5"
        drawn = Sampler(Sampling(temperature=0.5, repetition_penalty=1.2, seed=1))
        assert drawn.summary == "repetition_penalty=1.2, temperature=0.5"

    def test_nothing_is_counted_where_none_is_asked_for(self) -> None:
        assert Penalties.of(Sampling(temperature=1.0)) is None
        assert Penalties.of(Sampling(presence_penalty=0)) is not None


class TestRefusal:
    @pytest.mark.parametrize("name", PENALTIES)
    def test_beside_a_constraint_with_the_reason(self, name: str) -> None:
        request = dataclasses.replace(
            QUESTION, constraint=Constraint(schema={}), sampling=Sampling(**{name: 1.2})
        )
        with pytest.raises(
            UnsupportedError, match=rf"Sampling\({name}=1.2\) .*repeated keys, which JSON needs"
        ):
            Local("nowhere.gguf").complete(request)

    @pytest.mark.parametrize("name", PENALTIES)
    def test_in_a_beam(self, name: str) -> None:
        request = dataclasses.replace(QUESTION, beam=2, sampling=Sampling(**{name: 1.2}))
        with pytest.raises(UnsupportedError, match=rf"Sampling\({name}=1.2\) with beam=2"):
            Local("nowhere.gguf").complete(request)

    @pytest.mark.parametrize("name", PENALTIES)
    @pytest.mark.parametrize("make", [OpenAIChat, Compatible])
    def test_by_hosted_providers_in_the_same_words(self, name: str, make: Any) -> None:
        provider = make("m", base_url="http://127.0.0.1:9/v1", api_key="k")
        request = dataclasses.replace(QUESTION, sampling=Sampling(**{name: 1.2}))
        with pytest.raises(UnsupportedError, match="repeated keys, which JSON needs"):
            provider.complete(request)
        assert name not in provider.capabilities.sampling

    def test_of_a_beam_by_hosted_providers(self) -> None:
        provider = OpenAIChat("m", base_url="http://127.0.0.1:9/v1", api_key="k")
        with pytest.raises(UnsupportedError, match=r"ModelRequest\(beam=3\): .* ask a local"):
            provider.complete(dataclasses.replace(QUESTION, beam=3))
        assert provider.capabilities.beam == 1

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("repetition_penalty", 0),
            ("repetition_penalty", -1),
            ("repetition_penalty", float("nan")),
            ("repetition_penalty", "1"),
            ("presence_penalty", 2.1),
            ("presence_penalty", True),
            ("frequency_penalty", -2.1),
            ("frequency_penalty", float("inf")),
        ],
    )
    def test_of_values_out_of_range(self, name: str, value: Any) -> None:
        with pytest.raises(UsageError, match=rf"Sampling\({name}="):
            Sampling(**{name: value})

    def test_who_takes_penalties_says_so(self) -> None:
        assert Local().capabilities.sampling == ALL_SAMPLING | set(PENALTIES)
        assert Local().capabilities.beam == 16
        assert Capabilities().sampling.isdisjoint(PENALTIES)
        fields = {item.name for item in dataclasses.fields(Sampling)}
        assert fields == ALL_SAMPLING | set(PENALTIES)
