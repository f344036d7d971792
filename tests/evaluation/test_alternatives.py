"""An answer and a label of different alternatives of a union, held to a count by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, TypeAdapter, create_model

from extractkit import Unknown, compile_schema
from extractkit.evaluation import Comparison, Ruler
from extractkit.evaluation._measures import measured
from extractkit.evaluation._observation import Observation
from extractkit.paths import JsonObject, JsonValue, is_object


class Cash(BaseModel):
    kind: Literal["cash"] = "cash"
    amount: int


class Card(BaseModel):
    kind: Literal["card"] = "card"
    amount: int
    owner: str | None = None
    limits: dict[str, int] = {}


class Short(BaseModel):
    name: str


class Long(BaseModel):
    name: str
    size: int | None = None
    tags: list[str] = []
    currency: str = "EUR"


class Colour(Enum):
    RED = "red"


class Tree(BaseModel):
    name: str
    below: list[Tree | Cash] = []
    best: Tree | Cash | None = None


Tagged = Annotated[Cash | Card, Field(discriminator="kind")]


def compared(target: Any, label: JsonValue, answer: JsonValue, **options: Any) -> Comparison:
    return Ruler(compile_schema(target, "json-schema"), **options).compare(label, answer)


def outcomes(comparison: Comparison) -> dict[str, str]:
    return {each.pointer: each.outcome for each in comparison.places}


# --- by hand -------------------------------------------------------------------------------------

_CARD = {"kind": "card", "amount": 5, "owner": "Al", "limits": {"day": 9}}
_OF_CARD = {"/owner": "fabricated", "/limits/day": "fabricated"}


@pytest.mark.parametrize("target", [Cash | Card, Tagged, RootModel[Tagged]])
def test_what_another_alternative_invents_is_fabricated_and_what_it_lacks_is_missed(
    target: Any,
) -> None:
    cash = {"kind": "cash", "amount": 5}
    found = compared(target, cash, _CARD)
    assert outcomes(found) == {"/kind": "wrong", "/amount": "right", **_OF_CARD}
    turned = compared(target, _CARD, cash)
    missed = {"/owner": "missed", "/limits/day": "missed"}
    assert outcomes(turned) == {"/kind": "wrong", "/amount": "right", **missed}
    assert not found.is_exact and not turned.is_exact


@pytest.mark.parametrize(
    ("target", "label", "answer", "expected"),
    [
        (Short | Long, {"name": "a"}, {"name": "a", "size": 3, "tags": ["t"]},
         {"/name": "right", "/size": "fabricated", "/tags/0": "fabricated",
          "/currency": "fabricated"}),
        (Short | Long, {"name": "a", "size": 3}, {"name": "a"},
         {"/name": "right", "/size": "missed", "/tags": "missed", "/currency": "missed"}),
        (Short | Cash, {"name": "a"}, {"amount": 1},
         {"/name": "missed", "/amount": "fabricated", "/kind": "fabricated"}),
        (str | Short, "a", {"name": "a"}, {"": "wrong", "/name": "fabricated"}),
        (Colour | Short, {"name": "red"}, "red", {"": "wrong", "/name": "missed"}),
        (list[Short] | Short, [{"name": "a"}], {"name": "a"},
         {"": "wrong", "/0/name": "missed", "/name": "fabricated"}),
        (Short | Unknown, {"name": "a"}, "unknown", {"/name": "declined"}),
        (Short | Unknown, "unknown", {"name": "a"}, {"/name": "fabricated"}),
        (Short | None, None, {"name": "a"}, {"/name": "fabricated"}),
        (dict[str, int] | Cash, {"more": 2}, {"kind": "cash", "amount": 1},
         {"/more": "missed", "/amount": "fabricated", "/kind": "fabricated"}),
        (tuple[int, Short | Long], [1, {"name": "a"}], [1, {"name": "a", "size": 2}],
         {"/0": "right", "/1/name": "right", "/1/size": "fabricated", "/1/tags": "fabricated",
          "/1/currency": "fabricated"}),
    ],
)  # fmt: skip
def test_each_kind_of_union_is_judged_by_both_alternatives(
    target: Any, label: JsonValue, answer: JsonValue, expected: dict[str, str]
) -> None:
    found = compared(target, label, answer)
    assert outcomes(found) == expected
    assert not found.is_exact


def test_fields_of_a_map_and_of_a_type_in_its_place_keep_their_names() -> None:
    found = compared(dict[str, int] | Cash, {"more": 2}, {"kind": "cash", "amount": 1})
    assert [(each.field, each.pointer) for each in found.places] == [
        ("/*", "/more"),
        ("/kind", "/kind"),
        ("/amount", "/amount"),
    ]


def test_alternatives_that_hold_the_same_are_still_two() -> None:
    found = compared(Short | Long, {"name": "a"}, {"name": "a", "size": None})
    assert outcomes(found)["/currency"] == "fabricated"

    class Empty(BaseModel):
        pass

    class Noted(BaseModel):
        note: str | None = None

    (note, whole) = compared(Empty | Noted, {}, {"note": None}).places
    assert (note.outcome, whole.pointer, whole.outcome) == ("empty", "", "wrong")
    assert "another alternative" in whole.why
    assert compared(Empty | Noted, {"note": None}, {"note": None}).is_exact


@pytest.mark.parametrize(
    ("target", "label", "answer", "is_exact"),
    [
        (Colour | str, "Red", "red", False),
        (Colour | str, "red", "Red", False),
        (Colour | str, "Blue", "blue", True),
        (int | str, 1, "1", False),
        (int | str, "1", 1, False),
        (bool | int, 1, True, False),
        (date | str, "2024-01-02", "20240102", False),
        (date | str, "20240102", "2024-01-02", False),
        (Decimal | Short, "1.50", 1.5, True),
        (Decimal | Short, 1.5, "1.50", True),
        (int | float, 1, 1.0, True),
    ],
)
def test_a_comparator_takes_no_type_for_another(
    target: Any, label: JsonValue, answer: JsonValue, is_exact: bool
) -> None:
    assert compared(target, label, answer).is_exact is is_exact


def test_the_same_field_of_two_alternatives_is_compared_by_both_types() -> None:
    class Counted(BaseModel):
        kind: Literal["counted"]
        amount: int
        unit: str

    class Priced(BaseModel):
        kind: Literal["priced"]
        amount: Decimal
        unit: Colour

    found = compared(
        Counted | Priced,
        {"kind": "counted", "amount": 5, "unit": "RED"},
        {"kind": "priced", "amount": "5.0", "unit": "red"},
    )
    assert outcomes(found) == {"/kind": "wrong", "/amount": "right", "/unit": "wrong"}


def test_figures_of_a_field_are_over_the_places_of_both_alternatives() -> None:
    ruler = Ruler(compile_schema(list[Tagged], "json-schema"))
    document = [_CARD, {"kind": "cash", "amount": 7}]
    label = [{"kind": "cash", "amount": 7}, {"kind": "cash", "amount": 5}]
    seen = Observation(status="ok", validity=4, document=document)
    found = measured(seen, ruler=ruler, id="1", label=label)
    assert found.exact is False
    assert found.fields == {
        "/*/kind": {"right": 1, "wrong": 1},
        "/*/amount": {"right": 2},
        "/*/owner": {"fabricated": 1},
        "/*/limits/*": {"fabricated": 1},
    }


def test_alternatives_in_a_recursion_are_told_apart_on_each_level() -> None:
    label = {"name": "a", "below": [{"name": "b"}], "best": {"name": "c", "best": {"name": "d"}}}
    answer = {
        "name": "a",
        "below": [{"amount": 1}],
        "best": {"name": "c", "best": {"kind": "cash", "amount": 2}},
    }
    told = outcomes(compared(Tree, label, answer))
    assert {at: said for at, said in told.items() if said not in ("right", "empty")} == {
        "/below/0/name": "missed",
        "/below/0/amount": "fabricated",
        "/best/best/name": "missed",
        "/best/best/below": "missed",
        "/best/best/kind": "fabricated",
        "/best/best/amount": "fabricated",
    }


def test_rules_and_partial_labels_hold_for_both_alternatives() -> None:
    cash = {"kind": "cash", "amount": 5}
    some = compared(Tagged, {"amount": 5, "kind": "cash"}, _CARD, fields=["/amount"])
    assert some.is_exact
    owner = compared(Tagged, cash, _CARD, fields=["/amount", "/owner"])
    assert outcomes(owner) == {"/amount": "right", "/owner": "fabricated"}


# --- against a count of every value --------------------------------------------------------------

_TYPES: dict[str, Any] = {
    "x": (int, ...),
    "y": (str | None, None),
    "z": (str, "usual"),
    "m": (dict[str, int], {}),
    "s": (Short | Cash | None, None),
}
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "x": st.integers(1, 2),
    "y": st.sampled_from([None, "foo", "bar"]),
    "z": st.sampled_from(["usual", "foo"]),
    "m": st.dictionaries(st.sampled_from("ab"), st.integers(1, 2), max_size=2),
    "s": st.sampled_from([None, {"name": "foo"}, {"amount": 1}]),
}


@st.composite
def unions(draw: st.DrawFn) -> tuple[Any, list[type[BaseModel]]]:
    """A union of two or three models, told apart by a tag or by nothing."""
    is_tagged = draw(st.booleans())
    variants: list[type[BaseModel]] = []
    for name in "ABC"[: draw(st.integers(2, 3))]:
        fields = {key: _TYPES[key] for key in draw(st.sets(st.sampled_from("xyzms")))}
        if is_tagged:
            fields["kind"] = (Literal[name], ...)
        model: type[BaseModel] = create_model(name, **fields)
        variants.append(model)
    target: Any = Union[tuple(variants)]  # noqa: UP007  # a union of a list
    if is_tagged:
        target = Annotated[target, Field(discriminator="kind")]
    return target, variants


@st.composite
def documents(draw: st.DrawFn, variants: list[type[BaseModel]]) -> JsonObject:
    """A document of one of them, with all keys or with some left out."""
    variant = draw(st.sampled_from(variants))
    document: JsonObject = {}
    for name, field in variant.model_fields.items():
        if name == "kind":
            document[name] = variant.__name__
        elif field.is_required() or draw(st.booleans()):
            document[name] = draw(_VALUES[name])
    return document


def said(value: Any) -> Any:
    """Return what a value says: its class, and what its fields say that are not null."""
    if isinstance(value, BaseModel):
        return type(value), said(dict(value))
    if is_object(value):
        return {key: said(part) for key, part in value.items() if part is not None}
    return value


def held(document: JsonValue, at: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield every value of a document that has none below it, but null and what is empty."""
    if is_object(document):
        for key, part in document.items():
            yield from held(part, f"{at}/{key}")
    elif document is not None:
        yield at, document


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_an_answer_is_exact_where_both_values_are_equal_and_each_spare_value_is_counted(
    data: st.DataObject,
) -> None:
    target, variants = data.draw(unions())
    adapter: TypeAdapter[Any] = TypeAdapter(target)
    label, answer = data.draw(documents(variants)), data.draw(documents(variants))
    values = [adapter.validate_json(json.dumps(each), strict=True) for each in (label, answer)]
    whole = [dict(held(adapter.dump_python(each, mode="json"))) for each in values]

    found = compared(target, label, answer)
    assert found.is_exact == (said(values[0]) == said(values[1]))

    told = outcomes(found)
    of_both = [{at for at, _ in held(each)} & whole[k].keys()  # what is written and read
               for k, each in enumerate((label, answer))]  # fmt: skip
    assert all(told[at] == "missed" for at in of_both[0] - whole[1].keys())
    assert all(told[at] == "fabricated" for at in of_both[1] - whole[0].keys())
    shared = whole[0].keys() & whole[1].keys()
    assert all(told[at] == ("right" if whole[0][at] == whole[1][at] else "wrong") for at in shared)
    spare = {at for at, outcome in told.items() if outcome == "fabricated"}
    assert not spare & whole[0].keys()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_type_and_its_json_schema_say_the_same_of_whole_documents(data: st.DataObject) -> None:
    target, variants = data.draw(unions())
    adapter: TypeAdapter[Any] = TypeAdapter(target)
    both = [
        adapter.dump_python(adapter.validate_python(data.draw(documents(variants))), mode="json")
        for _ in range(2)
    ]
    typed, plain = (compared(each, *both) for each in (target, adapter.json_schema()))
    told, others = outcomes(typed), outcomes(plain)
    assert {at: told.get(at) for at, outcome in others.items() if outcome != "empty"} == {
        at: outcome for at, outcome in others.items() if outcome != "empty"
    }
    if not typed.is_exact and plain.is_exact:  # two types that hold the same
        assert told.pop("") == "wrong"
        assert set(told.values()) <= {"right", "empty"}
    else:
        assert typed.is_exact == plain.is_exact


def test_equal_fields_of_two_alternatives_are_right_and_only_the_alternatives_differ() -> None:
    one = create_model("One", x=(int, ...), m=(dict[str, int], {}))
    two = create_model("Two", x=(int, ...), m=(dict[str, int], {}), y=(str | None, None))
    label, answer = {"x": 1, "m": {"a": 1}}, {"x": 1, "m": {"a": 1}, "y": None}
    found = compared(one | two, label, answer)
    assert outcomes(found) == {"/x": "right", "/m/a": "right", "/y": "empty", "": "wrong"}
