"""The mask for numbers that vary matches one number, and nothing else."""

from __future__ import annotations

import pytest

from tests.docs.masks import differences


@pytest.mark.parametrize(
    "number", ["0", "12", "1.5", "-1.5", "+3", "−2", "1,062.50", "12,345,678", "20000", "1e-05"]
)
def test_the_mask_matches_one_number(number: str) -> None:
    assert differences("took ‹number› s.", f"took {number} s.") == ""


@pytest.mark.parametrize(
    "text", ["", "x", "1 2", "1..2", "1,2,3", "nan", "1.", "12 s", "- 1", "1\n2"]
)
def test_the_mask_matches_nothing_else(text: str) -> None:
    assert differences("took ‹number› s.", f"took {text} s.") != ""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a 1", "a 2"),
        ("a.b", "axb"),
        ("‹number›%", "12"),
        ("a\n", "a"),
        ("a", "a\n"),
        ("a", "a\n\n"),
        ("a  b", "a b"),
        ("a ‹number›", "a  1"),
        ("a  ‹number›", "a1"),
    ],
)
def test_all_else_is_literal(shown: str, printed: str) -> None:
    assert differences(shown, printed) != ""


@pytest.mark.parametrize("printed", ["a    9.8 ms", "a   10.1 ms", "a 10000.1 ms"])
def test_a_number_may_be_wider_than_its_column(printed: str) -> None:
    assert differences("a   ‹number› ms", printed) == ""


def test_white_space_at_the_end_of_a_line_is_not_seen() -> None:
    assert differences("a\nb\n", "a   \nb \n") == ""


def test_the_diff_shows_the_lines_that_differ_and_no_masked_ones() -> None:
    shown = "‹number› read\nright: 4\n‹number› s\n"
    diff = differences(shown, "12 read\nright: 5\n0.3 s\n").splitlines()
    assert [line for line in diff[2:] if line[0] in "+-"] == ["-right: 4", "+right: 5"]
    assert " 0.3 s" in diff
