from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import UsageError
from extractkit.grounding.dates import DateIndex
from extractkit.results import Grounding
from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "matched"),
    [
        ("on 2026-03-06.", "2026-03-06"),
        ("on 2026/3/6", "2026/3/6"),
        ("at 2026-03-06T21:13Z", "2026-03-06"),
        ("6 March 2026", "6 March 2026"),
        ("6th March 2026", "6th March 2026"),
        ("the 6TH DAY OF MARCH, 2026", "6TH DAY OF MARCH, 2026"),
        ("6. März 2026", "6. März 2026"),
        ("6 de marzo de 2026", "6 de marzo de 2026"),
        ("6 mars 2026", "6 mars 2026"),
        ("6MAR2026", "6MAR2026"),
        ("6-Mar-26", "6-Mar-26"),
        ("6 Mar '26", "6 Mar '26"),
        ("March 6, 2026", "March 6, 2026"),
        ("March 6th,\n2026", "March 6th,\n2026"),
        ("Mar. 6, '26", "Mar. 6, '26"),
        ("Mar-06-2026", "Mar-06-2026"),
        ("2026 March 6", "2026 March 6"),
        ("2026-Mar-06", "2026-Mar-06"),
        ("2026年3月6日", "2026年3月6日"),
        ("2026년 3월 6일", "2026년 3월 6일"),
        ("06.03.2026", "06.03.2026"),
        ("6. 3. 2026", "6. 3. 2026"),
        ("1 May\n06 March 2026", "06 March 2026"),
    ],
)
def test_every_written_form_of_a_day_is_read(text: str, matched: str) -> None:
    answer = ask(text, "2026-03-06", "date")
    assert (answer.verdict, answer.matched) == ("yes", matched)


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("12-01-19", "2019-01-12", "flagged"),
        ("12-01-19", "2019-12-01", "flagged"),
        ("12-01-19", "2012-01-19", "flagged"),
        ("25/12/18", "2018-12-25", "yes"),
        ("05/05/2026", "2026-05-05", "yes"),
        ("03.06.2026", "2026-06-03", "yes"),
        ("03.06.2026", "2026-03-06", "flagged"),
        ("06.25.2026", "2026-06-25", "yes"),
        ("20260306", "2026-03-06", "flagged"),
        ("1/2/68", "2068-02-01", "flagged"),
        ("1/2/69", "1969-02-01", "flagged"),
        ("March 6 20 people", "2020-03-06", "no"),
        ("6 March 20:15", "2020-03-06", "no"),
        ("31/02/2026", "2026-02-28", "no"),
        ("1.25/03/2026", "2026-03-25", "no"),
        ("25/03/2026/7", "2026-03-25", "no"),
        ("2026-03-061", "2026-03-06", "no"),
        ("125/03/2026", "2026-03-25", "no"),
        ("123/03/2026", "2026-03-23", "no"),
        ("5/3/1", "2001-03-05", "no"),
        ("30000101", "3000-01-01", "no"),
        ("6 Mary 2026", "2026-03-06", "no"),
    ],
)
def test_readings_are_no_more_certain_than_their_form(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "date").verdict == verdict


@pytest.mark.parametrize(
    ("locale", "text", "value", "verdict"),
    [
        ("en-US", "03/06/2026", "2026-03-06", "yes"),
        ("en-US", "03/06/2026", "2026-06-03", "no"),
        ("en_GB", "03/06/2026", "2026-06-03", "yes"),
        ("en", "03/06/2026", "2026-06-03", "flagged"),
        ("de", "03/06/2026", "2026-06-03", "yes"),
        ("en-US", "25/03/2026", "2026-03-25", "yes"),
        ("ja", "12-01-19", "2012-01-19", "yes"),
        ("ja", "12/01/2019", "2019-01-12", "flagged"),
    ],
)
def test_a_locale_settles_the_order(locale: str, text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "date", options=Grounding(locale=locale)).verdict == verdict


def test_an_unknown_locale_is_an_error_of_the_caller() -> None:
    with pytest.raises(UsageError, match="locale='tlh'"):
        ask("x", "x", "text", options=Grounding(locale="tlh"))


@pytest.mark.parametrize(
    ("said", "value", "verdict"),
    [
        ("today", "2026-03-11", "yes"),
        ("Yesterday", "2026-03-10", "yes"),
        ("tomorrow", "2026-03-12", "yes"),
        ("last Friday", "2026-03-06", "flagged"),
        ("next Friday", "2026-03-13", "flagged"),
        ("last Wednesday", "2026-03-04", "flagged"),
        ("next Wednesday", "2026-03-18", "flagged"),
        ("last Friday", "2026-03-13", "no"),
    ],
)
def test_relative_dates_count_from_the_reference_date(said: str, value: str, verdict: str) -> None:
    options = Grounding(reference_date="2026-03-11")  # a Wednesday
    answer = ask(f"due {said}.", value, "date", options=options)
    assert answer.verdict == verdict
    assert answer.matched in ("", said)


def test_a_reference_date_at_the_end_of_the_calendar_reads_what_exists() -> None:
    options = Grounding(reference_date="9999-12-31")
    assert ask("tomorrow or today", "9999-12-31", "date", options=options).matched == "today"


def test_a_reference_date_that_is_none_is_an_error_of_the_caller() -> None:
    with pytest.raises(UsageError, match="ISO date"):
        ask("x", "x", "text", options=Grounding(reference_date="Friday"))


def test_a_date_claim_that_is_no_date_is_looked_for_as_words() -> None:
    assert ask("due on receipt", "on receipt", "date").matched == "on receipt"


def test_years_of_dates_in_digits_are_known() -> None:
    index = DateIndex("06/03/2026, 2026-03-07 and 6 March 2026")
    assert list(index.years(2026)) == [(6, 10), (12, 16), (35, 39)]
    assert index.years(1999) == ()


DAYS = st.dates(min_value=date(1000, 1, 1), max_value=date(2999, 12, 31))
FORMS = (
    "{0:%Y-%m-%d}",
    "{0.day} {0:%B} {0.year}",
    "{0:%B} {0.day}, {0.year}",
    "{0.day:02}-{0:%b}-{0.year}",
    "{0.year}年{0.month}月{0.day}日",
    "{0.day:02}.{0.month:02}.{0.year}",
)


@given(day=DAYS, form=st.sampled_from(FORMS), before=st.sampled_from(["", "on ", "(", "Date:\n"]))
def test_a_planted_date_is_found_with_its_span(day: date, form: str, before: str) -> None:
    written = form.format(day)
    answer = ask(f"{before}{written}; end", day.isoformat(), "date")
    assert (answer.verdict, answer.matched, answer.at) == ("yes", written, len(before))


@given(day=DAYS, other=DAYS, form=st.sampled_from(FORMS))
def test_another_date_is_not_found(day: date, other: date, form: str) -> None:
    if day != other:
        assert ask(f"on {form.format(day)}", other.isoformat(), "date").verdict != "yes"


@pytest.mark.parametrize(
    ("text", "day", "matched"),
    [
        ("on July the 20th 1992.", "1992-07-20", "July the 20th 1992"),
        ("\u4ee4\u548c8\u5e743\u67086\u65e5", "2026-03-06", "\u4ee4\u548c8\u5e743\u67086\u65e5"),
        (
            "\u5e73\u6210\u5143\u5e741\u67088\u65e5",
            "1989-01-08",
            "\u5e73\u6210\u5143\u5e741\u67088\u65e5",
        ),
        ("den 6 maj 2026", "2026-05-06", "6 maj 2026"),
        ("31 Ogos 2018", "2018-08-31", "31 Ogos 2018"),
    ],
)
def test_days_in_further_forms(text: str, day: str, matched: str) -> None:
    answer = ask(text, day, "date")
    assert (answer.matched, answer.plain) == (matched, True)


@pytest.mark.parametrize("text", ["on 16th of June", "June 16th", "16 Jun, at noon", "and 16 June"])
def test_a_day_without_a_year_is_not_precise(text: str) -> None:
    assert ask(text, "2022-06-16", "date").codes == ("date_precision",)
    assert ask(text, "2022-06-17", "date").codes == ("not_in_source",)


def test_a_day_of_another_year_is_another_day() -> None:
    assert ask("16th of June 2021", "2022-06-16", "date").codes == ("not_in_source",)


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("6 \u043c\u0430\u0440\u0442\u0430 2026", None),
        ("6 \u03bc\u03b1\u03c1\u03c4\u03af\u03bf\u03c5 2026", None),
        ("6 marca 2026", "pl"),
        ("6. b\u0159ezna 2026", "cs"),
        ("6. maaliskuuta 2026", "fi"),
        ("6 Mart 2026", "tr"),
        ("2026. m\u00e1rcius 6.", "hu"),
        ("6 martie 2026", "ro"),
    ],
)
def test_months_have_names_in_the_language_of_the_locale(text: str, locale: str | None) -> None:
    answer = ask(text, "2026-03-06", "date", options=Grounding(locale=locale))
    assert answer.matched.rstrip(".") == text.rstrip(".")


@pytest.mark.parametrize(
    "text",
    [
        "15 marca 2024", "15. b\u0159ezna 2024", "15. o\u017eujka 2024", "15. marca 2024",
        "15. marec 2024", "15 martie 2024", "2024 m. kovo 15 d.", "15. maaliskuuta 2024",
        "2024. m\u00e1rcius 15.", "15 Mart 2024", "15 Mac 2024", "15 de mar\u00e7 de 2024",
        "15. m\u00e4rts 2024", "15. marts 2024", "15. mars 2024",
        "15 \u043c\u0430\u0440\u0442\u0430 2024",
        "15 \u0431\u0435\u0440\u0435\u0437\u043d\u044f 2024",
        "15 \u039c\u03b1\u03c1\u03c4\u03af\u03bf\u03c5 2024", "15 \u05d1\u05de\u05e8\u05e5 2024",
        "ng\u00e0y 15 th\u00e1ng 3 n\u0103m 2024",
    ],
)  # fmt: skip
def test_months_are_read_in_many_languages_without_a_locale(text: str) -> None:
    assert ask(f"Date: {text}", "2024-03-15", "date").plain
    assert ask(f"Date: {text}", "2024-03-16", "date").verdict == "no"


def test_a_name_that_two_languages_give_to_two_months_needs_the_locale() -> None:
    text = "6 listopada 2026"
    for day in ("2026-10-06", "2026-11-06"):
        assert ask(text, day, "date").codes == ("ambiguous_date",)
    polish, croatian = Grounding(locale="pl"), Grounding(locale="hr")
    assert ask(text, "2026-11-06", "date", options=polish).plain
    assert ask(text, "2026-10-06", "date", options=polish).verdict == "no"
    assert ask(text, "2026-10-06", "date", options=croatian).plain
    assert ask("2026-01-06", "6 stycznia 2026", "text", options=polish).plain
    assert ask("6 pa\u017adziernika 2026", "2026-10-06", "date", options=polish).plain


@pytest.mark.parametrize(
    "text", ["15 blurb 2024", "2024. blurb 15.", "15 \u092e\u093e\u0930\u094d\u091a 2024"]
)
def test_a_day_with_an_unread_word_is_not_called_missing(text: str) -> None:
    answer = ask(f"On {text} we met", "2024-03-15", "date")
    assert answer.codes == ("not_in_source",)
    assert "in words that are not read" in answer.report.findings[0].message
    other = ask(f"On {text} we met", "2024-03-16", "date")
    assert other.codes == ("date_precision",)


def test_a_read_month_is_never_an_unread_word() -> None:
    answer = ask("15 April 2024, in all of 2024", "2024-03-15", "date")
    assert "only the year 2024" in answer.report.findings[0].message


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("4-6 March 2024", "4-6 March 2024", "6 March 2024"),
        ("4 \u2013 6 March 2024", "4 \u2013 6 March 2024", "6 March 2024"),
        ("from 4 to 6 March 2024", "4 to 6 March 2024", "6 March 2024"),
        ("4. bis 6. M\u00e4rz 2024", "4. bis 6. M\u00e4rz 2024", "6. M\u00e4rz 2024"),
        (
            "from the 4th to the 6th of March, 2024",
            "4th to the 6th of March, 2024",
            "6th of March, 2024",
        ),
        ("4 March to 6 March 2024", "4 March to 6 March 2024", "6 March 2024"),
        ("March 4-6, 2024", "March 4-6, 2024", "March 4-6, 2024"),
        ("March 4th to 6th, 2024", "March 4th to 6th, 2024", "March 4th to 6th, 2024"),
        ("March 4 - March 6, 2024", "March 4 - March 6, 2024", "March 6, 2024"),
    ],
)
def test_both_ends_of_a_range_are_found(text: str, first: str, last: str) -> None:
    for day, matched in (("2024-03-04", first), ("2024-03-06", last)):
        answer = ask(f"Open {text}.", day, "date")
        assert (answer.verdict, answer.matched) == ("yes", matched)
    assert ask(f"Open {text}.", "2024-03-05", "date").verdict == "no"


def test_a_range_goes_on_in_its_year() -> None:
    text = "28 February - 3 March 2024"
    assert ask(text, "2024-02-28", "date").plain
    assert ask("28 December - 3 January 2024", "2024-12-28", "date").verdict == "no"
    assert ask("9-6 March 2024", "2024-03-09", "date").verdict == "no"
    assert ask("31-6 March 2024 and 30 to 31 April 2024", "2024-04-30", "date").verdict == "no"
    assert ask("rooms 3-4-6 March 2024", "2024-03-04", "date").verdict == "no"


def test_a_letter_that_grows_in_small_letters_moves_no_date() -> None:
    answer = ask("\u0130zmir, 6 Mart 2026", "2026-03-06", "date")
    assert (answer.verdict, answer.matched) == ("yes", "6 Mart 2026")


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("A4 March 2024", "2024-03-04", "no"),
        ("see X4 March 2024", "2024-03-04", "no"),
        ("B12 4-A4 March 2024", "2024-03-04", "no"),
        ("Rev14 March 2024", "2024-03-14", "flagged"),
        ("No.4 March 2024", "2024-03-04", "flagged"),
        ("DATE04-MAR-24", "2024-03-04", "flagged"),
        ("file_4 March 2024", "2024-03-04", "no"),
        ("file_04-Mar-2024.txt", "2024-03-04", "yes"),
        ("report_2024-03-04.pdf", "2024-03-04", "yes"),
        ("於4 March 2024", "2024-03-04", "yes"),
        ("10:14 March 2024", "2024-03-14", "no"),
        ("$4 March 2024", "2024-03-04", "no"),
        ("Item 4\n\nMarch 2024", "2024-03-04", "no"),
        ("on 4 March\n\n2024 was", "2024-03-04", "no"),
        ("on 4\nMarch\n2024", "2024-03-04", "yes"),
        ("2024 March 14,000 units", "2024-03-14", "no"),
        ("2024 March 4th", "2024-03-04", "yes"),
        ("4 March 2024 March 5 2025", "2024-03-05", "no"),
        ("4 March 2024 March 5, then", "2024-03-05", "no"),
        ("4 March 2024 March 5 2025", "2025-03-05", "yes"),
    ],
)
def test_a_day_is_not_cut_out_of_something_longer(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "date").verdict == verdict


@pytest.mark.parametrize(
    "text",
    [
        "2024／03／04", "04．03．2024", "2024‑03‑04", "2024–03–04", "2024‐03‐04",
        "4 Ｍａｒｃｈ 2024", "4\u200b March 2024", "4 Ma\u00adrch 2024", "4 Mar-\nch 2024",
        "4 Ma\u00ad\nrch 2024", "4 März 2024", "4 Ma\u0308rz 2024",
        "2024\u1102\u1167\u11ab 3\u110b\u116f\u11af 4\u110b\u1175\u11af", "4 мар. 2024",
        "Mon Mar  4 21:13:05 2024", "Mon Mar 04 21:13:05 +0000 2024", "[04/Mar/2024:21:13:05]",
        "20240304T211305Z", "2024-W10-1", "2024W101", "4 March 2024,10:00",
        "the fourth of March 2024", "this fourth (4th) day of March, 2024", "March fourth, 2024",
    ],
)  # fmt: skip
def test_a_day_is_found_in_any_dress(text: str) -> None:
    answer = ask(f"x; {text}; y", "2024-03-04", "date")
    assert answer.plain
    assert answer.matched in text
    assert ask(f"x; {text}; y", "2024-03-05", "date").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("the twenty-first of March 2026", "2026-03-21", "yes"),
        ("le premier mars 2026", "2026-03-01", "yes"),
        ("the second March 2026 meeting", "2026-03-02", "flagged"),
        ("the thirty-first of April 2026", "2026-04-30", "no"),
        ("2026-W60-1", "2026-03-01", "no"),
        ("4 ott 2024", "2024-10-04", "yes"),
        ("4 set 2024", "2024-09-04", "flagged"),
        ("4 out 2024", "2024-10-04", "flagged"),
        ("4. Jänner 2024", "2024-01-04", "yes"),
        ("4 fév. 2024", "2024-02-04", "yes"),
        ("3, 4 and 5 March 2024", "2024-03-03", "flagged"),
        ("3, 4 and 5 March 2024", "2024-03-04", "yes"),
        ("9, 4 and 5 March 2024", "2024-03-09", "no"),
    ],
)
def test_days_in_words_in_lists_and_with_short_months(text: str, value: str, verdict: str) -> None:
    assert ask(text, value, "date").verdict == verdict


def test_a_short_month_is_sure_in_its_language() -> None:
    assert ask("4 set 2024", "2024-09-04", "date", options=Grounding(locale="it")).plain
    assert ask("4 out 2024", "2024-10-04", "date", options=Grounding(locale="pt")).plain


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-04/2024-03-05", "2024-03-04-2024-03-05", "04.03.2024-05.03.2024",
        "04.03.2024–05.03.2024", "2024/03/04-2024/03/05",
    ],
)  # fmt: skip
def test_both_ends_of_a_range_in_digits_are_found(text: str) -> None:
    for day in ("2024-03-04", "2024-03-05"):
        assert ask(f"from {text}.", day, "date").plain


@pytest.mark.parametrize(
    "text", ["04-03-2024-7", "7-04-03-2024", "1.2.04.03.2024", "04.03.24-7.8.24"]
)
def test_a_number_that_goes_on_is_no_range(text: str) -> None:
    assert ask(text, "2024-03-04", "date").verdict == "no"


def test_points_put_the_day_first_even_where_a_locale_does_not() -> None:
    american = Grounding(locale="en_US")
    for day in ("2026-03-06", "2026-06-03"):
        assert ask("06.03.2026", day, "date", options=american).codes == ("ambiguous_date",)
    assert ask("25.03.2026", "2026-03-25", "date", options=american).plain
    assert ask("03.25.2026", "2026-03-25", "date", options=american).plain


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("the day after tomorrow", {"2026-03-13"}),
        ("the day before yesterday", {"2026-03-09"}),
        ("a week from tomorrow", set[str]()),
        ("two days after tomorrow", set[str]()),
        ("tomorrow week", set[str]()),
        ("the week before last Friday", set[str]()),
        ("not before tomorrow", {"2026-03-12"}),
        ("from today on", {"2026-03-11"}),
    ],
)
def test_what_counts_from_a_relative_day_is_another_one(said: str, days: set[str]) -> None:
    options = Grounding(reference_date="2026-03-11")
    asked = [f"2026-03-{day:02}" for day in range(1, 29)]
    assert {day for day in asked if ask(said, day, "date", options=options).matched} == days


def test_a_range_of_days_across_a_soft_line_end_keeps_its_offsets() -> None:
    text = "Das Feb-\nruar-Treffen: 4 Ma\u0308rz 2024 und M\u00e4rz 2025, Jahr 2024"
    answer = ask(text, "2024-03-04", "date")
    assert (answer.matched, answer.at) == ("4 Ma\u0308rz 2024", text.index("4 Ma"))
    assert ask(text, "März 2025", "text").matched == "M\u00e4rz 2025"
    index = DateIndex(text)
    assert [text[start:end] for start, end in index.years(2024)] == ["2024"]
    assert [text[start:end] for start, end in index.months(2025, 3)] == ["M\u00e4rz 2025"]
    assert ask("a\u200bb 5 March 2026", "2026-03-12", "date").codes == ("not_in_source",)
