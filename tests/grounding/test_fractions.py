from __future__ import annotations

from decimal import localcontext

import pytest

from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("add \u00bd cup", 0.5, "\u00bd"),
        ("add 1\u00bd cups", 1.5, "1\u00bd"),
        ("add 1 \u00bd cups", 1.5, "1 \u00bd"),
        ("at -\u00be", -0.75, "-\u00be"),
        ("add 1\u20444 cup", 0.25, "1\u20444"),
        ("\u215b in", 0.125, "\u215b"),
        ("add 2 1/2 cups", 2.5, "2 1/2"),
        ("12 1/2 inches", 12.5, "12 1/2"),
        ("2-1/2 in", 2.5, "2-1/2"),
    ],
)
def test_a_fraction_is_found_by_its_value(text: str, value: float, matched: str) -> None:
    with localcontext() as context:
        context.prec = 1
        answer = ask(text, value, "number")
    assert (answer.verdict, answer.matched) == ("yes", matched)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1\u00bd", 0.5),
        ("1\u00bd", 1),
        ("\u2153", 0.33),
        ("\u2154", 0.66666666666666666667),
        ("1\u20440", 1),
        ("\u00bd %", 0.5),
        ("\u00bd million", 0.5),
        ("(\u00bd)", 0.5),
        ("x\u00bd", 0.5),
        ("1.1\u00bd", 1.5),
        ("\u00bdx", 0.5),
        ("\u00bd_", 0.5),
        ("minus \u00bd", 0.5),
        ("open 3 24/7", 3.5),
        ("2 1/3", 2.33),
        ("2 1/2/2024", 2.5),
        ("2 1/2 million", 2.5),
    ],
)
def test_what_is_no_plain_fraction_is_not(text: str, value: float) -> None:
    assert ask(text, value, "number").verdict == "no"
