from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extractkit.grounding.numbers import NumberIndex, number_of
from extractkit.paths import JsonValue
from extractkit.results import Grounding
from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("3'480.50 Fr", 3480.5, "3'480.50"),
        ("3’480 CHF", 3480, "3’480"),
        ("12,34,567.8 Rs", 1234567.8, "12,34,567.8"),
        ("1,00,000", 100000, "1,00,000"),
        ("1.234.567,89", 1234567.89, "1.234.567,89"),
        ("7，480 円", 7480, "7，480"),
        ("１２３円", 123, "１２３"),
        ("-$48", -48, "-$48"),
        ("$-48", -48, "-48"),
        ("(−48)", -48, "−48"),
        ("− 48", -48, "− 48"),
        ("+48", 48, "48"),
        ("($1,048.20)", -1048.2, "($1,048.20)"),
        ("(48)", 48, "48"),
        ("[48]", 48, "48"),
        ("-.50", -0.5, "-.50"),
        ("$.50", 0.5, ".50"),
        ("...50", 50, "50"),
        ("RM9.00", 9, "9.00"),
        ("USD 9", 9, "9"),
        ("EUR9,5", 9.5, "9,5"),
        ("9kr", 9, "9"),
        ("48kg", 48, "48"),
        ("3rd", 3, "3"),
        ("10m", 10, "10"),
        ("10x20", 20, "20"),
        ("48-hour", 48, "48"),
        ("10-20 pages", 10, "10"),
        ("10–20 pages", 20, "20"),
        ("page:48", 48, "48"),
        ("No.48", 48, "48"),
        ("48k", 48000, "48k"),
        ("$5m", 5000000, "5m"),
        ("5M €", 5000000, "5M"),
        ("3.5 Mio", 3500000, "3.5 Mio"),
        ("2 lakh", 200000, "2 lakh"),
        ("1.2億円", 120000000, "1.2億"),
        ("3만", 30000, "3만"),
        ("48 per cent", 0.48, "48 per cent"),
        ("5‰", 0.005, "5‰"),
        ("1.5e3 J", 1500, "1.5e3"),
        ("6E-2", 0.06, "6E-2"),
        ("2026年", 2026, "2026"),
        ("0", 0, "0"),
        ("0.00", 0, "0.00"),
        ("0,123", 0.123, "0,123"),
        ("1234.567", 1234.567, "1234.567"),
        ("5'10", 10, "10"),
        ("day 06", 6, "06"),
        ("1 Wanli", 1, "1"),
        ("48%", "0.48", "48%"),
        ("48\u200b50", 4850, "48\u200b50"),
        ("48.\u206050", 48.5, "48.\u206050"),
        ("\u0664\u0668\u066c\u0660\u0660\u0660", 48000, "\u0664\u0668\u066c\u0660\u0660\u0660"),
        ("48\u066b500", 48.5, "48\u066b500"),
        ("1\u066c234\u066b5", 1234.5, "1\u066c234\u066b5"),
        ("10x20 cm", 10, "10"),
    ],
)
def test_a_plain_number_is_found_where_it_stands(text: str, value: object, matched: str) -> None:
    answer = ask(text, value, "number")
    assert (answer.verdict, answer.matched) == ("yes", matched)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1480", 48),
        ("3,480.50", 480.5),
        ("3\u00a0480", 480),
        ("AB48", 48),
        ("48AB", 48),
        ("48k2", 48),
        ("id_48", 48),
        ("48_a", 48),
        ("10²", 10),
        ("½48", 48),
        ("INV-2023-001", 1),
        ("555-123-4567", 123),
        ("v1.2.3", 2),
        ("192.168.1.10", 168),
        ("1.2.3.4", 1),
        ("21:13:45", 13),
        ("1,2.3,4", 2),
        ("1,2.3,4", 1234),
        ("3\u00a0480.50.20", 3480.5),
        ("3\u00a0480.50.20", 20),
        ("-48", 48),
        ("48", -48),
        ("- 48", -48),
        ("3-48", -48),
        ("5%-48", -48),
        ("(-48)", 48),
        ("3.4805", 34805),
        ("1.000.00", 1000),
        ("12.345.67", 1234567),
        ("48\u206050", 48),
        ("48\u200b50", 50),
        ("48\u200d\u200d50", 48),
        ("48\ufeff50", 48),
        ("48\u2060.50", 48),
        ("48\u2060.50", 0.5),
        ("\u0664\u0668\u066c\u0660\u0660\u0660", 48),
        ("1\u066c23", 123),
        ("48\u066b5", 48),
        ("48\u066b5\u066b5", 48.5),
        ("48\u066b500", 48500),
        ("48\u00b75", 48),
        ("48\u00b75", 5),
        ("48\u20442", 48),
        ("48^2", 48),
        ("x^2", 2),
        ("1 \u00bd", 1),
        ("0x48", 48),
        ("0x48", 0),
        ("0x4F", 4),
    ],
)
def test_a_number_is_never_a_part_of_something_longer(text: str, value: object) -> None:
    assert ask(text, value, "number").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("3 480,50 kr", 3480.5, "ambiguous_number"),
        ("3 480 kr", 480, "ambiguous_number"),
        ("1,2,3", 2, "ambiguous_number"),
        ("007", 7, "ambiguous_number"),
        ("(48)", -48, "ambiguous_number"),
        ("(48.50)", 48.5, "ambiguous_number"),
        ("–48", -48, "ambiguous_number"),
        ("–48", 48, "ambiguous_number"),
        ("GPT-4", 4, "ambiguous_number"),
        ("24/7", 7, "ambiguous_number"),
        ("won 3-1", 3, "ambiguous_number"),
        ("5M users", 5, "ambiguous_number"),
        ("5M users", 5_000_000, "ambiguous_number"),
        ("10m", 10_000_000, "ambiguous_number"),
        ("2026-03-06", 2026, "ambiguous_number"),
        ("48 million", 48, "unit_mismatch"),
        ("5‰", 5, "unit_mismatch"),
    ],
)
def test_a_second_reading_makes_a_warning(text: str, value: object, code: str) -> None:
    answer = ask(text, value, "number")
    assert (answer.verdict, answer.codes) == ("flagged", (code,))
    assert answer.report.count.failed == 0
    assert answer.report.findings[0].severity == "warning"


@pytest.mark.parametrize(
    ("pointer", "text", "value", "verdict"),
    [
        ("/vatPercent", "20%", 20, "yes"),
        ("/rates/0", "20%", 20, "yes"),
        ("/rate", "20%", 20, "yes"),
        ("/vat_percent", "20%", 0.2, "flagged"),
        ("/rate", "20%", 0.2, "yes"),
        ("/sales_millions", "$48 million", 48, "yes"),
        ("/sales_million", "$48 million", 48, "yes"),
        ("", "20%", 20, "flagged"),
    ],
)
def test_the_fields_name_tells_the_unit(
    pointer: str, text: str, value: float, verdict: str
) -> None:
    assert ask(text, value, "number", pointer=pointer).verdict == verdict


@pytest.mark.parametrize(
    ("locale", "value", "verdict"),
    [("de", 1234, "yes"), ("de", 1.234, "no"), ("en", 1.234, "yes"), ("de-CH", 1234, "no")],
)
def test_a_locale_settles_the_decimal_mark(locale: str, value: float, verdict: str) -> None:
    options = Grounding(locale=locale)
    assert ask("1.234 Stk.", value, "number", options=options).verdict == verdict


def test_values_without_a_finite_number_are_findings() -> None:
    for value in (float("nan"), float("inf"), float("-inf")):
        assert ask("nan inf -inf", value, "number").codes == ("not_in_source",)
    assert ask("True 1", True, "number").codes == ("not_in_source",)


def test_a_number_claim_that_holds_words_is_looked_for_as_words() -> None:
    assert ask("price: on request", "on request", "number").matched == "on request"
    assert ask("price: on request", "1e99999999999999999999", "number").verdict == "no"


def test_a_number_is_found_as_a_number_whatever_the_claim_is_called() -> None:
    assert ask("size 1,000", 1000, "text").matched == "1,000"
    assert ask("since 1700000000", 1700000000, "datetime").matched == "1700000000"


def test_huge_integers_are_compared_and_reported() -> None:
    digits = "9" * 5000
    huge = 10**5000 - 1
    assert ask(f"n = {digits}.", huge, "number").matched == digits
    report = ask(digits, huge - 1, "number").report
    assert len(report.findings[0].message) < 200


def test_number_of_reads_numbers_and_decimal_strings_only() -> None:
    assert number_of(0.1) == Decimal("0.1")
    assert number_of(" 3480.50 ") == Decimal("3480.5")
    assert number_of(Decimal("1.5")) == Decimal("1.5")
    assert number_of("1e400") == Decimal("1e400")
    without: tuple[JsonValue, ...] = (
        True,
        "1,5",
        "",
        "NaN",
        None,
        [],
        float("nan"),
        Decimal("NaN"),
    )
    for value in without:
        assert number_of(value) is None


def test_the_callers_decimal_context_changes_nothing() -> None:
    with localcontext() as context:
        context.prec = 2
        assert ask("-1,234,567.89", -1234567.89, "number").verdict == "yes"
        assert ask("($1,234,567.89)", -1234567.89, "number").verdict == "yes"
        assert ask("12.3456 million", 12345600, "number").verdict == "yes"


def test_a_very_frequent_number_is_found_without_reading_all_of_them() -> None:
    assert len(NumberIndex("1 x " * 3000).find(Decimal(1))) == 1000
    assert len(NumberIndex("3-1 " * 9000).find(Decimal(3))) == 5000


AMOUNTS = st.decimals(
    min_value=Decimal("-9999999.99"), max_value=Decimal("9999999.99"), places=2, allow_nan=False
).filter(lambda value: abs(value) >= 1 and value % 1 != 0)


def _forms(value: Decimal) -> list[str]:
    size, sign = abs(value), "-" if value < 0 else ""
    english = f"{size:,.2f}"
    swap = str.maketrans({",": ".", ".": ","})
    forms = [
        f"{sign}{english}",
        f"{sign}{size:.2f}",
        f"{sign}${english}",
        f"{sign}{english} EUR",
        f"{sign}{english.translate(swap)} €",
        f"{sign}{english.replace(',', chr(0x202F)).replace('.', ',')}",
        f"{sign}{english.replace(',', chr(0xA0)).replace('.', ',')}",
        f"{sign}{english.replace(',', chr(0x2019))}",
        f"RM {english}" if value > 0 else f"({english})",
    ]
    return [form.replace("-", "\u2212") for form in forms[:2]] + forms


@given(value=AMOUNTS, data=st.data(), before=st.sampled_from(["", "total ", "x: ", "|", "=\n"]))
def test_a_planted_number_is_found_in_every_form_with_its_span(
    value: Decimal, data: st.DataObject, before: str
) -> None:
    form = data.draw(st.sampled_from(_forms(value)))
    text = f"{before}{form}; end"
    for claimed in (float(value), str(value)):
        answer = ask(text, claimed, "number")
        assert answer.plain
        assert answer.matched.strip("\u2212-$ ()") in form
        assert answer.matched[-1] in "0123456789)"
        assert len(before) <= answer.at < len(before) + len(form)
        assert [char for char in answer.matched if char.isdecimal()] == [
            char for char in form if char.isdecimal()
        ]


@given(value=AMOUNTS, data=st.data())
def test_a_mutated_number_is_not_found(value: Decimal, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(_forms(value)))
    mutated = data.draw(
        st.sampled_from(
            [-value, value + 1, value * 10, value / 10, value + Decimal("0.01"), value * 1000]
        )
    )
    whole = Decimal(int(value))
    assume(mutated != value)
    text = f"total {form}; end"
    assert ask(text, str(mutated), "number").verdict != "yes"
    assert ask(text, str(whole), "number").verdict != "yes"
