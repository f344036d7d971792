"""`extractkit eval`, `report` and `export`: what is asked, kept, shown and written."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from extractkit import prompts
from extractkit.cli._ways import _parted  # pyright: ignore[reportPrivateUsage]
from extractkit.errors import BadRequestError, UsageError
from extractkit.evaluation import Configuration, write_run
from extractkit.journal import Journal, Key
from extractkit.messages import Capabilities, ModelRequest
from extractkit.providers import resolve
from extractkit.testing import FakeProvider, Reply
from tests.cli.conftest import Run

_TOWNS = [("Oslo", "town"), ("Flam", "village"), ("Bergen", None)]

Answering = Callable[..., FakeProvider]


def _right(request: ModelRequest) -> Reply:
    name, kind = next(
        town for town in _TOWNS if f"A letter from {town[0]}" in request.messages[-1].content
    )
    return json.dumps({"name": name, "kind": kind})


def _hasty(request: ModelRequest) -> Reply:
    """Calls everything a town."""
    name = json.loads(str(_right(request)))["name"]
    return json.dumps({"name": name, "kind": "town"})


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Let a function answer whatever is asked."""

    def install(reply: Callable[[ModelRequest], Reply]) -> FakeProvider:
        provider = FakeProvider(reply)
        monkeypatch.setattr("extractkit.evaluation._configuration.shared", lambda _: provider)
        return provider

    return install


@pytest.fixture
def data(folder: Path) -> Path:
    """A working folder with `data.jsonl` and `data.csv`."""
    rows = [
        {
            "id": f"t{number}",
            "text": f"A letter from {name}, a {kind or 'place'}.",
            "label": {"name": name, "kind": kind},
        }
        for number, (name, kind) in enumerate(_TOWNS)
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = [f't{number},"{row["text"]}",{_TOWNS[number][0]}\n' for number, row in enumerate(rows)]
    (folder / "data.csv").write_text("".join(["id,text,town\n", *table]))
    (folder / "comparing.py").write_text(
        "from extractkit.evaluation import Ignored\nRULES = {'/kind': Ignored()}\n"
    )
    return folder


_EVAL = ("eval", "shop.models:City", "data.jsonl")


def test_rates_with_intervals_are_printed_for_people(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_hasty)
    ran = run(*_EVAL)
    assert ran.code == 0
    assert "rates over all inputs: 3; intervals at 95 %" in ran.out
    assert re.search(r"exact +33.3 % \(\d+\.\d to \d+\.\d\)", ran.out)
    assert re.search(r"/kind +33.3 %", ran.out)
    assert re.search(r"/name +100.0 %", ran.out)
    assert "tokens per exact value" in ran.out
    assert "\x1b" not in ran.out


def test_figures_come_as_json_csv_and_a_page(run: Run, answering: Answering, data: Path) -> None:
    answering(_hasty)
    ran = run(*_EVAL, "--json", "-o", "r.json", "-o", "r.csv", "-o", "r.html")
    record = json.loads(ran.out)
    assert record == json.loads((data / "r.json").read_text("utf-8"))
    one = record["configurations"]["default"]
    assert one["model"] == "fake:scripted"
    assert one["figures"]["rates"]["exact"]["estimate"] == pytest.approx(1 / 3)
    assert one["outcomes"]["/kind"] == {"right": 1, "wrong": 1, "fabricated": 1}
    assert one["failed_inputs"] == ["t1", "t2"]
    assert one["asked"]["prompt"] == [prompts.VERSION]
    rows = list(csv.DictReader((data / "r.csv").read_text("utf-8").splitlines()))
    exact = next(row for row in rows if (row["group"], row["figure"]) == ("rates", "exact"))
    assert float(exact["estimate"]) == pytest.approx(1 / 3)
    assert (data / "r.html").read_text("utf-8").startswith("<!doctype html>")
    assert ran.err.count("wrote") == 3


def test_configurations_are_compared(run: Run, answering: Answering, data: Path) -> None:
    provider = answering(
        lambda request: (
            _right(request) if "care" in request.messages[0].content else _hasty(request)
        )
    )
    ran = run(
        *_EVAL,
        "--config", "hasty:samples=2",
        "--config", "slow:instructions=Take care, and time,retries=0,max_output_tokens=50",
        "--json",
    )  # fmt: skip
    record = json.loads(ran.out)
    assert list(record["configurations"]) == ["hasty", "slow"]
    assert record["differences"]["slow"]["rates"]["exact"]["estimate"] == pytest.approx(2 / 3)
    parameters = record["configurations"]["slow"]["parameters"]
    assert parameters["instructions"] == "Take care, and time"
    assert parameters["retry"]["answers"] == 0
    assert parameters["sampling"]["max_output_tokens"] == 50
    assert len(provider.requests) == 3 * 2 + 3
    shown = run(*_EVAL, "--config", "a", "--config", "b:", "--config", "c", "--config", "d").out
    assert "less a, paired by input" in shown
    assert re.search(r"exact +\+0.0 pp", shown)


def test_what_is_known_is_not_asked_again(run: Run, answering: Answering, data: Path) -> None:
    provider = answering(_right)
    first = run(*_EVAL, "--journal", "run.jsonl", "--limit", "2", "--json")
    assert len(provider.requests) == 2
    second = run(*_EVAL, "--journal", "run.jsonl", "--json")
    assert len(provider.requests) == 3
    assert "in the journal and not asked for again: 2 answers" in second.err
    assert json.loads(first.out)["configurations"]["default"]["figures"]["inputs"] == 2
    assert json.loads(second.out)["configurations"]["default"]["figures"]["inputs"] == 3


def test_a_report_is_made_again_without_a_model(
    run: Run, answering: Answering, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(_hasty)
    hot = ("--config", "hot:temperature=1,samples=3", "--config", "cold:temperature=0")
    first = run(*_EVAL, *hot, "--journal", "run.jsonl", "-o", "a.html", "--json")
    monkeypatch.setattr(
        "extractkit.evaluation._configuration.shared", lambda _: pytest.fail("a model was asked")
    )
    again = run("report", "run.jsonl", "-o", "b.html", "--json")
    assert (again.code, again.out) == (0, first.out)
    assert (data / "a.html").read_bytes() == (data / "b.html").read_bytes()
    turned = run("report", "run.jsonl", "--against", "cold")
    assert "less cold, paired by input" in turned.out


def test_seeds_of_samples_are_found_again(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a model takes a seed, every answer has its own; the journal is read with the same."""
    takes = Capabilities(sampling=frozenset({"temperature", "seed"}))
    provider = FakeProvider(_hasty, capabilities=takes)
    monkeypatch.setattr("extractkit.evaluation._configuration.shared", lambda _: provider)
    run(*_EVAL, "--temperature", "1", "--samples", "2", "--seed", "7", "--journal", "run.jsonl")
    seeds = {request.sampling.seed for request in provider.requests}
    assert len(seeds) == 6
    ran = run("report", "run.jsonl", "--json")
    record = json.loads(ran.out)
    assert record["notes"] == []
    assert record["configurations"]["default"]["figures"]["samples"] == 2


def test_answers_may_be_read_as_they_come(run: Run, answering: Answering, data: Path) -> None:
    answering(_right)
    streamed = json.loads(run(*_EVAL, "--stream", "--config", "a:retries=0", "--json").out)
    assert "first_token_s, median" in streamed["configurations"]["a"]["figures"]["latency"]
    assert streamed["configurations"]["a"]["parameters"]["stream"] is True


def test_what_answers_cost_is_counted_where_it_is_asked_for(
    run: Run, answering: Answering, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(_right)
    monkeypatch.setattr("extractkit.providers.prices.genai_prices", lambda *_: Decimal("0.25"))
    amounts = [
        json.loads(run(*_EVAL, "--json", *more).out)["configurations"]["default"]["figures"][
            "amounts"
        ]
        for more in ((), ("--prices",))
    ]
    assert "cost_usd" not in amounts[0]
    assert amounts[1]["cost_usd"]["estimate"] == 0.25
    assert amounts[1]["cost_usd per exact value"]["estimate"] == 0.25


def test_labels_that_were_corrected_cost_no_answer(
    run: Run, answering: Answering, data: Path
) -> None:
    provider = answering(_hasty)
    run(*_EVAL, "--journal", "run.jsonl")
    lines = (data / "data.jsonl").read_text().replace('"village"', '"town"')
    (data / "new.jsonl").write_text(lines)
    record = json.loads(run("report", "run.jsonl", "--data", "new.jsonl", "--json").out)
    assert len(provider.requests) == 3
    exact = record["configurations"]["default"]["figures"]["rates"]["exact"]
    assert exact["estimate"] == pytest.approx(2 / 3)


def test_answers_that_are_missing_and_lines_that_are_damaged_are_told(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_right)
    run(*_EVAL, "--journal", "run.jsonl")
    text = (data / "data.jsonl").read_text().replace("Bergen, a place", "Bergen, a harbour")
    (data / "data.jsonl").write_text(text)
    lines = (data / "run.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"Oslo", b"Olso")
    (data / "run.jsonl").write_bytes(b"".join(lines))
    ran = run("report", "run.jsonl")
    assert ran.code == 0
    said = " ".join(ran.out.split())
    assert "not in the journal, and counted by no figure: 2 answers; the run" in said
    assert "line 3 (" in said
    assert "is damaged" in said


def test_fields_in_columns_and_rules_of_the_callers(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_hasty)
    ran = run(
        "eval", "shop.models:City", "data.csv", "--field", "name=town", "--journal", "r.jsonl",
        "--json",
    )  # fmt: skip
    one = json.loads(ran.out)["configurations"]["default"]
    assert one["outcomes"] == {"/name": {"right": 3}}
    assert run("report", "r.jsonl", "--json").out == ran.out
    ruled = run(*_EVAL, "--rules", "comparing:RULES", "--json")
    assert json.loads(ruled.out)["configurations"]["default"]["outcomes"].keys() == {"/name"}
    assert json.loads(ruled.out)["rules"] == {"/kind": "Ignored()"}
    wrong = run(*_EVAL, "--rules", "shop.models:City")
    assert wrong.code == 2
    assert "--rules shop.models:City: found a ModelMetaclass, expected a dict" in wrong.err


def test_a_schema_is_a_target_and_rows_may_have_no_id(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_right)
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "kind": {"type": ["string", "null"]}},
        "required": ["name", "kind"],
    }
    (data / "city.json").write_text(json.dumps(schema))
    ran = run("eval", "--schema", "city.json", "data.jsonl", "--id", "", "--journal", "r", "--json")
    assert json.loads(ran.out)["configurations"]["default"]["figures"]["inputs"] == 3
    assert run("report", "r", "--json").out == ran.out
    assert run("report", "r", "--target", "city.json", "--json").out == ran.out


def test_bad_rows_are_refused_or_left_out_and_listed(
    run: Run, answering: Answering, data: Path
) -> None:
    provider = answering(_right)
    with (data / "data.jsonl").open("a") as file:
        file.write("nothing\n")
    refused = run(*_EVAL)
    assert refused.code == 2
    assert "line 4" in refused.err
    assert "--skip-bad" in refused.err
    assert provider.requests == []
    ran = run(*_EVAL, "--skip-bad", "-o", "r.html")
    assert ran.code == 0
    assert "rows of the data left out: 1; line 4" in " ".join(ran.out.split())
    assert "1 row of the data left out" in (data / "r.html").read_text("utf-8")


def test_a_model_that_cannot_be_asked_is_told_and_asked_again(
    run: Run, answering: Answering, data: Path
) -> None:
    def fails(request: ModelRequest) -> Reply:
        if "Flam" in request.messages[-1].content:
            return BadRequestError("too long", provider="fake")
        return _right(request)

    answering(fails)
    ran = run(*_EVAL, "--journal", "run.jsonl", "--json")
    assert ran.code == 3
    assert "1 answer could not be asked for, the first: BadRequestError: too long" in ran.err
    assert "the same call asks again" in ran.err
    assert "with --journal" in run(*_EVAL).err
    report = run("report", "run.jsonl", "--json")
    rates = json.loads(report.out)["configurations"]["default"]["figures"]["rates"]
    assert rates["error"]["estimate"] == pytest.approx(1 / 3)
    provider = answering(_right)
    assert run(*_EVAL, "--journal", "run.jsonl").code == 0
    assert len(provider.requests) == 1


def test_the_embedded_model_is_named_outright(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    provider = FakeProvider(_right)

    def shared(model: object) -> FakeProvider:
        asked.append(model)
        return provider

    monkeypatch.delenv("EXTRACTKIT_MODEL", raising=False)
    monkeypatch.setattr("extractkit.evaluation._configuration.shared", shared)
    run(*_EVAL, "--config", "a", "--config", "b:model=openai:x")
    kinds = [each if isinstance(each, str) else type(each).__name__ for each in asked]
    assert kinds == ["Local", "openai:x"]


def test_rows_that_cannot_be_used_are_counted_and_told(
    run: Run, answering: Answering, data: Path
) -> None:
    provider = answering(_right)
    bad = '{"id": "empty", "text": " ", "label": null}\n{broken\n'
    (data / "bad.jsonl").write_text((data / "data.jsonl").read_text("utf-8") + bad, "utf-8")
    call = (*_EVAL[:2], "bad.jsonl")
    assert "2 of 5 rows cannot be used: line 4: text is empty" in run(*call).err
    wrong = run(*call, "--text", "body", "--skip-bad")
    assert wrong.code == 2
    assert "none of 5 rows can be used: line 1 and 3 more: no column 'body'" in wrong.err
    assert not provider.requests
    left_out = run(*call, "--skip-bad")
    assert left_out.code == 0
    assert "rows of the data left out: 2; line 4: text is empty" in left_out.out


@pytest.mark.parametrize("command", ["eval", "extract", "run", "demo"])
def test_help_tells_which_temperature_is_sent(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = " ".join(run(command, "--help").out.split())
    assert "default: 0 for a model that is known to take one; others, and all of" in told
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    takes = {
        name: resolve(name).capabilities.temperature
        for name in ("openai:gpt-4.1", "openai:another-model", "compatible:gpt-4.1")
    }
    assert takes == {
        "openai:gpt-4.1": True,
        "openai:another-model": False,
        "compatible:gpt-4.1": False,
    }


# --- export --------------------------------------------------------------------------------------


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_exact_answers_become_conversations_as_they_were_sent(
    run: Run, answering: Answering, data: Path
) -> None:
    provider = answering(_hasty)
    run(*_EVAL, "--instructions", "Read well.", "--journal", "run.jsonl")
    ran = run("export", "run.jsonl", "-o", "train.jsonl")
    assert ran.code == 0
    assert "wrote 1 pair of 3 answers to train.jsonl" in ran.err
    (record,) = _lines(data / "train.jsonl")
    sent = [{"role": it.role, "content": it.content} for it in provider.requests[0].messages]
    answer = {"role": "assistant", "content": '{"name": "Oslo", "kind": "town"}'}
    assert record == {"messages": [*sent, answer]}


def test_what_is_accepted_and_its_form_are_the_callers_choice(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_hasty)
    run(*_EVAL, "--config", "a", "--config", "b:samples=2,temperature=1", "--journal", "run.jsonl")
    ran = run("export", "run.jsonl", "-o", "t.jsonl", "--format", "plain", "--accept", "ok",
              "--json")  # fmt: skip
    assert json.loads(ran.out) == {"pairs": 3, "answers": 9, "notes": []}
    for name, answers in (("a", 3), ("b", 6)):
        of_one = ("export", "run.jsonl", "-o", "u.jsonl", "--accept", "ok", "--config", name)
        assert f"wrote 3 pairs of {answers} answers" in run(*of_one).err
        assert json.loads(run(*of_one, "--json").out)["answers"] == answers
    assert _lines(data / "t.jsonl")[2] == {
        "id": "t2",
        "text": "A letter from Bergen, a place.",
        "document": {"name": "Bergen", "kind": "town"},
        "configuration": "a",
    }
    grounded = run("export", "run.jsonl", "-o", "t.jsonl", "--accept", "grounded", "--config", "b")
    assert grounded.code == 0
    assert run("export", "run.jsonl", "-o", "t.jsonl", "--config", "c").code == 2


def test_nothing_accepted_is_told_by_the_exit_code(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(lambda request: '{"name": "Rome", "kind": null}')
    run(*_EVAL, "--journal", "run.jsonl")
    ran = run("export", "run.jsonl", "-o", "t.jsonl")
    assert ran.code == 1
    assert "wrote 0 pairs of 3 answers" in ran.err


def test_other_words_than_those_that_were_sent_are_told(
    run: Run, answering: Answering, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(_right)
    with monkeypatch.context() as patched:
        patched.setattr("extractkit.prompts.VERSION", "an-old-one")
        run(*_EVAL, "--journal", "run.jsonl")
    assert "words of version an-old-one" in run("export", "run.jsonl", "-o", "t.jsonl").err


# --- what cannot be done -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["shop.models:City"], "expected TARGET and DATA, got 'shop.models:City'"),
        ([*_EVAL[1:], "--schema", "x.json"], "expected DATA, got"),
        (["shop.models:City", "data.txt"], "ends in .jsonl, .ndjson, .csv, .parquet"),
        ([*_EVAL[1:], "-o", "r.pdf"], "ends in .html, .json, .csv"),
        ([*_EVAL[1:], "-o", "-"], "expected a name that ends in"),
        ([*_EVAL[1:], "-o", "no/r.html"], "there is no folder no"),
        ([*_EVAL[1:], "--limit", "0"], "--limit 0: expected at least 1"),
        ([*_EVAL[1:], "--level", "95"], "--level 95.0: expected a number between 0 and 1"),
        ([*_EVAL[1:], "--failures", "-1"], "--failures -1: expected 0 or more"),
        ([*_EVAL[1:], "--against", "b"], "--against b: expected a configuration, of default"),
        ([*_EVAL[1:], "--label", "label", "--field", "name"], "give one kind of them"),
        (
            [*_EVAL[1:], "--config", ":temperature=1"],
            "--config ':temperature=1': expected a name first, such as greedy:temperature=0",
        ),
        (
            [*_EVAL[1:], "--config", "a:temperature=0", "--config", "a:seed=2,temperature=1"],
            "--config 'a:seed=2,temperature=1': 'a' is named above",
        ),
        ([*_EVAL[1:], "--config", "a:tea=2"], "found 'tea=2', expected key=value with a key of"),
        ([*_EVAL[1:], "--config", "a:samples"], "found 'samples', expected key=value"),
        ([*_EVAL[1:], "--config", "a:temperature=x"], "--config a: argument --temperature"),
        ([*_EVAL[1:], "--label", "lable"], "no column 'lable'"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_asked(
    arguments: list[str], why: str, run: Run, answering: Answering, data: Path
) -> None:
    provider = answering(_right)
    ran = run("eval", *arguments)
    assert ran.code == 2
    assert why in ran.err
    assert provider.requests == []


def test_values_of_a_configuration_may_hold_commas_and_equals_signs() -> None:
    assert _parted("a:instructions=x, y=z,seed=3") == (
        "a",
        {"instructions": "x, y=z", "seed": "3"},
    )
    with pytest.raises(UsageError, match="expected key=value"):
        _parted("a:,seed=3")


def test_data_is_not_overwritten_by_its_report(run: Run, answering: Answering, data: Path) -> None:
    answering(_right)
    (data / "data.jsonl").rename(data / "plain.jsonl")
    run("eval", "shop.models:City", "plain.jsonl", "--journal", "run.jsonl")
    before = (data / "run.jsonl").read_bytes()
    ran = run("export", "run.jsonl", "-o", "run.jsonl")
    assert ran.code == 2
    assert "that would overwrite run.jsonl" in ran.err
    assert (data / "run.jsonl").read_bytes() == before


def test_a_target_or_rules_are_not_overwritten_either(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_right)
    kind = {"type": ["string", "null"]}
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "kind": kind}}
    (data / "city.json").write_text(json.dumps(schema))
    asked = ("eval", "city.json", "data.jsonl", "--rules", "comparing.py:RULES")
    assert "that would overwrite city.json" in run(*asked, "-o", "city.json").err
    assert run(*asked, "--journal", "run.jsonl").code == 0
    for call, goal in (
        ("report", "city.json"),
        ("export", "city.json"),
        ("export", "comparing.py"),
    ):
        before = (data / goal).read_bytes()
        ran = run(call, "run.jsonl", "-o", goal)
        assert ran.code == 2
        assert f"that would overwrite {goal}" in ran.err
        assert (data / goal).read_bytes() == before


def test_a_journal_without_a_run_or_answers_says_what_to_do(
    run: Run, answering: Answering, data: Path
) -> None:
    with Journal("bare.jsonl") as journal:
        journal.append(Key.of("a", "b", target="", model="", parameters={}), {})
    assert "does not say what was asked" in run("report", "bare.jsonl").err
    from shop.models import City

    provider = answering(_right)
    configuration = Configuration(name="a", options={"model": provider})
    write_run("own.jsonl", City, [configuration], details={})
    assert "use recall() of extractkit.evaluation" in run("report", "own.jsonl").err
    run(*_EVAL, "--journal", "run.jsonl")
    (data / "other.jsonl").write_text('{"id": "x", "text": "y"}\n')
    ran = run("report", "run.jsonl", "--data", "other.jsonl")
    assert ran.code == 2
    assert "has no answer to these inputs" in ran.err
    assert run("report", "none.jsonl").code == 2


def test_a_report_looks_at_its_numbers_before_the_work_too(
    run: Run, answering: Answering, data: Path
) -> None:
    answering(_right)
    run(*_EVAL, "--journal", "run.jsonl")
    ran = run("report", "run.jsonl", "--level", "95")
    assert ran.code == 2
    assert "--level 95.0: expected a number between 0 and 1" in ran.err
