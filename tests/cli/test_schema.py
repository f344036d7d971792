"""`extractkit schema`: the table of places, the schema that is sent, and refusals in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extractkit.schema import DIALECTS, compile_schema
from tests.cli.conftest import Run

_MODELS = """
from typing import Annotated, Any
from pydantic import BaseModel, Field

class Line(BaseModel):
    label: str
    qty: int = 1

class Order(BaseModel):
    number: Annotated[str, Field(max_length=9)]
    by_sku: dict[str, Line]
    note: str | None

class Endless(BaseModel):
    inner: "Endless"
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "schema_models.py").write_text(_MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "schema_models"


def test_each_place_has_a_line_with_its_outcome(run: Run, models: str) -> None:
    ran = run("schema", f"{models}:Order", "--dialect", "openai-strict")
    assert ran.code == 0
    lines = {line.split()[0]: line for line in ran.out.splitlines() if line.startswith(("/", "("))}
    assert "checked after" in lines["/number"]
    assert "maxLength" in lines["/number"]
    assert "uniqueKeys" in ran.out
    assert "an open map -> a list of key and value entries" in " ".join(ran.out.split())
    assert "rewritten" in lines["/by_sku/*/qty"]
    assert "kept" in lines["/note"]
    assert "7 places: 2 kept" in ran.out


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_json_holds_the_table_and_the_schema(run: Run, models: str, dialect: str) -> None:
    report = json.loads(run("schema", f"{models}:Order", "--dialect", dialect, "--json").out)
    assert report["dialect"] == dialect
    assert report["whole"] is True
    assert [place["pointer"] for place in report["places"][:3]] == ["", "/number", "/by_sku"]
    sent = json.loads(run("schema", f"{models}:Order", "--dialect", dialect, "--sent").out)
    assert sent == report["schema"]
    assert len(report["fingerprint"]) == 32


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_sent_prints_the_schema_alone(run: Run, models: str, more: tuple[str, ...]) -> None:
    ran = run("schema", f"{models}:Order", "--dialect", "openai-strict", "--sent", *more)
    assert list(json.loads(ran.out))[:2] == ["type", "properties"]
    refused = run("schema", f"{models}:Endless", "--dialect", "anthropic", "--sent", *more)
    assert (refused.code, refused.out) == (2, "")
    assert "no recursion" in refused.err


def test_one_place_is_one_place(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('{"type": "string"}', encoding="utf-8")
    assert "1 place: 1 kept" in run("schema", "--schema", str(file)).out


def test_a_schema_in_a_file_is_a_target_too(run: Run, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    file = tmp_path / "one.json"
    file.write_text(json.dumps(schema), encoding="utf-8")
    sent = json.loads(run("schema", "--schema", str(file), "--dialect", "anthropic", "--sent").out)
    assert sent == compile_schema(schema, "anthropic").schema


def test_what_cannot_be_sent_is_refused_with_its_place(run: Run, models: str) -> None:
    ran = run("schema", f"{models}:Endless", "--dialect", "anthropic", "--json")
    assert ran.code == 2
    (place,) = json.loads(ran.out)["places"]
    assert place["outcome"] == "refused"
    assert "no recursion" in place["details"][0]
    assert "no recursion" in ran.err


@pytest.mark.parametrize("arguments", [(), ("a:B", "--schema", "x.json")])
def test_a_target_is_named_once(run: Run, arguments: tuple[str, ...]) -> None:
    ran = run("schema", *arguments)
    assert ran.code == 2
    assert "TARGET" in ran.err
