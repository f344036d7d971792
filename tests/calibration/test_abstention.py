"""The threshold: its bound over simulated populations, and what it says of results."""

from __future__ import annotations

import dataclasses
import math
import random
from bisect import bisect_left
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import Confidence, ExtractionResult, Status
from extractkit.calibration import AbstentionPolicy, FieldCalibration, TemperatureScaling
from extractkit.calibration._binomial import least_count, upper_tail
from extractkit.errors import UsageError
from tests.calibration.making import Two, pairs, result_with

LEVEL = 0.9
TARGET = 0.8
COUNT = 300


class Population:
    """Answers of which each confidence is right with a probability that need not rise with it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._steep, self._shift = rng.uniform(0.5, 6), rng.uniform(-2, 2)
        self._crowd = rng.uniform(0.5, 4)
        self._dip = rng.uniform(0.3, 0.9) if rng.random() < 0.3 else 2.0

    def right(self, confidence: float) -> float:
        """The probability that an answer of this confidence is right."""
        odds = self._steep * 1.5 * (2 * confidence - 1) + self._shift
        share = 1 / (1 + math.exp(-odds))
        return share * (0.6 if self._dip < confidence < self._dip + 0.1 else 1.0)

    def draw(self) -> float:
        """A confidence."""
        return self._rng.random() ** (1 / self._crowd)

    def curve(self, count: int = 400) -> list[tuple[float, float]]:
        """(threshold, true accuracy of what it keeps) at each 400th of coverage, lowest first."""
        grid = [((place + 0.5) / count) ** (1 / self._crowd) for place in range(count)]
        points: list[tuple[float, float]] = []
        right = 0.0
        for kept, value in enumerate(reversed(grid), 1):
            right += self.right(value)
            points.append((value, right / kept))
        return points[::-1]


def accuracy_at(curve: list[tuple[float, float]], threshold: float) -> float:
    kept = bisect_left(curve, (threshold, 0.0))
    return curve[min(kept, len(curve) - 1)][1]


def test_over_a_thousand_populations_the_target_is_kept_as_often_as_was_said() -> None:
    """True accuracy of the kept, and coverage above 0 where so many pairs can show the target."""
    held = reachable = reached = 0
    for seed in range(1000):
        rng = random.Random(seed)
        population = Population(rng)
        confidences = [population.draw() for _ in range(COUNT)]
        correct = [rng.random() < population.right(value) for value in confidences]
        policy = AbstentionPolicy.fit(
            confidences, correct, target_accuracy=TARGET, confidence_level=LEVEL
        )
        curve = population.curve()
        held += policy.threshold is None or accuracy_at(curve, policy.threshold) >= TARGET
        if can_be_shown(curve):
            reachable += 1
            reached += policy.threshold is not None
    assert held >= 1000 * LEVEL
    assert reachable > 150
    assert reached == reachable


def can_be_shown(curve: list[tuple[float, float]]) -> bool:
    """Whether tests at 40, 60 and 80 % coverage pass, but for one sample in ten thousand.

    With a tenth of the level, as at the last starting point, and 15 % fewer answers than there
    are on the mean.
    """
    tested = COUNT - COUNT // 5
    level = (1 - LEVEL) / 10
    for coverage in (0.4, 0.6, 0.8):
        accuracy = curve[int((1 - coverage) * len(curve))][1]
        needed = kept = int(coverage * tested * 0.85)
        while upper_tail(needed - 1, kept, TARGET) <= level:
            needed -= 1
        if upper_tail(needed, kept, accuracy) < 0.9999:
            return False
    return True


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 19))
def test_tails_are_exact(successes: int, more: int, twentieths: int) -> None:
    count = successes + more
    share = Fraction(twentieths, 20)
    exact = sum(
        math.comb(count, place) * share**place * (1 - share) ** (count - place)
        for place in range(successes, count + 1)
    )
    assert upper_tail(successes, count, twentieths / 20) == pytest.approx(float(exact), rel=1e-9)


def test_the_fewest_answers_that_show_a_target() -> None:
    assert least_count(0.9, 0.05) == 29
    assert upper_tail(29, 29, 0.9) <= 0.05 < upper_tail(28, 28, 0.9)


def test_a_reached_target_is_kept_on_other_pairs() -> None:
    policy = AbstentionPolicy.fit(*pairs(800, seed=1), target_accuracy=0.8)
    assert policy.threshold is not None
    assert 0.3 < policy.threshold < 0.95
    assert (policy.count, policy.tested) == (800, 640)
    assert upper_tail(policy.right, policy.kept, 0.8) <= 0.05
    outcome = policy.evaluate(*pairs(800, seed=2))
    assert outcome.accuracy is not None
    assert outcome.accuracy >= 0.8
    assert outcome.coverage == outcome.kept / 800
    assert outcome.interval is not None
    assert outcome.interval[0] < outcome.accuracy < outcome.interval[1]


def test_confidences_without_labels_save_the_pairs_for_the_test() -> None:
    others = pairs(200, seed=9)[0]
    policy = AbstentionPolicy.fit(*pairs(300, seed=1), target_accuracy=0.8, unlabelled=others)
    assert policy.tested == 300
    assert policy.threshold in {*others, 0.0}


def test_everything_is_kept_where_everything_is_right() -> None:
    policy = AbstentionPolicy.fit([0.3] * 100, [True] * 100, target_accuracy=0.9)
    assert policy.threshold == 0.0
    assert policy.kept == policy.right == 80


def test_too_few_pairs_keep_nothing_and_say_how_many_would_do() -> None:
    policy = AbstentionPolicy.fit([0.9] * 20, [True] * 20, target_accuracy=0.9)
    assert policy.threshold is None
    assert policy.reason.startswith("16 tested pairs cannot show an accuracy of 0.9")
    assert "32 can" in policy.reason
    assert not policy.keeps(1.0)
    outcome = policy.evaluate([0.9, 0.8], [True, False])
    assert (outcome.kept, outcome.accuracy, outcome.interval) == (0, None, None)


def test_a_target_out_of_reach_keeps_nothing() -> None:
    policy = AbstentionPolicy.fit([0.9] * 400, [True, False] * 200, target_accuracy=0.9)
    assert policy.threshold is None
    assert "of 320 tested answers" in policy.reason


def test_the_pairs_it_was_chosen_on_are_not_reported_on() -> None:
    confidences, correct = pairs(300)
    policy = AbstentionPolicy.fit(confidences, correct, target_accuracy=0.7)
    with pytest.raises(UsageError, match="chosen on"):
        policy.evaluate(confidences[::-1], correct[::-1])
    again = AbstentionPolicy.from_json(policy.to_json())
    assert again == policy
    with pytest.raises(UsageError, match="chosen on"):
        again.evaluate(confidences, correct)


@pytest.mark.parametrize("name", ["target_accuracy", "confidence_level"])
def test_shares_outside_of_their_range_are_refused(name: str) -> None:
    given = {"target_accuracy": 0.9, name: 1.0}
    with pytest.raises(UsageError, match=name):
        AbstentionPolicy.fit([0.5], [True], **given)
    with pytest.raises(UsageError, match="finite"):
        AbstentionPolicy(threshold=math.nan, target_accuracy=0.9, confidence_level=0.9)


def policy_at(threshold: float | None, *fields: str) -> AbstentionPolicy:
    return AbstentionPolicy(
        threshold=threshold,
        target_accuracy=0.9,
        confidence_level=0.95,
        fields=fields,
        reason="" if threshold is not None else "too few pairs",
    )


CHOICE = Confidence(kind="choice", probability=0.8)
TEXT = Confidence(kind="sequence", probability=0.3)
NONE = Confidence(kind="unavailable", reason="the answer came without log-probabilities")


def test_a_result_is_kept_where_each_choice_reaches_the_threshold() -> None:
    result = result_with({"/tone": CHOICE, "/size": TEXT})
    decision = policy_at(0.7).apply(result)
    assert decision.keep
    assert decision.kept == ("/tone",)
    below = policy_at(0.9).apply(result)
    assert not below.keep
    assert below.abstained == {"/tone": "0.8: below 0.9"}
    assert below.reason == "/tone: 0.8: below 0.9"


def test_the_fields_that_decide_can_be_named() -> None:
    result = result_with({"/tone": CHOICE, "/lines/0/size": TEXT, "/lines/1/size": NONE})
    decision = policy_at(0.7, "/lines/*/size").apply(result)
    assert decision.kept == ()
    assert list(decision.abstained) == ["/lines/0/size", "/lines/1/size"]
    assert decision.abstained["/lines/1/size"].startswith("no confidence: ")
    assert decision.reason.endswith("(and 1 more)")


def test_what_has_no_confidence_is_never_kept() -> None:
    assert not policy_at(0.0, "/tone").apply(result_with({"/tone": NONE})).keep
    nothing = policy_at(0.0).apply(result_with({"/tone": NONE}))
    assert nothing.reason == "/tone: no confidence: the answer came without log-probabilities"
    beside = policy_at(0.5).apply(result_with({"/tone": CHOICE, "/mood": NONE}))
    assert not beside.keep
    assert list(beside.abstained) == ["/mood"]


def test_where_nothing_decides_nothing_is_kept() -> None:
    for confidences in ({}, {"/size": TEXT}):
        found = policy_at(0.0).apply(result_with(confidences))
        assert found.reason == "no leaf of this result decides; name some in fields"


@pytest.mark.parametrize("why", ["nothing was to choose: one value only", "forced: no choice left"])
def test_what_the_model_was_not_asked_holds_nothing_up(why: str) -> None:
    certain = Confidence(kind="unavailable", reason=why)
    found = policy_at(0.5).apply(result_with({"/tone": CHOICE, "/version": certain}))
    assert found.keep
    assert not policy_at(0.5, "/version").apply(result_with({"/version": certain})).keep


def test_an_agreement_decides_as_a_choice_does() -> None:
    alike = Confidence(kind="agreement", probability=0.6)
    assert policy_at(0.5).apply(result_with({"/size": alike})).keep
    assert not policy_at(0.7).apply(result_with({"/size": alike})).keep


NULL = Confidence(kind="choice", probability=0.9)


@pytest.mark.parametrize(
    ("leaves", "presence", "decides"),
    [
        ({"/who": NULL}, {}, "/who"),  # null where an object with a name could be
        ({"/who/lines": NULL}, {}, "/who/lines"),  # an empty list
        ({"/what": TEXT}, {"/who": NULL}, "/who"),  # the key is left out
        ({"": NULL}, {}, ""),  # the whole answer is null
    ],
)
def test_what_stands_in_place_of_a_named_field_decides(
    leaves: dict[str, Confidence], presence: dict[str, Confidence], decides: str
) -> None:
    result = dataclasses.replace(result_with(leaves), presence=presence)
    policy = policy_at(0.8, "/who/lines/*/name")
    assert policy.apply(result).kept == (decides,)
    assert list(policy_at(0.95, "/who/lines/*/name").apply(result).abstained) == [decides]


def test_a_named_field_that_stands_nowhere_is_not_passed_over() -> None:
    result = dataclasses.replace(
        result_with({"/tone": CHOICE, "/who/name": CHOICE}), presence={"/who": NULL}
    )
    for name in ("/tome", "/who"):  # misspelt; an object, whose leaves would have to be named
        found = policy_at(0.5, "/tone", name).apply(result)
        assert found.abstained == {name: "this result has no such leaf"}
        assert found.kept == ("/tone",)
        assert not found.keep


def test_confidences_go_through_the_map_of_their_field() -> None:
    maps = FieldCalibration(
        pooled=TemperatureScaling(temperature=1.0),
        fields={"/lines/*/tone": TemperatureScaling(temperature=8.0)},
    )
    result = result_with({"/tone": CHOICE, "/lines/3/tone": CHOICE})
    found = policy_at(0.7).apply(result, calibration=maps)
    assert found.kept == ("/tone",)
    assert list(found.abstained) == ["/lines/3/tone"]


def test_a_result_of_any_target_can_be_judged() -> None:
    """The type of the target is the caller's; type checkers have to take it."""
    result: ExtractionResult[Two] = result_with({"/tone": CHOICE})
    assert policy_at(0.7).apply(result).keep


def test_confidences_go_through_the_calibration_first() -> None:
    result = result_with({"/tone": CHOICE})
    hot = TemperatureScaling(temperature=5.0)
    assert policy_at(0.7).apply(result).keep
    assert not policy_at(0.7).apply(result, calibration=hot).keep


def test_a_policy_without_a_threshold_and_a_result_without_a_value_keep_nothing() -> None:
    result = result_with({"/tone": CHOICE})
    assert policy_at(None).apply(result).reason == "/tone: 0.8: too few pairs"
    refused = dataclasses.replace(result, status=Status.REFUSED, value=None)
    assert policy_at(0.1).apply(refused).reason == "there is no value: refused"
