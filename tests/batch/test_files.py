"""Runs over files: each row once, whatever stopped the run; what is no row is told in its place."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit.batch import read_rows, run_file
from extractkit.errors import AuthenticationError, ServerError, UsageError
from extractkit.messages import ModelRequest
from extractkit.results import Retry
from extractkit.testing import FakeProvider, Reply
from tests.batch.test_many import Word, echo, failing


class Other(BaseModel):
    """Another target."""

    word: str
    more: str = ""


def jsonl(path: Path, *rows: Any) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def row(number: int) -> dict[str, str]:
    return {"id": f"id-{number}", "text": f"w-{number}"}


def test_each_row_has_what_came_of_it_in_the_order_of_the_inputs(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", row(0), row(1), row(2))
    out = tmp_path / "out.jsonl"
    report = run_file(Word, source, out, model=FakeProvider(echo))
    assert [(line["id"], line["status"], line["value"]) for line in rows_of(out)] == [
        (f"id-{number}", "ok", {"word": f"w-{number}"}) for number in range(3)
    ]
    assert (report.rows, report.left, report.known, report.is_whole) == (3, 0, 0, True)
    assert report.statuses == {"ok": 3} and sum(report.levels.values()) == 3


def test_a_second_run_asks_about_what_is_new_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run_file(Word, jsonl(tmp_path / "in.jsonl", row(0), row(1)), out, model=FakeProvider(echo))
    provider = FakeProvider(echo)
    changed = {"id": "id-1", "text": "w-9"}
    source = jsonl(tmp_path / "in.jsonl", row(2), changed, row(0))
    report = run_file(Word, source, out, model=provider)
    assert len(provider.requests) == 2 and report.known == 1
    assert [line["value"]["word"] for line in rows_of(out)] == ["w-2", "w-9", "w-0"]


def test_what_is_no_row_is_told_in_its_place(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", row(0), "{broken", {"id": "x"}, row(0), row(1))
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        report = run_file(Word, source, out, model=FakeProvider(echo))
        lines = rows_of(out)
        assert [line["status"] for line in lines] == ["ok", "error", "error", "error", "ok"]
        assert "no JSON" in lines[1]["error"] and "no column 'text'" in lines[2]["error"]
        assert "the id 'id-0' came before" in lines[3]["error"]
        assert report.is_whole and report.statuses == {"ok": 2, "error": 3}


def test_rows_that_failed_are_asked_about_again_where_that_is_wanted(tmp_path: Path) -> None:
    source, out = jsonl(tmp_path / "in.jsonl", row(0), row(1)), tmp_path / "out.jsonl"
    down = failing(lambda: ServerError("down"), "w-1")
    report = run_file(Word, source, out, model=down, retry=Retry(transport=0))
    assert report.statuses == {"ok": 1, "error": 1}
    for retry_failed, asked in ((False, 0), (True, 1)):
        provider = FakeProvider(echo)
        options: dict[str, Any] = {"model": provider, "retry": Retry(transport=0)}
        run_file(Word, source, out, retry_failed=retry_failed, **options)
        assert len(provider.requests) == asked
    assert [line["status"] for line in rows_of(out)] == ["ok", "ok"]


def test_a_run_that_is_stopped_ends_what_is_under_way_and_goes_on_later(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", *map(row, range(50)))
    out, provider = tmp_path / "out.jsonl", FakeProvider(echo)
    report = run_file(
        Word, source, out, model=provider, concurrency=2, is_stopped=lambda: bool(provider.requests)
    )
    done = report.rows - report.left
    assert 0 < done < 20 and not report.is_whole and report.reason == "it was told to stop"
    assert len(rows_of(out)) == done == len(provider.requests)
    report = run_file(Word, source, out, model=provider)
    assert (report.known, report.rows, report.is_whole) == (done, 50, True)
    assert len(provider.requests) == 50


def test_a_refused_key_ends_the_run_and_is_told_and_kept_nowhere(tmp_path: Path) -> None:
    source, out = jsonl(tmp_path / "in.jsonl", row(0)), tmp_path / "out.jsonl"
    refusing = FakeProvider(lambda request: AuthenticationError("no"))
    report = run_file(Word, source, out, model=refusing)
    assert isinstance(report.error, AuthenticationError)
    assert (report.left, report.is_whole, rows_of(out)) == (1, False, [])
    assert run_file(Word, source, out, model=FakeProvider(echo)).is_whole


def test_a_ceiling_of_cost_ends_the_run(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", *map(row, range(100)))
    provider = FakeProvider(echo)
    report = run_file(
        Word,
        source,
        tmp_path / "out.jsonl",
        model=provider,
        price=lambda provider, model, usage: Decimal("0.01"),
        max_cost_usd=0.1,
        concurrency=1,
    )
    assert Decimal("0.1") <= report.cost_usd <= Decimal("0.12")
    assert not report.is_whole and report.left < 4
    assert "ceiling of 0.1 US dollars is reached" in report.reason
    with pytest.raises(UsageError, match="needs price"):
        run_file(Word, source, tmp_path / "o.jsonl", model=provider, max_cost_usd=1)


def test_a_ceiling_of_cost_is_no_ceiling_where_no_price_is_known(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", *map(row, range(100)))
    provider, out = FakeProvider(echo), tmp_path / "out.jsonl"
    report = run_file(
        Word,
        source,
        out,
        model=provider,
        price=lambda provider, model, usage: None,
        max_cost_usd=1,
        concurrency=1,
    )
    assert isinstance(report.error, UsageError)
    assert "is not known" in str(report.error) and provider.model in str(report.error)
    assert not report.is_whole and report.left < 4
    assert len(rows_of(out)) == len(provider.requests) < 10


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    source, out = jsonl(tmp_path / "in.jsonl", row(0), "{"), tmp_path / "out.parquet"
    run_file(Word, source, out, model=FakeProvider(echo))
    lines = parquet.read_table(out).to_pylist()
    assert [line["status"] for line in lines] == ["ok", "error"]
    assert json.loads(lines[0]["value"]) == {"word": "w-0"} and lines[1]["value"] is None


def test_what_is_wrong_with_all_is_an_error_before_anything_is_asked(tmp_path: Path) -> None:
    def asked(request: ModelRequest) -> Reply:
        raise AssertionError

    source, out = jsonl(tmp_path / "in.jsonl", row(0)), tmp_path / "out.jsonl"
    empty = jsonl(tmp_path / "empty.jsonl")
    provider = FakeProvider(asked)
    for given, goal, columns, said in (
        (source, out, {"text": "body"}, "no column 'body'"),
        (source, out, {"limit": 0}, "limit"),
        (source, out, {"sample": 2}, "sample"),
        (tmp_path / "in.txt", out, {}, "expected a file that ends in"),
        (empty, out, {}, "has no row"),
        (source, tmp_path / "out.txt", {}, "expected an output"),
        (source, tmp_path / "no" / "out.jsonl", {}, "cannot be written there"),
        (source, source, {}, "overwrite the inputs"),
    ):
        with pytest.raises(UsageError, match=said):
            run_file(Word, given, goal, columns=columns, model=provider)
    out.write_text("mine")
    with pytest.raises(UsageError, match="exists and has no journal"):
        run_file(Word, source, out, model=provider)
    assert out.read_text() == "mine"


def test_the_output_of_another_target_is_refused(tmp_path: Path) -> None:
    source, out = jsonl(tmp_path / "in.jsonl", row(0)), tmp_path / "out.jsonl"
    run_file(Word, source, out, model=FakeProvider(echo))
    with pytest.raises(UsageError, match="of another target"):
        run_file(Other, source, out, model=FakeProvider(echo))


def test_a_folder_is_one_text_for_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "one.txt").write_text("w-1")
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbfw-0")
    (folder / "c.bin").write_bytes(b"\0\1")
    (folder / "d.txt").write_bytes(b"caf\xe9")
    (folder / ".hidden").write_text("w-9")
    found = [(each.id, each.text, each.fault[:14]) for each in read_rows(folder)]
    assert found == [
        ("a.txt", "w-0", ""),
        ("c.bin", "", "it is no text:"),
        ("d.txt", "", "it is no UTF-8"),
        ("b/one.txt", "w-1", ""),
    ]
