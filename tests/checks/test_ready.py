"""Ready checks: what they find, what they leave out and say so, what they refuse to be asked."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import extract
from extractkit.checks import (
    ReadyCheck,
    adds_up,
    in_order,
    in_range,
    require_fit,
    required_if,
    unique,
)
from extractkit.errors import UsageError
from extractkit.fields import Unknown
from extractkit.results import LevelCount, Validity
from extractkit.schema import compile_schema
from extractkit.testing import FakeProvider
from tests.checks.test_levels import check


class Kind(Enum):
    GIFT = "gift"
    SALE = "sale"


class Line(BaseModel):
    sku: str | None = None
    size: int | None = None
    amount: Decimal | Unknown | None = None
    on: date | None = None
    at: datetime | None = None
    ok: bool = False


class Order(BaseModel):
    lines: list[Line] = []
    total: Decimal | None = None


class Book(BaseModel):
    kind: Kind | None = None
    reason: str | Unknown | None = None
    first: date | None = None
    last: datetime | None = None
    opens: Any = None
    net: float | None = None
    tax: float | None = None
    gross: float | None = None
    orders: list[Order] = []
    by_name: dict[str, Order] = {}
    pair: tuple[int, int] | None = None


_SCHEMA = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": {"properties": {"amount": {"type": "number"}}}},
        "total": {"type": "number"},
    },
}


def said(document: Any, *checks: ReadyCheck, target: Any = Book) -> list[tuple[str, str]]:
    """What the checks find: path and code, notes with a question mark."""
    outcome = check(document, target, checks=checks)
    assert outcome.validity >= Validity.SYNTAX
    return [
        (item.path, item.code + ("?" if item.severity == "note" else ""))
        for item in outcome.findings
        if item.level is Validity.CONSISTENT
    ]


def lines(*amounts: Any, key: str = "amount") -> dict[str, Any]:
    return {"orders": [{"lines": [{key: amount} for amount in amounts]}]}


# --- sums ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("net", "tax", "gross", "tolerance", "holds"),
    [
        (0.1, 0.2, 0.3, 0, True),
        (0.1, 0.2, 0.31, 0, False),
        (0.1, 0.2, 0.31, Decimal("0.01"), True),
        (0.1, 0.2, 0.31, 0.01, True),
        (0.1, 0.2, 0.32, 0.01, False),
        (1e22, 1.0, 1e22, 0, False),
        (-5, 5, 0, 0, True),
    ],
)
def test_a_sum_is_exact_within_its_tolerance(
    net: Any, tax: Any, gross: Any, tolerance: Any, holds: bool
) -> None:
    asked = adds_up("/net", "/tax", to="/gross", tolerance=tolerance)
    found = said({"net": net, "tax": tax, "gross": gross}, asked)
    assert found == ([] if holds else [("/gross", "sum")])


def test_a_wrong_sum_says_both_numbers_and_how_far_they_are_apart() -> None:
    document = {"lines": [{"amount": "1.10"}, {"amount": 2.2}], "total": "3.50"}
    outcome = check(
        document, Order, checks=[adds_up("/lines/*/amount", to="/total", tolerance=0.1)]
    )
    (finding,) = [item for item in outcome.findings if item.level is Validity.CONSISTENT]
    assert finding.message == (
        "the values at /lines/*/amount add up to 3.30, but /total says 3.50: 0.20 apart, at most "
        "0.1 is allowed"
    )
    assert (finding.path, finding.code, finding.severity) == ("/total", "sum", "error")


def test_each_order_has_a_sum_of_its_own_in_lists_and_in_maps() -> None:
    good = {"lines": [{"amount": "1"}, {"amount": "2"}], "total": "3"}
    bad = {"lines": [{"amount": "1"}], "total": "3"}
    for field, key in (("orders", 1), ("by_name", "b")):
        group: Any = [good, bad] if field == "orders" else {"a": good, "b": bad}
        asked = adds_up(f"/{field}/*/lines/*/amount", to=f"/{field}/*/total")
        assert said({field: group}, asked) == [(f"/{field}/{key}/total", "sum")]


@pytest.mark.parametrize(
    ("order", "path"),
    [
        ({"lines": [{"amount": None}], "total": "3"}, "/orders/0/lines/0/amount"),
        ({"lines": [{}], "total": "3"}, "/orders/0/lines/0/amount"),
        ({"lines": [{"amount": "unknown"}], "total": "3"}, "/orders/0/lines/0/amount"),
        ({"lines": [{"amount": "3"}], "total": None}, "/orders/0/total"),
        ({"lines": [{"amount": "3"}]}, "/orders/0/total"),
        ({"lines": [], "total": "3"}, "/orders/0/total"),
    ],
)
def test_what_is_not_given_is_not_taken_for_nought_and_is_said(order: Any, path: str) -> None:
    asked = adds_up("/orders/*/lines/*/amount", to="/orders/*/total")
    assert said({"orders": [order]}, asked) == [(path, "not_compared?")]


@pytest.mark.parametrize("value", ["soon", True, {}, "NaN", "1e999"])
def test_what_is_no_number_is_told_at_its_place(value: Any) -> None:
    asked = adds_up("/opens", to="/gross")
    assert said({"opens": value, "gross": 1}, asked) == [("/opens", "not_comparable")]


_amounts = st.lists(st.decimals(-(10**30), 10**30, places=6), min_size=1, max_size=20)


@given(_amounts, st.decimals(-100, 100, places=3), st.decimals(0, 100, places=3))
def test_sums_of_any_length_are_those_of_fractions(
    amounts: list[Decimal], apart: Decimal, tolerance: Decimal
) -> None:
    exact = sum(map(Fraction, amounts), Fraction(apart)) * 10**6
    stated = f"{exact.numerator}e-6"
    document = {"lines": [{"amount": str(each)} for each in amounts], "total": stated}
    asked = adds_up("/lines/*/amount", to="/total", tolerance=tolerance)
    assert bool(said(document, asked, target=_LOOSE)) is (abs(apart) > tolerance)


_LOOSE = {
    "properties": {
        "lines": {"items": {"properties": {"amount": {"type": "string"}}}},
        "total": {"type": "string"},
    }
}


# --- order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "strict", "expected"),
    [
        ("2026-01-01", "2026-01-02T00:00:00", False, []),
        ("2026-01-02", "2026-01-01T23:00:00", False, [("/last", "order")]),
        ("2026-01-02", "2026-01-02T01:00:00", False, []),
        ("2026-01-02", "2026-01-02T01:00:00", True, [("/last", "order")]),
        ("2026-01-02", None, True, []),
        (None, "2026-01-02T01:00:00", True, []),
    ],
)
def test_dates_are_in_order(first: Any, last: Any, strict: bool, expected: Any) -> None:
    asked = in_order("/first", "/last", strict=strict)
    assert said({"first": first, "last": last}, asked) == expected


def test_the_items_of_each_list_are_in_order_among_themselves() -> None:
    asked = in_order("/orders/*/lines/*/on")
    days = ["2026-01-03", None, "2026-01-02", "2026-01-04"]
    assert said(lines(*days, key="on"), asked) == [("/orders/0/lines/2/on", "order")]
    two = {"orders": [lines("2026-02-01", key="on")["orders"][0] for _ in range(2)]}
    two["orders"][1]["lines"][0]["on"] = "2026-01-01"
    assert said(two, asked) == []


def test_a_field_of_the_whole_goes_with_each_item() -> None:
    asked = in_order("/first", "/orders/*/lines/*/on")
    document = {"first": "2026-01-02", **lines("2026-01-01", "2026-01-03", key="on")}
    assert said(document, asked) == [("/orders/0/lines/0/on", "order")]


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("10:00:00", "09:00:00", ["order"]),
        (3, 2, ["order"]),
        (2, "2.5", []),
        ("2026-01-01", 3, ["not_compared?"]),
        ("2026-01-01T10:00:00Z", "2026-01-01T09:00:00", ["not_compared?"]),
        ("soon", 3, ["not_comparable"]),
        (True, 3, ["not_comparable"]),
    ],
)
def test_times_and_numbers_have_an_order_and_different_kinds_none(
    first: Any, second: Any, code: list[str]
) -> None:
    schema = {"properties": {"a": {}, "b": {}}}
    found = said({"a": first, "b": second}, in_order("/a", "/b"), target=schema)
    assert [each for _, each in found] == code


# --- keys ----------------------------------------------------------------------------------------


def test_no_key_stands_twice_and_the_second_place_names_the_first() -> None:
    document = lines("a", "b", None, "a", None, key="sku")
    outcome = check(document, Book, checks=[unique("/orders/*/lines/*/sku")])
    (finding,) = [item for item in outcome.findings if item.level is Validity.CONSISTENT]
    assert (finding.path, finding.code) == ("/orders/0/lines/3/sku", "not_unique")
    assert finding.message == ('the key "a" stands at /orders/0/lines/0/sku already; expected once')


def test_a_key_may_have_several_parts_and_lacks_none() -> None:
    rows = [("a", 1), ("a", 2), ("b", 1), ("a", 1), ("a", None), ("a", None)]
    document = {"orders": [{"lines": [{"sku": sku, "size": size} for sku, size in rows]}]}
    asked = unique("/orders/*/lines/*/sku", "/orders/*/lines/*/size")
    assert said(document, asked) == [("/orders/0/lines/3/sku", "not_unique")]


@pytest.mark.parametrize(
    ("values", "twice"),
    [([1, 1.0], True), ([1, "1"], False), ([1, True], False), ([[1], [1]], True)],
)
def test_keys_are_compared_as_json(values: list[Any], twice: bool) -> None:
    schema = {"type": "array", "items": {"properties": {"k": {}}}}
    assert bool(said([{"k": each} for each in values], unique("/*/k"), target=schema)) is twice


class Priced(BaseModel):
    rows: list[Decimal] = []
    mixed: list[Decimal | str] = []
    total: Decimal | None = None
    rate: float | None = None
    reason: str | None = None


@pytest.mark.parametrize(
    ("document", "twice"),
    [
        ({"rows": ["1", "1.0"]}, True),
        ({"rows": [1, "1.00"]}, True),
        ({"rows": ["1", "1.01"]}, False),
        ({"rows": ["0.1", 0.1]}, True),
        ({"rows": ["0", "-0.0"]}, True),
        ({"mixed": ["1", "1.0"]}, False),
    ],
)
def test_decimals_are_one_key_however_they_are_written(document: Any, twice: bool) -> None:
    (field,) = document
    found = said(document, unique(f"/{field}/*"), target=Priced)
    assert found == ([(f"/{field}/1", "not_unique")] if twice else [])


@pytest.mark.parametrize(
    ("when", "equals", "value", "fires"),
    [
        ("/total", 5, "5.00", True),
        ("/total", 5, "5", True),
        ("/total", 5, 5.0, True),
        ("/total", "5", "5.00", True),
        ("/total", Decimal("5.0"), 5, True),
        ("/total", Decimal(5), "5.01", False),
        ("/rate", Decimal("0.1"), 0.1, True),
        ("/rate", Decimal("0.10"), 0.1, True),
        ("/rate", Decimal("0.1"), 0.2, False),
        ("/rate", Decimal("NaN"), 0.1, False),
        ("/reason", 5, "5", False),
        ("/reason", Decimal(5), "5", False),
    ],
)
def test_a_condition_compares_decimals_as_numbers(
    when: str, equals: Any, value: Any, fires: bool
) -> None:
    asked = required_if("/rows/0", when=when, equals=equals)
    found = said({when[1:]: value}, pickle.loads(pickle.dumps(asked)), target=Priced)
    assert found == ([("/rows/0", "required_if")] if fires else [])


class Rate(Enum):
    FULL = Decimal("0.19")


def test_an_enum_of_decimals_stands_for_its_number() -> None:
    asked = required_if("/reason", when="/rate", one_of=[Rate.FULL])
    assert said({"rate": 0.19}, asked, target=Priced) == [("/reason", "required_if")]


# --- ranges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "document", "expected"),
    [
        (in_range("/net", low=0), {"net": -0.5}, ["out_of_range"]),
        (in_range("/net", low=0, high=1), {"net": 1}, []),
        (in_range("/net", high=Decimal("0.1")), {"net": 0.1}, []),
        (in_range("/net", high=0.1), {"net": 0.11}, ["out_of_range"]),
        (in_range("/net", low=0), {"net": None}, []),
        (in_range("/first", low=date(2026, 1, 1)), {"first": "2025-12-31"}, ["out_of_range"]),
        (in_range("/last", high=date(2026, 1, 1)), {"last": "2026-01-01T10:00:00"}, []),
        (in_range("/opens", low=0), {"opens": "soon"}, ["not_comparable"]),
        (in_range("/opens", low=0), {"opens": "2026-01-01"}, ["not_compared?"]),
        (in_range("/pair/1", low=3), {"pair": [1, 2]}, ["out_of_range"]),
        (in_range("/pair/*", low=3), {"pair": [1, 4]}, ["out_of_range"]),
    ],
)  # fmt: skip
def test_a_value_lies_between_its_bounds(asked: ReadyCheck, document: Any, expected: Any) -> None:
    assert [code for _, code in said(document, asked)] == expected


@pytest.mark.parametrize(
    ("kind", "low", "answer", "code"),
    [
        (int, 3, 2, ["out_of_range"]),
        (int, 3, 3, []),
        (Decimal, 3, "2.99", ["out_of_range"]),
        (date, date(2026, 1, 1), "2025-12-31", ["out_of_range"]),
        (int | None, 3, None, []),
    ],
)
def test_an_answer_that_is_one_value_lies_between_bounds(
    kind: Any, low: Any, answer: Any, code: list[str]
) -> None:
    wanted = [("", each) for each in code]
    assert said(answer, in_range("", low=low), target=kind) == wanted


def test_what_can_be_compared_is_let_through() -> None:
    schema = {
        "properties": {
            "text": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "custom": {"type": "string", "format": "price"},
            "id": {"type": "string", "format": "uuid"},
            "level": {"enum": [1, 2, "high"]},
            "both": {"allOf": [{"type": "number"}, {"minimum": 3}]},
            "any": {},
        }
    }
    fitting = [
        adds_up("/text", "/custom", "/level", "/both", to="/any"),
        in_order("/day", "/text"),
        in_range("/text", "/day", "/any", low=date(2026, 1, 1)),
    ]
    require_fit(fitting, compile_schema(schema))
    with pytest.raises(UsageError, match=r"'/id' of .* never holds a number"):
        require_fit([in_range("/id", low=1)], compile_schema(schema))


def test_a_value_out_of_range_says_itself_and_the_bound() -> None:
    outcome = check({"net": 7.5}, Book, checks=[in_range("/net", high=5, severity="warning")])
    (finding,) = [item for item in outcome.findings if item.level is Validity.CONSISTENT]
    assert finding.message == "7.5 is out of range: expected at most 5"
    assert finding.severity == "warning"
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(checked=1)


# --- required ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "document", "is_missing"),
    [
        (required_if("/reason", when="/kind"), {"kind": "sale"}, True),
        (required_if("/reason", when="/kind"), {"kind": None}, False),
        (required_if("/reason", when="/kind", equals=Kind.GIFT), {"kind": "gift"}, True),
        (required_if("/reason", when="/kind", equals="gift"), {"kind": "sale"}, False),
        (required_if("/reason", when="/kind", one_of=["gift", "sale"]), {"kind": "sale"}, True),
        (required_if("/reason", when="/kind", equals=None), {}, True),
        (required_if("/reason", when="/kind"), {"kind": "gift", "reason": ""}, False),
        (required_if("/reason", when="/kind"), {"kind": "gift", "reason": {"unknown": True}}, True),
        (required_if("/tax", "/gross", when="/net", equals=2), {"net": 2.0, "gross": 1}, True),
    ],
)  # fmt: skip
def test_a_field_is_required_where_another_one_says_so(
    asked: ReadyCheck, document: Any, is_missing: bool
) -> None:
    field = "/tax" if "net" in document else "/reason"
    assert said(document, asked) == ([(field, "required_if")] if is_missing else [])


def test_values_that_decide_may_come_from_an_iterator() -> None:
    kinds: Any = iter(["gift", "sale"])
    asked = required_if("/reason", when="/kind", one_of=kinds)
    assert said({"kind": "sale"}, asked) == [("/reason", "required_if")]
    assert said({"kind": "other"}, asked) == []


def test_a_requirement_of_an_item_is_its_own_and_names_what_decides() -> None:
    rows = [{"sku": "a", "size": None}, {"sku": "a", "size": 3}, {"size": None}]
    asked = required_if("/orders/*/lines/*/size", when="/orders/*/lines/*/sku")
    outcome = check({"orders": [{"lines": rows}]}, Book, checks=[asked])
    (finding,) = [item for item in outcome.findings if item.level is Validity.CONSISTENT]
    assert finding.path == "/orders/0/lines/0/size"
    assert 'because /orders/0/lines/0/sku is "a", found none' in finding.message


# --- everywhere ----------------------------------------------------------------------------------


def test_a_json_schema_is_a_target_like_a_model() -> None:
    asked = adds_up("/lines/*/amount", to="/total")
    document = {"lines": [{"amount": 1}, {"amount": 2}], "total": 4}
    assert said(document, asked, target=_SCHEMA) == [("/total", "sum")]
    assert said({}, asked, target=_SCHEMA) == [("/total", "not_compared?")]


def test_a_document_that_is_no_object_where_the_pointer_expects_one_has_nothing_there() -> None:
    asked = in_range("/a/b", "/c/7", "/d/*", low=0)
    assert (
        said({"a": 3, "c": [1], "d": 5}, asked, target={"properties": {"a": {}, "c": {}, "d": {}}})
        == []
    )


def test_ready_checks_pickle_and_print_what_they_are() -> None:
    asked = adds_up("/lines/*/amount", to="/total", tolerance=1)
    again = pickle.loads(pickle.dumps(asked))
    assert repr(again) == repr(asked) == "adds_up(/lines/*/amount, /total)"
    assert said({"lines": [{"amount": 1}], "total": 4}, again, target=_SCHEMA) == [
        ("/total", "sum")
    ]


def test_values_and_both_numbers_are_cut_where_they_are_long() -> None:
    schema = {"properties": {"a": {}}}
    outcome = check({"a": "x" * 500}, schema, checks=[in_range("/a", low=0)])
    assert all(len(item.message) < 200 for item in outcome.findings if item.level == 3)


# --- misuse --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: adds_up(to="/total"), "at least one pointer"),
        (lambda: adds_up("total", to="/total"), "no JSON Pointer to a field"),
        (lambda: adds_up("", to="/total"), "no JSON Pointer to a field"),
        (lambda: adds_up(3, to="/total"), "expected a JSON Pointer as a string"),
        (lambda: adds_up("/a", to="/b", tolerance=-1), "tolerance=-1"),
        (lambda: adds_up("/a", to="/b", tolerance=float("nan")), "tolerance=nan"),
        (lambda: adds_up("/a", to="/b", tolerance=Decimal("Infinity")), "tolerance="),
        (lambda: adds_up("/a", to="/b", tolerance="1"), "tolerance='1'"),
        (lambda: adds_up("/a", to="/b", tolerance="0.01"), "such as Decimal.'0.01'."),
        (lambda: in_range("/a", low="3"), "low='3'.: expected a finite number, .* no text"),
        (lambda: adds_up("/a", to="/b", tolerance=date(2026, 1, 1)), "a number from 0 up"),
        (lambda: adds_up("/a", to="/b/*/c"), "lacks"),
        (lambda: adds_up("/a", to="/a"), "'/a' is a part and the sum"),
        (lambda: adds_up("/b/*/c", "/a", to="/a"), "'/a' is a part and the sum"),
        (lambda: adds_up("/x/*/a", to="/b/*/c"), "do not go together"),
        (lambda: in_order("/a"), "two pointers, or one with"),
        (lambda: in_order(), "two pointers, or one with"),
        (lambda: in_order("/a/*/b", "/c/*/d"), "do not go together"),
        (lambda: unique("/a"), "pointers with"),
        (lambda: unique(), "pointers with"),
        (lambda: in_range("/a"), "low or high"),
        (lambda: in_range(low=3), "low or high"),
        (lambda: in_range("/a", low=3, high=2), "low to be at most high"),
        (lambda: in_range("/a", low=3, high=date(2026, 1, 1)), "low to be at most high"),
        (lambda: in_range("/a", low=True), "a finite number, a date or a time"),
        (lambda: in_range("/a", low=float("inf")), "a finite number, a date or a time"),
        (lambda: required_if(when="/a"), "at least one pointer"),
        (lambda: required_if("/b", when="/a", equals=1, one_of=[2]), "not both"),
        (lambda: required_if("/b", when="/a", one_of="xy"), "one_of='xy'.: expected a list"),
        (lambda: required_if("/b", when="/a", one_of=b"xy"), "expected a list of at least one"),
        (lambda: required_if("/b", when="/a", one_of=[]), "at least one value"),
        (lambda: required_if("/b", "/a", when="/a"), "'/a' decides about itself"),
        (lambda: required_if("/b", when="/a/*/c"), "lacks"),
        (lambda: required_if("/b", when="/a", equals=object()), "nothing that JSON can say"),
        (lambda: unique("/a/*", severity="bad"), "severity='bad'"),
    ],
)
def test_misuse_is_refused_where_the_check_is_made(make: Callable[[], object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        make()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (
            adds_up("/orders/*/lines/*/price", to="/gross"),
            r"at /orders/\*/lines/\* there is no 'price'",
        ),
        (adds_up("/net", to="/gros"), "at .root. there is no 'gros'; it has by_name, first"),
        (adds_up("/orders/*/lines/*/ok", to="/gross"), "never holds a number or a string"),
        (in_range("/orders/total", low=0), r"it has \*"),
        (in_range("/net/x", low=0), "it has no such part"),
        (in_range("/pair/7/x", low=0), "no '7'"),
        (required_if("/reason", when="/kin"), "no 'kin'"),
        (adds_up("/net", to="/first"), "'/first' of Book never holds a number or a string that"),
        (adds_up("/last", to="/net"), "'/last' of Book never holds a number"),
        (adds_up("/kind", to="/net"), "'/kind' of Book never holds a number"),
        (in_range("/first", low=3), "'/first' of Book never holds a number"),
        (in_range("/net", high=date(2026, 1, 1)), "'/net' of Book never holds a date"),
        (in_range("/first", low=time(9)), "'/first' of Book never holds a time"),
        (in_range("", low=3), "'' of Book never holds a number"),
        (in_order("/orders/*/lines/*/ok", "/net"), "never holds a date or a number or a time"),
        (in_order("/net", "/opens", "/first"), "'/net' and '/first' of Book have no order: the "),
        (in_order("/orders/*/total", "/orders/*/lines/*/on"), "holds a number, the other a date"),
        (in_range("/orders/01/total", low=3), r"at /orders there is no '01'; it has \*"),
        (in_range("/orders/٣/total", low=3), "there is no '٣'"),
    ],
)
def test_a_place_that_the_target_lacks_is_refused_before_the_model_is_asked(
    asked: ReadyCheck, why: str
) -> None:
    provider = FakeProvider(["{}"])
    with pytest.raises(UsageError, match=why):
        extract(Book, "text", model=provider, checks=[asked])
    assert provider.requests == []


def test_a_misused_check_that_nobody_looked_at_before_is_a_finding() -> None:
    outcome = check({"total": "3"}, Order, checks=[in_range("/nowhere", low=0)])
    (finding,) = [item for item in outcome.findings if item.code == "check_raised"]
    assert "in_range(/nowhere) raised UsageError" in finding.message


@pytest.mark.parametrize(
    "target",
    [
        Book,
        dict[str, Order],
        {"type": "object"},
        {"patternProperties": {"^a": {"type": "number"}}},
        {"properties": {"b": {}}, "additionalProperties": {"type": "number"}},
        {"allOf": [{"properties": {"net": {"type": "number"}}}, {"required": ["net"]}]},
    ],
    ids=str,
)
def test_open_targets_have_every_place(target: Any) -> None:
    pointer = "/any/total" if target == dict[str, Order] else "/net"
    if target == {"patternProperties": {"^a": {"type": "number"}}}:
        pointer = "/amount"
    require_fit([in_range(pointer, low=0)], compile_schema(target))
    require_fit([in_range(pointer.replace("/any", "/*"), low=0)], compile_schema(target))
