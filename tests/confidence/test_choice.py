"""p(value | one of the legal ones): laws over made answers, and what is not visible."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.confidence import Choice, Option, align, choice_probability
from extractkit.errors import UsageError
from extractkit.messages import TokenLogprob
from tests.confidence.making import masked, spelled, token

HEAD = '{"a":'
WORDS = st.lists(st.text("abcñé", min_size=1, max_size=5), min_size=2, max_size=5, unique=True)


def option(text: str) -> Option:
    return Option(label=text, texts=(text.encode(),))


def chosen_of(
    tokens: Sequence[TokenLogprob], options: Sequence[Option], chosen: int, *, head: str = HEAD
) -> Choice:
    text = spelled(tokens)
    value = options[chosen].texts[0].decode() if options[chosen].texts else text[len(head) :]
    start = len(head.encode())
    run = align(tokens, text)
    return choice_probability(run, start, start + len(value.encode()), options, chosen)


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[TokenLogprob], list[str], int, float, list[bool]]:
    """An answer of one byte per token in which every other way is visible.

    With the alternatives, the chosen one, its probability, and which tokens decide.
    """
    texts = [f'"{word}"'.encode() for word in draw(WORDS)]
    chosen = draw(st.integers(0, len(texts) - 1))
    tokens = [token(HEAD, draw(st.floats(-3, 0)))]
    decides = [False]
    alive = list(texts)
    probability = 1.0
    own = texts[chosen]
    for at in range(len(own)):
        nexts = list(dict.fromkeys(text[at : at + 1] for text in alive if len(text) > at))
        if len(nexts) > 1:
            weights = [draw(st.floats(0.05, 1)) for _ in nexts]
            masses = {
                piece: weight / sum(weights) for piece, weight in zip(nexts, weights, strict=True)
            }
            mine = masses[own[at : at + 1]]
            probability *= mine
            beside = {piece: math.log(mass) for piece, mass in masses.items()}
            tokens.append(_with_bytes(own[at : at + 1], math.log(mine), beside))
        else:
            tokens.append(token(own[at : at + 1], draw(st.floats(-3, 0))))
        decides.append(len(nexts) > 1)
        alive = [text for text in alive if text[: at + 1] == own[: at + 1]]
    tokens.append(token("}", draw(st.floats(-3, 0))))
    decides.append(False)
    return tokens, [text.decode() for text in texts], chosen, probability, decides


def _with_bytes(piece: bytes, logprob: float, beside: dict[bytes, float]) -> TokenLogprob:
    from extractkit.messages import TokenAlternative

    others = tuple(TokenAlternative(token=key, logprob=value) for key, value in beside.items())
    return TokenLogprob(token=piece, logprob=logprob, alternatives=others)


@given(answers())
def test_probabilities_sum_to_one_when_all_mass_is_visible(
    made: tuple[list[TokenLogprob], list[str], int, float, list[bool]],
) -> None:
    tokens, texts, chosen, probability, decides = made
    whole = [
        part if decided else token(part.token, 0.0)
        for part, decided in zip(tokens, decides, strict=True)
    ]
    sure = chosen_of(whole, [option(text) for text in texts], chosen)
    assert sure.probability == sure.low == sure.high == pytest.approx(probability)
    choice = chosen_of(tokens, [option(text) for text in texts], chosen)
    assert choice.probability == pytest.approx(probability)
    assert choice.low is not None
    assert choice.high is not None
    assert choice.low <= probability + 1e-9
    assert probability <= choice.high + 1e-9
    total = sum(choice.alternatives.values()) + sum(choice.together.values())
    assert total == pytest.approx(1.0)
    assert choice.at_most == {}


@given(answers(), st.randoms(use_true_random=False))
def test_permuting_alternatives_permutes_probabilities(
    made: tuple[list[TokenLogprob], list[str], int, float, list[bool]], random: object
) -> None:
    tokens, texts, chosen, _, _ = made
    mixed = list(texts)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # Hypothesis gives a random.Random
    one = chosen_of(tokens, [option(text) for text in texts], chosen)
    other = chosen_of(tokens, [option(text) for text in mixed], mixed.index(texts[chosen]))
    assert other.probability == pytest.approx(one.probability)
    assert dict(other.alternatives) == pytest.approx(dict(one.alternatives))
    assert {frozenset(key) for key in other.together} == {frozenset(key) for key in one.together}


@given(answers(), st.data())
def test_joining_and_splitting_tokens_that_decide_nothing_changes_nothing(
    made: tuple[list[TokenLogprob], list[str], int, float, list[bool]], data: st.DataObject
) -> None:
    tokens, texts, chosen, _, decides = made
    joined: list[TokenLogprob] = []
    may_join = False
    for part, decided in zip(tokens, decides, strict=True):
        if may_join and not decided and data.draw(st.booleans()):
            last = joined.pop()
            joined.append(token(last.token + part.token, last.logprob + part.logprob))
        elif not decided and len(part.token) > 1 and data.draw(st.booleans()):
            joined += [token(part.token[:1], part.logprob), token(part.token[1:], 0.0)]
        else:
            joined.append(part)
        may_join = not decided
    options = [option(text) for text in texts]
    one, other = chosen_of(tokens, options, chosen), chosen_of(joined, options, chosen)
    assert other.probability == pytest.approx(one.probability)
    assert None not in (one.low, one.high, other.low, other.high)
    # Structure that is joined to a value brings what could have stood in its place.
    assert (other.low or 0) <= (one.low or 0) + 1e-9
    assert (one.high or 0) <= (other.high or 0) + 1e-9
    assert dict(other.alternatives) == pytest.approx(dict(one.alternatives))


@given(answers(), st.data())
def test_what_is_hidden_widens_the_bounds_and_the_number_stays_within(
    made: tuple[list[TokenLogprob], list[str], int, float, list[bool]], data: st.DataObject
) -> None:
    tokens, texts, chosen, probability, _ = made
    hidden = [
        TokenLogprob(
            token=part.token,
            logprob=part.logprob,
            alternatives=tuple(other for other in part.alternatives if data.draw(st.booleans())),
        )
        for part in tokens
    ]
    choice = chosen_of(hidden, [option(text) for text in texts], chosen)
    assert choice.probability is not None
    assert choice.low is not None
    assert choice.high is not None
    assert 0 < choice.low <= choice.probability <= choice.high <= 1
    if choice.at_most:
        assert choice.low <= probability + 1e-9
        assert probability <= choice.high + 1e-9
        assert all(0 < most <= 1 for most in choice.at_most.values())


def test_fewer_than_two_options_are_refused() -> None:
    run = align([token("true", -1)], "true")
    with pytest.raises(UsageError, match="found 1 options"):
        choice_probability(run, 0, 4, [option("true")], 0)
    with pytest.raises(UsageError, match="chosen=2"):
        choice_probability(run, 0, 4, [option("true"), option("false")], 2)


BOOL = [option("true"), option("false")]


def test_another_token_for_the_same_value_counts_for_it() -> None:
    beside = {"true": math.log(0.5), "tr": math.log(0.1), "false": math.log(0.3)}
    choice = chosen_of(
        [token(HEAD, 0), token("true", math.log(0.5), beside), token("}", 0)], BOOL, 0
    )
    assert choice.probability == pytest.approx(0.6 / 0.9)


def test_a_token_that_leaves_several_open_goes_into_the_bounds() -> None:
    words = [option('"oak"'), option('"olive"'), option('"elm"')]
    beside = {"oak": math.log(0.5), "o": math.log(0.2), "elm": math.log(0.2)}
    tokens = [token(HEAD + '"', 0), token("oak", math.log(0.5), beside), token('"}', 0)]
    choice = chosen_of(tokens, words, 0)
    assert choice.at_most == pytest.approx({'"olive"': 0.3})
    assert choice.probability == pytest.approx(0.5)
    assert choice.high == pytest.approx(0.8)


def test_a_label_that_is_mostly_written_with_an_open_token_is_not_visible() -> None:
    """ "inv" was chosen; "in" leads to inquiry more often than the "inqu" that is visible."""
    words = [option('"invoice"'), option('"inquiry"'), option('"other"')]
    beside = {
        "inv": math.log(0.6), "in": math.log(0.2), "inqu": math.log(0.05), "other": math.log(0.1)
    }  # fmt: skip
    tokens = [token(HEAD + '"', 0), token("inv", math.log(0.6), beside), token('oice"}', 0)]
    choice = chosen_of(tokens, words, 0)
    assert choice.probability == pytest.approx(0.6)
    assert choice.high == pytest.approx(0.85)
    assert choice.at_most == pytest.approx({'"inquiry"': 0.3})
    assert choice.alternatives == pytest.approx({'"invoice"': 0.6, '"other"': 0.1})
    rare = {**beside, "in": math.log(0.02)}
    tokens[1] = token("inv", math.log(0.6), rare)
    seen = chosen_of(tokens, words, 0)
    assert seen.at_most == {}
    assert seen.probability == pytest.approx(0.6 / 0.75)
    assert seen.low == pytest.approx(0.6)
    assert seen.high == pytest.approx(0.85)


def test_labels_that_no_token_tells_apart_are_told_together() -> None:
    words = [option('"yes"'), option('"inquiry"'), option('"inquest"'), option('"inn"')]
    beside = {"yes": math.log(0.5), "inqu": math.log(0.3), "in": math.log(0.1)}
    tokens = [token(HEAD + '"', 0), token("yes", math.log(0.5), beside), token('"}', 0)]
    choice = chosen_of(tokens, words, 0)
    assert choice.probability == pytest.approx(0.5 / 0.9)
    assert choice.alternatives == pytest.approx({'"yes"': 0.5 / 0.9})
    assert {frozenset(key): value for key, value in choice.together.items()} == pytest.approx(
        {frozenset({'"inquiry"', '"inquest"', '"inn"'}): 0.4 / 0.9}
    )


def test_a_shared_token_counts_where_another_one_would_have_decided() -> None:
    words = [option('"invoice"'), option('"inquiry"')]
    first = {"in": math.log(0.6), "inqu": math.log(0.3)}
    second = {"voice": math.log(0.8), "qu": math.log(0.2)}
    tokens = [
        token(HEAD + '"', 0),
        token("in", math.log(0.6), first),
        token("voice", math.log(0.8), second),
        token('"}', 0),
    ]
    assert chosen_of(tokens, words, 0).probability == pytest.approx(0.48 / 0.9)


def test_a_number_is_decided_by_the_token_behind_it() -> None:
    numbers = [option("1"), option("12")]
    beside = {"}": math.log(0.7), "2": math.log(0.2)}
    tokens = [token(HEAD, 0), token("1", -0.4), token("}", math.log(0.7), beside)]
    choice = chosen_of(tokens, numbers, 0)
    assert choice.alternatives == pytest.approx({"1": 0.7 / 0.9, "12": 0.2 / 0.9})


def test_the_end_of_the_answer_can_decide() -> None:
    from extractkit.messages import TokenAlternative

    others = (
        TokenAlternative(token=b"", logprob=math.log(0.6)),
        TokenAlternative(token=b"2", logprob=math.log(0.2)),
    )
    end = TokenLogprob(token=b"", logprob=math.log(0.6), alternatives=others)
    choice = chosen_of([token("1", -0.1), end], [option("1"), option("12")], 0, head="")
    assert choice.probability == pytest.approx(0.75)


def test_without_the_token_that_decides_there_is_no_number() -> None:
    choice = chosen_of([token("1", -0.1)], [option("1"), option("12")], 0, head="")
    assert choice.probability is None
    assert "no token is known" in choice.reason


def test_a_choice_made_one_token_earlier_is_seen() -> None:
    """What was written as " " and "true" could have been written as " false"."""
    beside = {" ": math.log(0.2), " false": math.log(0.7), " true": math.log(0.1)}
    then = {"true": math.log(0.9), "false": math.log(0.1)}
    tokens = [
        token('{"a":', 0),
        token(" ", math.log(0.2), beside),
        token("true", math.log(0.9), then),
        token("}", 0),
    ]
    choice = chosen_of(tokens, BOOL, 0, head='{"a": ')
    assert choice.probability == pytest.approx((0.18 + 0.1) / (0.18 + 0.1 + 0.02 + 0.7))


def test_an_escape_is_another_spelling_of_the_same_value() -> None:
    words = [Option(label='"ñ"', texts=('"ñ"'.encode(), b'"\\u00f1"')), option('"n"')]
    beside = {"\\u": math.log(0.6), "n": math.log(0.2), "ñ": math.log(0.1)}
    pieces = [
        token(HEAD + '"', 0),
        token("\\u", math.log(0.6), beside),
        token("00f1", 0),
        token('"}', 0),
    ]
    run = align(pieces, spelled(pieces))
    choice = choice_probability(run, 5, 13, words, 0)
    assert choice.probability == pytest.approx(0.7 / 0.9)


def test_under_a_mask_the_model_s_own_numbers_count_and_hidden_legal_mass_is_the_others() -> None:
    raw = {"true": 0.3, "false": 0.1}
    tokens = [
        masked(HEAD, {}, removed=0, forced=True),
        masked("true", raw, removed=0.6),
        masked("}", {}, removed=0, forced=True),
    ]
    choice = chosen_of(tokens, BOOL, 0)
    assert choice.probability == pytest.approx(0.75)
    assert choice.removed_mass == pytest.approx(0.6)
    three = [*BOOL, option("null")]
    some = masked("true", {"true": 0.3, "false": 0.05}, removed=0.6)
    hidden = chosen_of([tokens[0], some, tokens[2]], three, 0)
    assert hidden.probability == pytest.approx(0.3 / 0.4)
    assert hidden.low == pytest.approx(0.75)
    assert hidden.high == pytest.approx(0.35 / 0.4)
    assert hidden.at_most == pytest.approx({"null": 0.125})
    assert hidden.alternatives == pytest.approx({"true": 0.75, "false": 0.125})


def test_probabilities_are_normalised_over_the_alternatives_and_not_step_by_step() -> None:
    """Of {ax, ay, b}: what is illegal behind "a" takes from ax and ay, and not from b."""
    words = [option('"ax"'), option('"ay"'), option('"b"')]
    tokens = [
        masked(HEAD + '"', {}, removed=0, forced=True),
        masked("a", {"a": 0.6, "b": 0.4}, removed=0.0),
        masked("x", {"x": 0.05, "y": 0.05}, removed=0.9),
        masked('"}', {}, removed=0, forced=True),
    ]
    choice = chosen_of(tokens, words, 0)
    assert choice.probability == pytest.approx(0.03 / 0.46)
    assert choice.alternatives == pytest.approx(
        {'"ax"': 0.03 / 0.46, '"ay"': 0.03 / 0.46, '"b"': 0.4 / 0.46}
    )


def test_a_probability_too_small_for_a_double_is_still_above_zero() -> None:
    choice = chosen_of([token(HEAD, 0), token("true", -800.0), token("}", 0)], BOOL, 0)
    assert choice.probability is not None
    assert choice.probability > 0


def test_many_hidden_alternatives_are_counted_in_the_reason() -> None:
    from tests.confidence.making import scored

    words = {"enum": ["a", "b", "c", "d", "e"]}
    found = scored(words, [('"', 0.0), ("a", -0.2), ('"', 0.0)], dialect="json-schema").leaves[""]
    assert found.reason.endswith("and 1 more")
    beside = {"a": math.log(0.5), "": math.log(0.4), "x": math.log(0.1)}
    grouped = scored(
        {"enum": ["a", "xb", "xc", "xd", "xe"]},
        [('"', 0.0), ("a", math.log(0.5), beside), ('"', 0.0)],
        dialect="json-schema",
    ).leaves[""]
    assert grouped.reason == (
        'no visible token tells "xb", "xc", "xd" and others apart (together 0.1667)'
    )


def test_tokens_that_are_no_beginning_of_a_legal_value_give_no_number() -> None:
    run = align([token('{"a":', 0), token("maybe", -0.5), token("}", 0)], '{"a":maybe}')
    choice = choice_probability(run, 5, 10, [*BOOL, Option(label="x", openers=b"x")], 2)
    assert choice.reason == "the tokens do not fit the legal values"


@pytest.mark.parametrize(
    ("value", "word"), [(-9999.0, "sentinel"), (0.09, "invalid"), (math.nan, "invalid")]
)
def test_a_number_that_is_no_log_probability_gives_none(value: float, word: str) -> None:
    for index in range(2):
        logprobs = [-0.1, -0.1]
        logprobs[index] = value
        tokens = [
            token(HEAD + '"', 0), token("ab", logprobs[0]), token("ba", logprobs[1]), token('"}', 0)
        ]  # fmt: skip
        choice = chosen_of(tokens, [option('"abba"'), option('"c"')], 0)
        assert choice.probability is None
        assert choice.reason.startswith(word)


@pytest.mark.parametrize(("other", "is_told"), [(-0.2, True), (-1.4, True), (-1.69, False)])
def test_visible_masses_beyond_one_are_no_probabilities_of_one_choice(
    other: float, is_told: bool
) -> None:
    tokens = [
        token(HEAD, 0),
        token('"yes', math.log(0.82), {'"yes': math.log(0.82), '"no': other}),
        token('"}', 0),
    ]
    choice = chosen_of(tokens, [option('"yes"'), option('"no"')], 0)
    if is_told:
        assert choice.probability is None
        assert choice.reason.startswith("invalid: the visible probabilities at one token add up")
        assert f"{0.82 + math.exp(other):.4g}" in choice.reason
    else:
        assert choice.probability == pytest.approx(0.82 / (0.82 + math.exp(other)))


def test_a_sentinel_beside_the_chosen_token_is_not_a_probability_of_zero() -> None:
    beside = {"true": -0.2, "false": -9999.0}
    choice = chosen_of([token(HEAD, 0), token("true", -0.2, beside), token("}", 0)], BOOL, 0)
    assert "false" in choice.at_most
    assert choice.probability == pytest.approx(math.exp(-0.2))


def test_a_missing_byte_of_the_value_gives_no_number() -> None:
    run = align([token('{"a":t', 0), token("ue}", 0)], '{"a":true}')
    assert "missing bytes" in choice_probability(run, 5, 9, BOOL, 0).reason
