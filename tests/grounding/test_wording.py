"""Phrases that differ from the text in punctuation, and names in the other order."""

from __future__ import annotations

import pytest

from tests.clock import works_within
from tests.grounding.asking import ask


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("by NIKE, INC. and", "Nike Inc.", "NIKE, INC."),
        ("by Nike Inc and", "Nike, Inc.", "Nike Inc"),
        ("at L.L .C today", "LLC", "L.L .C"),
        ("the D. I. Y. (M) shop", "D.I.Y. (M)", "D. I. Y. (M)"),
        ("Roundy\u2019s Inc.", "Roundys, Inc.", "Roundy\u2019s Inc."),
        ("an e-mail came", "email", "e-mail"),
        ("infor-\nmation is", "information", "infor-\nmation"),
        ("a well-\nknown case", "well-known", "well-\nknown"),
        ("TIME LESS KITCHENS SDN BHD", "TIMELESS KITCHENS SDN BHD", "TIME LESS KITCHENS SDN BHD"),
        ("NO4,JALAN A,\n81200 JB", "No. 4, Jalan A, 81200 JB", "NO4,JALAN A,\n81200 JB"),
        ("BATU 5. 51200 KL", "Batu 5, 51200 KL", "BATU 5. 51200 KL"),
        ("PJU 1,47301 PJ", "PJU 1, 47301 PJ", "PJU 1,47301 PJ"),
        ("SS 7 / 4 PJ", "SS 7/4 PJ", "SS 7 / 4 PJ"),
        ("on 28-03-18 at", "28/03/18", "28-03-18"),
        ("of two (2) years", "2 years", "2) years"),
        ("AT&T Corp.", "AT and T Corp", "AT&T Corp"),
        ("by Vertex, Incorporated, of", "Vertex Inc.", "Vertex, Incorporated"),
        ("MR DIY SDN. BHD.", "Mr DIY Sendirian Berhad", "MR DIY SDN. BHD"),
        ("to DE89 3704 0044 0532 01 now", "DE8937040044053201", "DE89 3704 0044 0532 01"),
        ("card 1234567890123456", "1234 5678 9012 3456", "1234567890123456"),
        ("at 40 % off", "40% off", "40 % off"),
        ("\u201cYes\u201d, he said", '"yes," he said', "\u201cYes\u201d, he said"),
        ("pages 1, 2. Then", "pages 1, 2 then", "pages 1, 2. Then"),
        ("minus: -5 C out", "minus -5 C", "minus: -5 C"),
        (
            "\u6771\u4eac\u3001\u5927\u962a",
            "\u6771\u4eac \u5927\u962a",
            "\u6771\u4eac\u3001\u5927\u962a",
        ),
        ("\U0001f600 Acme, Inc. \U0001f600", "acme inc", "Acme, Inc"),
    ],
)
def test_punctuation_may_differ(text: str, value: str, matched: str) -> None:
    answer = ask(text, value, "text")
    assert (answer.matched, answer.grade, answer.plain) == (matched, "normalised", True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("to get her", "together"),
        ("12.5 kg", "1 25 kg"),
        ("1234 5678", "12345678"),
        ("1234 56789 1234", "1234567891234"),
        ("room 1234 5678 9012", "room 123456789012"),
        ("1 25 kg", "12.5 kg"),
        ("limit 12 mg", "limit 1 2 mg"),
        ("13 81100 JB", "1381100 JB"),
        ("item 3. 50 pcs", "item 3.50 pcs"),
        ("1,473 JB", "1, 473 JB"),
        ("10 - 20 pcs", "10, 20 pcs"),
        ("7-4 PJ", "7/4 PJ"),
        ("temp -5 C", "temp 5 C"),
        ("temp 5 C", "temp -5 C"),
        ("at 5 C", "-5, C"),
        ("loss (1,155.00) now", "loss 1,155.00 now"),
        ("48 percent, now", "48% now"),
        ("C, programs", "C# programs"),
        ("a party here", "art-y"),
        ("the end. Of it", "?!"),
        ("28-03-2018", "28/0/32018"),
    ],
)
def test_digits_signs_and_symbols_are_never_read_over(text: str, value: str) -> None:
    assert ask(text, value, "text").verdict == "no"


def test_a_minus_before_the_first_digits_must_be_in_the_text() -> None:
    assert ask("cold: -5 C, now", "-5 C now", "text").matched == "-5 C, now"
    assert ask("cold: 5 C, now", "-5 C now", "text").verdict == "no"


@pytest.mark.parametrize(
    ("text", "value", "matched"),
    [
        ("by Doe, John and", "John Doe", "Doe, John"),
        ("by John Doe.", "Doe, John", "John Doe"),
        ("(Doe,\nJohn)", "John Doe", "Doe,\nJohn"),
        ("Ruiz, Maria del Carmen", "Maria del Carmen Ruiz", "Ruiz, Maria del Carmen"),
        ("Neil, J. and", "j neil", "Neil, J"),
        ("Rome, London, Paris", "Paris London", ""),
        ("Doe John", "John Doe", ""),
        ("Doe, Johnny", "John Doe", ""),
        ("a, b, c", "c, b, a", ""),
        ("Doe, 2", "2 Doe", ""),
        ("doejohn", "John Doe", ""),
        ("b, ca", "a bc", ""),
        ("d, e, a b c", "a b c d e", ""),
    ],
)
def test_a_name_stands_in_the_other_order_with_a_comma(text: str, value: str, matched: str) -> None:
    assert ask(text, value, "text").matched == matched


def test_places_have_a_limit() -> None:
    many = ask("A, B. " * 1500, "a b", "text")
    assert len(many.report.evidence["/x"].candidates) == 1000


def test_a_word_of_any_length_is_read_over_at_once() -> None:
    text = "a" * 400_000 + " a-a"
    with works_within(2):
        assert ask(text, "a a", "text").matched == "a-a"
        assert ask(text, "a, b", "text").verdict == "no"
