"""Times of day as people tell them."""

from __future__ import annotations

import pytest

from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("from 9 05 in the morning on", "09:05", "9 05 in the morning"),
        ("25 to 7 p.m. please", "18:35", "25 to 7 p.m."),
        ("half past six", "06:30", "half past six"),
        ("a quarter to nine at night", "20:45", "a quarter to nine at night"),
        ("10 past 9 night", "21:10", "10 past 9 night"),
        ("0 35 a.m.", "00:35", "0 35 a.m."),
        ("16:00 in the afternoon", "16:00", "16:00"),
        ("12 20 p.m.", "12:20", "12 20 p.m."),
        ("12 00 a.m.", "00:00", "12 00 a.m."),
        ("8 to 10 pm, or ten minutes to 10 pm", "21:50", "ten minutes to 10 pm"),
        ("9:13 in the evening", "21:13", "9:13 in the evening"),
        ("five o'clock in the morning", "05:00", "five o'clock in the morning"),
        ("at one at night", "01:00", "one at night"),
        ("at noon", "12:00", "noon"),
        ("until midnight", "00:00", "midnight"),
        ("ten minutes to 1", "00:50", "ten minutes to 1"),
    ],
)
def test_a_told_time_is_found(text: str, value: str, matched: str) -> None:
    answer = ask(text, value, "time")
    assert (answer.matched, answer.plain) == (matched, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("25 to 7 p.m.", "19:00"),
        ("12 20 p.m.", "20:00"),
        ("2 05 p.m.", "17:00"),
        ("half past six", "06:00"),
        ("9 in the morning", "21:00"),
        ("9 in the evening", "09:00"),
        ("half past six", "06:30:15"),
        ("lot 12 20 30", "12:20"),
        ("12 200", "12:20"),
        ("for one night", "01:00"),
        ("2 night", "02:00"),
    ],
)
def test_a_part_of_a_told_time_is_none(text: str, value: str) -> None:
    assert ask(text, value, "time").verdict == "no"


def test_two_numbers_are_a_doubtful_time() -> None:
    answer = ask("today at 13 50. I did", "13:50", "time")
    assert (answer.verdict, answer.codes) == ("flagged", ("ambiguous_time",))
    answer = ask("from 10 to 11 pm", "22:50", "time")
    assert (answer.verdict, answer.codes) == ("flagged", ("ambiguous_time",))
    assert ask("from 10 to 11 pm", "23:00", "time").verdict == "flagged"
    assert ask("table 5 10 pm", "22:00", "time").verdict == "flagged"
    assert ask("table 12 9 pm", "21:00", "time").plain
    assert ask("from 10 am to 11 pm", "23:00", "time").plain
    answer = ask("on 6 March 2026 at 13 50", "2026-03-06T13:50", "datetime")
    assert (answer.verdict, answer.codes) == ("flagged", ("ambiguous_time",))


def test_seconds_are_looked_for_on_clocks_only() -> None:
    assert ask("half past six", "06:30:00", "time").plain
