"""What is seen at a glance is what a reading of the whole text says."""

from __future__ import annotations

import math
import pickle
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extractkit.grounding import GroundingReport, locate
from extractkit.grounding.glance import Glance
from extractkit.grounding.source import Source
from extractkit.results import Grounding
from tests.grounding.asking import Claim

_PIECES = st.sampled_from(
    (
        "1", "2", "5", "7", "20", "007", "48", "48.0", "48.00", "-48", "(48)", "( 48 )",
        "48%", "48 %",
        "$48", "$ 48", "- 48", "-$ 48", "minus 48", "48 CR", "48 percent", "48 per cent", "48 pct.",
        "SKU-048", "A-1", "1,234", "1 234", "1.234", "48 million", "48 Mio.", "5M", "5 k", "12 345",
        "1,2,3,4", "0", "0.00", ".5", "x", "Total:", "total", "Total", "EUR 48", "-EUR 48", "4'200",
        "4.20", "4.2", "20.", "20,", "20;", "20:", "5 1/2", "5^2", "5 x 7", "Oslo", "oslo", "Oslo,",
        "minus", "-", "+", "%", "\n", "\n-\n", " ", "  ", "\t", "2024-03-04",
        "2 January 2026", "2026-01-02", "January 2, 2026", "2026-01-02.", "of", "31 December 2025",
        "7 pm",
        "no. 5", "Item 5", "item  5", "piece", "apiece", "C#", "C", "48 kg", "48kg", "5e3", "1/2",
        "(48 )", "$ (48 )", "(48)%", "a,-48,b", "1,48,x", "[48,5]", "48.00 -", "48 EUR-",
        "48 (million)",
        "48\nmillion", "48\nmillion-fold", "$48 m",
        "48 m", "TEUR 48", "48 TEUR", "$48 M", "48 M EUR", "5 hundred", "1 million 48", "6.0E+48",
        "1.5 x 10^5", "48 x 10**5", "5 -48", "--48", "RM-48", "5-48%", "48a", "x48", "__48",
        "48  %",
        "48 Prozent", "2 per\u00a0cent", "A-", "HK$48", "48 CR\n", "1.5,48.5",
        "[5]", "five", "a piece", "piece-wise", "R&D", "R", "'48'", '"48"', "48-20", "48/20",
    )
)  # fmt: skip
_texts = st.lists(_PIECES, max_size=14).map(" ".join) | st.lists(_PIECES, max_size=8).map("".join)
_values: st.SearchStrategy[tuple[Any, Any]] = st.one_of(
    st.tuples(st.sampled_from((0, 1, 2, 5, 7, 20, 48, -48, 345, 1234, 4200, 2026)),
    st.just("number")),
    st.tuples(st.sampled_from((48.0, 4.2, 0.5, 0.0, -0.0, 5.5, 1e22, math.nan, math.inf,
    10**5000)), st.just("number")),
    st.tuples(
        st.sampled_from(("48", "48.00", "4.20", "4.2", "0", "007", "-48", "1.234")),
        st.just("number"),
    ),
    st.tuples(
        st.sampled_from(
            (
                "Oslo", "oslo", "piece", "Total", "total", "Item 5", "item 5", "5", "48",
                "$48", "-48",
                "C", "R", "A-1", "48 %", "48 kg", "five", " Oslo", "", " ", "x", "no. 5",
                "48.00", "-",
            )
        ),
        st.sampled_from(("text", "key")),
    ),
    st.tuples(st.just("2026-01-02"), st.just("date")),
    st.tuples(st.sampled_from((True, None, 5, 48.0)), st.sampled_from(("text", "exempt"))),
)  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_shapes = st.sampled_from(("/list/{}", "/list/{}/amount", "/field{}", "/rate/{}", "/days/{}"))
_rows = st.lists(st.tuples(_values, _shapes), min_size=1, max_size=6)


def _claims(rows: list[tuple[tuple[Any, Any], str]]) -> list[Claim]:
    return [
        Claim(pointer=shape.format(number), value=value, kind=kind)
        for number, ((value, kind), shape) in enumerate(rows)
    ]


def _said(report: GroundingReport) -> tuple[object, ...]:
    spans = {
        pointer: (span.start, span.end, span.grade, span.ambiguous, span.candidates)
        for pointer, span in report.evidence.items()
    }
    return report.findings, report.count, spans


def _sees_nothing(*_: object) -> None:
    return None


@given(_texts, _rows, st.sampled_from((None, "de_DE", "en_US")))
@example("a -48\nb 48", [((48, "number"), "/list/{}")], None)
@example("5", [((5, "number"), "/list/{}"), ((5.0, "number"), "/list/{}")], None)
@example("5", [((5, "number"), "/list/{}"), (("5", "text"), "/list/{}")], None)
@example("Oslo", [(("Oslo", "text"), "/list/{}"), (("oslo", "text"), "/list/{}")], None)
@example("48 48.00", [(("48", "number"), "/list/{}"), (("48.00", "number"), "/list/{}")], None)
@example("Total 48", [((48, "number"), "/list/{}")] * 3, None)
def test_a_glance_changes_nothing_that_is_said(
    text: str, rows: list[tuple[tuple[Any, Any], str]], locale: str | None
) -> None:
    claims, options = _claims(rows), Grounding(locale=locale)
    glanced = _said(locate(claims, text, options=options))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Glance, "see", _sees_nothing)
        assert glanced == _said(locate(claims, text, options=options))


def test_a_table_is_not_read_before_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"{at}. Widget {at}   {at} piece   4.20" for at in range(1, 21))
    claims = [
        claim
        for at in range(1, 21)
        for claim in (
            Claim(pointer=f"/lines/{at}/name", value=f"Widget {at}"),
            Claim(pointer=f"/lines/{at}/count", value=at, kind="number"),
            Claim(pointer=f"/lines/{at}/unit", value="piece"),
            Claim(pointer=f"/lines/{at}/price", value="4.20", kind="number"),
        )
    ]
    found: list[object] = []
    original = Source._find  # pyright: ignore[reportPrivateUsage]  # what a glance saves

    def watched(self: Source, value: Any, kind: Any) -> Any:
        found.append(value)
        return original(self, value, kind)

    monkeypatch.setattr(Source, "_find", watched)
    report = locate(claims, text)
    assert (report.findings, report.count.failed, found) == ((), 0, [])
    spans = report.evidence
    assert [text[each.start : each.end] for each in spans.values()][:4] == [
        "Widget 1", "1", "piece", "4.20",
    ]  # fmt: skip
    assert len({(each.start, each.end) for each in spans.values()}) == len(claims)
    assert len(found) == 42
    assert pickle.loads(pickle.dumps(report.evidence)) == dict(spans)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("issued 2026-01-02, paid", "2026-01-02"),
        ("issued 2 January\n2026.", "2 January\n2026"),
        ("January 2, 2026: issued", "January 2, 2026"),
    ],
)
def test_a_day_in_plain_sight_is_found_before_the_dates_are_read(
    text: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Source, "find_moment", _is_not_asked)
    claim = Claim(pointer="/issued", value="2026-01-02", kind="date")
    report = locate([claim], text)
    assert (report.findings, report.count.failed) == ((), 0)
    monkeypatch.undo()
    span = report.evidence["/issued"]
    assert text[span.start : span.end] == seen


@pytest.mark.parametrize(
    "locale",
    (
        None, "ca", "cs", "de", "en", "es", "et", "fi", "fr", "hr", "hu", "is", "it", "ja", "lt",
        "lv", "pl", "pt", "ro", "sk", "sl", "sr", "tr",
    ),
)  # fmt: skip
def test_the_months_that_are_seen_are_read_so_in_every_language(locale: str | None) -> None:
    options = Grounding(locale=locale)
    for number, name in enumerate(_MONTHS, 1):
        day = date(2026, number, 2)
        text = f"on 2 {name} 2026"
        assert Glance(text).see(day.isoformat(), "date") is not None
        (place,) = Source(text, options).dates.find(day)
        assert (place.start, place.doubt) == (3, "")


@pytest.mark.parametrize("value", ["2026-02-30", "20260102", "0999-01-02", "2026-W01-5", "soon"])
def test_what_is_no_iso_date_of_four_digits_is_not_seen_as_a_day(value: str) -> None:
    assert Glance(f"it is {value} here").see(value, "date") is None


def _is_not_asked(*_: object) -> None:
    raise AssertionError("the dates were read")


def test_a_value_claimed_more_often_than_it_stands_there_is_told_of() -> None:
    claims = [Claim(pointer=f"/rows/{at}/unit", value="piece") for at in range(3)]
    report = locate(claims, "one piece\nand a piece.")
    assert [finding.code for finding in report.findings] == ["shared_place"]
    assert locate(claims, "piece piece piece").findings == ()


def test_a_value_and_a_longer_one_that_begins_with_it_share_no_place() -> None:
    values = ("ABC", "abc ho", 81100, "81100 Johor")
    claims = [
        Claim(
            pointer=f"/names/{at}", value=each, kind="number" if isinstance(each, int) else "text"
        )
        for at, each in enumerate(values)
    ]
    assert locate(claims, "ABC HO of 81100 Johor").findings == ()
