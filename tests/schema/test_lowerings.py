"""There and back: each rewriting gives a value in the sent form and takes it back exactly."""

import json
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired

import jsonschema
import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NaiveDatetime, TypeAdapter
from typing_extensions import TypedDict

from extractkit.errors import SchemaError
from extractkit.fields import Reasoning
from extractkit.schema import CompiledSchema, compile_schema
from tests.schema.engine import admits, admits_text


def there_and_back(compiled: CompiledSchema, value: Any) -> Any:
    before = json.dumps(value)
    lowered = compiled.lower(value)
    assert json.dumps(value) == before, "the caller's value was changed"
    assert admits(compiled.schema, lowered), lowered
    jsonschema.validate(lowered, compiled.schema)
    assert compiled.lift(lowered) == value
    return lowered


class Cur(str, Enum):
    EUR = "EUR"
    USD = "USD"


class Line(BaseModel):
    label: str
    qty: int = 1


class Bill(BaseModel):
    line: Line
    currency: Cur = Cur.EUR
    note: str | None = None


def test_null_stands_for_the_absence_of_a_key_that_cannot_be_null() -> None:
    compiled = compile_schema(Bill, "llguidance")
    lowered = there_and_back(compiled, {"line": {"label": "a"}})
    assert lowered == {"line": {"label": "a", "qty": None}, "currency": None}
    assert compiled.adapter is not None
    bill = compiled.adapter.validate_python(compiled.lift(lowered))
    assert (bill.line.qty, bill.currency, bill.note) == (1, Cur.EUR, None)
    told = {(item.pointer, item.before) for item in compiled.rewritten}
    assert {("/line/qty", "optional key"), ("/currency", "optional key")} <= told


def test_a_key_that_can_be_null_keeps_null_and_absence_apart() -> None:
    compiled = compile_schema(Bill, "llguidance")
    line, currency = {"label": "a", "qty": 2}, "USD"
    for value in (
        {"line": line, "currency": currency},
        {"line": line, "currency": currency, "note": None},
        {"line": line, "currency": currency, "note": "n"},
    ):
        assert there_and_back(compiled, value) == value
    assert "note" not in compiled.schema["required"]
    assert compiled.bounded().schema["required"] == ["line", "currency", "note"]


class Contact(TypedDict):
    name: str
    nick: NotRequired[str]


def test_a_key_that_need_not_be_there_comes_back_absent_and_not_null() -> None:
    compiled = compile_schema(list[Contact], "llguidance")
    assert there_and_back(compiled, [{"name": "Ida"}]) == [{"name": "Ida", "nick": None}]
    assert compiled.lift([{"name": "Ida", "nick": None}]) == [{"name": "Ida"}]
    assert compiled.lift([{"name": "Ida", "nick": "I"}]) == [{"name": "Ida", "nick": "I"}]
    plain = compile_schema(Contact)
    assert not jsonschema.Draft202012Validator(plain.schema).is_valid({"name": "a", "nick": None})


def test_lifting_is_free_where_nothing_was_rewritten() -> None:
    document = {"verdict": "x"}
    schema = {"type": "object", "properties": {"verdict": {}}, "required": ["verdict"]}
    assert compile_schema(schema, "llguidance").lift(document) is document


def test_the_plain_dialect_leaves_keys_optional() -> None:
    compiled = compile_schema(Bill)
    assert compiled.schema["required"] == ["line"]
    assert compiled.rewritten == compiled.unenforced == ()
    assert compiled.lower({"line": {"label": "a"}}) == {"line": {"label": "a"}}


class Cat(BaseModel):
    name: str | None
    lives: int = 9


class Dog(BaseModel):
    name: str | None
    lives: int | None = 9


def test_alternatives_that_could_be_confused_keep_their_optional_keys() -> None:
    compiled = compile_schema(Cat | Dog, "llguidance")
    for value in ({"name": "a"}, {"name": "a", "lives": None}, {"name": None, "lives": 3}):
        assert there_and_back(compiled, value) == value
    deep = compile_schema(dict[str, list[Cat]] | dict[str, list[Dog]], "llguidance")
    there_and_back(deep, {"k": [{"name": None}, {"name": "x", "lives": None}]})


class Wire(BaseModel):
    kind: Literal["wire"]
    iban: str
    fee: float = 0


class Card(BaseModel):
    kind: Literal["card"] = "card"
    last4: str
    fee: float | None = 0


class Pay(BaseModel):
    method: Annotated[Wire | Card, Field(discriminator="kind")]


def test_a_tagged_union_becomes_anyof_with_the_same_verdicts() -> None:
    compiled = compile_schema(Pay, "llguidance")
    text = json.dumps(compiled.schema)
    assert "oneOf" not in text
    assert "discriminator" not in text
    assert compiled.unenforced == ()
    assert there_and_back(compiled, {"method": {"kind": "wire", "iban": "x"}}) == {
        "method": {"kind": "wire", "iban": "x", "fee": None}
    }
    there_and_back(compiled, {"method": {"kind": "card", "last4": "1", "fee": None}})
    for bad in ({"kind": "card", "iban": "x", "fee": None}, {"kind": "cash"}):
        assert not admits(compiled.schema, {"method": bad})
    assert admits(compiled.bounded().schema, {"method": {"kind": "card", "last4": "1", "fee": 1}})
    assert not admits(compiled.bounded().schema, {"method": {"last4": "1", "fee": 1}})


class Memo(BaseModel):
    model_config = ConfigDict(extra="allow")
    subject: str


class Folder(BaseModel):
    memo: Memo
    counts: dict[str, int]


def test_what_is_open_on_purpose_stays_open_and_the_rest_is_closed() -> None:
    before = json.dumps(Folder.model_json_schema())
    compiled = compile_schema(Folder, "llguidance")
    there_and_back(compiled, {"memo": {"subject": "s", "tone": "dry"}, "counts": {"a": 1}})
    assert not admits(compiled.schema, {"memo": {"subject": "s"}, "counts": {}, "z": 1})
    assert [item.pointer for item in compiled.rewritten] == [""]
    assert json.dumps(Folder.model_json_schema()) == before


class Tier(IntEnum):
    basic = 1
    gold = 2


class Rate(BaseModel):
    low: float
    high: float


class Prices(BaseModel):
    by_sku: dict[str, Rate]
    fee: dict[Tier, float]


def test_maps_stay_maps_and_integer_keys_travel_as_texts() -> None:
    compiled = compile_schema(Prices, "llguidance")
    value = {"by_sku": {"AX1": {"low": 1, "high": 2}}, "fee": {"1": 1.5}}
    lowered = there_and_back(compiled, value)
    assert lowered["fee"] == {"1": 1.5, "2": None}
    assert not admits(compiled.schema, {"by_sku": {}, "fee": {"1": 1.5, "2": None, "3": 1.5}})
    assert compiled.adapter is not None
    assert compiled.adapter.validate_python(value).fee == {Tier.basic: 1.5}
    assert {("/by_sku", "uniqueKeys")} == {
        (loss.pointer, loss.keyword) for loss in compiled.unenforced
    }


class Review(BaseModel):
    stars: Literal[1, 2, 3]
    tier: Tier
    verified: Literal[True]


def test_integer_and_boolean_literals_stay_what_they_are() -> None:
    compiled = compile_schema(Review, "llguidance")
    there_and_back(compiled, {"stars": 2, "tier": 2, "verified": True})
    assert not admits(compiled.schema, {"stars": "2", "tier": 2, "verified": True})
    assert not admits(compiled.schema, {"stars": 4, "tier": 2, "verified": True})
    assert not admits(compiled.schema, {"stars": 2, "tier": 2, "verified": 1})


class Part(BaseModel):
    name: str
    subparts: "list[Part]" = []


def test_recursion_stays_and_every_reference_leads_somewhere() -> None:
    compiled = compile_schema(Part, "llguidance")
    deep = {"name": "a", "subparts": [{"name": "b", "subparts": [{"name": "c"}]}]}
    there_and_back(compiled, deep)
    broken = {"name": "a", "subparts": [{"name": "b", "subparts": [{"subparts": None}]}]}
    assert not admits(compiled.schema, broken)


class Answer(BaseModel):
    verdict: str
    thought: Reasoning | None = None
    score: int


@pytest.mark.parametrize("dialect", ["json-schema", "llguidance", "outlines-core"])
def test_reasoning_is_written_before_the_answers(dialect: str) -> None:
    compiled = compile_schema(Answer, dialect)
    assert list(compiled.schema["properties"]) == ["thought", "verdict", "score"]
    assert [(i.pointer, i.after) for i in compiled.rewritten if "reasoning" in i.before] == [
        ("/thought", "written first")
    ]
    value = {"verdict": "v", "thought": "t", "score": 1}
    assert list(compiled.lower(value)) == ["thought", "verdict", "score"]
    assert compiled.lift(compiled.lower(value)) == value


class Times(BaseModel):
    anytime: "list[str]" = []
    aware: AwareDatetime
    naive: NaiveDatetime


def test_a_date_time_needs_an_offset_only_where_the_type_does() -> None:
    schema = compile_schema(Times, "llguidance").schema
    good = {"anytime": None, "aware": "2024-02-29T10:00:00Z", "naive": "2024-02-29T10:00:00"}
    assert admits(schema, good)
    assert not admits(schema, {**good, "aware": "2024-02-29T10:00:00"})
    assert not admits(schema, {**good, "naive": "2024-02-29T10:00:00Z"})


class Amount(BaseModel):
    amount: Decimal
    price: Decimal = Field(decimal_places=2)


@pytest.mark.parametrize("text", ["12.50", "-0.1", "1E+2", "0", ".5", "1234567890123456789"])
def test_a_decimal_is_a_number_or_its_digits_and_no_other_text(text: str) -> None:
    compiled = compile_schema(Amount, "llguidance")
    there_and_back(compiled, {"amount": text, "price": 2})
    assert Decimal(text).is_finite()
    assert not admits(compiled.schema, {"amount": "abc", "price": 1})
    bounded = compiled.bounded().schema
    assert admits_text(bounded, '{"amount": 1.123456, "price": 1.25}')
    assert not admits_text(bounded, '{"amount": 1, "price": 1.255}')


def test_losses_in_a_shared_definition_are_told_at_every_place() -> None:
    class Address(BaseModel):
        tags: set[str]

    class Deal(BaseModel):
        seller: Address
        buyers: list[Address]

    compiled = compile_schema(Deal, "llguidance")
    assert [loss.pointer for loss in compiled.unenforced] == ["/seller/tags", "/buyers/*/tags"]


def test_a_lost_keyword_is_told_to_the_model_beside_the_users_words() -> None:
    compiled = compile_schema(
        {"type": "string", "description": "A name", "not": {"const": "x"}}, "llguidance"
    )
    assert compiled.schema == {"type": "string", "description": 'A name (not: {"const": "x"})'}


ALL_OF: list[tuple[Any, Any, Any]] = [
    (
        [
            {"type": "integer", "minimum": 1, "multipleOf": 2},
            {"type": "number", "maximum": 9, "multipleOf": 3},
        ],
        {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 6},
        6,
    ),
    (
        [
            {"type": "string", "minLength": 1, "pattern": "^a"},
            {"type": ["string", "null"], "maxLength": 3},
        ],
        {"type": "string", "pattern": "^a", "minLength": 1, "maxLength": 3},
        "ab",
    ),
    (
        [
            {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            {"prefixItems": [{"minimum": 5}], "maxItems": 2},
        ],
        {
            "type": "array",
            "prefixItems": [{"type": "integer", "minimum": 5}],
            "items": {"type": "integer"},
            "minItems": 1,
            "maxItems": 2,
        },
        [5, 1],
    ),
    ([{"enum": [1, "a", None]}, {"type": ["string", "null"]}], {"enum": ["a", None]}, "a"),
    ([{"type": "boolean"}, {"type": "boolean"}, {}], {"type": "boolean"}, True),
    ([{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "null"}], {"type": "null"}, None),
]


@pytest.mark.parametrize(("parts", "merged", "value"), ALL_OF)
def test_an_all_of_is_merged_where_one_schema_says_the_same(
    parts: Any, merged: Any, value: Any
) -> None:
    compiled = compile_schema({"allOf": parts}, "llguidance")
    assert compiled.schema == merged
    there_and_back(compiled, value)
    assert compile_schema({"allOf": parts}).schema["allOf"]


def test_objects_of_an_all_of_are_merged_before_they_are_closed() -> None:
    schema = {
        "description": "D",
        "allOf": [
            {"$ref": "#/$defs/Base"},
            {"properties": {"b": {"type": "string"}, "a": {"minimum": 2}}, "required": ["b", "c"]},
        ],
        "$defs": {
            "Base": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "c": {"type": "null"}},
            }
        },
    }
    compiled = compile_schema(schema, "llguidance")
    there_and_back(compiled, {"a": 2, "c": None, "b": "x"})
    assert there_and_back(compiled, {"c": None, "b": "x"})["a"] is None
    assert not admits(compiled.schema, {"a": 1, "c": None, "b": "x"})
    assert list(compiled.schema["properties"]) == ["a", "c", "b"]
    assert "$defs" not in compiled.schema
    assert compiled.schema["description"] == "D"


def test_an_all_of_that_cannot_be_merged_is_kept_or_told() -> None:
    schema = {"allOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}]}
    compiled = compile_schema(schema, "llguidance")
    assert admits(compiled.schema, "axb")
    assert not admits(compiled.schema, "axc")
    assert compiled.bounded().unbounded
    other = compile_schema(schema, "outlines-core")
    assert ("", "allOf") in [(loss.pointer, loss.keyword) for loss in other.unenforced]


def test_a_recursive_all_of_ends() -> None:
    schema = {
        "$ref": "#/$defs/T",
        "$defs": {
            "T": {
                "allOf": [
                    {"type": "object", "properties": {"v": {"type": "integer"}}},
                    {"properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/T"}]}}},
                ]
            }
        },
    }
    compiled = compile_schema(schema, "llguidance")
    there_and_back(compiled, {"v": 1, "next": {"next": None}})


def test_a_union_inside_an_all_of_is_spread_over_its_other_parts() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "oneOf": [
            {"properties": {"k": {"const": "a"}}, "required": ["k"]},
            {"properties": {"k": {"const": "b"}}, "required": ["k", "n"]},
        ],
    }
    compiled = compile_schema(schema, "llguidance")
    assert compiled.unenforced == ()
    assert there_and_back(compiled, {"k": "a"}) == {"k": "a", "n": None}
    there_and_back(compiled, {"k": "b", "n": 1})
    assert not admits(compiled.schema, {"k": "b", "n": None})


def test_outlines_core_is_told_without_what_it_ignores() -> None:
    class Price(BaseModel):
        amount: float = Field(ge=0, lt=10)
        count: int = Field(multiple_of=5)
        tags: set[str]
        code: Annotated[str, Field(pattern="[0-9]{2}")]
        by: dict[Cur, int]

    compiled = compile_schema(Price, "outlines-core")
    assert {(loss.pointer, loss.keyword) for loss in compiled.unenforced} == {
        ("/amount", "minimum"),
        ("/amount", "exclusiveMaximum"),
        ("/count", "multipleOf"),
        ("/tags", "uniqueItems"),
        ("/code", "pattern"),
        ("/by", "propertyNames"),
        ("/by", "uniqueKeys"),
    }
    assert compiled.schema["properties"]["amount"]["type"] == "number"
    assert "minimum: 0" in compiled.schema["properties"]["amount"]["description"]


def test_an_answer_that_does_not_fit_is_passed_on_as_it_is() -> None:
    compiled = compile_schema(Bill, "llguidance")
    for answer in (None, 3, [], {"line": 3}, {"line": {"label": 1}}, {"line": {}, "z": [{}]}):
        assert compiled.lift(answer) == answer


@pytest.mark.parametrize("value", [None, 3, [], {"line": 3}, {"line": {"label": ["a"]}}])
def test_a_value_of_another_type_is_refused(value: Any) -> None:
    compiled = compile_schema(Bill, "llguidance")
    with pytest.raises(SchemaError, match="which it cannot be"):
        compiled.lower(value)


def test_a_key_that_cannot_be_sent_is_refused_with_its_place() -> None:
    compiled = compile_schema(Bill, "llguidance")
    with pytest.raises(SchemaError, match="/line/z: this value cannot be sent") as caught:
        compiled.lower({"line": {"label": "a", "z": [{}]}})
    assert caught.value.pointer == "/line/z"


def _nested(levels: int) -> Any:
    document: Any = {"name": "x", "subparts": None}
    for _ in range(levels):
        document = {"name": "x", "subparts": [document]}
    return document


def test_deep_documents_are_taken_back_and_bottomless_ones_are_told() -> None:
    compiled = compile_schema(Part, "llguidance")
    lifted = compiled.lift(_nested(100))
    assert compiled.faults(_nested(100)) == ()
    depth = 0
    while lifted.get("subparts"):
        lifted, depth = lifted["subparts"][0], depth + 1
    assert depth == 100
    assert lifted == {"name": "x"}
    bottomless = _nested(5_000)
    assert compiled.lift(bottomless) is bottomless
    (fault,) = compiled.faults(bottomless)
    assert "nested too deeply" in fault.message
    with pytest.raises(SchemaError, match="nested too deeply"):
        compiled.lower(bottomless)


def test_unions_of_scalars_and_containers_are_told_apart_by_type() -> None:
    target = TypeAdapter(int | list[Line] | Line | None)
    compiled = compile_schema(int | list[Line] | Line | None, "llguidance")
    for value in (3, None, [{"label": "a"}], {"label": "a"}):
        there_and_back(compiled, value)
        target.validate_python(compiled.lift(compiled.lower(value)))


KEPT_APART: list[tuple[list[Any], Any]] = [
    ([{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "b$"}], "ab"),
    ([{"type": "string", "format": "date"}, {"type": "string", "format": "email"}], "x"),
    ([{"type": "number", "multipleOf": 0.5}, {"type": "number", "multipleOf": 0.3}], 3),
]


@pytest.mark.parametrize(("parts", "value"), KEPT_APART)
def test_scalars_that_cannot_be_merged_are_left_to_the_engine(parts: list[Any], value: Any) -> None:
    compiled = compile_schema({"allOf": parts}, "llguidance")
    assert len(compiled.schema["allOf"]) == 2
    assert compiled.unenforced == ()
    assert compiled.lift(compiled.lower(value)) == value


@pytest.mark.parametrize(
    "parts",
    [
        [{"propertyNames": {"pattern": "^a"}, "type": "object"}, {"required": ["a"]}],
        [
            {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
            {"type": "object", "patternProperties": {"^b": {"type": "integer"}}},
        ],
        [
            {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
            {"type": "object", "properties": {"ab": {"type": "integer"}}},
        ],
        [{"type": "object", "not": {"const": 1}}, {"minProperties": 1, "not": {"const": 2}}],
        [{"enum": list(range(9)), "not": {"const": 1}}, {"type": "integer", "not": {"const": 2}}],
        [
            {"anyOf": [{"maxLength": i, "type": "string"} for i in range(100)]},
            {"minLength": 1, "type": "string"},
        ],
    ],
)
def test_an_all_of_that_no_engine_surely_holds_is_told_as_lost(parts: list[Any]) -> None:
    compiled = compile_schema({"allOf": parts}, "llguidance")
    assert ("", "allOf") in [(loss.pointer, loss.keyword) for loss in compiled.unenforced]
    assert admits(compiled.bounded().schema, compiled.bounded().minimal)


def test_parts_that_exclude_each_other_have_no_document() -> None:
    for parts in (
        [{"type": "string"}, {"type": "integer"}],
        [{"const": 1}, {"type": "string"}],
        [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "integer"}],
        [False, {"type": "string"}],
    ):
        with pytest.raises(SchemaError, match="no finite document"):
            compile_schema({"allOf": parts}, "llguidance").bounded()


def test_references_into_the_same_definition_stay_references() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}, {"type": "object"}],
        "$defs": {
            "A": {
                "type": "object",
                "properties": {"a": {"allOf": [{"type": "object"}, {"$ref": "#/$defs/A"}]}},
            }
        },
    }
    compiled = compile_schema(schema, "llguidance")
    assert compiled.schema["$ref"] == "#/$defs/A"
    there_and_back(compiled, {"a": {"a": {}}})


def test_a_definition_with_an_all_of_of_its_own_is_merged_whole() -> None:
    part = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    schema = {
        "allOf": [{"$ref": "#/$defs/A"}, {"type": "object", "properties": {"c": {"const": 1}}}],
        "$defs": {
            "A": {
                "type": "object",
                "properties": {
                    "b": {"allOf": [part, {"type": "object", "required": ["y"]}]},
                    "s": {
                        "type": "string",
                        "allOf": [{"pattern": "^a"}, {"type": "string", "pattern": "b$"}],
                    },
                },
            }
        },
    }
    compiled = compile_schema(schema, "llguidance")
    there_and_back(compiled, {"b": {"x": 1, "y": 2}, "c": 1, "s": "ab"})
    assert not admits(compiled.schema, {"b": {"x": 1}, "s": "ab", "c": 1})


def test_bounds_beyond_what_the_engine_counts_are_told_as_lost() -> None:
    class Big(BaseModel):
        n: int = Field(ge=-(2**63), le=2**63)

    compiled = compile_schema(Big, "llguidance")
    assert [loss.keyword for loss in compiled.unenforced] == ["minimum", "maximum"]
    there_and_back(compiled, {"n": 12})


def test_keys_that_may_be_anything_stay_as_they_are() -> None:
    schema = {"type": "object", "propertyNames": True, "additionalProperties": {"type": "integer"}}
    compiled = compile_schema(schema, "llguidance")
    assert "patternProperties" not in compiled.schema
    there_and_back(compiled, {"any key": 1})
    bounded = {"type": "object", "propertyNames": {"type": "string"}}
    assert "propertyNames" not in compile_schema(bounded, "llguidance").schema
    text = {"type": "object", "propertyNames": {"type": "string", "minLength": 2, "pattern": "^a"}}
    lost = compile_schema(text, "llguidance").unenforced
    assert ("", "propertyNames") in [(loss.pointer, loss.keyword) for loss in lost]
