"""The bug cases 047, 048, 049 and 051, row by row."""

from __future__ import annotations

import unicodedata

import pytest

from extractkit.grounding.normalize import fold
from tests.grounding.asking import ask

HOTEL = "The site has 1480 rooms, 48% occupancy and 248 lifts."
SALES = HOTEL + " Sales reached $48 million."
FEE = "The fee was 7% per year [3]."


@pytest.mark.parametrize(
    ("text", "pointer", "value", "verdict", "matched"),
    [
        (HOTEL, "/sales", 48_000_000, "no", ""),
        (HOTEL, "/rooms", 148, "no", ""),
        (HOTEL, "/rooms", 1480, "yes", "1480"),
        (HOTEL, "/share_pct", 48, "yes", "48%"),
        (HOTEL, "/lifts", 48, "flagged", "48%"),
        (SALES, "/sales", 48_000_000, "yes", "48 million"),
        (SALES, "/lifts", 48, "flagged", "48%"),
        (SALES, "/change", -48, "no", ""),
    ],
)
def test_a_number_is_a_whole_token_with_sign_scale_and_unit(
    text: str, pointer: str, value: int, verdict: str, matched: str
) -> None:
    answer = ask(text, value, "number", pointer=pointer)
    assert (answer.verdict, answer.matched) == (verdict, matched)
    assert (
        answer.codes
        == {"no": ("not_in_source",), "flagged": ("unit_mismatch",), "yes": ()}[verdict]
    )


def test_a_quote_reads_over_a_reference_mark_but_not_over_a_changed_number() -> None:
    assert ask(FEE, "The fee was 7% per year.", "text").matched == FEE
    assert ask(FEE, "The fee was 8% per year.", "text").verdict == "no"
    assert ask(FEE, "per year [4].", "text").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "verdict", "matched"),
    [
        ("Total: $3,480.50", 3480.5, "yes", "3,480.50"),
        ("Gesamt: 3.480,50 EUR", 3480.5, "yes", "3.480,50"),
        ("3\u202f480,50 kr", 3480.5, "yes", "3\u202f480,50"),
        ("Total: $3,480.50", 3.4805, "no", ""),
        ("Total: $3,480.50", 3480.6, "no", ""),
        ("Total: $3,480.50", 3480, "no", ""),
        ("Total: $3,480.50", "3480.50", "yes", "3,480.50"),
        ("Total: $3,480", 3480, "yes", "3,480"),
        ("Total: $3,480", 3.48, "flagged", "3,480"),
        ("1.234 Stk.", 1234, "flagged", "1.234"),
        ("1.234 Stk.", 1.234, "flagged", "1.234"),
        ("three thousand", 3000, "no", ""),
        ("No. 3480-50", 3480.5, "no", ""),
        ("No. 3480-50", -50, "no", ""),
    ],
)
def test_separators_are_read_by_value(text: str, value: object, verdict: str, matched: str) -> None:
    answer = ask(text, value, "number")
    assert (answer.verdict, answer.matched) == (verdict, matched)


SOURCE = (
    "The \ufb01lter\u2019s limit is 12\u00a0mg \u2013 \u201cdo not exceed\u201d. "
    "Cafe\u0301 rules apply."
)
QUOTES = {
    'filter\'s limit is 12 mg - "do not exceed"': (4, 44),
    "Caf\u00e9 rules": (46, 57),
    "limit is 12 mg": (12, 26),
    'filter\'s limit is 12 mg - "do not repeat"': None,
    "limit is 1 2 mg": None,
}


@pytest.mark.parametrize(("quote", "span"), QUOTES.items())
def test_presentation_is_folded_and_spans_count_the_sources_characters(
    quote: str, span: tuple[int, int] | None
) -> None:
    found = ask(SOURCE, quote, "text").report.evidence.get("/x")
    assert (found and (found.start, found.end)) == span
    if found:
        assert fold(SOURCE[found.start : found.end]).text == fold(quote).text
        assert found.grade == "normalised"


@pytest.mark.parametrize(("quote", "span"), QUOTES.items())
def test_a_composed_source_gives_the_same_verdicts(
    quote: str, span: tuple[int, int] | None
) -> None:
    composed = unicodedata.normalize("NFC", SOURCE)
    answer = ask(composed, quote, "text")
    expected = unicodedata.normalize("NFC", SOURCE[slice(*span)]) if span else ""
    assert answer.matched == expected


@pytest.mark.parametrize(
    ("text", "value", "verdict", "matched"),
    [
        ("signed on 6 March 2026", "2026-03-06", "yes", "6 March 2026"),
        ("signed 2026年3月6日", "2026-03-06", "yes", "2026年3月6日"),
        ("signed in March 2026", "2026-03-01", "no", ""),
        ("built in the late 1800s", "1890-01-01", "no", ""),
        ("signed 03/06/2026", "2026-03-06", "flagged", "03/06/2026"),
        ("signed 03/06/2026", "2026-06-03", "flagged", "03/06/2026"),
        ("signed 25/03/2026", "2026-03-25", "yes", "25/03/2026"),
        ("signed 6 March 2026", "2026-06-03", "no", ""),
    ],
)
def test_a_date_has_the_precision_of_its_source(
    text: str, value: str, verdict: str, matched: str
) -> None:
    answer = ask(text, value, "date")
    assert (answer.verdict, answer.matched) == (verdict, matched)


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("signed in March 2026", "2026-03-01", "only the month 2026-03"),
        ("signed 2026年3月", "2026-03-01", "only the month 2026-03"),
        ("due 03/2026", "2026-03-31", "only the month 2026-03"),
        ("due 2026-03", "2026-03-31", "only the month 2026-03"),
        ("founded 1994", "1994-01-01", "only the year 1994"),
        ("built in the late 1800s", "1890-01-01", "only '1800s'"),
        ("built in the 1890s", "1895-01-01", "only '1890s'"),
    ],
)
def test_a_day_that_the_source_does_not_give_is_named_as_such(
    text: str, value: str, said: str
) -> None:
    answer = ask(text, value, "date")
    (finding,) = answer.report.findings
    assert answer.codes == ("date_precision",)
    assert f"day not in the source, which gives {said}" in finding.message


def test_a_relative_date_needs_a_reference_date() -> None:
    answer = ask("signed last Friday", "2026-03-06", "date")
    assert answer.codes == ("not_in_source",)
    assert "reference_date" in answer.report.findings[0].message
