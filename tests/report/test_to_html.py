"""A result as a page: the source unchanged, every place marked, nothing but itself, nothing run."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import UsageError
from extractkit.messages import StopReason, Usage
from extractkit.report import to_html
from extractkit.results import (
    Attempt,
    ExtractionResult,
    FieldState,
    Finding,
    LevelCount,
    PartialResult,
    Provenance,
    Span,
    Status,
    Strategy,
    Validity,
)

_VOID = {"meta", "br"}


@dataclass
class Mark:
    """One marked piece of the source."""

    attributes: Mapping[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """What a browser makes of a page, as far as these tests look at it."""

    text: str = ""
    tags: set[str] = field(default_factory=set[str])
    ids: list[str] = field(default_factory=list[str])
    links: list[str] = field(default_factory=list[str])
    names: set[str] = field(default_factory=set[str])
    marks: list[Mark] = field(default_factory=list[Mark])
    metas: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    style: str = ""
    body: str = ""
    open: list[str] = field(default_factory=list[str])
    in_source: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.names.update(given)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag == "meta":
            self.metas.append(given)
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "pre" and given.get("class") == "text":
            self.in_source = True
        if self.in_source and tag == "a":
            self.marks.append(Mark(given))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.in_source = self.in_source and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self.in_source:
            self.text += data
            if self.open[-1] == "a":
                self.marks[-1].text += data
        elif self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.body += data


def read(page: str) -> Page:
    found = Page()
    found.feed(page)
    found.close()
    assert found.open == []
    # What a browser does: the first new line of a pre is none, and a bare return would be one.
    assert "\r" not in page
    found.text = found.text.removeprefix("\n")
    return found


def result(
    document: Any = None,
    evidence: Mapping[str, Span] | None = None,
    findings: Sequence[Finding] = (),
    **changes: Any,
) -> ExtractionResult[Any]:
    made: ExtractionResult[Any] = ExtractionResult(
        value=document,
        document=document,
        status=Status.OK,
        validity=Validity.GROUNDED,
        levels={Validity.SYNTAX: LevelCount(checked=1), Validity.GROUNDED: LevelCount(checked=2)},
        findings=tuple(findings),
        evidence=evidence or {},
        confidence={},
        strategy=Strategy.PROMPT,
        strategy_reason="it was asked for",
        refusal=None,
        stop_reason=StopReason.STOP,
        partial=None,
        usage=Usage(input_tokens=1200, output_tokens=80),
        attempts=(),
        raw=None,
        provenance=Provenance(provider="scripted", model="m-1"),
    )
    return replace(made, **changes)


def error(
    path: str, level: Validity = Validity.GROUNDED, message: str = "it is not there"
) -> Finding:
    return Finding(level=level, path=path, message=message, code="not_in_source")


TEXT = "Total 62.00, due 1 May 2026"


def test_a_found_value_is_marked_with_path_value_grade_and_level() -> None:
    evidence = {"/total": Span(start=6, end=11), "/due": Span(start=17, end=27, grade="normalised")}
    page = read(to_html(result({"total": "62.00", "due": "2026-05-01"}, evidence), TEXT))
    first, second = page.marks
    assert (first.text, second.text) == ("62.00", "1 May 2026")
    assert first.attributes["data-tip"] == '/total = "62.00"\nmatch: exact; level GROUNDED'
    assert first.attributes["aria-description"] == first.attributes["data-tip"]
    assert (first.attributes["class"], second.attributes["class"]) == (
        "mark exact",
        "mark normalised",
    )
    assert page.text == TEXT
    assert "exact" in page.body
    assert "1 May 2026 at 17:27" in page.body


def test_marks_and_rows_lead_to_each_other() -> None:
    evidence = {"/a": Span(start=0, end=5), "/b": Span(start=2, end=8), "/c": Span(start=2, end=8)}
    page = read(to_html(result({"a": 1, "x": None, "b": 2, "c": 3}, evidence), TEXT))
    assert len(page.ids) == len(set(page.ids))
    rows = {f"value-{number}" for number in (1, 2, 3, 4)}
    assert rows <= set(page.ids)
    assert {link for link in page.links if link.startswith("#value")} <= {f"#{row}" for row in rows}
    places = {link for link in page.links if link.startswith("#place")}
    assert places == {"#place-1", "#place-3", "#place-4"}
    assert places <= {f"#{each}" for each in page.ids}


def test_what_is_not_found_stands_beside_with_its_finding_and_is_not_marked() -> None:
    made = result(
        {"total": 7, "kind": "a", "paid": None},
        {},
        [error("/total"), error("/missing", Validity.SCHEMA, "the field is missing")],
        validity=Validity.SYNTAX,
        status=Status.INVALID,
        value=None,
    )
    page = read(to_html(made, TEXT))
    assert page.marks == []
    assert "not found" in page.body
    assert "it is not there" in page.body
    assert "level CONSISTENT, fails GROUNDED" in page.body
    assert "Findings about more than one value" in page.body
    assert "/missing: the field is missing" in page.body
    assert page.body.count("exempt") >= 2


def test_doubt_and_errors_show_on_the_mark() -> None:
    evidence = {
        "/a": Span(start=0, end=5, ambiguous=True),
        "/b": Span(start=6, end=11),
        "/c": Span(start=12, end=16, grade="fuzzy"),
    }
    findings = [error("/b", Validity.CONSISTENT), replace(error("/c"), severity="note")]
    page = read(to_html(result({"a": 1, "b": 2, "c": 3}, evidence, findings), TEXT))
    assert [mark.attributes["class"] for mark in page.marks] == [
        "mark exact doubtful", "mark exact wrong", "mark fuzzy",
    ]  # fmt: skip
    assert "has another reading" in page.marks[0].attributes["data-tip"]
    assert "level SCHEMA, fails CONSISTENT" in page.marks[1].attributes["data-tip"]
    assert "exact, ambiguous" in page.body
    assert "found, with an error" in page.body


def test_a_value_without_grounding_is_not_called_exempt() -> None:
    made = result({"a": 1}, levels={Validity.SCHEMA: LevelCount(checked=1)}, validity=Validity(3))
    page = read(to_html(made, TEXT))
    assert "not looked for" in page.body
    assert "exempt" not in page.body.replace("0 exempt", "")


@pytest.mark.parametrize("document", [None, 3, "x", [], {}], ids=str)
def test_an_answer_may_be_a_single_value_and_null(document: Any) -> None:
    page = read(to_html(result(document), TEXT))
    assert "(the whole answer)" in page.body


# --- answers without a value ---------------------------------------------------------------------


def test_a_refusal_and_an_unreadable_answer_are_shown_as_they_came() -> None:
    refused = result(None, status=Status.REFUSED, validity=Validity.NONE, refusal="I <must> not")
    assert read(to_html(refused, TEXT)).body.count("I <must> not") == 2
    attempt = Attempt(text="3 to 8", stop_reason=StopReason.STOP, validity=Validity.NONE)
    unread = result(None, status=Status.INVALID, validity=Validity.NONE, attempts=(attempt,))
    assert "3 to 8" in read(to_html(unread, TEXT)).body
    assert "(nothing)" in read(to_html(replace(unread, attempts=()), TEXT)).body


def test_of_a_truncated_answer_what_was_read_is_shown() -> None:
    partial = PartialResult(document={"a": "begun"}, states={"/a": FieldState.PENDING})
    made = result(None, status=Status.TRUNCATED, validity=Validity.NONE, partial=partial)
    page = read(to_html(made, TEXT))
    assert '"begun"' in page.body
    assert "truncated" in page.body


def test_how_it_was_asked_is_told() -> None:
    provenance = Provenance(
        provider="openai", model="m", dialect="d", fingerprint="f00", versions={"pydantic": "2"}
    )
    made = result(3, provenance=provenance, cost_usd=Decimal("0.0012"))
    body = read(to_html(made, TEXT)).body
    for said in ("m, through openai", "prompt: it was asked for", "1,200 tokens read",
                 "0.0012 USD", "fingerprint f00", "pydantic 2"):  # fmt: skip
        assert said in body


def test_evidence_beyond_the_text_is_refused() -> None:
    with pytest.raises(UsageError, match="reaches to character 40, the text has 27"):
        to_html(result({"a": 1}, {"/a": Span(start=30, end=40)}), TEXT)


@pytest.mark.parametrize("turns", ["\u202a", "\u202e", "\u2066", "\u2069"])
def test_what_turns_the_direction_of_a_text_is_shown_and_turns_nothing(turns: str) -> None:
    text = f"Pay {turns}100 EUR"
    raw = to_html(result({"pay": f"{turns}100"}, {"/pay": Span(start=4, end=8)}), text, title=text)
    page = read(raw)
    assert turns not in raw
    assert (page.text, page.marks[0].text) == ("Pay \ufffd100 EUR", "\ufffd100")
    assert "\u200e" in to_html(result({}), "a mark \u200e turns nothing")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"text": None}, "text is a NoneType; expected str"),
        ({"text": b"Total"}, "text is a bytes; expected str"),
        ({"title": None}, "title is a NoneType; expected str"),
        ({"result": {"a": 1}}, "result is a dict; expected ExtractionResult"),
    ],
)
def test_what_is_no_result_or_no_text_is_refused_in_words(change: Any, why: str) -> None:
    given: dict[str, Any] = {"result": result({"a": 1}), "text": TEXT, **change}
    with pytest.raises(UsageError, match=f"to_html: {why}"):
        to_html(**given)


# --- one file, nothing run -----------------------------------------------------------------------


def test_the_page_allows_its_own_style_and_nothing_else() -> None:
    page = read(to_html(result({"a": 1}), TEXT, title="A & B"))
    policy = next(each["content"] for each in page.metas if "http-equiv" in each)
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"url\(|@import|https?:", page.style)
    assert "prefers-color-scheme: dark" in page.style
    assert "focus-visible" in page.style
    assert page.metas[0] == {"charset": "utf-8"}
    assert page.body.count("A & B") == 2


_HOSTILE = st.text(
    st.sampled_from("<>&\"'=/\r\n\t\0 \x0b\x1b\u2028\u202e\u2067\x85\ud800ab;#!-é漢😀")
) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</pre></body>",
        "<!--",
        "]]>",
        "&lt;b&gt; &amp;amp;",
        '" onmouseover="x',
        "<style>*{}</style>",
        "\n\nfirst",
        "<img src=x onerror=y>",
        "javascript:alert(1)",
    ]
)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[str, ExtractionResult[Any]]:
    text = "".join(draw(st.lists(_HOSTILE, min_size=1, max_size=5)))
    document = draw(st.dictionaries(_HOSTILE, _HOSTILE | st.integers(), max_size=6))
    evidence: dict[str, Span] = {}
    findings: list[Finding] = []
    for key in document:
        pointer = "/" + key.replace("~", "~0").replace("/", "~1")
        start = draw(st.integers(0, len(text)))
        if draw(st.booleans()):
            end = draw(st.integers(start, len(text)))
            evidence[pointer] = Span(start=start, end=end, ambiguous=draw(st.booleans()))
        else:
            findings.append(error(pointer, message=draw(_HOSTILE)))
    return text, result(document, evidence, findings)


def _shown(text: str) -> str:
    return "".join(map(_seen, text))


def _seen(character: str) -> str:
    code, kind = ord(character), unicodedata.category(character)
    if kind == "Cc" and code <= 0x7F and character not in "\t\n\r":
        return "\u2421" if code == 0x7F else chr(0x2400 + code)
    is_none = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    is_turning = unicodedata.bidirectional(character) in _TURNING
    is_c1 = kind == "Cc" and code > 0x7F
    return "\ufffd" if kind == "Cs" or is_c1 or is_none or is_turning else character


_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@settings(deadline=None)
@given(_cases())
def test_the_source_is_shown_unchanged_and_nothing_of_it_is_markup(
    case: tuple[str, ExtractionResult[Any]],
) -> None:
    text, made = case
    raw = to_html(made, text, title=text)
    raw.encode("utf-8")
    page = read(raw)
    assert page.text == _shown(text)
    assert page.tags <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "dl", "dt", "dd",
        "main", "section", "pre", "a", "ol", "ul", "li", "div", "span", "bdi", "footer", "p",
    }  # fmt: skip
    assert page.names <= {
        "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "dir",
        "data-tip", "aria-description",
    }  # fmt: skip
    assert all(link.startswith("#") for link in page.links)
    assert len(page.ids) == len(set(page.ids))


@settings(deadline=None)
@given(_HOSTILE.filter(bool), st.data())
def test_the_marks_of_each_value_make_up_its_place_wherever_places_overlap(
    text: str, data: st.DataObject
) -> None:
    places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).map(sorted)
    spans = [Span(start=start, end=end) for start, end in data.draw(st.lists(places, max_size=9))]
    evidence = {f"/v{number}": span for number, span in enumerate(spans)}
    page = read(to_html(result(dict.fromkeys(f"v{at}" for at in range(9)), evidence), text))
    for pointer, span in evidence.items():
        own = [
            mark.text
            for mark in page.marks
            if any(
                tip.startswith(f"{pointer} = ") for tip in mark.attributes["data-tip"].split("\n\n")
            )
        ]
        assert "".join(own) == _shown(text[span.start : span.end])
    assert {link[1:] for link in page.links} <= set(page.ids) | {
        f"place-{number}" for number, span in enumerate(spans, 1) if span.start == span.end
    }
