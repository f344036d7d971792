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
        ["-{}", "\u2212{}", "({})", "- {}", "{}-", "minus {}", "-${}", "$-{}", "{} CR", "(${})"]
    ),
)
def test_no_number_with_a_sign_is_plainly_the_one_without(number: object, form: str) -> None:
    text = f"total {form.format(number)}\nend"
    assert ask(text, str(number), "number").verdict != "yes"
    assert ask(text, f"-{number}", "number").verdict != "no"
