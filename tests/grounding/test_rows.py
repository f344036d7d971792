from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.results import Grounding
from tests.grounding.asking import ask

ROW = "4711,100.00,48,3,ACME,1234567,0.5,12:30"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[(ROW, value) for value in (4711, 100, 48, 3, 1234567, 0.5)],
        ("4711,100,48,3,ACME", 100),
        ("0.5,0.25", 0.25),
        ("1.5,2.5,3.5", 2.5),
        ("[1.0,2.0]", 2),
        ("100.00,48.00", 48),
        ("52.520008,13.404954", 13.404954),
        ("51.5,-0.12", 51.5),
        ("51.5,-0.12", -0.12),
        ("40,-74", -74),
        ("100,-48.00", -48),
        ("a,-48.00,b", -48),
        ("[1,-48]", -48),
        ("100.00,-48.00,3", -48),
        ("100.00,-48.00,3", 3),
        ('{"a":48,"b":-3.5,"c":[1,2,3]}', 48),
        ('{"a":48,"b":-3.5,"c":[1,2,3]}', -3.5),
        ('{"a":48,"b":-3.5,"c":[1,2,3]}', 2),
        ("1.234,567", 1234.567),
        ("1.5\uff0c2.5", 2.5),
    ],
)
def test_a_number_between_commas_is_found(text: str, value: float) -> None:
    assert ask(text, value, "number").verdict == "yes"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1,2)", 1),
        ("(1,2)", 2),
        ("(3,7)", 7),
        ("[100,200]", 100),
        ("[100,200]", 100200),
        ("[-100,200]", -100),
        ("ACME,48,3,X", 48),
        ("ACME,48,3,X", 3),
        ("ACME,48,3,X", 48.3),
        ("rooms 42,43", 42),
        ("rooms 42,43", 43),
        ("42,43,44", 43),
        ("1.234,50,2", 50),
        ("12,100.00,48,a", 12),
        ("12,100.00,48,a", 100),
    ],
)
def test_with_another_reading_it_is_doubtful(text: str, value: float) -> None:
    answer = ask(text, value, "number")
    assert (answer.verdict, answer.codes) == ("flagged", ("ambiguous_number",))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3,480.50", 480.5),
        ("3,480", 480),
        ("42,57", 42),
        ("12,50 \u20ac", 12),
        ("12,13 \u20ac", 12),
        ("EUR 12,13", 13),
        ("(12,50)", 50),
        ("100,-48.00", 48),
        ("[1,-48]", 48),
        ("100.00,-48.00,3", 48),
        ("1.2.3,48.5", 2.3),
        ("04.03.2024,48", 3.2024),
    ],
)
def test_a_part_of_one_number_is_none(text: str, value: float) -> None:
    assert ask(text, value, "number").verdict == "no"


def test_strings_in_a_row_are_found_between_commas() -> None:
    assert ask(ROW, "4711", "text").verdict == "yes"
    assert ask(ROW, "48", "text").verdict == "yes"
    assert ask("100.00,48.00", "48.00", "text").verdict == "yes"
    assert ask("3,480.50", "480.50", "text").verdict == "no"
    assert ask("100,-48.00", "48.00", "text").codes == ("ambiguous_number",)


def test_a_locale_does_not_hide_a_row() -> None:
    for locale in ("de", "en"):
        assert ask(ROW, 100, "number", options=Grounding(locale=locale)).verdict == "yes"


_CELLS = st.one_of(
    st.integers(1001, 99999).map(str),
    st.decimals(1, 999, places=2).map(str),
    st.decimals(-999, -1, places=2).map(str),
)


@given(st.lists(_CELLS, min_size=2, max_size=6), st.sampled_from(("ACME", "x", '"a"')))
def test_every_cell_of_a_row_is_found_with_its_sign(cells: list[str], name: str) -> None:
    text = ",".join([name, *cells, name])
    for cell in cells:
        assert ask(text, cell, "number").verdict != "no"
        other = cell.removeprefix("-") if cell.startswith("-") else f"-{cell}"
        if other not in cells:
            assert ask(text, other, "number").verdict == "no"
