"""Which choices are answered by codes, by which, and what is said of the others."""

from __future__ import annotations

import json
import pickle
import string
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, TypeAlias

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from extractkit import Grounded, Inferred, Unknown, Verbatim
from extractkit.errors import SchemaError, UnsupportedError
from extractkit.schema import DIALECTS, CompiledSchema, codable, compile_coded, compile_schema

LETTERS = tuple(string.ascii_uppercase)
PAIRS = tuple(one + other for one in LETTERS for other in LETTERS)
ALL = pytest.mark.parametrize("dialect", sorted(DIALECTS))


class Tone(Enum):
    """How it sounds."""

    GOOD = "good"
    BAD = "bad"


class Size(IntEnum):
    SMALL = 10
    LARGE = 20


def coded(
    target: Any, dialect: str = "llguidance", codes: tuple[tuple[str, ...], ...] = (LETTERS,)
) -> CompiledSchema:
    return compile_coded(target, dialect, codes)


def reasons(compiled: CompiledSchema) -> dict[str, str]:
    return {item.pointer: item.why for item in compiled.in_words}


class Everything(BaseModel):
    tone: Tone
    maybe: Tone | None
    size: Size
    mixed: Literal["one", 2, None]
    open: Literal["yes", "perhaps"] | Unknown
    tones: list[Tone]
    by_name: dict[Literal["first", "second"], Tone]
    pair: tuple[Tone, Literal["m", "kg"]]
    flag: bool
    kind: Literal["everything"]


VALUE = {
    "tone": "bad",
    "maybe": None,
    "size": 20,
    "mixed": 2,
    "open": "unknown",
    "tones": ["good", "bad"],
    "by_name": {"first": "bad", "second": "good"},
    "pair": ["bad", "kg"],
    "flag": True,
    "kind": "everything",
}


@ALL
def test_members_are_sent_as_codes_wherever_they_stand_and_come_back(dialect: str) -> None:
    compiled = coded(Everything, dialect)
    sent = compiled.lower(VALUE)
    assert compiled.lift(sent) == VALUE
    text = json.dumps(compiled.schema)
    for word in ("good", "bad", "one", "yes", "perhaps", "kg"):
        assert f'"{word}"' not in text
        assert f'"{word}"' not in json.dumps(sent)
    assert {item.pointer for item in compiled.rewritten if "code" in item.after} == {
        "/tone", "/maybe", "/size", "/mixed", "/open", "/tones/*", "/by_name/*", "/pair/0",
        "/pair/1",
    }  # fmt: skip
    assert compiled.in_words == ()


def test_null_unknown_true_and_what_is_no_choice_stay_themselves() -> None:
    sent: Any = coded(Everything).lower(VALUE)
    assert sent["tone"] == "B"
    assert sent["mixed"] == "B"
    assert (sent["maybe"], sent["open"], sent["flag"]) == (None, "unknown", True)
    assert sent["kind"] == "everything"
    assert list(sent["by_name"]) == ["first", "second"]
    assert coded(bool).legend == coded(Literal[True, False]).legend == ()


def test_what_was_rewritten_names_the_codes() -> None:
    told = [item for item in coded(Everything).rewritten if item.pointer == "/tone"]
    assert [(item.before, item.after) for item in told] == [
        ("a choice of 2 values", 'a choice of codes: "A" is "good", "B" is "bad"')
    ]
    many = Literal["aa", "bb", "cc", "dd", "ee", "ff"]
    (only,) = coded(many).rewritten
    assert only.after.endswith('"E" is "ee", ...')


def test_a_choice_of_containers_is_answered_by_codes_too() -> None:
    compiled = coded({"enum": [[1], {"a": None}, "x"]})
    assert [compiled.lower(value) for value in ([1], {"a": None}, "x")] == ["A", "B", "C"]
    assert compiled.lift("B") == {"a": None}
    assert compiled.lift("B") is not compiled.lift("B")


class Cat(BaseModel):
    kind: Literal["cat", "lion"]


class Dog(BaseModel):
    kind: Literal["dog", "wolf"]


class Cow(BaseModel):
    kind: Literal["cow"]
    mood: Tone


class Boat(BaseModel):
    length: Literal["long", "short"]


class Ship(BaseModel):
    length: str
    name: str


class Marked(BaseModel):
    inner: Cat


Word: TypeAlias = Verbatim[Literal["ok", "no"]]
OPEN = "other values may stand there, too"
SOURCED = "its members are looked for in the source, as they are written"
APART = "it tells alternatives apart"
ASSERTED = "an assertion beside it may speak of its members"
LEFT: list[tuple[Any, dict[str, str]]] = [
    (Literal["a", "B", "9"], {"": "its members are one token each already"}),
    (Literal[1, 2, 3], {"": "its members are one token each already"}),
    (Literal["ok", "no"] | str, {"": OPEN}),
    (Literal[10, 20] | int, {"": OPEN}),
    ({"anyOf": [{"enum": ["ok", "no"]}, {}]}, {"": OPEN}),
    (Grounded[Tone], {"": SOURCED}),
    (Word, {"": SOURCED}),
    (Grounded[list[Tone]], {"/*": SOURCED}),
    (Grounded[Marked], {"/inner/kind": SOURCED}),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"/kind": APART}),
    (Cat | Dog, {"/kind": APART}),
    (Cat | Cow, {"/kind": APART}),
    (list[Cat] | list[Dog], {"/*/kind": APART}),
    (Boat | Ship, {"/length": OPEN}),
    ({"allOf": [{"enum": ["ok", "no"]}, {"not": {"const": "no"}}]}, {"": ASSERTED}),
    ({"type": "object", "properties": {"a": {"enum": ["ok", "no"]}},
      "if": {"properties": {"a": {"const": "ok"}}}, "then": {"required": ["b"]}},
     {"/a": ASSERTED}),
]  # fmt: skip


@ALL
@pytest.mark.parametrize(("target", "told"), LEFT)
def test_a_choice_that_needs_its_words_keeps_them_and_says_why(
    target: Any, told: dict[str, str], dialect: str
) -> None:
    compiled = coded(target, dialect)
    assert {place: why for place, why in reasons(compiled).items() if place in told} == told


def test_only_what_needs_words_keeps_them() -> None:
    compiled = coded(Cat | Cow)
    assert compiled.lower({"kind": "cow", "mood": "bad"}) == {"kind": "cow", "mood": "B"}
    assert coded(Inferred[Tone]).lower("bad") == "B"
    assert coded(Grounded[list[Inferred[Tone]]]).lower(["bad"]) == ["B"]
    dated = coded({"anyOf": [{"enum": ["ok", "no"]}, {"type": "string", "format": "date"}]})
    assert (dated.lower("no"), dated.lower("2026-01-02")) == ("B", "2026-01-02")


def test_alternatives_with_the_same_members_in_one_place_have_the_same_codes() -> None:
    class Left(BaseModel):
        tone: Tone
        left: int

    class Right(BaseModel):
        tone: Tone
        right: int

    compiled = coded(Left | Right)
    assert compiled.lower({"tone": "bad", "right": 1}) == {"tone": "B", "right": 1}
    assert compiled.in_words == ()


def test_members_of_several_choices_in_one_place_share_one_row_of_codes() -> None:
    compiled = coded(Tone | Literal["x", "yes"])
    assert [compiled.lower(value) for value in ("good", "bad", "x", "yes")] == ["A", "B", "C", "D"]
    (choice,) = compiled.legend
    assert [member.text for member in choice.members] == ['"good"', '"bad"', '"x"', '"yes"']


def test_a_code_is_never_a_member_in_any_letter_case() -> None:
    compiled = coded(Literal["A", "alpha", "c"])
    assert [compiled.lower(value) for value in ("A", "alpha", "c")] == ["B", "D", "E"]


def many(count: int) -> dict[str, Any]:
    return {"enum": [f"member {index}" for index in range(count)]}


def test_a_choice_takes_all_codes_from_the_first_group_that_has_enough() -> None:
    both = (LETTERS, PAIRS)
    assert coded(many(26), codes=both).lower("member 25") == "Z"
    larger = coded(many(27), codes=both)
    assert [larger.lower(f"member {index}") for index in (0, 26)] == ["AA", "BA"]


def test_a_choice_with_more_members_than_codes_keeps_its_words_and_says_so() -> None:
    compiled = coded(many(27))
    assert compiled.schema == compile_schema(many(27), "llguidance").schema
    (left,) = compiled.in_words
    assert left.why == "it has 27 members, and there are 26 codes"
    assert left.lacks_codes
    assert not coded(Literal["ok", "no"] | str).in_words[0].lacks_codes


def test_one_place_that_needs_words_does_not_take_the_codes_of_others() -> None:
    class Both(BaseModel):
        plain: Tone
        sourced: Grounded[Tone]
        keyed: dict[Tone, int]
        described: Tone = Field(description="Of the end.")

    compiled = coded(Both, "json-schema")
    value = {"plain": "bad", "sourced": "bad", "keyed": {"bad": 1}, "described": "good"}
    assert compiled.lower(value) == {**value, "plain": "B", "described": "A"}
    assert compiled.lift(compiled.lower(value)) == value
    assert reasons(compiled) == {"/sourced": SOURCED}


Shared = TypeAliasType("Shared", "Tone | None")


def test_a_named_union_that_needs_words_somewhere_keeps_them_everywhere() -> None:
    class Both(BaseModel):
        one: Shared
        other: Shared | str
        third: Tone

    compiled = coded(Both)
    assert compiled.lower({"one": "bad", "other": "bad", "third": "bad"}) == {
        "one": "bad", "other": "bad", "third": "B",
    }  # fmt: skip
    assert reasons(compiled) == {"/one": OPEN, "/other": OPEN}


def test_a_named_union_that_would_need_two_rows_of_codes_keeps_its_words() -> None:
    class Both(BaseModel):
        one: Shared
        other: Literal["xx", "yy"] | Shared

    compiled = coded(Both)
    value = {"one": "bad", "other": "bad"}
    assert compiled.lower(value) == value
    assert {*reasons(compiled).values()} == {"it would need other codes in another place"}


def test_what_is_said_of_a_member_is_in_the_legend() -> None:
    class Said(BaseModel):
        way: (
            Annotated[Literal["card"], Field(description="Paid by card.")]
            | Annotated[Literal["cash"], Field(description="Paid in coins.")]
        ) = "card"

    (choice,) = coded(Said).legend
    assert [(each.code, each.text, each.description) for each in choice.members] == [
        ("A", '"card"', "Paid by card."),
        ("B", '"cash"', "Paid in coins."),
    ]
    titled = {"oneOf": [{"const": "m", "title": "metre"}, {"const": "kg", "title": "kilogram"}]}
    (choice,) = coded(titled).legend
    assert [each.description for each in choice.members] == ["metre", "kilogram"]


class Told(Enum):
    """How it was paid."""

    CARD = ("card", "Paid by card.")
    CASH = ("cash", "Paid in coins.")
    GIFT = ("gift", "")
    PLASTIC = ("card", "The same again.")

    def __new__(cls, value: str, said: str) -> Told:
        member = object.__new__(cls)
        member._value_ = value
        if said:
            member.__doc__ = said
        return member


def test_what_members_of_an_enum_say_of_themselves_is_in_the_legend() -> None:
    class Paid(BaseModel):
        way: Told | None

    compiled = coded(Paid)
    (choice,) = compiled.legend
    assert [(each.text, each.description) for each in choice.members] == [
        ('"card"', "Paid by card."),
        ('"cash"', "Paid in coins."),
        ('"gift"', ""),
    ]
    assert "x-extractkit" not in json.dumps(compiled.user_schema)
    assert coded({"enum": ["ok", "no"], "x-extractkit-said": ["not", "ours"]}).legend


def test_the_legend_names_each_choice_once_by_its_keys_in_order() -> None:
    class Line(BaseModel):
        unit: Literal["kg", "pcs"]
        tone: Tone

    class Bill(BaseModel):
        unit: Literal["EUR", "USD"]
        lines: list[Line]
        more: dict[str, Tone]
        tones: list[Tone]
        pets: tuple[Tone, int]

    names = [choice.names for choice in coded(Bill, "json-schema").legend]
    assert names == [("unit",), ("lines[].unit",), ("tone", "more.*", "tones[]", "pets[]")]
    assert [choice.names for choice in coded(Tone).legend] == [("",)]


class Tree(BaseModel):
    tone: Tone
    below: list[Tree] = []


@ALL
def test_a_recursive_target_has_its_codes_on_every_level(dialect: str) -> None:
    compiled = coded(Tree, dialect)
    value = {"tone": "bad", "below": [{"tone": "good", "below": []}]}
    sent: Any = compiled.lower(value)
    assert (sent["tone"], sent["below"][0]["tone"]) == ("B", "A")
    assert compiled.lift(sent) == value
    assert [choice.names for choice in compiled.legend] == [("tone",)]


@ALL
def test_alternatives_that_lead_to_one_part_in_many_ways_are_looked_at_once(dialect: str) -> None:
    def variant(key: str) -> dict[str, Any]:
        parts = {"tone": {"enum": ["good", "bad"]}, "on": {"$ref": "#/$defs/Part"}}
        more = {key: {"type": "integer"}}
        keys = {"type": "object", "properties": {**parts, **more}, "required": ["tone", key]}
        return {**keys, "additionalProperties": False}

    part = {"anyOf": [variant("a"), variant("b"), variant("c")]}
    compiled = coded({"$ref": "#/$defs/Part", "$defs": {"Part": part}}, dialect)
    value = {"tone": "bad", "b": 1, "on": {"tone": "good", "c": 2}}
    sent: Any = compiled.lower(value)
    assert compiled.lift(sent) == value
    assert compiled.in_words == ()
    assert len(compiled.legend) == 1


def test_defaults_and_examples_that_are_shown_are_codes_too() -> None:
    class Shown(BaseModel):
        tone: Tone = Field(default=Tone.BAD, examples=["good", 7])
        unit: Literal["kg", "pcs"] | None = "pcs"
        other: Literal["B", "good"] = "good"

    shown = coded(Shown, "json-schema").schema["properties"]
    assert shown["tone"]["default"] == "B"
    assert shown["tone"]["examples"] == ["A", 7]
    assert shown["unit"]["default"] == "B"
    assert shown["other"]["default"] == "C"
    only = {"enum": ["good", "bad"], "examples": ["bad"]}
    assert coded(only, "json-schema").schema["examples"] == ["B"]
    odd = {"enum": ["good", "bad"], "default": "B"}  # no member, and a code
    assert coded(odd, "json-schema").schema["default"] == "B"


def test_a_document_with_a_code_in_it_is_refused_and_a_member_in_an_answer_is_taken() -> None:
    compiled = coded(Everything)
    with pytest.raises(SchemaError, match=r"/tone: .*'A' stands for \"good\"; give the member"):
        compiled.lower({**VALUE, "tone": "A"})
    assert compiled.lift("good") == "good"
    lifted: Any = compiled.lift({**VALUE, "tone": "good"})
    assert lifted["tone"] == "good"


def test_a_target_with_nothing_to_code_is_compiled_as_ever() -> None:
    class Plain(BaseModel):
        text: str
        kind: Literal["plain"]

    compiled = coded(Plain)
    assert (compiled.legend, compiled.in_words) == ((), ())
    assert compiled.schema == compile_schema(Plain, "llguidance").schema
    assert compiled.fingerprint == compile_schema(Plain, "llguidance").fingerprint


def test_the_fingerprint_tells_what_the_codes_mean() -> None:
    one, other = coded(Literal["ok", "no"]), coded(Literal["no", "ok"])
    assert one.schema == other.schema
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == coded(Literal["ok", "no"], codes=(LETTERS, PAIRS)).fingerprint


def test_what_is_compiled_is_kept_for_each_set_of_codes_and_survives_pickling() -> None:
    for target in (Everything, list[Tone], {"enum": ["ok", "no"]}):
        compiled = coded(target)
        assert coded(target) is compiled
        assert pickle.loads(pickle.dumps(compiled)) is compiled
        assert coded(target, codes=(PAIRS,)) is not compiled
        assert compile_schema(target, "llguidance") is not compiled
        assert compile_schema(target, "llguidance").legend == ()
    unhashable = Annotated[Tone, {"no": "hash"}]
    assert coded(unhashable) is not coded(unhashable)
    with pytest.raises(UnsupportedError, match="not known"):
        coded(Tone, "nobody")


def test_of_very_many_places_none_is_coded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codable, "_MOST_LOOKS", 3)
    compiled = coded({**Everything.model_json_schema(), "title": "another"})
    assert compiled.legend == ()
    (why,) = {*reasons(compiled).values()}
    assert why.startswith("the target has too many combinations of alternatives")
    assert {"/tone", "/mixed"} <= {*reasons(compiled)}


def test_an_answer_that_is_cut_off_shows_members_only() -> None:
    from extractkit.parsing import parse_prefix

    compiled = coded(Everything)
    partial = compiled.take_back_unfinished(parse_prefix('{"tone": "B", "maybe": "A", "size": "A'))
    assert partial.document == {"tone": "bad", "maybe": "good"}
