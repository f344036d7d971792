"""Every kind of target: what it means, and what is said where it means nothing."""

import enum
import json
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Required,
    TypeVar,
)

import jsonschema_rs
import pydantic.dataclasses
import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import core_schema
from typing_extensions import TypeAliasType, TypedDict

from extractkit import extract
from extractkit.errors import SchemaError, UsageError
from extractkit.schema import DIALECTS, compile_schema
from extractkit.testing import FakeProvider

T = TypeVar("T")


class Line(BaseModel):
    text: str
    price: Decimal | None = None


@dataclass
class Point:
    x: int
    tags: list[str] = field(default_factory=list)


@pydantic.dataclasses.dataclass
class Circle:
    centre: Point
    radius: float = 1.0


class Movie(TypedDict, total=False):
    name: Required[str]
    year: int


class Pair(NamedTuple):
    left: str
    right: int = 0


class Box(BaseModel, Generic[T]):
    content: T
    more: list["Box[T]"] = []


class Ping(BaseModel):
    pong: "Pong | None" = None


class Pong(BaseModel):
    pings: list[Ping] = []


Tree = TypeAliasType("Tree", "dict[str, Tree] | int")
Count = NewType("Count", int)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    ("target", "good"),
    [
        (Line, {"text": "a", "price": "1.50"}),
        (RootModel[list[int]], [1, 2]),
        (Point, {"x": 1, "tags": []}),
        (Circle, {"centre": {"x": 1, "tags": ["a"]}, "radius": 2.5}),
        (Movie, {"name": "Solaris", "year": 1972}),
        (Pair, ["a", 1]),
        (list[Line], [{"text": "a", "price": None}]),
        (int | str, "a"),
        (Literal[1, "a", None, True], None),
        (Annotated[int, Field(ge=3)], 3),
        (Final[int], 4),
        (Count, 5),
        (Box[int], {"content": 1, "more": [{"content": 2, "more": []}]}),
        (Ping, {"pong": {"pings": [{"pong": None}]}}),
        (Tree, {"a": {"b": 1}}),
        (Sequence[int], [1]),
        (dict[str, list[Pair]], {"a": [["b", 1]]}),
        (Any, {"a": [1, None]}),
        (type(None), None),
    ],
)
def test_every_kind_of_type_compiles_and_its_values_come_back(
    target: Any, good: Any, dialect: str
) -> None:
    compiled = compile_schema(target, dialect)
    lowered = compiled.lower(good)
    assert jsonschema_rs.Draft202012Validator(compiled.schema).is_valid(lowered)
    assert compiled.lift(lowered) == good
    assert compiled.adapter is not None
    compiled.adapter.validate_json(json.dumps(good))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type X = ...` is Python 3.12")
def test_an_alias_by_statement_is_a_target() -> None:
    module = types.ModuleType("aliases")
    exec("type Named = dict[str, list[Named]] | int", vars(module))  # noqa: S102 - our own text
    assert compile_schema(vars(module)["Named"]).schema["$ref"] == "#/$defs/Named"


class Early(NamedTuple):
    late: "Late"


def test_names_that_are_defined_later_are_found_then() -> None:
    assert compile_schema(Ping).schema["$defs"].keys() == {"Ping", "Pong"}
    assert compile_schema(list[Early]).schema["$defs"].keys() == {"Early", "Late"}


class Late(BaseModel):
    x: int


class Opaque:
    """A class that Pydantic cannot read."""


@dataclass
class Holder:
    fine: int
    handle: Opaque


class Loose(TypedDict, total=False):
    name: Required[str]
    handle: Opaque


class Later(BaseModel):
    fine: int
    other: "list[NeverDefined] | None" = None  # type: ignore[name-defined]  # noqa: F821


class Outer(BaseModel):
    inner: dict[str, Later]


class Unnamed(NamedTuple):
    left: int
    right: "NeverDefined"  # type: ignore[name-defined]  # noqa: F821


class Broken:
    """A type whose own code fails."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.any_schema()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        raise KeyError("no description")


class WithBroken(BaseModel):
    fine: int
    deep: dict[str, list[Broken]] = Field(alias="Deep")


class WithTuple(BaseModel):
    pairs: list[tuple[int, Broken]]


class Callback(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    price: float
    callback: Annotated[Opaque, WithJsonSchema({"type": "string"})]


class Invoice(BaseModel):
    lines: list[Callback]


@pytest.mark.parametrize(
    ("target", "pointer", "words"),
    [
        (Opaque, "", "Opaque"),
        (list[Opaque], "/*", "Opaque"),
        (dict[str, list[Opaque]], "/*/*", "Opaque"),
        (tuple[int, Opaque], "/1", "Opaque"),
        (tuple[Opaque, ...], "/*", "Opaque"),
        (Annotated[list[Opaque | None], "x"], "/*", "Opaque"),
        (Holder, "/handle", "Opaque"),
        (list[Loose], "/*/handle", "Opaque"),
        (Later, "/other", "'NeverDefined' is not defined"),
        (Outer, "/inner/*/other", "'NeverDefined' is not defined"),
        (Unnamed, "/right", "'NeverDefined' is not defined"),
        (WithBroken, "/Deep/*/*", "no description"),
        (list[WithBroken], "/*/Deep/*/*", "no description"),
        (WithTuple, "/pairs/*/*", "no description"),
        (Mapping[str, WithBroken], "/*/Deep/*/*", "no description"),
        (Invoice, "/lines/*/callback", "an object .Opaque. cannot come out of a JSON document"),
        (Callable[[int], int], "", "a function cannot come out of a JSON document"),
        (list[type[int]], "/*", r"a class \(type\[int\]\) cannot come out"),
    ],
)
def test_the_field_to_blame_is_named(target: Any, pointer: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        compile_schema(target)
    assert caught.value.pointer == pointer
    assert caught.value.message.startswith(pointer or "(root)")


def test_an_object_that_code_makes_out_of_json_is_no_obstacle() -> None:
    made = BeforeValidator(lambda _: Opaque())
    wrapped = WrapValidator(lambda value, handler: handler(value))

    class Made(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)

        one: Annotated[Opaque, WithJsonSchema({"type": "string"}), made]
        two: Annotated[Opaque, WithJsonSchema({"type": "string"}), wrapped]

    properties = compile_schema(Made).schema["properties"]
    assert [properties[name]["type"] for name in ("one", "two")] == ["string", "string"]


class Level(enum.Enum):
    LOW = 1


class Endless(BaseModel):
    a: float = Field(default=float("inf"), le=float("inf"), ge=float("-inf"))
    b: list[float] = [float("nan")]
    c: float = Field(3, lt=10, gt=float("-inf"))
    d: Level = Level.LOW


def test_what_json_has_no_number_for_is_not_written() -> None:
    compiled = compile_schema(Endless)
    properties = compiled.schema["properties"]
    assert {"default", "minimum", "maximum"}.isdisjoint(properties["a"])
    assert "default" not in properties["b"]
    assert properties["c"]["exclusiveMaximum"] == 10
    assert properties["c"]["default"] == 3
    assert properties["d"]["default"] == 1
    assert "required" not in compiled.schema
    json.dumps(compiled.user_schema, allow_nan=False)


@pytest.mark.parametrize("target", ["Invoice", ForwardRef("Line"), T, None, 3])
def test_what_is_no_type_is_no_target(target: Any) -> None:
    with pytest.raises(UsageError, match="expected a Pydantic model class"):
        compile_schema(target)


@pytest.mark.parametrize("dialect", ["json-schema", "openai-strict", "llguidance"])
def test_two_fields_that_are_read_from_one_key_need_it_once(dialect: str) -> None:
    class Twice(BaseModel):
        net: int = Field(alias="amount")
        gross: int = Field(alias="amount")

    compiled = compile_schema(Twice, dialect)
    assert compiled.user_schema["required"] == ["amount"]
    assert compiled.schema["required"] == ["amount"]
    result = extract(Twice, "the amount is 3", model=FakeProvider(['{"amount": 3}']))
    assert result.value == Twice(amount=3)
