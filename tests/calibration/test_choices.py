"""One temperature over all alternatives: what it is fitted to, and what it does to a choice."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Cascade, Confidence, Extractor
from extractkit.calibration import (
    AbstentionPolicy,
    ChoiceScaling,
    FieldCalibration,
    TemperatureScaling,
    least_confidence,
)
from extractkit.errors import UsageError
from extractkit.messages import ModelResponse
from extractkit.testing import FakeProvider
from tests.calibration.making import result_with
from tests.confidence.making import answer_of, likely

LABELS: tuple[str, ...] = ('"a"', '"b"', '"c"', '"d"')


def drawn(count: int, temperature: float, seed: int) -> list[tuple[dict[str, float], str]]:
    """Answers over four labels, right as often as they say once scaled by `temperature`."""
    rng = random.Random(seed)
    truth = ChoiceScaling(temperature=temperature)
    answers: list[tuple[dict[str, float], str]] = []
    for _ in range(count):
        masses = [rng.expovariate(1.0) ** 2 for _ in LABELS]
        shares = [mass / sum(masses) for mass in masses]
        alternatives = dict(zip(LABELS, shares, strict=True))
        found = truth.apply(
            Confidence(kind="choice", probability=shares[0], alternatives=alternatives)
        )
        (right,) = rng.choices(LABELS, [found.alternatives[label] for label in LABELS])
        answers.append((alternatives, right))
    return answers


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_that_was_put_in_is_found(temperature: float) -> None:
    found = ChoiceScaling.fit(drawn(3000, temperature, seed=1))
    assert found.temperature == pytest.approx(temperature, rel=0.1)
    assert found.count == 3000


def test_it_is_that_of_the_least_log_loss() -> None:
    answers = drawn(300, 2.0, seed=2)

    def loss(temperature: float) -> float:
        total = 0.0
        for alternatives, right in answers:
            powers = {label: mass ** (1 / temperature) for label, mass in alternatives.items()}
            total -= math.log(powers[right] / sum(powers.values()))
        return total

    best = ChoiceScaling.fit(answers).temperature
    assert loss(best) < min(loss(best * 1.02), loss(best * 0.98))


def test_of_two_alternatives_it_is_the_temperature_of_the_odds() -> None:
    rng = random.Random(4)
    values = [rng.uniform(0.02, 0.98) for _ in range(400)]
    correct = [rng.random() < 0.3 + 0.4 * value for value in values]
    pairs = [
        ({"true": value, "false": 1 - value}, "true" if right else "false")
        for value, right in zip(values, correct, strict=True)
    ]
    one, other = ChoiceScaling.fit(pairs), TemperatureScaling.fit(values, correct)
    assert one.temperature == pytest.approx(other.temperature)
    choice = Confidence(kind="choice", probability=0.9, alternatives={"true": 0.9, "false": 0.1})
    assert one.apply(choice).probability == pytest.approx(other.apply(0.9))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(0.05, 100))
def test_what_comes_out_is_a_distribution_in_the_same_order(
    masses: list[float], temperature: float
) -> None:
    whole = math.fsum(masses) + 1e-3
    shares = [(mass + 1e-3 / len(masses)) / whole for mass in masses]
    before = {str(place): share for place, share in enumerate(shares)}
    choice = Confidence(kind="choice", probability=shares[0], alternatives=before)
    found = ChoiceScaling(temperature=temperature).apply(choice)
    assert math.fsum(found.alternatives.values()) == pytest.approx(1)
    assert found.probability == found.low == found.high
    assert found.probability == pytest.approx(found.alternatives["0"])
    order = sorted(before, key=before.__getitem__)
    after = [found.alternatives[label] for label in order]
    assert all(low <= high + 1e-12 for low, high in pairwise(after))


def test_a_chosen_one_of_many_falls_where_the_odds_alone_would_let_it_rise() -> None:
    masses = {"a": 0.4, "b": 0.3, "c": 0.1, "d": 0.1, "e": 0.1}
    choice = Confidence(kind="choice", probability=0.4, alternatives=masses)
    scaled = ChoiceScaling(temperature=3.0).apply(choice).probability
    assert scaled is not None
    assert scaled < 0.4 < TemperatureScaling(temperature=3.0).apply(0.4)


@pytest.mark.parametrize(
    "confidence",
    [
        Confidence(kind="sequence", probability=0.4),
        Confidence(kind="choice", probability=0.4, alternatives={"a": 0.4}, low=0.4, high=0.9),
        Confidence(kind="choice", probability=0.4, alternatives={"a": 0.5, "b": 0.5}),
        Confidence(kind="unavailable", reason="none"),
    ],
    ids=lambda found: found.kind,
)
def test_what_is_not_wholly_known_is_not_scaled_and_says_so(confidence: Confidence) -> None:
    found = ChoiceScaling(temperature=2.0).apply(confidence)
    assert (found.kind, found.probability) == ("unavailable", None)
    assert "every alternative is known" in found.reason


def test_it_is_saved_as_plain_json() -> None:
    found = ChoiceScaling(temperature=2.0, count=3)
    assert ChoiceScaling.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["kind"] == "choice"
    with pytest.raises(UsageError, match="expected a saved 'choice'"):
        ChoiceScaling.from_json(TemperatureScaling(temperature=2.0).to_json())


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([], "no answers"),
        ([({"a": 0.5, "b": 0.5}, "c")], r"answers\[0\]: the right one is 'c'.*a, b"),
        ([({}, "c")], "the alternatives are none"),
        ([({"a": 1.5}, "a")], r"answers\[0\], a\(probability=1.5\)"),
        ([({"a": None}, "a")], "probability=None"),
    ],
)
def test_answers_that_fit_no_temperature_are_refused(answers: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ChoiceScaling.fit(answers)


@pytest.mark.parametrize("temperature", [0, -1, math.inf, "2"])
def test_a_temperature_is_a_number_above_0(temperature: Any) -> None:
    with pytest.raises(UsageError, match="temperature"):
        ChoiceScaling(temperature=temperature)


OPEN = Confidence(
    kind="choice",
    probability=0.75,
    low=0.7,
    high=0.8,
    alternatives={"a": 0.75, "b": 0.2, "c": 0.05},
)


def test_bounds_are_scaled_and_not_erased() -> None:
    found = ChoiceScaling(temperature=2.0).apply(OPEN)
    assert found.low == pytest.approx(0.7**0.5 / (0.7**0.5 + 2 * 0.15**0.5))
    assert found.high == pytest.approx(0.8**0.5 / (0.8**0.5 + 0.2**0.5))
    assert found.low is not None
    assert found.high is not None
    assert found.low < (found.probability or 0.0) < found.high
    same = ChoiceScaling(temperature=1.0).apply(OPEN)
    assert [same.low, same.high] == pytest.approx([0.7, 0.8])
    one_end = ChoiceScaling(temperature=1.0).apply(dataclasses.replace(OPEN, low=None))
    assert [one_end.low, one_end.high] == pytest.approx([0.75, 0.8])


@given(st.floats(0, 1), st.lists(st.floats(0.01, 1), min_size=1, max_size=5), st.floats(0.05, 100))
def test_whatever_lies_within_the_bounds_lies_within_the_scaled_ones(
    at: float, others: list[float], temperature: float
) -> None:
    scaling = ChoiceScaling(temperature=temperature)

    def choice(own: float) -> Confidence:
        rest = {str(place): (1 - own) * each / sum(others) for place, each in enumerate(others)}
        return Confidence(kind="choice", probability=own, alternatives={"own": own, **rest})

    bounds = scaling.apply(dataclasses.replace(choice(0.5), low=0.2, high=0.9))
    inner = scaling.apply(choice(0.2 + 0.7 * at)).probability
    assert bounds.low is not None
    assert bounds.high is not None
    assert bounds.low - 1e-6 <= (inner or 0.0) <= bounds.high + 1e-6


def test_a_choice_whose_other_alternatives_are_not_named_is_not_scaled() -> None:
    hidden = Confidence(kind="choice", probability=1.0, low=0.01, high=1.0, alternatives={"a": 1.0})
    found = ChoiceScaling(temperature=2.0).apply(hidden)
    assert found.kind == "unavailable"
    assert "every alternative is known" in found.reason


def test_a_number_is_no_choice() -> None:
    number: Any = 0.9
    with pytest.raises(UsageError, match="expected a Confidence with all its alternatives"):
        ChoiceScaling(temperature=2.0).apply(number)


@pytest.mark.parametrize("answer", [("a", "a"), ({"a": 1.0}, 3), 7, ({"a": 1.0},), "ab"])
def test_what_is_no_pair_of_alternatives_and_label_is_refused(answer: Any) -> None:
    with pytest.raises(UsageError, match=r"answers\[1\] is .*expected \(`confidence.alternatives`"):
        ChoiceScaling.fit([({"a": 0.5, "b": 0.5}, "a"), answer])


def test_a_policy_compares_what_comes_out_of_it() -> None:
    scaling = ChoiceScaling(temperature=2.0)
    result = result_with({"/tone": OPEN})
    low = scaling.apply(OPEN).low
    assert least_confidence(result, calibration=scaling) == low
    text = Confidence(kind="sequence", probability=0.9)
    policy = AbstentionPolicy(
        threshold=0.6, target_accuracy=0.9, confidence_level=0.9, fields=("/tone", "/size")
    )
    found = policy.apply(result_with({"/tone": OPEN, "/size": text}), calibration=scaling)
    assert found.abstained["/tone"] == f"{low:.4g} (the low end): below 0.6"
    assert found.abstained["/size"].startswith("no confidence: not scaled")


def test_maps_by_field_are_of_confidences_alone() -> None:
    method: Any = ChoiceScaling
    with pytest.raises(UsageError, match="ChoiceScaling scales all alternatives"):
        FieldCalibration.fit(method, [("/tone", 0.9, True)])
    made: Any = ChoiceScaling(temperature=2.0)
    with pytest.raises(UsageError, match="ChoiceScaling scales all alternatives"):
        FieldCalibration(pooled=TemperatureScaling(temperature=1.0), fields={"/tone": made})
    other: Any = dict
    with pytest.raises(UsageError, match="expected a class such as TemperatureScaling"):
        FieldCalibration.fit(other, [("/tone", 0.9, True)])
    given_whole: Any = OPEN
    maps = FieldCalibration(pooled=TemperatureScaling(temperature=1.0))
    with pytest.raises(UsageError, match="give its `probability`"):
        maps.apply("/tone", given_whole)


def test_a_cascade_takes_it_for_its_map() -> None:
    """Above a temperature of 1 a choice falls below the threshold, and the next model is asked."""

    class Note(BaseModel):
        tone: Literal["good", "bad"]

    def answer(mass: float) -> ModelResponse:
        return answer_of([likely('{"tone":"'), likely("good", mass, bad=1 - mass), likely('"}')])

    policy = AbstentionPolicy(threshold=0.8, target_accuracy=0.9, confidence_level=0.9)
    extractors = [Extractor(Note, model=FakeProvider([answer(0.9), answer(0.9)])) for _ in "ab"]
    with Cascade(extractors, policy, calibration=ChoiceScaling(temperature=4.0)) as cascade:
        assert [stage.kept for stage in cascade.extract("x").stages] == [False, True]
    with Cascade(extractors, policy, calibration=ChoiceScaling(temperature=1.0)) as cascade:
        assert [stage.kept for stage in cascade.extract("x").stages] == [True]


def test_a_probability_that_is_another_double_of_the_same_share_is_scaled() -> None:
    share = 1 - 0.9
    found = Confidence(kind="choice", probability=share, alternatives={"right": 0.1, "wrong": 0.9})
    assert share != 0.1
    scaled = ChoiceScaling(temperature=2.0).apply(found)
    assert scaled.probability == scaled.alternatives["right"] == pytest.approx(0.25)
