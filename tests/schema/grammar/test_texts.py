"""Strings without a mark: every spelling of every text, counted in characters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.grammar.judge import Judge, judge
from tests.schema.strategies_models import budget

WIDE = "\U0001f98a"
TEXTS = ["", "a", 'say "no"', "back\\slash", "tab\tnew\nline", "été", WIDE * 3, "/", "\x00\x1f\x7f"]


def bounded_text(**bounds: int) -> Judge:
    return judge({"type": "string", **bounds})


@st.composite
def spellings(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text, and one of the ways in which JSON may write it."""
    text = draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
    return text, '"' + "".join(draw(st.sampled_from(_ways(char))) for char in text) + '"'


def _ways(char: str) -> list[str]:
    units = char.encode("utf-16-be")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    by_number = "".join(f"\\u{code}" for code in codes)
    ways = [by_number, by_number.upper().replace("\\U", "\\u"), json.dumps(char)[1:-1]]
    if char >= " " and char not in '"\\':
        ways.append(char)
    return [*ways, "\\/"] if char == "/" else ways


@budget(120)
@given(spellings(), st.integers(0, 6), st.integers(0, 6))
def test_a_text_is_admitted_in_every_spelling_if_its_characters_fit(
    spelled: tuple[str, str], low: int, more: int
) -> None:
    text, written = spelled
    assert json.loads(written) == text
    grammar = bounded_text(minLength=low, maxLength=low + more)
    assert grammar.admits(written) == (low <= len(text) <= low + more)


@budget(40)
@given(st.integers(0, 10**9), st.integers(0, 4), st.integers(1, 8))
def test_what_is_admitted_is_a_text_of_that_many_characters(seed: int, low: int, more: int) -> None:
    written = bounded_text(minLength=low, maxLength=low + more).writes(seed)
    assert written is not None
    text = json.loads(written)
    text.encode()  # no half of a pair of surrogates
    assert low <= len(text) <= low + more


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_may_be_as_long_as_decoding_allows_where_nothing_is_said(text: str) -> None:
    grammar = bounded_text()
    assert grammar.admits(json.dumps(text))
    assert grammar.admits(json.dumps(text, ensure_ascii=False))
    assert grammar.admits(json.dumps("a" * 200))
    assert not grammar.admits(json.dumps("a" * 201))


@pytest.mark.parametrize(
    "broken",
    ['"a\tb"', '"\x1f"', r'"\ud83e"', r'"\udd8a"', r'"\ud83ea"', r'"\ud83e\u0041"', r'"\x41"', '"'],
)
def test_what_is_no_text_is_never_admitted(broken: str) -> None:
    assert not bounded_text().admits(broken)
    assert not bounded_text(maxLength=9).admits(broken)


def test_a_text_with_a_form_is_left_to_the_engine() -> None:
    patterned: Any = {"type": "string", "pattern": "^[A-Z]{3}$"}
    assert judge(patterned).admits('"ABC"')
    assert not judge(patterned).admits('"ABCD"')
    assert judge({"type": "string", "format": "email"}).admits('"ida@example.org"')


def test_two_spellings_of_one_name_are_one_name() -> None:
    grammar = judge({
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": {"type": "null"},
    })  # fmt: skip
    assert grammar.admits('{"a": 1, "b": null}')
    assert not grammar.admits('{"a": 1, "a": null}')
    assert not grammar.admits(r'{"a": 1, "\u0061": null}')
    assert judge({"type": "object", "additionalProperties": {"type": "null"}}).admits(
        r'{"\u0061": null}'
    )
