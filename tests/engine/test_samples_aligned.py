"""Weights of drawn answers against exact enumeration: they bring back the model's distribution."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from extractkit import (
    Decoding,
    ExtractionResult,
    Extractor,
    Finding,
    Grounding,
    Retry,
    Sampling,
    Status,
    extract,
)
from extractkit.checks import CheckContext
from extractkit.engine.weighing import drawn_from, effective_size, log_weight, shares_of
from extractkit.errors import ServerError, UnsupportedError, UsageError
from extractkit.messages import (
    Capabilities,
    ModelRequest,
    ModelResponse,
    StopReason,
    TokenLogprob,
    Usage,
)
from extractkit.observe import RequestSent, ResponseReceived, capture_events
from extractkit.testing import FakeProvider, Reply

from .chains import ARTICLE, END, QUOTE, Chain, chained

TEXT = "Which one?"
ALIGNED = Decoding(aligned=True)
MASK = Capabilities(
    enforcement="mask", dialect="llguidance", is_greedy=True, logprobs=True, scoring=True,
    source="a test",
)  # fmt: skip
OWN: Final[Mapping[str, float]] = {"ax": 0.006 / 0.406, "bx": 0.2 / 0.406, "by": 0.2 / 0.406}


def told(result: ExtractionResult[Any], code: str) -> list[str]:
    return [finding.message for finding in result.findings if finding.code == code]


# --- the article's example ------------------------------------------------------------------------


def test_weights_bring_back_what_the_mask_had_changed() -> None:
    target = Literal["ax", "bx", "by"]
    with chained(ARTICLE) as model:
        plain = extract(target, TEXT, model=model, samples=200).confidence[""].alternatives
        result = extract(target, TEXT, model=model, samples=200, decoding=ALIGNED)
    assert plain['"ax"'] == pytest.approx(0.6, abs=0.1)
    shares = result.confidence[""].alternatives
    assert shares['"ax"'] == pytest.approx(OWN["ax"], abs=0.005)
    for word, exact in OWN.items():
        assert shares[f'"{word}"'] == pytest.approx(exact, abs=0.1)
    assert result.unwrap() in ("bx", "by")
    assert result.confidence[""].probability == shares[f'"{result.value}"']
    assert "by their weights" in result.confidence[""].reason
    details = result.provenance.details
    assert sum(details["shares"]) == pytest.approx(1)
    assert details["effective_samples"] == pytest.approx(200 * 0.4, rel=0.3)
    (note,) = told(result, "aligned")
    assert f"{details['effective_samples']:.2f}" in note
    assert ExtractionResult.from_json(target, result.to_json()) == result


def test_an_answer_has_the_models_probability_over_that_of_the_mask_as_its_weight() -> None:
    with chained(ARTICLE) as model:
        result = extract(Literal["ax", "bx", "by"], TEXT, model=model, samples=12, decoding=ALIGNED)
    light, heavy = 0.01, 1.0
    weights = [light if "a" in attempt.text else heavy for attempt in result.attempts]
    expected = [weight / sum(weights) for weight in weights]
    assert result.provenance.details["shares"] == pytest.approx(expected, rel=1e-4)


def test_the_answer_that_is_given_out_follows_the_weights() -> None:
    given: Counter[str] = Counter()
    with chained(ARTICLE) as model:
        for each in range(24):
            sampling = Sampling(seed=each * 8)
            result = extract(
                Literal["ax", "bx", "by"], TEXT, model=model, samples=8, sampling=sampling,
                decoding=ALIGNED,
            )  # fmt: skip
            given[str(result.value)] += 1
    assert given["ax"] <= 4
    assert min(given["bx"], given["by"]) >= 6


# --- against enumeration --------------------------------------------------------------------------

words = st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=5, unique=True)
masses = st.lists(st.integers(1, 9), min_size=5, max_size=5)


def chain_of(chosen: list[str], draw: Any, opening: str, closing: str) -> Chain:
    """A model of its own mind: it gives mass to what is legal, to what is not, and to the end."""
    chain: dict[str, dict[str, float]] = {}
    for word in chosen:
        whole = f"{opening}{word}{closing}"
        for cut in range(len(whole) + 1):
            pieces = ("a", "b", "c", QUOTE, END)
            mass = draw(masses)
            chain.setdefault(
                whole[:cut],
                {piece: part / sum(mass) for piece, part in zip(pieces, mass, strict=True)},
            )
    return chain


def own_probability(chain: Chain, text: str) -> float:
    pieces = [*text, END]
    return math.prod(chain["".join(pieces[:place])][piece] for place, piece in enumerate(pieces))


def masked_probability(chain: Chain, text: str, legal: list[str]) -> float:
    found = 1.0
    for place, piece in enumerate([*text, END]):
        said = text[:place]
        able = {other[place : place + 1] or END for other in legal if other.startswith(said)}
        found *= chain[said][piece] / sum(chain[said][each] for each in able)
    return found


@given(words, st.data())
@settings(deadline=None, max_examples=30)
def test_every_weight_is_the_quotient_of_both_probabilities(
    chosen: list[str], data: st.DataObject
) -> None:
    """Exactly, for random grammars and models; the weighted shares follow from that."""
    chain = chain_of(chosen, data.draw, QUOTE, QUOTE)
    legal = [f"{QUOTE}{word}{QUOTE}" for word in chosen]
    with chained(chain) as model:
        result = extract(
            Literal[tuple(chosen)], TEXT, model=model, samples=6, decoding=ALIGNED,
            sampling=Sampling(seed=data.draw(st.integers(0, 1000))),
        )  # fmt: skip
    weights = [
        own_probability(chain, attempt.text) / masked_probability(chain, attempt.text, legal)
        for attempt in result.attempts
    ]
    expected = [weight / sum(weights) for weight in weights]
    assert result.provenance.details["shares"] == pytest.approx(expected, rel=1e-3)


def test_where_an_answer_may_go_on_its_end_is_weighed_too() -> None:
    chain = {
        "": {"1": 0.5, "2": 0.5},
        "1": {"1": 0.3, END: 0.2, "x": 0.5},
        "2": {END: 0.1, "z": 0.9},
        "11": {END: 0.7, "q": 0.3},
    }
    quotients = {
        "1": 0.5 * 0.2 / (0.5 * 0.2 / 0.5),
        "2": 0.5 * 0.1 / 0.5,
        "11": 0.5 * 0.3 * 0.7 / (0.5 * 0.3 / 0.5),
    }
    with chained(chain) as model:
        result = extract(Literal[1, 2, 11], TEXT, model=model, samples=40, decoding=ALIGNED)
    texts = [attempt.text for attempt in result.attempts]
    assert set(texts) == {"1", "2", "11"}
    total = sum(quotients[text] for text in texts)
    assert result.provenance.details["shares"] == pytest.approx(
        [quotients[text] / total for text in texts], rel=1e-4
    )


# --- what the engine makes of weights -------------------------------------------------------------


def drawn(text: str, raw: float | None, masked: float, **changes: Any) -> ModelResponse:
    """An answer of one chosen token, between two that are forced."""
    tokens = (
        TokenLogprob(token=QUOTE.encode(), logprob=0.0, forced=True),
        TokenLogprob(token=text.encode(), logprob=math.log(masked),
                     raw_logprob=None if raw is None else math.log(raw)),
        TokenLogprob(token=QUOTE.encode(), logprob=0.0, forced=True),
    )  # fmt: skip
    usage = Usage(input_tokens=10, output_tokens=3)
    return ModelResponse(
        text=f'"{text}"', stop=StopReason.STOP, tokens=tokens, usage=usage, **changes
    )


def scored(*own: float) -> ModelResponse:
    return ModelResponse(
        text="", stop=StopReason.STOP, scores=(own,) if own else (), usage=Usage(input_tokens=20)
    )


HALF = scored(math.log(0.5), -9.0, math.log(0.5), 0.0)
FULL = scored(0.0, -9.0, 0.0, 0.0)


def aligned(replies: list[Reply], target: Any = Literal["a", "b"], **options: Any) -> Any:
    provider = FakeProvider(replies, capabilities=MASK)
    samples = options.pop("samples", 2)
    with Extractor(
        target, model=provider, samples=samples, decoding=options.pop("decoding", ALIGNED),
        grounding=Grounding(locate=False), **options,
    ) as extractor:  # fmt: skip
        return extractor.extract(TEXT), provider


def test_forced_tokens_are_asked_for_and_chosen_ones_are_known() -> None:
    result, provider = aligned([drawn("a", 0.2, 0.8), HALF, drawn("b", 0.1, 0.2), FULL])
    # 0.5 * 0.2 / 0.8 * 0.5 and 0.1 / 0.2
    assert result.provenance.details["shares"] == pytest.approx([1 / 9, 8 / 9])
    assert result.confidence[""].alternatives == {
        '"a"': pytest.approx(1 / 9), '"b"': pytest.approx(8 / 9)
    }  # fmt: skip
    scoring = provider.requests[1].scoring
    assert scoring is not None
    assert (scoring.whole, scoring.places) == (True, ())
    assert scoring.tokens == (b'"', b"a", b'"')
    assert result.usage == Usage(input_tokens=60, output_tokens=6)
    assert len(result.attempts) == 2


def test_weights_need_no_alternatives_and_no_confidence() -> None:
    decoding = Decoding(aligned=True, confidence=False)
    replies: list[Reply] = [drawn("a", 0.2, 0.8), HALF, drawn("b", 0.1, 0.2), FULL]
    result, provider = aligned(replies, decoding=decoding)
    assert [request.top_logprobs for request in provider.requests] == [0, 0, 0, 0]
    assert result.confidence[""].kind == "agreement"
    assert "switched off" in result.token_confidence[""].reason


def test_of_answers_that_are_not_good_enough_none_is_drawn_while_one_is() -> None:
    def check(context: CheckContext) -> list[Finding]:
        is_odd = context.value == "a"
        return [Finding(level=3, path="", message="odd")] if is_odd else []  # type: ignore[arg-type]  # a number will do

    replies: list[Reply] = [drawn("a", 0.8, 0.8), FULL, drawn("b", 0.0001, 0.2), HALF]
    result, _ = aligned(replies, checks=(check,))
    assert result.value == "b"
    assert result.confidence[""].probability == pytest.approx(0.000125, rel=0.01)
    result, _ = aligned(
        [drawn("a", 0.8, 0.8), FULL, drawn("a", 0.1, 0.2), FULL], checks=(check,),
        retry=Retry(answers=0),
    )  # fmt: skip
    assert result.status is Status.INVALID
    assert result.confidence[""].probability == 1.0


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (scored(), "do not spell it"),
        (scored(0.0, 0.0), "do not spell it"),
        (ServerError("down"), "down"),
    ],
)
def test_an_answer_that_cannot_be_weighed_counts_nothing_and_is_told(
    reply: Reply, why: str
) -> None:
    replies: list[Reply] = [drawn("a", 0.2, 0.8), reply, drawn("b", 0.1, 0.2), FULL]
    result, _ = aligned(replies, retry=Retry(transport=0))
    assert result.value == "b"
    assert result.provenance.details["shares"] == [0.0, 1.0]
    (note,) = told(result, "not_scored")
    assert "answer 1 could not be weighed" in note
    assert why in note


def test_where_nothing_can_be_weighed_the_first_good_answer_is_given_out() -> None:
    replies: list[Reply] = [drawn("b", 0.2, 0.8), scored(), drawn("a", 0.1, 0.2), scored()]
    result, _ = aligned(replies)
    assert result.value == "b"
    assert result.confidence[""].probability == 0.5
    assert "by their weights" not in result.confidence[""].reason
    assert "shares" not in result.provenance.details
    assert any("no answer could be weighed" in message for message in told(result, "aligned"))


def test_an_answer_that_was_cut_off_has_no_weight_and_is_not_read_again() -> None:
    cut = ModelResponse(text='"a', stop=StopReason.LENGTH)
    result, provider = aligned([cut, drawn("b", 0.1, 0.2), FULL])
    assert len(provider.requests) == 3
    assert result.provenance.details["shares"] == [0.0, 1.0]
    assert result.confidence[""].probability == 1.0
    assert result.confidence[""].reason == (
        "1 of 2 answers agree, by their weights; 1 gave no such document"
    )


@pytest.mark.weights
def test_the_embedded_model_scores_what_it_drew_as_it_did_while_drawing(weights_path: Any) -> None:
    """The second pass has other pieces, and so other rounding; its numbers are the same else."""
    assert weights_path
    seen = capture_events(text=True)
    with Extractor(
        Literal["positive", "negative", "not clear"], model=f"local:{weights_path}", samples=3,
        decoding=ALIGNED, observers=(seen,),
    ) as extractor:  # fmt: skip
        result = extractor.extract("The kettle broke on the second day.")
    apart: list[float] = []
    responses = [event.response for event in seen.events if isinstance(event, ResponseReceived)]
    for answer, scores in zip(responses[::2], responses[1::2], strict=True):
        assert answer is not None
        assert scores is not None
        assert len(scores.scores[0]) == len(answer.tokens) + 1
        for token, score in zip(answer.tokens, scores.scores[0], strict=False):
            assert score <= 1e-6
            if token.raw_logprob is not None:
                apart.append(abs(score - token.raw_logprob))
    assert statistics.median(apart) < 0.01
    assert max(apart) < 0.3
    assert sum(result.provenance.details["shares"]) == pytest.approx(1)


def test_a_model_that_is_closed_while_answers_are_drawn_leaves_what_came() -> None:
    with chained(ARTICLE) as model:
        sent: list[object] = []

        def watch(event: object) -> None:
            sent.extend([event] if isinstance(event, RequestSent) else [])
            if len(sent) == 5:
                model.close()

        with Extractor(
            Literal["ax", "bx", "by"], model=model, samples=9, decoding=ALIGNED, observers=(watch,)
        ) as extractor:
            result = extractor.extract(TEXT)
    assert result.status is Status.OK
    assert len(result.attempts) == 2
    (missing,) = told(result, "samples_missing")
    assert "this provider (local:SmolLM2-135M-Instruct) is closed" in missing
    assert "6 were not asked for" in missing


def test_a_text_that_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    with chained(ARTICLE) as model, pytest.raises(UsageError, match="context"):
        extract(Literal["ax", "bx", "by"], "word " * 3000, model=model, samples=3)


# --- what it does not go with ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=0.7), Sampling(top_p=0.9), Sampling(top_k=40), Sampling(min_p=0.1),
    ],
)  # fmt: skip
def test_other_ways_to_choose_tokens_are_refused(sampling: Sampling) -> None:
    with pytest.raises(UsageError, match="temperature 1 from all legal tokens"):
        aligned([], sampling=sampling)


def test_what_changes_nothing_may_be_said() -> None:
    replies: list[Reply] = [drawn("a", 0.2, 0.8), HALF, drawn("b", 0.1, 0.2), FULL]
    sampling = Sampling(temperature=1, top_p=1, min_p=0)
    assert aligned(replies, sampling=sampling)[0].status is Status.OK


def test_a_majority_of_weighed_answers_is_refused() -> None:
    with pytest.raises(UsageError, match="leave one of the two out"):
        aligned([], decoding=Decoding(aligned=True, combine="majority"))


@pytest.mark.parametrize(
    ("capabilities", "options"),
    [
        (Capabilities(), {}),
        (Capabilities(enforcement="native", dialect="openai-strict", logprobs=True), {}),
        (Capabilities(enforcement="mask", dialect="llguidance", logprobs=True), {}),
        (MASK, {"strategy": "prompt"}),
    ],
)
def test_only_a_local_model_under_its_mask_can_be_aligned(
    capabilities: Capabilities, options: dict[str, Any]
) -> None:
    provider = FakeProvider([], capabilities=capabilities)
    with pytest.raises(UnsupportedError, match="aligned=True"):
        extract(str, TEXT, model=provider, samples=2, decoding=ALIGNED, **options)
    assert provider.requests == []


# --- laws of the arithmetic -----------------------------------------------------------------------

logs = st.lists(st.none() | st.floats(-5000, 5000), min_size=1, max_size=20)


@given(logs, st.floats(-1000, 1000))
def test_shares_sum_to_one_and_do_not_depend_on_a_common_factor(
    values: list[float | None], factor: float
) -> None:
    shares = shares_of(values)
    if all(value is None for value in values):
        assert shares == ()
        return
    assert sum(shares) == pytest.approx(1)
    assert all(share == 0 for share, value in zip(shares, values, strict=True) if value is None)
    moved = shares_of([None if value is None else value + factor for value in values])
    assert moved == pytest.approx(shares, abs=1e-9)
    assert 1 - 1e-9 <= effective_size(shares) <= len(values) + 1e-9


def test_what_the_model_gives_no_probability_at_all_has_no_share() -> None:
    assert shares_of([-math.inf, 0.0]) == (0.0, 1.0)
    assert shares_of([-math.inf, None]) == ()
    response = drawn("a", 0.5, 0.5)
    assert log_weight(response, (0.0, 0.0, -math.inf, 0.0)) == -math.inf
    assert log_weight(response, (0.0, 0.0, math.nan, 0.0)) is None
    assert log_weight(ModelResponse(text="", stop=StopReason.STOP), (0.0,)) is None


def test_a_chosen_token_without_the_models_own_number_takes_it_from_the_other_pass() -> None:
    found = log_weight(drawn("a", None, 0.5), (0.0, math.log(0.25), 0.0, 0.0))
    assert found == pytest.approx(math.log(0.5))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(0, 10**6))
def test_only_what_has_a_share_is_drawn_and_always_the_same_by_one_seed(
    parts: list[int], seed: int
) -> None:
    assume(any(parts))
    shares = [part / sum(parts) for part in parts]
    place = drawn_from(shares, seed)
    assert shares[place] > 0
    assert place == drawn_from(shares, seed)


def test_many_seeds_draw_by_the_shares() -> None:
    counts = Counter(drawn_from((0.5, 0.0, 0.2, 0.3), seed) for seed in range(4000))
    assert counts[1] == 0
    assert [counts[place] / 4000 for place in (0, 2, 3)] == pytest.approx([0.5, 0.2, 0.3], abs=0.03)


def test_requests_of_weights_are_no_samples() -> None:
    seen: list[ModelRequest] = []

    def reply(request: ModelRequest) -> Reply:
        seen.append(request)
        if request.scoring is not None:
            return HALF
        return drawn("ab"[(request.sampling.seed or 0) % 2], 0.1, 0.5)

    provider = FakeProvider(reply, capabilities=MASK)
    result = extract(
        Literal["a", "b"], TEXT, model=provider, samples=6, decoding=ALIGNED,
        grounding=Grounding(locate=False),
    )  # fmt: skip
    assert len(result.attempts) == 6
    assert len(seen) == 12
    assert result.confidence[""].probability == pytest.approx(0.5)
