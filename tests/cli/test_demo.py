"""`extractkit demo`: one invoice shown, or many counted, as the model read them."""

from __future__ import annotations

import json

import pytest

from extractkit.cli._invoices import generate
from extractkit.cli._layouts import LAYOUTS
from extractkit.messages import ModelResponse, StopReason
from tests.cli.conftest import Run, Script

_CUT = ModelResponse(text='{"number": "IN', stop=StopReason.LENGTH)


def _perfect(seed: int) -> str:
    return generate(seed).truth.model_dump_json()


def test_the_demonstration_shows_value_level_ending_evidence_and_cost(
    run: Run, script: Script
) -> None:
    script(_perfect(3))
    ran = run("demo", "--model", "scripted")
    truth = generate(3).truth
    assert ran.code == 0
    assert "Invoice(" in ran.out
    assert "LineItem(" in ran.out
    assert "ok; stop reason stop" in ran.out
    assert "GROUNDED" in ran.out
    assert f"[[{truth.number}]]" in ran.out
    assert "/items/0/amount" in ran.out
    assert "s CPU" in ran.out
    assert "MB at most" in ran.out
    assert "15 of 15 right" in ran.out


@pytest.mark.parametrize("seed", range(2 * len(LAYOUTS)))
def test_a_perfect_answer_is_grounded_in_every_layout(seed: int, run: Run, script: Script) -> None:
    """The label of an invoice stands in its text, as the grounding room reads it, too."""
    script(_perfect(seed))
    report = json.loads(run("demo", "--model", "scripted", "--seed", str(seed), "--json").out)
    assert report["result"]["validity"] == "grounded", report["result"]["findings"]


def test_wrong_fields_are_named(run: Run, script: Script) -> None:
    wrong = generate(3).truth.model_copy(update={"seller": "Somebody Else"})
    script(wrong.model_dump_json())
    ran = run("demo", "--model", "scripted", "--require", "schema")
    assert "14 of 15 right; wrong: seller" in ran.out


def test_a_demonstration_without_a_value_is_exit_code_1(run: Run, script: Script) -> None:
    script(_CUT)
    ran = run("demo", "--model", "scripted")
    assert ran.code == 1
    assert "truncated" in ran.out


def test_the_seed_chooses_the_invoice(run: Run, script: Script) -> None:
    script(_perfect(5))
    ran = run("demo", "--model", "scripted", "--seed", "5", "--json")
    report = json.loads(ran.out)
    assert report["text"] == generate(5).text
    assert report["result"]["status"] == "ok"
    assert all(score["right"] == score["of"] for score in report["fields"].values())
    assert report["peak_memory_bytes"] > 1_000_000
    assert report["weights"] is None


def test_many_invoices_are_counted_field_by_field(run: Run, script: Script) -> None:
    script(_perfect(10), _CUT, _perfect(12), "nonsense", "nonsense")
    ran = run("demo", "--model", "scripted", "--invoices", "4", "--seed", "10", "--json")
    report = json.loads(ran.out)
    assert ran.code == 0
    assert report["seeds"] == [10, 13]
    assert report["status"] == {"ok": 2, "truncated": 1, "invalid": 1}
    assert report["fields"]["number"] == {"right": 2, "of": 4}
    lines = [len(generate(seed).truth.items) for seed in range(10, 14)]
    assert report["fields"]["items.amount"] == {"right": lines[0] + lines[2], "of": sum(lines)}
    assert report["times"]["wall_s"] >= 0
    assert len(report["layouts"]) == 4


def test_many_invoices_are_shown_as_shares(run: Run, script: Script) -> None:
    script(_perfect(10), _CUT)
    ran = run("demo", "--model", "scripted", "--invoices", "2", "--seed", "10")
    assert ran.code == 0
    assert "50 %  1 of 2" in ran.out
    assert "ok 1 of 2, truncated 1 of 2" in ran.out
    assert "none 1 of 2, grounded 1 of 2" in ran.out
    assert "scripted" in ran.out


def test_no_invoices_is_a_usage_error(run: Run, script: Script) -> None:
    ran = run("demo", "--invoices", "0")
    assert ran.code == 2
    assert "--invoices 0: expected at least 1" in ran.err
