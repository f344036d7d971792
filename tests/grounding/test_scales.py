from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding.compounds import compounds_at
from extractkit.grounding.scales import SCALES
from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "bare", "value", "matched"),
    [
        ("48\u2011million", 48, 48e6, "48\u2011million"),
        ("48 (million)", 48, 48e6, "48 (million)"),
        ("48 (in million)", 48, 48e6, "48 (in million)"),
        ("1,5 \u043c\u043b\u043d \u0440\u0443\u0431", 1.5, 1.5e6, "1,5 \u043c\u043b\u043d"),
        ("48 \u0442\u044b\u0441.", 48, 48e3, "48 \u0442\u044b\u0441"),
        ("48 TEUR", 48, 48e3, "48 T"),
        ("48 T\u20ac", 48, 48e3, "48 T"),
        ("5 M\u20ac", 5, 5e6, "5 M"),
        ("5 Md\u20ac", 5, 5e9, "5 Md"),
        ("5 k\u20ac", 5, 5e3, "5 k"),
        ("$5 M", 5, 5e6, "5 M"),
        ("$5 T", 5, 5e12, "5 T"),
        ("5 MUSD", 5, 5e6, "5 M"),
        ("TEUR 48", 48, 48e3, "48"),
        ("M\u20ac 5", 5, 5e6, "5"),
        ("Mio. EUR 5", 5, 5e6, "5"),
        ("$5 m", 5, 5e6, "5 m"),
        ("5 mld", 5, 5e9, "5 mld"),
        ("48 lacs", 48, 48e5, "48 lacs"),
        ("48 milion\u016f", 48, 48e6, "48 milion\u016f"),
        ("3 hundred", 3, 300, "3 hundred"),
        ("5 hundred thousand", 5, 5e5, "5 hundred thousand"),
        ("5\u767e\u4e07\u5186", 5, 5e6, "5\u767e\u4e07"),
        ("48\ucc9c\uc6d0", 48, 48e3, "48\ucc9c"),
        ("48\uc870 \uc6d0", 48, 48e12, "48\uc870"),
        ("1.5 \u00d7 10^6", 1.5, 1.5e6, "1.5 \u00d7 10^6"),
        ("1.5\u00d710\u00b3", 1.5, 1500, "1.5\u00d710\u00b3"),
        ("1.5x10^3", 1.5, 1500, "1.5x10^3"),
        ("1.5 * 10**-3", 1.5, 0.0015, "1.5 * 10**-3"),
        ("1.5\u00b710\u207b\u00b3", 1.5, 0.0015, "1.5\u00b710\u207b\u00b3"),
        ("48 Prozent", 48, 0.48, "48 Prozent"),
        ("48 por ciento", 48, 0.48, "48 por ciento"),
        ("48  %", 48, 0.48, "48  %"),
        ("48\t%", 48, 0.48, "48\t%"),
        ("48\u30d1\u30fc\u30bb\u30f3\u30c8", 48, 0.48, "48\u30d1\u30fc\u30bb\u30f3\u30c8"),
        ("48\u2030", 48, 0.048, "48\u2030"),
    ],
)
def test_a_bare_number_is_not_what_is_counted(
    text: str, bare: float, value: float, matched: str
) -> None:
    scaled = ask(text, value, "number")
    assert (scaled.verdict, scaled.matched) == ("yes", matched)
    assert ask(text, bare, "number").codes == ("unit_mismatch",)


@pytest.mark.parametrize(
    ("text", "bare", "value"),
    [
        ("$48\nmillion", 48, 48e6),
        ("48 mil euros", 48, 48e3),
        ("48 Mia.", 48, 48e9),
        ("10-12 million", 10, 10e6),
        ("10-12k", 10, 10e3),
        ("5 m EUR", 5, 5e6),
    ],
)
def test_what_may_be_a_scale_makes_both_doubtful(text: str, bare: float, value: float) -> None:
    assert ask(text, bare, "number").codes == ("unit_mismatch",)
    assert ask(text, value, "number").codes == ("ambiguous_number",)


def test_a_share_is_told_by_the_fields_name() -> None:
    assert ask("5-10%", 5, "number", pointer="/share_pct").verdict == "yes"
    assert ask("48\u2030", 48, "number", pointer="/share_pct").codes == ("unit_mismatch",)
    assert ask("48\u2030", 48, "number", pointer="/alcohol_permille").verdict == "yes"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("48 m", 48),
        ("5 k", 5),
        ("48 mm pipe", 48),
        ("\uc81c48\uc870", 48),
        ("5 (five)", 5),
        ("48 (millions of them", 48),
        ("5 mils", 5),
        ("Aisle 5 Bin 3", 5),
        ("5 Mrs. Roe", 5),
        ("48-\u00bd", 48),
    ],
)
def test_what_is_no_scale_leaves_the_number_plain(text: str, value: float) -> None:
    assert ask(text, value, "number").verdict in ("yes", "flagged")
    assert "unit_mismatch" not in ask(text, value, "number").codes


@pytest.mark.parametrize(
    ("text", "value", "parts"),
    [
        ("1\u51042000\u4e07\u5186", 120_000_000, (100_000_000, 1, 20_000_000, 2000)),
        ("3\u4e075000\u5186", 35_000, (5000, 30_000, 3)),
        ("1\uc5b5 2,000\ub9cc\uc6d0", 120_000_000, (100_000_000, 20_000_000, 2000)),
        ("1 million 200 thousand", 1_200_000, (1_000_000, 200_000, 1, 200)),
        ("-1 million 200 thousand", -1_200_000, (1_200_000, -1_000_000)),
        ("3\u20ac50", 3.5, (3, 50)),
        ("2 1/2 cups", 2.5, ()),
        ("6.02E+23", 6.02e23, (6.02, 23)),
        ("5e\u22123", 0.005, (5, 3, -3)),
    ],
)
def test_a_number_of_several_tokens_is_one(
    text: str, value: float, parts: tuple[float, ...]
) -> None:
    assert ask(text, value, "number").verdict == "yes"
    for part in parts:
        assert ask(text, part, "number").verdict == "no"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$1 million 500", (1_000_000, 1_000_500, 500)),
        ("3\u4e07 5000", (30_000, 35_000, 5000)),
        ("12 1/2 inches", (12,)),
        ("room 48a", (48,)),
        ("room 48b", (48,)),
        ("FLAT 5B", (5,)),
        ("Coffee x2", (2,)),
        ("14.99SR", (14.99,)),
    ],
)
def test_what_may_belong_together_is_doubtful(text: str, values: tuple[float, ...]) -> None:
    for value in values:
        assert ask(text, value, "number").codes == ("ambiguous_number",)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 million 2026-03-06", 1_000_000),
        ("1 million 5 million", 1_000_000),
        ("3 million 48%", 3_000_000),
        ("1 million 1,2.3,4", 1_000_000),
        ("Total____48.00____", 48),
    ],
)
def test_what_cannot_belong_together_is_plain(text: str, value: float) -> None:
    assert ask(text, value, "number").verdict == "yes"


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("1\u51042000\u4e07\u5186", "2000\u4e07\u5186", "ambiguous_number"),
        ("1 million 200 thousand", "200 thousand", "ambiguous_number"),
        ("1 million 200 thousand", "1 million", "ambiguous_number"),
        ("1.5 \u00d7 10^6", "1.5", "unit_mismatch"),
        ("3\u20ac50", "3\u20ac", "ambiguous_number"),
        ("$5 m", "$5", "unit_mismatch"),
        ("TEUR 48", "48", "unit_mismatch"),
    ],
)
def test_a_string_is_doubtful_where_its_number_goes_on(text: str, value: str, code: str) -> None:
    assert ask(f"see {text} here", value, "text").codes == (code,)


def test_a_string_far_from_any_scale_is_no_part_of_a_number() -> None:
    text = "1 million 200 thousand"
    assert compounds_at(text, 10, 22) and not compounds_at(text, 0, len(text))
    assert not compounds_at("48 apples and 5 pears", 0, 2)


@given(st.integers(2, 999), st.sampled_from(sorted(SCALES)), st.sampled_from((" ", "-", "\u00a0")))
def test_no_number_is_plain_before_a_scale_word(number: int, word: str, gap: str) -> None:
    text = f"total {number}{gap}{word} in all"
    assert ask(text, number, "number").verdict == "flagged"
    assert ask(text, number * 10 ** SCALES[word], "number").verdict == "yes"
    assert ask(text, str(number), "text").verdict != "yes"
