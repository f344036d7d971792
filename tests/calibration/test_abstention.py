"""The threshold: its bound over simulated populations, and what it says of results."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Confidence, ExtractionResult, Status, extract
from extractkit.calibration import (
    AbstentionPolicy,
    FieldCalibration,
    TemperatureScaling,
    least_confidence,
)
from extractkit.calibration._binomial import least_count, upper_tail
from extractkit.errors import UsageError
from extractkit.messages import TokenLogprob
from extractkit.testing import FakeProvider
from tests.acceptance.abstention import LEVEL, is_given_out_wrongly, row_of
from tests.calibration.making import Two, pairs, result_with
from tests.confidence.making import answer_of, token


def test_over_a_thousand_populations_the_target_is_kept_as_often_as_was_said() -> None:
    """True accuracy of the kept, and coverage above 0 wherever the target can be reached."""
    rows = [row_of(seed, 300) for seed in range(1000)]
    assert sum(row.holds for row in rows) >= 1000 * LEVEL
    reached = [row.found for row in rows if row.can_be_reached]
    assert len(reached) > 400
    assert all(reached)


def test_where_every_threshold_is_wrong_one_is_given_out_as_seldom_as_was_said() -> None:
    assert sum(is_given_out_wrongly(seed, 100) for seed in range(1000)) <= 1000 * (1 - LEVEL)


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


@pytest.mark.parametrize("part", [slice(200), slice(150, 160), slice(3), slice(399, 400)])
def test_a_part_of_the_pairs_it_was_chosen_on_is_not_reported_on(part: slice) -> None:
    confidences, correct = pairs(400)
    policy = AbstentionPolicy.fit(confidences, correct, target_accuracy=0.7)
    with pytest.raises(UsageError, match="are equal to pairs that the threshold was chosen on"):
        policy.evaluate(confidences[part], correct[part])
    others = pairs(300, seed=5)
    again = AbstentionPolicy.from_json(policy.to_json())
    assert again.evaluate(*others).seen == 0
    mixed = (others[0] + confidences[:20], others[1] + correct[:20])
    with pytest.raises(UsageError, match="20 of 320 pairs that can be compared"):
        again.evaluate(*mixed)


def test_of_very_many_pairs_a_thousand_say_whether_they_come_again() -> None:
    confidences, correct = pairs(5000)
    policy = AbstentionPolicy.fit(confidences, correct, target_accuracy=0.7)
    assert len(policy.seen) < 8100
    with pytest.raises(UsageError, match="equal to pairs"):
        policy.evaluate(confidences[:500], correct[:500])
    assert policy.evaluate(*pairs(5000, seed=3)).seen == 0


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_round_confidences_are_equal_by_chance_and_reported_on(digits: int) -> None:
    """How many are equal is told; other pairs are not refused for it."""
    told: list[int | None] = []
    for seed in range(30):
        first, second = pairs(200, seed=seed), pairs(200, seed=seed + 100)
        policy = AbstentionPolicy.fit(
            [round(value, digits) for value in first[0]], first[1], target_accuracy=0.7
        )
        found = policy.evaluate([round(value, digits) for value in second[0]], second[1]).seen
        told.append(found)
    if digits == 1:  # nothing tells old from new
        assert set(told) == {None}
    else:
        assert any(told)


@pytest.mark.parametrize(
    ("confidences", "correct"),
    [
        ([round(value, 1) for value in pairs(400, seed=5)[0]], pairs(400, seed=5)[1]),
        ([0.5] * 100, [True] * 100),
        ([0.2, 0.4, 0.6, 0.8, 1.0] * 60, [False, True, True, True, True] * 60),
    ],
)
def test_of_round_confidences_it_is_not_said_that_no_pair_came_again(
    confidences: list[float], correct: list[bool]
) -> None:
    policy = AbstentionPolicy.fit(confidences, correct, target_accuracy=0.7)
    half = len(confidences) // 2
    assert policy.evaluate(confidences[:half], correct[:half]).seen is None
    assert policy_at(0.5).evaluate([0.6], [True]).seen is None  # nothing is known of its pairs


def test_confidences_without_labels_find_what_most_confident_wrong_ones_hide() -> None:
    """Accuracy 0.3 above 0.97, 0.9 below: all together reach the target, the first ones do not."""
    found = 0
    for seed in range(20):
        rng = random.Random(seed)
        values = [rng.random() for _ in range(600)]
        right = [rng.random() < (0.3 if value > 0.97 else 0.9) for value in values]
        policy = AbstentionPolicy.fit(
            values, right, target_accuracy=0.8, confidence_level=0.9,
            unlabelled=[rng.random() for _ in range(200)],
        )  # fmt: skip
        found += policy.threshold is not None
    assert found >= 15


def test_an_older_policy_without_marks_is_read() -> None:
    record = json.loads(policy_at(0.5).to_json())
    del record["seen"]
    assert AbstentionPolicy.from_json(json.dumps(record)).seen == ""


ODD = {
    "all right": ([0.9] * 100, [True] * 100, 0.0),
    "all wrong": ([0.9] * 100, [False] * 100, None),
    "two values": ([0.9, 0.5] * 100, [True, False] * 100, 0.9),
    "certain both ways": ([1.0, 0.0] * 100, [True, False] * 100, 1.0),
    "one": ([0.9], [True], None),
    "two": ([0.9, 0.9], [True, True], None),
}


@pytest.mark.parametrize("name", ODD)
def test_pairs_of_an_odd_kind_have_the_threshold_that_they_show(name: str) -> None:
    confidences, correct, threshold = ODD[name]
    for level in (0.9, 0.999):
        policy = AbstentionPolicy.fit(
            confidences, correct, target_accuracy=0.8, confidence_level=level
        )
        assert policy.threshold == threshold
        assert (policy.reason == "") is (threshold is not None)


@pytest.mark.parametrize("value", [None, math.nan, -0.1, "0.9", math.inf])
def test_an_answer_without_a_confidence_is_no_pair(value: Any) -> None:
    with pytest.raises(UsageError, match=r"confidences\[1\] is .*leave out answers that have none"):
        AbstentionPolicy.fit([0.9, value], [True, True], target_accuracy=0.8)


@pytest.mark.parametrize("value", [None, "no", 0.5, 2])
def test_an_outcome_is_right_or_wrong(value: Any) -> None:
    with pytest.raises(UsageError, match=r"correct\[1\] is .*expected True or False"):
        AbstentionPolicy.fit([0.9, 0.9], [True, value], target_accuracy=0.8)


def test_arrays_are_pairs_too() -> None:
    policy = AbstentionPolicy.fit(
        np.full(100, 0.5, dtype=np.float32), np.ones(100, dtype=bool), target_accuracy=0.8
    )
    assert AbstentionPolicy.from_json(policy.to_json()) == policy


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("/tone", r"a list of fields, such as \['/tone'\]"),
        (["tone"], r"fields\[0\]='tone'"),
        ([3], "=3"),
    ],
)
def test_fields_are_a_list_of_pointers(fields: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        AbstentionPolicy.fit([0.9], [True], target_accuracy=0.8, fields=fields)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", "0.5"),
        ("threshold", 1.5),
        ("threshold", True),
        ("target_accuracy", "x"),
        ("target_accuracy", None),
        ("confidence_level", 1),
        ("fields", "/tone"),
        ("fields", {}),
        ("fields", [3]),
        ("count", -1),
        ("kept", 1.5),
        ("right", "x"),
        ("reason", 3),
        ("digest", None),
        ("seen", "0:xyz"),
        ("seen", 3),
    ],
)
def test_a_damaged_policy_is_refused_by_name(name: str, value: Any) -> None:
    record = json.loads(policy_at(0.5).to_json())
    with pytest.raises(UsageError, match=name):
        AbstentionPolicy.from_json(json.dumps({**record, name: value}))


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


def test_the_reasons_of_a_real_answer_are_those_that_are_known() -> None:
    """One legal value, a forced one, and a choice: only the last one was the model's answer."""

    class Note(BaseModel):
        version: Literal[1]
        tone: Literal["good", "bad"]
        mood: Literal["good", "bad"]

    tokens = (
        token('{"version":1,"tone":"', 0.0),
        TokenLogprob(token=b"good", logprob=0.0, forced=True),
        token('","mood":"', 0.0),
        token("bad", -0.1),
        token('"}', 0.0),
    )
    result = extract(Note, "x", model=FakeProvider([answer_of(tokens)]))
    assert result.confidence["/version"].kind == result.confidence["/tone"].kind == "unavailable"
    assert policy_at(0.8).apply(result).kept == ("/mood",)
    assert policy_at(0.8).apply(result).keep


def test_an_agreement_decides_as_a_choice_does() -> None:
    alike = Confidence(kind="agreement", probability=0.6)
    assert policy_at(0.5).apply(result_with({"/size": alike})).keep
    assert not policy_at(0.7).apply(result_with({"/size": alike})).keep


FORCED = Confidence(kind="unavailable", reason="forced: no choice left")
LITTLE = Confidence(kind="choice", probability=0.1)


@pytest.mark.parametrize("place", ["presence", "lengths"])
@pytest.mark.parametrize("fields", [(), ("/lines/*/tone", "/size")])
def test_a_length_and_a_text_in_place_of_null_decide(place: str, fields: tuple[str, ...]) -> None:
    plain = result_with({"/lines/0/tone": CHOICE, "/size": TEXT})
    pointer = "/lines" if place == "lengths" else "/size"
    for found, is_kept in ((CHOICE, True), (LITTLE, False), (NONE, False), (FORCED, True)):
        if place == "lengths":
            result = dataclasses.replace(plain, lengths={pointer: found})
        else:
            result = dataclasses.replace(plain, presence={pointer: found})
        decision = policy_at(0.2, *fields).apply(result)
        assert decision.keep is is_kept
        assert (pointer in decision.abstained) is not is_kept
        assert policy_at(0.2).keeps(least_confidence(result, fields=fields)) is is_kept


def test_what_stands_around_a_named_field_decides_and_nothing_else_does() -> None:
    plain = result_with({"/who/name": CHOICE, "/tone": CHOICE})
    around = dataclasses.replace(plain, presence={"/who": LITTLE})
    assert not policy_at(0.5, "/who/name").apply(around).keep
    assert policy_at(0.5, "/tone").apply(around).keep
    lines = dataclasses.replace(plain, lengths={"/lines": LITTLE})
    assert policy_at(0.5, "/tone").apply(lines).keep
    assert not policy_at(0.5).apply(lines).keep


def test_tokens_are_not_compared_where_several_answers_were_drawn() -> None:
    alike = Confidence(kind="agreement", probability=0.8)
    drawn = result_with({"/size": alike})
    result = dataclasses.replace(drawn, presence={"/size": LITTLE}, lengths={"/lines": LITTLE})
    assert policy_at(0.5).apply(result).kept == ("/size",)
    assert policy_at(0.5).apply(result).keep
    apart = Confidence(kind="agreement", probability=0.4)
    assert not policy_at(0.5).apply(dataclasses.replace(result, lengths={"/lines": apart})).keep


def test_a_verdict_on_a_text_that_is_a_document_decides_with_its_leaves() -> None:
    result = dataclasses.replace(
        result_with({"/text/a": TEXT, "/tone": CHOICE}), verdicts={"/text": LITTLE, "/no": LITTLE}
    )
    assert list(policy_at(0.5).apply(result).abstained) == ["/text"]
    assert "/text" in policy_at(0.5, "/text/a").apply(result).abstained


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
    for name, why in (
        ("/tome", "this result has no such leaf"),
        ("/who", "it is no leaf and holds some: name those, such as '/who/name'"),
    ):
        found = policy_at(0.5, "/tone", name).apply(result)
        assert found.abstained == {name: why}
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


def test_the_least_confidence_is_what_keeps_a_whole_result() -> None:
    sure = Confidence(kind="choice", probability=0.95)
    result = result_with({"/tone": CHOICE, "/mood": sure, "/size": TEXT})
    assert least_confidence(result) == 0.8
    assert least_confidence(result, fields=["/mood"]) == 0.95
    assert least_confidence(result, fields=["/mood", "/size"]) == 0.3
    hot = TemperatureScaling(temperature=4.0)
    assert least_confidence(result, calibration=hot) == hot.apply(0.8)
    for threshold in (0.7, 0.8, 0.9):
        assert policy_at(threshold).apply(result).keep is policy_at(threshold).keeps(0.8)


NUMBERS = st.one_of(
    st.builds(
        Confidence,
        kind=st.sampled_from(["choice", "agreement", "sequence"]),
        probability=st.floats(0, 1),
    ),
    st.builds(Confidence, kind=st.just("unavailable"), reason=st.sampled_from(["none", "forced"])),
)
PLACES = st.sampled_from(["", "/a", "/a/b", "/lines", "/lines/0", "/lines/0/b", "/lines/1/b"])
FIELDS = st.sampled_from(["", "/a", "/a/b", "/lines/*/b", "/c"])
PLAIN = result_with({})


@given(
    st.dictionaries(PLACES, NUMBERS),
    st.dictionaries(PLACES, NUMBERS),
    st.dictionaries(PLACES, NUMBERS),
    st.lists(FIELDS, unique=True),
    st.floats(0, 1),
)
def test_a_result_is_kept_if_and_only_if_its_least_confidence_is(
    leaves: dict[str, Confidence],
    presence: dict[str, Confidence],
    verdicts: dict[str, Confidence],
    fields: list[str],
    threshold: float,
) -> None:
    result = dataclasses.replace(PLAIN, confidence=leaves, presence=presence, verdicts=verdicts)
    policy = policy_at(threshold, *fields)
    decision = policy.apply(result)
    assert decision.keep is policy.keeps(least_confidence(result, fields=fields))
    assert decision.keep is (not decision.abstained and bool(decision.kept))
    assert not set(decision.kept) & set(decision.abstained)
    assert decision.keep is (decision.reason == "")


def test_a_result_that_no_policy_keeps_has_no_least_confidence() -> None:
    result = result_with({"/tone": CHOICE, "/mood": NONE})
    assert least_confidence(result) is None
    assert least_confidence(result, fields=["/tone", "/tome"]) is None
    assert least_confidence(result_with({})) is None
    invalid = dataclasses.replace(result_with({"/tone": CHOICE}), status=Status.INVALID, value=None)
    assert least_confidence(invalid) is None


def test_a_verdict_counts_in_place_of_the_tokens_of_a_text() -> None:
    verdict = Confidence(kind="choice", probability=0.9, alternatives={"right": 0.9, "wrong": 0.1})
    plain = result_with({"/tone": CHOICE, "/size": TEXT})
    asked = dataclasses.replace(plain, verdicts={"/size": verdict, "/tone": TEXT})
    assert policy_at(0.5, "/size").apply(asked).keep
    assert not policy_at(0.5, "/size").apply(plain).keep
    assert policy_at(0.5).apply(asked).kept == ("/tone", "/size")
    assert least_confidence(asked) == 0.8  # of a choice its own number, whatever else was asked
    failed = dataclasses.replace(plain, verdicts={"/size": NONE})
    assert list(policy_at(0.5).apply(failed).abstained) == ["/size"]


def test_a_key_of_a_map_may_be_a_number_and_be_meant() -> None:
    result = result_with({"/years/2024/kind": CHOICE, "/years/2025/kind": NONE})
    assert policy_at(0.7, "/years/2024/kind").apply(result).kept == ("/years/2024/kind",)
    assert policy_at(0.7, "/years/2024/kind").apply(result).keep
    assert not policy_at(0.7, "/years/*/kind").apply(result).keep


def test_a_result_of_any_target_can_be_judged() -> None:
    """The type of the target is the caller's; type checkers have to take it."""
    result: ExtractionResult[Two] = result_with({"/tone": CHOICE})
    assert policy_at(0.7).apply(result).keep


def test_confidences_go_through_the_calibration_first() -> None:
    result = result_with({"/tone": CHOICE})
    hot = TemperatureScaling(temperature=5.0)
    assert policy_at(0.7).apply(result).keep
    assert not policy_at(0.7).apply(result, calibration=hot).keep


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, "0.9", True])
def test_what_is_no_probability_is_neither_kept_nor_left(value: Any) -> None:
    if value is True:
        assert policy_at(0.5).keeps(value)  # 1, as everywhere in this room
        return
    with pytest.raises(UsageError, match="expected a probability from 0 to 1, or None"):
        policy_at(0.5).keeps(value)


def test_of_bounds_the_low_end_decides() -> None:
    wide = Confidence(kind="choice", probability=0.9, low=0.1, high=1.0)
    found = policy_at(0.5).apply(result_with({"/tone": wide}))
    assert found.reason == "/tone: 0.1 (the low end): below 0.5"
    assert policy_at(0.1).apply(result_with({"/tone": wide})).keep
    assert least_confidence(result_with({"/tone": wide})) == 0.1
    hot = TemperatureScaling(temperature=2.0)
    assert least_confidence(result_with({"/tone": wide}), calibration=hot) == hot.apply(0.1)


def test_what_is_no_result_and_no_map_is_refused() -> None:
    other: Any = "x"
    with pytest.raises(UsageError, match="expected a result of an extraction"):
        policy_at(0.5).apply(other)
    with pytest.raises(UsageError, match="expected a map such as TemperatureScaling"):
        policy_at(0.5).apply(result_with({"/tone": CHOICE}), calibration=other)


def test_every_reason_says_something() -> None:
    bare = AbstentionPolicy(threshold=None, target_accuracy=0.9, confidence_level=0.9)
    found = bare.apply(result_with({"/tone": CHOICE}))
    assert found.reason == "/tone: 0.8: the policy has no threshold, and keeps nothing"
    silent = Confidence(kind="unavailable")
    assert policy_at(0.5).apply(result_with({"/tone": silent})).reason.endswith("nothing says why")


def test_a_policy_without_a_threshold_and_a_result_without_a_value_keep_nothing() -> None:
    result = result_with({"/tone": CHOICE})
    assert policy_at(None).apply(result).reason == "/tone: 0.8: too few pairs"
    refused = dataclasses.replace(result, status=Status.REFUSED, value=None)
    assert policy_at(0.1).apply(refused).reason == "there is no value: refused"
