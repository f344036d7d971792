"""One document out of several: structure first, then values, and nothing that nobody named."""

from __future__ import annotations

import copy
from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from extractkit import compile_schema
from extractkit.confidence import agreement, majority, nearest
from extractkit.errors import UsageError
from extractkit.paths import walk


class Card(BaseModel):
    kind: Literal["card"]
    fee: int


class Cash(BaseModel):
    kind: Literal["cash"]
    fee: int


class Line(BaseModel):
    name: str
    count: int
    price: Decimal


class Bill(BaseModel):
    buyer: str = ""
    note: str | None = None
    total: Decimal = Decimal(0)
    state: Literal["open", "OPEN", "paid"] = "open"
    pay: Annotated[Card | Cash, Field(discriminator="kind")] | None = None
    lines: list[Line] = []
    labels: dict[str, int] = {}
    size: tuple[int, int] = (0, 0)
    when: datetime | None = None


BILL = compile_schema(Bill)


def line(name: str, count: int = 1, price: Any = 5) -> dict[str, Any]:
    return {"name": name, "count": count, "price": price}


def voted(field: str, *values: Any) -> Any:
    """What a majority of bills holds in one field; "..." leaves it out."""
    documents = [{"buyer": "Ida"} | ({} if value is ... else {field: value}) for value in values]
    return majority(documents, BILL).get(field, ...)


@pytest.mark.parametrize(
    ("field", "values", "expected"),
    [
        ("buyer", ("Bo", "Ida", "Ida"), "Ida"),
        ("buyer", ("Bo", "Ida"), "Bo"),
        ("buyer", ("Bo", "IDA  K", "Ida k", "Ida k"), "Ida k"),
        ("note", ("a", None, None), None),
        ("note", ("a", None, "b", ...), None),
        ("note", ("a", ..., "a"), "a"),
        ("note", (..., None, "a"), ...),
        ("total", (1, "2.50", 2.5), "2.50"),
        ("total", ("1", "0", "-0.0"), "0"),
        ("total", ("x", "y", "y"), "y"),
        ("state", ("open", "OPEN", "paid"), "open"),
        ("when", ("2024-05-06T10:00:00Z", "2024-05-06T11:00:00+01:00", None),
         "2024-05-06T10:00:00Z"),
        ("when", ("2024-05-06T10:00:00", "soon", "soon"), "soon"),
        ("lines", ([line("a")], [], [line("b")]), [line("a")]),
        ("lines", ([line("a")], ..., []), ...),
        ("labels", ({"a": 1}, {"a": 2, "b": 1}, {"a": 3, "b": 1}), {"a": 2, "b": 1}),
        ("labels", ({"a": 1}, {}, ...), {}),
        ("size", ([1, 2], [1, 3], [4, 3]), [1, 3]),
    ],
)  # fmt: skip
def test_each_place_holds_what_most_hold(
    field: str, values: tuple[Any, ...], expected: Any
) -> None:
    assert voted(field, *values) == expected


def test_a_tag_is_never_mixed_with_the_fields_of_another_branch() -> None:
    card, cash = {"kind": "card", "fee": 1}, {"kind": "cash", "fee": 2}
    other = {"kind": "card", "fee": 3}
    assert voted("pay", cash, card, other) == card
    assert voted("pay", None, cash, cash, other, other | {"fee": 2}) == cash
    assert voted("pay", None, None, cash) is None


def test_two_things_at_one_position_of_two_lists_do_not_become_one() -> None:
    bolt, nut, ring = line("bolt", 3, 5), line("nut", 7, 5), line("ring", 9, 5)
    assert voted("lines", [bolt], [nut], [ring]) in ([bolt], [nut], [ring])
    lists = [[bolt, nut], [nut, bolt], [bolt, ring]]
    assert voted("lines", *lists) == [bolt, nut]
    assert voted("lines", [bolt, nut], [nut, ring], [ring, bolt]) == [bolt, nut]


def test_of_things_with_nothing_in_common_the_one_most_like_the_others_is_taken_whole() -> None:
    class Thing(BaseModel):
        name: str
        price: int

    documents = [[{"name": "bolt", "price": 3}], [{"name": "nut", "price": 5}]]
    documents.append([{"name": "ring", "price": 5}])
    assert majority(documents, compile_schema(list[Thing])) == documents[1]


def test_within_the_same_thing_of_several_lists_the_values_are_voted_on() -> None:
    right = line("bolt", 3, 5)
    lists = [[line("bolt", 3, 9)], [line("bolt", 4, 5)], [line("screw", 3, 5)]]
    assert voted("lines", *lists) == [right]


def test_only_lists_of_the_chosen_length_have_a_vote_on_what_they_hold() -> None:
    lists = [[line("a")], [line("b"), line("c")], [line("b"), line("d")], [line("a")], [line("b")]]
    assert voted("lines", *lists) == [line("a")]


def test_a_list_does_not_hold_a_thing_more_often_than_any_of_the_lists_does() -> None:
    compiled = compile_schema(list[str])
    documents = [["a", "b"], ["b", "a"], ["b", "c"]]
    assert majority(documents, compiled) in documents
    assert majority([["a", "a"], ["a", "b"], ["c", "a"]], compiled) == ["a", "a"]


def test_keys_that_a_type_does_not_know_split_no_vote() -> None:
    documents = [{"buyer": "Bo", "x": 1}, {"buyer": "Ida", "y": 1}, {"buyer": "Ida"}]
    assert majority(documents, BILL) == {"buyer": "Ida"}


def test_what_an_open_object_holds_beside_its_fields_is_one_whole() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        n: int

    documents = [{"n": 1, "x": 1}, {"n": 2, "y": 2}, {"n": 2, "y": 3}]
    assert majority(documents, compile_schema(Open)) == {"n": 2, "y": 2}
    for anything in ({"type": "object"}, {}):
        assert majority(documents, compile_schema(anything)) == {"n": 2, "y": 2}


def test_a_json_schema_has_no_default_that_a_missing_key_would_mean() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    compiled = compile_schema(schema)
    assert majority([{"n": 3}, {}, {}], compiled) == {}
    found = agreement([{"n": 3}, {}], ["/n"], compiled=compiled)
    assert found["/n"].alternatives == {"3": 0.5, "(absent)": 0.5}


def test_the_nearest_document_is_the_one_with_most_leaves_in_common() -> None:
    documents = [{"buyer": "Bo", "note": "a"}, {"buyer": "ida", "note": "b"}, {"buyer": "Ida"}]
    assert nearest({"buyer": "Bo", "note": "b"}, documents, BILL) == 0
    assert nearest({"buyer": "Ida", "note": "b"}, documents, BILL) == 1
    assert nearest({"buyer": "Ida"}, documents, BILL) == 2


def test_of_no_documents_there_is_no_majority() -> None:
    with pytest.raises(UsageError, match="at least one"):
        majority([], BILL)


# --- agreement by what the type says --------------------------------------------------------------


def test_what_counts_as_the_same_follows_the_type() -> None:
    documents = [
        {"buyer": "O\u2019Neill", "total": "2.50", "state": "open", "when": "2024-05-06T10:00:00Z"},
        {"buyer": "o'neill", "total": 2.5, "state": "OPEN", "when": "2024-05-06T12:00:00+02:00"},
    ]
    found = agreement(documents, ["/buyer", "/total", "/state", "/when"], compiled=BILL)
    shares = {pointer: each.probability for pointer, each in found.items()}
    assert shares == {"/buyer": 1.0, "/total": 1.0, "/state": 0.5, "/when": 1.0}


def test_a_key_that_is_left_out_agrees_with_its_default() -> None:
    found = agreement([{"note": None}, {}, {"note": "x"}], ["/note"], compiled=BILL)
    assert found["/note"].probability == pytest.approx(2 / 3)


class Endless(BaseModel):
    n: int = 1
    inner: Endless = Field(default={}, validate_default=False)


def test_a_default_that_has_itself_as_its_default_is_looked_into_once() -> None:
    compiled = compile_schema(Endless)
    found = agreement([{"n": 1}, {}], ["/n"], compiled=compiled)
    assert found["/n"].probability == 1.0
    assert majority([{"n": 1}, {}, {"n": 2}], compiled) == {"n": 1}


def test_a_part_with_leaves_of_its_own_is_another_value_than_a_leaf() -> None:
    documents = [{"pay": None}, {"pay": {"kind": "cash", "fee": 2}}]
    found = agreement(documents, ["/pay"], compiled=BILL)
    assert found["/pay"].alternatives == {"null": 0.5, "(object)": 0.5}


def test_an_answer_that_is_none_of_the_documents_has_the_share_that_holds_its_values() -> None:
    documents = [{"buyer": "Bo", "note": "a"}, {"buyer": "Ida", "note": "a"}]
    given = {"buyer": "Kim", "note": "a"}
    found = agreement(documents, ["/buyer", "/note"], given=given, compiled=BILL)
    assert (found["/buyer"].probability, found["/note"].probability) == (0.0, 1.0)
    assert found["/buyer"].alternatives == {'"Bo"': 0.5, '"Ida"': 0.5}
    assert found["/buyer"].reason == "0 of 2 answers agree"


def test_weights_count_in_place_of_answers() -> None:
    documents = [{"buyer": "Bo"}, {"buyer": "Ida"}, {"buyer": "Bo"}]
    found = agreement(documents, ["/buyer"], asked=4, shares=(0.1, 0.7, 0.15), compiled=BILL)
    assert found["/buyer"].probability == pytest.approx(0.25)
    assert found["/buyer"].alternatives['"Ida"'] == 0.7
    assert found["/buyer"].reason == (
        "2 of 4 answers agree, by their weights; 1 gave no such document"
    )
    with pytest.raises(UsageError, match="one for each"):
        agreement(documents, ["/buyer"], shares=(0.5, 0.5))


class Tagged(BaseModel):
    tags: set[str] = set()
    pairs: frozenset[tuple[int, int]] = frozenset()


def test_elements_of_a_set_agree_wherever_they_stand() -> None:
    compiled = compile_schema(Tagged)
    documents = [
        {"tags": ["a", "b"], "pairs": [[1, 2]]},
        {"tags": ["B", "a"], "pairs": [[3, 4], [1, 2]]},
        {"tags": ["c", "A"], "pairs": []},
    ]
    found = agreement(documents, ["/tags/0", "/tags/1", "/pairs/0/0"], compiled=compiled)
    assert found["/tags/0"].probability == 1.0
    assert found["/tags/1"].alternatives == pytest.approx({'"b"': 2 / 3, "(absent)": 1 / 3})
    assert found["/pairs/0/0"].alternatives == pytest.approx({"1": 2 / 3, "(absent)": 1 / 3})
    assert majority(documents, compiled) == {"tags": ["a", "b"], "pairs": [[1, 2]]}


def test_sets_that_have_nothing_in_common_leave_one_of_them() -> None:
    compiled = compile_schema(set[str])
    assert majority([["a"], ["b"], ["c", "d"]], compiled) == ["a"]
    assert majority([["a"], [], []], compiled) == []
    assert majority([["a", "b"], ["c", "a"], ["b", "c"]], compiled) == ["a", "b", "c"]
    ordered = compile_schema({"type": "array", "uniqueItems": True})
    assert majority([["a", "b"], ["b", "a"], ["a", "b"]], ordered) == ["a", "b"]
    found = agreement([["a", "b"], ["b", "a"]], ["/0"], compiled=ordered)
    assert found["/0"].probability == 0.5


# --- laws -----------------------------------------------------------------------------------------

texts = st.sampled_from(["Ida", "IDA", "Bo", "Kim"])
lines = st.builds(line, texts, st.integers(1, 2), st.sampled_from([1, 1.0, "2"]))
bills = st.fixed_dictionaries(
    {"buyer": texts, "lines": st.lists(lines, max_size=3)},
    optional={
        "note": st.none() | texts,
        "pay": st.none()
        | st.fixed_dictionaries(
            {"kind": st.sampled_from(["card", "cash"]), "fee": st.integers(0, 2)}
        ),
        "labels": st.dictionaries(st.sampled_from("ab"), st.integers(0, 1)),
        "size": st.tuples(st.integers(0, 1), st.integers(0, 1)).map(list),
    },
)
samples = st.lists(bills, min_size=2, max_size=6)


def leaves(document: Any) -> list[str]:
    return [pointer for pointer, _ in walk(document)]


@given(samples)
@settings(deadline=None)
def test_shares_of_different_values_never_sum_to_more_than_one(documents: list[Any]) -> None:
    for each in agreement(documents, leaves(documents[0]), compiled=BILL).values():
        assert each.probability is not None
        assert 0 < each.probability <= 1
        assert sum(each.alternatives.values()) == pytest.approx(1)
        assert each.probability in each.alternatives.values()


@given(samples, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_answers_does_not_matter_for_their_agreement(
    documents: list[Any], random: Any
) -> None:
    mine = documents[0]
    found = agreement(documents, leaves(mine), given=mine, compiled=BILL)
    random.shuffle(documents)
    again = agreement(documents, leaves(mine), given=mine, compiled=BILL)
    for pointer, each in found.items():
        assert again[pointer].probability == each.probability
        assert sorted(again[pointer].alternatives.values()) == sorted(each.alternatives.values())


@given(bills, st.integers(1, 5))
@settings(deadline=None)
def test_of_copies_of_one_document_it_is_the_majority_and_all_agree(
    document: Any, count: int
) -> None:
    before = copy.deepcopy(document)
    found = majority([document] * count, BILL)
    assert found == document == before
    assert found is not document
    for each in agreement([document] * (count + 1), leaves(document), compiled=BILL).values():
        assert each.probability == 1.0


@given(samples)
@settings(deadline=None)
def test_a_document_that_more_than_half_hold_is_the_majority(documents: list[Any]) -> None:
    chosen = documents[-1]
    found = majority([*documents, *[chosen] * len(documents)], BILL)
    same = agreement([found, chosen], leaves(found), compiled=BILL)
    assert all(each.probability == 1.0 for each in same.values())


@given(samples)
@settings(deadline=None)
def test_every_value_of_the_majority_stands_there_in_one_of_the_documents(
    documents: list[Any],
) -> None:
    found = majority(documents, BILL)
    for each in agreement(documents, leaves(found), given=found, compiled=BILL).values():
        assert each.probability
    lengths = Counter(len(document["lines"]) for document in documents)
    assert lengths[len(found["lines"])] == max(lengths.values())
    for position, made in enumerate(found["lines"]):
        held = [
            document["lines"][position]
            for document in documents
            if len(document["lines"]) == len(found["lines"])
        ]
        near = max(
            sum(str(made[key]).lower() == str(item[key]).lower() for key in made) for item in held
        )
        assert 2 * near > len(made) - 1


@given(samples)
@settings(deadline=None)
def test_the_majority_fits_the_type_where_all_documents_do(documents: list[Any]) -> None:
    Bill.model_validate(majority(documents, BILL))
