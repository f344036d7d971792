from __future__ import annotations

import copy
import gc
import operator
import pickle
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from extractkit.grounding import GroundingReport, locate
from extractkit.grounding.evidence import Evidence
from extractkit.results import Span
from tests.grounding.asking import Claim

TEXT = "Bolt 7 4.20\nNut 7 4.20\n"
CLAIMS = (
    Claim(pointer="/0/name", value="Bolt"),
    Claim(pointer="/0/price", value="4.20", kind="number"),
    Claim(pointer="/1/name", value="nut"),
    Claim(pointer="/1/price", value="4.20", kind="number"),
    Claim(pointer="/2/name", value="Washer"),
)
SPANS = {
    "/0/name": Span(start=0, end=4),
    "/0/price": Span(start=7, end=11),
    "/1/name": Span(start=12, end=15, grade="normalised"),
    "/1/price": Span(start=18, end=22),
}


def _report(text: str = TEXT) -> GroundingReport:
    return locate(CLAIMS, text)


def test_evidence_is_a_mapping_like_the_dictionary_that_it_stands_for() -> None:
    evidence = _report().evidence
    assert list(evidence) == list(SPANS)
    assert evidence == SPANS
    spans = dict(SPANS)
    assert spans == _report().evidence
    assert evidence != {}
    assert (len(evidence), repr(_report().evidence)) == (4, repr(SPANS))
    assert list(_report().evidence.keys()) == list(SPANS)
    assert list(_report().evidence.values()) == list(SPANS.values())
    assert list(_report().evidence.items()) == list(SPANS.items())
    assert ("/0/name" in _report().evidence, "/2/name" in evidence) == (True, False)
    assert (_report().evidence["/0/price"], evidence.get("/2/name")) == (SPANS["/0/price"], None)


def test_evidence_is_pickled_and_copied_as_a_plain_dictionary() -> None:
    for made in (pickle.loads(pickle.dumps(_report().evidence)), copy.deepcopy(_report().evidence)):
        assert (type(made), made) == (dict, SPANS)
    report = pickle.loads(pickle.dumps(_report()))
    assert report == _report()
    assert dict(report.evidence) == SPANS


def test_findings_and_counts_are_there_before_anybody_looks_at_the_evidence() -> None:
    report = _report()
    assert [item.path for item in report.findings] == ["/2/name"]
    assert (report.count.checked, report.count.failed) == (5, 1)


def _holds(evidence: Mapping[str, Span], text: str) -> bool:
    seen: set[int] = set()
    pending: list[object] = [evidence]
    while pending:
        each = pending.pop()
        if id(each) in seen or isinstance(each, type):
            continue
        seen.add(id(each))
        pending += gc.get_referents(each)
    return id(text) in seen


def test_evidence_that_was_read_holds_no_source_text() -> None:
    text = f"{TEXT}that nobody needs to keep"
    evidence = _report(text).evidence
    assert evidence == SPANS
    assert not _holds(evidence, text)


def test_evidence_holds_no_long_text_even_before_it_is_read() -> None:
    text = f"{TEXT}that nobody needs to keep{' and more' * 2000}"
    assert not _holds(_report(text).evidence, text)


def test_evidence_that_nobody_has_read_is_written_without_the_source_text() -> None:
    written = pickle.dumps(_report(f"{TEXT}that nobody needs to keep").evidence)
    assert b"nobody needs" not in written
    assert pickle.loads(written) == SPANS


def test_threads_that_look_first_at_once_see_the_same_spans() -> None:
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            assert list(pool.map(_look, [_report().evidence] * 8)) == [SPANS] * 8


def _look(evidence: Mapping[str, Span]) -> dict[str, Span]:
    return dict(evidence)


def test_whoever_looks_while_another_thread_chooses_sees_the_spans() -> None:
    evidence = _report().evidence
    assert isinstance(evidence, Evidence)
    assert evidence.doubtful() == {}
    assert evidence.doubtful() == {}
    assert evidence == SPANS


def test_the_evidence_of_a_long_text_is_the_same() -> None:
    assert locate(CLAIMS, TEXT + " " * 20_000).evidence == SPANS


def test_a_doubtful_choice_is_made_at_once_and_told() -> None:
    report = locate([Claim(pointer="/part", value=4, kind="number")], "GPT-4 is a model")
    assert [(item.path, item.code) for item in report.findings] == [("/part", "ambiguous_number")]
    assert report.evidence == {"/part": Span(start=4, end=5, ambiguous=True)}


def test_every_place_of_a_value_is_a_candidate() -> None:
    evidence = _report().evidence
    assert evidence["/0/price"].candidates == evidence["/1/price"].candidates == ((7, 11), (18, 22))
    assert evidence["/0/name"].candidates == ((0, 4),)
    doubtful = locate([Claim(value=48, kind="number")], "48% of 48 and of 48%").evidence["/x"]
    assert (doubtful.start, doubtful.candidates) == (7, ((0, 3), (7, 9), (17, 20)))


def test_candidates_are_kept_by_copies_and_do_not_tell_spans_apart() -> None:
    span = _report().evidence["/1/price"]
    for made in (copy.copy(span), copy.deepcopy(span), pickle.loads(pickle.dumps(span))):
        assert (made, made.candidates) == (span, ((7, 11), (18, 22)))
    assert span == Span(start=18, end=22)
    assert (hash(span), repr(span)) == (hash(SPANS["/1/price"]), repr(SPANS["/1/price"]))
    assert Span(start=1, end=2).candidates == ()


def test_a_span_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="'Span' object has no attribute 'stop'"):
        operator.attrgetter("stop")(_report().evidence["/0/name"])
    with pytest.raises(AttributeError, match="_places"):
        operator.attrgetter("_places")(Span(start=1, end=2))
