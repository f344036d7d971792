from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("Balance 48.00-", -48, "48.00-"),
        ("48,00\u2212 |", -48, "48,00\u2212"),
        ("Balance: - 48.00", -48, "- 48.00"),
        ("(- $48)", -48, "- $48"),
        ("minus 5", -5, "minus 5"),
        ("Minus $5.50", -5.5, "Minus $5.50"),
        ("10 - 48.00", 48, "48.00"),
        ("10.00 EUR - 48.00 EUR", 48, "48.00"),
        ("$10 - $48", 48, "48"),
        ("- 48 apples", 48, "48"),
        ("48- hour", 48, "48"),
        ("48.00 credits", 48, "48.00"),
        ("5.00 Dr. Roe", 5, "5.00"),
        ("cosminus 5", 5, "5"),
        ("\uff0d48", -48, "\uff0d48"),
        ("\ufe6348", -48, "\ufe6348"),
        ("\u201148", -48, "\u201148"),
        ("\u207b48", -48, "\u207b48"),
        ("\u279648", -48, "\u279648"),
        ("-\u200e48", -48, "-\u200e48"),
        ("(1,234 )", -1234, "(1,234 )"),
        ("( 1,234.50 )", -1234.5, "( 1,234.50 )"),
        ("$ (56 )", -56, "(56 )"),
        ("| (1,234 | )", -1234, "(1,234 | )"),
        ("\uff081,234\uff09", -1234, "\uff081,234\uff09"),
        ("(225 )%", -2.25, "(225 )%"),
        ("(1.2) million", -1_200_000, "(1.2) million"),
        ("48.00\u20ac-", -48, "48.00\u20ac-"),
        ("48.00 EUR-", -48, "48.00 EUR-"),
        ("RM-9.00", -9, "-9.00"),
        ("Total.....-48", -48, "-48"),
        ("Total__-48", -48, "-48"),
        ("minus EUR 5", -5, "minus EUR 5"),
        ("+/-5", 5, "5"),
        ("Total in EUR (1)", 1, "1"),
        ("CHF 48.-", 48, "48"),
        ("5.\u201310. May", 10, "10"),
        ("10 USD-12 USD", 10, "10"),
        ("10.00 EUR - 48.00 EUR", 10, "10.00"),
    ],
)
def test_a_plain_sign_belongs_to_its_number(text: str, value: float, matched: str) -> None:
    answer = ask(text, value, "number")
    assert (answer.verdict, answer.matched) == ("yes", matched)


@pytest.mark.parametrize(
    ("text", "negative"),
    [
        ("- 48.00", "flagged"),
        ("Balance - 48.00", "flagged"),
        ("- $48", "flagged"),
        ("$ - 48", "flagged"),
        ("48.00 CR", "flagged"),
        ("48.00DR", "flagged"),
        ("48.00- 50.00", "flagged"),
        ("48-\nhour", "flagged"),
        ("10 minus 48", "flagged"),
        ("Options: - 48 apples", "flagged"),
        ("\u25b248", "flagged"),
        ("\u5024\u5f15\u25b348", "flagged"),
        ("\u201248", "flagged"),
        ("100/-48", "flagged"),
        ("--48", "flagged"),
        ("5 -48", "flagged"),
        ("USD-48", "flagged"),
        ("\u5408\u8a08-48", "flagged"),
        ("48.00 -", "flagged"),
        ("48.00 \u2212 | x", "flagged"),
        ("48.00\u2013", "flagged"),
        ("(48 )", "flagged"),
        ("48 CR", "flagged"),
        ("48.00 (CR)", "flagged"),
        ("$ (48)", "yes"),
        ("48 \u20ac-", "yes"),
        ("48.00-", "yes"),
        ("minus 48", "yes"),
        ("= - 48.00", "yes"),
    ],
)
def test_beside_what_may_be_a_sign_the_plain_number_is_doubtful(text: str, negative: str) -> None:
    assert ask(text, -48, "number").verdict == negative
    plain = ask(text, 48, "number")
    assert (plain.verdict, plain.codes) == ("flagged", ("ambiguous_number",))


@given(
    number=st.decimals(1, 99999, places=2),
    form=st.sampled_from(
        [
            "-{}",
            "\u2212{}",
            "({})",
            "- {}",
            "{}-",
            "minus {}",
            "-${}",
            "$-{}",
            "{} CR",
            "(${})",
            "\uff0d{}",
            "\u2011{}",
            "\u2012{}",
            "\u25b2{}",
            "({} )",
            "( {} )",
            "$ ({} )",
            "({})%",
            "{} -",
            "{}\u20ac-",
            "{} (CR)",
            "EUR-{}",
            "0.50,-{}",
            "a,-{},b",
            "[-{}]",
            "...-{}",
        ]
    ),
)
def test_no_number_with_a_sign_is_plainly_the_one_without(number: object, form: str) -> None:
    text = f"total {form.format(number)}\nend"
    assert ask(text, str(number), "number").verdict != "yes"
    assert ask(text, f"-{number}", "number").verdict != "no"
