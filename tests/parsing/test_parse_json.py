"""parse_json reads exactly one JSON document, says what is wrong, and knows where things stand."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import paths
from extractkit.errors import UsageError
from extractkit.parsing import MAX_DEPTH, MAX_DIGITS, ParsedDocument, parse_json, parse_prefix
from extractkit.results import Validity

_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
documents = st.recursive(
    _scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=25
)
_space = st.text(" \t\n\r", max_size=3)


def codes(parsed: ParsedDocument) -> list[str]:
    return [finding.code for finding in parsed.findings]


def reference(text: str) -> Any:
    """The standard library's reading, made strict; ValueError where there is none."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("duplicate key")
        return dict(pairs)

    def constant(word: str) -> Any:
        raise ValueError(word)

    value = json.loads(text, object_pairs_hook=members, parse_constant=constant)
    json.dumps(value, allow_nan=False)
    json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return value


@given(documents, st.booleans(), st.sampled_from([None, 1, "\t"]), _space, _space)
def test_every_document_is_read_as_the_standard_library_reads_it(
    value: Any, ascii_only: bool, indent: Any, before: str, after: str
) -> None:
    text = before + json.dumps(value, ensure_ascii=ascii_only, indent=indent) + after
    parsed = parse_json(text)
    assert parsed.ok
    assert parsed.value == json.loads(text)
    assert {finding.severity for finding in parsed.findings} <= {"note"}


@given(documents, st.booleans())
def test_a_span_is_the_leafs_own_json_text_and_every_leaf_has_one(
    value: Any, ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    parsed = parse_json(text)
    leaves = dict(paths.walk(parsed.value))
    assert list(parsed.spans) == list(leaves)
    for pointer, (start, end) in parsed.spans.items():
        assert json.loads(text[start:end]) == leaves[pointer]
        assert text[start:end].strip() == text[start:end]
    for pointer, (start, end) in parsed.key_spans.items():
        assert json.loads(text[start:end]) == paths.split(pointer)[-1]


_pieces = st.sampled_from(
    [
        *'{}[]:,"\\1 \n\x00é\ufeff',
        *('"a"', '"b"', '"\\u00e9"', '"\\ud83c"', "-0.5e1", "01", "1e999", "12345678901234567"),
        *("true", "null", "NaN"),
    ]
)


@given(st.lists(_pieces, max_size=12).map("".join))
def test_the_verdict_on_any_text_is_that_of_a_strict_reference(text: str) -> None:
    parsed = parse_json(text, repair=False)
    try:
        expected = reference(text)
    except ValueError:
        assert not parsed.ok
        assert parsed.value is None
        assert not parsed.spans
    else:
        assert parsed.ok
        assert parsed.value == expected


@pytest.mark.parametrize(
    ("text", "code", "path", "character"),
    [
        ('{"a": 1, "a": 2}', "duplicate_key", "/a", 9),
        ('{"a": {"x/y": [1], "x/y": 2}}', "duplicate_key", "/a/x~1y", 19),
        ('{"score": NaN}', "not_finite", "/score", 10),
        ('{"score": -Infinity}', "not_finite", "/score", 10),
        ('{"score": [1, 1e999]}', "not_finite", "/score/1", 14),
        ('{"a": "\\ud83c"}', "lone_surrogate", "/a", 6),
        ('{"a": "\\udf31\\ud83c"}', "lone_surrogate", "/a", 6),
        ('{"a": "\ud83c"}', "lone_surrogate", "/a", 6),
        ('{"\\ud83c": 1}', "lone_surrogate", "", 1),
        ('["a\nb"]', "control_character", "/0", 3),
        ('["a\\u00"]', "bad_escape", "/0", 3),
        ('{"it\\\'s": 1}', "bad_escape", "", 4),
        ("[01]", "bad_number", "/0", 1),
        ("[1., 2]", "bad_number", "/0", 1),
        ("[.5]", "bad_number", "/0", 1),
        ("[+1]", "bad_number", "/0", 1),
        ('{"a": 1} x', "trailing_text", "", 9),
        ("1 2", "trailing_text", "", 2),
        ("1, 2", "trailing_text", "", 1),
        ('\ufeff{"a": 1}', "byte_order_mark", "", 0),
        ('{"a": 1,}', "not_json", "", 8),
        ('{"a" 1}', "not_json", "/a", 5),
        ('{"a": tru}', "not_json", "/a", 6),
        ("[1 2]", "not_json", "", 3),
        ("[1}", "not_json", "", 2),
        ("\u00a01", "not_json", "", 0),
        ('{"a": [1, 2', "unexpected_end", "/a", 11),
        ('{"a": "x', "unexpected_end", "/a", 6),
        ('{"a": -', "unexpected_end", "/a", 6),
        ('{"a": -Infin', "unexpected_end", "/a", 6),
        ('{"a', "unexpected_end", "", 1),
        ("", "empty", "", 0),
        (" \n", "empty", "", 2),
    ],
)
def test_what_is_not_json_is_an_error_at_its_place(
    text: str, code: str, path: str, character: int
) -> None:
    parsed = parse_json(text, repair=False)
    finding = parsed.findings[0]
    assert not parsed.ok
    assert parsed.value is None
    assert (finding.level, finding.severity) == (Validity.SYNTAX, "error")
    assert (finding.code, finding.path) == (code, path)
    assert finding.message.startswith(f"character {character}: ")


def test_errors_that_leave_the_structure_clear_are_all_reported() -> None:
    parsed = parse_json('{"a": NaN, "b": "\t\t\\x", "c": 01, "a": 1e999, "d": "\\udc00"}')
    assert codes(parsed) == [
        *("not_finite", "control_character", "bad_escape", "bad_number"),
        *("duplicate_key", "not_finite", "lone_surrogate"),
    ]


def test_a_pair_of_escapes_is_one_character_and_its_span_keeps_the_escapes() -> None:
    parsed = parse_json('{"a": "x\\ud83c\\udf31"}')
    assert parsed.value == {"a": "x🌱"}
    assert parsed.spans["/a"] == (6, 21)


def test_a_finding_about_half_a_character_can_be_written_as_utf8() -> None:
    for text in ('{"k\ud83c": NaN}', "\ud83c", '"\ud83c"'):
        for finding in parse_json(text).findings:
            (finding.path + finding.message).encode()


def test_null_is_a_document() -> None:
    parsed = parse_json("null")
    assert parsed.ok
    assert parsed.value is None
    assert parsed.spans == {"": (0, 4)}


def test_large_integers_are_exact_up_to_the_stated_length() -> None:
    digits = "7" * 4000
    assert parse_json(digits).value == int(digits)
    too_long = parse_json("[" + "7" * (MAX_DIGITS + 1) + "]")
    assert codes(too_long) == ["number_too_long"]


def test_a_lower_limit_of_the_interpreter_is_a_finding_too() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert codes(parse_json("1" * 700)) == ["number_too_long"]
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    "number",
    [
        "0.1234567890123456789",
        "12345678901234567.5",
        "1e-999",
        "1.2345e-322",
        "1e-99999999999999999999",
    ],
)
def test_a_fraction_that_a_double_does_not_hold_is_noted(number: str) -> None:
    parsed = parse_json(f'{{"x": {number}}}')
    assert codes(parsed) == ["inexact_number"]
    assert parsed.ok
    assert parsed.value == {"x": float(number)}


def test_exact_fractions_are_not_noted() -> None:
    assert parse_json("[0.1, 1e308, 62.00, 1.5000000000000000000, 123456.789012345]").findings == ()


def test_depth_is_limited_and_deep_text_neither_recurses_nor_raises() -> None:
    fits = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse_json(fits).ok
    assert codes(parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))) == ["too_deep"]
    assert codes(parse_json('{"a":' * 100_000)) == ["too_deep"]


def _seconds(text: str) -> float:
    best = math.inf
    for _ in range(3):
        begin = time.process_time()
        parse_json(text)
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.parametrize(
    "piece",
    ['{"a":1.5,"b":"x"},', "[the] ", "[[", '"\\', "1", "```\nx\n", "</think>", "{", "\\u00", "- "],
)
def test_time_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    def filled(size: int) -> str:
        return piece * (size // len(piece))

    small, large = _seconds(filled(20_000)), _seconds(filled(160_000))
    assert large < 8 * 6 * small + 0.05


def _broken(folder: Path) -> Iterator[str]:
    with (folder / "broken_json" / "dev" / "pairs.jsonl").open(encoding="utf-8") as lines:
        yield from (json.loads(line)["input"] for line in lines)


def test_broken_json_from_the_field_is_never_read_as_a_document(shared_data: Path) -> None:
    for text in _broken(shared_data):
        parsed, strict = parse_json(text), parse_json(text, repair=False)
        try:
            expected = reference(text)
        except ValueError:
            assert not strict.ok
            assert not parsed.ok or codes(parsed) == ["unwrapped"]
        else:
            assert parsed == strict
            assert parsed.value == expected


def test_many_brackets_side_by_side_are_not_deep_but_one_deep_chain_among_them_is() -> None:
    wide = [[number, {"a": [number]}] for number in range(3 * MAX_DEPTH)]
    assert parse_json(json.dumps(wide)).value == wide
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert codes(parse_json(f"[{json.dumps(wide)}, {deep}]")) == ["too_deep"]
    assert parse_json(deep).ok


def test_a_long_text_is_read_like_a_short_one() -> None:
    digits = "7" * MAX_DIGITS
    parsed = parse_json(f'{{"a": {digits}, "b": [12, -3]}}')
    assert parsed.value == {"a": int(digits), "b": [12, -3]}
    assert parsed.spans["/b/1"] == (MAX_DIGITS + 18, MAX_DIGITS + 20)
    assert codes(parse_json(f'{{"a": 7{digits}}}')) == ["number_too_long"]
    assert codes(parse_json(f'{{"a": -{digits}}}')) == ["number_too_long"]


def test_places_are_the_same_whether_a_text_is_clean_or_not() -> None:
    clean = parse_json(' {"a": [1, "x"], "b": {}}')
    noted = parse_json(' {"a": [1, "x"], "b": {}, "c": 0.1000000000000000000001}')
    assert codes(noted) == ["inexact_number"]
    assert dict(clean.spans) == {key: noted.spans[key] for key in ("/a/0", "/a/1", "/b")}
    assert dict(clean.key_spans) == {
        key: span for key, span in noted.key_spans.items() if key != "/c"
    }
    assert parse_json("{").spans == {}


@pytest.mark.parametrize("given", [b"{}", None, 3, {}])
def test_what_is_no_text_is_refused_in_words(given: Any) -> None:
    for read in (parse_json, parse_prefix):
        with pytest.raises(UsageError, match=f"text is a {type(given).__name__}; expected str"):
            read(given)


@pytest.mark.parametrize("text", ["01", "-01", "+1", ".5", "1.5.2", "1e5e"])
@pytest.mark.parametrize("form", ["{}", '{{"a": {}}}', '{{"a": {}'])
def test_a_number_that_could_never_be_one_is_said_to_be_none(text: str, form: str) -> None:
    parsed = parse_json(form.format(text))
    assert parsed.findings[0].code == "bad_number"
    assert repr(text) in parsed.findings[0].message


@pytest.mark.parametrize("text", ["-", "1.", "1e", "1.5E-", "[0.", "-0e"])
def test_a_number_that_may_go_on_ends_too_early(text: str) -> None:
    assert codes(parse_json(text))[-1] == "unexpected_end"


def test_what_was_read_beside_numbers_beyond_a_double_is_kept_for_a_decimal() -> None:
    parsed = parse_json('{"a": 1e999, "b": [-2e400, 3]}')
    assert (parsed.ok, parsed.value, codes(parsed)) == (False, None, ["not_finite"] * 2)
    read = parsed.beyond
    assert read is not None
    assert read.value == {"a": math.inf, "b": [-math.inf, 3]}
    assert read.digits == {"/a": "1e999", "/b/0": "-2e400"}
    assert [item.severity for item in read.findings] == ["note", "note"]
    assert read.spans["/b/1"] == (27, 28)
    for text in ('{"a": 1e999, "b": NaN}', '{"a": 1e999, "a": 1}', "[1e99999999]", '{"a": 1}'):
        assert parse_json(text).beyond is None
    fenced = parse_json('```json\n{"a": 1e999}\n```').beyond
    assert fenced is not None
    assert [item.severity for item in fenced.findings] == ["note", "warning"]
