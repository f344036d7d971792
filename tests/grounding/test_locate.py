from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from extractkit.fields import Mark
from extractkit.grounding import ClaimKind, GroundingReport, locate
from extractkit.grounding.normalize import fold
from extractkit.grounding.scales import is_parted
from extractkit.results import Grounding, LevelCount, Validity
from tests.grounding.asking import Claim, ask


def test_no_claims_make_an_empty_report() -> None:
    assert locate([], "text") == GroundingReport()
    assert GroundingReport().count == LevelCount()


def test_exempt_and_empty_leaves_are_counted_and_not_looked_for() -> None:
    claims = [
        Claim(pointer="/a", value="anything", kind="exempt", mark=Mark.INFERRED),
        Claim(pointer="/b", value=None),
        Claim(pointer="/c", value=[]),
        Claim(pointer="/d", value={}),
        Claim(pointer="/e", value="text", mark=Mark.VERBATIM),
        Claim(pointer="/f", value="absent"),
    ]
    report = locate(claims, "some text")
    assert report.count == LevelCount(checked=2, exempt=4, failed=1)
    assert list(report.evidence) == ["/e"]
    (finding,) = report.findings
    assert (finding.path, finding.level, finding.severity, finding.code) == (
        "/f",
        Validity.GROUNDED,
        "error",
        "not_in_source",
    )
    assert finding.message == "'absent' (text): is not in the source"


def test_messages_stay_short() -> None:
    report = ask("x", "word " * 1000, "text").report
    assert len(report.findings[0].message) < 120


def test_the_same_value_twice_is_found_twice() -> None:
    claims = [Claim(pointer="/0", value="pcs"), Claim(pointer="/1", value="pcs")]
    assert len(locate(claims, "1 pcs").evidence) == 2


def test_a_boolean_is_never_found() -> None:
    answer = ask("true", True, "text")
    assert answer.codes == ("not_in_source",)
    assert "true and false" in answer.report.findings[0].message


def test_a_key_is_looked_for_and_leaves_the_evidence_to_its_value() -> None:
    claims = [
        Claim(pointer="/rates/Oslo", value="Oslo", kind="key"),
        Claim(pointer="/rates/Oslo", value=12, kind="number"),
        Claim(pointer="/rates/Rome", value="Rome", kind="key"),
        Claim(pointer="/rates/Rome", value=9, kind="number"),
    ]
    text = "Oslo pays 12, others 9."
    report = locate(claims, text)
    assert report.count == LevelCount(checked=4, failed=1)
    assert {pointer: text[span.start : span.end] for pointer, span in report.evidence.items()} == {
        "/rates/Oslo": "12",
        "/rates/Rome": "9",
    }
    (finding,) = report.findings
    assert (finding.path, finding.code) == ("/rates/Rome", "not_in_source")
    assert finding.message == "'Rome' (key of a map): is not in the source"


@pytest.mark.parametrize(
    ("key", "text"),
    [("2026-03-06", "6 March 2026"), ("1500", "1,500 pcs"), ("21:13", "at 9:13 pm"), ("a", "a b")],
)
def test_a_key_is_found_as_what_it_spells(key: str, text: str) -> None:
    assert locate([Claim(value=key, kind="key")], text).findings == ()
    assert locate([Claim(value=key, kind="key")], "none").count.failed == 1


def column(count: int, value: int, name: str = "") -> list[Claim]:
    return [
        Claim(pointer=f"/rows/{index}{name}", value=value, kind="number") for index in range(count)
    ]


def test_one_place_for_many_values_of_a_list_is_a_warning() -> None:
    report = locate(column(40, 5), "5")
    assert report.count == LevelCount(checked=40)
    (finding,) = report.findings
    assert (finding.path, finding.severity, finding.code) == ("/rows", "warning", "shared_place")
    assert "40 values at /rows/* share one place" in finding.message
    (finding,) = locate(column(3, 5, "/qty"), "5 and 5").findings
    assert "3 values at /rows/*/qty share 2 places" in finding.message


def test_as_many_places_as_values_are_no_matter() -> None:
    assert locate(column(2, 5), "5 and 5").findings == ()
    different = [*column(1, 5, "/a"), *column(1, 5, "/b")]
    assert locate(different, "5").findings == ()
    single = [Claim(pointer="/a", value=5, kind="number"), Claim(pointer="/b", value=5)]
    assert locate(single, "5").findings == ()
    long = [Claim(pointer=f"/{index}", value="w " * 50) for index in range(2)]
    (finding,) = locate(long, "w " * 50).findings
    assert finding.path == ""
    assert len(finding.message) < 160


KINDS: st.SearchStrategy[ClaimKind] = st.sampled_from(
    ["text", "number", "date", "datetime", "time", "exempt"]
)
VALUES = (
    st.text(max_size=8)
    | st.integers(min_value=-(10**6), max_value=10**6)
    | st.floats()
    | st.booleans()
    | st.none()
    | st.dates().map(str)
    | st.datetimes().map(lambda moment: moment.isoformat())
    | st.times().map(str)
    | st.decimals(allow_nan=True, allow_infinity=True).map(str)
)
TOKENS = st.sampled_from(
    [
        *" \n.,-/:()%$kxTZ'",
        "1",
        "20",
        "2026",
        "007",
        "1,234",
        "3.480,50",
        "March",
        "6th day of",
        "pm",
        "million",
        "RM",
        "\u00a0",
        "\u2212",
        "\u2013",
        "\u00bd",
        "\u5e74",
        "\u4e07",
        "\uff11",
        "\u0301",
        "\u200d",
        "[3]",
        "word",
        "\U0001f600",
    ]
)
TEXTS = st.sampled_from(
    ["acme 25", "5 kg", "6 March 2026", "1,234.00", "6:30", "wrod", "2026, word"]
)
SOURCES = st.lists(TOKENS, max_size=25).map("".join) | st.text(max_size=40)


@given(
    SOURCES | SOURCES.map("Acme, twenty-five to {} half past".format),
    st.lists(st.tuples(VALUES | TEXTS, KINDS), max_size=4),
    st.sampled_from([Grounding(), Grounding(fuzzy=True), Grounding(locale="en-US")]),
)
def test_any_claims_on_any_text_give_valid_spans_and_full_counts(
    text: str, pairs: list[tuple[object, ClaimKind]], options: Grounding
) -> None:
    claims = [
        Claim(pointer=f"/{index}", value=value, kind=kind)
        for index, (value, kind) in enumerate(pairs)
    ]
    report = locate(claims, text, options=options)
    count = report.count
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert count.checked + count.exempt == len(claims)
    assert count.failed == len(errors) == count.checked - len(report.evidence)
    assert all(0 <= span.start < span.end <= len(text) for span in report.evidence.values())
    for span in report.evidence.values():
        assert (span.start, span.end) in span.candidates
        assert list(span.candidates) == sorted(span.candidates)
    assert report == locate(claims, text, options=options)


def _letters(text: str) -> list[str]:
    return [char for char in fold(text).text if char.isalnum()]


@given(SOURCES, st.data())
def test_any_part_of_a_text_is_found_as_what_it_says(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    value = text[start : data.draw(st.integers(start, len(text)))]
    answer = ask(text, value, "text")
    if answer.matched:
        same = fold(answer.matched).text == fold(value).text.strip(" ") or "[" in answer.matched
        assert same or _letters(answer.matched) == _letters(value)
        assert (answer.grade == "exact") == (answer.matched == value.strip())


FACTS: list[tuple[str, object, ClaimKind]] = [
    ("total 3,480.50", 3480.5, "number"),
    ("1.234 Stk.", 1234, "number"),
    ("48% of", 48, "number"),
    ("$48 million", 48_000_000, "number"),
    ("(1,048.00)", -1048, "number"),
    ("3\u202f480", 3480, "number"),
    ("-48", -48, "number"),
    ("10", 10, "number"),
    ("2026-03-06", 2026, "number"),
    ("6 March 2026", "2026-03-06", "date"),
    ("March 6, 2026", "2026-03-06", "date"),
    ("03/06/2026", "2026-03-06", "date"),
    ("6 March 2026, 21:13", "2026-03-06T21:13:00", "datetime"),
    ("9:13 pm", "21:13", "time"),
    ("The \ufb01lter", "the filter", "text"),
    ("rose [3] by", "rose by", "text"),
    ("RM9.00", "9.00", "text"),
    ("東京", "東京", "text"),
    ("NIKE, INC.", "Nike Inc", "text"),
    ("Doe, John", "John Doe", "text"),
    ("infor-\nmation", "information", "text"),
    ("7,838.80", "7838.80", "text"),
    ("5 kilograms", "5 kg", "text"),
    ("25 to 7 p.m.", "18:35", "time"),
]


@given(st.sampled_from(FACTS), SOURCES, SOURCES)
@example(("6 March 2026", "2026-03-06", "date"), "1 May", "")
@example(("10", 10, "number"), "\u5e74 1", "000 million")
def test_unrelated_text_never_lowers_a_verdict(
    fact: tuple[str, object, ClaimKind], before: str, after: str
) -> None:
    # A soft hyphen at the end of a line says that the word goes on: that text is not unrelated.
    # So does a scale at the start of the next one of its number.
    assume("\u00ad" not in before and not is_parted(f"\n{after}"))
    text, value, kind = fact
    alone = ask(text, value, kind)
    among = ask(f"{before}\n{text}\n{after}", value, kind)
    assert alone.matched
    assert among.matched
    assert among.plain or not alone.plain


def test_receipts_are_grounded_by_their_labels(shared_data: Path) -> None:
    path = shared_data / "sroie_receipts" / "dev" / "receipts.jsonl"
    receipts = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:100]]
    totals = [ask(each["text"], each["expected"]["total"], "number") for each in receipts]
    dates = [ask(each["text"], each["expected"]["date"], "text") for each in receipts]
    assert sum(answer.matched != "" for answer in totals) >= 97
    assert sum(answer.matched != "" for answer in dates) >= 95


def test_cost_is_near_linear_in_the_source() -> None:
    line = "Item 12: delivered 6 March 2026 at 9:13 PM, \u201cfragile\u201d, 1,234.50 EUR (48%).\n"
    wanted: tuple[tuple[object, ClaimKind], ...] = (
        ("absent item", "text"),
        (7, "number"),
        ("2026-01-01", "date"),
    )
    claims = [
        Claim(pointer=f"/{index}/{kind}", value=value, kind=kind)
        for index in range(10)
        for value, kind in wanted
    ]

    def seconds(copies: int) -> float:
        text = line * copies
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            locate(claims, text)
            best = min(best, time.process_time() - started)
        return best

    seconds(100)
    assert seconds(4000) < 16 * seconds(1000)


def test_rows_of_marks_on_one_letter_cost_no_more_than_other_text() -> None:
    claims = [Claim(value="xyz"), Claim(pointer="/y", value=5, kind="number")]

    def seconds(marks: int) -> float:
        started = time.process_time()
        locate(claims, "a" + "\u0301\u0316" * marks)
        return time.process_time() - started

    seconds(1000)
    assert seconds(40_000) < 16 * max(seconds(10_000), 0.01)


def test_doubtful_places_beside_plain_ones_count_as_places_that_a_list_may_share() -> None:
    claims = [Claim(pointer=f"/rows/{row}/qty", value=4, kind="number") for row in range(3)]
    plain = locate(claims, "GPT-4: 4 and 4")
    assert plain.findings == ()
    assert [span.start for span in plain.evidence.values()] == [7, 13, 7]
    shared = locate(claims, "GPT-4: 4")
    assert [(item.code, item.path) for item in shared.findings] == [("shared_place", "/rows")]
    assert "share 2 places in the source ('4')" in shared.findings[0].message


@pytest.mark.parametrize(
    ("text", "pointer", "verdict"),
    [
        ("$48 million", "/revenue_m", "yes"),
        ("48 Mio.", "/amount_millions", "yes"),
        ("48 bn", "/total_billion", "yes"),
        ("48 million", "/revenue_k", "flagged"),
        ("48 million", "/revenue", "flagged"),
    ],
)
def test_a_scale_that_the_name_of_the_field_says_in_another_word_is_its_unit(
    text: str, pointer: str, verdict: str
) -> None:
    assert ask(text, 48, "number", pointer=pointer).verdict == verdict
