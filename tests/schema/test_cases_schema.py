"""Faults that others had with what a schema holds, and what must come out here: cases 001 to 006.

Every schema that is compiled on the way is held to the rules of its dialect as well.
"""

import json
from enum import Enum, IntEnum
from typing import Annotated, Literal, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tests.schema.cases import (
    HOSTED,
    accepts,
    compiled_for,
    dumped,
    keywords,
    objects,
    on_every,
    on_hosted,
    there_and_back,
    told,
    typed,
)

# 001: a map is not an object that can only be empty.


class Rate(BaseModel):
    low: float
    high: float


class Tier(IntEnum):
    basic = 1
    gold = 2


class Prices(BaseModel):
    by_sku: dict[str, Rate]
    fee: dict[Tier, float]


PRICES = Prices(by_sku={"AX1": Rate(low=1, high=2)}, fee={Tier.basic: 1.5})


@on_every
def test_001_a_map_can_say_what_it_holds(dialect: str) -> None:
    compiled = compiled_for(Prices, dialect)
    there_and_back(compiled, PRICES)
    there_and_back(compiled, Prices(by_sku={}, fee={}))
    for schema in objects(compiled.schema):
        assert schema["properties"] or schema["additionalProperties"] is not False


@on_hosted
def test_001_the_report_names_the_maps(dialect: str) -> None:
    compiled = compiled_for(Prices, dialect)
    assert {"/by_sku", "/fee"} <= {item.pointer for item in compiled.rewritten}


@on_every
def test_001_keys_of_an_integer_enum_travel_as_text_and_come_back_as_members(dialect: str) -> None:
    compiled = compiled_for(Prices, dialect)
    wire = there_and_back(compiled, Prices(by_sku={}, fee={Tier.gold: 2.0}))
    assert '"2"' in json.dumps(wire["fee"])
    assert [type(key) for key in typed(compiled, wire).fee] == [Tier]
    assert not accepts(compiled, json.loads(json.dumps(wire).replace('"2"', '"3"')))


@on_hosted
def test_001_a_key_that_comes_twice_is_told(dialect: str) -> None:
    compiled = compiled_for(Prices, dialect)
    wire = there_and_back(compiled, PRICES)
    wire["by_sku"].append({"key": "AX1", "value": {"low": 5.0, "high": 6.0}})
    (fault,) = compiled.faults(wire)
    assert fault.pointer.startswith("/by_sku")
    assert "AX1" in fault.message + fault.pointer


# 002: a model that takes further keys, beside a map.


class Memo(BaseModel):
    model_config = ConfigDict(extra="allow")
    subject: str


class Folder(BaseModel):
    memo: Memo
    counts: dict[str, int]


FOLDER = Folder.model_validate({"memo": {"subject": "s", "tone": "dry"}, "counts": {"a": 1}})


@on_every
def test_002_further_keys_and_maps_come_back(dialect: str) -> None:
    before = json.dumps(Folder.model_json_schema())
    compiled = compiled_for(Folder, dialect)
    value = typed(compiled, there_and_back(compiled, FOLDER))
    assert value.memo.model_extra == {"tone": "dry"}
    assert value.counts == {"a": 1}
    assert json.dumps(Folder.model_json_schema()) == before


@on_hosted
def test_002_the_report_names_both(dialect: str) -> None:
    told_places = told(compiled_for(Folder, dialect))
    assert "/memo" in told_places
    assert "/counts" in told_places


def test_002_where_nothing_is_closed_further_keys_stay_allowed() -> None:
    compiled = compiled_for(Folder, "json-schema")
    assert True in [schema.get("additionalProperties") for schema in objects(compiled.schema)]
    answer = {"memo": {"subject": "s", "tone": "dry"}, "counts": {}}
    assert accepts(compiled, answer)
    assert typed(compiled, answer).memo.model_extra == {"tone": "dry"}


# 003: alternatives with a discriminator.


class Wire(BaseModel):
    kind: Literal["wire"]
    iban: str


class Card(BaseModel):
    kind: Literal["card"]
    last4: str


class Pay(BaseModel):
    method: Annotated[Wire | Card, Field(discriminator="kind")]


OVERLAP = {"oneOf": [{"type": "integer"}, {"type": "number"}]}


@on_hosted
def test_003_alternatives_are_closed_objects_of_one_kind_each(dialect: str) -> None:
    schema = compiled_for(Pay, dialect).schema
    assert not {"oneOf", "discriminator"} & keywords(schema)
    assert "discriminator" not in json.dumps(schema)
    method = schema["properties"]["method"]
    kinds: list[list[str]] = []
    for branch in method["anyOf"]:
        name = branch.get("$ref", "").rpartition("/")[2]
        body = schema["$defs"][name] if name else branch
        kind = body["properties"]["kind"]
        kinds.append(kind["enum"] if "enum" in kind else [kind["const"]])
        assert body["additionalProperties"] is False
        assert body["required"] == list(body["properties"])
    assert sorted(kinds) == [["card"], ["wire"]]


@on_every
def test_003_the_verdicts_stay_as_they_were(dialect: str) -> None:
    compiled = compiled_for(Pay, dialect)
    there_and_back(compiled, Pay(method=Wire(kind="wire", iban="x")))
    for method, fits in (
        ({"kind": "wire", "iban": "x"}, True),
        ({"kind": "card", "iban": "x"}, False),
        ({"kind": "cash"}, False),
    ):
        assert accepts(compiled, {"method": method}) is fits


@pytest.mark.parametrize("dialect", [*HOSTED, "llguidance"])
def test_003_alternatives_that_overlap_are_told_to_be_widened(dialect: str) -> None:
    compiled = compiled_for(OVERLAP, dialect)
    assert accepts(compiled, compiled.lower(3))
    assert ("", "oneOf") in {(item.pointer, item.keyword) for item in compiled.unenforced}


# 005: tuples.


class Pt(NamedTuple):
    lat: float
    lon: float


class Site(BaseModel):
    span: tuple[int, int]
    pos: Pt
    tagged: tuple[dict[str, int], str]
    many: tuple[int, ...]


SITE = Site(span=(3, 9), pos=Pt(1.5, 2.5), tagged=({"a": 1}, "t"), many=(1, 2, 3))


@on_every
def test_005_tuples_come_back_with_their_types_and_lengths(dialect: str) -> None:
    compiled = compiled_for(Site, dialect)
    value = typed(compiled, there_and_back(compiled, SITE))
    assert (value.span, value.pos, value.tagged) == ((3, 9), Pt(1.5, 2.5), ({"a": 1}, "t"))
    assert isinstance(value.pos, Pt)
    many = compiled.schema["properties"]["many"]
    assert (many["type"], many["items"]["type"]) == ("array", "integer")


@on_hosted
def test_005_tuples_and_the_map_inside_are_told(dialect: str) -> None:
    compiled = compiled_for(Site, dialect)
    assert "prefixItems" not in keywords(compiled.schema)
    rewritten = {item.pointer for item in compiled.rewritten}
    assert {"/span", "/pos", "/tagged", "/tagged/0"} <= rewritten
    assert "/many" not in rewritten


@on_every
@pytest.mark.parametrize("length", [0, 1, 3])
def test_005_an_answer_of_another_length_is_never_valid(dialect: str, length: int) -> None:
    compiled = compiled_for(Site, dialect)
    wire = there_and_back(compiled, SITE)
    listed = isinstance(wire["span"], list)
    wire["span"] = [7] * length if listed else {str(index): 7 for index in range(length)}
    assert not accepts(compiled, wire)
    if not compiled.faults(wire):
        with pytest.raises(ValidationError):
            typed(compiled, wire)


# 006: defaults.


class Line(BaseModel):
    label: str
    qty: int = 1


class Cur(str, Enum):
    EUR = "EUR"
    USD = "USD"


class Bill(BaseModel):
    line: Line
    currency: Cur = Cur.EUR
    note: str | None = None


PLAIN_BILL = Bill(line=Line(label="a"))


@on_hosted
def test_006_no_default_is_sent(dialect: str) -> None:
    schema = compiled_for(Bill, dialect).schema
    assert "default" not in keywords(schema)
    if dialect == "openai-strict":
        assert all(set(item["required"]) == set(item["properties"]) for item in objects(schema))


@on_every
def test_006_what_is_left_out_has_its_default(dialect: str) -> None:
    compiled = compiled_for(Bill, dialect)
    there_and_back(compiled, PLAIN_BILL)
    there_and_back(compiled, Bill(line=Line(label="a", qty=4), currency=Cur.USD, note="n"))
    wire = compiled.lower({"line": {"label": "a"}})
    assert accepts(compiled, wire)
    assert typed(compiled, wire) == PLAIN_BILL
    assert accepts(compiled, {**compiled.lower(dumped(compiled, PLAIN_BILL)), "note": None})


def test_006_a_null_that_stands_for_absence_is_never_a_value() -> None:
    compiled = compiled_for(Bill, "openai-strict")
    nulls = {"line": {"label": "a", "qty": None}, "currency": None, "note": None}
    assert accepts(compiled, nulls)
    assert typed(compiled, nulls) == PLAIN_BILL
    assert {"/line/qty", "/currency"} <= told(compiled)
