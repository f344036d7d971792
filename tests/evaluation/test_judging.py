from __future__ import annotations

import itertools
import random
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Unknown, compile_schema
from extractkit.errors import UsageError
from extractkit.evaluation import (
    Comparison,
    Exact,
    Ignored,
    Items,
    Moment,
    Number,
    Ruler,
    Text,
    Verdict,
)
from extractkit.evaluation._pairing import assigned, by_key
from tests.evaluation.making import LABEL, Invoice, Line, changed


def ruler(target: Any = Invoice, **options: Any) -> Ruler:
    return Ruler(compile_schema(target, "json-schema"), **options)


def outcomes(comparison: Comparison) -> dict[str, str]:
    return {each.pointer: each.outcome for each in comparison.places}


def test_an_answer_that_is_the_label_is_exact() -> None:
    found = ruler().compare(LABEL, LABEL)
    assert found.is_exact
    left_out = [f"/lines/{k}/note" for k in range(2)]
    others = {at: said for at, said in outcomes(found).items() if said != "right"}
    assert others == dict.fromkeys(left_out, "empty")
    assert [(each.field, each.expected, each.found, each.matched) for each in found.lists] == [
        ("/lines", 2, 2, 2)
    ]


@pytest.mark.parametrize(
    ("field", "expected", "found", "outcome", "why"),
    [
        ("name", "Acme Inc.", "ACME\u00a0 inc.", "right", "but for case"),
        ("name", "Acme Inc.", "Acme", "wrong", '"Acme Inc." expected, found "Acme"'),
        ("total", "62.00", 62, "right", "the same number"),
        ("total", "62.00", 62.5, "wrong", "62.00 expected, found 62.5"),
        ("day", "2024-03-04", "2024-03-05", "wrong", "expected"),
        ("day", "2024-03-04", None, "missed", "the answer is null"),
        ("day", None, "2024-03-04", "fabricated", "the label is null"),
        ("day", None, None, "empty", "both are null"),
        ("kind", "goods", "unknown", "declined", "UNKNOWN"),
        ("kind", "unknown", "unknown", "right", "both are UNKNOWN"),
        ("kind", "unknown", "goods", "fabricated", "the label is UNKNOWN"),
        ("kind", "goods", "Goods", "wrong", "expected"),
    ],
)
def test_each_pair_of_values_has_its_outcome_and_its_reason(
    field: str, expected: Any, found: Any, outcome: str, why: str
) -> None:
    result = ruler().compare(changed(**{field: expected}), changed(**{field: found}))
    (place,) = [each for each in result.places if each.field == f"/{field}"]
    assert (place.outcome, place.pointer) == (outcome, f"/{field}")
    assert why in place.why
    assert result.is_exact == place.is_right == (outcome in ("right", "empty"))


def test_no_answer_is_right_nowhere_not_even_where_the_label_is_null() -> None:
    found = ruler().unanswered(changed(day=None))
    assert set(outcomes(found).values()) == {"unanswered"}
    assert len(found.places) == 10
    assert [(each.expected, each.found, each.paired) for each in found.lists] == [(2, 0, "alone")]
    assert not found.is_exact


def test_elements_are_paired_so_that_most_is_right() -> None:
    answer = changed(
        lines=[{"sku": "z", "price": 9}, {"sku": "y", "price": 61}, {"sku": "x", "price": 2}]
    )
    found = ruler().compare(LABEL, answer)
    paired = [each for each in found.places if each.field.startswith("/lines")][:6]
    assert [(each.pointer, each.found_at, each.outcome) for each in paired] == [
        ("/lines/0/sku", "/lines/2/sku", "right"),
        ("/lines/0/price", "/lines/2/price", "wrong"),
        ("/lines/0/note", None, "empty"),
        ("/lines/1/sku", "/lines/1/sku", "right"),
        ("/lines/1/price", "/lines/1/price", "right"),
        ("/lines/1/note", None, "empty"),
    ]
    spare = [each for each in found.places if each.outcome == "fabricated"]
    assert [(each.field, each.found) for each in spare] == [
        ("/lines/*/sku", "z"),
        ("/lines/*/price", 9),
    ]
    (match,) = found.lists
    assert (match.expected, match.found, match.matched) == (2, 3, 1)
    assert (match.paired, match.in_order, match.is_right) == ("assignment", False, False)


def test_elements_without_a_partner_are_missed_leaf_by_leaf() -> None:
    found = ruler().compare(LABEL, changed(lines=[{"sku": "y", "price": 61}]))
    assert {name for name, outcome in outcomes(found).items() if outcome == "missed"} == {
        "/lines/0/sku",
        "/lines/0/price",
    }


def test_elements_are_paired_by_a_key_where_there_is_one() -> None:
    lines = [{"sku": "Y", "price": 1}, {"sku": "x", "price": 61}, {"sku": None, "price": 5}]
    by_sku = ruler(rules={"/lines": Items(key="sku", is_ordered=False)})
    found = by_sku.compare(LABEL, changed(lines=lines))
    assert [each.outcome for each in found.places if each.field == "/lines/*/price"] == [
        "wrong",
        "wrong",
        "fabricated",
    ]
    assert found.lists[0].paired == "key"


def test_another_order_is_another_list_unless_it_is_a_set_or_said_to_be_none() -> None:
    turned = changed(lines=LABEL["lines"][::-1])
    assert not ruler().compare(LABEL, turned).is_exact
    free = ruler(rules={"/lines": Items(is_ordered=False)})
    assert free.compare(LABEL, turned).is_exact
    assert ruler(set[str]).compare(["a", "b"], ["b", "A"]).is_exact
    assert not ruler(list[str]).compare(["a", "b"], ["b", "a"]).is_exact


class Marked(BaseModel):
    mark: str
    note: str | None = None


@pytest.mark.parametrize(
    ("target", "label", "answer", "rules"),
    [
        (list[str], ["a", "A"], ["A", "a"], {}),
        (list[Marked], [{"mark": "a", "note": None}] * 2,
         [{"mark": "a"}, {"mark": "a", "note": None}], {}),
        (list[Decimal], ["1.0", 1], [1, "1.0"], {}),
        (list[int], [1, 2], [2, 3], {"/*": Number(absolute=1)}),
        (list[list[str]], [["a"], ["A"]], [["A"], ["a"]], {}),
    ],
)  # fmt: skip
def test_elements_that_are_right_where_they_stand_are_in_order(
    target: Any, label: Any, answer: Any, rules: Any
) -> None:
    """Equal spellings elsewhere in the list are no reason to pair across."""
    found = ruler(target, rules=rules).compare(label, answer)
    assert found.is_exact
    assert found.lists[0].matched == len(label)
    assert found.lists[0].in_order


def test_tuples_and_huge_lists_are_paired_by_position() -> None:
    found = ruler(tuple[int, str]).compare([1, "a"], [2, "a"])
    assert [each.outcome for each in found.places] == ["wrong", "right"]
    assert found.lists[0].paired == "position"
    many = ruler(list[int])
    huge = many.compare(list(range(150)), list(range(1000, 1150)))
    assert huge.lists[0].paired == "position"
    assert many.compare(list(range(150)), list(range(150))).is_exact


def test_lists_of_long_lists_are_paired_by_position() -> None:
    def paired(target: Any, label: Any, answer: Any) -> str:
        return ruler(target).compare(label, answer).lists[0].paired

    def texts(mark: str, rows: int, columns: int) -> list[list[str]]:
        return [[f"{mark} {row} {column}" for column in range(columns)] for row in range(rows)]

    inner = list[list[str]]
    assert paired(inner, texts("a", 10, 10), texts("b", 10, 10)) == "assignment"
    assert paired(inner, texts("a", 25, 24), texts("b", 25, 24)) == "position"
    assert paired(inner, texts("a", 25, 24), texts("a", 25, 24)[::-1]) == "assignment"  # equal ones
    deep = [texts(mark, 8, 9) for mark in "abcdefgh"], [texts(mark, 8, 9) for mark in "ijklmnop"]
    assert paired(list[list[list[str]]], *deep) == "position"
    held = [[{"x": row} for row in texts(mark, 25, 24)] for mark in "ab"]
    assert paired(list[dict[str, list[str]]], *held) == "position"
    # Fields meet their like only: ten lists of six are not one of sixty.
    wide = [[{str(k): row for k in range(10)} for row in texts(mark, 9, 6)] for mark in "ab"]
    assert paired(list[dict[str, list[str]]], *wide) == "assignment"


class Batch(BaseModel):
    lines: list[Line]


def test_what_is_not_compared_pair_by_pair_is_no_reason_to_pair_by_position() -> None:
    label, answer = (
        [
            {"lines": [{"sku": f"{k}", "price": f"{start + row}"} for k in range(24)]}
            for row in range(25)
        ]
        for start in (100, 300)
    )

    def paired(**options: Any) -> str:
        return ruler(list[Batch], **options).compare(label, answer).lists[0].paired

    assert paired() == "position"
    assert paired(rules={"/*/lines": Ignored()}) == "assignment"
    assert paired(rules={"/*/lines": Exact()}) == "assignment"
    assert paired(rules={"/*/lines": Items(key="sku")}) == "assignment"


def test_rules_take_the_place_of_types() -> None:
    rules = {
        "/total": Number(relative=0.01),
        "/lines/*/price": Number(absolute=0.5),
        "/name": lambda expected, found: expected[:4] == found[:4],
        "/day": Ignored(),
        "/lines/*/sku": Exact(),
    }
    answer = changed(
        total=62.5,
        name="Acme Limited",
        day=None,
        lines=[{"sku": "x", "price": 1.5}, {"sku": "Y", "price": 61}],
    )
    found = ruler(rules=rules).compare(LABEL, answer)
    assert outcomes(found) == {
        "/name": "right",
        "/kind": "right",
        "/total": "right",
        "/lines/0/sku": "right",
        "/lines/0/price": "right",
        "/lines/0/note": "empty",
        "/lines/1/sku": "wrong",
        "/lines/1/price": "right",
        "/lines/1/note": "empty",
    }
    assert "<lambda> says the same" in found.places[0].why


def test_a_rule_of_a_whole_list_or_object_judges_it_as_one_value() -> None:
    def as_many(expected: Any, found: Any) -> Verdict:
        return Verdict(is_equal=len(expected) == len(found), why="as many")

    whole = ruler(rules={"/lines": as_many})
    found = whole.compare(LABEL, changed(lines=[1, 2]))
    assert outcomes(found)["/lines"] == "right"
    gone = ruler(list[Invoice] | None, rules={"": as_many}).compare([LABEL], None)
    assert [(each.pointer, each.outcome) for each in gone.places] == [("", "missed")]


def test_labels_of_some_fields_judge_those_alone() -> None:
    some = ruler(fields=["/total", "/lines/*/price"])
    found = some.compare(
        {"total": 62, "lines": [{"price": 1}, {"price": 61}]}, changed(name="no", day=None)
    )
    assert found.is_exact
    assert set(outcomes(found)) == {"/total", "/lines/0/price", "/lines/1/price"}


class Shape(BaseModel):
    area: float | Unknown | None = None
    names: dict[str, int] = {}
    tags: list[str] = []
    inner: Shape | None = None


def test_what_is_left_out_is_its_default_and_keys_of_maps_are_one_field() -> None:
    shape = ruler(Shape)
    assert shape.compare({}, {"area": None, "names": {}, "tags": [], "inner": None}).is_exact
    found = shape.compare({"names": {"a": 1, "b": 2}}, {"names": {"a": 1, "c": 3}})
    assert [(each.field, each.pointer, each.outcome) for each in found.places] == [
        ("/names/*", "/names/a", "right"),
        ("/names/*", "/names/b", "missed"),
        ("/names/*", "/names/c", "fabricated"),
        ("/area", "/area", "empty"),
        ("/inner", "/inner", "empty"),
    ]


class Town(BaseModel):
    name: str
    note: str | None = None
    country: str = "NO"


@pytest.mark.parametrize("answer", [{"name": "a"}, {"name": "a", "note": "fab"}, {"name": "b"}])
def test_a_label_says_the_same_however_it_is_spelled(answer: dict[str, Any]) -> None:
    def told(label: dict[str, Any], said: dict[str, Any]) -> set[tuple[str, str, str]]:
        places = ruler(Town).compare(label, said).places
        return {(each.pointer, each.outcome, each.label) for each in places}

    rest = {"note": None, "country": "NO"}
    short, whole = {"name": "a"}, {"name": "a", **rest}
    assert told(short, answer) == told(whole, answer) == told(short, {**rest, **answer})
    assert len(told(short, answer)) == 3
    given = ruler(Town).given(answer)
    assert given == ruler(Town).given({**rest, **answer})


class Endless(BaseModel):
    name: str = "a"
    child: Endless = cast("Endless", {})


def test_a_type_that_is_its_own_default_has_an_end() -> None:
    assert ruler(Endless).compare({}, {}).is_exact
    assert ruler(Endless).given({})


def test_of_an_object_of_which_labels_tell_a_part_nothing_beside_null_is_empty() -> None:
    class Person(BaseModel):
        home: Town | None

    some = ruler(Person, fields=["/home/note"])
    for label, answer in [({"home": {"note": None}}, {"home": None}),
                          ({"home": None}, {"home": {"name": "x", "note": None}})]:  # fmt: skip
        found = some.compare(label, answer)
        assert [(each.field, each.outcome) for each in found.places] == [("/home/note", "empty")]
        assert found.is_exact


def test_lists_that_only_one_side_has_are_counted() -> None:
    class Page(BaseModel):
        names: list[str] | None
        rows: list[list[str]] = []

    def told(label: Any, answer: Any) -> list[tuple[str, int, int, int]]:
        found = ruler(Page).compare(label, answer)
        return [(each.field, each.expected, each.found, each.matched) for each in found.lists]

    assert told({"names": ["a", "b"]}, {"names": None})[0] == ("/names", 2, 0, 0)
    assert told({"names": None}, {"names": ["z"]})[0] == ("/names", 0, 1, 0)
    rows = told({"names": None, "rows": [["a", "b"]]}, {"names": None, "rows": [["x"]]})
    assert ("/rows/*", 2, 0, 0) in rows and ("/rows/*", 0, 1, 0) in rows
    assert (
        ruler(Page, rules={"/names": Exact()}).compare({"names": ["a"]}, {"names": None}).lists[:-1]
        == ()
    )


@pytest.mark.parametrize(
    ("expected", "found", "expected_outcomes"),
    [
        ({"inner": {"area": 1.0}}, {}, {"/inner/area": "missed"}),
        ({}, {"inner": {"area": 1.0, "tags": ["a"]}},
         {"/inner/area": "fabricated", "/inner/tags/0": "fabricated"}),
        ({"inner": {}}, {"inner": None}, {"/inner": "missed"}),
        ({"inner": {"area": None}}, {"inner": None}, {"/inner": "missed"}),
        ({"inner": {"area": "unknown"}}, {}, {"/inner/area": "missed"}),
        ({"area": "unknown"}, {"area": None}, {"/area": "wrong"}),
        ({"area": None}, {"area": "unknown"}, {"/area": "declined"}),
        ({"tags": []}, {"tags": ["a"]}, {"/tags/0": "fabricated"}),
    ],
)  # fmt: skip
def test_what_only_one_of_both_has_is_told_at_its_leaves(
    expected: Any, found: Any, expected_outcomes: dict[str, str]
) -> None:
    result = ruler(Shape).compare(expected, found)
    wrong = {each.pointer: each.outcome for each in result.places if not each.is_right}
    assert wrong == expected_outcomes
    assert not result.is_exact


def test_values_of_different_kinds_are_wrong_and_say_so() -> None:
    found = ruler(Any).compare({"a": [1], "b": {"c": 1}}, {"a": "x", "b": 1})
    assert outcomes(found) == {"/a": "wrong", "/a/0": "missed", "/b": "wrong", "/b/c": "missed"}
    assert 'an array expected ([1]), found "x"' in found.places[0].why
    turned = ruler(Any).compare({"a": "x", "b": 1}, {"a": [1], "b": {"c": 1, "d": None}})
    told = {"/a": "wrong", "/a/0": "fabricated", "/b": "wrong", "/b/c": "fabricated"}
    assert outcomes(turned) == told


def test_what_an_answer_holds_is_counted_by_field() -> None:
    answer = changed(kind="unknown", day=None, lines=[*LABEL["lines"], {"sku": None, "price": 1}])
    counts = ruler().given(answer)
    assert counts["/kind"] == {"value": 0, "null": 0, "unknown": 1}
    assert counts["/day"] == {"value": 0, "null": 1, "unknown": 0}
    assert counts["/lines/*/sku"] == {"value": 2, "null": 1, "unknown": 0}


def test_keys_that_the_type_leaves_out_are_not_judged() -> None:
    assert ruler(Shape).compare({}, {"chatter": 1, "inner": None}).is_exact
    assert "/chatter" not in ruler(Shape).given({"chatter": 1})
    free = ruler({"type": "object", "properties": {"a": {"type": "string"}}})
    assert not free.compare({}, {"b": 1}).is_exact


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"/none": Text()}, "names no place"),
        ({"/lines/*/none": Text()}, "names no place"),
        ({"/total": "exact"}, "expected a comparator"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(rules: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ruler(rules=rules)
    with pytest.raises(UsageError, match="names no place"):
        ruler(fields=["/none"])


def test_rules_may_name_places_in_maps_recursions_and_anything() -> None:
    ruler(Shape, rules={"/inner/inner/names/*": Number(), "/names/a": Number()})
    ruler(Any, rules={"/whatever/*/it": Text()})
    ruler(tuple[int, str], rules={"/0": Number(), "/*": Exact()})


@pytest.mark.parametrize(
    ("target", "field", "label", "right", "wrong"),
    [
        (dict[str, int], "/a", {"a": 1}, {"a": 1, "b": 3}, {"a": 2}),
        (tuple[int, str], "/0", [1, "a"], [1, "b"], [2, "a"]),
        (dict[str, Line], "/a/price", {"a": {"sku": None, "price": 1}},
         {"a": {"sku": "x", "price": 1}}, {"a": {"sku": None, "price": 2}}),
        (list[tuple[int, int]], "/*/1", [[1, 2]], [[3, 2]], [[1, 3]]),
        (Shape, "/inner/names/a", {"inner": {"names": {"a": 1}}},
         {"inner": {"names": {"a": 1, "b": 1}, "tags": ["x"]}}, {"inner": {"names": {"b": 1}}}),
    ],
)  # fmt: skip
def test_one_key_of_a_map_and_one_position_can_be_told_alone(
    target: Any, field: str, label: Any, right: Any, wrong: Any
) -> None:
    some = ruler(target, fields=[field])
    found = some.compare(label, right)
    assert [each.outcome for each in found.places] == ["right"]
    assert not some.compare(label, wrong).is_exact
    ignoring = ruler(target, rules={field: Ignored()})
    assert ignoring.compare(label, wrong).is_exact == ("names" not in field)
    free = ruler(target, rules={field: lambda expected, found: True}, fields=[field])
    assert free.compare(label, wrong).is_exact == ("names" not in field)


def test_a_rule_of_one_element_comes_before_that_of_all() -> None:
    rules = {"/*": Number(absolute=1), "/0": Exact()}
    found = ruler(tuple[int, int], rules=rules).compare([1, 1], [2, 2])
    assert outcomes(found) == {"/0": "wrong", "/1": "right"}


def test_a_comparator_that_says_neither_is_an_error() -> None:
    with pytest.raises(UsageError, match="returned 'yes'"):
        ruler(rules={"/name": lambda expected, found: "yes"}).compare(LABEL, LABEL)


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("comparator", "expected", "found", "is_equal"),
    [
        (Exact(), 1, 1.0, True),
        (Exact(), 1, True, False),
        (Exact(), {"a": [1, 2]}, {"a": [1, 2.0]}, True),
        (Text(), "a-b", "a\u2013B", True),
        (Text(), "a, b", "a b", False),
        (Text(words=True), "a, (b)", "A b.", True),
        (Text(words=True), "!!!", "???", False),
        (Text(words=True), "", "-", False),
        (Text(), "1", 1, False),
        (Number(), "1,000", 1000, False),
        (Number(), "abc", "abc", True),
        (Number(), True, 1, False),
        (Number(), float("1e300"), "1E+300", True),
        (Number(absolute=0.1), 1.0, 1.1, True),
        (Number(absolute=0.1), 1.0, 1.11, False),
        (Number(relative=0.1), -10, -11, True),
        (Number(), "NaN", "NaN", True),
        (Moment(), "2024-03-04T10:00:00+02:00", "2024-03-04T08:00:00Z", True),
        (Moment(), "2024-03-04T10:00:00", "2024-03-04T10:00:00Z", False),
        (Moment(), "2024-03-04", "2024-03-04T00:00:00", False),
        (Moment(within_s=86400), "2024-03-04", "2024-03-05", True),
        (Moment(within_s=59), "10:00", "10:01", False),
        (Moment(within_s=60), "10:00", "10:01", True),
        (Moment(), "soon", "soon", True),
        (Moment(), "soon", None, False),
    ],
)  # fmt: skip
def test_comparators_say_what_they_count_as_the_same(
    comparator: Any, expected: Any, found: Any, is_equal: bool
) -> None:
    verdict = comparator(expected, found)
    assert verdict.is_equal is is_equal
    assert verdict.why


@pytest.mark.parametrize(
    "make",
    [
        lambda: Number(absolute=-1),
        lambda: Number(relative="1"),  # type: ignore[arg-type]
        lambda: Moment(within_s=-1),
        lambda: Items(key=3),  # type: ignore[arg-type]
        lambda: Items(is_ordered="no"),  # type: ignore[arg-type]
    ],
)
def test_settings_out_of_range_are_refused(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


def test_choices_dates_with_times_and_decimals_are_compared_by_type() -> None:
    class Mixed(BaseModel):
        colour: Colour
        at: datetime
        sums: list[Decimal | None]
        any: Any

    label = {"colour": "red", "at": "2024-03-04T10:00:00Z", "sums": ["1.0", None], "any": [1, "A"]}
    answer = {
        "colour": "red",
        "at": "2024-03-04T11:00:00+01:00",
        "sums": [1, None],
        "any": [1, "a"],
    }
    assert ruler(Mixed).compare(label, answer).is_exact
    assert not ruler(Mixed).compare(label, {**answer, "colour": "RED"}).is_exact


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_assignment_is_the_best_one(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    scores = [[data.draw(st.integers(0, 4)) / 4 for _ in range(columns)] for _ in range(rows)]
    pairs = assigned(rows, columns, lambda row, column: scores[row][column])
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert all(scores[row][column] > 0 for row, column in pairs)
    wide = [[*row, *[0.0] * rows] for row in scores]
    best = (
        max(
            (
                sum(wide[row][column] for row, column in enumerate(order))
                for order in itertools.permutations(range(columns + rows), rows)
            ),
            default=0.0,
        )
        if rows + columns <= 8
        else None
    )
    if best is not None:
        assert sum(scores[row][column] for row, column in pairs) == pytest.approx(best)


def test_of_equal_assignments_the_one_in_order_is_taken() -> None:
    assert assigned(3, 3, lambda row, column: 0.5) == [(0, 0), (1, 1), (2, 2)]
    assert assigned(2, 0, lambda row, column: 1.0) == []


def test_equal_keys_are_paired_in_their_order() -> None:
    assert by_key(["a", "b", "a", None], ["a", "a", "a", None]) == [(0, 0), (2, 1)]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_a_list_changes_no_count(seed: int) -> None:
    generator = random.Random(seed)
    lines = [{"sku": generator.choice("abc"), "price": generator.randint(1, 3)} for _ in range(4)]
    answer = [{"sku": generator.choice("abc"), "price": generator.randint(1, 3)} for _ in range(5)]
    one = ruler().compare(changed(lines=lines), changed(lines=answer))
    generator.shuffle(answer)
    other = ruler().compare(changed(lines=lines), changed(lines=answer))
    assert one.lists[0].matched == other.lists[0].matched
    count = [sum(each.is_right for each in found.places) for found in (one, other)]
    assert count[0] == count[1]


@pytest.mark.parametrize("rule", [Number(), Number(absolute=1), Number(relative=100)])
@pytest.mark.parametrize(
    ("label", "answer"),
    [
        (5, "1e9999999999"),
        ("-9e999999", "9e999999"),
        ("1e-999999", "1e-9999999999"),
        ("9e999999999999999999", "-9e999999999999999999"),
        (5, "1e99999999999999999999"),
    ],
)
def test_numbers_of_any_size_are_compared(rule: Number, label: Any, answer: Any) -> None:
    for one, other in ((label, answer), (answer, label)):
        assert rule(one, other).why
    assert rule(answer, answer).is_equal
    assert not Number()(label, answer).is_equal


def test_any_number_of_seconds_is_a_tolerance() -> None:
    assert Moment(within_s=1e20)("2024-01-01", "0001-01-01").is_equal


@pytest.mark.parametrize(
    ("field", "rule", "said"),
    [
        ("/lines", Items(key="nope"), "no element of '/lines' has the key"),
        ("/name", Items(), "'/name' is none"),
        ("lines", Items(), "'lines' is no JSON Pointer; expected '/lines'"),
    ],
)
def test_a_rule_that_cannot_say_anything_is_refused(field: str, rule: Items, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ruler(rules={field: rule})
