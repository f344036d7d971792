from __future__ import annotations

from datetime import date, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import Grounding
from extractkit.errors import UsageError
from extractkit.grounding.stated import Stated, stated


def facts(text: str, **options: str) -> Stated:
    return stated(text, Grounding(**options))  # type: ignore[arg-type]  # only locale and date


def test_numbers_are_listed_with_the_digits_of_the_text() -> None:
    assert list(map(str, facts("RM 1,048.50, (3.00) or 6%").numbers)) == [
        "1048.50", "-3.00", "3.00", "6", "0.06",
    ]  # fmt: skip


def test_numbers_in_words_are_listed_where_they_are_asked_for() -> None:
    pytest.importorskip("text_to_num")
    text = "three hundred bolts and 5 nuts"
    assert facts(text).numbers == (Decimal(5),)
    assert stated(text, Grounding(spelled=True)).numbers == (Decimal(5), Decimal(300))


def test_both_readings_of_an_ambiguous_number_are_listed_unless_the_language_is_known() -> None:
    assert set(facts("1.234").numbers) == {Decimal(1234), Decimal("1.234")}
    assert facts("1.234", locale="de").numbers == (Decimal(1234),)


def test_the_year_of_a_date_is_a_number_too_and_its_day_is_not() -> None:
    assert facts("on 25/12/2018").numbers == (Decimal(2018),)
    assert facts("on 25/12/2018 and in 2018").numbers == (Decimal(2018),)


def test_days_and_times_are_listed_as_they_can_be_read() -> None:
    found = facts("03/06/2026 at 8:13 PM, 10:00:05.25 +02:00")
    assert found.dates == (date(2026, 3, 6), date(2026, 6, 3))
    assert found.times == ((time(20, 13), None), (time(10, 0, 5, 250000), 7200))


def test_relative_days_count_from_the_reference() -> None:
    assert facts("due tomorrow").dates == ()
    assert facts("due tomorrow", reference_date="2026-03-06").dates == (date(2026, 3, 7),)


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("No. 5, x", ["No", ".", " ", "5", ",", " ", "x"]),
        ("1,048.50 O'Key", ["1,048.50", " ", "O", "'", "Key"]),
        ("東京5", ["東", "京", "5"]),
        ("a👍🏽b", ["a", "👍🏽", "b"]),
        ("x\n\n y", ["x", "\n\n ", "y"]),
        ("e\u0301a b", ["e\u0301a", " ", "b"]),
        ("Co\u00ad\nop up", ["Co\u00ad\nop", " ", "up"]),
        ("million№5", ["million№", "5"]),
        ("x .5 y", ["x", " ", ".5", " ", "y"]),
        ("at 5.", ["at", " ", "5", "."]),
        ("", [""]),
    ],
)
def test_the_text_is_cut_where_a_value_may_begin_and_end(text: str, chunks: list[str]) -> None:
    assert list(facts(text).chunks) == chunks


@given(st.text(max_size=40))
def test_the_chunks_are_the_text(text: str) -> None:
    assert "".join(facts(text).chunks) == text


def test_digits_beside_letters_are_listed_where_they_stand_as_a_number() -> None:
    assert facts("RM9.00 and RM9.00, AB48 and EUR7").glued == ("9.00", "7")


def test_digits_of_a_number_that_goes_on_are_no_text_by_themselves() -> None:
    assert facts("rate 5e5, $48.00e5, 007e5").glued == ()


def test_it_says_of_values_whether_they_are_stated() -> None:
    assert facts("paid in CASH, 5").states(["cash", "card", "5"], "text") == (True, False, True)
    assert facts("paid in CASH, 5").states([5, 7.5], "number") == (True, False)


def test_options_that_cannot_be_used_are_refused_at_once() -> None:
    with pytest.raises(UsageError, match="locale"):
        facts("x", locale="xx")
    with pytest.raises(UsageError, match="reference_date"):
        facts("x", reference_date="soon")


def test_months_in_the_language_of_the_locale_are_stated() -> None:
    text = "6 listopada 2026"
    assert stated(text, Grounding(locale="pl")).dates == (date(2026, 11, 6),)
    assert stated(text, Grounding(locale="hr")).dates == (date(2026, 10, 6),)
    assert stated("4-6 March 2024", Grounding()).dates == (date(2024, 3, 4), date(2024, 3, 6))


def test_fractions_are_stated() -> None:
    text = "1\u00bd cups, -\u00bc"
    found = facts(text)
    assert found.numbers == (Decimal("1.5"), Decimal("-0.25"))
    assert found.states([1.5, -0.25, 1], "number") == (True, True, False)
