from __future__ import annotations

import pytest

from extractkit.grounding.words import is_letter, is_unspaced, stands_alone
from tests.grounding.asking import ask


def _alone(text: str, part: str) -> bool:
    at = text.index(part)
    return stands_alone(text, at, at + len(part))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("the art.", "art"),
        ("state-of-the-art", "art"),
        ("Acme's", "Acme"),
        ("_Acme_", "Acme"),
        ("Acme\u2122", "Acme"),
        ("Acme\u00b9", "Acme"),
        ("東京都庁", "京都"),
        ("2026年", "2026"),
        ("서울에서", "서울"),
        ("กรุงเทพมหานคร", "เทพ"),
        ("😀Bob😀", "Bob"),
        ("\u2764\ufe0f", "\u2764"),
        ("costs 9.", "9"),
        ("a 1,2", "a"),
        ("Art", "Art"),
        ("C++ and", "C++"),
        ("in C#.", "C#"),
        ("A+B", "A"),
        ("Item#5", "Item"),
        ("No# 5", "No"),
        ("AC++B", "AC"),
        ("+", "+"),
        ("1+1", "1"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f1eb\U0001f1f7"),
        ("1\u00b75", "1\u00b75"),
        ("A-1", "A"),
        ("A - B", "A"),
        ("Type G-", "G"),
        ("type A-", "A-"),
        ("1.5,2.5", "2.5"),
        ("x,48,3,y", "x"),
        ("1E-A", "A"),
    ],
)
def test_whole_words_stand_alone(text: str, part: str) -> None:
    assert _alone(text, part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("party", "art"),
        ("party", "par"),
        ("party", "ty"),
        ("par\u00adty", "par"),
        ("par\u00adty", "ty"),
        ("Cafe\u0301", "Cafe"),
        ("A48", "48"),
        ("48A", "48"),
        ("3,480.50", "480"),
        ("3,480.50", "3,480"),
        ("3'480", "480"),
        ("10\u00b2", "10"),
        ("👨\u200d👩", "👨"),
        ("👨\u200d👩", "👩"),
        ("👍🏽", "👍"),
        ("C++", "C"),
        ("C++", "C+"),
        ("g++ -o", "g"),
        ("in C#.", "C"),
        ("grade A+", "A"),
        ("Notepad++", "Notepad"),
        ("\u00c4++", "\u00c4"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f1ea\U0001f1eb"),
        ("\U0001f1e9\U0001f1ea", "\U0001f1e9"),
        ("48^2", "48"),
        ("48\u00b75", "5"),
        ("48\u20442", "48"),
        ("48\u066b5", "48"),
        ("type A-", "A"),
        ("type AB\u2212 blood", "AB"),
        ("6.02E+23", "23"),
        ("5e-3 m", "3"),
        ("42,57", "57"),
    ],
)
def test_parts_of_words_do_not(text: str, part: str) -> None:
    assert not _alone(text, part)


def test_letters_of_scripts_without_spaces_are_told_apart() -> None:
    assert is_letter("a") and is_letter("ж") and not is_letter("1")
    assert is_unspaced("東") and is_unspaced("ก") and not is_letter("東")


@pytest.mark.parametrize(
    ("text", "value", "matched", "grade"),
    [
        ("the art of", "art", "art", "exact"),
        ("the ART of", "art", "ART", "normalised"),
        ("Art and art", "art", "art", "exact"),
        ("a party", "art", "", "none"),
        ("😀 日本 Bob", "bob", "Bob", "normalised"),
        ("東京都庁", "京都", "京都", "exact"),
        ("👨\u200d👩\u200d👧 x", "👨", "", "none"),
        ("👨\u200d👩\u200d👧 x", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧", "exact"),
        ("RM9.00", "9.00", "9.00", "exact"),
        ("RM9.00", " 9.00 ", "9.00", "exact"),
        ("size 9.00", "9.0", "", "none"),
        ("No 7", "007", "", "none"),
        ("AB9.00", "9.00", "", "none"),
        ("9.00AB", "9 AB", "", "none"),
        ("—", "-", "—", "normalised"),
        ("x\n  y", " x y ", "x\n  y", "normalised"),
        ("rose [3] by", "rose by", "rose [3] by", "normalised"),
        ("rose [3] by", "rose up", "", "none"),
        ("by rose", "rose by", "", "none"),
        ("½ cup", "½ cup", "½ cup", "exact"),
    ],
)
def test_strings_are_found_as_whole_words(text: str, value: str, matched: str, grade: str) -> None:
    answer = ask(text, value, "text")
    assert (answer.matched, answer.grade) == (matched, grade)


@pytest.mark.parametrize("value", ["", " ", "\n\t", "\u200b"])
def test_an_empty_string_states_nothing(value: str) -> None:
    answer = ask("some text", value, "text")
    assert answer.codes == ("empty_string",)
    assert answer.report.count.failed == 1
