"""SCHEMA by the user's JSON Schema: verdicts, places, plain words, formats, odd schemas."""

from __future__ import annotations

import datetime as dt
import gc
import json
import weakref
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, Discriminator, Field, NaiveDatetime, Tag

from extractkit.checks import run
from extractkit.checks._judge import Judge
from extractkit.errors import SchemaError
from extractkit.results import Finding, Validity
from extractkit.schema import compile_schema
from tests.checks.test_levels import check, errors


def said(schema: Any, document: Any) -> list[tuple[str, str, str]]:
    findings = Judge(schema, typed=False).findings(document)
    return [(item.path, item.code, item.message) for item in findings]


@pytest.mark.parametrize(
    ("schema", "document", "code", "message"),
    [
        ({"type": "integer"}, "3", "type", 'expected integer, found the string "3"'),
        ({"type": ["integer", "null"]}, [], "type", "expected integer or null, found the array []"),
        ({"type": "string"}, None, "type", "expected string, found null"),
        ({"type": "string"}, True, "type", "expected string, found true"),
        ({"enum": ["a", None]}, "b", "enum", 'expected one of "a", null, found the string "b"'),
        ({"const": 1}, 2.5, "const", "expected exactly 1, found the number 2.5"),
        ({"minimum": 3}, 2, "minimum", "expected at least 3, found the number 2"),
        (
            {"maxLength": 2},
            "abc",
            "maxLength",
            'expected at most 2 characters, found the string "abc"',
        ),
        (
            {"uniqueItems": True},
            [1, 1],
            "uniqueItems",
            "expected no item twice, found the array [1, 1]",
        ),
        (
            {"pattern": "^\\d+$"},
            "x",
            "pattern",
            'expected a string that matches ^\\d+$, found the string "x"',
        ),
        (
            {"format": "date"},
            "1 May",
            "format",
            'expected a string of format date, found the string "1 May"',
        ),
        (
            {"not": {"minimum": 1}},
            2,
            "not",
            'expected a value that {"minimum": 1} does not admit, found the number 2',
        ),
        (
            {"contains": {"type": "null"}},
            [1],
            "contains",
            "[1] does not contain items matching the given schema",
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "x",
            "type",
            'expected integer or null, found the string "x"',
        ),
        (
            {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            1,
            "minimum",
            "expected at least 3, found the number 1",
        ),
        (
            {"anyOf": [{"enum": ["a"]}, {"const": "b"}]},
            "c",
            "anyOf",
            'expected "a" or "b", found the string "c"',
        ),
        (
            {"anyOf": [{"minLength": 3}, {"pattern": "^x"}]},
            "a",
            "anyOf",
            "fits none of 2 alternatives; the nearest fails at (root): "
            'expected at least 3 characters, found the string "a"',
        ),
        (
            {"oneOf": [{"type": "integer"}, {"type": "number"}]},
            1,
            "oneOf_several",
            "the number 1 fits more than one alternative; expected exactly one",
        ),
        (
            {"anyOf": [False, {"type": "null"}]},
            1,
            "type",
            "expected null, found the number 1",
        ),
        ({"anyOf": [False]}, 1, "type", "expected another value, found the number 1"),
        ({"allOf": [False]}, 1, "false", "expected nothing here, found the number 1"),
    ],
)
def test_an_objection_says_what_was_found_and_what_is_expected(
    schema: Any, document: Any, code: str, message: str
) -> None:
    assert said(schema, document) == [("", code, message)]


def test_a_missing_and_an_undeclared_field_are_spoken_of_at_their_own_place() -> None:
    schema = {
        "properties": {"a": {}, "b": {}, "c": False},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert sorted(said(schema, {"x/y": 1, "z": 2, "c": 3})) == [
        ("/a", "required", 'the field "a" is missing'),
        ("/b", "required", 'the field "b" is missing'),
        ("/c", "false", "expected nothing here, found the number 3"),
        (
            "/x~1y",
            "additionalProperties",
            'the field "x/y" is not declared; expected only: a, b, c',
        ),
        ("/z", "additionalProperties", 'the field "z" is not declared; expected only: a, b, c'),
    ]


def test_undeclared_fields_beside_patterns_are_named_together() -> None:
    schema = {"patternProperties": {"^x": {}}, "additionalProperties": False}
    ((path, code, message),) = said(schema, {"a": 1})
    assert (path, code) == ("", "additionalProperties")
    assert "'a'" in message
    ((_, code, _),) = said({"unevaluatedProperties": False}, {"a": 1})
    assert code == "unevaluatedProperties"


def test_of_tagged_alternatives_only_the_one_that_was_meant_is_spoken_of() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(BaseModel):
        kind: Literal["dog"]
        name: str

    class Home(BaseModel):
        pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]
        other: Cat | Dog | None = None

    document = {"pets": [{"kind": "cat", "lives": "x"}], "other": {"kind": "dog"}}
    assert errors(check(document, Home)) == [
        (Validity.SCHEMA, "/pets/0/lives", "type"),
        (Validity.SCHEMA, "/other/name", "required"),
    ]


def test_long_values_are_cut() -> None:
    ((_, _, message),) = said({"type": "integer"}, "x" * 1000)
    assert len(message) < 130


# --- formats -------------------------------------------------------------------------------------


class Moments(BaseModel):
    moment: dt.datetime | None = None
    day: dt.date | None = None
    time: dt.time | None = None
    length: dt.timedelta | None = None
    aware: AwareDatetime | None = None
    naive: NaiveDatetime | None = None


@pytest.mark.parametrize(
    ("field", "text", "fits"),
    [
        ("moment", "2026-03-01T10:00:00", True),
        ("moment", "2026-03-01T10:00:00.5+02:00", True),
        ("moment", "2026-03-01", False),
        ("moment", "1 March 2026", False),
        ("aware", "2026-03-01T10:00:00Z", True),
        ("aware", "2026-03-01T10:00:00", False),
        ("naive", "2026-03-01T10:00:00", True),
        ("naive", "2026-03-01T10:00:00Z", False),
        ("day", "2026-02-28", True),
        ("day", "2026-02-30", False),
        ("day", "2026-02-28T00:00:00", False),
        ("time", "10:00:00", True),
        ("time", "25:00:00", False),
        ("length", "PT1H", True),
        ("length", "an hour", False),
    ],
)
def test_formats_are_asserted_and_an_offset_only_where_the_type_demands_one(
    field: str, text: str, fits: bool
) -> None:
    outcome = check({field: text}, Moments)
    assert (outcome.validity >= Validity.SCHEMA) is fits
    assert [path for level, path, _ in errors(outcome) if level is Validity.SCHEMA] == (
        [] if fits else [f"/{field}"]
    )


@given(
    st.builds(
        Moments,
        moment=st.datetimes(),
        day=st.dates(),
        time=st.times(),
        length=st.timedeltas(
            min_value=dt.timedelta(days=-90_000), max_value=dt.timedelta(days=90_000)
        ),
        aware=st.datetimes(timezones=st.just(dt.UTC)),
        naive=st.datetimes(),
    )
)
def test_what_pydantic_writes_of_its_own_values_conforms(value: Moments) -> None:
    outcome = check(value.model_dump(mode="json"), Moments)
    assert outcome.built, outcome.findings
    assert outcome.value == value


def test_durations_of_a_json_schema_are_those_of_the_standard() -> None:
    assert said({"format": "duration"}, "-PT0.5S") != []
    assert said({"format": "duration"}, "P1DT2H") == []
    assert said({"format": "duration"}, 5) == []


# --- where Pydantic's schema and Pydantic's types differ -----------------------------------------


def test_maps_with_integer_keys_take_the_strings_that_json_has() -> None:
    class Tier(IntEnum):
        BASIC = 1
        GOLD = 2

    class Prices(BaseModel):
        fee: dict[Tier, float]
        count: dict[int, int] = {}

    outcome = check({"fee": {"1": 1.5}, "count": {"7": 7}}, Prices, text="1.5 or 7")
    assert outcome.value == Prices(fee={Tier.BASIC: 1.5}, count={7: 7})
    assert errors(check({"fee": {"3": 1.5}}, Prices))[0][:2] == (Validity.SCHEMA, "/fee")
    assert errors(check({"fee": {}, "count": {"x": 7}}, Prices)) == [
        (Validity.SCHEMA, "/count/x", "int_parsing")
    ]


class Circle(BaseModel):
    r: float


class Ring(BaseModel):
    r: float
    inner: float = 0


Shape = Annotated[
    Annotated[Circle, Tag("circle")] | Annotated[Ring, Tag("ring")],
    Discriminator(lambda value: "ring" if "inner" in value else "circle"),
]


def test_a_choice_that_pydantic_makes_by_a_function_may_fit_several_alternatives() -> None:
    class Drawing(BaseModel):
        shape: Shape

    outcome = check({"shape": {"r": 3}}, Drawing, text="3")
    assert outcome.value == Drawing(shape=Circle(r=3))
    assert outcome.validity is Validity.GROUNDED
    assert [(item.code, item.severity) for item in outcome.findings] == [
        ("oneOf_several", "warning")
    ]
    schema = {"oneOf": [{"type": "integer"}, {"minimum": 1}]}
    assert errors(check(3, schema))[0][2] == "oneOf_several"


# --- odd schemas and documents -------------------------------------------------------------------


def test_a_schema_that_only_one_validator_can_read_is_judged_by_that_one_and_said_so() -> None:
    schema = {"$ref": "http://json-schema.org/draft-07/schema#"}
    judge = Judge(schema, typed=False)
    good, bad = judge.findings({"type": "string"}), judge.findings({"type": 3})
    assert [(item.code, item.severity) for item in good] == [("one_validator", "note")]
    assert [item.severity for item in bad] == ["error", "note"]
    assert bad[0].path == "/type"


def test_a_schema_that_no_validator_can_read_is_an_error_with_its_place() -> None:
    with pytest.raises(SchemaError, match="not a JSON Schema") as caught:
        Judge({"properties": {"a": {"type": "strang"}}}, typed=False)
    assert caught.value.pointer == "/properties/a/type"


def test_a_reference_to_elsewhere_is_an_error_and_nothing_is_fetched() -> None:
    with pytest.raises(SchemaError, match="nothing is fetched"):
        Judge({"$ref": "http://127.0.0.1:9/x.json"}, typed=False).findings(1)


def test_where_jsonschema_fails_the_verdict_of_the_other_stands_with_its_reasons() -> None:
    schema = {"patternProperties": {"^\\p{L}+$": {"type": "integer"}}}
    assert said(schema, {"ä": 1}) == []
    (first, second) = said(schema, {"ä": "x"})
    assert first[:2] == ("/ä", "type")
    assert second[1] == "validators_disagree"


def test_patterns_mean_the_same_to_both_validators() -> None:
    ((_, code, _),) = said({"pattern": "^\\p{Lu}$"}, "x")
    assert code == "pattern"
    assert said({"pattern": "^\\d$"}, "\u0664") != []


def test_another_draft_is_read_as_its_schema_says() -> None:
    draft4 = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "minimum": 3,
        "exclusiveMinimum": True,
    }
    assert said(draft4, 4) == []
    assert [code for _, code, _ in said(draft4, 3)] == ["minimum"]


class Tree(BaseModel):
    n: Any = None
    kids: list[Tree] = []


@pytest.mark.parametrize("depth", [60, 300, 900])
@pytest.mark.parametrize("leaf", [[], "x"])
def test_deep_documents_end_in_findings_and_never_in_an_exception(depth: int, leaf: Any) -> None:
    document: Any = {"kids": leaf}
    for _ in range(depth):
        document = {"kids": [document]}
    outcome = check(document, Tree)
    assert outcome.built is (depth == 60 and leaf == [])
    assert outcome.built or any(item.severity == "error" for item in outcome.findings)


def test_half_a_character_in_a_document_is_a_finding() -> None:
    assert [code for _, code, _ in said({"type": "string"}, "\ud83c")] == ["not_judged"]


def test_threads_may_share_a_target_and_get_the_same_outcome() -> None:
    class Fresh(BaseModel):
        n: int

    compiled = compile_schema(Fresh)

    def once(n: int) -> tuple[Any, tuple[Finding, ...]]:
        outcome = run(compiled, {"n": n if n % 2 else "x"}, text="1 2 3 4 5 6 7 8 9")
        return outcome.value, outcome.findings

    with ThreadPoolExecutor(8) as pool:
        parallel = list(pool.map(once, range(1, 10)))
    assert parallel == [once(n) for n in range(1, 10)]


def test_what_is_prepared_for_a_target_does_not_outlive_it() -> None:
    def use() -> weakref.ref[Any]:
        class Fleeting(BaseModel):
            n: int

        assert check({"n": 1}, Fleeting, text="1").built
        return weakref.ref(Fleeting)

    gone = use()
    gc.collect()
    assert gone() is None


def test_findings_are_plain_data() -> None:
    for item in check({"kids": 3}, Tree).findings:
        assert json.loads(json.dumps([item.path, item.code, item.message]))


class Named(BaseModel):
    name: str


def test_a_field_that_the_target_drops_is_told_and_claims_nothing() -> None:
    outcome = run(compile_schema(Named), {"name": "Anna", "junk": {"deep": "zzz"}}, text="Anna")
    assert outcome.validity is Validity.GROUNDED
    assert [(item.code, item.path, item.severity) for item in outcome.findings] == [
        ("undeclared_field", "/junk", "warning")
    ]
    assert list(outcome.evidence) == ["/name"]
    assert outcome.levels[Validity.GROUNDED].checked == 1
