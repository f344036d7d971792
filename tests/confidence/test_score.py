"""Scores of whole answers: which tokens belong to which leaf, and under whose name."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from extractkit import Unknown, compile_schema
from extractkit.confidence import choice_places, score
from extractkit.parsing import parse_json
from extractkit.paths import walk
from tests.confidence.making import masked, scored, spelled, token

SURE = -0.01


def log(**masses: float) -> dict[str, float]:
    return {piece: math.log(mass) for piece, mass in masses.items()}


def test_an_answer_without_tokens_has_the_reason_everywhere() -> None:
    compiled = compile_schema(dict[str, int], "json-schema")
    found = score((), '{"a":1}', parse_json('{"a":1}'), compiled, leaves=["/a"])
    assert found.leaves["/a"].kind == "unavailable"
    assert found.leaves["/a"].reason.startswith("not available")
    told = score((), "", parse_json(""), compiled, leaves=["/a"], no_tokens="it was switched off")
    assert told.leaves["/a"].reason == "it was switched off"


def test_an_answer_that_is_no_document_has_the_reason_everywhere() -> None:
    compiled = compile_schema(int, "json-schema")
    found = score([token("x", -1)], "x", parse_json("x"), compiled, leaves=[""])
    assert "no document" in found.leaves[""].reason


def test_bytes_that_lack_make_their_leaf_unavailable_and_no_other() -> None:
    class City(BaseModel):
        name: str
        size: int
        kind: Literal["a", "b"]

    text = '{"name":"Nū","size":12,"kind":"a"}'
    tokens = [
        token('{"name":"N', -0.2), token('","size":', 0), token("12", -0.3), token(',"kind":"', 0),
        token("a", -0.4, {"a": -0.4, "b": -1.5}), token('"}', 0),
    ]  # fmt: skip
    compiled = compile_schema(City, "json-schema")
    found = score(tokens, text, parse_json(text), compiled, leaves=["/name", "/size", "/kind"])
    assert found.holes == ((10, 12),)
    assert (
        found.leaves["/name"].reason == "missing bytes: no token wrote bytes 10 to 12 of the answer"
    )
    assert found.leaves["/size"].probability == pytest.approx(math.exp(-0.3))
    assert found.leaves["/kind"].kind == "choice"


def test_tokens_around_the_document_count_nowhere() -> None:
    class Answer(BaseModel):
        words: list[str]

    text = '<think>["no"] or {"words": 3}</think>\nHere: {"words":["a","b"]} Done.'
    made = [
        ("<think>", -5), ('["no"] or {"words": 3}', -5), ("</think>\nHere: ", -5),
        ('{"words":["', 0),
        ("a", -0.1), ('","', -0.2), ("b", -0.3), ('"]', -0.4), ("} Done.", -5),
    ]  # fmt: skip
    tokens = [token(piece, value) for piece, value in made]
    assert spelled(tokens) == text
    parsed = parse_json(text)
    assert parsed.value == {"words": ["a", "b"]}
    compiled = compile_schema(Answer, "json-schema")
    found = score(tokens, text, parsed, compiled, leaves=["/words/0", "/words/1"])
    assert found.leaves["/words/0"].probability == pytest.approx(math.exp(-0.1))
    assert found.leaves["/words/1"].probability == pytest.approx(math.exp(-0.3))
    assert found.lengths["/words"].probability == pytest.approx(math.exp(-0.2 - 0.4), rel=1e-6)


def test_a_wrapped_list_of_lists_is_found_from_its_first_leaf() -> None:
    text = "Sure: [[1, 2], []] there"
    tokens = [token("Sure: [[", -3), token("1", -0.1), token(", ", 0), token("2", -0.2),
              token("], [", 0), token("]]", -0.3), token(" there", -3)]  # fmt: skip
    compiled = compile_schema(list[list[int]], "json-schema")
    found = score(tokens, text, parse_json(text), compiled, leaves=["/0/0", "/0/1", "/1"])
    assert found.leaves["/0/1"].probability == pytest.approx(math.exp(-0.2))
    assert found.leaves["/1"].probability == pytest.approx(math.exp(-0.3))


def test_the_keys_of_a_map_are_not_part_of_its_values() -> None:
    for dialect in ("json-schema", "openai-strict"):
        compiled = compile_schema(dict[str, int], dialect)
        wire = compiled.lower({"red": 7})
        text = json.dumps(wire, separators=(",", ":"))
        start = text.index("red")
        seven = text.index("7")
        tokens = [token(text[:start], 0), token("red", -4), token(text[start + 3 : seven], 0),
                  token("7", -0.3), token(text[seven + 1 :], 0)]  # fmt: skip
        assert spelled(tokens) == text
        found = score(tokens, text, parse_json(text), compiled, leaves=["/red"])
        assert found.leaves["/red"].probability == pytest.approx(math.exp(-0.3))


class Colour(Enum):
    RED = 1
    DEEP = "deep"
    BOTH = (1, 2)


def test_labels_of_a_rewritten_choice_are_the_user_s_values() -> None:
    compiled = compile_schema(Colour, "openai-strict")
    wire = json.dumps(compiled.lower([1, 2]), ensure_ascii=False)
    at = wire.index("[1, 2]")
    tokens = [
        token(wire[:at], -0.2),
        token("[1, 2]", -0.3, {"[1, 2]": -0.3, "deep": -1.5}),
        token(wire[at + 6 :], 0),
    ]
    assert compiled.lift(json.loads(wire)) == [1, 2]
    found = score(tokens, wire, parse_json(wire), compiled, leaves=["/0", "/1"])
    assert found.leaves["/0"] == found.leaves["/1"]
    choice = found.leaves["/0"]
    assert choice.kind == "choice"
    assert choice.alternatives == pytest.approx(
        {"[1, 2]": math.exp(-0.5), '"deep"': math.exp(-1.7)}
    )
    assert choice.reason.startswith("of all that stands at (root), written as one text")
    assert "no visible token decides for 1 (at most" in choice.reason


def test_a_key_that_is_absent_is_a_choice_by_that_name() -> None:
    class Bill(BaseModel):
        note: str = "none"

    wire = [
        ('{"note":', 0), ("null", math.log(0.7), log(null=0.7) | {'"': math.log(0.2)}), ("}", 0)
    ]  # fmt: skip
    found = scored(Bill, wire)
    assert found.presence["/note"].alternatives == pytest.approx(
        {"(absent)": 0.7 / 0.9, "(text)": 0.2 / 0.9}
    )
    there = [('{"note":', 0), ('"', math.log(0.6), {'"': math.log(0.6), "null": math.log(0.3)}),
             ("paid", -0.5), ('"}', 0)]  # fmt: skip
    present = scored(Bill, there)
    assert present.leaves["/note"].kind == "sequence"
    assert present.presence["/note"].probability == pytest.approx(0.6 / 0.9)


def test_null_or_a_value_is_a_choice_of_its_own() -> None:
    class Person(BaseModel):
        name: str | None
        age: int | None

    made = [
        ('{"name":', 0), (' "', math.log(0.8), {' "': math.log(0.8), " null": math.log(0.1)}),
        ("Al", -0.3), ('","age":', 0),
        ("null", math.log(0.5), {"null": math.log(0.5), "4": math.log(0.2), "3": math.log(0.1)}),
        ("}", 0),
    ]  # fmt: skip
    found = scored(Person, made)
    assert found.leaves["/name"].kind == "sequence"
    assert found.presence["/name"].probability == pytest.approx(0.8 / 0.9)
    assert found.leaves["/age"].kind == "choice"
    assert found.leaves["/age"].alternatives == pytest.approx(
        {"null": 0.5 / 0.8, "(number)": 0.3 / 0.8}
    )


def test_unknown_is_one_of_the_alternatives() -> None:
    class Review(BaseModel):
        tone: Literal["good", "bad"] | Unknown
        size: int | Unknown

    made = [
        ('{"tone":"', 0), ("unknown", math.log(0.4), log(good=0.3, bad=0.2, unknown=0.4)),
        ('","size":', 0), ("7", math.log(0.6), {"7": math.log(0.6), '"': math.log(0.2)}), ("}", 0),
    ]  # fmt: skip
    found = scored(Review, made)
    assert found.leaves["/tone"].alternatives == pytest.approx(
        {'"good"': 0.3 / 0.9, '"bad"': 0.2 / 0.9, '"unknown"': 0.4 / 0.9}
    )
    assert found.presence["/size"].alternatives == pytest.approx(
        {'"unknown"': 0.25, "(number)": 0.75}
    )


def test_unknown_beside_a_text_is_told_by_its_first_byte() -> None:
    class Review(BaseModel):
        name: str | Unknown

    made = [
        ('{"name":', 0), ("{", math.log(0.3), {"{": math.log(0.3), '"': math.log(0.6)}),
        ('"unknown":true}}', 0),
    ]  # fmt: skip
    found = scored(Review, made, dialect="json-schema")
    assert found.presence["/name"].alternatives == pytest.approx(
        {'{"unknown": true}': 1 / 3, "(text)": 2 / 3}
    )
    whole, leaf = found.presence["/name"], found.leaves["/name/unknown"]
    assert leaf == whole  # it has one leaf, which is as sure as that
    assert (leaf.kind, leaf.probability) == ("choice", pytest.approx(1 / 3))


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


def test_a_tag_is_chosen_among_the_tags_of_all_alternatives() -> None:
    class Home(BaseModel):
        pet: Annotated[Cat | Dog, Field(discriminator="kind")]

    made = [
        ('{"pet":{"kind":"', 0), ("dog", math.log(0.6), log(dog=0.6, cat=0.2)),
        ('","good":', 0), ("true", math.log(0.7), log(true=0.7, false=0.1)), ("}}", 0),
    ]  # fmt: skip
    found = scored(Home, made, dialect="json-schema")
    assert found.leaves["/pet/kind"].alternatives == pytest.approx({'"cat"': 0.25, '"dog"': 0.75})
    assert found.leaves["/pet/good"].alternatives == pytest.approx({"true": 0.875, "false": 0.125})


def test_one_legal_value_is_no_choice() -> None:
    found = scored(Cat, [('{"kind":"cat","lives":', 0), ("9", -0.5), ("}", 0)])
    assert found.leaves["/kind"].kind == "unavailable"
    assert found.leaves["/kind"].reason.startswith("nothing was to choose")


def test_a_value_that_is_not_legal_has_no_number() -> None:
    found = scored(list[bool], [("[", 0), ("null", -0.5), ("]", 0)], dialect="json-schema")
    assert "none of those that are legal" in found.leaves["/0"].reason


def test_a_choice_beside_a_text_is_swallowed_by_it() -> None:
    found = scored(Literal["a"] | str, [('"', 0), ("a", -0.5), ('"', 0)], dialect="json-schema")
    assert found.leaves[""].kind == "sequence"


def test_lengths_say_where_a_list_could_have_ended() -> None:
    stop = {"]": math.log(0.25), ",": math.log(0.75)}
    made = [
        ("[", 0), ("1", math.log(0.9), {"1": math.log(0.9), "]": math.log(0.1)}),
        (",", math.log(0.75), stop), ("2", -0.7), ("]", math.log(0.25), stop),
    ]  # fmt: skip
    found = scored(list[int], made, dialect="json-schema")
    assert found.lengths[""].alternatives == pytest.approx(
        {"0": 0.1, "1": 0.9 * 0.25, "2": 0.9 * 0.75 * 0.25, ">2": 0.9 * 0.75 * 0.75}
    )
    assert found.lengths[""].probability == pytest.approx(0.9 * 0.75 * 0.25)
    hidden = scored(list[int], [("[", 0), ("1", -0.1), ("]", -0.2)], dialect="json-schema")
    assert hidden.lengths[""].reason == (
        "length: at 2 of 2 steps no visible token decides otherwise"
    )


def test_a_list_of_the_only_legal_length_is_no_choice() -> None:
    two = Annotated[list[int], Field(min_length=2, max_length=2)]
    found = scored(two, [("[1,", 0), ("2", -0.7), ("]", 0)], dialect="json-schema")
    assert found.lengths == {}
    upto = Annotated[list[int], Field(max_length=1)]
    stop = {"]": math.log(0.25), "1": math.log(0.75)}
    full = scored(upto, [("[", 0), ("1", math.log(0.75), stop), ("]", 0)], dialect="json-schema")
    assert full.lengths[""].alternatives == pytest.approx({"0": 0.25, "1": 0.75})
    none = scored(
        Annotated[list[int], Field(max_length=0)], [("[", 0), ("]", 0)], dialect="json-schema"
    )
    assert none.leaves[""].reason.startswith("nothing was to choose")


def test_an_empty_list_and_an_empty_map_are_choices() -> None:
    class Basket(BaseModel):
        items: list[int]
        notes: dict[str, str]

    made = [
        ('{"items":[', 0), ("]", math.log(0.6), {"]": math.log(0.6), "1": math.log(0.3)}),
        (',"notes":{', 0), ("}", math.log(0.8), {"}": math.log(0.8), '"': math.log(0.1)}), ("}", 0),
    ]  # fmt: skip
    found = scored(Basket, made, dialect="json-schema")
    assert found.leaves["/items"].probability == pytest.approx(0.6 / 0.9)
    assert found.leaves["/notes"].probability == pytest.approx(0.8 / 0.9)


def test_a_list_that_stands_for_null_is_the_choice_of_null() -> None:
    class Inner(BaseModel):
        name: str

    fields: Any = {f"f{place}": (Inner | None, ...) for place in range(20)}
    from pydantic import create_model

    wide = create_model("Wide", **fields)
    compiled = compile_schema(wide, "anthropic")
    document = {f"f{place}": None if place % 2 else {"name": "x"} for place in range(20)}
    wire = compiled.lower(document)
    listed = [name for name, value in wire.items() if isinstance(value, list)]
    assert listed, "the dialect takes no more unions than its limit"
    text = json.dumps(wire)
    tokens = [token(letter, -0.05) for letter in text]
    found = score(tokens, text, parse_json(text), compiled, leaves=[p for p, _ in walk(document)])
    for name in listed:
        if document[name] is None:
            assert found.leaves[f"/{name}"].kind == "choice"
            assert "null" in found.leaves[f"/{name}"].alternatives
        else:
            assert found.leaves[f"/{name}/name"].kind == "sequence"
            assert "(value)" in found.presence[f"/{name}"].alternatives


def test_leaves_inside_one_text_have_the_confidence_of_their_own_tokens() -> None:
    compiled = compile_schema(Any, "openai-strict")
    wire = compiled.lower({"a": 12, "b": "x"})
    text = json.dumps(wire)
    tokens = [token(letter, -0.01 if letter in "12" else -0.5) for letter in text]
    found = score(tokens, text, parse_json(text), compiled, leaves=["/a", "/b"])
    assert found.leaves["/a"].kind == "sequence"
    assert found.leaves["/a"].probability == pytest.approx(math.exp(-0.02))
    assert found.leaves["/b"].probability == pytest.approx(math.exp(-0.5))


def test_a_closed_set_inside_several_rules_is_closed() -> None:
    compiled = compile_schema(
        {"allOf": [{"enum": ["a", "b", 3]}, {"type": "string"}, {"pattern": "^[ab]$"}]},
        "json-schema",
    )
    tokens = [token('"', 0), token("a", math.log(0.6), log(a=0.6, b=0.2)), token('"', 0)]
    found = score(tokens, '"a"', parse_json('"a"'), compiled, leaves=[""])
    assert found.leaves[""].alternatives == pytest.approx({'"a"': 0.75, '"b"': 0.25})


def test_parts_of_several_rules_are_places_of_their_own() -> None:
    target = {
        "allOf": [
            {"type": "object", "properties": {"x": {"type": "boolean"}}},
            {"properties": {"y": {"enum": ["p", "q"]}}},
        ],
        "properties": {"x": {"const": True}},
    }
    compiled = compile_schema(target, "json-schema")
    text = '{"x":true,"y":"p","z":1}'
    tokens = [token(text[:14], -0.1), token('"', 0), token("p", math.log(0.6), log(p=0.6, q=0.2)),
              token('","z":', 0), token("1", -0.3), token("}", 0)]  # fmt: skip
    assert spelled(tokens) == text.replace('"y":"p"', '"y":"p"')
    found = score(tokens, text, parse_json(text), compiled, leaves=["/x", "/y", "/z"])
    assert found.leaves["/y"].alternatives == pytest.approx({'"p"': 0.75, '"q"': 0.25})
    assert found.leaves["/z"].kind == "sequence"


def test_a_number_written_another_way_is_the_same_value() -> None:
    three = {"1": -0.2, "2": -2.0}
    found = scored(
        {"enum": [1, 2]}, [token("1", -0.2, three), token(".0", -0.1)], dialect="json-schema"
    )
    assert found.leaves[""].alternatives["1"] > 0.8


def test_a_choice_of_containers_is_told_by_its_first_byte() -> None:
    made = [("[", math.log(0.6), {"[": math.log(0.6), '"': math.log(0.2)}), ("1", -0.1), ("]", 0)]
    found = scored({"enum": [[1], [2], "x"]}, made, dialect="json-schema")
    assert found.presence[""].alternatives == pytest.approx({"(list)": 0.75, '"x"': 0.25})


def test_a_length_that_cannot_be_known_says_why() -> None:
    text = "[1,2]"
    tokens = [token("[1", -0.1), token("2", -0.1), token("]", -0.1)]
    compiled = compile_schema(list[int], "json-schema")
    found = score(tokens, text, parse_json(text), compiled, leaves=["/0", "/1"])
    assert found.holes == ((2, 3),)
    assert "missing bytes" in found.lengths[""].reason


def test_a_leaf_that_the_answer_does_not_hold_says_so() -> None:
    compiled = compile_schema(list[int], "json-schema")
    found = score([token("[1]", -1)], "[1]", parse_json("[1]"), compiled, leaves=["/0", "/7"])
    assert "no value of its own" in found.leaves["/7"].reason


def test_under_a_mask_forced_tokens_are_no_certainty() -> None:
    class Code(BaseModel):
        code: str
        flag: bool

    made = [
        masked('{"code":"', {}, removed=0, forced=True), masked("A1", {}, removed=0, forced=True),
        masked('","flag":', {}, removed=0, forced=True),
        masked(" true", {" true": 0.2, " false": 0.05}, removed=0.75),
        masked("}", {}, removed=0, forced=True),
    ]  # fmt: skip
    found = scored(Code, made, dialect="json-schema")
    assert found.leaves["/code"].kind == "unavailable"
    assert found.leaves["/code"].reason.startswith("forced")
    assert found.leaves["/flag"].probability == pytest.approx(0.8)
    assert found.leaves["/flag"].removed_mass == pytest.approx(0.75)


def test_a_sequence_names_its_weakest_token_and_shared_tokens() -> None:
    class Name(BaseModel):
        name: str

    found = scored(Name, [('{"name":"', 0), ("Ann", -0.1), ("a", -2.0), (' B"}', -0.4)]).leaves[
        "/name"
    ]
    assert found.probability == pytest.approx(math.exp(-2.5))
    assert found.weakest == pytest.approx(math.exp(-2.0))
    assert "3 tokens" in found.reason
    assert "structure" in found.reason


def test_reading_stops_at_answers_nested_too_deeply(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("extractkit.confidence._score.find", fails)
    found = scored(list[int], [("[", 0), ("1", -0.1), ("]", 0)])
    assert "nested too deeply" in found.leaves["/0"].reason


def test_every_alternative_of_a_closed_set_can_be_scored_by_the_model_itself() -> None:
    class Review(BaseModel):
        tone: Literal["good", "bad"] | None
        stars: Literal[1, 10]
        note: str | None

    made = [
        token('{"tone":', -0.1), token(' "', -0.1), token("good", -0.4), token('","stars":', 0),
        token("1", -0.5), token(',"note":', 0), token("null}", -0.1),
    ]  # fmt: skip
    text = spelled(made)
    compiled = compile_schema(Review, "json-schema")
    places = choice_places(made, text, parse_json(text), compiled)
    assert [(place.pointer, place.token, place.chosen) for place in places] == [
        ("/tone", 1, 0), ("/stars", 4, 0)
    ]  # fmt: skip
    tone, stars = places
    assert tone.texts == (b' "good', b' "bad', b" null")
    assert tone.labels == ('"good"', '"bad"', "null")
    assert stars.texts == (b"1", b"10")
    assert (tone.ends, stars.ends) == ((None, None, None), (b",", None))
    exact = {tone.start: [-1.0, -2.0, -4.0], stars.start: [-0.5, -3.0]}
    found = score(
        made, text, parse_json(text), compiled, leaves=["/tone", "/stars", "/note"], exact=exact
    )
    total = sum(math.exp(value) for value in exact[tone.start])
    assert found.leaves["/tone"].alternatives == pytest.approx(
        {
            '"good"': math.exp(-1) / total,
            '"bad"': math.exp(-2) / total,
            "null": math.exp(-4) / total,
        }
    )
    one = found.leaves["/stars"]
    assert one.probability == one.low == one.high == pytest.approx(1 / (1 + math.exp(-2.5)))
    assert found.leaves["/note"].kind == "choice"


def test_where_nothing_can_be_scored_no_place_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_schema(bool, "json-schema")
    text = "true"
    assert choice_places((), text, parse_json(text), compiled) == ()
    assert choice_places([token("tr", 0)], "tr", parse_json("tr"), compiled) == ()
    assert choice_places([token("tr", 0)], text, parse_json(text), compiled) == ()
    assert len(choice_places([token("true", 0)], text, parse_json(text), compiled)) == 1

    def fails(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("extractkit.confidence._score.find", fails)
    assert choice_places([token("true", 0)], text, parse_json(text), compiled) == ()


def test_a_choice_that_the_constraint_made_alone_has_no_number() -> None:
    made = [
        masked("[", {"[": 0.5}, removed=0.5), masked("true", {}, removed=0, forced=True),
        masked("]", {}, removed=0, forced=True),
    ]  # fmt: skip
    found = scored(list[bool], made, dialect="json-schema")
    assert found.leaves["/0"].reason.startswith("forced")
    assert found.lengths == {}


def test_a_decimal_is_a_number_however_it_is_written() -> None:
    class Bill(BaseModel):
        total: Decimal | None

    beside = {'"': math.log(0.4), "6": math.log(0.4), "null": math.log(0.2)}
    made = [('{"total":', 0), ('"', math.log(0.4), beside), ("62.0", -0.3), ('"}', 0)]
    found = scored(Bill, made, dialect="json-schema")
    assert found.presence["/total"].alternatives == pytest.approx({"(number)": 0.8, "null": 0.2})
