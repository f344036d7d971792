"""Broken JSON ends in the status that a careful person would give, and JSON is never changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import broken_json


def row(text: str, expected: Any, *, valid: bool = False, source: str = "own") -> dict[str, Any]:
    return {"input": text, "expected": expected, "input_is_valid_json": valid, "source": source}


@pytest.mark.parametrize(
    ("text", "expected", "kind", "status"),
    [
        ('{"n": 1}', {"n": 1}, "strict JSON", "ok"),
        (' "n" ', "n", "strict JSON", "ok"),
        ('So:\n```json\n{"n": 1}\n```', {"n": 1}, "one document in a wrapper", "ok, unwrapped"),
        ('It is {"n": 1}. Bye', {"n": 1}, "one document in a wrapper", "ok, unwrapped"),
        ('{"n": 1, "n": 1}', {"n": 1}, "duplicate key", "invalid"),
        ('{"n": [1, {"m": "x', {}, "ends too early", "invalid"),
        ('It is {"n": tr', {}, "ends too early", "invalid"),
        ('"\\u00', "", "ends too early", "invalid"),
        ("  ", None, "no document", "invalid"),
        ("}", None, "no document", "invalid"),
        ('{"n": 1}{"n": 2}', {"n": 2}, "several documents", "invalid"),
        ("```json\n(1, 2)\n```", [1, 2], "not JSON inside a wrapper", "invalid"),
        ("{'n': 1}", {"n": 1}, "another notation", "invalid"),
        ('{"n": 1 /* one */ }', {"n": 1}, "comment", "invalid"),
        ('{"n": one}', {"n": "one"}, "number or word", "invalid"),
        ('{"n": 01}', {"n": 1}, "number or word", "invalid"),
        ('{"a\tb": 1}', {"a\tb": 1}, "control character or escape", "invalid"),
        ('{"n": "a"b"}', {"n": 'a"b'}, "quotes, commas, brackets", "invalid"),
    ],
)
def test_each_kind_of_text_ends_as_it_should(
    text: str, expected: Any, kind: str, status: str
) -> None:
    outcome = broken_json.examine(row(text, expected))
    assert outcome.faults == ()
    assert (outcome.kind, outcome.status) == (kind, status)
    assert bool(outcome.departure) is (status == "invalid")


def test_what_is_cut_off_claims_nothing_that_the_set_does_not_have() -> None:
    cut = '{"a": 1, "b": [true, "x'
    good = row(cut, {"a": 1, "b": [True, "x"]}, source="vercel")
    assert broken_json.examine(good).faults == ()
    (fault,) = broken_json.examine(row(cut, {"b": [True]}, source="vercel")).faults
    assert fault == "cut off it claims 1 at /a"


def test_a_wrong_status_and_a_departure_without_a_reason_are_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (fault,) = broken_json.examine(row('{"n": 1', {"n": 1}, valid=True)).faults
    assert fault == "a departure without a reason"
    opinions: list[tuple[str, Any]] = [("strict JSON", {"n": 2}), ("ends too early", None)]
    for opinion in opinions:
        monkeypatch.setattr(broken_json, "_careful", {'{"n": 1}': opinion}.__getitem__)
        (fault,) = broken_json.examine(row('{"n": 1}', {"n": 1})).faults
        assert "ok" in fault.lower()


def test_the_texts_of_the_set(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXTRACTKIT_DATA", str(shared_data))
    assert broken_json.main([]) == 0
    assert ", 0 faults" in capsys.readouterr().out
