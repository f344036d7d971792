from __future__ import annotations

from extractkit.grounding import locate
from extractkit.grounding.align import Place, Places, choose
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
    chosen = choose({"/x": Places([whole]), "/y": Places([first, second])}, text)
    assert chosen == {"/x": whole, "/y": first}


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
