"""The laws of codes: there and back, nothing admitted in words, permuted alike."""

from __future__ import annotations

import json
import string
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import TypeAdapter

from extractkit.errors import SchemaError
from extractkit.schema import DIALECTS, CompiledSchema, compile_coded, compile_schema
from tests.schema.engine import admits
from tests.schema.rules import violations
from tests.schema.strategies_instances import instances
from tests.schema.strategies_models import budget, dump, lowered_or_too_deep, models, values

ALL = pytest.mark.parametrize("dialect", sorted(DIALECTS))
LETTERS = tuple(string.ascii_uppercase)
CODES = (LETTERS, tuple(one + other for one in LETTERS for other in LETTERS))

# Pydantic's own generator stumbles over a discriminator in a generic model inside itself.
pytestmark = pytest.mark.filterwarnings("ignore:.*skipped-discriminator")

FORMATS = FormatChecker(("date",))

LABELS: tuple[tuple[Any, ...], ...] = (
    ("good", "bad"),
    ("bad", "good"),
    ("good", "bad", None),
    ("A", "alpha"),
    ("one", 2, True),
    (10, 20, 30),
    ("kept",),
    ("A", "B"),
    (True, None),
    (1.5, "b", [1], {"a": None}),
    ("unknown", "known"),
)
UNKNOWN = {"const": "unknown", "x-extractkit-unknown": True}


@st.composite
def closed(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return a choice, perhaps one of several in one place, and values that it admits."""
    members = draw(st.sampled_from(LABELS))
    schema: dict[str, Any] = {"enum": [*members]}
    found = st.sampled_from(members)
    kinds = ["nothing", "null", "UNKNOWN", "text", "date", "another", "named"]
    beside = draw(st.sampled_from(kinds))
    if beside == "null":
        return {"anyOf": [schema, {"type": "null"}]}, found | st.none()
    if beside == "UNKNOWN":
        return {"anyOf": [schema, UNKNOWN]}, found | st.just("unknown")
    if beside == "text":
        text = {"type": "string", "maxLength": 2}
        return {"anyOf": [schema, text]}, found | st.sampled_from(["A", "B", "z"])
    if beside == "date":
        date = {"type": "string", "format": "date"}
        return {"anyOf": [schema, date]}, found | st.just("2026-01-02")
    if beside == "named":
        name = draw(st.sampled_from(["Colour", "Perhaps"]))
        return {"anyOf": [schema, {"$ref": f"#/$defs/{name}"}]}, found | st.sampled_from(COLOURS)
    if beside == "another":
        others = draw(st.sampled_from(LABELS))
        return {"anyOf": [schema, {"enum": [*others]}]}, found | st.sampled_from(others)
    return schema, found


@st.composite
def pairs(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """Return a schema full of choices, and values that it admits."""
    kinds = [
        "choice",
        "choice",
        "named",
        "text",
        "number",
        "array",
        "object",
        "object",
        "map",
        "union",
    ]
    kind = draw(st.sampled_from(kinds if depth else kinds[:5]))
    if kind == "choice":
        return draw(closed())
    if kind == "named":
        colours = st.sampled_from(COLOURS)
        if draw(st.booleans()):
            return {"$ref": "#/$defs/Perhaps"}, colours | st.none()
        return {"$ref": "#/$defs/Colour"}, colours
    if kind == "text":
        return {"type": "string", "maxLength": 2}, st.sampled_from(["A", "B", "", "zz"])
    if kind == "number":
        return {"type": "integer"}, st.sampled_from([10, 20, 7])
    if kind == "array":
        schema, found = draw(pairs(depth - 1))
        return {"type": "array", "items": schema}, st.lists(found, max_size=2)
    if kind == "map":
        schema, found = draw(pairs(depth - 1))
        rule = {"enum": ["good", "bad"]}
        return (
            {"type": "object", "propertyNames": rule, "additionalProperties": schema},
            st.dictionaries(st.sampled_from(["good", "bad"]), found, max_size=2),
        )
    if kind == "union":
        parts = draw(st.lists(pairs(depth - 1), min_size=2, max_size=3))
        return {"anyOf": [part for part, _ in parts]}, st.one_of(*(found for _, found in parts))
    fields = draw(st.dictionaries(st.sampled_from("abc"), pairs(depth - 1), min_size=1, max_size=3))
    schema = {
        "type": "object",
        "properties": {name: part for name, (part, _) in fields.items()},
        "required": draw(st.lists(st.sampled_from(sorted(fields)), unique=True)),
        "additionalProperties": False,
    }
    needed = {name: fields[name][1] for name in schema["required"]}
    others = {name: found for name, (_, found) in fields.items() if name not in needed}
    return schema, st.fixed_dictionaries(needed, optional=others)


COLOURS = ("red", "green", "blue")
DEFINITIONS = {
    "Colour": {"enum": [*COLOURS]},
    "Perhaps": {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}]},
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Any]:
    schema, found = draw(pairs())
    return {**schema, "$defs": DEFINITIONS}, draw(found)


def coded(target: Any, dialect: str) -> CompiledSchema:
    compiled = compile_coded(target, dialect, CODES)
    event(f"coded choices: {min(len(compiled.legend), 3)}")
    return compiled


@ALL
@budget(40)
@given(case=cases())
def test_every_value_of_a_schema_comes_back_and_is_admitted_as_codes(
    dialect: str, case: tuple[Any, Any]
) -> None:
    schema, value = case
    compiled = coded(schema, dialect)
    lowered = lowered_or_too_deep(compiled, value)
    lifted = compiled.lift(lowered)
    assert json.dumps(lifted, sort_keys=True) == json.dumps(value, sort_keys=True)
    assert compiled.faults(lowered) == ()
    jsonschema.Draft202012Validator.check_schema(compiled.schema)
    assert violations(dialect, compiled.schema) == []
    assert Draft202012Validator(compiled.schema).is_valid(lowered)


@ALL
@budget(10)
@given(data=st.data())
def test_every_value_of_a_model_comes_back_and_is_admitted_as_codes(
    dialect: str, data: st.DataObject
) -> None:
    target = data.draw(models())
    try:
        compiled = coded(target, dialect)
    except SchemaError as error:
        assert error.pointer is not None
        return
    document = data.draw(values(target, unset=False))
    lifted = compiled.lift(lowered_or_too_deep(compiled, document))
    adapter = TypeAdapter(target)
    assert dump(adapter, adapter.validate_json(json.dumps(lifted))) == dump(
        adapter, adapter.validate_json(json.dumps(document))
    )
    if Draft202012Validator(compiled.user_schema).is_valid(document):
        Draft202012Validator(compiled.schema).validate(compiled.lower(document))


@ALL
@budget(20)
@given(data=st.data())
def test_every_answer_that_is_admitted_comes_back_as_a_document_of_the_target(
    dialect: str, data: st.DataObject
) -> None:
    schema, _ = data.draw(cases())
    compiled = coded(schema, dialect)
    wire = data.draw(instances(compiled.schema, 6, offsets=True))
    assume(Draft202012Validator(compiled.schema, format_checker=FORMATS).is_valid(wire))
    lifted = compiled.lift(wire)
    if compiled.unenforced or compiled.faults(wire):
        event("not all of it is enforced")
        return
    Draft202012Validator(compiled.user_schema, format_checker=FORMATS).validate(lifted)


@ALL
@budget(40)
@given(case=cases())
def test_what_has_no_code_is_told_and_what_has_one_is_told_too(
    dialect: str, case: tuple[Any, Any]
) -> None:
    schema, _ = case
    compiled, plain = coded(schema, dialect), compile_schema(schema, dialect)
    told = [item for item in compiled.rewritten if item.after.startswith("a choice of codes")]
    assert bool(told) == bool(compiled.legend)
    assert all(item.why for item in compiled.in_words)
    if not compiled.legend:
        assert compiled.schema == plain.schema
        assert (compiled.fingerprint, compiled.rewritten) == (plain.fingerprint, plain.rewritten)
    assert (plain.legend, plain.in_words) == ((), ())
    for choice in compiled.legend:
        codes = [member.code for member in choice.members]
        texts = [member.text.casefold() for member in choice.members]
        assert choice.names
        assert len({*codes}) == len(codes) > 1
        assert not {json.dumps(code).casefold() for code in codes} & {*texts}


MEMBERS = st.lists(st.text("abcxyz", min_size=2, max_size=5), min_size=2, max_size=30, unique=True)


@ALL
@budget(15)
@given(members=MEMBERS, data=st.data())
def test_permuting_members_permutes_what_codes_mean_and_nothing_else(
    dialect: str, members: list[str], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(members))
    one, other = (
        coded({"type": "object", "properties": {"a": {"enum": each}}, "required": ["a"]}, dialect)
        for each in (members, order)
    )
    assert one.schema == other.schema
    for index in range(len(members)):
        sent = one.lower({"a": members[index]})
        assert other.lift(sent) == {"a": order[index]}
        validator = Draft202012Validator(one.schema)
        assert validator.is_valid(sent)
        assert not validator.is_valid({"a": members[index]})
    assert (one.fingerprint == other.fingerprint) is (members == order)


@budget(20)
@given(case=cases())
def test_the_engine_admits_codes(case: tuple[Any, Any]) -> None:
    schema, value = case
    compiled = coded(schema, "llguidance")
    if jsonschema.Draft202012Validator(compiled.user_schema).is_valid(value):
        assert admits(compiled.schema, compiled.lower(value))
    small = compiled.bounded()
    assert admits(small.schema, small.minimal)
