"""Faults that others had with names, keys, order and keywords: cases 008 to 017.

Every schema that is compiled on the way is held to the rules of its dialect as well.
"""

import json
import os
import re
import subprocess
import sys
from enum import IntEnum
from typing import Any, Generic, Literal, NotRequired, TypeVar

import pytest
from pydantic import BaseModel, ValidationError, create_model
from typing_extensions import TypedDict

from extractkit.errors import SchemaError
from extractkit.paths import is_array, is_object
from extractkit.schema import compile_schema
from tests.schema.cases import (
    EVERY,
    accepts,
    compiled_for,
    objects,
    on_every,
    on_hosted,
    there_and_back,
    told,
    typed,
)
from tests.schema.engine import admits_text
from tests.schema.grammar.judge import judge

# 008: integers, booleans and integer enums as closed sets. No dialect here wants text in an enum.


class Tier(IntEnum):
    basic = 1
    gold = 2


class Review(BaseModel):
    stars: Literal[1, 2, 3]
    tier: Tier
    verified: Literal[True]
    code: str


@on_every
def test_008_closed_sets_of_numbers_and_booleans_stay_what_they_are(dialect: str) -> None:
    compiled = compiled_for(Review, dialect)
    good = Review(stars=2, tier=Tier.gold, verified=True, code="2")
    wire = there_and_back(compiled, good)
    assert wire == {"stars": 2, "tier": 2, "verified": True, "code": "2"}
    value = typed(compiled, wire)
    assert (type(value.stars), type(value.tier), value.verified) == (int, Tier, True)
    for key, wrong in (
        ("stars", "2"),
        ("stars", 4),
        ("stars", True),
        ("tier", 3),
        ("tier", "2"),
        ("verified", "true"),
        ("verified", False),
        ("verified", 1),
        ("code", 2),
    ):
        assert not accepts(compiled, {**wire, key: wrong}), (key, wrong)
    with pytest.raises(ValidationError):
        typed(compiled, {**wire, "stars": "2"})


# 010: a model inside itself.


class Part(BaseModel):
    name: str
    subparts: list["Part"] = []


def parts(*names: str) -> Any:
    inner = [parts(*names[1:])] if names[1:] else []
    return {"name": names[0], "subparts": inner}


@on_every
def test_010_a_model_inside_itself_ends_and_judges_every_level(dialect: str) -> None:
    compiled = compiled_for(Part, dialect)
    wire = there_and_back(compiled, Part.model_validate(parts("a", "b", "c")))
    innermost = wire["subparts"][0]["subparts"][0]
    assert innermost.pop("name") == "c"
    assert not accepts(compiled, wire)


@on_hosted
def test_010_the_root_is_an_object(dialect: str) -> None:
    assert compiled_for(Part, dialect).schema["type"] == "object"


@pytest.mark.parametrize("dialect", ["openai-strict", "llguidance", "json-schema"])
def test_010_where_recursion_is_taken_depth_is_free(dialect: str) -> None:
    deep = Part.model_validate(parts(*"abcdefghijklmno"))
    there_and_back(compiled_for(Part, dialect), deep)


@pytest.mark.parametrize("dialect", ["anthropic", "anthropic-tool"])
def test_010_where_recursion_is_not_taken_the_bound_is_told_and_held(dialect: str) -> None:
    compiled = compiled_for(Part, dialect)
    said = [item.after for item in compiled.rewritten if "recursion" in item.before]
    assert len(said) == 1
    assert re.search(r"\d", said[0]), said
    with pytest.raises(SchemaError) as caught:
        compiled.lower(parts(*"abcdefghijklmno"))
    assert caught.value.pointer is not None
    assert caught.value.pointer.startswith("/subparts/0/subparts/0")


# 011: names.

T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    value: T


NAMED: list[Any] = [
    Box[int],
    Box[str],
    Box[dict[str, list[int]]],
    create_model("Größe des Auftrags", v=(int, ...)),
    create_model("M" * 90, v=(int, ...)),
    create_model("M" * 89 + "N", v=(int, ...)),
]


@on_every
def test_011_names_are_legal_and_tell_models_apart(dialect: str) -> None:
    names = [compiled_for(model, dialect).name for model in NAMED]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names), names
    assert len(set(names)) == len(names)


@on_every
def test_011_a_generic_model_gives_its_own_instances(dialect: str) -> None:
    compiled = compiled_for(Box[int], dialect)
    value = typed(compiled, there_and_back(compiled, Box[int](value=4)))
    assert type(value) is Box[int]
    assert type(value.value) is int


def elsewhere(attribute: str) -> list[str]:
    """Return what two other processes, with other hash seeds, say of the models of this file."""
    code = (
        "from tests.schema import test_cases_schema_names as t\n"
        "for d in t.EVERY:\n"
        "    for m in (*t.NAMED, t.Sheet):\n"
        f"        print(t.compile_schema(m, d).{attribute})\n"
    )
    return [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]


def test_011_a_model_has_the_same_name_in_every_process() -> None:
    here = [compile_schema(model, name).name for name in EVERY for model in (*NAMED, Sheet)]
    assert [text.split("\n")[:-1] for text in elsewhere("name")] == [here, here]


# 014: keys of a TypedDict that need not be there.


class Contact(TypedDict):
    name: str
    nick: NotRequired[str]


class Loose(TypedDict, total=False):
    name: str
    nick: str


@on_every
def test_014_a_key_that_need_not_be_there_stays_away(dialect: str) -> None:
    for value in ({"name": "Ida"}, {"name": "Ida", "nick": "I"}):
        there_and_back(compiled_for(Contact, dialect), value)
        there_and_back(compiled_for(list[Contact], dialect), [value, {"name": "Bo"}])
        there_and_back(compiled_for(Loose, dialect), value)
    there_and_back(compiled_for(Loose, dialect), {})
    there_and_back(compiled_for(list[Loose], dialect), [{}, {"nick": "I"}])
    assert not accepts(compiled_for(Contact, dialect), {"nick": "I"})


def test_014_null_is_no_text_where_keys_may_be_left_out() -> None:
    compiled = compiled_for(Contact, "json-schema")
    assert not accepts(compiled, {"name": "Ida", "nick": None})
    with pytest.raises(ValidationError, match="nick"):
        typed(compiled, {"name": "Ida", "nick": None})


def test_014_null_stands_for_absence_where_every_key_must_be_there() -> None:
    compiled = compiled_for(Contact, "openai-strict")
    assert compiled.lower({"name": "Ida"}) == {"name": "Ida", "nick": None}
    assert accepts(compiled, {"name": "Ida", "nick": None})
    assert typed(compiled, {"name": "Ida", "nick": None}) == {"name": "Ida"}
    assert "/nick" in {item.pointer for item in compiled.rewritten}
    assert "/*/nick" in told(compiled_for(list[Contact], "openai-strict"))


# 015: the declared order.


class Base(BaseModel):
    zone: str


class Verdict(Base):
    rationale: str
    answer: Literal["yes", "no"]


class Sheet(BaseModel):
    verdicts: list[Verdict]
    summary: str


class Noted(BaseModel):
    note: str = "none"
    total: int


ORDERS = (["verdicts", "summary"], ["zone", "rationale", "answer"])


@on_every
def test_015_the_bytes_hold_the_declared_order(dialect: str) -> None:
    compiled = compiled_for(Sheet, dialect)
    assert (
        compiled.encoded
        == json.dumps(compiled.schema, ensure_ascii=False, separators=(",", ":")).encode()
    )
    sent = objects(json.loads(compiled.encoded))
    assert sorted(list(item["properties"]) for item in sent) == sorted(ORDERS)
    assert sorted(item["required"] for item in sent) == sorted(ORDERS)


def test_015_every_process_sends_the_same_bytes() -> None:
    here = [compile_schema(model, name).encoded for name in EVERY for model in (*NAMED, Sheet)]
    said = "\n".join(encoded.decode() for encoded in here) + "\n"
    assert elsewhere("encoded.decode()") == [said, said]


def test_015_the_grammar_writes_in_that_order_only() -> None:
    schema = compiled_for(Sheet, "llguidance").schema
    verdict = '{"zone": "z", "rationale": "r", "answer": "yes"}'
    assert admits_text(schema, f'{{"verdicts": [{verdict}], "summary": "s"}}')
    assert not admits_text(schema, f'{{"summary": "s", "verdicts": [{verdict}]}}')
    turned = '{"answer": "yes", "rationale": "r", "zone": "z"}'
    assert not admits_text(schema, f'{{"verdicts": [{turned}], "summary": "s"}}')


@pytest.mark.parametrize("dialect", ["anthropic", "anthropic-tool"])
def test_015_where_required_keys_come_first_an_early_key_is_required_or_the_loss_told(
    dialect: str,
) -> None:
    compiled = compiled_for(Noted, dialect)
    there_and_back(compiled, Noted(total=1))
    assert list(compiled.schema["properties"]) == ["note", "total"]
    assert compiled.schema["required"] == ["note", "total"] or "/note" in told(compiled)


# 016: bounded texts, as the engine reads them from the grammar of local decoding.

ACCEPTED = [
    r'"a\"b"',
    r'"\u00e9t\u00e9"',
    '"été"',
    r'"\ud83e\udd8a"',
    '"🦊"',
    '"🦊🦊🦊"',
    r'"\n\n\n"',
]
TOO_LONG = ['"abcd"', '"🦊🦊🦊🦊"']
NO_TEXTS = ['"a\tb"', r'"\ud83e"']


@pytest.mark.parametrize(
    ("bounds", "accepted", "rejected"),
    [
        ({"maxLength": 3}, [*ACCEPTED, '""'], [*TOO_LONG, *NO_TEXTS]),
        ({"maxLength": 3, "minLength": 1}, ACCEPTED, ['""', *TOO_LONG, *NO_TEXTS]),
        ({}, [*ACCEPTED, *TOO_LONG, '""'], NO_TEXTS),
    ],
)
def test_016_a_bounded_text_counts_characters_and_may_escape_them(
    bounds: Any, accepted: list[str], rejected: list[str]
) -> None:
    schema = {"type": "string", **bounds}
    assert compiled_for(schema, "llguidance").unenforced == ()
    grammar = judge(schema)
    assert [text for text in accepted if not grammar.admits(text)] == []
    assert [text for text in rejected if grammar.admits(text)] == []


# 017: a keyword that a target passes over.

PATTERNED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "patternProperties": {"^x_": {"type": "string"}},
    "additionalProperties": False,
}
PASSED_OVER: dict[str, tuple[str, Any, Any, Any]] = {
    "lookahead": (
        "pattern",
        {"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"},
        "a1",
        "abc",
    ),
    "multiple": ("multipleOf", {"type": "integer", "multipleOf": 5}, 10, 7),
    "unique": (
        "uniqueItems",
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        [1, 2],
        [1, 1],
    ),
    "shapeless": ("required", {"type": "object", "required": ["a"]}, {"a": 1}, {}),
    "patterned": ("patternProperties", PATTERNED, {"a": 1, "x_k": "v"}, {"a": 1, "x_k": 5}),
    "closed": ("additionalProperties", PATTERNED, {"a": 1}, {"a": 1, "y": "v"}),
}


@on_every
@pytest.mark.parametrize("case", PASSED_OVER)
def test_017_a_keyword_is_held_or_told(dialect: str, case: str) -> None:
    keyword, schema, good, bad = PASSED_OVER[case]
    compiled = compiled_for(schema, dialect)
    wire = compiled.lower(good)
    assert accepts(compiled, wire)
    assert compiled.lift(wire) == good
    if ("", keyword) in {(item.pointer, item.keyword) for item in compiled.unenforced}:
        return
    try:
        wrong = compiled.lower(bad)
    except SchemaError:
        return
    assert not accepts(compiled, wrong)


@on_every
@pytest.mark.parametrize("case", ["lookahead", "multiple", "unique", "shapeless", "patterned"])
def test_017_a_keyword_that_changes_nothing_sent_is_told(dialect: str, case: str) -> None:
    keyword, schema, _, _ = PASSED_OVER[case]
    compiled = compiled_for(schema, dialect)
    without = {key: value for key, value in schema.items() if key != keyword}
    if undescribed(compiled.schema) == undescribed(compile_schema(without, dialect).schema):
        assert ("", keyword) in {(item.pointer, item.keyword) for item in compiled.unenforced}


def undescribed(schema: Any) -> Any:
    """Return a schema without its words, which hold an answer to nothing."""
    if is_object(schema):
        return {key: undescribed(held) for key, held in schema.items() if key != "description"}
    return [undescribed(held) for held in schema] if is_array(schema) else schema
