"""Several answers: what no leaf shows, the lengths of lists and the keys that are left out."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from extractkit import Unknown
from extractkit.confidence import Scores, agreement, shape_agreement
from extractkit.errors import UsageError
from extractkit.paths import JsonValue
from extractkit.schema import compile_schema


class Line(BaseModel):
    """An element with a list of its own."""

    tags: list[str] = []


class Order(BaseModel):
    """A target with every kind of container."""

    b: list[str] = []
    lines: list[Line] = []
    names: set[str] = set()
    by_year: dict[str, int] = {}
    pair: tuple[int, int] = (0, 0)
    note: str | None = None
    size: int = Field(default_factory=int)
    either: dict[str, int] | list[int] = []
    state: Literal["x", "y"] = "x"


ORDER = compile_schema(Order, dialect="json-schema")


def shape(*documents: Any, asked: int | None = None) -> Scores:
    """How far the others agree with the first."""
    return shape_agreement(documents, documents[0], compiled=ORDER, asked=asked)


def test_a_shorter_list_says_that_others_had_more() -> None:
    found = shape({"b": ["a"]}, {"b": ["a", "b"]}, {"b": ["a", "b", "c"]})
    length = found.lengths["/b"]
    assert length.kind == "agreement"
    assert length.probability == pytest.approx(1 / 3)
    assert length.alternatives == pytest.approx({"1": 1 / 3, "2": 1 / 3, "3": 1 / 3})
    assert length.reason == "length: 1 of 3 answers agree"


def test_answers_that_are_no_documents_have_no_length() -> None:
    found = shape({"b": ["a"]}, {"b": ["x"]}, asked=4)
    assert found.lengths["/b"].probability == 0.5
    assert found.lengths["/b"].reason == ("length: 2 of 4 answers agree; 2 gave no such document")


def test_lists_in_lists_sets_and_maps_have_lengths() -> None:
    first: dict[str, Any] = {
        "lines": [{"tags": ["x"]}, {"tags": []}],
        "names": ["a", "A", "b"],
        "by_year": {"2024": 1},
        "either": {"a": 1, "b": 2},
        "pair": [1, 2],
    }
    second: dict[str, Any] = {
        "lines": [{"tags": ["x", "y"]}],
        "names": ["b", "a"],
        "by_year": {"2024": 1, "2025": 2},
        "either": [1, 2],
        "pair": [1, 2],
    }
    found = shape(first, second).lengths
    assert list(found) == [
        "/lines",
        "/lines/0/tags",
        "/lines/1/tags",
        "/names",
        "/by_year",
        "/either",
    ]
    assert {at: each.probability for at, each in found.items()} == {
        "/lines": 0.5, "/lines/0/tags": 0.5, "/lines/1/tags": 0.5, "/names": 1.0, "/by_year": 0.5,
        "/either": 0.5,
    }  # fmt: skip
    assert found["/lines/1/tags"].alternatives == {"0": 0.5, "(absent)": 0.5}
    assert len(found["/either"].alternatives) == 2  # of two keys, and of two elements


def test_a_key_that_is_left_out_says_that_others_had_it() -> None:
    found = shape({"b": []}, {"b": [], "note": "x", "size": 3}, {"b": [], "note": None}).presence
    assert found["/note"].alternatives == pytest.approx({"null": 2 / 3, '"x"': 1 / 3})
    assert found["/note"].reason == "left out: 2 of 3 answers agree"
    assert found["/size"].alternatives == pytest.approx({"(absent)": 2 / 3, "3": 1 / 3})
    assert found["/state"].probability == found["/by_year"].probability == 1.0
    assert "/b" not in found


def test_a_container_by_default_is_the_same_written_out() -> None:
    found = shape({}, {"pair": [0, 0]}, {"pair": [0, 1]}).presence["/pair"]
    assert found.alternatives == pytest.approx({"[0, 0]": 2 / 3, "[0, 1]": 1 / 3})


def test_without_a_target_every_object_is_a_map() -> None:
    documents: list[JsonValue] = [{"a": [1]}, {"a": [1, 2], "b": 3}, "x", {"a": {}}]
    found = shape_agreement(documents, documents[0])
    assert found.lengths[""].alternatives == {"1": 0.5, "2": 0.25, '"x"': 0.25}
    assert found.lengths["/a"].alternatives == {"1": 0.25, "2": 0.25, "(absent)": 0.25, "0": 0.25}
    assert found.presence == {}


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=2, max_size=5))
def test_where_all_agree_on_leaves_and_lengths_all_documents_are_the_same(
    several: list[list[str]],
) -> None:
    documents: list[JsonValue] = [{"b": [*each]} for each in several]
    lengths = shape(*documents).lengths
    leaves = agreement(documents, [f"/b/{at}" for at in range(len(several[0]))], compiled=ORDER)
    is_whole = all(each.probability == 1.0 for each in (*lengths.values(), *leaves.values()))
    assert is_whole is all(each == several[0] for each in several)


@pytest.mark.parametrize("shares", [[0.9, 0.9], [float("nan"), 1.0], [-0.5, 1.0], [1.0]])
def test_shares_are_of_one_whole(shares: list[float]) -> None:
    with pytest.raises(UsageError, match=r"found .*shares.*expected"):
        shape_agreement([{}, {}], {}, shares=shares)
    with pytest.raises(UsageError, match=r"found .*shares.*expected"):
        agreement([{}, {}], [], shares=shares)


@pytest.mark.parametrize("leaf", ["v", 3])
def test_a_leaf_is_a_pointer(leaf: Any) -> None:
    with pytest.raises(UsageError, match=r"leaves\[1\] is .*JSON Pointer"):
        agreement([{}, {}], ["/a", leaf])


# --- branches of unions


class Short(BaseModel):
    x: int


class Long(BaseModel):
    x: int
    y: str


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: int


class Opened(BaseModel):
    model_config = ConfigDict(extra="allow")

    x: int


class Either(BaseModel):
    pair: tuple[int] | tuple[int, int] = (0,)
    either: Long | Short | None = None
    strict: Closed | Long | None = None
    opened: Opened | Closed | None = None
    name: Unknown | str = ""


EITHER = compile_schema(Either, dialect="json-schema")


@pytest.mark.parametrize(
    ("place", "mine", "others"),
    [
        ("/pair", [1], ([1, 2], [1, 3])),
        ("/either/y", {"x": 1}, ({"x": 1, "y": "a"}, {"x": 1, "y": "b"})),
        ("/strict/y", {"x": 1}, ({"x": 1, "y": "a"}, {"x": 1, "y": "b"})),
        ("/opened", {"x": 1}, ({"x": 1, "q": 1}, {"x": 1, "q": 2})),
    ],
)
def test_what_most_others_have_more_is_told_whatever_their_branch(
    place: str, mine: JsonValue, others: tuple[JsonValue, ...]
) -> None:
    field = place.split("/")[1]
    documents = [{field: each} for each in (mine, *others)]
    found = shape_agreement(documents, documents[0], compiled=EITHER)
    told = {**found.presence, **found.lengths}
    assert told[place].kind == "agreement"
    assert told[place].probability == pytest.approx(1 / 3)
    alike = shape_agreement([documents[0]] * 3, documents[0], compiled=EITHER)
    numbers = {**alike.presence, **alike.lengths}.values()
    assert all(found.probability == 1.0 for found in numbers)


def test_nothing_is_told_of_a_key_that_the_type_drops() -> None:
    documents: list[JsonValue] = [{"either": {"x": 1}}, {"either": {"x": 1, "z": 2}}]
    found = shape_agreement(documents, documents[0], compiled=EITHER)
    assert "/either/z" not in found.presence


def test_a_closed_object_has_no_length() -> None:
    documents: list[JsonValue] = [{"name": {"unknown": True}, "strict": {"x": 1}}, {"name": "x"}]
    found = shape_agreement(documents, documents[0], compiled=EITHER)
    assert not {"/name", "/strict"} & set(found.lengths)
