from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding.chains import chain_doubt, is_in_chain
from extractkit.grounding.normalize import fold_phrase
from extractkit.grounding.phrases import PhraseIndex
from tests.grounding.asking import ask

_texts = st.lists(st.sampled_from(["a", "A", "ab", "1", "12", " ", "  ", "\n", ".", "-", "`", "é"]))


def _as_is_by_definition(text: str, phrase: str) -> list[tuple[int, int]]:
    found = PhraseIndex(text).find(fold_phrase(phrase))
    return [(start, end) for start, end in found if text[start:end] == phrase]


@given(_texts.map("".join), st.integers(1, 40))
def test_a_phrase_as_it_is_stands_where_its_folded_form_is_written_alike(
    text: str, copies: int
) -> None:
    text = (text + " ") * copies
    for phrase in ("a", "1", "A 1", "ab.", "1-a", "`", "é", "a a"):
        found = PhraseIndex(text).find_as_is(phrase)
        wanted = _as_is_by_definition(text, phrase)
        if found is not None:
            assert [(start, start + len(phrase)) for start in found] == wanted
        elif text.isascii() and phrase.isascii() and text.count(phrase) < 60:
            assert wanted == []


def test_a_phrase_that_stands_very_often_is_left_to_the_index() -> None:
    for text in ("ab cd " * 2000, "ab " * 9000, "abc " * 100 + "ab"):
        assert PhraseIndex(text).find_as_is("ab") is None


def test_a_very_frequent_phrase_has_its_first_thousand_places() -> None:
    assert len(PhraseIndex("ab cd " * 2000).find("ab")) == 1000
    assert len(PhraseIndex("ab\n" * 2000).find("ab")) == 1000


def test_a_whole_word_is_found_beside_very_many_words_that_contain_it() -> None:
    answer = ask("abc " * 100 + "ab", "ab", "text")
    assert (answer.at, answer.grade) == (400, "exact")


@given(st.lists(st.sampled_from(["1", "12", "a", "-", "\u2013", "/", ":", ".", " ", "$"])))
def test_digits_that_are_seen_to_be_in_a_chain_are_no_number(parts: list[str]) -> None:
    text = f"1-{''.join(parts)}2/7-4"
    for start, char in enumerate(text):
        is_token = char.isdecimal() and not text[start - 1 : start].isdecimal()
        end = start + len(text[start:]) - len(text[start:].lstrip("12347"))
        if is_token and is_in_chain(text, start, end):
            assert chain_doubt(text, start, end) is None
