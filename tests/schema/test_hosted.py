"""What hosted targets are sent instead, and how each of it comes back."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import jsonschema
import pytest
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    TypeAdapter,
    create_model,
)
from typing_extensions import TypedDict

from extractkit import checks
from extractkit.errors import SchemaError
from extractkit.fields import Reasoning
from extractkit.results import Validity
from extractkit.schema import CompiledSchema, compile_request, compile_schema

HOSTED = ("anthropic", "anthropic-tool", "openai-strict")


def there_and_back(compiled: CompiledSchema, value: Any) -> Any:
    """Return the sent form of a value, which the schema admits and which comes back."""
    lowered = compiled.lower(value)
    jsonschema.Draft202012Validator.check_schema(compiled.schema)
    jsonschema.validate(lowered, compiled.schema)
    assert json.dumps(compiled.lift(lowered)) == json.dumps(value)
    assert compiled.faults(lowered) == ()
    return lowered


def told(compiled: CompiledSchema) -> set[tuple[str, str]]:
    return {(item.pointer, item.before) for item in compiled.rewritten}


class Rate(BaseModel):
    low: float
    high: float


class Prices(BaseModel):
    by_sku: dict[str, Rate]


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_map_travels_as_entries(dialect: str) -> None:
    compiled = compile_schema(Prices, dialect)
    value = {"by_sku": {"B": {"low": 1.5, "high": 2.5}, "A": {"low": 0.5, "high": 9.5}}}
    lowered = there_and_back(compiled, value)
    assert [entry["key"] for entry in lowered["by_sku"]] == ["B", "A"]
    assert ("/by_sku", "an open map") in told(compiled)


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_repeated_key_is_a_fault_and_never_reaches_schema(dialect: str) -> None:
    compiled = compile_schema(dict[str, dict[str, int]], dialect)
    answer = {
        "value": [
            {"key": "a", "value": [{"key": "x", "value": 1}, {"key": "x", "value": 2}]},
        ]
    }
    jsonschema.validate(answer, compiled.schema)
    (fault,) = compiled.faults(answer)
    assert fault.pointer == "/a"
    assert "'x' comes more than once" in fault.message
    assert compiled.lift(answer) == {"a": {"x": 1}}


class Memo(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)

    subject: str
    additional_properties: int = 3


@pytest.mark.parametrize("dialect", HOSTED)
def test_keys_beside_declared_ones_travel_in_a_list_of_their_own(dialect: str) -> None:
    compiled = compile_schema(Memo, dialect)
    value = {"subject": "s", "additional_properties": 3, "tone": 7}
    lowered = there_and_back(compiled, value)
    assert lowered["additional_properties_2"] == [{"key": "tone", "value": 7}]
    answer = {**lowered, "additional_properties_2": [{"key": "subject", "value": 1}]}
    (fault,) = compiled.faults(answer)
    assert "'subject' is declared" in fault.message
    assert compiled.lift(answer)["subject"] == "s"


class Tier(Enum):
    BASIC = "basic"
    GOLD = "gold"


def test_keys_of_an_enum_are_declared_and_those_of_a_pattern_are_held() -> None:
    fees = compile_schema(dict[Tier, int], "openai-strict")
    assert there_and_back(fees, {"gold": 2}) == {"basic": None, "gold": 2}
    codes = compile_schema(dict[Annotated[str, Field(pattern="^[A-Z]{2}$")], int], "openai-strict")
    there_and_back(codes, {"DE": 1})
    assert not jsonschema.Draft202012Validator(codes.schema).is_valid(
        {"value": [{"key": "de", "value": 1}]}
    )


class Point(NamedTuple):
    lat: float
    lon: float


class Site(BaseModel):
    span: tuple[int, int]
    pos: Point
    tagged: tuple[dict[str, int], str]
    many: tuple[int, ...]


@pytest.mark.parametrize("dialect", HOSTED)
def test_tuples_travel_as_objects_of_exactly_their_positions(dialect: str) -> None:
    compiled = compile_schema(Site, dialect)
    value = {"span": [3, 9], "pos": [1.5, 2.5], "tagged": [{"a": 1}, "t"], "many": [1, 2, 3]}
    lowered = there_and_back(compiled, value)
    assert lowered["span"] == {"0": 3, "1": 9}
    assert lowered["many"] == [1, 2, 3]
    assert lowered["tagged"]["0"] == [{"key": "a", "value": 1}]
    for span in ({"0": 3}, {"0": 3, "1": 9, "2": 1}, [3, 9, 1], {"1": 9}):
        answer = {**lowered, "span": span}
        assert not jsonschema.Draft202012Validator(compiled.schema).is_valid(answer)
        outcome = checks.run(compiled, compiled.lift(answer), text="")
        assert outcome.validity < Validity.SCHEMA


def test_a_list_of_fixed_and_further_elements_keeps_its_length() -> None:
    schema = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": {"type": "object", "additionalProperties": {"type": "boolean"}},
    }
    compiled = compile_schema(schema, "openai-strict")
    for value in ([], ["a"], ["a", 1], ["a", 1, {"x": True}, {}]):
        there_and_back(compiled, value)
    broken = {"0": None, "1": 4, "rest": []}
    assert compiled.faults(broken)[0].pointer == ""
    answer = {"0": "a", "1": 4, "rest": [[], [{"key": "k", "value": True}] * 2]}
    assert [fault.pointer for fault in compiled.faults(answer)] == ["/3"]


class Seat(NamedTuple):
    row: int
    letter: str = "q"
    floor: int | None = None
    price: int | None = 5


@pytest.mark.parametrize("dialect", HOSTED)
@pytest.mark.parametrize("target", [Seat, Seat | str, list[Seat]])
def test_positions_with_defaults_may_be_missing_at_the_end(dialect: str, target: Any) -> None:
    compiled = compile_schema(target, dialect)
    assert compiled.unenforced == ()
    adapter = TypeAdapter(target)
    for row in ([1], [1, "q"], [1, "a", None], [1, "a", 2], [1, "a", None, 5], [1, "a", 2, None]):
        value: Any = [row] if target == list[Seat] else row
        lowered = compiled.lower(value)
        jsonschema.validate(lowered, compiled.schema)
        assert compiled.faults(lowered) == ()
        lifted = compiled.lift(lowered)
        assert adapter.validate_python(lifted) == adapter.validate_python(value)
    for row in ([1], [1, "q", None, 5]):
        if target is Seat:
            there_and_back(compiled, row)


def test_a_gap_between_positions_of_a_type_is_its_default() -> None:
    compiled = compile_schema(Seat, "openai-strict")
    answer = {"0": 1, "1": None, "2": 7, "3": []}
    assert compiled.take_back(answer) == ([1, "q", 7], ())


@pytest.mark.parametrize("items", [False, {"type": "integer"}])
def test_a_gap_that_no_list_has_is_told_before_and_is_a_fault(items: Any) -> None:
    integer = {"type": "integer"}
    schema = {"type": "array", "prefixItems": [integer] * 3, "minItems": 1, "items": items}
    compiled = compile_schema(schema, "openai-strict")
    assert [(lost.pointer, lost.keyword) for lost in compiled.unenforced] == [("", "prefixItems")]
    answer: dict[str, Any] = {"0": 1, "1": None, "2": 5}
    if items:
        answer["rest"] = []
    jsonschema.validate(answer, compiled.schema)
    (fault,) = compiled.faults(answer)
    assert "position 1 is missing" in fault.message
    there_and_back(compiled, [1, 2])
    full = compile_schema({**schema, "minItems": 2 if items is False else 3}, "openai-strict")
    assert full.unenforced == ()


@pytest.mark.parametrize("dialect", HOSTED)
@pytest.mark.parametrize(
    ("target", "value"),
    [
        (RootModel[list[int]], [1, 2]),
        (list[Rate], [{"low": 1.5, "high": 2.5}]),
        (Rate | Prices, {"by_sku": {}}),
        (Literal["a", "b"], "b"),
        (int, 7),
        (tuple[int, str], [1, "a"]),
        (dict[str, Any], {"a": None, "b": [1, {"c": "x"}]}),
        (Any, {"free": [1.0, 1, True, None]}),
        (Literal[None], None),
    ],
)
def test_every_root_is_an_object_and_comes_back(dialect: str, target: Any, value: Any) -> None:
    compiled = compile_schema(target, dialect)
    assert compiled.schema["type"] == "object"
    assert compiled.schema["additionalProperties"] is False
    there_and_back(compiled, value)


def test_untyped_places_are_json_texts_and_what_is_none_is_told() -> None:
    compiled = compile_schema(create_model("Free", anything=(Any, ...)), "openai-strict")
    assert there_and_back(compiled, {"anything": {"n": 12345678901234567890, "x": [0.1]}}) == {
        "anything": '{"n": 12345678901234567890, "x": [0.1]}'
    }
    assert compiled.lift({"anything": '"\\ud83d\\ude00 é"'}) == {"anything": "😀 é"}
    lost = ("[1e999]", '"\\ud83d"', '{"\\udc00": 1}')
    for text in ("", "{", '{"a": 1, "a": 2}', "NaN", "1 2", "[" * 100_000, *lost):
        (fault,) = compiled.faults({"anything": text})
        assert fault.pointer == "/anything"
        assert "not exactly one JSON document" in fault.message
        assert compiled.lift({"anything": text}) == {"anything": text}


@pytest.mark.parametrize("dialect", HOSTED)
@pytest.mark.parametrize(
    ("target", "pointer"),
    [(Any, ""), (list[Any], "/*"), (dict[str, object], "/*"), ({}, ""), (Any | None, "")],
)
def test_that_a_text_may_be_no_json_is_told_before(dialect: str, target: Any, pointer: str) -> None:
    compiled = compile_schema(target, dialect)
    assert (pointer, "contentMediaType") in [
        (lost.pointer, lost.keyword) for lost in compiled.unenforced
    ]
    places = {place.pointer: place for place in compiled.explain().places}
    assert places[pointer].outcome == "checked after"
    assert "contentMediaType" not in str(compile_schema(target, "llguidance").unenforced)


class Contact(TypedDict):
    name: str
    nick: NotRequired[str]
    phone: NotRequired[str | None]


def test_openai_writes_every_key_and_absence_comes_back() -> None:
    compiled = compile_schema(Contact, "openai-strict")
    assert compiled.schema["required"] == ["name", "nick", "phone"]
    for value in (
        {"name": "Ida"},
        {"name": "Ida", "nick": "I"},
        {"name": "Ida", "phone": None},
        {"name": "Ida", "nick": "I", "phone": "1"},
    ):
        there_and_back(compiled, value)
    (fault,) = compiled.faults({"name": "Ida", "nick": None, "phone": ["1", "2"]})
    assert "more than one element" in fault.message


def test_a_default_of_null_is_written_as_null() -> None:
    model = create_model("Note", text=(str, ...), by=(str | None, None))
    compiled = compile_schema(model, "openai-strict")
    assert compiled.lower({"text": "t"}) == {"text": "t", "by": None}
    there_and_back(compiled, {"text": "t", "by": None})


def test_anthropic_keeps_within_its_counts_in_declared_order() -> None:
    fields: dict[str, Any] = {f"f{i}": (str | None, None) for i in range(30)}
    fields |= {f"g{i}": (int, 1) for i in range(30)}
    compiled = compile_schema(create_model("Wide", **fields), "anthropic")
    text = json.dumps(compiled.schema)
    assert text.count('"anyOf"') <= 16
    assert len(fields) - len(compiled.schema["required"]) <= 24
    there_and_back(compiled, {**{f"f{i}": None for i in range(30)}, "g3": 5})
    there_and_back(compiled, {**{f"f{i}": "x" for i in range(30)}, "g29": 5})
    assert any(item.keyword == "maxItems" for item in compiled.unenforced)


def test_alternatives_beyond_the_count_become_lists() -> None:
    fields: dict[str, Any] = {f"f{i}": (int | list[str] | None, ...) for i in range(20)}
    compiled = compile_schema(create_model("Many", **fields), "anthropic")
    assert json.dumps(compiled.schema).count('"anyOf"') <= 16
    for item in (3, ["a"], [], None):
        there_and_back(compiled, dict.fromkeys(fields, item))
    listed = (
        next(
            name for name, part in compiled.schema["properties"].items() if part["type"] == "object"
        )
        if any("type" in part for part in compiled.schema["properties"].values())
        else ""
    )
    answer = compiled.lower(dict.fromkeys(fields))
    answer[listed] = {key: [1] for key in answer[listed]}
    assert [fault.pointer for fault in compiled.faults(answer)] == [f"/{listed}"]


def test_the_limits_count_over_a_whole_request() -> None:
    def model(index: int) -> Any:
        fields: dict[str, Any] = {f"f{i}": (str | None, None) for i in range(9)}
        return create_model(f"Tool{index}", **fields, k=(int, 3))

    tools = [(model(index), "anthropic-tool") for index in range(4)]
    compiled = compile_request([*tools, (model(9), "anthropic"), (Rate, "openai-strict")])
    hosted = [each for each in compiled if each.dialect != "openai-strict"]
    assert sum(json.dumps(each.schema).count('"anyOf"') for each in hosted) <= 16
    for each in hosted:
        there_and_back(each, {f"f{i}": None for i in range(9)} | {"k": 5})
    alone = compile_request(tools[:1])
    assert alone[0] is compile_schema(*tools[0])
    with pytest.raises(SchemaError, match="21 strict tools"):
        compile_request([(Rate, "anthropic-tool")] * 21)
    assert compile_request([(Rate, "openai-strict")])[0].dialect == "openai-strict"


def test_texts_of_decimals_keep_every_digit() -> None:
    compiled = compile_schema(create_model("Sum", total=(Decimal, ...)), "openai-strict")
    digits = "12345678901234567890.123456789012345678901234567890"
    there_and_back(compiled, {"total": digits})
    assert compiled.lower({"total": 12.5}) == {"total": "12.5"}
    assert compiled.adapter is not None
    assert compiled.adapter.validate_python(compiled.lift({"total": digits})).total == Decimal(
        digits
    )


def test_dates_are_asked_for_with_an_offset_only_where_the_type_wants_one() -> None:
    model = create_model(
        "When", at=(datetime.datetime, ...), sure=(AwareDatetime, ...), day=(datetime.date, ...),
        length=(datetime.timedelta, ...),
    )  # fmt: skip
    sent = compile_schema(model, "openai-strict").schema["properties"]
    assert "pattern" in sent["at"]
    assert sent["sure"]["format"] == "date-time"
    assert sent["day"] == {"type": "string", "format": "date"}
    value = {"at": "2026-01-02T03:04:05", "sure": "2026-01-02T03:04:05Z", "day": "2026-01-02"}
    for length in ("-P1DT0.5S", "P1Y35DT1H", "PT2H1S"):
        there_and_back(compile_schema(model, "openai-strict"), {**value, "length": length})


MIXED: dict[str, Any] = {"enum": ["a", 1, 1.5, True, None, {"x": 1}, [1], '{"x": 1}']}


@pytest.mark.parametrize("dialect", HOSTED)
@pytest.mark.parametrize("value", MIXED["enum"])
def test_choices_of_every_kind_come_back(dialect: str, value: Any) -> None:
    compiled = compile_schema({"type": "object", "properties": {"c": MIXED}}, dialect)
    there_and_back(compiled, {"c": value})
    there_and_back(compiled, {})


def test_anthropic_may_write_a_choice_in_other_letter_case() -> None:
    compiled = compile_schema({"enum": ["EUR", "usd", "Aa", "aA", 1]}, "anthropic")
    lifted = [compiled.lift({"value": text}) for text in ("eur", "USD", "aa", "Aa", "x", 1)]
    assert lifted == ["EUR", "usd", "aa", "Aa", "x", 1]
    plain = compile_schema({"enum": [1, 2]}, "anthropic")
    assert all("letter case" not in item.after for item in plain.rewritten)


def test_an_enum_that_is_too_large_is_told_and_left_open() -> None:
    many = {"enum": [f"value {i}" for i in range(1001)]}
    schema = {"type": "object", "properties": {"many": many, "few": {"enum": ["a", "b"]}}}
    compiled = compile_schema(schema, "openai-strict")
    assert [(item.pointer, item.keyword) for item in compiled.unenforced] == [("/many", "enum")]
    there_and_back(compiled, {"many": "value 1000", "few": "a"})
    assert "and 981 more" in json.dumps(compiled.schema)
    mixed = compile_schema({"enum": [*range(600), *map(str, range(600))]}, "openai-strict")
    there_and_back(mixed, 3)
    there_and_back(mixed, "3")


@pytest.mark.parametrize("dialect", HOSTED)
def test_a_large_choice_of_objects_is_told_and_comes_back(dialect: str) -> None:
    compiled = compile_schema({"enum": [{"a": number} for number in range(1500)]}, dialect)
    there_and_back(compiled, {"a": 1400})
    lost = {item.keyword for item in compiled.unenforced}
    assert lost == ({"enum"} if dialect == "openai-strict" else set())
    assert compiled.lift({"value": "another text"}) == "another text"


@pytest.mark.parametrize("dialect", ["anthropic", "anthropic-tool"])
def test_illegal_keys_get_legal_names(dialect: str) -> None:
    keys = ["", "a b", "a/b", "a_b", "é", "x" * 65, "x" * 66, "$ref", "title", "type", "default"]
    schema = {
        "type": "object",
        "properties": {key: {"type": "integer"} for key in keys},
        "required": keys,
    }
    compiled = compile_schema(schema, dialect)
    there_and_back(compiled, {key: index for index, key in enumerate(keys)})
    sent = list(compiled.schema["properties"])
    assert len(set(sent)) == len(keys)
    assert all(1 <= len(name) <= 64 and name.isascii() for name in sent)
    assert {"a_b", "title", "type", "default"} <= set(sent)
    answer = compiled.lower(dict.fromkeys(keys, 0)) | {sent[1]: "?"}
    assert compiled.lift(answer)["a b"] == "?"


class Part(BaseModel):
    name: str
    subparts: list[Part] = []


def test_recursion_is_bounded_where_it_is_not_taken() -> None:
    compiled = compile_schema(Part, "anthropic")
    value: dict[str, Any] = {"name": "d", "subparts": []}
    for name in "cba":
        value = {"name": name, "subparts": [value]}
    there_and_back(compiled, value)
    assert ("", "recursion without end") in told(compiled)
    with pytest.raises(SchemaError, match="recursion is sent to 4 levels only") as caught:
        compiled.lower({"name": "z", "subparts": [value]})
    assert caught.value.pointer == "/subparts/0/subparts/0/subparts/0/subparts"
    openai = compile_schema(Part, "openai-strict")
    there_and_back(openai, {"name": "z", "subparts": [value]})


def test_recursion_that_cannot_end_is_refused_with_its_place() -> None:
    schema = {
        "$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}},
                        "required": ["a"]}},
        "type": "object", "properties": {"top": {"$ref": "#/$defs/A"}}, "required": ["top"],
    }  # fmt: skip
    with pytest.raises(SchemaError, match="no recursion") as caught:
        compile_schema(schema, "anthropic")
    assert caught.value.pointer == "/top"


class Cat(BaseModel):
    names: dict[str, int]


class Dog(BaseModel):
    names: dict[str, str]


@pytest.mark.parametrize("dialect", HOSTED)
def test_alternatives_that_look_alike_are_named(dialect: str) -> None:
    compiled = compile_schema(Cat | Dog, dialect)
    for value in ({"names": {}}, {"names": {"a": 1}}, {"names": {"a": "b"}}):
        there_and_back(compiled, value)
    apart = compile_schema(dict[str, int] | list[int] | str, dialect)
    for other in ({}, [], {"a": 1}, [1], "x"):
        there_and_back(apart, other)


class Person(BaseModel):
    """A person."""

    name: str


class Letter(BaseModel):
    sender: Person = Field(description="who writes")
    receiver: Person = Field(description="who reads")
    carrier: Person


def test_descriptions_beside_references_are_kept_and_references_stand_alone() -> None:
    compiled = compile_schema(Letter, "openai-strict")
    references = [part["$ref"] for part in compiled.schema["properties"].values()]
    assert all(set(part) == {"$ref"} for part in compiled.schema["properties"].values())
    said = {name: part.get("description") for name, part in compiled.schema["$defs"].items()}
    assert [said[ref.removeprefix("#/$defs/")] for ref in references] == [
        "who writes (A person.)",
        "who reads (A person.)",
        "A person.",
    ]


def test_a_description_goes_one_level_up_where_a_copy_would_be_counted() -> None:
    class Inner(BaseModel):
        a: int | str

    class Outer(BaseModel):
        one: Inner = Field(description="the first")
        more: list[Annotated[Inner, Field(description="another")]]

    schema = compile_schema(Outer, "anthropic").schema
    assert "one: the first" in schema["description"]
    assert "another" in schema["properties"]["more"]["description"]
    assert json.dumps(schema).count('"anyOf"') == 1


def test_objects_deeper_than_the_target_takes_stand_in_definitions() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = 7
    for _ in range(25):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        value = {"a": value}
    compiled = compile_schema(schema, "openai-strict")
    assert len(compiled.schema["$defs"]) == 2
    there_and_back(compiled, value)


class Judgement(BaseModel):
    answer: Literal["yes", "no"]
    why: Reasoning


@pytest.mark.parametrize("dialect", HOSTED)
def test_reasoning_is_written_first(dialect: str) -> None:
    compiled = compile_schema(Judgement, dialect)
    assert list(compiled.schema["properties"]) == compiled.schema["required"] == ["why", "answer"]
    assert list(compiled.lower({"answer": "yes", "why": "x"})) == ["why", "answer"]


def test_what_is_not_enforced_is_told_twice() -> None:
    model = create_model(
        "Told",
        code=(Annotated[str, Field(max_length=3, pattern=r"^x\bx")], ...),
        tags=(Annotated[list[str], Field(min_length=2, max_length=5)], ...),
        count=(Annotated[int, Field(ge=0, le=9)], ...),
    )
    lost = {
        dialect: {
            (item.pointer, item.keyword) for item in compile_schema(model, dialect).unenforced
        }
        for dialect in HOSTED
    }
    assert lost["openai-strict"] == {("/code", "maxLength"), ("/code", "pattern")}
    assert lost["anthropic"] == lost["openai-strict"] | {
        ("/tags", "minItems"), ("/tags", "maxItems"), ("/count", "minimum"), ("/count", "maximum"),
    }  # fmt: skip
    sent = compile_schema(model, "anthropic").schema["properties"]
    assert "maximum: 9" in sent["count"]["description"]
    assert sent["tags"]["minItems"] == 1


@pytest.mark.parametrize("dialect", HOSTED)
def test_what_no_value_fits_is_left_out_or_refused(dialect: str) -> None:
    never = {"type": "object", "properties": {"b": False}, "required": ["b"]}
    many = {"type": "array", "items": never}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": never, "many": many, "c": {"type": "integer"}, "d": False},
        "required": ["many", "c"],
    }
    compiled = compile_schema(schema, dialect)
    assert list(compiled.schema["properties"]) == ["many", "c"]
    there_and_back(compiled, {"many": [], "c": 1})
    with pytest.raises(SchemaError, match="no value fits here"):
        compile_schema({**schema, "required": ["a"]}, dialect)
    some = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "required": ["x"]}
    with pytest.raises(SchemaError, match="no value fits here") as caught:
        compile_schema({**some, "$defs": {"n": False}}, dialect)
    assert caught.value.pointer == "/x"


def test_more_than_a_target_takes_is_refused_in_numbers() -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(5001)}}
    with pytest.raises(SchemaError, match="5001 properties, and openai-strict takes 5000"):
        compile_schema(schema, "openai-strict")
    long = {"type": "object", "properties": {"x" * 120_001: {"type": "integer"}}}
    with pytest.raises(SchemaError, match="characters in names and choices"):
        compile_schema(long, "openai-strict")


def test_the_bytes_are_the_schema_in_its_order() -> None:
    compiled = compile_schema(Letter, "openai-strict")
    assert json.loads(compiled.encoded) == compiled.schema
    assert (
        compiled.encoded
        == json.dumps(compiled.schema, ensure_ascii=False, separators=(",", ":")).encode()
    )


def test_a_table_says_what_became_of_each_place() -> None:
    explanation = compile_schema(Part, "anthropic").explain()
    rows = {place.pointer: place for place in explanation.places}
    assert rows["/name"].outcome == "kept"
    assert rows[""].outcome == "rewritten"
    assert rows["/subparts/*"].kind == "Part, as above"
    assert "recursion without end -> 4 levels of it" in str(explanation)
    cut = compile_schema(
        {"type": "object", "properties": {f"p{i}": {} for i in range(3000)}}, "json-schema"
    ).explain()
    assert not cut.is_whole
    assert str(cut).endswith("only the first 2000 places are shown")
