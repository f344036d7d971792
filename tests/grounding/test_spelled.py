"""Numbers in words, where they are asked for."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest

from extractkit.errors import UnsupportedError
from extractkit.results import Grounding
from tests.clock import works_within
from tests.grounding.asking import ask

WORDS = Grounding(spelled=True)


def test_numbers_in_words_need_to_be_asked_for() -> None:
    assert ask("three thousand", 3000, "number").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "locale", "matched"),
    [
        ("three thousand pcs", 3000, None, "three thousand"),
        ("twenty\u2010five apples", 25, "en-GB", "twenty\u2010five"),
        ("one point five litres", 1.5, None, "one point five"),
        ("the third one", 3, None, ""),
        ("twenty-five", 20, None, ""),
        ("two million", 2_000_000, None, "two million"),
        ("einhundertdrei St\u00fcck", 103, "de", "einhundertdrei"),
        ("quatre-vingt-dix-sept", 97, "fr", "quatre-vingt-dix-sept"),
        ("12 and twelve", 12, None, "12"),
    ],
)
def test_a_number_in_words_is_found(
    text: str, value: float, locale: str | None, matched: str
) -> None:
    pytest.importorskip("text_to_num")
    answer = ask(text, value, "number", options=Grounding(spelled=True, locale=locale))
    assert answer.matched == matched


@pytest.mark.parametrize(
    ("text", "value", "verdict", "matched"),
    [
        ("at minus five degrees", -5, "yes", "minus five"),
        ("at minus five degrees", 5, "no", ""),
        ("ten minus five", 5, "flagged", "five"),
        ("ten minus five", -5, "flagged", "minus five"),
        ("two and a half", 2.5, "yes", "two and a half"),
        ("two and a half", 2, "no", ""),
        ("minus two and a half", -2.5, "yes", "minus two and a half"),
        ("two-thirds", 2, "no", ""),
        ("three-quarters", 0.75, "yes", "three-quarters"),
        ("two quarters", 2, "flagged", "two"),
        ("two third parties", 2, "yes", "two"),
        ("five percent", 5, "flagged", "five"),
        ("five percent", 0.05, "yes", "five percent"),
        ("two crore", 20_000_000, "yes", "two crore"),
        ("two crore", 2, "flagged", "two"),
    ],
)
def test_what_belongs_to_a_number_in_words_is_read_with_it(
    text: str, value: float, verdict: str, matched: str
) -> None:
    pytest.importorskip("text_to_num")
    answer = ask(text, value, "number", options=WORDS)
    assert (answer.verdict, answer.matched) == (verdict, matched)


def test_a_string_with_a_number_in_words_is_found() -> None:
    pytest.importorskip("text_to_num")
    text = "a term of two years or twenty-two years"
    assert ask(text, "2 years", "text", options=WORDS).matched == "two years"
    assert ask(text, "22 years", "text", options=WORDS).matched == "twenty-two years"
    assert ask(text, "3 years", "text", options=WORDS).verdict == "no"
    assert ask(text, "years", "text", options=WORDS).grade == "exact"
    assert ask(text, "yearly", "text", options=WORDS).verdict == "no"
    assert ask("five percent", "5 percent", "text", options=WORDS).matched == "five percent"


def test_a_number_that_is_there_very_often_is_looked_for_once() -> None:
    pytest.importorskip("text_to_num")
    with works_within(4):
        assert ask("one " * 20_000, "1 years", "text", options=WORDS).verdict == "no"
        assert (
            ask("one " * 20_000 + "one year", "1 year", "text", options=WORDS).matched == "one year"
        )


def test_another_language_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="are read in da, de, en"):
        ask("x", 1, "number", options=Grounding(spelled=True, locale="ja"))


def test_a_missing_library_is_named_with_the_line_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str, *args: Any) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UnsupportedError, match=r"pip install 'extractkit\[spelled\]'"):
        ask("x", 1, "number", options=WORDS)


class _Found:
    def __init__(self, start: int, end: int, text: str) -> None:
        self.start, self.end, self.text, self.is_ordinal = start, end, text, False


def test_the_library_is_asked_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def find_numbers(words: list[Any], language: str, threshold: float) -> list[_Found]:
        seen.extend(words)
        assert (language, threshold) == ("en", 0.0)
        return [_Found(0, 3, "25"), _Found(4, 5, "7")]

    module = ModuleType("text_to_num")
    monkeypatch.setattr(module, "find_numbers", find_numbers, raising=False)
    monkeypatch.setitem(sys.modules, "text_to_num", module)
    answer = ask("Twenty-five 7", 25, "number", options=WORDS)
    assert (answer.matched, answer.at) == ("Twenty-five", 0)
    assert [word.text() for word in seen] == ["Twenty", "-", "five", " ", "7"]
    assert seen[0].text_lowercase() == "twenty"
    assert [word.not_a_number_part() for word in seen] == [False, False, False, False, True]
    assert not seen[1].nt_separated(seen[0])
