from __future__ import annotations

from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from extractkit.grounding.numbers import NumberIndex

_PIECES = st.sampled_from(
    (
        "1", "2", "20", "007", "48", "48.0", "48.00", "-48", "(48)", "48%", "$48", "SKU-048", "A-1",
        "1,234", "1.234", "1,234.00", "48 million", "5M", "12 345", "1,2,3,4", "0", "0.00", ".5",
        "x", "Total:", "minus", "-", "\n", " ", "2024-03-04", "GPT-48", "48-20", "\u00bd", "\u0664",
        "(48 )", "$ (48 )", "(48)%", "a,-48,b", "1,48,x", "[48,20]", "48.00 -", "48 EUR-",
        "million",
        "48 (million)", "48\nmillion", "48 TEUR", "TEUR 48", "$48 m", "$48 M",
        "2 hundred", "1 million 48", "6.0E+48",
        "1.5 x 10^2", "48 x 10\u00b2", "2 -48", "--48", "RM-48", "2-48%", "48a", "x48", "__48",
        "48.00SR", "1.5,48.5", "2\u4e0748", "2 1/20",
        "2\u20ac48", "\u25b248", "\uff0d48", "E+", "x10", "10",
    )
)  # fmt: skip
_texts = st.lists(_PIECES, max_size=14).map(" ".join) | st.lists(_PIECES, max_size=8).map("".join)
_values = st.sampled_from(
    ("1", "2", "20", "7", "48", "48.00", "-48", "0.48", "1234", "1.234", "0", "-0.0", "0.5", "4")
)


@given(_texts, _values)
@example("Invoice A-1\nSKU-048 48", "48")
@example("48 48.00 SKU-048", "48")
@example("12 345 and 345", "345")
@example("0 0.00 -0", "-0.0")
def test_what_is_found_at_once_is_what_all_readings_say(text: str, spelled: str) -> None:
    value = Decimal(spelled)
    alike = NumberIndex(text).find_alike(value, spelled)
    readings = NumberIndex(text).find(value)
    if alike is None:
        return
    plain = [(start, start + len(token)) for token, starts in alike[0] for start in starts]
    assert sorted(plain) == [(each.start, each.end) for each in readings if not each.doubt]
    assert [*alike[1]] == [(each.start, each.end) for each in readings if each.doubt]
    assert not any(each.unit for each in readings)


def test_numbers_of_a_table_are_found_at_once_beside_identifiers() -> None:
    lines = "\n".join(f"SKU-{at:03} Widget {at} x 10.50 = {at * 10.5:.2f}" for at in range(1, 21))
    index = NumberIndex(lines)
    for at in range(1, 21):
        alike = index.find_alike(Decimal(at), str(at))
        assert alike is not None
        ((token, starts),), beside = alike
        assert (token, len(starts), len(beside)) == (str(at), 1, 1)


def test_a_long_text_is_read_where_it_is_asked_for() -> None:
    text = "; ".join(map(str, range(1, 1500)))
    alike = NumberIndex(text).find_alike(Decimal(777), "777")
    assert alike == ([("777", [text.index("777")])], ())
    many = NumberIndex("7 " * 1500)
    assert many.find_alike(Decimal(7), "7") is None
    assert len(many.find(Decimal(7))) == 1000


def test_digits_that_a_space_may_join_are_left_to_all_readings() -> None:
    index = NumberIndex("12 345 and 345, " + "1 " * 1100)
    assert index.find_alike(Decimal(12345), "12345") is None
    alike = index.find_alike(Decimal(345), "345")
    assert alike == ([("345", [11])], [(3, 6)])
