"""Values that only seem to stand in the source: cases 029 (offsets), 047, 048, 049 and 051.

Through `extract`; row by row, the cases are in tests/grounding/test_cases.py.
"""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import ExtractionResult, Grounding, Retry, Validity, extract
from extractkit.parsing import parse_json
from extractkit.testing import FakeProvider

ONE = Retry(answers=0)


def answered(
    target: type[BaseModel], answer: dict[str, Any], text: str, **options: Any
) -> ExtractionResult[Any]:
    provider = FakeProvider([json.dumps(answer)])
    return extract(target, text, model=provider, retry=ONE, **options)


def matched(result: ExtractionResult[Any], text: str) -> dict[str, str]:
    return {path: text[span.start : span.end] for path, span in result.evidence.items()}


# --- 029: offsets in characters, never in bytes -------------------------------------------------


class Places(BaseModel):
    city: str
    k: str
    n: int


CONTENT = '{"city":"\u306c\u307e","k":"\u00f1","n":7}'
ESCAPED = '{"city":"\\u306c\\u307e","k":"\u00f1","n":7}'


@pytest.mark.parametrize("content", [CONTENT, ESCAPED])
def test_029_spans_of_an_answer_count_code_points(content: str) -> None:
    spans = parse_json(content).spans
    raw = {path: content[span[0] : span[1]] for path, span in spans.items()}
    assert {path: json.loads(each) for path, each in raw.items()} == {
        "/city": "\u306c\u307e",
        "/k": "\u00f1",
        "/n": 7,
    }


def test_029_spans_of_evidence_count_code_points() -> None:
    text = "\U0001f600 \u306c\u307e\u3001\u00f1 \U0001f468\u200d\U0001f469 7 e\u0301"
    result = answered(Places, json.loads(CONTENT), text)
    assert matched(result, text) == {"/city": "\u306c\u307e", "/k": "\u00f1", "/n": "7"}
    assert result.validity is Validity.GROUNDED


# --- 047: a number in a longer number -----------------------------------------------------------


class Hotel(BaseModel):
    sales: float | None = None
    rooms: int | None = None
    lifts: int | None = None
    share_pct: int | None = None
    quote: str | None = None


HOTEL = "The site has 1480 rooms, 48% occupancy and 248 lifts."


@pytest.mark.parametrize(
    ("answer", "more", "grounded"),
    [
        ({"rooms": 148}, "", False),
        ({"rooms": 1480}, "", True),
        ({"sales": 48_000_000}, "", False),
        ({"sales": 48_000_000}, " Sales reached $48 million.", True),
        ({"share_pct": 48}, "", True),
        ({"quote": "The fee was 7% per year."}, " The fee was 7% per year [3].", True),
        ({"quote": "The fee was 8% per year."}, " The fee was 7% per year [3].", False),
    ],
)
def test_047_a_number_is_a_whole_token(answer: dict[str, Any], more: str, grounded: bool) -> None:
    for options in (Grounding(), Grounding(fuzzy=True)):
        result = answered(Hotel, answer, HOTEL + more, grounding=options)
        assert (result.validity is Validity.GROUNDED) is grounded


def test_047_a_bare_count_is_no_percentage() -> None:
    result = answered(Hotel, {"lifts": 48}, HOTEL)
    assert [finding.code for finding in result.findings] == ["unit_mismatch"]
    assert result.evidence["/lifts"].ambiguous


# --- 048: separators ----------------------------------------------------------------------------


class Total(BaseModel):
    total: float


@pytest.mark.parametrize(
    ("text", "value", "span"),
    [
        ("Total: $3,480.50", 3480.5, "3,480.50"),
        ("Gesamt: 3.480,50 EUR", 3480.5, "3.480,50"),
        ("3\u202f480,50 kr", 3480.5, "3\u202f480,50"),
        ("Total: $3,480.50", 3.4805, ""),
        ("Total: $3,480.50", 3480.6, ""),
        ("No. 3480-50", 3480.5, ""),
    ],
)
def test_048_a_right_value_is_not_flagged_for_its_separators(
    text: str, value: float, span: str
) -> None:
    result = answered(Total, {"total": value}, text)
    assert matched(result, text).get("/total", "") == span
    assert (result.validity is Validity.GROUNDED) is bool(span)


# --- 049: typography ----------------------------------------------------------------------------


class Quote(BaseModel):
    quote: str


SOURCE = (
    "The \ufb01lter\u2019s limit is 12\u00a0mg \u2013 \u201cdo not exceed\u201d. "
    "Cafe\u0301 rules apply."
)


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ('filter\'s limit is 12 mg - "do not exceed"', (4, 44)),
        ("Caf\u00e9 rules", (46, 57)),
        ('filter\'s limit is 12 mg - "do not repeat"', None),
        ("limit is 12 mg", (12, 26)),
        ("limit is 1 2 mg", None),
    ],
)
def test_049_an_honest_quote_is_found_whatever_its_typography(
    quote: str, span: tuple[int, int] | None
) -> None:
    found = answered(Quote, {"quote": quote}, SOURCE).evidence.get("/quote")
    assert (found and (found.start, found.end)) == span


# --- 051: precision of dates --------------------------------------------------------------------


class Event(BaseModel):
    on: date


@pytest.mark.parametrize(
    ("text", "day", "code", "grounded"),
    [
        ("signed on 6 March 2026", "2026-03-06", "", True),
        ("signed 2026\u5e743\u67086\u65e5", "2026-03-06", "", True),
        ("signed in March 2026", "2026-03-01", "date_precision", False),
        ("built in the late 1800s", "1890-01-01", "date_precision", False),
        ("signed 03/06/2026", "2026-03-06", "ambiguous_date", True),
        ("signed 25/03/2026", "2026-03-25", "", True),
        ("signed 6 March 2026", "2026-06-03", "not_in_source", False),
        ("signed last Friday", "2026-03-06", "not_in_source", False),
    ],
)
def test_051_a_day_that_the_source_does_not_give_is_a_finding(
    text: str, day: str, code: str, grounded: bool
) -> None:
    result = answered(Event, {"on": day}, text)
    assert [finding.code for finding in result.findings] == ([code] if code else [])
    assert (result.validity is Validity.GROUNDED) is grounded
