"""The laws of the room over generated types: there and back, inside the dialect, nothing lost.

What is generated stands in `strategies_models`. HYPOTHESIS_PROFILE=thorough runs 20 times as many
examples.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from extractkit.errors import SchemaError
from extractkit.paths import split
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from tests.schema.rules import violations
from tests.schema.strategies_instances import ANYTHING, KEYS, instances
from tests.schema.strategies_models import (
    RECURSIVE,
    SCALARS,
    Recipe,
    budget,
    dump,
    lowered_or_too_deep,
    models,
    recipes,
    rows,
    values,
)

# Pydantic's own generator stumbles over a discriminator in a generic model inside itself.
pytestmark = pytest.mark.filterwarnings("ignore:.*skipped-discriminator")
ALL = pytest.mark.parametrize("dialect", sorted(DIALECTS))
FORMATS = FormatChecker(("date", "ipv4", "uuid"))


def same(one: Any, other: Any) -> bool:
    """Whether two documents are equal in every type: 1 is neither 1.0 nor true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def alike(one: Any, other: Any) -> bool:
    """Whether two documents are the same but for the spelling of decimal numbers."""
    if isinstance(one, str) and isinstance(other, int | float) and not isinstance(other, bool):
        return Decimal(one) == Decimal(str(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return same(one, other)


def compiled_or_refused(target: Any, dialect: str) -> CompiledSchema:
    """Return the compiled target; a refusal must say where and why, and ends the example."""
    try:
        compiled = compile_schema(target, dialect)
    except SchemaError as error:
        event(f"{dialect}: refused")
        assert error.pointer is not None
        assert len(str(error)) > len(error.pointer)
        assume(False)
        raise
    return compiled


TAGS = ("left", "a", "A", "only", True, 1)


def without_null_defaults(document: Any, lifted: Any) -> Any:
    """Return `lifted` without keys that `document` lacks and that hold null or an only value."""
    if isinstance(document, dict) and isinstance(lifted, dict):
        return {
            key: without_null_defaults(document.get(key), item)
            for key, item in lifted.items()
            if key in document or (item is not None and item not in TAGS)
        }
    if isinstance(document, list) and isinstance(lifted, list) and len(document) == len(lifted):
        return [*map(without_null_defaults, document, lifted)]
    return lifted


@ALL
@budget(15)
@given(data=st.data())
def test_every_value_of_a_model_comes_back_and_is_admitted(
    dialect: str, data: st.DataObject
) -> None:
    target = data.draw(models())
    compiled = compiled_or_refused(target, dialect)
    for _ in range(2):
        unset = data.draw(st.booleans())
        document = data.draw(values(target, unset=unset))
        before = json.dumps(document)
        lowered = lowered_or_too_deep(compiled, document)
        assert json.dumps(document) == before
        lifted = compiled.lift(lowered)
        assert compiled.faults(lowered) == ()
        back = without_null_defaults(document, lifted) if unset else lifted
        assert same(back, document), (lifted, document)
        if unset and _hangs_on_formats(compiled.user_schema):
            continue
        adapter = TypeAdapter(target)
        assert dump(adapter, adapter.validate_json(json.dumps(lifted))) == dump(
            adapter, adapter.validate_json(json.dumps(document))
        )
        if Draft202012Validator(compiled.user_schema).is_valid(document):
            Draft202012Validator(compiled.schema).validate(lowered)


@ALL
@budget(15)
@given(data=st.data())
def test_a_row_that_leaves_out_its_last_positions_comes_back_as_the_same_value(
    dialect: str, data: st.DataObject
) -> None:
    target = data.draw(rows())
    compiled = compiled_or_refused(target, dialect)
    needed = len(target._fields) - len(target._field_defaults)
    document = data.draw(values(target, unset=False))
    short = document[: data.draw(st.integers(needed, len(document)))]
    lowered = lowered_or_too_deep(compiled, short)
    assert compiled.faults(lowered) == ()
    lifted = compiled.lift(lowered)
    assert same(lifted[: len(short)], short)
    adapter = TypeAdapter(target)
    meant, read = (adapter.validate_json(json.dumps(item)) for item in (short, lifted))
    assert same(dump(adapter, read), dump(adapter, meant))
    if Draft202012Validator(compiled.user_schema).is_valid(short):
        Draft202012Validator(compiled.schema).validate(lowered)


@pytest.mark.parametrize("dialect", sorted({*DIALECTS} - {"json-schema"}))
def test_a_duration_of_ten_thousand_years_is_admitted(dialect: str) -> None:
    compiled = compile_schema(dict[str, timedelta], dialect)
    lowered = compiled.lower({"a": "P10000Y"})
    Draft202012Validator(compiled.schema).validate(lowered)


def test_legal_names_do_not_depend_on_the_order_of_fields() -> None:
    recipe = Recipe((("a", (str, Field(alias=""))), ("b", (int, Field(alias="é")))), ConfigDict())
    one, other = (compile_schema(recipe.build(order), "anthropic") for order in ([0, 1], [1, 0]))
    assert one.schema["properties"] == other.schema["properties"]


class _Ticket(BaseModel):
    key: UUID
    seat: int | None = None


class _Note(BaseModel):
    key: str
    seat: int = 3
    page: int | None = None


@pytest.mark.parametrize("dialect", ["anthropic", "anthropic-tool", "openai-strict"])
def test_a_format_decides_between_alternatives(dialect: str) -> None:
    compiled = compile_schema(dict[str, _Ticket | _Note], dialect)
    document = {"a": {"key": "0"}}
    lifted = compiled.lift(compiled.lower(document))
    adapter = TypeAdapter(dict[str, _Ticket | _Note])
    assert adapter.validate_python(lifted) == adapter.validate_python(document)


def _hangs_on_formats(schema: Any) -> bool:
    """Whether formats could decide between alternatives, so that the wrong one is taken."""
    text = json.dumps(schema)
    return '"anyOf"' in text and any(f'"format": "{name}"' in text for name in _UNJUDGED)


_UNJUDGED = ("uri", "duration", "binary")


def test_a_closed_model_without_fields_is_inside_outlines_core() -> None:
    model = Recipe((), ConfigDict(extra="forbid")).build()
    assert violations("outlines-core", compile_schema(model, "outlines-core").schema) == []


@ALL
@budget(20)
@given(target=models())
def test_what_is_sent_is_valid_and_inside_its_dialect(dialect: str, target: Any) -> None:
    compiled = compiled_or_refused(target, dialect)
    Draft202012Validator.check_schema(compiled.schema)
    assert violations(dialect, compiled.schema) == []


def _user_schema(model: Any) -> Any:
    return compile_schema(model).user_schema


@st.composite
def _orders(draw: st.DrawFn) -> tuple[Recipe, list[int]]:
    recipe = draw(recipes())
    return recipe, draw(st.permutations(range(len(recipe.fields))))


@ALL
@budget(15)
@given(case=_orders())
def test_permuting_fields_permutes_nothing_else(
    dialect: str, case: tuple[Recipe, list[int]]
) -> None:
    recipe, order = case
    # Of classes with one name, the first one met gets the first number from Pydantic.
    assume("__1" not in json.dumps(_user_schema(recipe.build())))
    one = compiled_or_refused(recipe.build(), dialect)
    other = compiled_or_refused(recipe.build(order), dialect)
    # Where a target counts, the first fields get what there is.
    assume(not any(item.after.startswith(_SPENT) for item in one.rewritten))
    # Of names that become one, the first one met keeps it.
    assume(not any(re.fullmatch(r'the key ".*_\d+"', item.after) for item in one.rewritten))
    assert _but_words(one.schema.get("$defs", {})) == _but_words(other.schema.get("$defs", {}))
    assert one.schema.get("properties", {}) == other.schema.get("properties", {})
    assert _but_words(one.schema) == _but_words(other.schema)
    assert set(one.unenforced) == set(other.unenforced)
    assert _but_order(one) == _but_order(other)


_SPENT = (
    "optional key, written after",
    "required: a list",
    "a list, which is empty",
    "an object with a list",
)


def _but_words(schema: Any) -> Any:
    """Return `schema` with sentences of descriptions and required keys in one order."""
    if isinstance(schema, list):
        return [*map(_but_words, schema)]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _but_words(part) for key, part in schema.items()}
    if isinstance(schema.get("description"), str):
        changed["description"] = sorted(re.split(r" ?[();] ?", schema["description"]))
    if isinstance(schema.get("required"), list):
        changed["required"] = sorted(schema["required"])
    return changed


def _but_order(compiled: CompiledSchema) -> set[Any]:
    return {item for item in compiled.rewritten if item.after != "written first"}


@ALL
@budget(15)
@given(recipe=recipes())
def test_properties_stand_in_declared_order_after_reasoning(dialect: str, recipe: Recipe) -> None:
    model = recipe.build()
    compiled = compiled_or_refused(model, dialect)
    declared = list(compiled.user_schema.get("properties", {}))
    full = {name: index for index, name in enumerate(declared)}
    if DIALECTS[dialect].property_names is not None:
        return  # names are other ones there; the permutation law holds their order
    sent = [name for name in compiled.schema.get("properties", {}) if name in full]
    first = {f"/{n.replace('~', '~0').replace('/', '~1')}" for n in declared}
    moved = {
        split(item.pointer)[0]
        for item in compiled.rewritten
        if item.pointer in first and item.after == "written first"
    }
    rest = [full[name] for name in sent if name not in moved]
    assert rest == sorted(rest)
    assert len(sent) == len(declared)


@ALL
@budget(15)
@given(recipe=recipes())
def test_compiling_equal_classes_gives_equal_bytes(dialect: str, recipe: Recipe) -> None:
    one = compiled_or_refused(recipe.build(), dialect)
    other = compiled_or_refused(recipe.build(), dialect)
    assert one is not other
    assert json.dumps(one.schema) == json.dumps(other.schema)
    assert one.fingerprint == other.fingerprint
    assert (one.unenforced, one.rewritten) == (other.unenforced, other.rewritten)


_PRINT = """
import hashlib, json
from extractkit.schema import DIALECTS, compile_schema
from tests.schema.strategies_models import RECURSIVE, SCALARS, Recipe
from pydantic import Field
fields = [(f"field_{i}", (kind, Field(alias=f"a b{i}"))) for i, kind in enumerate(SCALARS)]
for target in (*RECURSIVE, Recipe(tuple(fields), {"extra": "allow"}).build()):
    for name in sorted(DIALECTS):
        found = compile_schema(target, name)
        text = json.dumps([found.schema, str(found.unenforced), str(found.rewritten)])
        print(name, found.fingerprint, hashlib.sha256(text.encode()).hexdigest())
"""


def test_compiling_in_another_process_gives_the_same_bytes() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", _PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0].splitlines()) == (len(RECURSIVE) + 1) * len(DIALECTS)
    assert SCALARS


_ALIASES = {"uniqueItems": {"uniqueItems"}, "pattern": {"pattern", "max_digits", "decimal_places"}}


def _is_at(template: str, tokens: list[Any]) -> bool:
    """Whether a place with `*` in it, or something around or below it, is that of `tokens`."""
    parts = split(template)
    return len(parts) == len(tokens) and all(
        part in ("*", str(token)) for part, token in zip(parts, tokens, strict=True)
    )


def _is_told(error: Any, compiled: CompiledSchema) -> bool:
    """Whether a violation of the user's schema was announced as not enforced."""
    tokens = list(error.absolute_path)
    names = _ALIASES.get(error.validator, {error.validator})
    if any(item.keyword in names and _is_at(item.pointer, tokens) for item in compiled.unenforced):
        return True
    if "propertyNames" in error.schema_path:  # keys are told at the map, or as parts of it
        names = {*names, "propertyNames"}
        places = (tokens, [*tokens, "*"])
        if any(
            item.keyword in names and any(_is_at(item.pointer, place) for place in places)
            for item in compiled.unenforced
        ):
            return True
    branches: dict[Any, list[Any]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.schema_path[0], []).append(inner)
    return any(all(_is_told(inner, compiled) for inner in part) for part in branches.values())


@ALL
@budget(15)
@given(data=st.data())
def test_an_answer_that_fits_comes_back_as_a_value_or_its_flaw_is_told(
    dialect: str, data: st.DataObject
) -> None:
    target = data.draw(models())
    compiled = compiled_or_refused(target, dialect)
    for _ in range(2):
        wire = data.draw(instances(compiled.schema, 6, offsets=True))
        assume(Draft202012Validator(compiled.schema, format_checker=FORMATS).is_valid(wire))
        lifted = compiled.lift(wire)
        if compiled.faults(wire):
            event("faults")
            continue
        event("all enforced" if not compiled.unenforced else "some unenforced")
        # JSON Schema alone tells nothing of Pydantic's rules; no Decimal has such an exponent, and
        # no timedelta goes beyond 999,999,999 days.
        if compiled.unenforced or dialect == "json-schema":
            event("only its JSON Schema is asked")
        elif not re.search(r'[eE][+-]?[0-9]{18}|"[+-]?P[^"]*[0-9]{7}', json.dumps(wire)):
            TypeAdapter(target).validate_json(json.dumps(lifted))
        validator = Draft202012Validator(compiled.user_schema, format_checker=FORMATS)
        untold = [error for error in validator.iter_errors(lifted) if not _is_told(error, compiled)]
        assert untold == [], (wire, lifted, compiled.unenforced)


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Any:
    """Return `document` with one part of it replaced by anything."""
    if isinstance(document, dict) and document and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(document)))
        return {**document, key: draw(damaged(document[key]))}
    if isinstance(document, list) and document and draw(st.integers(0, 3)):
        index = draw(st.integers(0, len(document) - 1))
        return [*document[:index], draw(damaged(document[index])), *document[index + 1 :]]
    return draw(ODD)


ODD = ANYTHING | st.sampled_from(
    (10**400, -0.0, 1e308, "\ud800", {"\ud800": 1}, [[[[[[]]]]]], {"key": 1, "value": 2})
)


@ALL
@budget(15)
@given(data=st.data())
def test_lifting_never_fails_whatever_comes(dialect: str, data: st.DataObject) -> None:
    target = data.draw(models())
    compiled = compiled_or_refused(target, dialect)
    wire = data.draw(ODD | instances(compiled.schema, 4).flatmap(damaged))
    before = repr(wire)
    compiled.lift(wire)
    assert repr(wire) == before
    for fault in compiled.faults(wire):
        split(fault.pointer)
        assert fault.message


@st.composite
def with_another_key(draw: st.DrawFn, document: Any) -> Any:
    """Return `document` with one more key somewhere."""
    if isinstance(document, list) and document:
        index = draw(st.integers(0, len(document) - 1))
        inner = draw(with_another_key(document[index]))
        return [*document[:index], inner, *document[index + 1 :]]
    assume(isinstance(document, dict))
    inside = sorted(key for key, part in document.items() if isinstance(part, dict | list))
    if inside and draw(st.booleans()):
        key = draw(st.sampled_from(inside))
        return {**document, key: draw(with_another_key(document[key]))}
    new = draw(KEYS.filter(lambda key: key not in document))
    return {**document, new: draw(ANYTHING)}


@ALL
@budget(15)
@given(data=st.data())
def test_no_key_is_lost_without_a_word(dialect: str, data: st.DataObject) -> None:
    target = data.draw(models())
    compiled = compiled_or_refused(target, dialect)
    document = data.draw(values(target, unset=False))
    more = data.draw(with_another_key(document))
    assume(Draft202012Validator(compiled.user_schema).is_valid(more))
    try:
        lowered = compiled.lower(more)
    except SchemaError as error:
        event("refused to lower")
        assert error.pointer is not None
        return
    lifted = compiled.lift(lowered)
    assert alike(without_null_defaults(more, lifted), more), (lifted, more)


@ALL
@budget(15)
@given(data=st.data())
def test_lowering_anything_is_refused_in_words_or_undone(dialect: str, data: st.DataObject) -> None:
    target = data.draw(models())
    compiled = compiled_or_refused(target, dialect)
    document = data.draw(ODD | values(target).flatmap(damaged))
    try:
        lowered = compiled.lower(document)
    except SchemaError as error:
        assert error.pointer is not None
        split(error.pointer)
        return
    lifted = compiled.lift(lowered)
    if not Draft202012Validator(compiled.user_schema).is_valid(document):
        return
    adapter = TypeAdapter(target)
    try:
        meant = dump(adapter, adapter.validate_json(json.dumps(document)))
    except (ValueError, TypeError):
        return  # valid by its JSON Schema only
    assert same(dump(adapter, adapter.validate_json(json.dumps(lifted))), meant), lifted


_counted: dict[str, list[bool]] = {}


@budget(50)
@given(target=models())
def _count(target: Any) -> None:
    for dialect in DIALECTS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile_schema(target, dialect)
            refused = False
        except SchemaError:
            refused = True
        _counted.setdefault(dialect, []).append(refused)


def test_few_targets_are_refused() -> None:
    _counted.clear()
    _count()
    shares = {dialect: sum(found) / len(found) for dialect, found in _counted.items()}
    most = {"anthropic": 0.1, "anthropic-tool": 0.1}
    assert {name: share for name, share in shares.items() if share > most.get(name, 0.05)} == {}
