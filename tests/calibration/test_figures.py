"""Figures against values that were computed by hand, or that scikit-learn gives."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from extractkit.calibration import (
    accuracy_at_coverage,
    accuracy_coverage_curve,
    auc,
    brier_score,
    expected_calibration_error,
    log_loss,
    wilson_interval,
)
from extractkit.errors import UsageError

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def apart(pairs: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [value for value, _ in pairs], [outcome for _, outcome in pairs]


def test_the_error_of_calibration_is_that_of_its_bins() -> None:
    table = expected_calibration_error(
        [0.55, 0.52, 0.95, 0.97, 1.0], [True, False, True, True, False], bins=5, start=0.5
    )
    assert [(found.low, found.count) for found in table.bins] == [(0.5, 2), (0.9, 3)]
    first, last = table.bins
    assert (first.accuracy, first.confidence) == (0.5, pytest.approx(0.535))
    assert last.accuracy == pytest.approx(2 / 3)
    expected = (2 * 0.035 + 3 * abs(2 / 3 - 2.92 / 3)) / 5
    assert table.error == pytest.approx(expected)
    assert (table.scheme, table.count) == ("width", 5)


def test_a_bin_of_equal_width_holds_its_lower_end_and_the_last_one_both() -> None:
    """0.3 is the lower end of the fourth of ten bins, though 3 * 0.1 is above it."""
    confidences = [place / 10 for place in range(11)]
    table = expected_calibration_error(confidences, [True] * 11)
    assert [found.count for found in table.bins] == [1] * 9 + [2]
    assert [found.low for found in table.bins] == confidences[:10]
    assert table.bins[-1].confidence == pytest.approx(0.95)


def test_bins_that_hold_nothing_are_left_out_and_count_nothing() -> None:
    for scheme in ("width", "mass"):
        table = expected_calibration_error([0.0, 0.0, 1.0], [False, False, True], scheme=scheme)  # type: ignore[arg-type]  # one of the two words
        assert [found.count for found in table.bins] == [2, 1]
        assert table.error == 0.0


@given(PAIRS, st.integers(1, 12))
def test_the_error_is_the_sum_over_bins_by_hand(pairs: list[tuple[float, bool]], bins: int) -> None:
    confidences, correct = apart(pairs)
    held: dict[int, list[tuple[float, bool]]] = {}
    edges = [place / bins for place in range(bins)]
    for value, right in pairs:
        held.setdefault(sum(value >= edge for edge in edges), []).append((value, right))
    error = sum(
        abs(sum(value for value, _ in part) - sum(right for _, right in part))
        for part in held.values()
    ) / len(pairs)
    assert expected_calibration_error(confidences, correct, bins=bins).error == pytest.approx(error)


def test_bins_of_equal_mass_keep_equal_confidences_together() -> None:
    confidences = [0.1, 0.2, 0.2, 0.2, 0.2, 0.9]
    table = expected_calibration_error(confidences, [True] * 6, bins=3, scheme="mass")
    assert [(found.low, found.high, found.count) for found in table.bins] == [
        (0.1, 0.2, 5), (0.9, 0.9, 1)
    ]  # fmt: skip


@given(PAIRS, st.integers(1, 12), st.sampled_from(["width", "mass"]))
def test_every_answer_is_in_one_bin_whatever_the_order(
    pairs: list[tuple[float, bool]], bins: int, scheme: str
) -> None:
    confidences, correct = apart(pairs)
    table = expected_calibration_error(confidences, correct, bins=bins, scheme=scheme)  # type: ignore[arg-type]  # one of the two words
    assert sum(found.count for found in table.bins) == len(pairs)
    assert 0 <= table.error <= 1
    assert len(table.bins) <= bins
    mixed = apart(pairs[::-1])
    assert expected_calibration_error(*mixed, bins=bins, scheme=scheme) == table  # type: ignore[arg-type]  # as above


def test_a_known_study_comes_out_as_it_was_printed() -> None:
    """17 of 25 and 5 of 15: the Wilson intervals of a published table."""
    assert wilson_interval(17, 25) == pytest.approx((0.48, 0.83), abs=0.005)
    assert wilson_interval(5, 15) == pytest.approx((0.15, 0.58), abs=0.005)
    assert wilson_interval(0, 9)[0] == 0.0
    assert wilson_interval(9, 9)[1] == 1.0


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_are_those_of_a_textbook(
    successes: int, count: int, low: float, high: float
) -> None:
    """The examples of Newcombe, Statistics in Medicine 17 (1998), table I."""
    assert wilson_interval(successes, count) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)  # scikit-learn is slow at first
@given(PAIRS)
def test_the_figures_agree_with_those_of_scikit_learn(pairs: list[tuple[float, bool]]) -> None:
    confidences, correct = apart(pairs)
    assert brier_score(confidences, correct) == pytest.approx(
        metrics.brier_score_loss(correct, confidences, pos_label=True)
    )
    masses = [min(max(value, 1e-9), 1 - 1e-9) for value in confidences]
    assert log_loss(masses, correct) == pytest.approx(
        metrics.log_loss(correct, masses, labels=[False, True]), rel=1e-6
    )
    if len(set(correct)) == 2:
        assert auc(confidences, correct) == pytest.approx(
            metrics.roc_auc_score(correct, confidences)
        )


def test_the_log_loss_is_finite_where_a_certainty_was_wrong() -> None:
    assert log_loss([0.5, 0.5], [True, False]) == pytest.approx(math.log(2))
    assert log_loss([1.0], [False]) == pytest.approx(15 * math.log(10), rel=1e-3)


@given(PAIRS)
def test_the_curve_ends_at_everything(pairs: list[tuple[float, bool]]) -> None:
    confidences, correct = apart(pairs)
    curve = accuracy_coverage_curve(confidences, correct)
    assert curve[-1].coverage == 1.0
    assert curve[-1].accuracy == pytest.approx(sum(correct) / len(correct))
    thresholds = [point.threshold for point in curve]
    assert thresholds == sorted(set(confidences), reverse=True)
    for point in curve:
        kept = [right for value, right in pairs if value >= point.threshold]
        assert point.kept == len(kept)
        assert point.accuracy == pytest.approx(sum(kept) / len(kept))


def test_a_coverage_is_the_least_that_reaches_it() -> None:
    curve = accuracy_coverage_curve([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    assert accuracy_at_coverage(curve, 0.25).kept == 1
    assert accuracy_at_coverage(curve, 0.5).kept == 3
    assert accuracy_at_coverage(curve, 1.0).kept == 4
    with pytest.raises(UsageError, match="coverage=0"):
        accuracy_at_coverage(curve, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: brier_score([], []), "at least 1"),
        (lambda: brier_score([0.5], []), "1 confidences and 0 outcomes"),
        (lambda: brier_score([-0.69], [True]), r"confidences\[0\] is -0.69"),
        (lambda: brier_score([float("nan")], [True]), "is nan"),
        (lambda: auc([0.5], [True]), "1 right and 0 wrong"),
        (lambda: wilson_interval(2, 1), "found 2 of 1"),
        (lambda: wilson_interval(1, 2, confidence_level=1.0), "confidence_level"),
        (lambda: expected_calibration_error([0.5], [True], bins=0), "bins=0"),
        (lambda: expected_calibration_error([0.5], [True], bins=2.5), "bins=2.5"),  # type: ignore[arg-type]  # so
        (lambda: expected_calibration_error([0.5], [True], start=1.0), "start=1.0"),
        (lambda: expected_calibration_error([0.5], [True], scheme="mas"), "scheme='mas'"),  # type: ignore[arg-type]  # so
        (lambda: expected_calibration_error([0.4], [True], start=0.5), "below start"),
    ],
)
def test_what_cannot_be_computed_says_why(call: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()  # type: ignore[operator]  # each of them is a function
