"""Where values stand while the rest of their answer still comes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit.errors import UsageError
from extractkit.grounding import ClaimKind, ClaimRow, EarlyEvidence, locate_rows
from extractkit.paths import Pointer
from extractkit.results import Grounding, Span
from extractkit.schema import compile_schema

TEXT = "Invoice 17 of Ida Falk, 3 March 2026: 3 bolts at 4.50 EUR, 12 nuts at 0.80 EUR, total 23.10"
WORDS = (
    "bolt",
    "nut",
    "Ida",
    "3",
    "3.5",
    "12%",
    "2026",
    "total",
    "\n",
    "1,200",
    "März",
    "3 May 2026",
)


def _row(pointer: Pointer, value: Any) -> ClaimRow:
    kind: ClaimKind = "text" if isinstance(value, str) else "number"
    return (pointer, value, kind, None)


@given(
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
    st.lists(
        st.sampled_from(("bolt", "Ida", 3, 3.5, 12, 2026, 1200, "MÄRZ", "gone", 99)), max_size=9
    ),
    st.booleans(),
    st.randoms(),
)
def test_what_is_found_and_all_its_places_are_those_of_the_whole_answer(
    text: str, values: list[Any], in_rows: bool, rng: Any
) -> None:
    names = [f"/{at // 3}/f{at % 3}" if in_rows else f"/f{at}" for at in range(len(values))]
    rows = [_row(name, value) for name, value in zip(names, values, strict=True)]
    whole = locate_rows(rows, text).evidence
    early = EarlyEvidence(text, Grounding())
    asked = rng.sample(rows, len(rows))
    told = {row[0]: early.find(row) for row in asked}
    assert {pointer for pointer, span in told.items() if span is not None} == set(whole)
    for pointer, span in told.items():
        if span is None:
            continue
        assert span.candidates == whole[pointer].candidates
        assert (span.grade, span.ambiguous) == (whole[pointer].grade, whole[pointer].ambiguous)
        if len(span.candidates) == 1:
            assert span == whole[pointer]
    assert {row[0]: early.find(row) for row in rows} == told


def test_values_that_the_text_has_once_stand_where_the_whole_answer_puts_them() -> None:
    rows = [_row("/buyer", "Ida Falk"), _row("/lines/0/what", "bolts"), _row("/lines/0/price", 4.5),
            _row("/lines/1/count", 12), _row("/total", 23.1)]  # fmt: skip
    early = EarlyEvidence(TEXT, Grounding())
    assert {row[0]: early.find(row) for row in rows} == locate_rows(rows, TEXT).evidence


def test_of_several_places_a_free_one_is_taken_near_what_was_asked_for_before() -> None:
    text = "bolt 3\nnut 3\ngear 3"
    early = EarlyEvidence(text, Grounding())
    early.find(_row("/1/what", "nut"))
    assert early.find(_row("/1/count", 3)) == Span(start=11, end=12)
    assert early.find(_row("/0/count", 3)) == Span(start=5, end=6)
    assert early.find(_row("/2/count", 3)) == Span(start=18, end=19)
    assert early.find(_row("/3/count", 3)) == Span(start=5, end=6)
    early.find(_row("/2/what", "gear"))
    assert early.find(_row("/2/other", 3)) == Span(start=18, end=19)


def test_what_is_exempt_and_what_the_text_does_not_have_has_no_place() -> None:
    early = EarlyEvidence(TEXT, Grounding())
    assert early.find(("/kind", "Invoice", "exempt", None)) is None
    assert early.find(_row("/city", "Bonn")) is None
    assert early.find(("/note", None, "exempt", None)) is None


def test_a_unit_counts_by_the_name_of_the_field() -> None:
    early = EarlyEvidence("a share of 48%", Grounding())
    by_name = [early.find(_row("/amount", 48)), early.find(_row("/share", 48))]
    assert [span.ambiguous for span in by_name if span is not None] == [True, False]


def test_options_are_refused_when_the_first_value_is_looked_for() -> None:
    early = EarlyEvidence(TEXT, Grounding(reference_date="soon"))
    with pytest.raises(UsageError, match="reference_date"):
        early.find(_row("/a", "Ida"))


def _seconds(count: int) -> float:
    text = "\n".join(f"row {at} has 7 parts" for at in range(count))
    early = EarlyEvidence(text, Grounding())
    began = time.process_time_ns()
    for at in range(count):
        assert early.find(_row(f"/{at}/parts", 7)) is not None
    return (time.process_time_ns() - began) / 1e9


def test_a_value_that_comes_again_and_again_costs_no_more_each_time() -> None:
    short, long = (min(_seconds(count) for _ in range(3)) for count in (1000, 4000))
    assert long < 4 * 2.5 * short


class Bolt(BaseModel):
    size: int


class Nut(BaseModel):
    size: str


class Box(BaseModel):
    name: str
    parts: list[Bolt | Nut]
    notes: dict[str, str] = {}


def test_a_leaf_claims_early_what_it_claims_in_the_whole_document() -> None:
    compiled = compile_schema(Box, "json-schema")
    document: Any = {"name": "a", "parts": [{"size": 3}], "notes": {"b": "c"}, "more": 1}
    rows = {row[0]: row for row in compiled.read(document).rows if row[2] != "key"}
    for pointer, row in rows.items():
        assert compiled.claim_at(pointer, document, lambda _: True) == row
    assert compiled.claim_at("/name", document, lambda _: False) == rows["/name"]
    assert compiled.claim_at("/more", document, lambda _: True) is None


def test_what_the_rest_of_an_object_decides_is_not_claimed_before_its_end() -> None:
    compiled = compile_schema(Box, "json-schema")
    document: Any = {"name": "a", "parts": [{"size": 3}]}
    assert compiled.claim_at("/parts/0/size", document, lambda at: at != "/parts/0") is None
    assert compiled.claim_at("/parts/0/size", document, lambda at: at == "/parts/0") is not None
