"""A run over a file through a provider's batches: the rows of `run_file`, and never asked live."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from extractkit.batch import BatchStatus, RunReport, run_batch
from extractkit.errors import UsageError
from tests.batch.batch_server import BatchServer, serving
from tests.batch.test_native import TEXTS, Cup, good


@pytest.fixture
def server() -> Generator[BatchServer]:
    with serving("chat") as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    rows = [json.dumps({"id": id, "text": text}) for id, text in TEXTS]
    path.write_text("\n".join([*rows, "no row"]))
    return path


def _run(server: BatchServer, data: Path, **options: Any) -> RunReport:
    output = data.with_name("out.jsonl")
    return run_batch(Cup, data, output, model=server.provider(), **options)


def _stops(seconds: float) -> bool:
    return True


def _ends(server: BatchServer) -> Any:
    def wait(seconds: float) -> None:
        server.end(lambda id, body: good(server, id, body))

    return wait


def test_the_rows_are_written_when_all_have_ended(server: BatchServer, data: Path) -> None:
    told: list[BatchStatus] = []
    report = _run(server, data, wait=_ends(server), progress=told.append)
    assert (report.is_whole, dict(report.statuses)) == (True, {"ok": 5, "error": 1})
    assert [status.ended for status in told] == [0]
    lines = [json.loads(line) for line in data.with_name("out.jsonl").read_text().splitlines()]
    assert [line["value"] and line["value"]["price"] for line in lines] == [0, 1, 2, 3, 4, None]
    assert not any("chat/completions" in path for path in server.seen)


def test_a_run_that_was_stopped_goes_on(server: BatchServer, data: Path) -> None:
    report = _run(server, data, wait=_stops)
    assert (report.is_whole, report.rows, report.left) == (False, 5, 5)
    assert not data.with_name("out.jsonl").exists()
    assert _run(server, data, wait=_ends(server)).is_whole
    assert _run(server, data).known == 6
    assert len(server.rows) == 1


def test_inputs_that_changed_are_not_asked_about(server: BatchServer, data: Path) -> None:
    _run(server, data, wait=_stops)
    data.write_text(json.dumps({"id": "id 0", "text": "Another text."}))
    with pytest.raises(UsageError, match="a job about other inputs"):
        _run(server, data)
    assert len(server.rows) == 1


def test_inputs_that_change_meanwhile_are_not_asked_about(server: BatchServer, data: Path) -> None:
    def wait(seconds: float) -> None:
        _ends(server)(seconds)
        data.write_text(json.dumps({"id": "id 0", "text": "Another text."}))

    with pytest.raises(UsageError, match="changed while its rows were asked about"):
        _run(server, data, wait=wait)
    assert not any("chat/completions" in path for path in server.seen)


def test_standard_input_cannot_be_read_again(server: BatchServer, data: Path) -> None:
    with pytest.raises(UsageError, match="can be read again"):
        run_batch(Cup, "-", data.with_name("out.jsonl"), model=server.provider())
    assert server.seen == []
