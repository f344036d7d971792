"""Maps: what they are fitted to, what they keep, and that they are saved as plain JSON."""

from __future__ import annotations

import builtins
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit import Confidence
from extractkit.calibration import (
    FieldCalibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    auc,
    expected_calibration_error,
    field_of,
    log_loss,
)
from extractkit.errors import MissingDependencyError, UsageError
from tests.calibration.making import pairs

METHODS = [TemperatureScaling, PlattScaling, IsotonicCalibration]
each_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.kind)


@each_method
def test_held_out_loss_falls_where_confidences_are_too_extreme(method: Any) -> None:
    found = method.fit(*pairs(2000, temperature=3.0, seed=1))
    confidences, correct = pairs(2000, temperature=3.0, seed=2)
    mapped = [found.apply(value) for value in confidences]
    assert log_loss(mapped, correct) < log_loss(confidences, correct) - 0.05
    before = expected_calibration_error(confidences, correct).error
    assert expected_calibration_error(mapped, correct).error < before / 2


def test_the_temperature_that_was_put_in_is_found() -> None:
    for temperature in (0.5, 1.0, 3.0):
        found = TemperatureScaling.fit(*pairs(3000, temperature=temperature, seed=3))
        assert found.temperature == pytest.approx(temperature, rel=0.15)
        assert found.count == 3000


def test_a_line_on_log_odds_is_found() -> None:
    import random

    rng = random.Random(5)
    truth = PlattScaling(slope=0.6, intercept=-0.8)
    confidences = [rng.uniform(0.01, 0.99) for _ in range(4000)]
    correct = [rng.random() < truth.apply(value) for value in confidences]
    found = PlattScaling.fit(confidences, correct)
    assert found.slope == pytest.approx(0.6, abs=0.06)
    assert found.intercept == pytest.approx(-0.8, abs=0.08)


@settings(deadline=None)  # scikit-learn is slow at first
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_any_pairs_give_maps_whose_values_are_probabilities_in_order(
    made: list[tuple[float, bool]],
) -> None:
    confidences = [value for value, _ in made]
    correct = [outcome for _, outcome in made]
    for method in METHODS:
        found = method.fit(confidences, correct)
        mapped = [found.apply(place / 20) for place in range(21)]
        assert all(0 <= value <= 1 for value in mapped)
        again = method.from_json(found.to_json())
        assert again == found
        if method is not PlattScaling:
            assert mapped == sorted(mapped)


def test_a_temperature_keeps_the_order_and_so_the_auc() -> None:
    confidences, correct = pairs(300, temperature=2.5, seed=7)
    found = TemperatureScaling.fit(confidences, correct)
    mapped = [found.apply(value) for value in confidences]
    assert auc(mapped, correct) == pytest.approx(auc(confidences, correct))


def test_pairs_that_no_temperature_explains_end_at_the_limits() -> None:
    assert TemperatureScaling.fit([0.9, 0.8], [True, True]).temperature == pytest.approx(0.05)
    assert TemperatureScaling.fit([0.9, 0.8], [False, False]).temperature == pytest.approx(100)


def test_pairs_that_are_all_right_do_not_become_certainty() -> None:
    platt = PlattScaling.fit([0.7] * 10, [True] * 10)
    assert platt.apply(0.7) == pytest.approx(11 / 12, abs=1e-3)
    isotonic = IsotonicCalibration.fit([0.2, 0.7], [True, True])
    assert isotonic.apply(0.9) == pytest.approx(0.75)
    assert isotonic.apply(0.0) == pytest.approx(0.75)


def test_between_its_points_the_order_map_is_a_line() -> None:
    found = IsotonicCalibration(confidences=(0.2, 0.6), probabilities=(0.1, 0.5))
    assert found.apply(0.4) == pytest.approx(0.3)


def test_the_order_map_is_saved_and_applied_without_scikit_learn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = IsotonicCalibration.fit(*pairs(200))
    text = found.to_json()
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert IsotonicCalibration.from_json(text).apply(0.5) == found.apply(0.5)
    with pytest.raises(MissingDependencyError, match=r'pip install "\.\[calibration\]"'):
        IsotonicCalibration.fit([0.5], [True])


def test_a_saved_map_is_plain_json() -> None:
    record = json.loads(TemperatureScaling(temperature=2.0, count=3).to_json())
    assert record == {"kind": "temperature", "version": 1, "temperature": 2.0, "count": 3}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "not a saved temperature"),
        ("[]", "found 'list'"),
        ('{"kind": "platt", "version": 1}', "found 'platt'"),
        ('{"kind": "temperature", "version": 1, "count": 3}', "lacks temperature"),
        ('{"kind": "temperature", "version": 1, "count": 3, "temperature": "x"}', "finite number"),
        ('{"kind": "temperature", "version": 2, "count": 3, "temperature": 1}', "version 1"),
    ],
)
def test_a_text_that_is_no_saved_map_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TemperatureScaling.from_json(text)


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        (TemperatureScaling, {"temperature": 0}, "temperature=0"),
        (TemperatureScaling, {"temperature": -1}, "temperature=-1"),
        (TemperatureScaling, {"temperature": 10**400}, "finite number"),
        (TemperatureScaling, {"count": "3"}, "whole number"),
        (PlattScaling, {"slope": []}, "slope"),
        (PlattScaling, {"intercept": math.nan}, "intercept"),
        (PlattScaling, {"count": -1}, "whole number"),
        (IsotonicCalibration, {"confidences": 3}, "expected a list"),
        (IsotonicCalibration, {"confidences": [0.5, 0.1]}, "rise"),
        (IsotonicCalibration, {"confidences": [0.5, 0.5]}, "rise"),
        (IsotonicCalibration, {"probabilities": [0.5, 0.4]}, "never fall"),
        (IsotonicCalibration, {"probabilities": [0.5, 1.4]}, "from 0 to 1"),
        (IsotonicCalibration, {"probabilities": [None, 1]}, "from 0 to 1"),
        (IsotonicCalibration, {"count": True}, "whole number"),
    ],
)
def test_a_damaged_map_is_refused(method: Any, given: dict[str, Any], words: str) -> None:
    saved = {
        TemperatureScaling: TemperatureScaling(temperature=2.0),
        PlattScaling: PlattScaling(slope=1.0, intercept=0.0),
        IsotonicCalibration: IsotonicCalibration(confidences=(0, 1), probabilities=(0, 1)),
    }[method]
    record = json.loads(saved.to_json())
    assert method.from_json(json.dumps(record)) == saved
    with pytest.raises(UsageError, match=words):
        method.from_json(json.dumps({**record, **given}))


def test_a_text_that_is_nested_too_deeply_or_no_text_is_refused() -> None:
    for text in ("[" * 100_000, None, 3):
        with pytest.raises(UsageError, match="not a saved platt"):
            PlattScaling.from_json(text)  # type: ignore[arg-type]  # that is what is refused


@pytest.mark.parametrize("fields", [[], 3, {"/a": 3}, {"/a": {"kind": "platt"}}])
def test_damaged_maps_by_field_are_refused(fields: Any) -> None:
    record = json.loads(FieldCalibration(pooled=TemperatureScaling(temperature=2.0)).to_json())
    with pytest.raises(UsageError, match="expected"):
        FieldCalibration.from_json(json.dumps({**record, "fields": fields}))


@each_method
def test_what_is_no_confidence_is_refused(method: Any) -> None:
    found = method.fit([0.2, 0.8], [False, True])
    for value in (-0.1, 1.1, math.nan):
        with pytest.raises(UsageError, match="expected a probability"):
            found.apply(value)
    with pytest.raises(UsageError, match="at least 1"):
        method.fit([], [])


def test_points_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="as many"):
        IsotonicCalibration(confidences=(0.2,), probabilities=())


def test_a_field_with_enough_pairs_has_a_map_of_its_own() -> None:
    answers = [
        (f"/lines/{place}/kind", value, outcome)
        for place, (value, outcome) in enumerate(zip(*pairs(150, temperature=4), strict=True))
    ]
    answers += [("/note", value, outcome) for value, outcome in zip(*pairs(20), strict=True)]
    found = FieldCalibration.fit(TemperatureScaling, answers)
    assert set(found.fields) == {"/lines/*/kind"}
    assert found.apply("/lines/7/kind", 0.9) == found.fields["/lines/*/kind"].apply(0.9)
    assert found.apply("/note", 0.9) == found.pooled.apply(0.9)
    assert FieldCalibration.from_json(found.to_json()) == found
    none = Confidence(kind="unavailable", reason="none")
    some = Confidence(kind="choice", probability=0.9)
    assert found.apply_all({"/note": some, "/x": none}) == {"/note": found.pooled.apply(0.9)}


def test_maps_by_field_need_answers_and_known_kinds() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        FieldCalibration.fit(PlattScaling, [])
    with pytest.raises(UsageError, match="least=0"):
        FieldCalibration.fit(PlattScaling, [("/a", 0.5, True)], least=0)
    record = {"kind": "fields", "version": 1, "pooled": {"kind": "spline"}, "fields": {}}
    with pytest.raises(UsageError, match="'spline'"):
        FieldCalibration.from_json(json.dumps(record))


@pytest.mark.parametrize(
    ("pointer", "field"),
    [("", ""), ("/a", "/a"), ("/a/0/b1", "/a/*/b1"), ("/x~1y/12", "/x~1y/*")],
)
def test_all_elements_of_a_list_are_one_field(pointer: str, field: str) -> None:
    assert field_of(pointer) == field
