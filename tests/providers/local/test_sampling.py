import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.messages import Sampling
from extractkit.providers.local._sampling import Sampler, probabilities

SCORES = st.lists(st.floats(-60, 60, allow_nan=False, width=32), min_size=1, max_size=40).map(
    lambda values: np.array(values, dtype=np.float32)
)
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.floats(1e-3, 5),
    top_k=st.none() | st.integers(1, 50),
    top_p=st.none() | st.floats(0.01, 1.0),
    min_p=st.none() | st.floats(0.0, 1.0),
)


def plain(scores, temperature=1.0):
    exact = scores.astype(np.float64) / temperature
    mass = np.exp(exact - exact.max())
    return mass / mass.sum()


@given(SCORES, SAMPLINGS)
def test_what_is_kept_is_never_empty_and_sums_to_one(scores, sampling):
    mass = probabilities(scores, sampling)
    assert mass.sum() == pytest.approx(1.0)
    assert mass[int(scores.argmax())] == mass.max() > 0


@given(SCORES, st.floats(1e-3, 5))
def test_limits_that_exclude_nothing_change_nothing(scores, temperature):
    bare = probabilities(scores, Sampling(temperature=temperature))
    idle = Sampling(temperature=temperature, top_k=scores.size, top_p=1.0, min_p=0.0)
    assert np.array_equal(bare, probabilities(scores, idle))
    assert bare == pytest.approx(plain(scores, temperature), abs=1e-12)


@given(SCORES, SAMPLINGS, st.randoms(use_true_random=False))
def test_renumbering_the_tokens_renumbers_the_probabilities(scores, sampling, random):
    order = list(range(scores.size))
    random.shuffle(order)
    renumbered = probabilities(scores[order], sampling)
    assert renumbered == pytest.approx(probabilities(scores, sampling)[order], abs=1e-12)


@given(SCORES, st.integers(1, 40))
def test_top_k_keeps_k_tokens_and_those_tied_with_the_last(scores, k):
    mass = probabilities(scores, Sampling(temperature=1.0, top_k=k))
    ranked = np.sort(plain(scores))[::-1]
    last = ranked[min(k, scores.size) - 1]
    assert np.count_nonzero(mass) <= np.count_nonzero(plain(scores) >= last * (1 - 1e-9))
    assert np.count_nonzero(mass) >= min(k, np.count_nonzero(ranked))


@given(SCORES, st.floats(0.01, 0.999))
def test_top_p_keeps_the_least_set_that_holds_the_mass(scores, top_p):
    whole = plain(scores)
    kept = probabilities(scores, Sampling(temperature=1.0, top_p=top_p)) > 0
    assert whole[kept].sum() >= top_p - 1e-9
    assert whole[kept].min() >= whole[~kept].max(initial=0.0)
    tied = whole == whole[kept].min()
    assert whole[kept & ~tied].sum() < top_p + 1e-9


def test_top_p_is_taken_of_what_top_k_left():
    scores = np.log(np.array([0.4, 0.3, 0.2, 0.1], dtype=np.float32))
    # 0.4 of the 0.7 that top_k leaves is 57 %: enough for 0.55, not enough of the whole.
    both = probabilities(scores, Sampling(temperature=1.0, top_k=2, top_p=0.55))
    alone = probabilities(scores, Sampling(temperature=1.0, top_p=0.55))
    assert np.count_nonzero(both) == 1
    assert np.count_nonzero(alone) == 2


def test_temperature_is_applied_before_top_p():
    scores = np.log(np.array([0.6, 0.3, 0.1], dtype=np.float32))
    hot = probabilities(scores, Sampling(temperature=3.0, top_p=0.5))
    cold = probabilities(scores, Sampling(temperature=1.0, top_p=0.5))
    assert np.count_nonzero(hot) == 2
    assert np.count_nonzero(cold) == 1


def test_min_p_is_a_share_of_the_best_token():
    scores = np.log(np.array([0.5, 0.26, 0.24], dtype=np.float32))
    mass = probabilities(scores, Sampling(temperature=1.0, min_p=0.5))
    assert mass == pytest.approx([0.5 / 0.76, 0.26 / 0.76, 0.0], abs=1e-6)


def test_tied_tokens_stay_together():
    scores = np.zeros(4, dtype=np.float32)
    for sampling in (
        Sampling(temperature=1.0, top_k=1),
        Sampling(temperature=1.0, top_p=0.3),
        Sampling(temperature=1.0, min_p=1.0),
    ):
        assert probabilities(scores, sampling) == pytest.approx([0.25] * 4)


def test_a_tiny_temperature_is_greedy_without_a_warning():
    scores = np.array([1.0, 3.0, 2.0], dtype=np.float32)
    assert probabilities(scores, Sampling(temperature=1e-300)).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("temperature", [None, 0.0])
def test_without_a_temperature_the_best_token_is_taken(temperature):
    sampler = Sampler(Sampling(temperature=temperature, seed=5))
    assert sampler.choose(np.array([1.0, 4.0, 4.0, 2.0], dtype=np.float32)) == 1
    assert sampler.seed is None
    assert sampler.summary == "greedy"


def test_limits_without_a_temperature_are_said_to_be_idle():
    summary = Sampler(Sampling(top_p=0.5, min_p=0.1)).summary
    assert summary == "greedy (top_p, min_p without effect: set a temperature above 0)"


def test_equal_seeds_draw_equal_tokens_and_other_seeds_others():
    scores = np.zeros(1000, dtype=np.float32)

    def draws(seed):
        sampler = Sampler(Sampling(temperature=1.0, seed=seed))
        return [sampler.choose(scores) for _ in range(20)]

    assert draws(7) == draws(7)
    assert draws(7) != draws(8)


def test_a_missing_seed_is_drawn_and_can_be_used_again():
    scores = np.zeros(1000, dtype=np.float32)
    first = Sampler(Sampling(temperature=0.8, top_k=500))
    assert first.seed is not None
    again = Sampler(Sampling(temperature=0.8, top_k=500, seed=first.seed))
    assert [first.choose(scores) for _ in range(9)] == [again.choose(scores) for _ in range(9)]
    assert first.summary == "temperature=0.8, top_k=500"
    assert Sampler(Sampling(temperature=0.8)).seed != first.seed


def test_draws_follow_the_probabilities():
    scores = np.log(np.array([0.5, 0.3, 0.15, 0.05], dtype=np.float32))
    sampler = Sampler(Sampling(temperature=1.0, seed=1, min_p=0.2))
    count = 20_000
    drawn = np.bincount([sampler.choose(scores) for _ in range(count)], minlength=4) / count
    expected = probabilities(scores, Sampling(temperature=1.0, min_p=0.2))
    assert drawn[3] == 0
    # Five standard deviations of a binomial share.
    assert np.all(np.abs(drawn - expected) <= 5 * np.sqrt(0.25 / count))
