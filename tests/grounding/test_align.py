from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding import ClaimKind, locate
from extractkit.grounding.align import Place, Places, choose, line_breaks
from extractkit.paths import JsonValue, walk
from tests.grounding.asking import Claim

TABLE = "Widget  2  5.00  10.00\nGadget  2  5.00  10.00\nTotal  20.00"


def test_rows_of_a_table_are_kept_apart() -> None:
    numbers = (("qty", 2), ("price", 5), ("total", 10))
    claims = [
        claim
        for row, item in enumerate(("Widget", "Gadget"))
        for claim in (
            Claim(pointer=f"/items/{row}/name", value=item),
            *(
                Claim(pointer=f"/items/{row}/{name}", value=value, kind="number")
                for name, value in numbers
            ),
        )
    ]
    evidence = locate(claims, TABLE).evidence
    rows = [TABLE.count("\n", 0, evidence[claim.pointer].start) for claim in claims]
    assert rows == [0] * 4 + [1] * 4
    assert list(evidence) == [claim.pointer for claim in claims]


def test_the_first_place_is_taken_where_no_sibling_helps() -> None:
    evidence = locate([Claim(pointer="/a", value=2, kind="number")], TABLE).evidence
    assert evidence["/a"].start == TABLE.index("2")


def test_a_plain_place_is_taken_before_a_doubtful_one() -> None:
    text = "48% of guests used 48 lifts"
    report = locate([Claim(pointer="/lifts", value=48, kind="number")], text)
    assert report.evidence["/lifts"].start == text.rindex("48")
    assert report.findings == ()


def test_overlapping_places_have_no_distance() -> None:
    text = "a b"
    whole = Place(start=0, end=3, grade="exact")
    first, second = Place(start=0, end=1, grade="exact"), Place(start=2, end=3, grade="exact")
    chosen = choose({"/x": Places.of([whole]), "/y": Places.of([first, second])}, line_breaks(text))
    assert chosen == [0, 0]


def test_a_choice_among_very_many_places_is_near_its_siblings() -> None:
    text = "5.00\n" * 3000 + "Anvil 5.00\n" + "5.00\n" * 10
    claims = [
        Claim(pointer="/0/price", value=5, kind="number"),
        Claim(pointer="/0/name", value="Anvil", kind="text"),
    ]
    evidence = locate(claims, text).evidence
    assert evidence["/0/price"].start < evidence["/0/name"].start
    near = locate(claims, text[-600:]).evidence
    assert near["/0/price"].start == near["/0/name"].end + 1


_TEXT = "Bolt 7 4.20\nNut 7 4.20 pcs\n\nPen 1 1.00\n4.20 7 end of the table\nBolt\n"
_spans = st.tuples(st.integers(0, len(_TEXT) - 1), st.integers(1, 9)).map(
    lambda pair: (pair[0], min(len(_TEXT), sum(pair)))
)
_rows = st.lists(
    st.lists(_spans, min_size=1, max_size=12, unique=True).map(sorted), max_size=12, unique_by=tuple
)


def _far(one: tuple[int, int], other: tuple[int, int]) -> int:
    low, high = sorted((one, other), key=lambda span: span[0])
    gap = max(0, high[0] - low[1])
    return gap + (40 if "\n" in _TEXT[low[1] : high[0]] else 0)


def _by_definition(options: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """The first of the nearest among the first place and those close to a sibling."""
    chosen = {at: spans[0] for at, spans in enumerate(options) if len(spans) == 1}
    siblings = list(chosen.values())
    for at, spans in enumerate(options):
        if len(spans) > 1:
            near = {0}
            for start, _ in siblings[-8:]:
                behind = bisect_left([span[0] for span in spans], start)
                near.update(range(max(0, behind - 2), min(len(spans), behind + 2)))
            chosen[at] = min(
                (spans[index] for index in sorted(near)),
                key=lambda span: sum(_far(span, other) for other in siblings[-8:]),
            )
            siblings.append(chosen[at])
    return [chosen[at] for at in range(len(options))]


@given(_rows, st.booleans())
def test_the_quick_choice_is_the_one_by_definition(
    options: list[list[tuple[int, int]]], alike: bool
) -> None:
    places = {
        f"/row/{at}": Places([span[0] for span in spans], [span[1] for span in spans], "exact")
        if alike
        else Places.of([Place(start, end, "exact") for start, end in spans])
        for at, spans in enumerate(options)
    }
    chosen = choose(places, line_breaks(_TEXT))
    taken = [
        (each.starts[index], each.ends[index])
        for each, index in zip(places.values(), chosen, strict=True)
    ]
    assert taken == _by_definition(options)


def test_places_in_rows_are_told_apart_by_their_lines() -> None:
    starts = [5 + 30 * row for row in range(20)]
    text = "".join(f"Item {row:<10}4.20 piece    \n" for row in range(20))
    names = {f"/{row}/name": Places([30 * row], [30 * row + 4], "exact") for row in range(20)}
    prices = {
        f"/{row}/price": Places(starts, [start + 2 for start in starts], "exact")
        for row in range(20)
    }
    chosen = choose({**names, **prices}, line_breaks(text))
    assert chosen == [*[0] * 20, *range(20)]


def _listed(values: str, text: str) -> list[int]:
    claims = [Claim(pointer=f"/seen/{at}", value=value) for at, value in enumerate(values.split())]
    evidence = locate(claims, text).evidence
    return [evidence[claim.pointer].start for claim in claims]


def test_a_value_that_a_list_has_again_takes_the_next_place() -> None:
    text = "flu, gout, flu, gout, gout, flu"
    assert _listed("flu gout flu gout gout flu", text) == [0, 5, 11, 16, 22, 28]
    assert _listed("flu flu", text) == [0, 11]
    assert _listed("gout flu flu", text) == [5, 11, 28]
    assert _listed("flu flu flu flu", text)[:3] == [0, 11, 28]


def test_values_before_a_list_do_not_move_its_first() -> None:
    claims = [
        Claim(pointer="/title", value="last"),
        Claim(pointer="/seen/0", value="flu"),
        Claim(pointer="/seen/1", value="flu"),
    ]
    evidence = locate(claims, "flu, flu, flu, last").evidence
    assert [span.start for span in evidence.values()] == [15, 0, 5]


def _number(pointer: str, value: JsonValue) -> tuple[str, JsonValue, ClaimKind]:
    return pointer, value, "number"


def _starts(text: str, *rows: tuple[str, JsonValue, ClaimKind]) -> list[int]:
    claims = [Claim(pointer=pointer, value=value, kind=kind) for pointer, value, kind in rows]
    return [span.start for span in locate(claims, text).evidence.values()]


def test_fields_with_the_same_value_take_their_own_places_in_the_order_of_the_text() -> None:
    text = "Subtotal 48.00 Tax 0 Total 48.00"
    fields: list[tuple[str, JsonValue, ClaimKind]] = [
        ("/subtotal", "48.00", "number"),
        ("/tax", 0, "number"),
        ("/total", "48.00", "number"),
    ]
    assert _starts(text, *fields) == [9, 19, 27]
    assert _starts(text, fields[0], fields[2]) == [9, 27]
    # The second is nearer to what else was found, and is still not taken first.
    assert _starts("48 and of 48: pcs", ("/a", 48, "number"), ("/u", "pcs", "text")) == [10, 14]
    both = _starts(
        "48 and of 48: pcs", ("/a", 48, "number"), ("/b", 48, "number"), ("/u", "pcs", "text")
    )
    assert both == [0, 10, 14]


def test_more_fields_than_places_share_the_nearest() -> None:
    fields = [_number(f"/{name}", 48) for name in "abc"]
    assert _starts("48, pcs, of 48 of", ("/u", "pcs", "text"), *fields) == [4, 0, 12, 0]


def test_a_field_outside_of_a_list_leaves_what_the_list_has_taken() -> None:
    text = "mug 48.00\nTotal: 48.00"
    row: list[tuple[str, JsonValue, ClaimKind]] = [
        ("/lines/0/name", "mug", "text"),
        ("/lines/0/amount", "48.00", "number"),
    ]
    assert _starts(text, *row, ("/total", "48.00", "number")) == [0, 4, 17]
    assert _starts(text, ("/total", "48.00", "number"), *row) == [17, 0, 4]
    assert _starts("mug 48.00", *row, ("/total", 48, "number")) == [0, 4, 4]


def test_fields_of_a_row_take_their_own_places_on_its_line_only() -> None:
    def table(text: str) -> list[int]:
        rows: list[tuple[str, JsonValue, ClaimKind]] = []
        for at, name in enumerate(("tea", "mug")):
            rows.append((f"/lines/{at}/name", name, "text"))
            rows += [_number(f"/lines/{at}/{field}", 12) for field in ("price", "amount")]
        return _starts(text, *rows)

    assert table("tea 12 12\nmug 12 12\n") == [0, 4, 7, 10, 14, 17]
    assert table("tea 12\nmug 12\n") == [0, 4, 4, 7, 11, 11]


def test_equal_numbers_of_a_list_take_their_own_places_however_they_are_written() -> None:
    rows: list[tuple[str, JsonValue, ClaimKind]] = [
        ("/0", "48.00", "number"),
        ("/1", 48, "number"),
        ("/2", 48.0, "number"),
    ]
    assert _starts("48.00, 48.00, 48.00", *rows) == [0, 7, 14]
    assert _starts("48.00, 48, 48.0", *rows) == [0, 7, 11]


def test_without_anything_near_the_place_written_most_like_the_value_is_taken() -> None:
    text = "Hauptstrasse 12\nKaffee 12,00"
    for value, start in (("12.00", 23), (12.0, 23), (12, 13)):
        assert _starts(text, ("/price", value, "number")) == [start]


def test_a_list_may_have_a_string_as_often_as_it_stands_there_in_any_letters() -> None:
    def codes(values: int, text: str) -> list[str | None]:
        claims = [Claim(pointer=f"/{at}", value="apple") for at in range(values)]
        return [finding.code for finding in locate(claims, text).findings]

    assert codes(3, "Apple apple APPLE") == []
    assert codes(4, "Apple apple APPLE") == ["shared_place"]
    assert codes(2, "apples apple") == ["shared_place"]


def test_very_many_fields_with_the_same_value_take_what_is_nearest() -> None:
    fields = [_number(f"/f{at}", 48) for at in range(17)]
    text = "48 and of pcs 48 of" + ", 48" * 20
    assert _starts(text, ("/u", "pcs", "text"), *fields)[:3] == [10, 14, 14]
    assert _starts(text, ("/u", "pcs", "text"), *fields[:2]) == [10, 0, 14]


def _chosen(text: str, document: JsonValue) -> list[int]:
    """Return where each leaf of `document` is taken from."""
    claims = [
        Claim(pointer=pointer, value=value, kind="text" if isinstance(value, str) else "number")
        for pointer, value in walk(document)
        if not isinstance(value, dict | list)
    ]
    evidence = locate(claims, text).evidence
    return [evidence[claim.pointer].start for claim in claims]


def test_rows_that_repeat_take_the_next_row_of_the_text() -> None:
    text = "Coffee 3.50\nRent 900.00\nCoffee 3.50\nCoffee 3.50\n"
    coffee, rent = {"item": "Coffee", "price": 3.5}, {"item": "Rent", "price": 900}
    assert _chosen(text, [coffee, rent, coffee, coffee]) == [0, 7, 12, 17, 24, 31, 36, 43]
    assert _chosen("Tea\nCoffee\nTea\n", [{"item": "Tea"}, {"item": "Tea"}]) == [0, 11]


def test_a_row_of_which_each_value_stands_again_is_taken_from_where_they_stand_together() -> None:
    text = "Anna 6 points\nBob 5 points\nAnna 5 points"
    assert _chosen(text, [{"name": "Anna", "points": 5}]) == [27, 32]
    assert _chosen("A 6\nB 5\nA 5", [["A", 6], ["B", 5], ["A", 5]]) == [0, 2, 4, 6, 8, 10]


def test_rows_in_an_item_of_a_list_are_taken_from_near_what_is_known_of_it() -> None:
    text = "Kitchen: chair 2, table 1.\nOffice: chair 2, lamp 3."
    office = {"room": "Office", "items": [{"name": "chair", "count": 2}, {"name": "lamp"}]}
    assert _chosen(text, [office]) == [27, 35, 41, 44]


def test_rows_of_a_table_of_lists_are_kept_apart() -> None:
    assert _chosen("4 9 1 1\n4 9 1 4", [[4, 9, 1, 1], [4, 9, 1, 4]]) == [0, 2, 4, 6, 8, 10, 12, 14]


def test_rows_that_stand_very_often_are_all_taken() -> None:
    row = {"item": "Coffee", "price": 3.5}
    starts = _chosen("Coffee 3.50\n" * 400, [row] * 400)
    assert starts == [at for line in range(0, 4800, 12) for at in (line, line + 7)]
