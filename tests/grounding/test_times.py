from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("at 21:13.", "21:13:00", "21:13"),
        ("at 21:13:45", "21:13:45", "21:13:45"),
        ("at 21:13:45", "21:13", "21:13:45"),
        ("21:13:45.250", "21:13:45.250", "21:13:45.250"),
        ("9:05 PM", "21:05:00", "9:05 PM"),
        ("9.05 p.m.", "21:05:00", "9.05 p.m."),
        ("12:30am", "00:30:00", "12:30am"),
        ("12 noon, 12 pm", "12:00:00", "12 pm"),
        ("9 pm", "21:00", "9 pm"),
        ("21:05 pm", "21:05", "21:05 pm"),
        ("21 Uhr", "21:00", "21 Uhr"),
        ("21h13", "21:13", "21h13"),
        ("21時13分", "21:13", "21時13分"),
        ("21:13Z", "21:13Z", "21:13Z"),
        ("21:13 UTC", "21:13Z", "21:13 UTC"),
        ("21:13+02:00", "19:13Z", "21:13+02:00"),
        ("21:13-0330", "21:13-03:30", "21:13-0330"),
        ("21:13+02:00", "21:13", "21:13+02:00"),
    ],
)
def test_times_are_read_in_every_form(text: str, value: str, matched: str) -> None:
    answer = ask(text, value, "time")
    assert (answer.verdict, answer.matched) == ("yes", matched)


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("21:13:45", "21:13:00", "not_in_source"),
        ("9:05", "21:05", "not_in_source"),
        ("121:13", "21:13", "not_in_source"),
        ("21.13", "21:13", "not_in_source"),
        ("24:30", "00:30", "not_in_source"),
        ("24 pm", "12:00", "not_in_source"),
        ("21", "21:00", "not_in_source"),
        ("21:13", "21:13Z", "date_precision"),
        ("21:13+02:00", "21:13+03:00", "not_in_source"),
        ("x", "21:60", "not_in_source"),
    ],
)
def test_other_times_are_not_found(text: str, value: str, code: str) -> None:
    assert ask(text, value, "time").codes == (code,)


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("2026-03-06T21:13:00Z", "2026-03-06T21:13:00Z", "2026-03-06T21:13:00Z"),
        ("6 March 2026 at 9:13 PM", "2026-03-06T21:13:00", "6 March 2026 at 9:13 PM"),
        ("21:13 on 6 March 2026", "2026-03-06T21:13:00", "21:13 on 6 March 2026"),
        ("2026-03-06 23:30+02:00", "2026-03-06T21:30:00Z", "2026-03-06 23:30+02:00"),
        ("2026-03-07T01:30+05:00", "2026-03-06T20:30:00Z", "2026-03-07T01:30+05:00"),
        ("6 March 2026", "2026-03-06", "6 March 2026"),
        ("10:00 25/03/2026 21:13", "2026-03-25T21:13", "25/03/2026 21:13"),
    ],
)
def test_a_day_and_a_time_side_by_side_are_one_place(text: str, value: str, matched: str) -> None:
    answer = ask(text, value, "datetime")
    assert (answer.verdict, answer.matched) == ("yes", matched)


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("6 March 2026", "2026-03-06T00:00:00", "time not in the source"),
        ("March 2026 21:13", "2026-03-01T21:13:00", "day not in the source"),
        ("6 March 2026 21:13", "2026-03-06T21:13:00Z", "offset not in the source"),
        ("21:13", "2026-03-06T21:13:00", "is not in the source"),
        ("2026-03-06T21:13+02:00", "2026-03-07T19:13:00Z", "is not in the source"),
        ("2026-03-07T01:13+02:00", "2026-03-07T23:13:00Z", "is not in the source"),
        ("21:13+02:00", "0001-01-01T00:13:00+14:00", "is not in the source"),
    ],
)
def test_a_datetime_is_no_more_exact_than_its_source(text: str, value: str, said: str) -> None:
    answer = ask(text, value, "datetime")
    assert answer.verdict == "no"
    assert said in answer.report.findings[0].message


def test_a_day_and_a_time_far_apart_make_a_warning() -> None:
    text = f"6 March 2026 {'and so on ' * 10} 21:13"
    answer = ask(text, "2026-03-06T21:13:00", "datetime")
    assert (answer.verdict, answer.matched) == ("flagged", "6 March 2026")
    assert answer.codes == ("date_time_apart",)


def test_an_ambiguous_day_stays_ambiguous_with_its_time() -> None:
    answer = ask("03/06/2026 21:13", "2026-03-06T21:13:00", "datetime")
    assert (answer.verdict, answer.codes) == ("flagged", ("ambiguous_date",))


@given(
    st.datetimes().filter(lambda moment: moment.year >= 1000),
    st.sampled_from(["{0:%Y-%m-%d}T{0:%H:%M:%S}", "{0.day} {0:%B} {0.year}, {0:%I:%M:%S %p}"]),
)
def test_a_planted_datetime_is_found_with_its_span(moment: datetime, form: str) -> None:
    moment = moment.replace(microsecond=0)
    written = form.format(moment)
    answer = ask(f"on {written}; end", moment.isoformat(), "datetime")
    assert (answer.verdict, answer.matched, answer.at) == ("yes", written, 3)
