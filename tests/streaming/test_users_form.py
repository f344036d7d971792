"""Answers in another form than the user's: each field is told at the user's place."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field

from extractkit.fields import Unknown
from extractkit.paths import JsonValue
from extractkit.results import FieldState
from extractkit.schema import CompiledSchema, compile_schema
from extractkit.schema.nodes import Node
from extractkit.streaming import Change, Growing
from extractkit.streaming._shapes import Shapes
from tests.streaming.mirror import Mirror, now

PRESENT, PENDING, MISSING = FieldState.PRESENT, FieldState.PENDING, FieldState.MISSING


class Spot(NamedTuple):
    x: int
    y: float = 0.5
    label: str | None = None


class Line(BaseModel):
    what: str
    count: int | None = None


class Bill(BaseModel):
    number: str
    by_sku: dict[str, Line] = {}
    spot: Spot | None = None
    note: str = ""
    more: Any = None


class User(BaseModel):
    type: Literal["person"] = "person"
    name: str
    email: str | None
    tags: list[str] = Field(default_factory=list)


def strict(target: Any) -> CompiledSchema:
    return compile_schema(target, "openai-strict")


def sent(document: JsonValue, target: Any) -> str:
    return json.dumps(strict(target).lower(document))


def told(growing: Growing, *pieces: str) -> list[tuple[str, str, Any]]:
    return [
        (change.pointer, change.state.value, change.added or change.value)
        for piece in pieces
        for change in growing.feed(piece)
    ]


def begun(growing: Growing, text: str) -> Mirror:
    mirror = Mirror()
    mirror.apply(growing.feed(text))
    return mirror


def ends(growing: Growing, text: str, mirror: Mirror | None = None) -> Mirror:
    """Return what is known when the rest of an answer has come, three characters at a time."""
    mirror, size = mirror or Mirror(), 3
    for at in range(0, len(text), size):
        mirror.apply(growing.feed(text[at : at + size]))
    mirror.apply(growing.finish())
    return mirror


def test_a_root_that_is_wrapped_grows_at_the_root_item_by_item() -> None:
    growing = Growing(strict(list[int]))
    assert told(growing, '{"value": [1, 2', "2]", "}") == [
        ("", "pending", None),
        ("", "pending", []),
        ("/0", "present", 1),
        ("/1", "pending", None),
        ("/1", "present", 22),
        ("", "present", [1, 22]),
    ]
    assert growing.finish() == ()


def test_a_text_that_is_wrapped_grows_at_the_root() -> None:
    growing = Growing(strict(str))
    assert told(growing, '{"value": "ab', 'c"')[1:] == [
        ("", "pending", "ab"),
        ("", "present", "abc"),
    ]


def test_a_map_grows_key_by_key_and_each_value_as_it_comes() -> None:
    growing = Growing(strict(Bill))
    text = sent({"number": "A", "by_sku": {"a/1": {"what": "bolt", "count": 2}}}, Bill)
    at = text.index("olt")
    page = begun(growing, text[:at])
    assert now(growing, "/by_sku") == (PENDING, {"a/1": {"what": "b"}})
    assert now(growing, "/by_sku/a~11/what") == (PENDING, "b")
    mirror = ends(growing, text[at:], page)
    assert now(growing, "/by_sku/a~11") == (PRESENT, {"what": "bolt", "count": 2})
    assert not mirror.retracted


def test_an_entry_whose_value_comes_before_its_key_is_told_when_it_ends() -> None:
    growing = Growing(strict(dict[str, int]))
    growing.feed('{"value": [{"value": 1, "key": "a"')
    assert growing.state("/a") is MISSING
    assert told(growing, "}") == [("/a", "present", 1)]


def test_a_key_of_a_map_that_comes_twice_keeps_its_first_value() -> None:
    growing = Growing(strict(dict[str, int]))
    text = '{"value": [{"key": "a", "value": 1}, {"key": "a", "value": 2}]}'
    assert ends(growing, text).document == {"a": 1}
    assert growing.state("") is PRESENT


def test_a_tuple_is_a_list_whose_positions_come_one_by_one() -> None:
    growing = Growing(strict(tuple[int, str]))
    growing.feed('{"0": 7, "1": "on')
    assert growing.snapshot().document == [7, "on"]
    assert dict(growing.snapshot().states) == {"": PENDING, "/0": PRESENT, "/1": PENDING}


def test_positions_out_of_order_wait_for_the_tuple_to_end() -> None:
    growing = Growing(strict(tuple[int, str]))
    page = begun(growing, '{"1": "b", "0": 7')
    assert growing.snapshot().document == []
    assert ends(growing, "}", page).document == [7, "b"]
    assert growing.state("/1") is PRESENT


def test_a_position_that_is_absent_has_its_default_when_the_tuple_ends() -> None:
    compiled = strict(Spot)
    answer = compiled.lower([1, 0.5, "here"])
    inner = answer.get("value", answer)
    inner["1"] = None
    growing = Growing(compiled)
    assert ends(growing, json.dumps(answer)).document == compiled.lift(answer)


def test_what_comes_behind_the_positions_is_appended() -> None:
    target = {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"},
              "minItems": 1}  # fmt: skip
    growing = Growing(strict(target))
    growing.feed(sent(["a", 1, 2], target)[:-3])
    assert growing.snapshot().document[:2] == ["a", 1]


def test_null_that_stands_for_an_absent_key_is_never_told() -> None:
    growing = Growing(strict(Bill))
    pieces = ['{"number": "A", "note": ', "nu", "ll"]
    assert not any(pointer == "/note" for pointer, _, _ in told(growing, *pieces))
    assert growing.state("/note") is MISSING


def test_null_of_a_field_that_can_be_null_is_a_value() -> None:
    growing = Growing(strict(User))
    states: list[FieldState] = []
    for piece in ('{"name":"Ol', 'af","email"', ":nu", "ll"):
        growing.feed(piece)
        states.append(growing.state("/email"))
    assert states == [MISSING, PENDING, PENDING, PRESENT]
    snapshot = growing.snapshot()
    assert snapshot.document == {"name": "Olaf", "email": None}
    assert snapshot.states["/type"] is snapshot.states["/tags"] is MISSING
    assert len(snapshot.states) == len(list(snapshot.states)) == 5


def test_a_list_that_stands_for_an_absent_key_shows_its_element_at_the_key() -> None:
    fields: dict[str, Any] = {f"f{i}": {"type": ["string", "null"]} for i in range(30)}
    target = {"type": "object", "properties": fields, "additionalProperties": False}
    compiled = compile_schema(target, "anthropic")
    document = {f"f{i}": "abc" for i in range(0, 30, 2)}
    text = json.dumps(compiled.lower(document))
    assert "[]" in text
    growing = Growing(compiled)
    mirror = Mirror()
    for char in text:
        mirror.apply(growing.feed(char))
        assert "[" not in json.dumps(mirror.document)
    assert mirror.document == document
    assert growing.state("/f1") is MISSING


def test_keys_beside_the_declared_ones_stand_beside_them() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int

    compiled = strict(Open)
    text = sent({"a": 1, "b": 2, "c": 33}, Open)
    growing = Growing(compiled)
    page = begun(growing, text[: text.index("33") + 1])
    assert growing.snapshot().document == {"a": 1, "b": 2}
    assert growing.state("/c") is PENDING
    assert ends(growing, text[text.index("33") + 1 :], page).retracted is False
    assert growing.snapshot().document == {"a": 1, "b": 2, "c": 33}


def test_a_declared_key_among_the_others_is_not_told_early() -> None:
    target = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
              "additionalProperties": {"type": "integer"}}  # fmt: skip
    growing = Growing(strict(target))
    page = begun(growing, '{"additional_properties": [{"key": "a", "value": 5}], ')
    assert growing.state("/a") is MISSING
    assert ends(growing, '"a": 1}', page).document == {"a": 1}


def test_a_key_with_another_name_is_told_under_the_users() -> None:
    target = {"type": "object", "properties": {"a b": {"type": "string"}}, "required": ["a b"],
              "additionalProperties": False}  # fmt: skip
    compiled = compile_schema(target, "anthropic")
    growing = Growing(compiled)
    text = json.dumps(compiled.lower({"a b": "x y"}))
    assert "a b" not in text
    growing.feed(text[: text.index("x y") + 2])
    assert now(growing, "/a b") == (PENDING, "x ")


def test_json_in_a_text_is_a_value_when_the_text_ends() -> None:
    growing = Growing(strict(Bill))
    text = '{"number": "A", "more": "{\\"free\\": [1'
    assert ("/more", "pending", None) in told(growing, text)
    assert now(growing, "/more") == (PENDING, None)
    assert told(growing, ']}"') == [("/more", "present", {"free": [1]})]
    assert growing.state("/more/free/0") is PRESENT


def test_alternatives_that_only_the_whole_tells_apart_wait_for_their_end() -> None:
    class One(BaseModel):
        a: dict[str, int]

    class Two(BaseModel):
        b: dict[str, int]

    class Holder(BaseModel):
        part: One | Two
        last: int

    text = sent({"part": {"b": {"k": 1}}, "last": 2}, Holder)
    growing = Growing(strict(Holder))
    page = begun(growing, text[: text.index('"k"') + 3])
    assert now(growing, "/part") == (PENDING, None)
    mirror = ends(growing, text[text.index('"k"') + 3 :], page)
    assert not mirror.retracted
    assert now(growing, "/part/b/k") == (PRESENT, 1)


class Sale(BaseModel):
    kind: Literal["sale"]
    prices: dict[str, int]


class Gift(BaseModel):
    kind: Literal["gift"]
    to: str


class Deals(BaseModel):
    all: list[Annotated[Sale | Gift, Field(discriminator="kind")]]
    last: Annotated[Sale | Gift, Field(discriminator="kind")] | None = None


@pytest.mark.parametrize("dialect", ["openai-strict", "anthropic"])
def test_an_alternative_grows_once_its_tag_has_come(dialect: str) -> None:
    sale = {"kind": "sale", "prices": {"bolt": 3, "nut": 4}}
    document = {"all": [sale, {"kind": "gift", "to": "Ida"}], "last": sale}
    compiled = compile_schema(Deals, dialect)
    text = json.dumps(compiled.lower(document))
    growing = Growing(compiled)
    page = begun(growing, text[: text.index("4")])
    assert growing.snapshot().document == {"all": [{"kind": "sale", "prices": {"bolt": 3}}]}
    page = ends(growing, text[text.index("4") :], page)
    assert page.document == document
    assert not page.retracted


def test_an_alternative_whose_tag_comes_late_waits_for_its_end() -> None:
    growing = Growing(strict(Deals))
    text = '{"all": [{"prices": [{"key": "a", "value": 1}], "kind": "sale"'
    page = begun(growing, text)
    assert now(growing, "/all/0") == (PENDING, None)
    page = ends(growing, '}], "last": null}', page)
    assert page.document["all"] == [{"kind": "sale", "prices": {"a": 1}}]


@pytest.mark.parametrize("tag", ['"loan"', "5", "[]", "{}", "null"])
def test_a_tag_that_names_nothing_is_no_tag(tag: str) -> None:
    growing = Growing(strict(Deals))
    text = f'{{"all": [{{"kind": {tag}, "prices": [{{"key": "a", "value": 1}}]}}], "last": null}}'
    page = ends(growing, text)
    assert page.document == strict(Deals).lift(json.loads(text))


def test_unknown_is_told_in_the_form_of_the_target() -> None:
    class Doubtful(BaseModel):
        value: int | Unknown
        map: dict[str, int]

    compiled = strict(Doubtful)
    document = {"value": "unknown", "map": {"a": 1}}
    growing = Growing(compiled)
    assert ends(growing, json.dumps(compiled.lower(document))).document == document


def test_a_decimal_gets_its_digits_at_the_end() -> None:
    class Priced(BaseModel):
        prices: list[Decimal]
        name: str

    compiled = compile_schema(Priced, "json-schema")
    growing = Growing(compiled)
    text = '{"prices": [0.5, 0.12345678901234567890, 1], "name": "x"}'
    mirror = Mirror()
    mirror.apply(growing.feed(text))
    assert growing.snapshot().document == {"prices": [0.5], "name": "x"}
    assert growing.state("/prices/1") is growing.state("/prices") is growing.state("") is PENDING
    mirror.apply(growing.finish())
    assert not mirror.retracted
    assert mirror.document == {"prices": [0.5, "0.12345678901234567890", 1], "name": "x"}
    assert set(growing.snapshot().states.values()) == {PRESENT}


def test_a_number_that_only_a_decimal_holds_is_told_at_the_end() -> None:
    class Paid(BaseModel):
        amount: Decimal
        number: int

    growing = Growing(compile_schema(Paid, "json-schema"))
    mirror = ends(growing, '{"amount": 1e400, "number": 2}')
    assert not mirror.retracted
    assert mirror.document == {"amount": "1e400", "number": 2}
    assert set(growing.snapshot().states.values()) == {PRESENT}


def test_a_number_that_nothing_holds_is_never_final() -> None:
    class Weighed(BaseModel):
        grams: float

    growing = Growing(compile_schema(Weighed, "json-schema"))
    ends(growing, '{"grams": 1e400}')
    assert growing.state("/grams") is PENDING


def test_an_answer_that_does_not_fit_is_told_anew_at_the_end() -> None:
    growing = Growing(strict(list[int]))
    text = '{"value": [1, 2], "more": 3}'
    mirror = ends(growing, text)
    assert mirror.retracted
    assert mirror.document == json.loads(text)


def test_an_entry_that_is_none_takes_the_map_back() -> None:
    growing = Growing(strict(dict[str, int]))
    text = '{"value": [{"key": "a", "value": 1}, 5]}'
    mirror = ends(growing, text)
    assert mirror.document == [{"key": "a", "value": 1}, 5]
    assert mirror.retracted


def test_positions_with_a_gap_and_no_default_are_given_as_they_came() -> None:
    growing = Growing(strict(tuple[int, str]))
    text = '{"0": 1, "2": 3}'
    mirror = ends(growing, text)
    assert mirror.document == {"0": 1, "2": 3}
    assert mirror.retracted


@pytest.mark.parametrize("text", ['[1, {"number": "A"}]', '"A"', "7"])
def test_what_cannot_be_the_answer_is_not_told(text: str) -> None:
    growing = Growing(strict(Bill))
    assert growing.feed(text) == ()
    assert growing.state("") is MISSING


def test_shapes_are_made_once_for_a_schema() -> None:
    compiled = strict(Bill)
    Growing(compiled)
    made = compiled.prepared["streaming"]
    Growing(compiled)
    assert compiled.prepared["streaming"] is made


def test_changes_name_the_users_places_only() -> None:
    document = {
        "number": "A", "by_sku": {"s": {"what": "nut", "count": None}}, "spot": [1, 0.5, "x"],
        "note": "n", "more": [1],
    }  # fmt: skip
    growing = Growing(strict(Bill))
    changes: list[Change] = []
    for char in sent(document, Bill):
        changes.extend(growing.feed(char))
    assert {change.pointer for change in changes} == {
        "", "/number", "/by_sku", "/by_sku/s", "/by_sku/s/what", "/by_sku/s/count", "/spot",
        "/spot/0", "/spot/1", "/spot/2", "/note", "/more",
    }  # fmt: skip
    assert growing.snapshot().document == document


def test_two_elements_where_one_stands_for_a_key_take_it_back() -> None:
    fields: dict[str, Any] = {f"f{i}": {"type": ["string", "null"]} for i in range(30)}
    target = {"type": "object", "properties": fields, "additionalProperties": False}
    compiled = compile_schema(target, "anthropic")
    text = json.dumps(compiled.lower({f"f{i}": "abc" for i in range(30)}))
    text = text.replace('"f29": ["abc"]', '"f29": ["abc", "def"]')
    growing = Growing(compiled)
    page = ends(growing, text)
    assert page.retracted
    assert page.document == compiled.lift(json.loads(text))


class Long(BaseModel):
    kind: Literal["long"]
    parts: dict[str, int]


class Short(BaseModel):
    kind: Literal["short"]
    parts: dict[str, int]


class Rows(BaseModel):
    all: list[Annotated[Long | Short, Field(discriminator="kind")]]


def test_what_is_too_deep_to_be_taken_back_here_waits_for_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_deep(value: JsonValue) -> JsonValue:
        raise RecursionError

    def take_back(shapes: Shapes, node: Node) -> Any:
        return too_deep

    compiled = strict(Rows)
    growing = Growing(compiled)
    monkeypatch.setattr(Shapes, "_as_a_whole", take_back)
    text = '{"all": [{"parts": [{"key": "a", "value": 1}], "kind": "long"}]}'
    page = begun(growing, text)
    assert growing.state("/all/0") is growing.state("/all") is growing.state("") is PENDING
    page = ends(growing, "", page)
    assert page.document == compiled.lift(json.loads(text))
    assert page.document == {"all": [{"parts": {"a": 1}, "kind": "long"}]}
    assert not page.retracted
