"""Strings that say a number, an amount, a date or a time that the text writes otherwise."""

from __future__ import annotations

import pytest

from extractkit.results import Grounding
from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("Total 7,838.80 due", "7838.80", "7,838.80"),
        ("Total 7838.80 due", "7,838.80", "7838.80"),
        ("Total 7 838,80 kr", "7838,80", ""),
        ("Total 8 due", "8.00", ""),
        ("No. 008", "8", ""),
        ("Total 1.234", "1234", ""),
        ("weighs 5 kilograms net", "5 kg", "5 kilograms"),
        ("weighs 5 kilograms net", "5 g", ""),
        ("weighs 15 kilograms net", "5 kg", ""),
        ("a 12-month term", "12 months", "12-month"),
        ("only \u20ac100.", "EUR 100", "\u20ac100"),
        ("only 100 EUR.", "\u20ac100", "100 EUR"),
        ("pay RM33.90", "33.90 MYR", "RM33.90"),
        ("pay $5", "5 USD", ""),
        ("pay 5 $", "$5", "5 $"),
        ("rose 48 per cent", "48%", "48 per cent"),
        ("rose 48 points", "48%", ""),
        ("at -5 kilograms now", "-5 kg", "-5 kilograms"),
        ("in a year.\n5 of", "5 years", ""),
        ("5 kilowatt hours used", "5 kWh", "5 kilowatt hours"),
        ("signed March 6, 2026", "6 March 2026", "March 6, 2026"),
        ("signed 6 March 2026", "2026-03-06", "6 March 2026"),
        ("signed 6 March 2026", "2026-03-07", ""),
        ("signed 25/03/2026", "25 March 2026", "25/03/2026"),
        ("at 9:13 pm sharp", "21:13", "9:13 pm"),
        ("on 6 March 2026 at 9:13 pm", "2026-03-06T21:13", "6 March 2026 at 9:13 pm"),
        ("at 21:13 sharp", "9:13 PM", "21:13"),
        ("at 21:13:05 sharp", "a 9:13 PM x", ""),
        ("signed 6 March 2026", "2026-13-06", ""),
        ("x", "6 kg", ""),
        ("x" * 80, "1" * 70, ""),
    ],
)
def test_a_string_is_found_by_what_it_is_worth(text: str, value: str, matched: str) -> None:
    answer = ask(text, value, "text")
    assert (answer.matched, answer.grade if matched else "none") == (
        matched,
        "normalised" if matched else "none",
    )


def test_a_day_that_a_string_makes_up_is_named() -> None:
    answer = ask("signed in March 2026", "2026-03-01", "text")
    assert answer.codes == ("date_precision",)
    answer = ask("on 16th of June", "2026-06-16", "date")
    assert answer.codes == ("date_precision",)
    assert "only the day 06-16 without a year" in answer.report.findings[0].message


def test_a_date_in_digits_is_read_in_the_order_of_the_locale() -> None:
    german = Grounding(locale="de")
    assert ask("am 6. M\u00e4rz 2026", "06.03.2026", "text", options=german).matched
    assert ask("on 6 March 2026", "03/06/2026", "text").verdict == "no"


def test_the_kind_of_a_claim_is_kept() -> None:
    assert ask("two, three", 2, "number").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("since Mar 2024", "March 2024", "Mar 2024"),
        ("since March, 2024", "Mar. 2024", "March, 2024"),
        ("in 03/2024", "March 2024", "03/2024"),
        ("2024\u5e743\u6708", "March 2024", "2024\u5e743\u6708"),
        ("marzec 2024", "March 2024", "marzec 2024"),
        ("6 March 2024", "Mar 2024", ""),
        ("Mar 2025, 2024", "March 2024", ""),
        ("Mar 2024", "Item 2024", ""),
    ],
)
def test_a_month_is_found_by_its_other_names(text: str, value: str, matched: str) -> None:
    assert ask(text, value, "text").matched == matched
