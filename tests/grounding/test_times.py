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


@pytest.mark.parametrize(
    "text",
    [
        "午後9時13分", "下午9:13", "오후 9:13", "오후 9시 13분", "晚上9点13分",
        "9:13 in the evening",
        "9:13 Uhr abends", "9.13 Uhr abends", "9:13 am Abend", "9:13 du soir", "9h13 du soir",
        "9:13 de la tarde", "9:13 di sera", "9:13 da noite", "9:13 's avonds", "9:13 вечера",
        "9:13 wieczorem", "akşam 9:13", "शाम 9:13", "du. 9:13", "9:13 malam", "9:13 בערב",
        "9:13 μ.μ.", "9:13 p. m.", "9:13  PM", "9:13 (PM)", "9:13p", "9:13 ＰＭ", "PM 9:13",
    ],
)  # fmt: skip
def test_a_mark_of_the_afternoon_is_read_on_either_side_in_many_languages(text: str) -> None:
    assert ask(text, "21:13", "time").plain
    assert ask(text, "09:13", "time").verdict == "no"


@pytest.mark.parametrize(
    "text",
    [
        "9:13, PM", "9:13 AM/PM", "9:13 sera", "9:13 tarde", "9:13\nEvening show",
        "this evening at 9:13", "every evening, 9:13", "9:13 os", "este 9:13", "kl. 9.13 em",
        "9:13 P", "Montagabend 9:13", "stasera alle 9:13",
        "9:13, 9:30 and 10:00 PM", "9:13-10:00 PM", "下午2:00-9:13", "2:00 PM - 9:13",
    ],
)  # fmt: skip
def test_a_mark_that_may_belong_to_a_time_makes_both_hours_doubtful(text: str) -> None:
    for value in ("09:13", "21:13"):
        assert ask(text, value, "time").codes == ("ambiguous_time",)


@pytest.mark.parametrize(
    "text",
    [
        "9:13-5:00 PM", "10:00 PM 9:13", "I am 9:13", "9:13 em Lisboa", "9:13 and 2:00 PM, 3:00:05",
        "word evening of something else 9:13", "9:13 Uhr", "9:13 matin", "AM 9:13", "上午9:13",
        "x" * 30 + " evening" + " " * 30 + "9:13", "9:13 morgens",
        "9:13 下午3:00", "9:13 東京", "9:13\n\nPM prices", "9:13 p. 5",
    ],
)  # fmt: skip
def test_a_mark_of_another_time_is_none_of_this_one(text: str) -> None:
    assert ask(text, "09:13", "time").plain
    assert ask(text, "21:13", "time").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("9時", "09:00", "yes"),
        ("9時間", "09:00", "no"),
        ("25時", "01:00", "no"),
        ("9点", "09:00", "flagged"),
        ("9点半", "09:30", "yes"),
        ("下午9点一刻", "21:15", "yes"),
        ("9时三刻", "09:45", "yes"),
        ("9時5", "09:00", "yes"),
        ("9時13分45秒", "09:13:45", "yes"),
        ("９時３０分", "09:30", "yes"),
        ("９：３０", "09:30", "yes"),
        ("9時 PM", "21:00", "yes"),
        ("9 Uhr abends", "21:00", "yes"),
        ("9 h du soir", "21:00", "yes"),
        ("в 9 вечера", "21:00", "yes"),
        ("21h", "21:00", "flagged"),
        ("à 21h", "21:00", "yes"),
        ("21 h 30", "21:30", "yes"),
        ("Model 5 H 20", "05:20", "no"),
        ("kl. 21.13", "21:13", "yes"),
        ("um 21.13", "21:13", "flagged"),
        ("0900 hrs", "09:00", "yes"),
        ("2113 hrs", "21:13", "flagged"),
        ("20240304T211305Z", "21:13:05Z", "yes"),
        ("20240304T2113", "21:13", "yes"),
        ("20240304T991305Z", "21:13:05Z", "no"),
        ("12:00 midnight", "00:00", "yes"),
        ("12:00 noon", "12:00", "yes"),
        ("1 Uhr mittags", "13:00", "yes"),
        ("9:13 дня", "09:13", "flagged"),
        ("9 am Abend", "21:00", "yes"),
        ("table 9 on Friday evening", "21:00", "no"),
    ],
)
def test_times_are_read_as_other_languages_write_them(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "time").verdict == verdict


@pytest.mark.parametrize(
    "text",
    [
        "Time:21:13", "ca.21:13", "Mon,21:13", "21:13:", "a,21:13,b", "21:13,22:13", "12:30,21:13",
        "4711,48,0.5,21:13", "2024-03-04,21:13", ":21:13", "[04/Mar/2024:21:13 +0000]",
    ],
)  # fmt: skip
def test_a_time_between_marks_is_found(text: str) -> None:
    assert ask(text, "21:13", "time").plain


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("00:1a:21:13:45:ff", "21:13", "no"),
        ("10:21:13:45", "21:13", "no"),
        ("1.21:13", "21:13", "no"),
        ("1,9 pm", "21:00", "no"),
        (".9 pm", "21:00", "no"),
        ("1,5:30", "05:30", "flagged"),
        ("12:30,5", "12:30", "flagged"),
    ],
)
def test_a_part_of_something_longer_is_no_plain_time(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "time").verdict == verdict


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("Open 08:00-12:00", "08:00", "yes"),
        ("Open 08:00-12:00", "12:00", "yes"),
        ("Open 08:00-12:00", "20:00Z", "flagged"),
        ("08:00-12:00 PM", "20:00Z", "no"),
        ("10:00-10:15", "10:15", "yes"),
        ("10:00-10:15", "20:15Z", "no"),
        ("10:00:00-11:00:00", "11:00:00", "yes"),
        ("21:13-05:00", "21:13-05:00", "flagged"),
        ("21:13-05:00", "05:00", "flagged"),
        ("2024-03-04T21:13-05:00", "21:13-05:00", "yes"),
        ("2024-03-04T21:13-05:00", "05:00", "no"),
        ("10:00:00+02", "08:00:00Z", "yes"),
        ("10:00-02", "12:00Z", "no"),
        ("21:13 UTC+2", "19:13Z", "yes"),
        ("21:13 UTC+2", "21:13Z", "no"),
        ("room 20 -05:00", "05:00", "yes"),
    ],
)
def test_a_range_is_no_offset(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "time").verdict == verdict


TWO_STAMPS = (
    ("4 March 2024 10:00, 5 March 2024 11:00", "04T10:00", "05T11:00"),
    ("4 March 2024 10:00 5 March 2024 11:00", "04T10:00", "05T11:00"),
    ("10:00 4 March 2024 11:00 5 March 2024", "04T10:00", "05T11:00"),
    ("Check-in 4 March 2024 15:00\nCheck-out 6 March 2024 11:00", "04T15:00", "06T11:00"),
    ("2024-03-04 10:00 GET /x\n2024-03-05 11:00 GET /y", "04T10:00", "05T11:00"),
    ("2024-03-04T10:00:00Z 2024-03-05T11:00:00Z", "04T10:00:00Z", "05T11:00:00Z"),
    ("Dep 10:00 4 March 2024, arr 14:00 5 March 2024", "04T10:00", "05T14:00"),
    ("Date: 4 March 2024\nTime: 10:00\nDate: 5 March 2024\nTime: 11:00", "04T10:00", "05T11:00"),
    ("4 March 2024\n10:00\n\n5 March 2024\n11:00", "04T10:00", "05T11:00"),
    ("2024-03-04,10:00\n2024-03-05,11:00", "04T10:00", "05T11:00"),
)


@pytest.mark.parametrize(("text", "first", "second"), TWO_STAMPS)
def test_a_time_belongs_to_one_of_two_days(text: str, first: str, second: str) -> None:
    days, times = (first[:2], second[:2]), (first[2:], second[2:])
    for day, clock in zip(days, times, strict=True):
        assert ask(text, f"2024-03-{day}{clock}", "datetime").plain
    for day, clock in zip(days, reversed(times), strict=True):
        answer = ask(text, f"2024-03-{day}{clock}", "datetime")
        assert answer.codes == ("date_time_apart",)


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("4 March 2024 10:00, 5 March 11:00", "2024-03-04T11:00", "flagged"),
        ("4 March 2024 at 10:00 and 5 March at noon", "2024-03-04T12:00", "flagged"),
        ("tomorrow 10:00, 4 March 2024 11:00", "2024-03-04T10:00", "flagged"),
        ("Monday 10:00, 4 March 2024 11:00", "2024-03-04T10:00", "flagged"),
        ("3月4日10時、2024年3月5日11時", "2024-03-05T10:00", "flagged"),
        ("4.3. 10:00, 5.3.2024 11:00", "2024-03-05T10:00", "flagged"),
        ("3/4 10:00, 3/5/2024 11:00", "2024-03-05T10:00", "flagged"),
        ("4 March 2024 (Monday) 10:00", "2024-03-04T10:00", "yes"),
        ("Monday, 4 March 2024, 10:00 - 12:30", "2024-03-04T12:30", "yes"),
        ("10:00, 4 March 2024 - Monday", "2024-03-04T10:00", "yes"),
        ("4 March 2024, 10:00, 5 March 2024", "2024-03-04T10:00", "flagged"),
        ("4 March 2024, 10:00, 5 March 2024", "2024-03-05T10:00", "flagged"),
        ("4 March 2024; x. 10:00 on 5 March 2024", "2024-03-04T10:00", "flagged"),
        ("4 March 2024 10:00-11:00", "2024-03-04T11:00", "yes"),
        ("from 10:00 to 11:00 on 4 March 2024", "2024-03-04T10:00", "yes"),
        ("Mon Mar  4 21:13:05 2024", "2024-03-04T21:13:05", "yes"),
        ("[04/Mar/2024:21:13:05 +0000]", "2024-03-04T21:13:05Z", "yes"),
        ("2024年3月4日 午後9時13分", "2024-03-04T21:13", "yes"),
        ("2024年3月4日 午後9時13分", "2024-03-04T09:13", "no"),
        ("2024-03-04T12:30+02:00", "2024-03-04T12:30", "yes"),
    ],
)
def test_a_day_and_its_own_time(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "datetime").verdict == verdict


_STAMPS = st.lists(
    st.datetimes(datetime.fromisoformat("2020-01-01"), datetime.fromisoformat("2029-12-31")).map(
        lambda moment: moment.replace(second=0, microsecond=0)
    ),
    min_size=2,
    max_size=4,
    unique_by=(lambda moment: moment.date(), lambda moment: (moment.hour, moment.minute)),
)


@given(
    _STAMPS,
    st.sampled_from(["{0:%Y-%m-%d}T{0:%H:%M}", "{0.day} {0:%B} {0.year}, {0:%H:%M}",
                     "{0:%H:%M} on {0.day} {0:%B} {0.year}"]),
    st.sampled_from([" ", ", ", "\n", " - ", "; "]),
)  # fmt: skip
def test_of_several_stamps_none_is_mixed_with_another(
    moments: list[datetime], form: str, between: str
) -> None:
    text = between.join(form.format(moment) for moment in moments)
    for day in moments:
        for clock in moments:
            mixed = datetime.combine(day.date(), clock.time())
            answer = ask(text, mixed.isoformat(), "datetime")
            if mixed not in moments:
                assert answer.codes == ("date_time_apart",)
            elif between in ("\n", "; ", " - "):
                assert answer.plain
