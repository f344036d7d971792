"""An UNKNOWN in place of an object or a list counts for all that the label has there."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Retry, Unknown, compile_schema
from extractkit.evaluation import (
    Comparison,
    Configuration,
    Dataset,
    Exact,
    Ignored,
    Observation,
    Ruler,
    Summary,
    evaluate,
    measured,
)
from extractkit.paths import JsonObject, JsonValue
from extractkit.testing import FakeProvider


class Town(BaseModel):
    name: Literal["a", "b"] | Unknown
    note: str | None = None


class Page(BaseModel):
    town: Town | Unknown | None
    towns: list[Town] | Unknown | None = None
    sizes: dict[str, int] | Unknown = {}


def compared(label: JsonValue, answer: JsonValue, **options: Any) -> Comparison:
    return Ruler(compile_schema(Page, "json-schema"), **options).compare(label, answer)


def told(comparison: Comparison) -> list[tuple[str, str, str]]:
    """What is not empty."""
    return [
        (each.pointer, each.outcome, each.label)
        for each in comparison.places
        if each.outcome != "empty"
    ]


def summary(pairs: list[tuple[JsonValue, JsonValue]]) -> Summary:
    rows = [{"text": "x", "label": label} for label, _ in pairs]
    options = {
        "model": FakeProvider([json.dumps(answer) for _, answer in pairs]),
        "retry": Retry(answers=0),
    }
    configs = [Configuration(name="a", options=options)]
    return evaluate(Page, Dataset.of(rows, id=None), configs=configs).summary("a")


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"town": {"name": "a"}}, "/town/name"),
        ({"town": None, "towns": [{"name": "a"}]}, "/towns/*/name"),
        ({"town": None, "sizes": {"a": 1}}, "/sizes/*"),
    ],
)
def test_figures_of_a_part_are_over_all_inputs_however_its_object_is_not_answered(
    value: JsonObject, field: str
) -> None:
    (name,) = [key for key in value if value[key] is not None]
    answers: list[JsonValue] = [value, value, {**value, name: "unknown"}, "no answer"]
    found = summary([(value, answer) for answer in answers]).fields[field]
    assert (found["recall"].estimate, found["recall"].count) == (0.5, 4)
    assert (found["right"].estimate, found["right"].count) == (0.5, 4)
    assert (found["coverage"].estimate, found["coverage"].count) == (0.5, 4)
    assert (found["declined"].estimate, found["declined"].count) == (0.25, 4)
    assert (found["precision"].estimate, found["missed"].estimate) == (1.0, 0.0)


def test_what_stands_in_place_of_an_unknown_is_told_leaf_by_leaf() -> None:
    label: JsonValue = {"town": {"name": "a"}}
    found = compared(label, {"town": "unknown"})
    assert [(each.pointer, each.outcome, each.label) for each in found.places[:2]] == [
        ("/town/name", "declined", "value"),
        ("/town/note", "declined", "null"),
    ]
    assert all(each.found_at == "/town" for each in found.places[:2])
    assert found.places[0].why == '{"name": "a"} expected, the answer is UNKNOWN'
    assert not found.is_exact


def test_an_object_or_list_that_is_invented_is_fabricated_leaf_by_leaf() -> None:
    answer: JsonValue = {"town": {"name": "a"}, "towns": [{"name": "b"}]}
    for nothing, held in (("unknown", "unknown"), (None, "null")):
        found = compared({"town": nothing, "towns": nothing}, answer)
        assert told(found) == [
            ("/town/name", "fabricated", held),
            ("/towns/0/name", "fabricated", held),
        ]


def test_an_unknown_in_what_is_invented_is_no_value() -> None:
    answer: JsonValue = {"town": {"name": "unknown", "note": "b"}}
    for nothing, held in (("unknown", "unknown"), (None, "null")):
        assert told(compared({"town": nothing}, answer)) == [
            ("/town/name", "declined", held),
            ("/town/note", "fabricated", held),
        ]
    spare = compared({"town": None, "towns": []}, {"town": None, "towns": [{"name": "unknown"}]})
    assert told(spare) == [("/towns/0/name", "declined", "null")]
    assert not spare.is_exact


@pytest.mark.parametrize("name", ["towns", "sizes"])
def test_an_unknown_in_place_of_nothing_at_all_is_declined_there(name: str) -> None:
    label: JsonObject = {"town": None, "towns": [], "sizes": {}}
    found = compared(label, {**label, name: "unknown"})
    assert told(found) == [(f"/{name}", "declined", "value")]
    assert not found.is_exact


def test_an_unknown_is_declined_where_rules_let_the_place_be_judged() -> None:
    label: JsonValue = {"town": {"name": "a", "note": "b"}}
    whole = compared(label, {"town": "unknown"}, rules={"/town": Exact()})
    assert told(whole) == [("/town", "declined", "value")]
    some = compared(label, {"town": "unknown"}, rules={"/town/name": Ignored()})
    assert told(some) == [("/town/note", "declined", "value")]
    rules = {"/town/name": Ignored(), "/town/note": Ignored()}
    none = compared(label, {"town": "unknown"}, rules=rules)
    assert told(none) == [("/town", "declined", "value")]
    assert not none.is_exact


def test_of_an_object_of_which_labels_tell_a_part_an_unknown_declines_that_part() -> None:
    label: JsonValue = {"town": {"name": "a", "note": None}}
    for field, held in (("name", "value"), ("note", "null")):
        found = compared(label, {"town": "unknown"}, fields=[f"/town/{field}"])
        assert told(found) == [(f"/town/{field}", "declined", held)]


def test_the_confidence_of_an_unknown_counts_once_however_much_it_declines() -> None:
    label: JsonValue = {"town": {"name": "a", "note": "b"}}
    seen = Observation(
        status="ok",
        validity=4,
        document={"town": "unknown"},
        confidence={"/town": {"kind": "choice", "probability": 0.7}},
    )
    ruler = Ruler(compile_schema(Page, "json-schema"))
    found = measured(seen, ruler=ruler, id="1", label=label)
    assert found.confidences == (("/town/name", "choice", 0.7, False),)


_TOWN = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "unknown"])},
    optional={"note": st.sampled_from([None, "c"])},
)
_LABEL = st.fixed_dictionaries(
    {"town": st.one_of(st.none(), _TOWN)},
    optional={
        "towns": st.one_of(st.none(), st.lists(_TOWN, max_size=3)),
        "sizes": st.dictionaries(st.sampled_from("xy"), st.integers(1, 2)),
    },
)


@settings(max_examples=60, deadline=None)
@given(label=_LABEL, names=st.sets(st.sampled_from(["town", "towns", "sizes"]), min_size=1))
def test_an_unknown_has_the_places_that_no_answer_has(label: JsonObject, names: set[str]) -> None:
    answer: JsonObject = {**label, **dict.fromkeys(names, "unknown")}
    ruler = Ruler(compile_schema(Page, "json-schema"))

    def places(comparison: Comparison) -> dict[str, str]:
        return {each.pointer: each.label for each in comparison.places}

    found, none = ruler.compare(label, answer), ruler.unanswered(label)
    spare = places(found).keys() - places(none).keys()
    assert {at: held for at, held in places(found).items() if at not in spare} == places(none)
    assert all(label.get(at[1:], {}) in ([], {}) for at in spare)
    declined = {each.pointer.split("/")[1] for each in found.places if not each.is_right}
    assert declined == names
    assert all(each.is_right or each.outcome == "declined" for each in found.places)
    assert not found.is_exact
