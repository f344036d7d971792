"""Published schemas and instances, a sample: every dialect compiles them and stays inside itself.

All of them are measured by `tests.acceptance.published` and `tests.acceptance.instances`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from extractkit.paths import JsonObject
from extractkit.schema import DIALECTS, compile_schema
from extractkit.schema.lowerings.untyped import JsonText
from extractkit.schema.nodes import Node, StringNode, children, map_children
from tests.acceptance.instances import KNOWN, Case, problems
from tests.acceptance.keyword_fates import fates, keywords_of
from tests.acceptance.leaf_types import leaves
from tests.acceptance.published import tally

_ROOT = Path(__file__).parents[2]
_DATA = Path(os.environ.get("EXTRACTKIT_DATA", _ROOT.parent / "shared" / "data"))
_LARGEST = 6_000
"""Characters of a schema; larger ones are left to the acceptance command."""


def _sample(*parts: str, count: int) -> list[dict[str, Any]]:
    path = _DATA.joinpath(*parts)
    if not path.is_file():
        pytest.skip(f"no {path}: EXTRACTKIT_DATA names the folder with the data")
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if len(line) < _LARGEST]
    return [json.loads(line) for line in lines[:: max(1, len(lines) // count)][:count]]


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "outlines-core"])
def test_published_schemas_compile_and_what_is_sent_is_inside_the_dialect(dialect: str) -> None:
    models = _sample("pydantic_model_schemas", "dev", "schemas.jsonl", count=25)
    bench = _sample("jsonschemabench", "dev", "Github_medium.jsonl", count=10)
    found = tally([*models, *bench], dialect)
    assert (found.crashed, found.slow, found.outside) == ([], [], [])
    assert found.compiled + sum(found.refused.values()) == 35
    assert found.compiled >= 34
    assert found.enforced / (found.enforced + len(found.open)) > 0.95


@pytest.mark.parametrize("dialect", DIALECTS)
def test_instances_go_there_and_back_or_depart_for_a_known_reason(dialect: str) -> None:
    rows = _sample("maskbench", "dev", "Github_easy.jsonl", count=20)
    rows += _sample("maskbench", "dev", "BFCL.jsonl", count=20)
    cases = [
        Case(
            name=row["id"],
            keyword="maskbench",
            schema=row["schema"],
            tests=tuple((test["data"], test["valid"]) for test in row["tests"]),
        )
        for row in rows
    ]
    told = [told for case in cases for told in problems(case, dialect)]
    assert [each for each in told if each[0] not in KNOWN] == []
    assert sum(len(case.tests) for case in cases) > 80
    assert len(told) < 10


def test_a_refusal_is_counted_by_its_reason_and_by_the_keywords_of_the_schema() -> None:
    schema: JsonObject = {"properties": {"a": {"$ref": "#/$defs/nowhere"}}}
    found = tally([{"id": "one", "schema": schema}, {"id": "two", "schema": schema}], "anthropic")
    assert (found.compiled, list(found.refused.values())) == (0, [2])
    assert found.keywords["$ref"] == Counter(refused=2)


def test_what_crashes_is_found() -> None:
    found = tally([{"id": "no schema at all", "schema": 5}], "anthropic")
    assert len(found.crashed) == 1


_PLACES: JsonObject = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "choice": {"enum": ["a", "b"]},
        "texts": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "open": {},
    },
    "required": ["number"],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_typed_leaf_counts_once_and_an_open_place_is_none(dialect: str) -> None:
    found = leaves(compile_schema(_PLACES, dialect))
    assert (found.enforced, found.open, found.untyped) == (5, (), 1)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_compiler_that_sends_everything_as_text_holds_no_leaf(dialect: str) -> None:
    def as_text(node: Node) -> Node:
        if children(node):
            return map_children(node, as_text)
        return StringNode(pointer=node.pointer, ways=(JsonText(),))

    compiled = compile_schema(_PLACES, dialect)
    lowered = replace(compiled.lowered, root=as_text(compiled.lowered.root))
    found = leaves(replace(compiled, lowered=lowered))
    assert (found.enforced, len(found.open)) == (0, 5)


def test_the_fate_of_a_keyword_is_the_worst_of_its_places() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "short": {"type": "string", "maxLength": 5},
            "one": {"const": "x"},
            "few": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["short", "one", "few", "map"],
        "additionalProperties": False,
    }
    found = fates(compile_schema(schema, "openai-strict"))
    assert found["maxLength"] == "unenforced"
    assert found["const"] == "rewritten"  # an enum of one
    assert found["additionalProperties"] == "rewritten"  # of the map
    assert {found[name] for name in ("minimum", "maxItems", "required", "items")} == {"kept"}
    plain = fates(compile_schema(schema, "json-schema"))
    assert set(plain.values()) == {"kept"}
    assert set(plain) == keywords_of(schema)


def test_what_stands_in_something_that_is_not_enforced_is_not_enforced_either() -> None:
    schema: JsonObject = {
        "type": "object",
        "patternProperties": {"^a": {"type": "string", "minLength": 2}, "b$": {"type": "string"}},
    }
    found = fates(compile_schema(schema, "llguidance"))  # one key can match both
    assert found == {"patternProperties": "unenforced", "minLength": "unenforced"}


def test_data_in_a_schema_is_not_taken_for_keywords() -> None:
    schema: JsonObject = {
        "properties": {"pattern": {"type": "string"}, "enum": {"minimum": 1}},
        "default": {"maxItems": 3},
        "dependencies": {"pattern": ["enum"]},
    }
    expected = {"properties", "minimum", "dependentRequired", "dependentSchemas"}
    assert keywords_of(schema) == expected
