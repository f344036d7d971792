"""A disk that is full: nobody is asked any more, and what had come is kept or told."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from extractkit import Retry
from extractkit.batch import RunReport, run_file
from extractkit.batch._keeping import Keeper
from extractkit.errors import ServerError
from extractkit.journal import Journal, JournalReader, Key
from extractkit.testing import FakeProvider
from tests.batch.test_files import jsonl, row, rows_of
from tests.batch.test_many import Slow, Word, both, echo, texts


class Full:
    """Lets a journal take so many rows, then as many as its reserve has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rows: int, reserve: int = 0) -> None:
        self.rows = rows
        self.reserve = reserve
        append = Journal.append_json

        def appended(journal: Journal, key: Key, record: bytes) -> None:
            if not self.rows and self.reserve:
                self.rows, self.reserve = self.reserve, 0
                monkeypatch.setattr(Journal, "is_full", True)
            if not self.rows:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(journal.path))
            self.rows -= 1
            append(journal, key, record)

        monkeypatch.setattr(Journal, "append_json", appended)


def run(folder: Path, provider: FakeProvider, **options: Any) -> RunReport:
    source = jsonl(folder / "in.jsonl", *map(row, range(60)))
    return run_file(Word, source, folder / "out.jsonl", model=provider, concurrency=4, **options)


def test_what_the_journal_cannot_take_is_in_the_output_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Full(monkeypatch, rows=10)
    provider = Slow(lambda text: 0.001)
    report = run(tmp_path, provider)
    asked = len(provider.requests)
    assert 10 < asked <= 14
    lines = rows_of(tmp_path / "out.jsonl")
    assert len(lines) == asked == report.statuses["ok"]
    assert isinstance(report.error, OSError) and report.error.errno == errno.ENOSPC
    with JournalReader(tmp_path / "out.jsonl.journal") as journal:
        kept = {each.key.id for each in journal.rows()}
    lost = {line["id"] for line in lines} - kept
    assert len(lost) == asked - 10
    said = str(report.error)
    assert f"what came of {len(lost)} inputs is not in it" in said and "paid for again" in said
    assert all(repr(each) in said for each in lost)
    disk.rows = 1000
    again = FakeProvider(echo)
    report = run(tmp_path, again)
    assert report.is_whole and len(again.requests) == 50


def test_a_disk_that_has_room_again_at_the_end_keeps_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Full(monkeypatch, rows=10)
    retry = Keeper.retry

    def again(keeper: Keeper) -> None:
        disk.rows = 1000
        retry(keeper)

    monkeypatch.setattr(Keeper, "retry", again)
    report = run(tmp_path, Slow(lambda text: 0.001))
    assert "what was under way is in it" in str(report.error)
    again_provider = FakeProvider(echo)
    assert run(tmp_path, again_provider).is_whole
    assert len(again_provider.requests) == 60 - report.statuses["ok"]


def test_what_is_under_way_finds_the_room_that_was_kept_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Full(monkeypatch, rows=10, reserve=20)
    provider = Slow(lambda text: 0.001)
    report = run(tmp_path, provider)
    assert len(provider.requests) <= 15
    assert len(rows_of(tmp_path / "out.jsonl")) == len(provider.requests)
    assert "what was under way is in it" in str(report.error)
    with JournalReader(tmp_path / "out.jsonl.journal") as journal:
        assert len(journal) == 1 + len(provider.requests)


def test_an_output_that_cannot_be_written_either_says_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Full(monkeypatch, rows=10)

    def full(path: Path, lines: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("extractkit.batch._output._write_jsonl", full)
    with pytest.raises(OSError, match=r"output was not written; .* is full, and what came of"):
        run(tmp_path, Slow(lambda text: 0.001))


@both
def test_items_that_cannot_be_kept_are_handed_out_and_then_the_run_ends(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Full(monkeypatch, rows=3)
    provider = Slow(lambda text: 0.001)
    seen: list[Any] = []
    with pytest.raises(OSError, match="what came of"):
        run(
            Word,
            texts(60),
            model=provider,
            concurrency=4,
            journal=tmp_path / "j",
            progress=seen.append,
        )
    assert 3 < len(provider.requests) <= 7
    assert seen[-1].statuses == {"ok": len(provider.requests)}


def test_without_room_for_what_will_be_under_way_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("extractkit.journal._reserve._allocate", full)
    provider = FakeProvider(echo)
    with pytest.raises(OSError, match="answers that are under way"):
        run(tmp_path, provider)
    assert not provider.requests


_RUN = """
import resource, signal, sys
from pydantic import BaseModel
from extractkit.batch import run_file
from extractkit.testing import FakeProvider

class Word(BaseModel):
    word: str

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
provider = FakeProvider(lambda request: '{"word": "w"}')
try:
    run_file(Word, "in.jsonl", "out.jsonl", model=provider)
except OSError as error:
    print(len(provider.requests), error)
"""


def test_a_file_that_may_grow_no_more_is_a_full_disk(tmp_path: Path) -> None:
    long = "i" * 100_000
    jsonl(tmp_path / "in.jsonl", *({"id": f"{n} {long}", "text": "w"} for n in range(60)))
    told = subprocess.run(
        [sys.executable, "-c", _RUN],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    asked, _, said = told.partition(" ")
    assert 10 < int(asked) < 50
    assert "File too large: the output was not written" in said
    with JournalReader(tmp_path / "out.jsonl.journal") as journal:
        lost = int(asked) + 1 - len(journal)
        assert lost > 0 and f"what came of {lost} inputs is not in it" in said
        assert not journal.damage


def test_a_run_that_could_keep_nothing_of_a_failure_still_tells_it(tmp_path: Path) -> None:
    down = FakeProvider(lambda request: ServerError("down"))
    report = run(tmp_path, down, retry=Retry(transport=0))
    assert report.statuses["error"] == len(rows_of(tmp_path / "out.jsonl"))
