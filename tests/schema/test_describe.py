import pickle
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, NaiveDatetime

from extractkit.errors import SchemaError, UsageError
from extractkit.fields import Grounded, Inferred, Reasoning, Unknown, Verbatim
from extractkit.schema import compile_schema


class Opaque:
    """A class that Pydantic cannot read."""


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    inner: list[Opaque]


class Hook(BaseModel):
    name: str
    call: Callable[[int], int]


class Either(BaseModel):
    value: int | Callable[[int], int]


class Plain(BaseModel):
    name: str


class Later(BaseModel):
    other: "NeverDefined"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("target", [5, "Invoice", None, [Plain], Plain(name="a"), object()])
def test_a_value_is_not_a_target_and_the_error_says_what_is(target: Any) -> None:
    with pytest.raises(UsageError, match="expected a Pydantic model class") as caught:
        compile_schema(target)
    assert not isinstance(caught.value, SchemaError)


def test_an_instance_is_refused_with_the_name_of_its_class() -> None:
    with pytest.raises(UsageError, match="pass the class Plain itself"):
        compile_schema(Plain(name="a"))


@pytest.mark.parametrize("target", [Opaque, Later, list[Opaque]])
def test_a_type_that_pydantic_cannot_read_is_named(target: Any) -> None:
    with pytest.raises(SchemaError, match=r"Opaque|Later"):
        compile_schema(target)


@pytest.mark.parametrize(
    ("target", "pointer"), [(Hook, "/call"), (Holder, "/inner/*"), (Callable[[int], int], "")]
)
def test_a_type_that_no_json_can_hold_is_refused_where_it_stands(target: Any, pointer: str) -> None:
    with pytest.raises(SchemaError, match="cannot come out of a JSON document") as caught:
        compile_schema(target)
    assert caught.value.pointer == pointer
    assert pickle.loads(pickle.dumps(caught.value)).pointer == pointer


def test_an_alternative_that_no_json_can_hold_is_left_out_everywhere() -> None:
    compiled = compile_schema(Either)
    assert compiled.user_schema["properties"]["value"]["anyOf"] == [{"type": "integer"}]
    assert "callable" not in str(compiled.schema).lower()


class Marked(BaseModel):
    thought: Reasoning
    name: Verbatim[str] | None
    total: Grounded[float]
    kind: Literal["a"] | Unknown
    tags: Inferred[list[str]]
    at: AwareDatetime
    on: NaiveDatetime


@pytest.mark.parametrize("dialect", ["json-schema", "llguidance", "outlines-core"])
def test_our_marks_are_never_sent_and_never_part_of_the_users_schema(dialect: str) -> None:
    compiled = compile_schema(Marked, dialect)
    assert "x-extractkit" not in str(compiled.schema)
    assert "x-extractkit" not in str(compiled.user_schema)
    assert "x-extractkit" not in str(compiled.bounded().schema)


class Trap(BaseModel):
    value: dict[str, Any] = {"$defs": False}


def test_a_failure_inside_pydantic_is_told_as_one_of_ours() -> None:
    with pytest.raises(SchemaError, match="Pydantic cannot describe Trap"):
        compile_schema(Trap)


class Tier(IntEnum):
    basic = 1
    gold = 2


class Fees(BaseModel):
    fee: dict[Tier, float]


def test_keys_of_an_integer_enum_are_texts_as_in_every_json_object() -> None:
    compiled = compile_schema(Fees)
    assert compiled.user_schema["properties"]["fee"]["propertyNames"] == {"enum": ["1", "2"]}
    assert compiled.adapter is not None
    assert compiled.adapter.validate_json('{"fee": {"1": 1.5}}').fee == {Tier.basic: 1.5}
