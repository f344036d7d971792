"""One field of an answer that is still coming: its state, its value, and how it is reached."""

from __future__ import annotations

import dataclasses
import datetime as dt
import pickle
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    RootModel,
    Tag,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)
from typing_extensions import TypeAliasType, TypedDict

from extractkit import UNKNOWN, Decoding, FieldState, Unknown, Validity, extract, stream
from extractkit.checks import TypedPlaces
from extractkit.errors import UsageError
from extractkit.messages import Capabilities, ModelResponse, StopReason
from extractkit.paths import get
from extractkit.results import PartialResult
from extractkit.testing import FakeProvider

MISSING, PENDING, PRESENT = FieldState.MISSING, FieldState.PENDING, FieldState.PRESENT


def partials(target: Any, text: str, *, pieces: int = 1, **options: Any) -> list[PartialResult]:
    """Return all partial results of one answer."""
    return list(stream(target, "a text", model=FakeProvider([text], pieces=pieces), **options))


def last_before_end(target: Any, text: str) -> PartialResult:
    """Return the last partial result of an answer that was cut off: nothing above is final."""
    return partials(target, text)[-1]


# --- reaching a field ---------------------------------------------------------------------------


class Line(BaseModel):
    name: str
    price: Decimal


class Invoice(BaseModel):
    number: str
    lines: list[Line]
    total: Decimal
    meta: dict[str, int] = {}


TEXT = '{"number": "A1", "lines": [{"name": "x", "price": "2.50"}, {"name": "y", "price": 3'


def test_a_field_is_reached_by_pointer_attribute_and_index() -> None:
    now = last_before_end(Invoice, TEXT)
    for field in (
        now.at("/lines/0/price"),
        now.fields.lines[0].price,
        now.fields["lines"][0]["price"],
        now.at("/lines")[0].price,
        now.fields.lines[-2].price,
    ):
        assert (field.pointer, field.state) == ("/lines/0/price", PRESENT)
        assert field.value == Decimal("2.50")
        assert field.so_far == "2.50"
        assert field.findings == ()


def test_states_and_what_is_there_so_far() -> None:
    now = last_before_end(Invoice, TEXT)
    fields = now.fields
    assert fields.state is PENDING
    assert fields.lines.state is PENDING
    assert fields.lines.value is None
    assert fields.lines.so_far == [{"name": "x", "price": "2.50"}, {"name": "y"}]
    assert (fields.lines[1].price.state, fields.lines[1].price.so_far) == (PENDING, None)
    assert (fields.total.state, fields.total.value, fields.total.so_far) == (MISSING, None, None)
    assert (fields.lines[7].price.state, fields.lines[7].price.value) == (MISSING, None)


def test_the_parts_that_have_begun_can_be_gone_through() -> None:
    now = last_before_end(Invoice, TEXT)
    assert [line.name.value for line in now.fields.lines] == ["x", "y"]
    assert [part.pointer for part in now.fields] == ["/number", "/lines"]
    assert list(now.fields.number) == list(now.fields.total) == []


def test_an_index_from_the_end_is_one_of_what_has_begun() -> None:
    now = last_before_end(Invoice, TEXT)
    assert now.fields.lines[-1].name.value == "y"
    with pytest.raises(IndexError, match="/lines has 2 items so far"):
        _ = now.fields.lines[-3]


def test_a_field_that_the_target_lacks_is_a_mistake() -> None:
    now = last_before_end(Invoice, TEXT)
    with pytest.raises(AttributeError, match="no field 'totl'"):
        _ = now.fields.totl
    with pytest.raises(AttributeError, match="/lines/0 has no field 'cost'"):
        _ = now.fields.lines[0].cost
    for pointer in ("/totl", "/lines/0/cost", "/lines/x", "/number/0", "/number/x/y"):
        with pytest.raises(UsageError, match="no such place"):
            now.at(pointer)
    with pytest.raises(UsageError, match="expected a JSON Pointer"):
        now.at("total")
    with pytest.raises(UsageError, match="expected a text"):
        now.at(0)  # type: ignore[arg-type]  # what is not meant to be done
    assert now.at("/meta/anything").state is MISSING


def test_names_that_python_or_the_view_has_are_reached_by_index() -> None:
    class Odd(BaseModel):
        model_config = ConfigDict(populate_by_name=True)

        class_: str = Field(alias="class")
        state: str
        value: int
        as_it_is: str = Field(validation_alias=AliasChoices("asItIs", "as"))
        deep: str = Field(validation_alias=AliasPath("outer", "inner"))

    now = partials(Odd, '{"class": "c", "state": "s", "value": 1, "asItIs": "a"}')[-1]
    assert (now.fields.class_.value, now.fields["class"].value) == ("c", "c")
    assert (now.fields["state"].value, now.fields["value"].value) == ("s", 1)
    assert now.fields.as_it_is.value == now.at("/asItIs").value == "a"
    assert now.fields.state is PRESENT


def test_what_python_looks_for_is_no_field() -> None:
    now = last_before_end({"type": "object"}, '{"__deepcopy__": 1, "_x": 2')
    assert not hasattr(now.fields, "__deepcopy__")
    assert not hasattr(now.fields, "_x")
    assert now.fields["_x"].state is PENDING


def test_a_field_shows_itself() -> None:
    now = last_before_end(Invoice, TEXT)
    assert repr(now.at("/number")) == "FieldNow('/number', present, 'A1')"
    assert repr(now.at("/lines/1")) == "FieldNow('/lines/1', pending, {'name': 'y'})"


def test_a_partial_result_outlives_what_comes_later() -> None:
    first, *_, last = partials(Invoice, TEXT + '.25}], "total": 5.75}', pieces=30)
    assert first.at("/number").value == "A1"
    assert first.at("/total").state is MISSING
    assert first.fields.lines.so_far == [{}]
    assert last.at("/total").value == Decimal("5.75")


def test_a_partial_result_is_pickled_as_what_it_shows() -> None:
    now = last_before_end(Invoice, TEXT)
    again = pickle.loads(pickle.dumps(now))  # made two words before
    assert again == PartialResult(document=now.document, states=dict(now.states))
    assert again.at("/lines/0/price").value == "2.50"


# --- typed values -------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date = dt.date(2020, 1, 1)


class Row(TypedDict):
    id: int
    when: NotRequired[dt.date]


class Pair(NamedTuple):
    left: int
    right: dt.date


class Cat(BaseModel):
    kind: Literal["cat"]
    name: str
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str
    lives: str


class Tree(BaseModel):
    name: str
    born: dt.date
    children: list[Tree] = []


class Names(RootModel[list[Colour]]):
    pass


DAY = dt.date(2024, 5, 6)
Day = Annotated[dt.date, AfterValidator(lambda day: day)]


@pytest.mark.parametrize(
    ("target", "text", "pointer", "value"),
    [
        (list[dt.date], '["2024-05-06", "20', "/0", DAY),
        (dict[str, dt.date], '{"a/b": "2024-05-06", "c', "/a~1b", DAY),
        (tuple[int, dt.date], '[1, "2024-05-06", ', "/1", DAY),
        (tuple[dt.date, ...], '["2024-05-06", ', "/0", DAY),
        (set[Colour], '["red", ', "/0", Colour.RED),
        (deque[Colour], '["red", ', "/0", Colour.RED),
        (defaultdict[str, list[dt.date]], '{"k": ["2024-05-06", ', "/k/0", DAY),
        (OrderedDict[str, dt.date], '{"k": "2024-05-06", ', "/k", DAY),
        (Sequence[dt.date], '["2024-05-06", ', "/0", DAY),
        (Point, '{"x": 1, "when": "2024-05-06", ', "/when", DAY),
        (list[Point], '[{"x": 1, "when": "2024-05-06"}, {', "/0", Point(1, DAY)),
        (Row, '{"id": 1, "when": "2024-05-06", ', "/when", DAY),
        (Names, '["red", "bl', "/0", Colour.RED),
        (dict[str, Names], '{"k": ["red", "bl', "/k/0", Colour.RED),
        (Tree, '{"name": "a", "born": "2024-05-06", "ch', "/born", DAY),
        (
            Tree,
            '{"name": "a", "born": "2024-05-06", "children": [{"name": "b", "born": "2024-05-06", ',
            "/children/0/born",
            DAY,
        ),
        (
            Annotated[Cat | Dog, Field(discriminator="kind")],
            '{"kind": "dog", "name": "x", "lives": "9", ',
            "/lives",
            "9",
        ),
        (Cat | Dog, '{"kind": "cat", "name": "x", "lives": 9, ', "/lives", 9),
        (Cat | Dog, '{"name": "x", ', "/name", "x"),
        (Cat | None, '{"kind": "cat", "name": "x", "lives": 9, ', "/lives", 9),
        (list[Colour | Unknown], '["unknown", "red", ', "/0", UNKNOWN),
        (list[int | None], "[null, 1, ", "/0", None),
        (dict[str, Day], '{"a": "2024-05-06", ', "/a", DAY),
        ({"type": "object"}, '{"a": {"b": 1}, ', "/a", {"b": 1}),
        (Any, '{"a": "2024-05-06", ', "/a", "2024-05-06"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_final_value_has_the_type_of_its_place(
    target: Any, text: str, pointer: str, value: Any
) -> None:
    field = last_before_end(target, text).at(pointer)
    assert field.state is PRESENT
    assert (type(field.value), field.value) == (type(value), value)
    assert [each.severity for each in field.findings if each.severity == "error"] == []


def test_an_object_of_several_types_is_typed_once_it_is_known_which() -> None:
    now = last_before_end(Cat | Dog, '{"name": "x", "lives": 9, ')
    assert now.at("/lives").value is None
    assert [each.code for each in now.at("/lives").findings] == ["type_not_known_yet"]
    assert now.at("/lives").so_far == 9
    later = last_before_end(list[Cat | Dog], '[{"name": "x", "lives": 9, "kind": "cat"}, ')
    assert later.at("/0/lives").value == 9
    assert later.at("/0").value == Cat(kind="cat", name="x", lives=9)


class First(BaseModel):
    v: int


class Second(BaseModel):
    v: str
    w: int


@pytest.mark.parametrize(
    ("target", "key", "text"),
    [
        (list[First | Second], "0", '[{"v": "7", "w": 2}, '),
        (dict[int, First | Second], "12", '{"12": {"v": "7", "w": 2}, "'),
    ],
)
def test_of_several_types_the_one_of_the_whole_object_holds(
    target: Any, key: str, text: str
) -> None:
    seen = partials(target, text)
    early = next(now for now in seen if now.at(f"/{key}/v").state is PRESENT)
    assert [each.code for each in early.at(f"/{key}/v").findings] == ["type_not_known_yet"]
    field = seen[-1].at(f"/{key}/v")
    assert (field.value, field.findings) == ("7", ())


@pytest.mark.parametrize(
    ("target", "text", "pointer", "value"),
    [
        (list[list[int] | list[str]], '[["1", "2"], ', "/0/1", "2"),
        (dict[int, int] | dict[int, str], '{"1": "7"}', "/1", "7"),
        (First | Row | None, '{"v": 7, "id": 3}', "/v", 7),
        (Row | dict[str, str], '{"id": "7", "when": "x"}', "/id", "7"),
        (Names | list[int], '["red"]', "/0", Colour.RED),
    ],
    ids=str,
)
def test_a_part_of_what_is_whole_has_the_value_that_this_shows(
    target: Any, text: str, pointer: str, value: Any
) -> None:
    assert partials(target, text)[-1].at(pointer).value == value


def test_a_part_of_what_fits_no_type_or_has_no_order_says_so() -> None:
    wrong = partials(First | Second, '{"v": "x"}')[-1]
    assert wrong.at("/v").value is None
    assert [each.code for each in wrong.at("/v").findings] == ["type_not_known"]
    some = partials(set[int] | set[str], '["1"]')[-1]
    assert [each.code for each in some.at("/0").findings] == ["type_not_known"]


def test_a_validator_waits_for_a_field_whose_type_is_not_known() -> None:
    class Both(BaseModel):
        u: list[int] | list[str]
        n: Annotated[str, AfterValidator(lambda n, info: f"{n}{info.data['u']}")]
        rest: str

    late = last_before_end(Both, '{"u": ["1"], "n": "x", ')
    assert late.fields.n.value == "x['1']"


def test_a_tag_is_looked_up_under_its_key() -> None:
    class A(BaseModel):
        kind: Literal["a"] = Field(alias="type")
        v: int
        other: str = Field(alias="kind", default="")

    class B(BaseModel):
        kind: Literal["b"] = Field(alias="type")
        v: str
        other: str = Field(alias="kind", default="")

    now = last_before_end(list[A | B], '[{"kind": "a", "type": "b", "v": "7", ')
    assert (now.at("/0/type").value, now.at("/0/v").value) == ("b", "7")


def test_the_configuration_of_a_typed_dict_holds_in_it() -> None:
    class Low(TypedDict):
        __pydantic_config__ = ConfigDict(str_to_lower=True)  # type: ignore[misc]  # as documented
        a: str

    class Holder(BaseModel):
        low: Low
        high: str

    now = last_before_end(Holder, '{"low": {"a": "AB"}, "high": "AB", ')
    assert (now.at("/low/a").value, now.at("/high").value) == ("ab", "AB")


def test_positions_are_plain_numbers() -> None:
    now = last_before_end(list[int], "[1, ")
    for pointer in ("/00", "/-1", "/+0", "/\u0660"):
        with pytest.raises(UsageError, match="no such place"):
            now.at(pointer)


def test_what_has_ended_and_is_not_final_is_there_so_far() -> None:
    digits = "12345678901234567890.123456789012345"
    text = f'{{"number": "n", "lines": [{{"name": "x", "price": {digits}}}], "total": 1, "me'
    seen = partials(Invoice, text)
    for now in seen:
        for pointer in now.states:
            try:
                there = get(now.document, pointer)
            except KeyError:
                there = None
            assert now.at(pointer).so_far == there
    assert seen[-1].at("/lines").state is PENDING
    assert [line.so_far for line in seen[-1].fields.lines] == [{"name": "x"}]
    early = next(now for now in seen if now.at("/lines/0").state is PENDING)
    assert early.fields.lines.so_far == [{}]


def test_where_nothing_has_begun_there_is_nothing_so_far() -> None:
    now = last_before_end({"type": "array"}, "[[1, 2], ")
    for pointer in ("/x", "/01", "/-", "/0/x", "/0/01", "/2"):
        assert (now.at(pointer).state, now.at(pointer).so_far) == (MISSING, None)
    declared = last_before_end({"properties": {"number": {}}}, "[1, ").at("/number")
    assert (declared.state, declared.so_far) == (MISSING, None)


def test_an_old_partial_result_shows_nothing_of_what_came_later() -> None:
    seen = partials(Invoice, '{"number": "n", "lines": [], "total": 15, "meta": {}}', pieces=1)
    pending = next(now for now in seen if now.at("/total").state is PENDING)
    assert pending.at("/total").so_far is None
    assert seen[-1].at("/total").so_far == 15


def test_looking_at_a_long_text_costs_what_was_added() -> None:
    def seconds(size: int) -> float:
        start = time.process_time()
        answer = stream(str, "a text", model=FakeProvider([f'"{"abcd" * size}"'], pieces=4))
        sizes = [len(str(now.document)) for now in answer]
        assert sizes[-1] == 4 * size
        return time.process_time() - start

    few = min(seconds(4000) for _ in range(3))
    many = min(seconds(16000) for _ in range(3))
    assert many < 8 * few


def test_a_value_that_speaks_against_its_type_hides_no_other_field() -> None:
    now = last_before_end(Person, '{"type": null, "name": "Olaf", ')
    assert now.fields.name.value == "Olaf"
    assert now.fields.type.value is None
    assert [each.code for each in now.fields.type.findings] == ["literal_error"]


def test_a_tag_that_may_be_null_tells_nothing() -> None:
    class Left(BaseModel):
        kind: Literal[Colour.RED] | None
        size: int

    class Right(BaseModel):
        kind: Literal[Colour.BLUE]
        size: str

    assert last_before_end(Left | Right, '{"kind": "red", "size": 1, ').at("/size").value == 1
    assert last_before_end(Left | Right, '{"kind": null, "size": 1, ').at("/size").value == 1
    assert last_before_end(Left, '{"kind": null, "size": 1, ').fields.size.value == 1


def _shape_of(value: Any) -> str:
    return "round" if "radius" in value else "square"


def test_alternatives_told_apart_by_a_function_are_known_when_they_agree() -> None:
    class Round(BaseModel):
        colour: Colour
        radius: int

    class Square(BaseModel):
        colour: Colour
        side: int

    target = Annotated[
        Annotated[Round, Tag("round")] | Annotated[Square, Tag("square")],
        Discriminator(_shape_of),
    ]
    now = last_before_end(target, '{"colour": "red", "side": 3, ')
    assert (now.at("/colour").value, now.at("/side").value) == (Colour.RED, 3)


@pytest.mark.parametrize("text", ['[{"left": 1, "right": "2024-05-06"}, ', '[[1, "2024-05-06"], '])
def test_parts_of_a_named_tuple_have_its_types(text: str) -> None:
    now = last_before_end(list[Pair], text)
    assert now.fields[0].right.value == DAY
    assert now.at("/0").value == Pair(1, DAY)
    with pytest.raises(AttributeError, match="no field 'wrong'"):
        _ = now.fields[0].wrong
    wrong = last_before_end(list[Pair], '[[1, "2024-13-01"], ').fields[0].right
    assert (wrong.value, wrong.findings[0].level) == (None, Validity.SCHEMA)


def test_a_named_tuple_of_older_versions_of_pydantic_is_read_alike() -> None:
    fields = [{"name": "left", "schema": {"type": "int"}}]
    arguments = {"type": "arguments", "arguments_schema": fields}
    call: Any = {"type": "call", "arguments_schema": arguments, "function": Pair}
    holder: Any = SimpleNamespace(core_schema=call)
    places = TypedPlaces(holder)
    assert places.key("", "left", None) == "0"
    for pointer, document in (("/0", [1]), ("/left", {"left": 1})):
        (part,) = places.find(pointer, document)  # type: ignore[arg-type]  # plain JSON
        assert places.read([part], 1, lambda _: {}).value == 1


def test_a_part_that_the_targets_own_code_reads_is_typed_with_the_whole() -> None:
    def halves(value: Any) -> Any:
        return {key: part / 2 for key, part in value.items()}

    class Bag(BaseModel):
        half: Annotated[dict[str, float], PlainValidator(halves)]
        one: Annotated[Any, PlainValidator(lambda value: sum(value.values()))]
        rest: str

    seen = partials(Bag, '{"half": {"a": 1, "b": 3}, "one": {"c": 1}, "re')
    early = next(now for now in seen if now.at("/half/a").state is PRESENT)
    assert early.at("/half/a").value is None
    assert [each.code for each in early.at("/half/a").findings] == ["type_not_known_yet"]
    assert seen[-1].at("/half/a").value == 0.5
    assert seen[-1].at("/one").value == 1
    assert seen[-1].at("/one/c").value is None
    assert [each.code for each in seen[-1].at("/one/c").findings] == ["type_not_known"]


def test_a_number_beyond_floats_is_no_value() -> None:
    field = last_before_end(list[float], f"[1{'0' * 400}, ").at("/0")
    assert (field.state, field.value) == (PRESENT, None)
    assert [each.code for each in field.findings] == ["not_finite"]


def test_a_list_that_is_final_is_typed_as_a_whole() -> None:
    now = partials(Invoice, '{"number": "A1", "lines": [{"name": "x", "price": 2}], "total": ')[-1]
    assert now.fields.lines.value == [Line(name="x", price=Decimal(2))]


def test_a_value_that_does_not_fit_is_final_and_has_none() -> None:
    field = last_before_end(Invoice, '{"number": 7, "l').fields.number
    assert (field.state, field.so_far, field.value) == (PRESENT, 7, None)
    (finding,) = field.findings
    assert (finding.level, finding.path) == (Validity.SCHEMA, "/number")


def test_a_value_that_only_lax_mode_takes_is_told() -> None:
    class Lax(BaseModel):
        count: int
        rest: str

    field = last_before_end(Lax, '{"count": "3", ').fields.count
    assert (field.value, [each.code for each in field.findings]) == (3, ["coerced"])


def test_a_strict_model_reads_dates_as_json_has_them() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)

        day: dt.date
        count: int
        rest: str

    now = last_before_end(Strict, '{"day": "2024-05-06", "count": "3", ')
    assert now.fields.day.value == DAY
    assert now.fields.count.value is None


def test_the_configuration_of_the_nearest_model_holds() -> None:
    class Inner(BaseModel):
        name: str

    class Outer(BaseModel):
        model_config = ConfigDict(str_to_upper=True)

        name: str
        inner: Inner

    now = last_before_end(Outer, '{"name": "a", "inner": {"name": "b", ')
    assert (now.fields.name.value, now.fields.inner.name.value) == ("A", "b")


def test_keys_that_are_not_declared_are_as_the_model_takes_them() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

        __pydantic_extra__: dict[str, dt.date]  # pyright: ignore[reportIncompatibleVariableOverride]  # as Pydantic's docs say
        name: str

    now = last_before_end(Open, '{"name": "a", "day": "2024-05-06", ')
    assert now.at("/day").value == DAY
    assert now.at("/other").state is MISSING


# --- validators ---------------------------------------------------------------------------------

RAN: list[str] = []


class Checked(BaseModel):
    start: dt.date
    end: Annotated[dt.date, AfterValidator(lambda day: day)]
    tags: Annotated[list[str], BeforeValidator(lambda tags: tags)] = []
    rest: str

    @field_validator("start")
    @classmethod
    def _start(cls, start: dt.date) -> dt.date:
        RAN.append("start")
        return start

    @field_validator("end")
    @classmethod
    def _end(cls, end: dt.date, info: ValidationInfo) -> dt.date:
        RAN.append("end")
        assert info.field_name == "end"
        if end < info.data["start"]:
            raise ValueError("it ends before it starts")
        return end

    @model_validator(mode="after")
    def _whole(self) -> Checked:
        RAN.append("model")
        return self

    @computed_field
    def days(self) -> int:
        return (self.end - self.start).days


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


def test_a_field_that_fails_its_validator_is_final_with_a_finding_and_no_value() -> None:
    now = last_before_end(Checked, '{"start": "2024-05-06", "end": "2024-05-05", ')
    assert now.fields.end.state is PRESENT
    assert now.fields.end.value is None
    (finding,) = now.fields.end.findings
    assert (finding.level, finding.path) == (Validity.CONSISTENT, "/end")
    assert "it ends before it starts" in finding.message
    assert "model" not in RAN


def test_validators_run_when_a_field_is_looked_at_and_once() -> None:
    seen = partials(Checked, '{"start": "2024-05-06", "end": "2024-05-07", "tags": ["a"], "re')
    assert RAN == []
    assert {str(now.fields.end.value) for now in seen} == {"None", "2024-05-07"}
    assert {str(now.fields.start.value) for now in seen} == {"None", "2024-05-06"}
    assert sorted(RAN) == ["end", "start"]


def test_a_validator_that_looks_at_a_field_before_it_waits_for_that() -> None:
    seen = partials(Checked, '{"end": "2024-05-07", "start": "2024-05-06", "tags": ["a"], "re')
    waiting = [now.fields.end for now in seen if now.fields.start.state is not PRESENT]
    assert waiting[-1].state is PRESENT
    assert waiting[-1].value is None
    assert [each.code for each in waiting[-1].findings] == ["not_validated_yet"]
    assert seen[-1].fields.end.value == dt.date(2024, 5, 7)


def test_a_field_before_it_that_is_wrong_is_not_there_for_a_validator() -> None:
    now = last_before_end(Checked, '{"start": "no day", "end": "2024-05-07", ')
    assert now.fields.end.value is None
    assert [each.code for each in now.fields.end.findings] == ["validator_raised"]


def test_a_default_stands_in_for_a_field_before_it() -> None:
    class Priced(BaseModel):
        currency: str = "EUR"
        price: str
        rest: str

        @field_validator("price")
        @classmethod
        def _price(cls, price: str, info: ValidationInfo) -> str:
            return f"{price} {info.data['currency']}"

    assert last_before_end(list[Priced], '[{"price": "3", "rest": ""}, ').at("/0/price").value == (
        "3 EUR"
    )
    now = last_before_end(Priced, '{"price": "3", "currency": "CHF", ')
    assert now.fields.price.value == "3 CHF"


def test_no_default_stands_in_for_a_field_that_may_still_come() -> None:
    class Sum(BaseModel):
        a: int = 7
        b: int
        rest: str = ""

        @field_validator("b")
        @classmethod
        def _b(cls, b: int, info: ValidationInfo) -> int:
            return b + int(info.data["a"])

    values = [now.fields.b.value for now in partials(Sum, '{"b": 5, "a": 1, "re')]
    assert set(values) == {None, 6}
    assert values == sorted(values, key=bool)  # it is never taken back
    early = last_before_end(Sum, '{"b": 5, ').fields.b
    assert [each.code for each in early.findings] == ["not_validated_yet"]
    assert partials(Sum, '{"b": 5}')[-1].fields.b.value == 12


def test_a_field_with_a_default_may_look_at_those_before_it() -> None:
    class Maybe(BaseModel):
        a: int
        b: int | None = None
        c: int = Field(default_factory=lambda data: data["a"])

        @field_validator("b", "c")
        @classmethod
        def _add(cls, value: int, info: ValidationInfo) -> int:
            return value + int(info.data["a"])

    now = last_before_end(Maybe, '{"a": 1, "b": 5, "c": 7, ')
    assert (now.fields.b.value, now.fields.c.value) == (6, 8)


def test_the_first_field_is_told_its_name_and_that_nothing_is_before_it() -> None:
    class First(BaseModel):
        a: str
        b: int

        @field_validator("a")
        @classmethod
        def _named(cls, value: str, info: ValidationInfo) -> str:
            return f"{info.field_name}:{value}:{len(info.data)}"

    assert last_before_end(First, '{"a": "x", ').fields.a.value == "a:x:0"


def _told(value: int, info: ValidationInfo) -> str:
    return f"{value} {info.field_name} {info.data and sorted(info.data)}"


Told = Annotated[Any, AfterValidator(_told)]


class ToldRoot(RootModel[list[Told]]):
    pass


class ToldPair(NamedTuple):
    left: int
    right: Told


class ToldItems(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Told]

    q: int
    items: list[Told]
    named: dict[str, list[Told]]
    pair: tuple[Told, int]
    roots: list[ToldRoot]
    tuples: list[ToldPair]


def test_items_are_told_what_the_field_around_them_is_told() -> None:
    whole = (
        '{"q": 1, "items": [1], "named": {"k": [2]}, "pair": [3, 4], "roots": [[5]], '
        '"tuples": [[6, 7]], "more": 8}'
    )
    early = last_before_end(list[ToldItems], f"[{whole[:-1]}, ").at("/0/more")
    assert (early.value, early.findings[0].code) == (None, "type_not_known_yet")
    now = last_before_end(list[ToldItems], f"[{whole}, ")
    value = now.at("/0").value
    assert now.at("/0/items/0").value == value.items[0]
    assert now.at("/0/named/k/0").value == value.named["k"][0]
    assert now.at("/0/pair/0").value == value.pair[0]
    assert now.at("/0/roots/0/0").value == value.roots[0].root[0]
    assert now.at("/0/tuples/0/1").value == value.tuples[0].right
    assert now.at("/0/more").value == value.more
    assert last_before_end(list[Told], "[1, ").at("/0").value == "1 None None"


def test_a_default_that_depends_on_other_fields_is_known_when_these_are() -> None:
    class Made(BaseModel):
        a: int
        b: int = Field(default_factory=lambda data: data["a"] + 1)
        c: int = Field(default=3, validate_default=True)
        d: str

        @field_validator("c")
        @classmethod
        def _c(cls, value: int, info: ValidationInfo) -> int:
            return value + int(info.data["a"])

        @field_validator("d")
        @classmethod
        def _d(cls, value: str, info: ValidationInfo) -> str:
            return f"{value} {info.data['b']} {info.data['c']}"

    early = last_before_end(Made, '{"a": 1, "d": "x", ')
    assert (early.fields.b.value, early.fields.c.value, early.fields.d.value) == (None, None, None)
    late = partials(Made, '{"a": 1, "d": "x"}')[-1]
    assert (late.fields.b.value, late.fields.c.value) == (2, 4)
    assert late.fields.b.is_default and late.fields.c.is_default
    assert late.fields.d.value == "x 2 4"


def _after(day: dt.date, info: ValidationInfo) -> dt.date:
    if day < info.data["start"]:
        raise ValueError("it is before the start")
    return day


Later = TypeAliasType("Later", Annotated[dt.date, AfterValidator(_after)])


def test_a_validator_of_a_named_type_sees_the_fields_before_it_too() -> None:
    class Trip(BaseModel):
        start: dt.date
        end: Later
        back: Later
        rest: str

    text = '{"start": "2024-05-06", "end": "2024-05-07", "back": "2024-05-01", '
    now = last_before_end(Trip, text)
    assert now.fields.end.value == dt.date(2024, 5, 7)
    assert "it is before the start" in now.fields.back.findings[0].message


def test_validators_of_a_model_run_when_the_model_is_final() -> None:
    text = '{"start": "2024-05-06", "end": "2024-05-07", "rest": "x"}'
    now = last_before_end(list[Checked], f"[{text}, ")
    assert now.at("/0/end").value == dt.date(2024, 5, 7)
    assert RAN.count("model") == 0
    assert now.at("/0").value == Checked.model_validate_json(text)


# --- defaults -----------------------------------------------------------------------------------


class Person(BaseModel):
    type: Literal["person"] = "person"
    name: str
    email: str | None
    tags: list[str] = Field(default_factory=list)
    nick: str = Field(default_factory=lambda data: data["name"][:3])
    home: Line = Line(name="home", price=Decimal(1))


def test_a_declared_default_is_marked_as_one() -> None:
    now = last_before_end(Person, '{"name": "Ol')
    assert (now.fields.type.value, now.fields.type.is_default) == ("person", True)
    assert now.fields.type.state is MISSING
    assert now.fields.type.so_far is None
    assert (now.fields.email.value, now.fields.email.is_default) == (None, False)
    assert (now.fields.nick.value, now.fields.nick.is_default) == (None, False)
    assert now.fields.home.value == Line(name="home", price=Decimal(1))
    given = last_before_end(Person, '{"type": "person", "n').fields.type
    assert (given.value, given.is_default, given.state) == ("person", False, PRESENT)


def test_a_default_is_a_new_one_each_time() -> None:
    now = last_before_end(Person, '{"name": "Ol')
    one, other = now.at("/tags").value, now.at("/tags").value
    assert one == other == []
    assert one is not other


# --- in the form of the user --------------------------------------------------------------------


class Stock(BaseModel):
    colour: Literal["dark red", "light blue"]
    counts: dict[str, int]
    note: str = "none"


NATIVE = Capabilities(enforcement="native", dialect="openai-strict", logprobs=True)


def test_rewritten_forms_appear_in_the_users() -> None:
    text = (
        '{"colour": "dark red", "counts": [{"key": "a", "value": 1}, {"key": "b", "value": 2}], '
        '"note": null}'
    )
    model = FakeProvider([text], capabilities=NATIVE, pieces=1)
    seen = list(stream(Stock, "a text", model=model))
    assert any(now.fields.counts.b.state is PENDING for now in seen)
    assert seen[-1].fields.counts.b.value == 2
    assert seen[-1].fields.note.state is MISSING
    assert (seen[-1].fields.note.value, seen[-1].fields.note.is_default) == ("none", True)


def test_codes_appear_as_what_they_stand_for() -> None:
    one_token = dataclasses.replace(NATIVE, one_token=frozenset)
    model = FakeProvider(
        lambda request: (
            '{"colour": "B", "counts": [], "size": {"first": 3, "second": 4}, "note": null}'
        ),
        capabilities=one_token,
        pieces=1,
    )
    seen = list(stream(Stock, "a text", model=model, decoding=Decoding(label_codes=True)))
    assert {now.fields.colour.so_far for now in seen} == {None, "light blue"}


# --- without a stream ---------------------------------------------------------------------------


def test_what_could_be_read_of_a_cut_answer_is_looked_at_alike() -> None:
    cut = ModelResponse(text=TEXT, stop=StopReason.LENGTH)
    partial = extract(Invoice, "a text", model=FakeProvider([cut])).partial
    assert partial is not None
    price = partial.fields.lines[0].price
    assert (price.state, price.value, price.so_far) == (PRESENT, "2.50", "2.50")
    assert (price.is_default, price.findings, price.confidence, price.evidence) == (
        False,
        (),
        None,
        None,
    )
    assert [line.name.value for line in partial.fields.lines] == ["x", "y"]
    assert (partial.fields.total.state, partial.fields.total.so_far) == (MISSING, None)
    assert partial.at("/lines/1/price").value is None
