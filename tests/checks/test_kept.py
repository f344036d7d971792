"""What of a document is not in the value as it stands there is told, and nothing else."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import ipaddress
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PurePath
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    Base64Bytes,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    TypeAdapter,
    WrapValidator,
    field_serializer,
    model_validator,
)
from typing_extensions import TypedDict

from extractkit.checks._same import likeness
from extractkit.checks._types import validate
from extractkit.errors import SchemaError
from extractkit.fields import UNKNOWN, Unknown
from extractkit.paths import join
from extractkit.results import Validity
from tests.checks.test_levels import check, errors
from tests.schema.strategies_models import budget, models, values

_TOLD = {"changed", "inexact", "coerced", "undeclared_field", "duplicate_key"}


def told(target: Any, document: Any) -> list[tuple[str, str]]:
    """Path and code of what the comparison says."""
    outcome = check(document, target, text="")
    assert outcome.built or errors(outcome)
    return [(item.path, item.code) for item in outcome.findings if item.code in _TOLD]


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Pair(Enum):
    ONE = (1, 2)


class Lower(BaseModel):
    model_config = ConfigDict(str_to_lower=True, str_strip_whitespace=True)
    text: str
    names: dict[str, int] = {}


# --- a value is what the document says, however it is spelled ------------------------------------


@pytest.mark.parametrize(
    ("target", "document"),
    [
        (float, 3),
        (float, 1e22),
        (Decimal, 1.1),
        (Decimal, "1.10"),
        (Decimal, 3),
        (dt.datetime, "2026-01-01T10:00:00+00:00"),
        (dt.datetime, "2026-01-01T10:00:00.500000000Z"),
        (dt.date, "2026-01-01"),
        (dt.time, "10:00:00.5"),
        (dt.timedelta, "PT60M"),
        (UUID, "12345678-1234-5678-1234-56781234567A"),
        (ipaddress.IPv6Address, "::0001"),
        (AnyUrl, "http://EXAMPLE.com"),
        (PurePath, "a//b"),
        (Fraction, "2/4"),
        (complex, "1+2j"),
        (SecretStr, "hush"),
        (bytes, "é"),
        (Base64Bytes, "aGk="),
        (Level, 1),
        (Unknown, "unknown"),
        (str | Unknown, {"unknown": True}),
        (dict[int, int], {"1": 1, "02": 2}),
        (dict[float, int], {"1": 1}),
        (dict[bool, int], {"true": 1, "no": 2}),
        (dict[Level, int], {"1": 1}),
        (dict[dt.date, int], {"2026-01-01": 1}),
        (set[int], [3, 1, 2]),
        (frozenset[tuple[int, int]], [[1, 2], [3, 4]]),
        (set[dt.date], ["2026-01-02", "2026-01-01"]),
        (tuple[int, str], [1, "a"]),
        (deque[int], [1, 2]),
        (Iterable[int], [1, 2]),
        (RootModel[list[float]], [1, 2.5]),
        (int | None, None),
    ],
    ids=str,
)
def test_another_spelling_of_a_value_is_no_change(target: Any, document: Any) -> None:
    assert told(target, document) == []


@pytest.mark.parametrize(
    ("target", "document", "expected"),
    [
        (int, 3.0, [("", "coerced")]),
        (Literal[1], 1.0, [("", "coerced")]),
        (Level, 1.0, [("", "coerced")]),
        (list[Literal[1, 2]], [1, 2.0], [("/1", "coerced")]),
        (set[Literal[1, 2]], [1, 2.0], [("/1", "coerced")]),
        (dict[str, Literal[1]], {"a": 1.0}, [("/a", "coerced")]),
        (float, 2**53 + 1, [("", "inexact")]),
        (dt.datetime, "2026-01-01T10:00:00.123456789", [("", "inexact")]),
        (dt.time, "10:00:00.1234567", [("", "inexact")]),
        (dt.timedelta, "PT0.1234567S", [("", "inexact")]),
        (Lower, {"text": " ABC"}, [("/text", "changed")]),
        (Lower, {"text": "a", "names": {" a": 1, "B": 2, "c": 3}}, [
            ("/names/ a", "changed"), ("/names/B", "changed"),
        ]),
        (ByteSize, "1kb", [("", "changed")]),
        (dict[int, int], {"1": 1, "01": 2}, [("/1", "duplicate_key")]),
        (dict[float, int], {"1": 1, "1.0": 2, "1e0": 3}, [
            ("/1", "duplicate_key"), ("/1.0", "duplicate_key"),
        ]),
        (dict[bool, int], {"true": 1, "yes": 2, "no": 3}, [("/true", "duplicate_key")]),
        (dict[Level, int], {"1": 1, "2": 2}, []),
        (dict[dt.datetime, int], {"2026-01-01T10:00:00Z": 1, "2026-01-01T10:00:00+00:00": 2}, [
            ("/2026-01-01T10:00:00Z", "duplicate_key"),
        ]),
        (set[dt.datetime], ["2026-01-01T10:00:00Z", "2026-01-01T10:00:00+00:00"], [
            ("", "changed"),
        ]),
    ],
    ids=str,
)  # fmt: skip
def test_what_the_type_makes_of_it_by_itself_is_told(
    target: Any, document: Any, expected: list[tuple[str, str]]
) -> None:
    assert told(target, document) == expected


def test_two_keys_that_are_one_to_the_type_leave_no_value() -> None:
    outcome = check({"1": 5, "01": 6}, dict[int, int], text="5 6")
    assert errors(outcome) == [(Validity.SCHEMA, "/1", "duplicate_key")]
    assert '"1" and "01" are one to the type' in outcome.findings[0].message
    assert not outcome.built


def test_keys_that_nothing_is_known_of_are_told_together() -> None:
    merged = Annotated[str, AfterValidator(lambda _: 5)]
    assert told(dict[merged, int], {"a": 1, "b": 2}) == [("", "duplicate_key")]


# --- validators of the user's --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "document", "paths"),
    [
        (lambda value: [*value, 4], [1], [""]),
        (lambda value: [value[0] + 1, *value[1:]], [1, 2], ["/0"]),
        (lambda _: None, [1], []),
        (lambda value: value, [1], []),
    ],
)
def test_what_a_validator_of_the_model_changed_is_a_note_with_its_place(
    change: Any, document: Any, paths: list[str]
) -> None:
    outcome = check(document, Annotated[list[int], AfterValidator(change)], text="")
    found = [item for item in outcome.findings if item.code == "changed"]
    assert [item.path for item in found] == paths
    assert {item.severity for item in found} <= {"note"}
    assert outcome.built


@pytest.mark.parametrize(
    ("target", "document", "becomes"),
    [
        (int, 1, 2),
        (int, 1, "1"),
        (str, "a", "b"),
        (str, "a", 1),
        (bool, True, False),
        (bool, True, 1.0),
        (dt.date, "2026-01-01", dt.date(2026, 1, 2)),
        (int, 5, dt.date(2026, 1, 2)),
        (Decimal, "1.5", Decimal("1.6")),
        (bool, True, Decimal(1)),
        (str, "ab", b"abc"),
        (int, 1, b"1"),
        (str, "x", None),
        (str, "x", UNKNOWN),
        (UUID, "12345678-1234-5678-1234-567812345678", UUID(int=3)),
        (str, "a", Level.LOW),
        (set[int], [1, 2], {1, 3}),
        (set[str], ["a"], {"A"}),
        (None, None, PurePath("x")),
    ],
    ids=str,
)
def test_any_scalar_that_became_another_is_told(target: Any, document: Any, becomes: Any) -> None:
    assert told(Annotated[target, AfterValidator(lambda _: becomes)], document) != []


@pytest.mark.parametrize("becomes", [object(), Pair.ONE, dataclasses.make_dataclass("Own", [])()])
def test_of_classes_that_are_not_known_nothing_is_said(becomes: Any) -> None:
    for target, document in ((int, 1), (list[int], [1]), (dict[str, int], {"a": 1})):
        assert told(Annotated[target, AfterValidator(lambda _: becomes)], document) == []


def test_a_value_that_cannot_be_written_is_told_by_its_type() -> None:
    assert likeness(1, "x") == "other"

    class Broken(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise RuntimeError

    target = Annotated[str, AfterValidator(lambda _: Broken("other"))]
    assert told(target, "said") == [("", "changed")]


def test_a_serializer_is_no_change() -> None:
    class Money(BaseModel):
        amount: int

        @field_serializer("amount")
        def written(self, amount: int) -> str:
            return f"{amount} EUR"

    assert told(Money, {"amount": 3}) == []


# --- what is dropped -----------------------------------------------------------------------------


class Circle(BaseModel):
    r: float


class Ring(BaseModel):
    r: float
    inner: float = 0


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Renamed(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)
    total: int = Field(alias="sum")
    note: str = Field("", validation_alias=AliasChoices("remark", "comment", AliasPath("notes", 0)))


class ByAlias(BaseModel):
    name: str = Field(alias="theName")


@dataclasses.dataclass
class Record:
    n: Annotated[int, Field(alias="number")]
    more: int = 0


class Entry(TypedDict):
    n: Annotated[int, Field(alias="number")]
    note: NotRequired[str]


class Row(NamedTuple):
    n: int


@pytest.mark.parametrize(
    ("target", "document", "dropped"),
    [
        (Circle | Ring, {"r": 1, "inner": 2}, []),
        (Ring | Circle, {"r": 1, "inner": 2}, []),
        (list[Circle | Ring], [{"r": 1, "inner": 2}, {"r": 1, "x": 2}], ["/1/x"]),
        (Circle | list[Circle | Ring], [{"r": 1, "inner": 2}], []),
        (Open, {"name": "a", "more": "b"}, []),
        (Renamed, {"sum": 1, "remark": "x"}, []),
        (Renamed, {"total": 1, "comment": "x"}, []),
        (Renamed, {"total": 1, "sum": 1}, ["/total"]),
        (Renamed, {"sum": 1, "comment": "x", "remark": "y"}, ["/comment"]),
        (Renamed, {"sum": 1, "notes": ["x"], "more": 1}, ["/more"]),
        (ByAlias, {"theName": "a", "name": "b"}, ["/name"]),
        (Record, {"number": 1, "x": 2}, ["/x"]),
        (Entry, {"number": 1, "note": "a"}, []),
        (Entry, {"number": 1, "x": 2}, ["/x"]),
        (dict[str, Circle], {"a": {"r": 1, "u": 2}}, ["/a/u"]),
        (tuple[int, Circle], [1, {"r": 1, "u": 2}], ["/1/u"]),
        (Row, [1], []),
        (RootModel[Circle], {"r": 1, "x/y": 2}, ["/x~1y"]),
        (Any, {"a": {"b": 1}}, []),
    ],
    ids=str,
)
def test_only_what_is_really_left_out_is_called_so(
    target: Any, document: Any, dropped: list[str]
) -> None:
    assert told(target, document) == [(path, "undeclared_field") for path in dropped]


def test_a_part_of_a_union_that_is_in_the_value_is_looked_for_in_the_source() -> None:
    outcome = check({"r": 1, "inner": 2}, Circle | Ring, text="1 and 2")
    assert outcome.value == Ring(r=1, inner=2)
    assert set(outcome.evidence) == {"/r", "/inner"}
    assert outcome.levels[Validity.GROUNDED].checked == 2


class Prepared(BaseModel):
    a: int

    @model_validator(mode="before")
    @classmethod
    def old_names(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {"a": data.get("old", data["a"])}


def test_what_code_of_the_model_may_have_read_is_a_note_and_not_called_lost() -> None:
    wrapped = Annotated[Circle, WrapValidator(lambda value, inner: inner(value))]
    for target, document in ((Prepared, {"a": 1, "old": 1}), (wrapped, {"r": 1, "old": 1})):
        outcome = check(document, target, text="")
        found = [item for item in outcome.findings if item.code == "undeclared_field"]
        assert [(item.path, item.severity) for item in found] == [("/old", "note")]


def test_a_subclass_is_read_as_its_parent_and_a_replaced_model_not_at_all() -> None:
    class Small(Circle):
        pass

    made = Annotated[Circle, AfterValidator(lambda value: Small(r=value.r))]
    assert told(made, {"r": 1, "x": 2}) == [("/x", "undeclared_field")]
    unrelated = Annotated[Circle, AfterValidator(lambda _: Open(name="a"))]
    assert told(unrelated, {"r": 1, "x": 2}) == []


def test_where_there_is_no_value_the_schema_says_what_would_be_dropped() -> None:
    outcome = check({"r": 1, "more": 2}, Annotated[Circle, BeforeValidator(_refuse)], text="")
    assert [item.code for item in outcome.findings[:2]] == ["undeclared_field", "value_error"]


def _refuse(value: Any) -> Any:
    raise ValueError("refused")


def test_a_json_schema_drops_and_changes_nothing() -> None:
    assert told({"properties": {"a": {"type": "integer"}}}, {"a": 1.0, "b": 2}) == []


# --- laws ----------------------------------------------------------------------------------------

pytestmark = pytest.mark.filterwarnings("ignore:.*skipped-discriminator")


@budget(120)
@given(st.data())
def test_of_a_document_that_its_value_is_written_as_nothing_is_said(data: st.DataObject) -> None:
    target = data.draw(models())
    document = data.draw(values(target))
    try:
        outcome = check(document, target, text="")
    except SchemaError:
        assume(False)
        raise
    assume(not errors_at_schema(outcome))
    assert [item for item in outcome.findings if item.code in _TOLD] == []


@budget(200)
@given(st.data())
def test_whatever_the_value_is_written_as_otherwise_has_a_finding_there(
    data: st.DataObject,
) -> None:
    target = data.draw(models())
    document = _disturbed(data, data.draw(values(target, unset=True)))
    try:
        outcome = check(document, target, text="")
    except SchemaError:
        assume(False)
        raise
    assume(outcome.built)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written = TypeAdapter(target).dump_python(
            outcome.value, mode="json", by_alias=True, exclude_unset=True
        )
    places = {item.path for item in outcome.findings if item.level is Validity.SCHEMA}
    kept = set(_kept_aside(outcome.value))
    for path in _differences(document, written):
        if path.rpartition("/")[2] in kept:
            continue
        assert any(f"{path}/".startswith(f"{place}/") for place in places), (path, written)


def _kept_aside(value: Any) -> Iterator[str]:
    """Yield the keys that dataclasses have kept and do not write."""
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    if dataclasses.is_dataclass(value):
        declared = {each.name for each in dataclasses.fields(value)}
        yield from getattr(value, "__dict__", {}).keys() - declared
    for part in parts:
        if not isinstance(part, Enum | type):
            yield from _kept_aside(part)


def errors_at_schema(outcome: Any) -> bool:
    return any(level is Validity.SCHEMA for level, _, _ in errors(outcome))


def _disturbed(data: st.DataObject, document: Any) -> Any:
    """Return `document` with some leaves as models get them slightly wrong, and more keys."""
    holder = [copy.deepcopy(document)]
    places = list(_places(holder))
    for place, key in data.draw(st.lists(st.sampled_from(places), max_size=3)):
        value = place[key]
        if isinstance(value, bool | None):
            continue
        if isinstance(value, int):
            place[key] = data.draw(st.sampled_from([float(value), value * 10**20 + 1, str(value)]))
        elif isinstance(value, float):
            place[key] = data.draw(st.sampled_from([10**17 + 1, str(value)]))
        elif isinstance(value, str):
            place[key] = data.draw(
                st.sampled_from([f" {value}", value.upper(), f"{value}.1234567"])
            )
        elif isinstance(value, dict):
            value["more than was asked for"] = 1
            for name in [name for name in value if name.isdecimal()][:1]:
                value[f"0{name}"] = value[name]
        elif isinstance(value, list) and value:
            value.append(value[0])
    return holder[0]


def _places(holder: Any) -> Iterator[tuple[Any, Any]]:
    for key in range(len(holder)) if isinstance(holder, list) else list(holder):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])


def _differences(said: Any, written: Any, path: str = "") -> Iterator[str]:
    """Yield where two documents differ in more than the spelling of numbers and moments."""
    if isinstance(said, dict) and isinstance(written, dict):
        if _unread_keys(said, written):
            said = {_unread_keys(said, written).get(key, key): part for key, part in said.items()}
        for key, part in said.items():
            if key in written:
                yield from _differences(part, written[key], join(path, key))
            else:
                yield join(path, key)
    elif isinstance(said, list) and isinstance(written, list):
        yield from _different_items(said, written, path)
    elif not _is_alike(said, written):
        yield path


def _different_items(said: list[Any], written: list[Any], path: str) -> Iterator[str]:
    if len(said) != len(written):
        yield path
        return
    for at, (part, other) in enumerate(zip(said, written, strict=True)):
        # A set is written in an order of its own.
        if all([*_differences(part, each)] for each in written):
            yield from _differences(part, other, join(path, at))


def _unread_keys(said: dict[str, Any], written: dict[str, Any]) -> dict[str, str]:
    """Return the keys that are numbers in another spelling, with the spelling of the value."""
    numbers = {Decimal(key): key for key in written if _number(key) is not None}
    return {
        key: numbers[number]
        for key in said
        if key not in written and (number := _number(key)) is not None and number in numbers
    }


def _number(text: Any) -> Decimal | None:
    try:
        number = Decimal(str(text))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_alike(said: Any, written: Any) -> bool:
    if said == written and isinstance(said, bool) == isinstance(written, bool):
        return isinstance(written, float) or type(said) is type(written)
    if isinstance(said, bool) or isinstance(written, bool):
        return False
    if isinstance(written, str) and _number(written) is not None:
        return _number(said) == _number(written)
    for read in (dt.datetime.fromisoformat, dt.time.fromisoformat, UUID, AnyUrl):
        try:
            is_whole = read is AnyUrl or "1234567" not in said
            return read(said) == read(written) and is_whole
        except (ValueError, TypeError, AttributeError):
            continue
    return False


def test_a_finding_of_lax_mode_and_one_of_the_comparison_are_not_said_twice() -> None:
    typed = validate(TypeAdapter(list[int]), [1.0])
    assert [item.code for item in typed.findings] == ["coerced"]
    assert told(list[int], [1.0]) == [("/0", "coerced")]
