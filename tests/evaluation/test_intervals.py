from __future__ import annotations

import math
import random
import sys
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import MissingDependencyError, UsageError
from extractkit.evaluation import (
    difference_interval,
    mean_interval,
    quantile_difference,
    quantile_interval,
    rate_interval,
    ratio_interval,
)
from extractkit.evaluation._tails import at_least, exact_bounds, share_bounds, student_quantile


@pytest.mark.parametrize(
    ("successes", "count", "share"), [(3, 10, 0.2), (0, 5, 0.5), (5, 5, 0.3), (40, 100, 0.5)]
)
def test_the_tail_of_the_binomial_is_the_sum_of_its_terms(
    successes: int, count: int, share: float
) -> None:
    terms = sum(
        math.comb(count, k) * share**k * (1 - share) ** (count - k)
        for k in range(successes, count + 1)
    )
    assert at_least(successes, count, share) == pytest.approx(terms, rel=1e-10)
    assert at_least(count + 1, count, share) == 0.0
    assert at_least(successes, count, 0.0) == float(successes == 0)


@pytest.mark.parametrize(
    ("share", "freedom", "expected"),
    [
        (0.975, 99, 1.98421695),
        (0.975, 1, 12.7062047),
        (0.995, 3, 5.84090931),
        (0.9, 1000, 1.2823987),
    ],
)
def test_quantiles_of_students_distribution_are_those_of_the_tables(
    share: float, freedom: int, expected: float
) -> None:
    assert student_quantile(share, freedom) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 400), share=st.floats(0, 1), level=st.floats(0.5, 0.999))
def test_the_interval_of_a_share_holds_it_and_mirrors(
    count: int, share: float, level: float
) -> None:
    successes = round(share * count)
    low, high = share_bounds(float(successes), float(count), level)
    assert 0.0 <= low <= successes / count <= high <= 1.0
    other = share_bounds(float(count - successes), float(count), level)
    assert other == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_a_rate_of_nothing_or_all_is_not_certain() -> None:
    none = rate_interval([False] * 100)
    assert (none.estimate, none.low, none.method) == (0.0, 0.0, "mid-p")
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 100), rel=1e-9)  # about 3 in 100
    every = rate_interval([True] * 100)
    assert (every.estimate, every.high) == (1.0, 1.0)
    assert every.low == pytest.approx(0.05 ** (1 / 100), rel=1e-9)
    assert rate_interval([0.5] * 10).method == "exact"  # the same everywhere shows no spread


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 0.9])
def test_the_interval_of_a_rate_covers_as_often_as_it_says(share: float) -> None:
    """Exactly, over all counts of 100 inputs; the command for all others is the acceptance one."""
    covered = 0.0
    for successes in range(101):
        low, high = share_bounds(float(successes), 100.0, 0.95)
        if low <= share <= high:
            ways = math.comb(100, successes)
            covered += ways * share**successes * (1 - share) ** (100 - successes)
    assert 0.935 <= covered <= 0.965


def _covered(draw: Any, truth: float, sets: int = 300) -> float:
    generator = random.Random(7)
    found = [draw(generator) for _ in range(sets)]
    return sum(
        (each.low is None or each.low <= truth) and (each.high is None or truth <= each.high)
        for each in found
    ) / len(found)


def test_other_intervals_cover_about_as_often_as_they_say() -> None:
    """Coarsely, since 300 sets can tell 92 from 98 and no more."""

    def samples(draw: random.Random) -> Any:
        ease = [draw.betavariate(2, 2) for _ in range(60)]
        values = [sum(draw.random() < each for _ in range(4)) / 4 for each in ease]
        return rate_interval(values, resamples=300)

    def mean(draw: random.Random) -> Any:
        return mean_interval([draw.expovariate(1) for _ in range(60)], resamples=300)

    def median(draw: random.Random) -> Any:
        return quantile_interval([draw.expovariate(1) for _ in range(60)], 0.5)

    def difference(draw: random.Random) -> Any:
        pairs = [(draw.random() < 0.5, draw.random() < 0.6) for _ in range(60)]
        return difference_interval(*zip(*pairs, strict=True), resamples=300)

    def ratio(draw: random.Random) -> Any:
        tokens = [draw.gammavariate(3, 1) for _ in range(60)]
        return ratio_interval(tokens, [draw.random() < 0.5 for _ in tokens], resamples=300)

    for draw, truth in (
        (samples, 0.5),
        (mean, 1.0),
        (median, math.log(2)),
        (difference, 0.1),
        (ratio, 6.0),
    ):
        assert 0.91 <= _covered(draw, truth) <= 0.985, draw


def test_the_same_values_give_the_same_interval_and_another_seed_another() -> None:
    values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] * 10
    assert rate_interval(values) == rate_interval(values)
    assert rate_interval(values, seed=1) != rate_interval(values)


def test_samples_of_an_input_say_less_than_inputs() -> None:
    easy_or_hard = [1.0, 0.0] * 50  # five samples each, all alike
    mixed = [0.4, 0.6] * 50
    wide, narrow = rate_interval(easy_or_hard), rate_interval(mixed)
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)  # type: ignore[operator]  # both are bounded


def test_rare_shares_of_samples_count_as_so_many_inputs() -> None:
    rare = rate_interval([0.2] + [0.0] * 99)
    assert rare.method == "mid-p"
    assert rare.estimate == pytest.approx(0.002)
    assert rare.high is not None and 0.005 < rare.high < 0.03


def test_intervals_of_amounts_stay_above_0_and_hold_the_mean() -> None:
    found = mean_interval([0.0] * 9 + [10.0])
    assert found.low is not None and found.high is not None
    assert 0.0 <= found.low < 1.0 < found.high
    assert found.method == "bca"  # most draws of it show no spread at all
    skewed = mean_interval([2.0**power for power in range(12)])
    assert skewed.method == "bootstrap-t"
    assert skewed.low is not None and 0.0 <= skewed.low < 341.25
    below = mean_interval([-3.0, -1.0, 2.0, -2.0, -1.5, 0.0])
    assert below.low is not None and below.low < -1.0
    assert mean_interval([2.0, 2.0]) == mean_interval([2, 2])


def test_a_ratio_to_nothing_is_none_and_one_that_may_be_is_not_bounded() -> None:
    nothing = ratio_interval([5.0, 7.0], [0, 0])
    assert (nothing.estimate, nothing.low, nothing.high, nothing.count) == (None, None, None, 0)
    few = ratio_interval([5.0, 7.0, 6.0, 5.5, 6.5, 6.0], [0, 1, 0, 0, 0, 0])
    assert few.estimate == pytest.approx(36.0)
    assert few.low is not None and few.low < 36.0
    assert few.high is None
    assert ratio_interval([2.0, 4.0] * 30, [1.0, 2.0] * 30).method == "constant"


def test_a_precision_of_1_is_not_certain() -> None:
    found = ratio_interval([3, 4, 0], [3, 4, 0], is_rate=True)
    assert (found.estimate, found.high, found.count) == (1.0, 1.0, 2)
    assert found.low is not None and found.low < 0.5
    assert ratio_interval([0, 0], [1, 2], is_rate=True).low == 0.0
    with pytest.raises(UsageError, match="exceeds its denominator"):
        ratio_interval([2.0], [1.0], is_rate=True)


def test_a_precision_of_one_place_each_is_a_rate() -> None:
    values = [True, False, True, True, False] * 4
    whole = ratio_interval(values, [1] * 20, is_rate=True)
    rate = rate_interval(values)
    assert (whole.low, whole.high) == pytest.approx((rate.low, rate.high))
    part = ratio_interval([*values, 0, 0], [*[1] * 20, 0, 0], is_rate=True)
    assert (part.count, part.low) == (20, pytest.approx(rate.low))
    alike = ratio_interval([1, 2], [2, 4], is_rate=True)  # half of each: no spread is seen
    assert alike.method == "exact" and alike.low is not None and alike.low < 0.1
    rare = ratio_interval([1, 0, 0, 0], [3, 5, 4, 2], is_rate=True)
    assert rare.method == "exact" and rare.low is not None and rare.low > 0.0
    often = ratio_interval([4, 6, 5] * 20, [8, 9, 9] * 20, is_rate=True)
    assert often.method == "bca"


def test_a_quantile_lies_between_ranks_and_is_open_where_there_are_too_few() -> None:
    values = [float(value) for value in range(1, 101)]
    random.Random(1).shuffle(values)
    median = quantile_interval(values, 0.5)
    assert median.estimate == pytest.approx(50.5)
    assert (median.low, median.high) == (pytest.approx(40.7, abs=0.5), pytest.approx(60.3, abs=0.5))
    tail = quantile_interval(values, 0.95)
    assert tail.low is not None and tail.high is not None
    assert 90.0 < tail.low < 91.0 and 99.0 < tail.high < 100.0
    few = quantile_interval(values[:30], 0.95)
    assert few.high is None and few.low is not None
    only = quantile_interval([3.0], 0.5)
    assert (only.estimate, only.low, only.high) == (3.0, None, None)
    many = quantile_interval([float(value) for value in range(5000)], 0.5)
    assert many.low == pytest.approx(2430, abs=3) and many.high == pytest.approx(2569, abs=3)


def test_the_last_rank_is_taken_where_it_is_the_greatest_that_holds() -> None:
    found = quantile_interval([1.0, 2.0, 3.0], 0.999, level=0.5)
    assert (found.low, found.high) == (3.0, None)


def test_differences_are_paired() -> None:
    generator = random.Random(3)
    first = [generator.random() for _ in range(100)]
    second = [min(1.0, value + 0.01) for value in first]
    paired = difference_interval(first, second)
    assert paired.low is not None and paired.low > 0.0
    assert paired.estimate == pytest.approx(0.01, abs=1e-3)


def test_no_difference_is_not_certain() -> None:
    found = difference_interval([True, False] * 50, [True, False] * 50)
    assert found.estimate == 0.0
    assert found.high == pytest.approx(1 - 0.05 ** (1 / 100))
    assert found.low == -found.high  # type: ignore[operator]  # it is bounded
    worst = difference_interval([1.0] * 100, [0.0] * 100)
    assert worst.low == -1.0 and worst.high == pytest.approx(-1 + 2 * (1 - 0.05 ** (1 / 100)))


def test_differences_of_amounts_and_of_quantiles_are_found() -> None:
    generator = random.Random(5)
    first = [generator.lognormvariate(0, 0.5) for _ in range(100)]
    second = [value + 2.0 + generator.random() / 10 for value in first]
    for found in (
        difference_interval(first, second, is_rate=False),
        quantile_difference(first, second, 0.5),
        quantile_difference(first, second, 0.95),
    ):
        assert found.low is not None and found.high is not None
        assert 1.5 < found.low < 2.05 < found.high < 2.6


def test_one_input_alone_has_a_difference_of_rates() -> None:
    found = difference_interval([0.0], [1.0])
    assert (found.estimate, found.count) == (1.0, 1)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(st.integers(0, 4).map(lambda part: part / 4), min_size=2, max_size=60))
def test_an_interval_of_a_rate_holds_its_estimate(values: list[float]) -> None:
    found = rate_interval(values, resamples=200)
    assert found.estimate is not None and found.low is not None and found.high is not None
    assert 0.0 <= found.low <= found.estimate + 1e-9
    assert found.estimate - 1e-9 <= found.high <= 1.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rate_interval([]), "values is empty"),
        (
            lambda: rate_interval([0.5, 1.5]),
            r"values\[1\] is 1.5; expected a finite number from 0 to 1",
        ),
        (lambda: rate_interval([None]), r"values\[0\] is None"),  # type: ignore[list-item]
        (lambda: rate_interval([0.5], level=1.0), "level=1.0"),
        (lambda: rate_interval([0.5], resamples=5), "resamples"),
        (lambda: mean_interval([math.nan]), r"values\[0\] is nan"),
        (lambda: mean_interval([math.inf]), r"values\[0\] is inf"),
        (lambda: ratio_interval([-1.0], [1.0]), r"from 0 up, at most 1e\+100"),
        (
            lambda: ratio_interval([1e308] * 7, [1.0] * 7),
            r"numerators\[0\] is 1e\+308; expected a finite number from 0 up, at most 1e\+100",
        ),
        (lambda: ratio_interval([1.0], [1.0, 2.0]), "found 1 values and 2"),
        (lambda: quantile_interval([1.0], 0.0), "share=0.0"),
        (lambda: quantile_difference([1.0], [1.0], "p95"), "share='p95'"),  # type: ignore[arg-type]
        (lambda: difference_interval([1.0], []), "second is empty"),
    ],
)
def test_what_cannot_be_computed_is_said(call: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call()


def test_without_numpy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingDependencyError, match=r"\.\[evaluation\]"):
        mean_interval(range(6))
    assert rate_interval([True, False]).count == 2  # needs nothing


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, 20).map(lambda part: part / 20), min_size=1, max_size=59),
    samples=st.one_of(st.none(), st.integers(20, 1000)),
    unit=st.integers(1, 30),
)
def test_samples_of_few_inputs_say_no_more_than_as_many_inputs(
    values: list[float], samples: int | None, unit: int
) -> None:
    """The unit is the input, and rare ones that always fail are seldom among a few of them."""
    count = float(len(values))
    least = exact_bounds(sum(values) / len(values) * count, count, 0.95)
    places = [20.0 * unit] * len(values)
    for found in (
        rate_interval(values, samples=samples),
        ratio_interval(
            [value * 20 * unit for value in values], places, is_rate=True, samples=samples
        ),
    ):
        assert (found.low, found.high) == pytest.approx(least, abs=1e-9)


def test_shares_of_few_inputs_that_spread_less_have_no_wider_interval() -> None:
    same, apart = rate_interval([0.5] * 3), rate_interval([0.45, 0.5, 0.55])
    assert (same.low, same.high) == pytest.approx((apart.low, apart.high))


def test_lists_of_unequal_length_say_less_than_as_many_inputs() -> None:
    values, places = [5, 1, 0, 2], [40, 2, 1, 3]
    found = ratio_interval(values, places, is_rate=True)
    few = sum(places) ** 2 / sum(place**2 for place in places)
    share = sum(values) / sum(places)
    assert (found.low, found.high) == pytest.approx(exact_bounds(share * few, few, 0.95))


@pytest.mark.parametrize("count", [60, 99, 300])
def test_many_inputs_that_are_alike_leave_room_for_one_that_is_not(count: int) -> None:
    values = [0.94, 0.95, 0.96] * (count // 3)
    right, places = [50 * each for each in values], [50.0] * count
    lists = ratio_interval(right, places, is_rate=True, samples=1)
    found = rate_interval(values, samples=50)
    assert found.low is not None and found.high is not None
    assert (lists.low, lists.high) == pytest.approx((found.low, found.high))
    assert found.low < 0.95 * (1.0 - 1.0 / count)
    mirrored = rate_interval([1.0 - each for each in values], samples=50)
    assert mirrored.high == pytest.approx(1.0 - found.low, abs=1e-3)


def test_intervals_of_samples_are_never_as_narrow_as_if_all_were_inputs() -> None:
    alike = [0.4, 0.6] * 50
    held, open_ = rate_interval(alike, samples=1), rate_interval(alike)
    low, high = share_bounds(50.0, 100.0, 0.95)
    assert (held.low, held.high) == pytest.approx((low, high))
    assert open_.low > low  # type: ignore[operator]  # a number
    unequal = [0.0, 1.0, 0.5] * 20  # spread as wide as inputs of one answer each
    assert rate_interval(unequal, samples=2) == rate_interval(unequal)
    with pytest.raises(UsageError, match="samples"):
        rate_interval([0.5], samples=0)


# --- few inputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 6))
def test_five_inputs_or_fewer_bound_no_amount_and_show_no_gain(count: int) -> None:
    """As a sign test: five gains of five are chance once in 16 times."""
    low, high = [float(place) for place in range(count)], [place + 9.0 for place in range(count)]
    for found in (
        mean_interval(high),
        mean_interval([3.0] * count),
        ratio_interval(high, [2.0] * count),
        difference_interval(low, high, is_rate=False),
        difference_interval(low, [each**1.5 + 9 for each in low], is_rate=False),
        quantile_difference(low, high, 0.5),
    ):
        assert found.estimate is not None
        assert (found.low, found.high, found.method) == (None, None, "none")
    for gained in ([1.0] * count, [1.0, *[0.9] * (count - 1)]):
        rate = difference_interval([0.0] * count, gained)
        assert rate.low is not None and rate.low < 0.0 < rate.estimate  # type: ignore[operator]


@pytest.mark.parametrize(("level", "fewest"), [(0.95, 6), (0.8, 4), (0.99, 8)])
def test_the_fewest_inputs_that_bound_an_amount_are_those_of_a_sign_test(
    level: float, fewest: int
) -> None:
    values = [float(place**2) for place in range(fewest)]
    found = mean_interval(values, level=level)
    assert found.low is not None and found.high is not None
    assert mean_interval(values[:-1], level=level).method == "none"
    median = quantile_difference(values, [2 * each for each in values], 0.5, level=level)
    assert (median.low is None) == (quantile_interval(values, 0.5, level=level).low is None)


def test_a_difference_of_tails_is_bounded_where_both_tails_are() -> None:
    values = [float(place) for place in range(72)]
    assert quantile_interval(values, 0.95).high is not None
    assert quantile_difference(values, values[::-1], 0.95).high is not None
    assert quantile_interval(values[:71], 0.95).high is None
    assert quantile_difference(values[:71], values[70::-1], 0.95).method == "none"


def test_equal_amounts_say_something_of_others_from_59_inputs_on() -> None:
    for found in (
        mean_interval([0.1] * 58),
        difference_interval([0.1] * 58, [0.3] * 58, is_rate=False),
        difference_interval([0.1, 0.2] * 29, [0.3, 0.4] * 29, is_rate=False),  # but for rounding
    ):
        assert found.method == "none"
    assert mean_interval([0.1] * 59).method == "constant"
    found = difference_interval([3.0, 4.0] * 30, [5.0, 6.0] * 30, is_rate=False)
    assert (found.low, found.high, found.method) == (2.0, 2.0, "constant")


def test_draws_without_spread_give_no_end_that_is_no_number() -> None:
    found = mean_interval([0.0, 1.0, 2.0, 1.0, 1.0, 1.0])  # many draws are all 1, the mean
    assert found.low is not None and found.high is not None
    assert found.low < 1.0 < found.high


_ANY_NUMBER = st.one_of(
    st.floats(-3, 3),
    st.floats(0, 1e100),
    st.floats(),
    st.sampled_from([0, 1, 10**400, -(10**400), 5e-324, 1e-200, 1e99, True]),
)


@settings(max_examples=120, deadline=None)
@given(values=st.lists(_ANY_NUMBER, min_size=1, max_size=12))
def test_any_amounts_give_numbers_or_an_error_that_says_which(values: list[float]) -> None:
    calls: list[Any] = [
        lambda: mean_interval(values, resamples=200),
        lambda: difference_interval(values, values[::-1], is_rate=False, resamples=200),
        lambda: quantile_difference(values, values[::-1], 0.5, resamples=200),
        lambda: quantile_interval(values, 0.5),
        lambda: ratio_interval(list(map(abs, values)), list(map(abs, values))[::-1], resamples=200),
        lambda: ratio_interval([0.0] * len(values), values, is_rate=True, resamples=200),
        lambda: rate_interval(values, resamples=200),
    ]
    for call in calls:
        try:
            found = call()
        except UsageError as error:
            assert "expected" in str(error)
        else:
            ends = [each for each in (found.low, found.estimate, found.high) if each is not None]
            assert all(map(math.isfinite, ends))
            assert ends == pytest.approx(sorted(ends))


def test_intervals_of_few_inputs_hold_the_truth_as_often_as_they_say() -> None:
    """Coarsely; `python -m tests.acceptance.coverage_of_intervals --few` has more of them."""

    def gain(draw: random.Random, count: int) -> Any:
        first, second = ([draw.lognormvariate(0, 1) for _ in range(count)] for _ in range(2))
        return difference_interval(first, second, is_rate=False, resamples=300)

    def rates(draw: random.Random, count: int) -> Any:
        pairs = [(draw.random() < 0.3, draw.random() < 0.3) for _ in range(count)]
        return difference_interval(*zip(*pairs, strict=True), resamples=300)

    def medians(draw: random.Random, count: int) -> Any:
        first, second = ([draw.expovariate(1) for _ in range(count)] for _ in range(2))
        return quantile_difference(first, second, 0.5, resamples=300)

    def samples(draw: random.Random, count: int) -> Any:
        ease = [draw.betavariate(2, 2) for _ in range(count)]
        values = [sum(draw.random() < each for _ in range(20)) / 20 for each in ease]
        return rate_interval(values, samples=20)

    def rare(draw: random.Random, count: int) -> Any:
        ease = [0.0 if draw.random() < 0.1 else draw.uniform(0.9, 0.98) for _ in range(count)]
        values = [sum(draw.random() < each for _ in range(20)) / 20 for each in ease]
        return rate_interval(values, samples=20)

    made = ((gain, 0.0), (rates, 0.0), (medians, 0.0), (samples, 0.5), (rare, 0.846))
    for make, truth in made:
        for count in (3, 6, 10):
            assert _covered(partial(make, count=count), truth, sets=150) >= 0.91, (make, count)
