"""Laws of the parser, over generated documents, spellings, wrappers and accidents."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import paths
from extractkit.parsing import MAX_DEPTH, ParsedDocument, _quick, parse_json, parse_prefix
from extractkit.results import FieldState
from tests.parsing.reference import reference, second_opinion
from tests.parsing.test_parse_json import codes

_scripts = st.sampled_from(["", "a", "é", "東京", "😀", "e\u0301", "\u2028", '"', "\\", "\n", "/~"])
_texts = st.lists(_scripts, max_size=5).map("".join)
_mixed = st.recursive(
    _texts | st.integers() | st.none() | st.sampled_from([0.5, -1e-7, 1e300]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)
_spellings = st.sampled_from(
    [
        {},
        {"ensure_ascii": False},
        {"ensure_ascii": False, "separators": (",", ":")},
        {"ensure_ascii": False, "indent": 2},
    ]
)
_leads = st.sampled_from(["", "", " \n", "Voilà 東京:\n```json\n", "\ufeff", "Half \ud83c: "])
_ends = st.sampled_from(["", "\t", "\n```\né"])


def whole(parsed: ParsedDocument, text: str) -> None:
    """Hold every leaf and key to what stands at its places."""
    data = text.encode("utf-8", "surrogatepass")
    leaves = dict(paths.walk(parsed.value))
    assert list(parsed.spans) == list(parsed.byte_spans) == list(leaves)
    assert len(parsed.spans) == len(parsed.byte_spans) == len(leaves)
    for pointer, value in leaves.items():
        (start, end), (first, last) = parsed.spans[pointer], parsed.byte_spans[pointer]
        assert repr(json.loads(text[start:end])) == repr(value)
        assert data[first:last] == text[start:end].encode()
    assert list(parsed.key_spans) == list(parsed.byte_key_spans)
    for pointer, (start, end) in parsed.key_spans.items():
        first, last = parsed.byte_key_spans[pointer]
        assert json.loads(text[start:end]) == paths.split(pointer)[-1]
        assert json.loads(data[first:last]) == paths.split(pointer)[-1]
        paths.get(parsed.value, pointer)


@given(_mixed, _spellings, _leads, _ends)
def test_places_hold_their_leaf_in_characters_and_in_bytes(
    value: Any, spelling: dict[str, Any], lead: str, end: str
) -> None:
    text = lead + json.dumps(value, **spelling) + end
    parsed = parse_json(text)
    if isinstance(value, dict | list):
        assert parsed.ok or ("`" in end and "`" not in lead)
    if parsed.ok:
        whole(parsed, text)


@given(_mixed, _spellings)
def test_clean_and_scanned_places_are_the_same(value: Any, spelling: dict[str, Any]) -> None:
    clean = json.dumps([value, 1], **spelling)
    noted = json.dumps([value, 1], **spelling)[:-2] + "0.12345678901234567890]"
    first, second = parse_json(clean), parse_json(noted)
    assert (codes(first), codes(second)) == ([], ["inexact_number"])
    for one, other in (
        (first.spans, second.spans),
        (first.byte_spans, second.byte_spans),
        (first.key_spans, second.key_spans),
    ):
        assert {key: one[key] for key in one if key != "/1"} == {
            key: other[key] for key in other if key != "/1"
        }


def test_in_ascii_bytes_are_characters_and_cost_nothing() -> None:
    parsed = parse_json('{"a": ["x", 1]}')
    assert parsed.byte_spans is parsed.spans
    assert parsed.byte_key_spans is parsed.key_spans


def test_spans_are_of_the_text_even_where_the_value_was_changed_since() -> None:
    parsed = parse_json('{"a": ["x", 1], "b": {}}')
    parsed.value["a"].clear()
    parsed.value["c"] = 1
    assert dict(parsed.spans) == {"/a/0": (7, 10), "/a/1": (12, 13), "/b": (21, 23)}


def test_a_place_that_is_none_is_a_key_error() -> None:
    parsed = parse_json('{"é": 1}')
    for spans in (parsed.spans, parsed.byte_spans):
        with pytest.raises(KeyError):
            spans["/a"]


# --- accidents -----------------------------------------------------------------------------------

_accidents = st.sampled_from(
    [
        *'{}[]:,"\\ 0-.eE\n\x00\u00e9\ud83c',
        *(
            "NaN",
            "-Infinity",
            "1e999",
            "01",
            "1.",
            "\\ud83c",
            "\\u003a",
            '"a":',
            "//",
            "tru",
            "```",
        ),
    ]
)


@given(_mixed, _spellings, st.lists(st.tuples(st.floats(0, 1), _accidents), max_size=3), st.data())
def test_what_strict_readers_refuse_never_reaches_syntax(
    value: Any, spelling: dict[str, Any], accidents: list[tuple[float, str]], data: st.DataObject
) -> None:
    text = json.dumps(value, **spelling)
    for where, what in accidents:
        at = int(where * len(text))
        text = text[:at] + what + text[at + data.draw(st.integers(0, 2)) :]
    strict, repaired = parse_json(text, repair=False), parse_json(text)
    try:
        expected = reference(text)
    except ValueError:
        assert not strict.ok
        assert strict.value is None
        assert not repaired.ok or "unwrapped" in codes(repaired)
        return
    assert strict.ok
    assert repaired == strict
    assert repr(strict.value) == repr(expected) == repr(second_opinion(text))


@given(_mixed, _spellings, _leads, st.floats(0, 1))
def test_a_prefix_claims_nothing_that_the_whole_does_not_have(
    value: Any, spelling: dict[str, Any], lead: str, where: float
) -> None:
    text = lead + json.dumps(value, **spelling)
    partial = parse_prefix(text[: int(where * len(text))])
    for pointer, state in partial.states.items():
        here = paths.get(value, pointer)  # whatever was begun stands there
        if state is FieldState.PRESENT:
            assert repr(paths.get(partial.document, pointer)) == repr(here)


@given(_mixed, _spellings)
def test_along_a_text_a_state_never_goes_back(value: Any, spelling: dict[str, Any]) -> None:
    text = json.dumps(value, **spelling)
    order = [FieldState.MISSING, FieldState.PENDING, FieldState.PRESENT]
    before: dict[str, FieldState] = {}
    for cut in range(min(len(text), 60) + 1):
        now = dict(parse_prefix(text[:cut]).states)
        for pointer, state in before.items():
            assert order.index(now[pointer]) >= order.index(state)
        before = now


# --- numbers -------------------------------------------------------------------------------------


@given(
    st.integers(0, 10**25).map(str),
    st.integers(0, 10**25).map(str),
    st.integers(-400, 400) | st.none(),
)
def test_the_digits_of_a_number_are_kept_where_a_float_loses_some(
    before: str, after: str, power: int | None
) -> None:
    digits = f"{before}.{after}" + ("" if power is None else f"e{power}")
    parsed = parse_json(f'{{"n": [{digits}]}}')
    if not parsed.ok:
        assert codes(parsed) == ["not_finite"]
        assert abs(Decimal(digits)) > Decimal("1.7e308")
        return
    number = parsed.value["n"][0]
    assert number == float(digits)
    lossless = Decimal(repr(number)) == Decimal(digits)
    assert dict(parsed.digits) == ({} if lossless else {"/n/0": digits})
    assert codes(parsed) == ([] if lossless else ["inexact_number"])


@given(st.integers(-(10**60), 10**60))
def test_integers_are_exact(number: int) -> None:
    parsed = parse_json(f"[{number}]")
    assert parsed.value == [number]
    assert type(parsed.value[0]) is int
    assert parsed.findings == ()


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"b":'])
def test_the_limit_of_depth_is_the_stated_one(opening: str) -> None:
    levels = opening.count("[") + opening.count("{")
    closing = "".join("]" if each == "[" else "}" for each in reversed(opening) if each in "[{")
    for count, fits in ((MAX_DEPTH // levels, True), (MAX_DEPTH // levels + 1, False)):
        for number in ("1", "0.12345678901234567890", "1234567890123456"):
            text = opening * count + number + closing * count
            parsed = parse_json(text)
            assert parsed.ok is fits
            assert fits or codes(parsed) == ["too_deep"]


def test_a_wide_text_with_long_numbers_is_not_deep() -> None:
    wide = [[1234567890123456, {"a": [number]}] for number in range(2 * MAX_DEPTH)]
    assert parse_json(json.dumps(wide)).value == wide


def test_the_limit_of_depth_does_not_rest_on_the_parser_beneath(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _quick.parser_keeps_depth()

    def unlimited(data: bytes, **options: bool) -> Any:
        del options
        return json.loads(data)

    monkeypatch.setattr(_quick, "from_json", unlimited)
    assert not _quick.parser_keeps_depth()
    monkeypatch.setattr(_quick, "_KEEPS_DEPTH", False)
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH).ok
    assert codes(parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))) == ["too_deep"]
