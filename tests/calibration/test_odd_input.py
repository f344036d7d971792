"""Whatever is given to what is public here: a result, or an error of ours that says why not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from extractkit import Cascade, Confidence, Extractor
from extractkit.calibration import (
    AbstentionPolicy,
    ChoiceScaling,
    FieldCalibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    accuracy_at_coverage,
    accuracy_coverage_curve,
    auc,
    brier_score,
    expected_calibration_error,
    field_of,
    least_confidence,
    log_loss,
    plots,
    wilson_interval,
)
from extractkit.confidence import agreement, majority, shape_agreement
from extractkit.errors import MissingDependencyError, UsageError
from extractkit.schema import compile_schema
from extractkit.testing import FakeProvider
from tests.calibration.making import result_with

SHARES = [0.1, 0.4, 0.6, 0.9] * 10
RIGHT = [False, True, False, True] * 10
CURVE = accuracy_coverage_curve(SHARES, RIGHT)
POLICY = AbstentionPolicy(threshold=0.5, target_accuracy=0.8, confidence_level=0.9)
COOL = TemperatureScaling(temperature=2.0)
CHOICE = Confidence(kind="choice", probability=0.8, alternatives={'"a"': 0.8, '"b"': 0.2})
RESULT = result_with({"/tone": CHOICE})
MAPS = FieldCalibration(pooled=COOL)
COMPILED = compile_schema(dict[str, int], dialect="json-schema")


class _TwoDimensional:
    """An array of more than one dimension, as NumPy's: it has no truth."""

    def __iter__(self) -> Any:
        return iter([_TwoDimensional(), _TwoDimensional()])

    def __len__(self) -> int:
        return 2

    def _compared(self, _: object) -> Any:
        return _Untrue()

    __le__ = __ge__ = __lt__ = __gt__ = _compared
    __eq__: Any = _compared
    __hash__: Any = None


class _Untrue:
    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


ODD: dict[str, Any] = {
    "None": None,
    "a text": "x",
    "bytes": b"x",
    "a number": 5,
    "a fraction": 0.5,
    "not a number": math.nan,
    "infinity": math.inf,
    "minus one": -1,
    "huge": 10**30,
    "a truth": True,
    "a list": [],
    "a list of texts": ["x"],
    "a list of None": [None],
    "a list of lists": [[0.5], [0.5]],
    "a list of numbers": [5],
    "a list of pairs": [("/a", 0.5)],
    "a list of odd triples": [(5, 0.5, True)],
    "a pointer that is none": ["/a~x"],
    "a mapping": {"a": 5},
    "a mapping of numbers": {1: 0.5},
    "an array": _TwoDimensional(),
    "an object": object(),
    "a class": TemperatureScaling,
    "a policy": POLICY,
    "a policy's class": AbstentionPolicy,
    "a confidence": CHOICE,
    "a curve": CURVE,
}


def _call(function: Callable[..., Any], *given: Any, **named: Any) -> tuple[Any, ...]:
    return function, given, named


CALLS: dict[str, tuple[Any, ...]] = {
    "temperature": _call(TemperatureScaling, temperature=2.0, count=3),
    "temperature.fit": _call(TemperatureScaling.fit, SHARES, RIGHT),
    "temperature.apply": _call(COOL.apply, 0.5),
    "temperature.from_json": _call(TemperatureScaling.from_json, COOL.to_json()),
    "platt": _call(PlattScaling, slope=1.0, intercept=0.0, count=3),
    "platt.fit": _call(PlattScaling.fit, SHARES, RIGHT),
    "platt.apply": _call(PlattScaling(slope=1.0, intercept=0.0).apply, 0.5),
    "isotonic": _call(IsotonicCalibration, confidences=(0.5,), probabilities=(0.5,), count=1),
    "isotonic.fit": _call(IsotonicCalibration.fit, SHARES, RIGHT),
    "choices": _call(ChoiceScaling, temperature=2.0, count=3),
    "choices.fit": _call(ChoiceScaling.fit, [({'"a"': 0.5, '"b"': 0.5}, '"a"')]),
    "choices.apply": _call(ChoiceScaling(temperature=2.0).apply, CHOICE),
    "fields": _call(FieldCalibration, pooled=COOL, fields={"/a": COOL}),
    "fields.fit": _call(
        FieldCalibration.fit, TemperatureScaling, [("/a", 0.5, True), ("/a", 0.6, False)], least=1
    ),
    "fields.apply": _call(MAPS.apply, "/a", 0.5),
    "fields.apply_all": _call(MAPS.apply_all, {"/a": CHOICE}),
    "fields.from_json": _call(FieldCalibration.from_json, MAPS.to_json()),
    "field_of": _call(field_of, "/a/0"),
    "policy": _call(
        AbstentionPolicy, threshold=0.5, target_accuracy=0.8, confidence_level=0.9, fields=("/a",),
        count=1, tested=1, kept=1, right=1, reason="", digest="", seen="",
    ),
    "policy.fit": _call(
        AbstentionPolicy.fit, SHARES, RIGHT, target_accuracy=0.6, confidence_level=0.9,
        fields=["/a"], unlabelled=[0.5, 0.6],
    ),
    "policy.apply": _call(POLICY.apply, RESULT, calibration=COOL),
    "policy.evaluate": _call(POLICY.evaluate, SHARES, RIGHT),
    "policy.keeps": _call(POLICY.keeps, 0.5),
    "policy.from_json": _call(AbstentionPolicy.from_json, POLICY.to_json()),
    "least_confidence": _call(least_confidence, RESULT, fields=["/tone"], calibration=COOL),
    "calibration error": _call(
        expected_calibration_error, SHARES, RIGHT, bins=5, scheme="width", start=0.0
    ),
    "brier": _call(brier_score, SHARES, RIGHT),
    "log loss": _call(log_loss, SHARES, RIGHT),
    "auc": _call(auc, SHARES, RIGHT),
    "wilson": _call(wilson_interval, 1, 3, confidence_level=0.9),
    "curve": _call(accuracy_coverage_curve, SHARES, RIGHT),
    "at coverage": _call(accuracy_at_coverage, CURVE, 0.5),
    "reliability diagram": _call(
        plots.reliability_diagram, {"a": expected_calibration_error(SHARES, RIGHT)}
    ),
    "coverage diagram": _call(
        plots.accuracy_coverage_diagram, {"a": CURVE}, target_accuracy=0.8
    ),
    "agreement": _call(
        agreement, [{"a": 1}, {"a": 2}], ["/a"], given={"a": 1}, asked=2, shares=[0.5, 0.5]
    ),
    "shape": _call(
        shape_agreement, [{"a": 1}, {"a": 2}], {"a": 1}, asked=2, shares=[0.5, 0.5]
    ),
    "majority": _call(majority, [{"a": 1}, {"a": 2}], COMPILED),
}  # fmt: skip


def _places(call: tuple[Any, ...]) -> list[int | str]:
    _, given, named = call
    return [*range(len(given)), *named]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        (name, place)
        for name, call in CALLS.items()
        for place in _places(call)
        if (name, place) != ("majority", 1)  # a schema is compiled by us
    ],
)
def test_each_argument_is_taken_or_refused_by_name(name: str, place: int | str) -> None:
    function, given, named = CALLS[name]
    function(*given, **named)
    for what, odd in ODD.items():
        positional, by_name = list(given), dict(named)
        if isinstance(place, int):
            positional[place] = odd
        else:
            by_name[place] = odd
        try:
            function(*positional, **by_name)
        except UsageError as error:
            assert str(error), what
        except MissingDependencyError:
            pytest.skip("an extra is not installed")


@pytest.mark.parametrize("what", [key for key in ODD if key not in ("None", "a list of None")])
def test_a_cascade_refuses_what_is_no_map_before_any_model_is_asked(what: str) -> None:
    model = FakeProvider([])
    extractors = [Extractor(dict[str, int], model=model) for _ in range(2)]
    with pytest.raises(UsageError):
        Cascade(extractors, POLICY, calibration=ODD[what])
    for name in ("extractors", "policy", "on_error"):
        arguments: dict[str, Any] = {"extractors": extractors, "policy": POLICY, name: ODD[what]}
        if (name, what) != ("policy", "a policy"):
            with pytest.raises(UsageError):
                Cascade(**arguments)
    assert not model.requests


def test_a_place_that_no_answer_has_agrees_with_nothing() -> None:
    found = agreement([{"a": 1}, {"a": 1}], ["/zz"])["/zz"]
    assert (found.kind, found.probability) == ("unavailable", None)


def test_what_was_named_wrongly_is_said() -> None:
    wrong: Any = TemperatureScaling
    with pytest.raises(UsageError, match="expected a map such as"):
        POLICY.apply(RESULT, calibration=wrong)
    with pytest.raises(UsageError, match="at most 10000"):
        expected_calibration_error(SHARES, RIGHT, bins=10**9)
    with pytest.raises(UsageError, match="whole numbers"):
        wilson_interval(1.5, 3)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(UsageError, match="for a map"):
        FieldCalibration.fit(AbstentionPolicy, [("/a", 0.5, True)])  # type: ignore[arg-type]  # on purpose
