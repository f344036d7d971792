"""`extractkit lint`: findings for people and programs, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from extractkit.schema import LINT_RULES
from tests.cli.conftest import Run

_MODELS = """
from pydantic import BaseModel, Field

class Invoice(BaseModel):
    total: float
    due: str | None = Field(max_length=10)

class Good(BaseModel):
    name: str | None

count = 3
"""


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "lint_models.py").write_text(_MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "lint_models"


def rules(out: str) -> list[tuple[str, str]]:
    return [(item["pointer"], item["rule"]) for item in json.loads(out)["findings"]]


def test_findings_are_printed_with_place_rule_reason_and_fix(run: Run, models: str) -> None:
    ran = run("lint", f"{models}:Invoice")
    assert ran.code == 0
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0] == "/total  required-value"
    assert lines[1].startswith('  "total" must hold a value even where the source states none, ')
    assert lines[2:5] == ["  fix: write `total: float | None`", "", "/total  number-without-unit"]
    assert lines[-1] == "2 findings"
    assert not any(line.endswith(" ") for line in lines)


def test_a_good_model_has_no_findings(run: Run, models: str) -> None:
    ran = run("lint", f"{models}:Good", "--strict")
    assert (ran.code, ran.out) == (0, "no findings\n")


def test_strict_ends_with_1_where_something_is_found(run: Run, models: str) -> None:
    assert run("lint", f"{models}:Invoice", "--strict").code == 1
    both = ("--ignore", "required-value", "--ignore", "number-without-unit")
    ran = run("lint", f"{models}:Invoice", "--strict", *both)
    assert (ran.code, ran.out) == (0, "no findings, 2 ignored\n")


def test_json_holds_every_finding(run: Run, models: str) -> None:
    ran = run("lint", f"{models}:Invoice", "--json", "--ignore", "required-value")
    report = json.loads(ran.out)
    assert report["ignored"] == 1
    (finding,) = report["findings"]
    assert list(finding) == ["pointer", "rule", "reason", "fix"]
    assert finding["rule"] == "number-without-unit"


def test_one_finding_is_one_finding(run: Run, models: str) -> None:
    ran = run("lint", f"{models}:Invoice", "--ignore", "required-value")
    assert ran.out.endswith("\n1 finding, 1 ignored\n")


def test_dialects_can_be_named_several_times(run: Run, models: str) -> None:
    ran = run(
        "lint", f"{models}:Good", "--json", "--dialect", "openai-strict", "--dialect", "anthropic"
    )
    assert rules(ran.out) == []
    ran = run("lint", f"{models}:Invoice", "--json", "--dialect", "openai-strict")
    assert ("/due", "unenforced") in rules(ran.out)


def test_examples_are_answers_or_texts_with_answers(run: Run, models: str) -> None:
    path = Path("examples.jsonl")
    path.write_text('{"text": "a", "value": {"name": "Ann"}}\n\n{"name": "Bo"}\n')
    ran = run("lint", f"{models}:Good", "--examples", "examples.jsonl", "--json")
    assert rules(ran.out) == [("/name", "one-sided-examples")]
    path.write_text('{"text": "a", "value": {"name": "Ann"}}\n{"name": null}\n')
    ran = run("lint", f"{models}:Good", "--examples", "examples.jsonl", "--json")
    assert rules(ran.out) == []


def test_a_target_can_stand_in_a_file(run: Run, models: str) -> None:
    """A type of a Python file, or a JSON Schema of a .json file."""
    folder = Path("elsewhere")
    folder.mkdir()
    (folder / "shapes.py").write_text("from sizes import Size\nclass Box:\n    size: Size\nT = 3\n")
    (folder / "sizes.py").write_text("from typing import Literal\nSize = Literal['s', 'l']\n")
    ran = run("lint", "elsewhere/shapes.py:Size", "--json")
    assert rules(ran.out) == [("", "closed-enum")]
    schema = {"properties": {"n": {"type": "string"}}, "required": ["n"]}
    (folder / "one.json").write_text(json.dumps(schema))
    expected = [("/n", "required-value")]
    assert rules(run("lint", "elsewhere/one.json", "--json").out) == expected
    assert rules(run("lint", "--schema", "elsewhere/one.json", "--json").out) == expected


def test_two_files_of_one_name_are_two_modules(run: Run, models: str) -> None:
    for name, field in (("a", "first"), ("b", "second")):
        Path(name).mkdir()
        text = f"from pydantic import BaseModel\nclass M(BaseModel):\n    {field}: 'str'\n"
        (Path(name) / "same.py").write_text(text)
    assert rules(run("lint", "a/same.py:M", "--json").out) == [("/first", "required-value")]
    assert rules(run("lint", "b/same.py:M", "--json").out) == [("/second", "required-value")]


def test_a_file_can_be_a_target_of_the_other_commands(run: Run, models: str) -> None:
    assert run("schema", f"{models}.py:Good", "--sent").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "expected a TARGET as module:Name or file.py:Name, or --schema FILE, and not both"),
        (["lint_models:Good", "--schema", "x.json"], "and not both"),
        (["lint_models"], "'lint_models' names no target; expected module:Name"),
        (["nothing.py:Good"], "there is no file 'nothing.py'"),
        (["lint_models.py:Bad"], "has no 'Bad'; its own are Invoice, Good"),
        (["raises.py:Good"], "importing 'raises.py' failed: ZeroDivisionError"),
        (["needs.py:Good"], "importing 'needs.py' failed: No module named 'a_package_nobody_has'"),
        (["broken.py:Good"], "importing 'broken.py' failed: SyntaxError"),
        (["missing.json"], "there is no file 'missing.json'"),
        (["list.json"], "'list.json' holds a JSON list; expected an object"),
        (["bad.json"], "'bad.json' is not JSON"),
        (["lint_models:Good", "--dialect", "yaml"], "invalid choice: 'yaml'"),
        (["lint_models:Good", "--ignore", "everything"], "invalid choice: 'everything'"),
        (["lint_models:Good", "--examples", "none.jsonl"], "there is no file 'none.jsonl'"),
        (["lint_models:Good", "--examples", "bad.json"], "--examples 'bad.json', line 1, is not"),
        (["lint_models:Good", "--examples", "deep.jsonl"], "line 2, is not JSON"),
        (
            ["lint_models:Good", "--examples", "wrong.jsonl"],
            "--examples 'wrong.jsonl', line 3, is no answer that the target takes: at /name "
            "found 3; give the value",
        ),
        (["../x:Good"], "'../x' is no name of a module; for a file write its path with .py"),
        (["lint_models:count"], "'lint_models:count' is an int, not a type"),
    ],
)
def test_what_the_caller_got_wrong_is_exit_code_2_and_one_line(
    arguments: list[str], said: str, run: Run, models: str
) -> None:
    Path("raises.py").write_text("1 / 0")
    Path("needs.py").write_text("import a_package_nobody_has")
    Path("broken.py").write_text("class")
    Path("list.json").write_text("[]")
    Path("bad.json").write_text("{")
    Path("deep.jsonl").write_text('{"name": null}\n' + "[" * 100_000)
    Path("wrong.jsonl").write_text('{"name": "a"}\n\n{"name": 3}')
    ran = run("lint", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("extractkit: ")
    assert ran.err.count("\n") == 1
    assert said in ran.err


def test_help_names_a_rule_and_the_reference_names_all(run: Run) -> None:
    ran = run("lint", "--help")
    assert ran.code == 0
    assert "required-value" in ran.out
    assert len(set(LINT_RULES)) == len(LINT_RULES)
