"""`lint`: each rule finds what it is for, and leaves good models alone."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pickle
from collections.abc import Iterator, Sequence
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

import pytest
from hypothesis import given, settings
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from extractkit import (
    UNKNOWN,
    Example,
    Grounded,
    Inferred,
    Reasoning,
    Unknown,
    Verbatim,
    compile_schema,
    lint,
)
from extractkit.errors import UnsupportedError, UsageError
from extractkit.schema import LINT_RULES, LintFinding
from extractkit.schema.lint import words
from extractkit.schema.lint.listed import listed_values
from extractkit.schema.lint.words import singular, words_of
from tests.docs.fences import ROOT
from tests.schema.strategies_models import models


def found(target: Any, **options: Any) -> list[tuple[str, str]]:
    """The (pointer, rule) pairs of a target."""
    return [(item.pointer, item.rule) for item in lint(target, **options)]


def of_rule(target: Any, rule: str, **options: Any) -> list[LintFinding]:
    """The findings of one rule."""
    assert rule in LINT_RULES
    return [item for item in lint(target, **options) if item.rule == rule]


def one_field(kind: Any, name: str = "field", **told: Any) -> type[BaseModel]:
    """A model of one field."""
    return create_model("Made", **{name: (kind, Field(**told))})


# --- good models ---------------------------------------------------------------------------


class GoodLine(BaseModel):
    """A line of an invoice. The first field is what makes it one."""

    description: Verbatim[str]
    quantity: int | None
    amount_eur: Grounded[Decimal] | None


class GoodInvoice(BaseModel):
    """What a careful user writes."""

    reasoning: Reasoning
    number: Verbatim[str] | None
    issued: datetime.date | None
    seller: str | None = Field(description="Who wrote it, e.g. 'Acme' or 'Initech'.")
    currency: Literal["EUR", "USD"] | Unknown
    is_paid: bool
    lines: list[GoodLine]
    total: Decimal | None
    summary: Inferred[str]
    page_count: int | None
    year: int | None
    tags: list[Literal["urgent", "private"]]
    kind: Literal["invoice", "receipt", "other"]
    rating: float | None
    weight_kg: float | None
    height: float | None = Field(description="Height in metres.")
    version: Literal[1] = 1


def test_a_good_model_has_no_findings() -> None:
    assert lint(GoodInvoice) == ()
    assert lint(GoodInvoice, dialects=["json-schema"]) == ()


@dataclasses.dataclass
class GoodRecord:
    """A dataclass."""

    name: str | None
    size_mb: float | None


class GoodKeys(TypedDict):
    """A TypedDict; a key that may be absent needs no null."""

    name: NotRequired[str]
    born: datetime.date | None


@pytest.mark.parametrize(
    "target",
    [
        GoodRecord,
        GoodKeys,
        list[GoodLine],
        str,
        bool,
        float,
        Literal["a", "b"] | Unknown,
        list[Literal["a", "b"]],
        GoodLine | None,
        {"type": "object", "properties": {"name": {"type": "string"}}},
        {"properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]},
    ],
)
def test_good_targets_of_every_kind_have_no_findings(target: Any) -> None:
    assert lint(target) == ()


# --- required-value ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        (Decimal, "`field: Decimal | None`"),
        (float, "`field: float | None`"),
        (int, "`field: int | None`"),
        (datetime.date, "`field: date | None`"),
        (datetime.datetime, "`field: datetime | None`"),
        (Verbatim[str], "`field: Verbatim[str] | None`"),
        (Grounded[Decimal], "`field: Grounded[Decimal] | None`"),
        (str, "`field: str | None`, or `Inferred[str]` where it is concluded, not copied"),
        (int | str, "`field: int | str | None`"),
        (UUID, "`field: UUID | None`"),
        (tuple[float, str], "`field: tuple[...] | None`"),
    ],
)
def test_a_value_that_the_source_may_lack_must_not_be_required(kind: Any, fix: str) -> None:
    (finding,) = of_rule(one_field(kind), "required-value")
    assert finding.pointer == "/field"
    assert fix in finding.fix
    assert '"field" must hold a value even where the source states none' in finding.reason


@pytest.mark.parametrize(
    "kind",
    [
        str | None,
        str | Unknown,
        Inferred[str],
        Reasoning,
        bool,
        list[str],
        dict[str, str],
        Any,
        Literal["only"],
        Literal["a", "b"],
        GoodLine | None,
        list[str] | str | None,
        tuple[float | None, str | None],
        tuple[()],
    ],
)
def test_what_can_be_empty_or_is_concluded_may_be_required(kind: Any) -> None:
    assert of_rule(one_field(kind), "required-value") == []


def test_a_default_is_a_way_out() -> None:
    assert lint(create_model("M", name=(str, "nobody"))) == ()


def test_a_list_that_must_not_be_empty_is_a_value_to_invent() -> None:
    (finding,) = of_rule(one_field(list[str], min_length=1), "required-value")
    assert "invents one" in finding.reason
    assert "smallest length" in finding.fix


def test_the_first_field_of_what_can_be_left_out_stands_for_it() -> None:
    """Without a description there were no line; the second field may well be missing."""

    class Line(BaseModel):
        kind: Literal["line"]
        description: str
        amount_eur: Decimal

    class Bill(BaseModel):
        lines: list[Line]
        best: Line | None
        main: Line

    assert found(Bill) == [
        ("/lines/*/amount_eur", "required-value"),
        ("/best/amount_eur", "required-value"),
        ("/main/description", "required-value"),
        ("/main/amount_eur", "required-value"),
    ]


def test_a_mark_on_a_container_holds_for_its_fields() -> None:
    class Mood(BaseModel):
        word: str
        why: str

    class Letter(BaseModel):
        mood: Inferred[Mood]

    assert lint(Letter) == ()


def test_the_fix_for_a_json_schema_is_json_schema() -> None:
    schema = {
        "properties": {"n": {"type": "integer"}, "s": {"enum": ["a", "b"]}},
        "required": ["n", "s"],
    }
    fixes = {item.rule: item.fix for item in lint(schema)}
    assert fixes["required-value"] == (
        'let it be null (`"type": ["integer", "null"]`), or take "n" out of "required"'
    )
    assert fixes["closed-enum"].startswith('add "unknown" or null to its "enum"')


def test_a_key_that_is_no_python_name_is_left_out_of_the_fix() -> None:
    (finding,) = lint(one_field(datetime.date, alias="due date"))
    assert (finding.pointer, finding.fix) == ("/due date", "write `date | None`")


# --- closed-enum ---------------------------------------------------------------------------


class Colour(Enum):
    """A closed set."""

    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (Literal["a", "b"], 'Literal["a", "b"] | Unknown'),
        (Literal["a"] | Literal["b"], 'Literal["a", "b"] | Unknown'),
        (Literal[1, 2, 3], "Literal[1, 2, 3] | Unknown"),
        (Colour, "Colour | Unknown"),
        (Literal["a", "b", "c", "d", "e", "f", "g"], '"e", "f", ...] | Unknown'),
        (Inferred[Literal["a", "b"]], 'Inferred[Literal["a", "b"]] | Unknown'),
    ],
)
def test_a_closed_set_needs_a_way_out(kind: Any, written: str) -> None:
    (finding,) = lint(one_field(kind))
    assert (finding.pointer, finding.rule) == ("/field", "closed-enum")
    assert written in finding.fix
    assert "Unknown" in finding.fix


@pytest.mark.parametrize(
    "values",
    [
        ("a", "Other"), ("a", "other_expense"), ("a", "UNKNOWN"), ("a", "n/a"), ("a", "none"),
        ("a", "not stated"), ("a", "notApplicable"), ("a", ""), ("a", None), ("a", "misc."),
        ("a",),
    ],
)  # fmt: skip
def test_a_member_that_says_none_of_these_is_a_way_out(values: tuple[Any, ...]) -> None:
    assert lint(one_field(Literal[values])) == ()


@pytest.mark.parametrize("values", [("a", "mother"), ("a", "nonexempt"), ("a", "notebook")])
def test_a_way_out_is_a_whole_word(values: tuple[Any, ...]) -> None:
    assert found(one_field(Literal[values])) == [("/field", "closed-enum")]


def test_a_closed_set_as_the_whole_answer_needs_a_way_out() -> None:
    (finding,) = lint(Literal["spam", "ham"])
    assert finding.pointer == ""
    assert str(finding).startswith('(root): closed-enum: a value must be one of "spam", "ham"')


def test_an_open_set_is_not_closed() -> None:
    assert of_rule(one_field(Literal["a", "b"] | str), "closed-enum") == []


def test_the_tag_of_a_union_is_no_closed_set() -> None:
    class Cat(BaseModel):
        kind: Literal["cat", "kitten"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    class Home(BaseModel):
        pet: Annotated[Cat | Dog, Field(discriminator="kind")]

    assert lint(Home) == ()


def test_an_enum_beside_a_type_is_read_through_all_of() -> None:
    schema = {
        "properties": {"c": {"allOf": [{"type": "string"}, {"enum": ["a", "b"]}]}},
        "required": ["c"],
    }
    assert found(schema) == [("/c", "closed-enum")]


# --- late-reasoning ------------------------------------------------------------------------


def late(*names: str, kinds: dict[str, Any] | None = None) -> list[str]:
    kinds = kinds or {}
    fields = {name: (kinds.get(name, Literal["x", "other"]), ...) for name in names}
    texts = {n: (str | None, ...) for n in names if n not in kinds and ("rea" in n or "exp" in n)}
    target = create_model("M", **{**fields, **texts})
    return [item.pointer[1:] for item in of_rule(target, "late-reasoning")]


def test_reasoning_after_the_answer_comes_too_late() -> None:
    (finding,) = of_rule(
        create_model("M", label=(Literal["a", "other"], ...), reasoning=(str, ...)),
        "late-reasoning",
    )
    assert finding.pointer == "/reasoning"
    assert 'comes after "label"' in finding.reason
    assert 'put it before "label", or write `reasoning: Reasoning`' in finding.fix
    assert late("label", "explanation") == ["explanation"]


def test_a_marked_field_is_written_first_and_this_is_said() -> None:
    target = create_model("M", label=(Literal["a", "other"], ...), why=(Reasoning, ...))
    (finding,) = lint(target)
    assert (finding.pointer, finding.rule) == ("/why", "late-reasoning")
    assert "written first all the same" in finding.reason
    assert list(compile_schema(target).schema["properties"]) == ["why", "label"]


def test_reasoning_before_what_it_is_for_is_fine() -> None:
    assert late("reasoning", "label") == []
    assert late("first", "reasoning", "second") == []
    assert late("a", "b_reasoning", "b") == []
    text = str | None
    assert late("quote", "reasoning", "label", kinds={"quote": text}) == []
    assert late("name", "reasoning", "title", kinds={"name": text, "title": text}) == []


def test_reasoning_for_one_field_is_late_after_that_field() -> None:
    assert late("price", "price_reasoning", "other_label") == ["price_reasoning"]


def test_a_score_of_the_answer_may_follow_the_reasoning_and_does_not_save_it() -> None:
    assert late("label", "reasoning", "confidence") == ["reasoning"]
    scored = {"label": Inferred[str], "confidence": float | None}
    assert late("label", "reasoning", "confidence", kinds=scored) == ["reasoning"]


def test_a_plain_answer_before_reasoning_counts_where_nothing_follows() -> None:
    assert late("answer", "reasoning", kinds={"answer": str | None}) == ["reasoning"]
    assert late("answer", "brief_reasoning", kinds={"answer": str | None}) == ["brief_reasoning"]


def test_constants_and_texts_from_the_source_are_no_reasoning_matter() -> None:
    assert late("kind", "reasoning", kinds={"kind": Literal["a"]}) == []
    assert late("label", "explanation", kinds={"explanation": Verbatim[str] | None}) == []
    assert late("label", "explanation", kinds={"explanation": list[str]}) == []


# --- listed-in-prose -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ("One of: happy, sad, or angry.", ("happy", "sad", "angry")),
        ("one of low, medium, high", ("low", "medium", "high")),
        ("Must be one of the following: open, in progress, closed", ("open", "in progress",
                                                                     "closed")),
        ("The state, 'open' or 'closed'.", ("open", "closed")),
        ('"a", "b", or "c"', ("a", "b", "c")),
        ("`buy` | `sell`", ("buy", "sell")),
        ("low | medium | high", ("low", "medium", "high")),
        ("high|low", ("high", "low")),
        ("Either small or large.", ("small", "large")),
        ("It is either a car or a van", ("car", "van")),
        ("Allowed values: red, green", ("red", "green")),
        ("possible values are red and green", ("red", "green")),
        ("Options: yes/no", ("yes", "no")),
        ("One of 'a' and 'b'", ("a", "b")),
        ("'a' (the default), 'b' (rarely) or 'c'", ("a", "b", "c")),
        ("One of 'credit note', 'invoice'", ("credit note", "invoice")),
        ("How urgent:\n- 'now': at once\n- 'later': some day", ("now", "later")),
        ("It's the customer. 'new' or 'old'", ("new", "old")),
        ("where from: 'file' or 'url'; str or int", ("url", "file")),
    ],
)  # fmt: skip
def test_a_description_that_lists_the_values_is_a_closed_set(
    said: str, values: tuple[str, ...]
) -> None:
    assert sorted(listed_values(said)) == sorted(values)
    (finding,) = of_rule(one_field(str | None, description=said), "listed-in-prose")
    assert "`field: Literal[" in finding.fix
    assert all(json.dumps(value) in finding.reason for value in values)


@pytest.mark.parametrize(
    "said",
    [
        "The name of the city.",
        "One of the customers of the seller.",
        "One of many reasons, as stated.",
        "one of our offices, whichever is nearer",
        "The customer's or the seller's name.",
        "A city, e.g. 'Oslo' or 'Bergen'.",
        "A city such as 'Oslo' or 'Bergen'.",
        "Colours like 'red' or 'green'",
        "for example: one of red, green",
        "'red', 'green', etc.",
        "one of: red, green, ...",
        "str | None",
        "a string or a number",
        "either a name or the number that stands at the top",
        "A date, 'YYYY-MM-DD' or 'DD.MM.YYYY'.",
        "separated by ',' or ';'",
        "'https://a.example' or 'https://b.example'",
        "The values stand in the table, row by row.",
        "Options of the contract, listed in order",
        "'a very long answer of many words' or 'no'",
        "'same' or 'same'",
        "The path to either a file or a folder.",
        "given as <name|uid>",
        "`source`, `build`, or a class of your own",
        "- 'only': one bullet",
        "",
    ],
)
def test_prose_that_lists_nothing_closed_is_left_alone(said: str) -> None:
    assert listed_values(said) == ()


def test_a_text_that_is_held_by_a_pattern_a_format_or_an_enum_may_list() -> None:
    said = "'2024-01-01' or '2024-02-02'"
    for kind in (Annotated[str, Field(pattern="^a$")], datetime.date, Literal["a"] | str):
        target = one_field(kind | None, description=said)
        assert of_rule(target, "listed-in-prose") == []


def test_what_a_list_says_of_itself_holds_for_its_items() -> None:
    target = one_field(list[str], description="any of: red, green")
    (finding,) = lint(target)
    assert (finding.pointer, finding.fix) == ("/field/*", 'write `Literal["red", "green"]`')


def test_a_json_schema_is_told_to_use_enum() -> None:
    (finding,) = lint({"properties": {"c": {"type": "string", "description": "'a' or 'b'"}}})
    assert finding.fix == 'write `"enum": ["a", "b"]`, with null or "unknown" as a way out'


# --- number-without-unit -------------------------------------------------------------------


def unitless(name: str, kind: Any = float, **told: Any) -> list[LintFinding]:
    return of_rule(one_field(kind | None, name, **told), "number-without-unit")


@pytest.mark.parametrize(
    "name", ["weight", "price", "grossWeight", "timeout", "value", "speed", "vat_rate", "x"]
)
def test_a_number_that_measures_needs_a_unit(name: str) -> None:
    (finding,) = unitless(name)
    assert finding.pointer == f"/{name}"
    assert "Field(description=" in finding.fix


@pytest.mark.parametrize("name", ["price", "duration", "salaries", "file_weight"])
def test_a_whole_number_needs_a_unit_only_where_its_name_measures(name: str) -> None:
    assert len(unitless(name, int)) == 1
    assert unitless("employees", int) == []
    assert unitless("max_length", int) == []


def test_the_fix_speaks_of_money_of_rates_and_of_other_units() -> None:
    assert "currency" in unitless("price")[0].reason
    assert "in EUR" in unitless("price")[0].fix
    assert "in EUR" in unitless("total", Decimal)[0].fix
    assert "in <unit>" in unitless("total_weight", Decimal)[0].fix
    assert "in percent" in unitless("vat_rate")[0].fix
    assert "in EUR" in unitless("nightly_rate", Decimal)[0].fix
    schema = {"properties": {"price": {"type": "number"}}}
    assert lint(schema)[0].fix.startswith('say it, as in `"description": "... in EUR"`')


@pytest.mark.parametrize(
    "name",
    [
        "weight_kg", "weightKg", "price_eur", "length_m", "timeout_s", "duration_minutes", "id",
        "year", "item_count", "number_of_pages", "latitude", "confidence", "share", "score", "qty",
        "percentage", "memory_mb", "distance_km", "version", "age", "bbox", "seconds",
    ],
)  # fmt: skip
def test_a_name_can_say_the_unit_or_need_none(name: str) -> None:
    assert unitless(name) == []


@pytest.mark.parametrize(
    "said",
    [
        "Weight in kilograms.", "weight (kg)", "in metres", "Duration [s]", "in USD", "$ per piece",
        "in %", "share of the whole", "Number of boxes", "how many there are", "in whole days",
        "Degrees Celsius", "given in thousands",
    ],
)  # fmt: skip
def test_a_description_can_say_the_unit(said: str) -> None:
    assert unitless("value", description=said) == []
    assert unitless("field", title=said) == []


@pytest.mark.parametrize("said", ["The second value.", "What it weighs.", "price per unit"])
def test_words_that_only_look_like_units_do_not_count(said: str) -> None:
    assert len(unitless("value", description=said)) == 1


def test_a_scale_with_two_ends_needs_no_unit() -> None:
    assert unitless("threshold", ge=0, le=1) == []
    assert unitless("threshold", gt=0, lt=10) == []
    assert len(unitless("threshold", ge=0)) == 1


def test_a_field_beside_it_can_say_the_unit() -> None:
    class Amount(BaseModel):
        value: float | None
        unit: str | None

    class Bill(BaseModel):
        currency: str | None
        prices: list[float]
        vat_rate: float | None
        weight: float | None
        size: Amount | None

    assert found(Bill) == [
        ("/vat_rate", "number-without-unit"),
        ("/weight", "number-without-unit"),
    ]


def test_a_currency_further_out_is_the_unit_of_amounts() -> None:
    class Line(BaseModel):
        name: str
        amount: Decimal | None
        weight: Decimal | None

    class Bill(BaseModel):
        currency_code: str | None
        lines: list[Line]

    assert found(Bill) == [("/lines/*/weight", "number-without-unit")]


def test_what_an_object_says_of_itself_holds_for_its_numbers() -> None:
    class Range(BaseModel):
        min: float | None
        max: float | None

    class Offer(BaseModel):
        """An offer. All amounts are in EUR."""

        price: float | None

    class Parcel(BaseModel):
        weight_kg: Range | None
        width: Range | None
        offer: Offer | None

    assert found(Parcel) == [
        ("/width/min", "number-without-unit"),
        ("/width/max", "number-without-unit"),
    ]


def test_positions_of_a_tuple_are_told_by_their_names_or_once() -> None:
    class Pixel(NamedTuple):
        x: float | None
        width_mm: float | None

    class Picture(BaseModel):
        corner: Pixel
        shift: tuple[float, float] | None

    assert found(Picture) == [
        ("/corner/0", "number-without-unit"),
        ("/shift/0", "number-without-unit"),
    ]


@pytest.mark.parametrize("kind", [int | str, bool, list[bool], Reasoning])
def test_what_is_not_a_number_alone_needs_no_unit(kind: Any) -> None:
    assert of_rule(one_field(kind, "weight"), "number-without-unit") == []


def test_names_are_split_and_made_singular() -> None:
    assert words_of("grossWeight_KG2x") == ("gross", "weight", "kg", "2", "x")
    assert words_of("HTTPTimeout") == ("http", "timeout")
    assert words_of("größe") != ()
    nouns = ("salaries", "inches", "boxes", "prices", "glass", "status", "axis", "kgs", "ms")
    assert [singular(noun) for noun in nouns] == [
        "salary", "inch", "box", "price", "glass", "status", "axis", "kg", "ms",
    ]  # fmt: skip


# --- too-many-fields -----------------------------------------------------------------------


def wide(count: int) -> type[BaseModel]:
    return create_model("Wide", **{f"field_{i}": (bool, ...) for i in range(count)})


def test_more_than_thirty_fields_in_one_object_are_too_many() -> None:
    assert lint(wide(30)) == ()
    (finding,) = lint(create_model("Outer", inner=(wide(31), ...)))
    assert (finding.pointer, finding.rule) == ("/inner", "too-many-fields")
    assert finding.reason.startswith("31 fields stand in one object (more than 30)")


def test_more_than_a_hundred_values_in_all_are_too_many() -> None:
    groups = {f"group_{i}": (create_model(f"G{i}", __base__=wide(25)), ...) for i in range(4)}
    assert lint(create_model("Large", **groups)) == ()
    (finding,) = lint(create_model("Large", **groups, more=(list[bool], ...)))
    assert finding.pointer == ""
    assert finding.reason.startswith("one answer has 101 values to fill")


# --- open-map and untyped ------------------------------------------------------------------

ShortText = Annotated[str, Field(max_length=3)]


@pytest.mark.parametrize("kind", [dict[str, str], dict, dict[str, Any], dict[ShortText, GoodLine]])
def test_a_map_with_free_keys_is_told_once(kind: Any) -> None:
    (finding,) = lint(one_field(kind))
    assert (finding.pointer, finding.rule) == ("/field", "open-map")
    assert ("what the values are" in finding.reason) == (kind in (dict, dict[str, Any]))


@pytest.mark.parametrize(
    "kind",
    [
        dict[Literal["a", "b"], str],
        dict[datetime.date, str],
        dict[Annotated[str, Field(pattern="^[a-z]$")], str],
    ],
)
def test_a_map_whose_keys_are_held_is_fine(kind: Any) -> None:
    assert lint(one_field(kind)) == ()


def test_a_model_that_allows_other_keys_is_an_open_map() -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(extra="allow")
        name: str | None

    (finding,) = lint(Loose)
    assert (finding.pointer, finding.rule) == ("", "open-map")
    assert 'extra="forbid"' in finding.fix
    schema = {"properties": {"a": {"type": "null"}}, "additionalProperties": True}
    assert '"additionalProperties": false' in lint(schema)[0].fix


def test_objects_of_a_json_schema_are_open_only_where_it_says_so_or_names_no_key() -> None:
    assert lint({"type": "object", "properties": {"a": {"type": "null"}}}) == ()
    assert found({"type": "object"}) == [("", "open-map")]
    patterns = {"type": "object", "patternProperties": {"^a": {"type": "null"}}}
    assert lint(patterns) == ()
    assert lint({"type": "object", "additionalProperties": False}) == ()


@pytest.mark.parametrize("kind", [Any, list, list[Any], object])
def test_a_place_without_a_type_is_told(kind: Any) -> None:
    (finding,) = lint(one_field(kind))
    assert finding.pointer in ("/field", "/field/*")
    assert finding.rule == "untyped"


# --- one-sided-examples --------------------------------------------------------------------


class Ticket(BaseModel):
    """Something with ways out."""

    customer: str | None
    urgency: Literal["low", "high"] | Unknown
    lines: list[GoodLine]


def example(**changes: Any) -> Example:
    line = {"description": "a", "quantity": 1, "amount_eur": "2.00"}
    value = {"customer": "Ann", "urgency": "low", "lines": [line], **changes}
    return Example(text="...", value=value)


def test_examples_that_never_show_a_way_out_are_told() -> None:
    findings = of_rule(Ticket, "one-sided-examples", examples=[example()])
    assert [item.pointer for item in findings] == [
        "/customer", "/urgency", "/lines/*/quantity", "/lines/*/amount_eur",
    ]  # fmt: skip
    assert findings[0].reason.startswith("the only example does not show null here")
    assert 'with "unknown" as the answer' in findings[1].fix


def test_one_example_is_enough_for_each_way_out() -> None:
    empty = {"description": "a", "quantity": None, "amount_eur": None}
    assert lint(Ticket, examples=[example(), example(customer=None, lines=[empty])]) != ()
    full = [example(), example(customer=None, urgency="unknown", lines=[empty])]
    assert lint(Ticket, examples=full) == ()
    assert lint(Ticket, examples=[item.value for item in full]) == ()


def test_instances_are_examples_too() -> None:
    line = GoodLine(description="a", quantity=None, amount_eur=None)
    shown = Ticket(customer=None, urgency=UNKNOWN, lines=[line])
    assert lint(Ticket, examples=[Example(text="...", value=shown)]) == ()
    assert lint(Ticket, examples=(shown,)) == ()


def test_what_no_example_comes_to_is_not_told() -> None:
    assert found(Ticket, examples=[example(lines=[], customer=None, urgency="unknown")]) == []
    assert lint(GoodLine | None, examples=[None]) == ()
    nothing_null = of_rule(
        GoodLine | None, "one-sided-examples", examples=[example().value["lines"][0]]
    )
    assert [item.pointer for item in nothing_null] == ["", "/quantity", "/amount_eur"]


def test_a_key_that_may_be_absent_must_be_absent_once() -> None:
    findings = lint(GoodKeys, examples=[{"name": "a", "born": None}])
    assert [(item.pointer, item.rule) for item in findings] == [("/name", "one-sided-examples")]
    assert "it left out" in findings[0].reason
    assert "the key left out" in findings[0].fix
    assert lint(GoodKeys, examples=[{"name": "a", "born": None}, {"born": "2024-01-01"}]) == ()


def test_what_has_a_default_or_one_value_or_no_type_need_not_be_shown_absent() -> None:
    class Keys(TypedDict):
        kind: NotRequired[Literal["a"]]

    assert lint(Keys, examples=[{"kind": "a"}]) == ()
    assert lint(create_model("M", n=(str, "x")), examples=[{"n": "y"}]) == ()
    assert found(one_field(Any), examples=[{"field": 1}]) == [("/field", "untyped")]


def test_a_field_of_a_recursive_model_counts_at_every_depth() -> None:
    inner = {"v_m": None, "next": None}
    assert lint(Chain, examples=[{"v_m": 1, "next": inner}]) == ()


class Chain(BaseModel):
    """A list that ends in null."""

    v_m: int | None
    next: Chain | None


def test_examples_are_read_through_unions_and_all_of() -> None:
    part = {"properties": {"a": {"type": ["string", "null"]}}}
    schema = {"allOf": [part], "type": "object", "properties": {"b": {"type": ["null", "string"]}}}
    assert found(schema, examples=[{"a": "x", "b": None}]) == [("/a", "one-sided-examples")]


class Order(BaseModel):
    name: str
    sizes: list[dict[str, int] | None] = []


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ({"name": "a", "sizes": [None, {"a/b": "x"}]}, "at /sizes/1/a~1b found 'x'"),
        ({"sizes": []}, "at /name there is nothing, and the key is required"),
        ([3], r"at the root found \[3\]"),
    ],
)
def test_the_place_of_an_example_that_does_not_fit_is_told(example: Any, said: str) -> None:
    good = {"name": "a"}
    with pytest.raises(UsageError, match=rf"examples\[1\] is no answer.*: {said}; give the value"):
        lint(Order, examples=[good, example])


@pytest.mark.parametrize(
    ("target", "examples", "said"),
    [
        (Ticket, [{"customer": 3}], r"examples\[0\] is no answer that the target takes"),
        (
            Ticket,
            [GoodLine(description="", quantity=1, amount_eur=None)],
            r"examples\[0\] does not fit",
        ),
        (Ticket, [example(), Example(text="", value=object())], r"examples\[1\] does not fit"),
        (Ticket, example(), "examples is an Example; expected a list or tuple"),
        (Ticket, "text", "examples is a str"),
    ],
)
def test_an_example_that_is_no_answer_is_the_callers_fault(
    target: Any, examples: Any, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        lint(target, examples=examples)


# --- dialects ------------------------------------------------------------------------------


def test_what_a_dialect_does_not_hold_is_told_by_place() -> None:
    target = one_field(str | None, max_length=5)
    (finding,) = lint(target, dialects=["openai-strict", "json-schema", "openai-strict"])
    assert (finding.pointer, finding.rule) == ("/field", "unenforced")
    assert finding.reason.startswith("`maxLength` is not enforced by openai-strict: ")


def test_each_dialect_is_told_apart() -> None:
    target = one_field(str | None, max_length=5)
    reasons = [item.reason for item in lint(target, dialects=["openai-strict", "anthropic"])]
    assert ["openai-strict" in reasons[0], "anthropic" in reasons[1]] == [True, True]


def test_what_a_dialect_refuses_is_told_with_its_reason() -> None:
    class Endless(BaseModel):
        inner: Endless

    (finding,) = lint(Endless, dialects=["anthropic", "json-schema"])
    assert (finding.pointer, finding.rule) == ("", "refused")
    assert finding.reason.startswith("anthropic cannot express it: ")
    assert "(root)" not in finding.reason
    assert not finding.reason.endswith(".")
    assert lint(Endless) == ()


def test_an_unknown_dialect_is_the_callers_fault() -> None:
    with pytest.raises(UnsupportedError, match="'yaml' is not known"):
        lint(str, dialects=["yaml"])
    with pytest.raises(UsageError, match="dialects is a str"):
        lint(str, dialects="json-schema")


# --- order, repeats, limits ----------------------------------------------------------------


class Money(BaseModel):
    """A definition that stands at many places."""

    value: float | None


def test_findings_come_in_declared_order_and_by_rule() -> None:
    class Bill(BaseModel):
        zebra: float
        inner: Money
        alpha: str = Field(max_length=3, description="'a' or 'b'")

    assert found(Bill, dialects=["openai-strict"]) == [
        ("/zebra", "required-value"),
        ("/zebra", "number-without-unit"),
        ("/inner/value", "number-without-unit"),
        ("/alpha", "required-value"),
        ("/alpha", "listed-in-prose"),
        ("/alpha", "unenforced"),
    ]


def test_a_definition_is_told_at_each_of_its_first_places_and_the_rest_is_named() -> None:
    fields = {f"m{i}": (Money, ...) for i in range(6)}
    findings = lint(create_model("Many", **fields))
    assert [(item.pointer, item.rule) for item in findings] == [
        *((f"/m{i}/value", "number-without-unit") for i in range(4)),
        ("/m4", "incomplete"),
    ]
    assert '"Money" stands at more places' in findings[-1].reason
    assert "as at /m0" in findings[-1].reason


def test_a_definition_without_findings_may_stand_anywhere() -> None:
    assert lint(create_model("Many", **{f"m{i}": (GoodLine | None, ...) for i in range(9)})) == ()


def test_a_target_with_too_many_places_is_told_to_be_cut() -> None:
    groups = {f"g{i}": (create_model(f"G{i}", __base__=wide(30)), ...) for i in range(200)}
    findings = lint(create_model("Huge", **groups))
    last = findings[-1]
    assert last.rule == "incomplete"
    assert "more places than lint looks at" in last.reason
    assert last.pointer == "/g161/field_7"


def test_recursive_models_end() -> None:
    class Tree(BaseModel):
        label: str
        left: Tree | None
        kids: list[Tree]

    assert found(Tree) == [("/label", "required-value")]


def test_alternatives_that_share_a_key_are_told_once() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        name: str

    class Dog(BaseModel):
        kind: Literal["dog"]
        name: str

    class Home(BaseModel):
        pet: Cat | Dog

    assert found(Home) == [("/pet/name", "required-value")]


def test_odd_json_schemas_are_read() -> None:
    assert lint({"allOf": [{"type": "string"}, {"minLength": 1}]}) == ()
    assert lint({"type": "array", "prefixItems": [{"type": "null"}], "items": False}) == ()
    assert lint({"type": "array", "prefixItems": [{"type": "null"}], "maxItems": 1}) == ()
    twice = {"$defs": {"A": {"type": "null"}}, "anyOf": [{"$ref": "#/$defs/A"}] * 2}
    assert lint(twice) == ()
    spelled = {"items": {"minimum": 0}}
    assert lint(spelled) == ()


def test_a_finding_is_a_frozen_value() -> None:
    (finding,) = lint(Literal["a", "b"])
    assert pickle.loads(pickle.dumps(finding)) == finding
    assert hash(finding) == hash(lint(Literal["a", "b"])[0])
    assert list(finding.to_json()) == ["pointer", "rule", "reason", "fix"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        finding.rule = "untyped"  # type: ignore[misc]


@pytest.mark.parametrize("target", [3, BaseModel, {"type": "nonsense"}])
def test_what_is_no_target_is_the_callers_fault(target: Any) -> None:
    with pytest.raises(UsageError):
        lint(target)


# --- laws ----------------------------------------------------------------------------------


def check(findings: Sequence[LintFinding]) -> None:
    for finding in findings:
        assert finding.rule in LINT_RULES
        assert finding.pointer == "" or finding.pointer.startswith("/")
        assert finding.reason
        assert finding.fix
        assert not finding.reason.endswith(".")
        assert not finding.fix.endswith(".")


@given(models())
@settings(max_examples=60, deadline=None)
def test_lint_reads_every_target_that_compiles_and_always_says_the_same(target: Any) -> None:
    try:
        compile_schema(target, "json-schema")
    except UsageError:
        return
    findings = lint(target, dialects=["openai-strict", "anthropic"])
    check(findings)
    assert findings == lint(target, dialects=["openai-strict", "anthropic"])
    schema = compile_schema(target, "json-schema").user_schema
    assert {item.rule for item in lint(schema)} <= set(LINT_RULES)


def published() -> Iterator[Any]:
    folder = Path(os.environ.get("EXTRACTKIT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = folder / "pydantic_model_schemas" / "dev" / "schemas.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["schema"]


def test_published_schemas_are_read_in_time() -> None:
    """None raises, and what is said stays readable."""
    counts = []
    for schema in published():
        findings = lint(schema)
        check(findings)
        counts.append(len(findings))
    assert len(counts) > 500
    assert max(counts) <= 200
    assert sorted(counts)[len(counts) // 2] < 10


def test_every_rule_and_every_word_is_on_the_reference_page() -> None:
    page = (ROOT / "docs" / "reference" / "lint.md").read_text(encoding="utf-8")
    titles = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert titles == [*LINT_RULES, "Words", "Tools", "Limits"]
    said = page.partition("## Words")[2].partition("## Tools")[0]
    for listed in (
        words.UNITS, words.AFTER_IN, words.SHORT_UNITS, words.UNITLESS, words.MEASURES,
        words.MONEY, words.VAGUE, words.PER_TIME,
    ):  # fmt: skip
        assert f": {', '.join(sorted(listed))}." in " ".join(said.replace("*", "").split())
