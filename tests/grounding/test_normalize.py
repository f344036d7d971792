from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding.normalize import find_all, fold, joins_previous

PIECES = st.sampled_from(
    [
        *"aB1 .,-\n\t'\"`",
        "\u00e9",
        "e\u0301",
        "\u0301",
        "\ufb01",
        "\u00df",
        "\u0130",
        "\u00a0",
        "\u3000",
        "\u00ad",
        "\u200b",
        "\u200d",
        "\ufe0f",
        "\u2019",
        "\u201c",
        "\u2014",
        "\u2011",
        "\u00b2",
        "\u00bd",
        "\u2122",
        "\u338f",
        "\uff21",
        "\uff11",
        "\uff76\uff9e",
        "\u30ab\u3099",
        "\u1112\u1161\u11ab",
        "\ud55c",
        "\u6771",
        "\U0001f468",
        "\u2026",
        "\u00a8",
        "\ud800",
        "\x00",
        "[3]",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=30)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "stra\u00dfe"),
        ("a  b\n\tc", "a b c"),
        ("a\u00a0b\u3000c", "a b c"),
        ("\u2018a\u2019 `b` \u201ec\u201d \u00abd\u00bb", "'a' 'b' \"c\" \"d\""),
        ("1\u20132\u20143\u22124\u20115", "1-2-3-4-5"),
        ("\ufb01n o\ufb03ce", "fin office"),
        ("\uff21\uff22\uff11\uff12", "ab12"),
        ("\uff76\uff9e\uff77\uff9e", "\u30ac\u30ae"),
        ("Cafe\u0301", "CAF\u00c9"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "\ud55c\uad6d"),
        ("hy\u00adphen", "hyphen"),
        ("hy\u00ad\n  phen", "hyphen"),
        ("a\u200bb\ufeffc", "abc"),
        ("\u2764\ufe0f", "\u2764"),
        ("5\u338f", "5kg"),
        ("wait\u2026", "wait..."),
        ("don\u00b4t", "don't"),
        ("1\u20442", "1/2"),
        ("\u0130stanbul", "istanbul"),
        ("\u0130stanbul", "Istanbul"),
        ("I\u0307stanbul", "istanbul"),
    ],
)
def test_presentation_folds_away(one: str, other: str) -> None:
    assert fold(one).text == fold(other).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10\u00b2", "102"),
        ("1\u00bd", "11/2"),
        ("Acme\u2122", "Acmetm"),
        ("cafe", "caf\u00e9"),
        ("1 2", "12"),
        ("a b", "ab"),
        ("a[3]", "a[4]"),
        ("hy-\nphen", "hyphen"),
    ],
)
def test_what_says_something_else_does_not_fold_together(one: str, other: str) -> None:
    assert fold(one).text != fold(other).text


def test_reference_marks_are_left_out_on_request_only() -> None:
    text = "cost [3] rose [4, 5] by [1-3]."
    assert fold(text, skip_references=True).text == "cost rose by."
    assert fold(text).text == text
    assert fold("[1234] [a]", skip_references=True).text == "[1234] [a]"


def test_a_part_of_a_ligature_has_no_span() -> None:
    folded = fold("o\ufb03ce")
    assert folded.text == "office"
    assert folded.span(0, 6) == (0, 4)
    assert folded.span(1, 4) == (1, 2)
    assert folded.span(0, 2) is None
    assert folded.span(2, 6) is None


@given(TEXTS)
def test_every_span_of_whole_pieces_folds_to_the_same_characters(text: str) -> None:
    folded = fold(text)
    for start in range(len(folded.text)):
        for end in range(start + 1, min(start + 6, len(folded.text)) + 1):
            span = folded.span(start, end)
            if span is None:
                continue
            low, high = span
            assert 0 <= low < high <= len(text)
            cut = folded.text[start:end]
            begins_whole = low == 0 or not joins_previous(text[low])
            ends_whole = high == len(text) or not joins_previous(text[high])
            if begins_whole and ends_whole:
                assert fold(text[low:high]).text == cut


@given(TEXTS)
def test_the_whole_text_maps_to_itself_without_its_silent_ends(text: str) -> None:
    folded = fold(text)
    if folded.text:
        span = folded.span(0, len(folded.text))
        assert span is not None
        assert fold(text[: span[0]]).text == fold(text[span[1] :]).text == ""


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "Z", "P"]), max_size=20))
def test_composed_and_decomposed_texts_fold_alike(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)
    assert fold(composed).text == fold(decomposed).text


def test_find_all_yields_overlapping_places() -> None:
    assert list(find_all("aaaa", "aa")) == [0, 1, 2]
    assert list(find_all("abc", "d")) == []
