"""Near matches, where they are asked for."""

from __future__ import annotations

import pytest

from extractkit.results import Grounding
from tests.grounding.asking import ask

NEAR = Grounding(fuzzy=True)


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("at RSTORAN WAN SHENG now", "Restoran Wan Sheng", "RSTORAN WAN SHENG"),
        ("40150 SHAN ALAM", "40150 Shah Alam", "40150 SHAN ALAM"),
        ("Acme Corp, Acne Corp", "Acmee Corp", "Acme Corp"),
        ("The fee was 7% per year", "The fee was 8% per year", ""),
        ("the fees were 1480 then", "the fees were 1481 then", ""),
        ("do not exceed", "do now exceed", ""),
        ("does apply here", "does not apply here", ""),
        ("cat", "car", ""),
        ("lorem ipsum", "ipsem dolor", ""),
        ("Restoran Wan", "Restoran Wan Shen", ""),
        ("Sheng Restoran Wan", "Wan Shengs Restoran", ""),
        ("alpha, beta", "?", ""),
        ("beta", "alpha beta", ""),
        ("Receved\u0301 it", "Received", ""),
        ("Receved, then other", "Received other", ""),
    ],
)
def test_few_letters_may_differ_and_no_digit(text: str, value: str, matched: str) -> None:
    answer = ask(text, value, "text", options=NEAR)
    assert answer.matched == matched
    if matched:
        assert (answer.grade, answer.verdict, answer.codes) == ("fuzzy", "flagged", ("near_match",))
    assert ask(text, value, "text").verdict == "no"


def test_the_nearest_is_taken_and_all_places_of_it_are_kept() -> None:
    text = "Receved and Recevd, later Receved"
    answer = ask(text, "Received", "text", options=NEAR)
    assert answer.report.evidence["/x"].candidates == ((0, 7), (26, 33))


def test_what_is_there_is_no_near_match() -> None:
    assert ask("The Filter", "filter", "text", options=NEAR).grade == "normalised"


def test_a_value_at_any_length_is_shown_short() -> None:
    words = " ".join(f"wordnumber{letter}" for letter in "abcdefghij")
    answer = ask(words.replace("wordnumberc", "wordnumbrec"), words, "text", options=NEAR)
    assert answer.grade == "fuzzy"
    assert len(answer.report.findings[0].message) < 250
