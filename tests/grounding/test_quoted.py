from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding.quoted import is_quantity
from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("-48.00", "48.00", "ambiguous_number"),
        ("(48.00)", "48.00", "ambiguous_number"),
        ("48.00-", "48.00", "ambiguous_number"),
        ("48.00 CR", "48.00", "ambiguous_number"),
        ("minus 5", "5", "ambiguous_number"),
        ("-$5", "$5", "ambiguous_number"),
        ("-$5 million", "$5 million", "ambiguous_number"),
        ("($5)", "$5", "ambiguous_number"),
        ("-5.00 EUR", "5.00 EUR", "ambiguous_number"),
        ("-EUR 100", "EUR 100", "ambiguous_number"),
        ("12 345 pieces", "345", "ambiguous_number"),
        ("12 345 pieces", "12", "ambiguous_number"),
        ("5M users", "5", "ambiguous_number"),
        ("1 \u00bd cups", "1", "ambiguous_number"),
        ("48%", "48", "unit_mismatch"),
        ("48 per cent", "48", "unit_mismatch"),
        ("$48 million", "$48", "unit_mismatch"),
        ("48k", "48", "unit_mismatch"),
        ("7,838.80%", "7838.80", "unit_mismatch"),
        ("\uff0d48", "48", "ambiguous_number"),
        ("\u25b248", "48", "ambiguous_number"),
        ("-48 rooms", "48 rooms", "ambiguous_number"),
        ("-5 \u00b0C", "5 \u00b0C", "ambiguous_number"),
        ("(5)%", "5%", "ambiguous_number"),
        ("5 m\u00b2", "5 m", "ambiguous_number"),
        ("5 m^2", "5 m", "ambiguous_number"),
        ("HK$5", "$5", "ambiguous_number"),
        ("R$5", "$5", "ambiguous_number"),
        ("2 1/2 cups", "2 cups", "ambiguous_number"),
        ("2 1/2 cups", "1/2 cups", "ambiguous_number"),
        ("3 1/2 cups", "3", "ambiguous_number"),
        ("room 48a", "48", "ambiguous_number"),
        ("Coffee x2", "2", "ambiguous_number"),
        ("14.99SR", "14.99", "ambiguous_number"),
    ],
)
def test_a_quoted_number_that_is_less_than_its_place_is_doubtful(
    text: str, value: str, code: str
) -> None:
    answer = ask(f"Paid {text} in all", value, "text")
    assert (answer.verdict, answer.codes) == ("flagged", (code,))
    assert answer.report.count.failed == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("48.00", "48.00"),
        ("-48.00", "-48.00"),
        ("48%", "48%"),
        ("$48 million", "$48 million"),
        ("(48)", "48"),
        ("- 48 apples", "48"),
        ("- 48.00", "- 48.00"),
        ("RM9.00", "9.00"),
        ("555-123-4567", "555"),
        ("2026-03-06", "2026"),
        ("report_48.pdf", "48"),
        ("12 345 pieces", "12 345"),
        ("12 34", "12"),
        ("12 345 678", "12 345 678"),
        ("room 12 (second floor)", "12"),
        ("5 apples -3 pears", "5 apples"),
        ("-Hauptstrasse 12", "Hauptstrasse 12"),
        ("...50", "50"),
        ("No.48", "48"),
        ("US$5", "$5"),
        ("HK$5", "HK$5"),
        ("1/2 cups", "1/2 cups"),
        ("24/7 days", "7 days"),
        ("room 5, 24/7", "24/7"),
    ],
)
def test_a_quoted_number_that_is_all_of_its_place_is_plain(text: str, value: str) -> None:
    assert ask(f"see {text} here", value, "text").verdict == "yes"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".5", "5"),
        ("48^2", "48"),
        ("48\u00b75", "48"),
        ("48\u20445", "48"),
        ("48\u066b5", "48"),
        ("0x48", "48"),
        ("1.5e3", "1.5"),
        ("6.02E+48", "48"),
        ("5e5", "5"),
        ("48E-3", "48"),
    ],
)
def test_a_quoted_number_is_never_a_part_of_a_longer_one(text: str, value: str) -> None:
    assert ask(f"is {text} here", value, "text").verdict == "no"


def test_one_plain_place_is_enough() -> None:
    answer = ask("-48.00 and 48.00 and .5", "48.00", "text")
    assert (answer.verdict, answer.at) == ("yes", 11)
    assert len(answer.report.evidence["/x"].candidates) == 2


def test_the_name_of_a_field_tells_the_unit_of_a_quoted_number() -> None:
    assert ask("VAT 20%", "20", "text", pointer="/vat_percent").verdict == "yes"
    assert ask("VAT 20%", "20", "text", pointer="/vat").codes == ("unit_mismatch",)


def test_quantities_are_numbers_and_amounts_only() -> None:
    for value in (
        "1/2 cup",
        "5 \u00b0C",
        "5",
        "-5.00",
        "$5",
        "EUR 100",
        "5 kg",
        "48%",
        "$5 million",
        "12 345",
        "5 apples",
    ):
        assert is_quantity(value)
    for value in ("", "Item 48", "5 fine apples", "Acme", "2026-03-06", "5" * 50, "10:30"):
        assert not is_quantity(value)


@given(
    number=st.decimals(1, 99999, places=2),
    form=st.sampled_from(["-{}", "\u2212{}", "({})", "{}-", "{} %", "{} million", "$-{}", "{}DR"]),
)
def test_no_quoted_number_is_plain_where_more_belongs_to_it(number: object, form: str) -> None:
    text = f"total {form.format(number)}\nend"
    assert ask(text, str(number), "text").verdict != "yes"
