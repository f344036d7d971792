"""A short form of `python -m tests.acceptance.fuzz`, and that it sees what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extractkit.parsing import ParsedDocument, parse_json
from tests.acceptance import fuzz
from tests.acceptance.mutants import Mutant, answers, targets


def test_mutated_answers_raise_nothing_and_are_judged_as_strict_readers_do() -> None:
    report = fuzz.run(2500, seed=2)
    assert report.faults == []
    kinds = {name.strip(): count for name, count in report.verdicts.items()}
    assert min(kinds[name] for name in ("refused", "strict JSON", "taken out of a wrapper")) > 250
    assert len(report.refusals) >= 14
    assert {"SYNTAX", "CONSISTENT", "GROUNDED"} <= set(report.levels)


def test_a_number_makes_the_same_answer_again() -> None:
    few, many = list(answers(30, 5, batch=10)), list(answers(50, 5, batch=10))
    assert many[:30] == few
    assert len({each.text for each in many}) > 20
    assert {each.target for each in answers(300)} == set(range(len(targets())))


def _whatever(text: str, *, repair: bool = True) -> ParsedDocument:
    """Parse as models are sometimes parsed: with what `json.loads` takes."""
    del repair
    try:
        return ParsedDocument(value=json.loads(text))
    except ValueError:
        return parse_json(text)


def _raises(text: str, *, repair: bool = True) -> ParsedDocument:
    raise ZeroDivisionError(f"{text}{repair}")


@pytest.mark.parametrize("instead", [_whatever, _raises])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"id": 1, "id": 2}', "SYNTAX holds here, not there: duplicate key"),
        ("1", "without a span"),
    ],
)
def test_a_worse_parser_is_found_out(
    monkeypatch: pytest.MonkeyPatch, instead: Any, text: str, fault: str
) -> None:
    monkeypatch.setattr(fuzz, "parse_json", instead)
    report = fuzz.Report()
    report.examine(Mutant(name="one", text=text, target=0, cut=0), targets()[0])
    expected = "raised ZeroDivisionError" if instead is _raises else fault
    assert any(expected in each for each in report.faults)


def test_the_command_prints_what_became_of_the_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--answers", "60", "--seed", "3"]) == 0
    printed = capsys.readouterr().out
    assert "60 answers in" in printed
    assert "0 faults" in printed
