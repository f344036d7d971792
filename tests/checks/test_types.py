"""Pydantic's part: coerced values, the model's validators, places of errors."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyAddress,
    TypeAdapter,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from extractkit import paths
from extractkit.checks._types import count_validators, validate
from extractkit.results import LevelCount, Validity
from tests.checks.test_levels import check, errors


class Score(BaseModel):
    score: float
    note: str = ""


@pytest.mark.parametrize("value", ["NaN", "1.5", "", None, True, [1.0]])
def test_a_float_is_not_made_of_anything_but_a_number(value: Any) -> None:
    outcome = check({"score": value}, Score)
    assert errors(outcome) == [(Validity.SCHEMA, "/score", "type")]
    assert outcome.value is None


def test_numbers_that_are_numbers_are_taken_as_they_are() -> None:
    outcome = check({"score": 1e308, "note": "NaN"}, Score, text="NaN 1e308")
    assert outcome.value == Score(score=1e308, note="NaN")
    assert all(item.level is Validity.GROUNDED for item in outcome.findings)


def test_what_only_lax_mode_takes_is_a_warning_at_its_place() -> None:
    class Count(BaseModel):
        counts: list[int]

    outcome = check({"counts": [1, 2.0]}, Count, text="1 and 2")
    assert outcome.value == Count(counts=[1, 2])
    (finding,) = [item for item in outcome.findings if item.level is Validity.SCHEMA]
    assert (finding.path, finding.code, finding.severity) == ("/counts/1", "coerced", "warning")
    assert outcome.validity is Validity.GROUNDED


def test_explicit_null_and_a_wrong_constant_are_schema_errors() -> None:
    class User(BaseModel):
        type: Literal["person"] = "person"
        name: str
        email: str | None

    assert check({"name": "Olaf", "email": None}, User).value == User(name="Olaf", email=None)
    assert errors(check({"name": "Olaf"}, User)) == [(Validity.SCHEMA, "/email", "required")]
    wrong = check({"type": None, "name": "Olaf", "email": None}, User)
    assert {(level, path) for level, path, _ in errors(wrong)} == {(Validity.SCHEMA, "/type")}


# --- validators ----------------------------------------------------------------------------------


def test_validators_run_once_where_nothing_is_amiss() -> None:
    calls: list[int] = []

    class Counted(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def noted(cls, value: int) -> int:
            calls.append(value)
            return value

    assert check({"n": 3}, Counted).built
    assert calls == [3]


def _custom(value: int) -> int:
    raise PydanticCustomError("too_odd", "{value} is odd", {"value": value})


def _broken(value: int) -> int:
    raise KeyError(value)


def test_custom_errors_are_consistency_and_other_exceptions_name_the_model() -> None:
    class Odd(BaseModel):
        n: Annotated[int, AfterValidator(_custom)]

    class Broken(BaseModel):
        n: Annotated[int, AfterValidator(_broken)]

    assert errors(check({"n": 3}, Odd, text="3")) == [(Validity.CONSISTENT, "/n", "too_odd")]
    outcome = check({"n": 3}, Broken, text="3")
    assert errors(outcome) == [(Validity.CONSISTENT, "", "validator_raised")]
    assert "Broken raised KeyError: 3" in outcome.findings[0].message
    assert outcome.value is None
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(checked=1, failed=1)


def test_type_errors_beyond_the_json_schema_are_schema_errors() -> None:
    class Money(BaseModel):
        amount: Decimal = Field(max_digits=4, decimal_places=2)

    assert check({"amount": "12.50"}, Money).value == Money(amount=Decimal("12.50"))
    assert errors(check({"amount": "12.505"}, Money))[0][:2] == (Validity.SCHEMA, "/amount")


def test_a_value_that_a_validator_made_is_shown_by_its_type() -> None:
    class Made(BaseModel):
        n: Annotated[int, BeforeValidator(lambda _: object())]

    outcome = check({"n": 3}, Made)
    assert errors(outcome) == [(Validity.SCHEMA, "/n", "int_type")]
    assert outcome.findings[0].message.endswith("found of type object")


def test_only_validators_of_the_user_are_counted() -> None:
    class Model(BaseModel):
        a: Annotated[int, BeforeValidator(partial(max, 0)), AfterValidator(abs)]
        b: Decimal = Field(ge=0)
        c: list[dict[str, int]] = []

        @field_validator("b")
        @classmethod
        def positive(cls, value: Decimal, info: ValidationInfo) -> Decimal:
            return value

        @model_validator(mode="after")
        def whole(self) -> Model:
            return self

    assert count_validators(TypeAdapter(Model)) == 4
    assert count_validators(TypeAdapter(list[Score])) == 0


# --- places --------------------------------------------------------------------------------------


def refuse(value: Any) -> Any:
    raise ValueError("refused")


Refused = Annotated[int, AfterValidator(refuse)]


class Cat(BaseModel):
    kind: Literal["cat"]
    cat: Refused = 0
    name: Refused = 0


class Dog(BaseModel):
    kind: Literal["dog"]


class Typed(TypedDict, total=False):
    n: Refused


@dataclasses.dataclass
class Data:
    n: Refused


class Deep(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    either: Refused | list[Refused] | None = None
    named: Refused | None = Field(default=None, alias="theName")
    path: Annotated[int | None, AfterValidator(refuse)] = Field(
        default=None, validation_alias=AliasPath("outer", 0, "inner")
    )
    map: dict[str, Refused] = {}
    keys: dict[Annotated[str, AfterValidator(refuse)], int] = {}
    numbers: dict[int, Refused] = {}
    pair: tuple[str, Refused] | None = None
    unique: set[Refused] = set()
    typed: Typed | None = None
    data: Data | None = None
    own: Annotated[dict[str, int], AfterValidator(refuse)] = {}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"pet": {"kind": "cat", "cat": 1}}, "/pet/cat"),
        ({"pet": {"kind": "cat", "name": 1, "cat": None}}, "/pet/name"),
        ({"either": 1}, "/either"),
        ({"either": [1]}, "/either/0"),
        ({"theName": 1}, "/theName"),
        ({"map": {"a/b~": 1}}, "/map/a~1b~0"),
        ({"map": {"": 1}}, "/map/"),
        ({"keys": {"k": 1}}, "/keys/k"),
        ({"numbers": {"7": 1}}, "/numbers/7"),
        ({"pair": ["a", 1]}, "/pair/1"),
        ({"unique": [1]}, "/unique/0"),
        ({"typed": {"n": 1}}, "/typed/n"),
        ({"data": {"n": 1}}, "/data/n"),
        ({"own": {"own": 1}}, "/own"),
    ],
)
def test_an_error_stands_where_its_value_stands_in_the_document(document: Any, path: str) -> None:
    found = {item.path for item in check(document, Deep).findings if "refused" in item.message}
    assert found == {path}


def test_a_tag_that_looks_like_a_key_is_not_taken_for_one() -> None:
    document = {"kind": "cat", "cat": 1, "name": 2}
    outcome = check(document, Annotated[Cat | Dog, Field(discriminator="kind")])
    assert sorted(path for level, path, _ in errors(outcome) if level is Validity.CONSISTENT) == [
        "/cat",
        "/name",
    ]


def test_a_missing_field_that_only_pydantic_misses_is_named_at_its_place() -> None:
    class Wide(BaseModel):
        model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("required"))
        inner: str

    assert errors(check({"wrong": 1}, Wide)) == [(Validity.SCHEMA, "/inner", "missing")]


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["cat", "x", "2026-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["pet", "kind", "cat", "map", "either", "pair", "typed", "n", "own"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(_json)
def test_any_document_ends_in_a_value_or_in_errors_that_point_into_it(document: Any) -> None:
    outcome = check(document, Deep)
    assert outcome.built or errors(outcome)
    for item in outcome.findings:
        if item.code not in ("required", "missing"):
            paths.get(document, item.path)


@pytest.mark.parametrize(
    ("target", "document", "fits"),
    [
        (float, 10**400, False),
        (list[float], [1.5, -(10**309)], False),
        (int, 10**400, True),
        (float, 10**300, True),
    ],
    ids=["float", "in a list", "int", "large float"],
)
def test_a_number_too_large_for_its_float_is_an_error_and_never_infinite(
    target: Any, document: Any, fits: bool
) -> None:
    typed = validate(TypeAdapter(target), document)
    assert typed.built is fits
    assert [item.code for item in typed.findings] == ([] if fits else ["not_finite"])


class Host(BaseModel):
    address: IPvAnyAddress


def test_what_pydantics_own_types_refuse_counts_at_schema() -> None:
    typed = validate(TypeAdapter(Host), {"address": "hello"})
    assert [(item.level, item.path) for item in typed.findings] == [(Validity.SCHEMA, "/address")]
