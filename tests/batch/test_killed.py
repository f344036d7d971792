"""Runs through the real SDK against a server that fails, and a run that is killed at any time."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractkit import Retry, extract_many
from extractkit.batch import run_file
from extractkit.journal import JournalReader
from tests.batch.counting_server import CountingServer
from tests.batch.test_files import jsonl, row, rows_of
from tests.batch.test_many import Word

openai = pytest.importorskip("openai")


def served(monkeypatch: pytest.MonkeyPatch, server: CountingServer) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@pytest.mark.parametrize("ordered", [True, False])
def test_every_input_comes_back_once_and_is_paid_once_from_a_server_that_fails(
    ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CountingServer() as server:
        served(monkeypatch, server)
        inputs = [(f"r{n}", f"w-{n}") for n in range(60)]
        items = list(
            extract_many(Word, inputs, model="openai-chat:m", concurrency=16, ordered=ordered)
        )
    assert sorted(item.index for item in items) == list(range(60))
    assert all(item.unwrap().word == item.text for item in items)
    assert set(server.paid.values()) == {1} and len(server.paid) == 60
    assert sum(server.tries.values()) == 60 + 9
    assert sum(0 if item.result is None else item.result.retries for item in items) == 9


def test_rows_that_failed_for_good_are_asked_again_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = jsonl(tmp_path / "in.jsonl", *map(row, range(40))), tmp_path / "out.jsonl"
    with CountingServer() as server:
        served(monkeypatch, server)
        options: dict[str, Any] = {"model": "openai-chat:m", "retry": Retry(transport=0)}
        report = run_file(Word, source, out, **options)
        assert report.statuses == {"ok": 34, "error": 6}
        report = run_file(Word, source, out, retry_failed=True, **options)
    assert report.statuses == {"ok": 40} and report.known == 34
    assert set(server.paid.values()) == {1} and len(server.paid) == 40


_RUN = """
import asyncio, os
from pydantic import BaseModel
from extractkit.batch import run_file
from extractkit.testing import FakeProvider

class Word(BaseModel):
    word: str

paid = os.open("paid", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def word_of(request):
    return next(w for w in request.messages[-1].content.split() if w.startswith("w-"))

class Slow(FakeProvider):
    async def acomplete(self, request, *, timeout_s=None):
        await asyncio.sleep(0.01)
        os.write(paid, f"{word_of(request)}\\n".encode())
        return await super().acomplete(request, timeout_s=timeout_s)

model = Slow(lambda request: '{"word": "%s"}' % word_of(request))
report = run_file(Word, "in.jsonl", "out.jsonl", model=model, concurrency=8)
print(report.is_whole, report.known)
"""


def test_a_run_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(8)
    rows, kills, journal, paid = 200, 3, tmp_path / "out.jsonl.journal", tmp_path / "paid"
    paid.touch()
    jsonl(tmp_path / "in.jsonl", *map(row, range(rows)))
    call = [sys.executable, "-c", _RUN]
    for kill in range(kills):
        before = _lines(paid) + chance.randrange(5, 50)
        with subprocess.Popen(call, cwd=tmp_path) as process:
            _wait(lambda: _lines(paid) > before)  # noqa: B023
            process.kill()
        with journal.open("ab") as file:
            file.write(b'{"crc":"0000' if kill else b"")  # a line that was never finished
    ran = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True)
    is_whole, known = ran.stdout.split()
    assert is_whole == "True" and 15 < int(known) < rows
    lines = rows_of(tmp_path / "out.jsonl")
    assert [line["id"] for line in lines] == [f"id-{n}" for n in range(rows)]
    assert [line["value"] for line in lines] == [{"word": f"w-{n}"} for n in range(rows)]
    assert rows <= _lines(paid) <= rows + 8 * kills
    with JournalReader(journal) as kept:
        assert len(kept) == rows + 1 and not kept.damage
    assert not (tmp_path / "out.jsonl.journal.reserve").exists()


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _wait(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.002)
