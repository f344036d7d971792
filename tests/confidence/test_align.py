"""Bytes to tokens: every split of a text, tokens that are parts of characters, bytes that lack."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.confidence import align, sequence_probability
from extractkit.messages import TokenLogprob
from tests.confidence.making import token


@given(st.text(min_size=1), st.data())
def test_any_split_of_a_text_into_bytes_is_put_back_together(
    text: str, data: st.DataObject
) -> None:
    raw = text.encode()
    inside = st.lists(st.integers(0, len(raw)), max_size=6)
    cuts = sorted({0, len(raw), *data.draw(inside)})
    tokens = [token(raw[low:high], -1.0) for low, high in pairwise(cuts)]
    run = align(tokens, text)
    assert run.starts == tuple(cuts[:-1])
    assert run.ends == tuple(cuts[1:])
    assert (run.holes, run.unplaced) == ((), ())
    assert b"".join(raw[low:high] for low, high in zip(run.starts, run.ends, strict=True)) == raw


@given(st.text(alphabet='abñぬ"{', min_size=1, max_size=12), st.data())
def test_holes_and_tokens_cover_a_text_whatever_is_left_out(text: str, data: st.DataObject) -> None:
    tokens = [token(letter, -1.0) for letter in text]
    kept = data.draw(st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    run = align([part for part, keep in zip(tokens, kept, strict=True) if keep], text)
    spans = sorted([*zip(run.starts, run.ends, strict=True), *run.holes])
    assert b"".join(run.data[low:high] for low, high in spans) == text.encode()
    for part, low, high in zip(run.tokens, run.starts, run.ends, strict=True):
        assert run.data[low:high] == part.token


def test_bytes_that_no_token_wrote_are_a_hole() -> None:
    run = align([token('{"a":"', 0), token('"}', 0)], '{"a":"ñ"}')
    assert run.holes == ((6, 8),)
    assert run.missing(0, 7) == ((6, 7),)
    assert run.missing(8, 10) == ()


def test_a_token_that_is_not_in_the_text_is_told_and_moves_nothing() -> None:
    run = align([token("<think>", 0), token("{}", 0), token("\ufffd", 0)], "{}")
    assert run.unplaced == (0, 2)
    assert (run.starts, run.ends, run.holes) == ((0,), (2,), ())


def test_tokens_after_a_hole_are_found_again() -> None:
    pieces = ["one ", "two ", "three ", "four"]
    run = align([token(piece, 0) for piece in (pieces[0], *pieces[2:])], "".join(pieces))
    assert run.starts == (0, 8, 14)
    assert run.holes == ((4, 8),)


def test_a_token_without_bytes_that_ends_the_answer_is_kept_apart() -> None:
    end = TokenLogprob(token=b"", logprob=-0.5)
    run = align([token("1", -0.1), end], "1")
    assert run.end is end
    assert len(run.tokens) == 1


@pytest.mark.parametrize(
    ("start", "end", "found"), [(0, 1, [0]), (2, 3, [1]), (1, 4, [0, 1]), (4, 5, [2]), (5, 9, [])]
)
def test_the_tokens_over_a_range_are_those_with_a_byte_in_it(
    start: int, end: int, found: list[int]
) -> None:
    run = align([token("ab", 0), token("cd", 0), token("e", 0)], "abcde")
    assert list(run.over(start, end)) == found


def test_numbers_a_hair_above_zero_come_from_rounding() -> None:
    tokens = [token('{"a":"', 0.0), token("x", 1e-7), token('"}', 0.0)]
    found = sequence_probability(align(tokens, '{"a":"x"}'), 6, 7)
    assert found.probability == 1.0


def test_a_value_that_no_token_wrote_has_no_number() -> None:
    run = align([token("ab", -0.1)], "ab")
    assert sequence_probability(run, 2, 2).reason == "no token of it is known"
    assert "missing bytes" in sequence_probability(align([token("a", -0.1)], "ab"), 1, 2).reason


def test_a_sequence_says_why_a_number_is_none() -> None:
    run = align([token("ab", -9999.0)], "ab")
    assert sequence_probability(run, 0, 2).reason.startswith("sentinel")
    assert sequence_probability(run, 0, 2).tokens == 1
