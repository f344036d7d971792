from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding import locate
from extractkit.grounding.align import Place, Places, choose, line_breaks
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
_rows = st.lists(st.lists(_spans, min_size=1, max_size=12, unique=True).map(sorted), max_size=12)


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
