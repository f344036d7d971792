import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from extractkit.fields import Grounded, Inferred, Mark, Reasoning, Unknown, Verbatim
from extractkit.schema import compile_schema


def kinds(target: Any, document: Any) -> dict[str, str]:
    claims = compile_schema(target).claims(document)
    return {claim.pointer: claim.kind for claim in claims if claim.kind != "key"}


def keys(target: Any, document: Any) -> list[str]:
    claims = compile_schema(target).claims(document)
    return [claim.pointer for claim in claims if claim.kind == "key"]


class Party(BaseModel):
    name: str
    city: str | None = None


class Deal(BaseModel):
    number: Verbatim[str]
    on: datetime.date
    at: datetime.datetime | None
    opens: datetime.time
    total: Decimal
    count: int
    paid: bool
    currency: Literal["EUR", "USD"]
    grade: Grounded[Literal["A", "B"]]
    state: str | Unknown
    parties: list[Party]
    rates: dict[str, float]
    summary: Inferred[str]
    tags: Inferred[list[str]]
    thought: Reasoning
    guess: Inferred[Party]


DOCUMENT: dict[str, Any] = {
    "number": "A1",
    "on": "2024-01-02",
    "at": "2024-01-02T10:00:00",
    "opens": "10:00:00",
    "total": "12.50",
    "count": 3,
    "paid": True,
    "currency": "EUR",
    "grade": "A",
    "state": {"unknown": True},
    "parties": [{"name": "Ida", "city": None}],
    "rates": {"a/b": 1.5},
    "summary": "s",
    "tags": ["t"],
    "thought": "because",
    "guess": {"name": "Bo"},
}


def test_every_leaf_is_told_once_in_order_with_its_kind() -> None:
    assert kinds(Deal, DOCUMENT) == {
        "/number": "text",
        "/on": "date",
        "/at": "datetime",
        "/opens": "time",
        "/total": "number",
        "/count": "number",
        "/paid": "exempt",
        "/currency": "exempt",
        "/grade": "text",
        "/state/unknown": "exempt",
        "/parties/0/name": "text",
        "/parties/0/city": "exempt",
        "/rates/a~1b": "number",
        "/summary": "exempt",
        "/tags/0": "exempt",
        "/thought": "exempt",
        "/guess/name": "exempt",
    }
    claims = compile_schema(Deal).claims(DOCUMENT)
    told = [claim.pointer for claim in claims if claim.kind != "key"]
    assert told == list(kinds(Deal, DOCUMENT))
    (key,) = (claim for claim in claims if claim.kind == "key")
    assert (key.pointer, key.value, key.required_grounding) == ("/rates/a~1b", "a/b", True)
    assert claims[claims.index(key) + 1].pointer == key.pointer
    assert [claim.value for claim in claims][:3] == ["A1", "2024-01-02", "2024-01-02T10:00:00"]
    assert all(claim.required_grounding == (claim.kind != "exempt") for claim in claims)


def test_a_mark_holds_for_everything_below_until_another_one() -> None:
    class Inner(BaseModel):
        a: str
        b: Verbatim[str]

    class Outer(BaseModel):
        inner: Inferred[Inner]
        rows: Grounded[list[Literal["x", "y"]]]

    document = {"inner": {"a": "1", "b": "2"}, "rows": ["x"]}
    claims = {claim.pointer: claim for claim in compile_schema(Outer).claims(document)}
    assert (claims["/inner/a"].kind, claims["/inner/a"].mark) == ("exempt", Mark.INFERRED)
    assert (claims["/inner/b"].kind, claims["/inner/b"].mark) == ("text", Mark.VERBATIM)
    assert (claims["/rows/0"].kind, claims["/rows/0"].mark) == ("text", Mark.GROUNDED)


@pytest.mark.parametrize("value", [None, True, [], {}])
def test_what_stands_in_no_text_is_exempt_even_where_marked(value: Any) -> None:
    assert kinds(Grounded[Any], value) == {"": "exempt"}


@pytest.mark.parametrize(
    ("target", "value", "kind"),
    [
        (datetime.date | str, "2024-01-02", "date"),
        (datetime.date | str, "soon", "text"),
        (str | datetime.datetime, "2024-01-02T10:00:00", "text"),
        (int | Literal["none"], "none", "exempt"),
        (int | Literal["none"], 3, "number"),
        (Literal["a"] | Unknown, "unknown", "exempt"),
        (str | Unknown, "known", "text"),
        (str | Unknown, "unknown", "text"),
        (Grounded[Decimal], "1", "number"),
        (Grounded[Decimal], 1, "number"),
        (Grounded[int | Unknown], "unknown", "exempt"),
        (Any, "free", "text"),
        (Any, 1.5, "number"),
        (tuple[datetime.date, int], ["2024-01-02", 1], "date"),
        (datetime.timedelta, "P1D", "exempt"),
        (Grounded[datetime.timedelta], "P1D", "exempt"),
        ({"type": "string", "format": "duration"}, "P1D", "exempt"),
        (int, "not a number", "text"),
        ({"enum": [1, "a"]}, 1, "exempt"),
        ({"const": "a", "x-extractkit-mark": "grounded"}, "a", "text"),
        ({"type": "string", "format": "uuid"}, "x", "text"),
    ],
)
def test_a_union_is_read_as_the_branch_that_fits(target: Any, value: Any, kind: str) -> None:
    assert compile_schema(target).claims(value)[0].kind == kind


class Wire(BaseModel):
    kind: Literal["wire"] = "wire"
    ref: Inferred[str]


class Card(BaseModel):
    kind: Literal["card"] = "card"
    ref: str


def test_the_tag_of_a_union_picks_the_branch() -> None:
    target = list[Annotated[Wire | Card, Field(discriminator="kind")]]
    document = [{"kind": "card", "ref": "1"}, {"kind": "wire", "ref": "2"}]
    assert kinds(target, document)["/0/ref"] == "text"
    assert kinds(target, document)["/1/ref"] == "exempt"


def test_all_parts_of_an_all_of_speak_of_a_leaf() -> None:
    schema = {
        "allOf": [
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"format": "date", "type": "string"}, "b": {"enum": ["x"]}}},
        ]
    }
    assert kinds(schema, {"a": "2024-01-02", "b": "x"}) == {"/a": "date", "/b": "exempt"}


def test_a_document_that_does_not_fit_is_still_told_leaf_by_leaf() -> None:
    schema = Party.model_json_schema()
    assert kinds(schema, {"name": {"first": "a"}, "other": ["b"]}) == {
        "/name/first": "text",
        "/other/0": "text",
    }
    assert kinds(Party, 3) == {"": "number"}


class Tree(BaseModel):
    label: str
    children: "list[Tree]" = []


def test_recursion_is_followed_to_any_depth() -> None:
    document: Any = {"label": "leaf", "children": []}
    for _ in range(2_000):
        document = {"label": "x", "children": [document]}
    claims = compile_schema(Tree).claims(document)
    assert sum(claim.kind == "text" for claim in claims) == 2_001


class Rates(BaseModel):
    open: dict[str, dict[str, int]]
    closed: dict[Literal["x", "y"], int]
    flags: dict[bool, int]
    guessed: Inferred[dict[str, int]]
    named: Verbatim[dict[str, Inferred[str]]]


def test_keys_of_open_maps_are_claims_before_their_values() -> None:
    document = {
        "open": {"a": {"b": 1}},
        "closed": {"x": 1},
        "flags": {"true": 1},
        "guessed": {"k": 1},
        "named": {"n": "v"},
    }
    assert keys(Rates, document) == ["/open/a", "/open/a/b", "/named/n"]
    claims = compile_schema(Rates).claims(document)
    assert [(claim.value, claim.kind) for claim in claims][:3] == [
        ("a", "key"),
        ("b", "key"),
        (1, "number"),
    ]
    assert [claim.mark for claim in claims if claim.kind == "key"][-1] is Mark.VERBATIM
    assert keys(Any, {"a": 1}) == []


@pytest.mark.parametrize(
    ("target", "mark"),
    [
        (dict[Verbatim[str], int], Mark.VERBATIM),
        (dict[Grounded[Literal["k", "l"]], int], Mark.GROUNDED),
        (dict[Grounded[int], int], Mark.GROUNDED),
        (dict[Grounded[datetime.date], int], Mark.GROUNDED),
        (dict[Grounded[Annotated[str, Field(max_length=9)]], int], Mark.GROUNDED),
        (Inferred[dict[Verbatim[str], int]], Mark.VERBATIM),
        (Verbatim[dict[Grounded[str], Inferred[int]]], Mark.GROUNDED),
        (dict[str, int], None),
        (dict[Inferred[str], int], "exempt"),
        (Verbatim[dict[Inferred[str], int]], "exempt"),
        (dict[Literal["k", "l"], int], "exempt"),
        (Verbatim[dict[Literal["k", "l"], int]], "exempt"),
    ],
)
def test_a_mark_on_the_keys_of_a_map_holds_for_them_alone(target: Any, mark: Any) -> None:
    claims = compile_schema(target).claims({"k": 1})
    marks = [claim.mark for claim in claims if claim.kind == "key"]
    assert marks == ([] if mark == "exempt" else [mark])
    assert claims[-1].value == 1


def test_a_tag_below_a_marked_container_claims_nothing() -> None:
    class Oak(BaseModel):
        kind: Literal["oak"]
        way: Literal["cash", "card"]
        said: Grounded[Literal["tree"]]

    document = {"kind": "oak", "way": "card", "said": "tree"}
    assert kinds(Grounded[Oak], document) == {"/kind": "exempt", "/way": "text", "/said": "text"}
    assert kinds(Grounded[list[Literal["oak"]]], ["oak"]) == {"/0": "exempt"}
    assert kinds(Grounded[Literal["oak"]], "oak") == {"": "text"}
    assert kinds(Grounded[Literal["oak"] | None], "oak") == {"": "text"}


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


@dataclass
class Point:
    x: int


class Item(TypedDict):
    sku: str


class Renamed(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)
    total: int = Field(alias="sum")
    note: str = Field("", validation_alias=AliasChoices("remark", "comment"))


class Nested(BaseModel):
    party: Party
    items: list[Item]
    point: Point
    open: Open
    renamed: Renamed


def test_what_a_type_drops_is_no_claim_and_can_be_told() -> None:
    document = {
        "party": {"name": "Ida", "invented": {"deep": 1}},
        "items": [{"sku": "1"}, {"sku": "2", "x/y": 3}],
        "point": {"x": 1, "y": 2},
        "open": {"name": "a", "more": "b"},
        "renamed": {"total": 3, "comment": "c", "extra": 4},
        "unknown": [5],
    }
    compiled = compile_schema(Nested)
    assert compiled.adapter is not None
    assert compiled.adapter.validate_python(document).renamed.note == "c"
    dropped = ("/party/invented", "/items/1/x~1y", "/point/y", "/renamed/extra", "/unknown")
    assert compiled.dropped(document) == dropped
    pointers = [claim.pointer for claim in compiled.claims(document)]
    assert pointers == [
        "/party/name",
        "/items/0/sku",
        "/items/1/sku",
        "/point/x",
        "/open/name",
        "/open/more",
        "/renamed/total",
        "/renamed/comment",
    ]


def test_a_json_schema_drops_nothing() -> None:
    compiled = compile_schema(Party.model_json_schema())
    assert compiled.dropped({"name": "a", "other": 1}) == ()
    assert compile_schema(Party).dropped(3) == ()
