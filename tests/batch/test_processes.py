"""Runs over files in several processes: each row once, whichever of them ends, and no orphans."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from extractkit.batch import Progress, RunReport, run_file
from extractkit.cli import main
from extractkit.errors import AuthenticationError, UsageError
from extractkit.journal import Journal
from extractkit.testing import FakeProvider
from tests.acceptance.shared_data import ROOT
from tests.batch.crew import Scripted, Word
from tests.batch.test_files import jsonl, rows_of


def _run(folder: Path, words: list[str], **options: Any) -> RunReport:
    (folder / "asked").mkdir(exist_ok=True)
    source = jsonl(folder / "in.jsonl", *({"id": word, "text": word} for word in words))
    given = {"model": Scripted(folder / "asked"), "processes": 2, "concurrency": 4, **options}
    return run_file(Word, source, folder / "out.jsonl", **given)


def _asked(folder: Path) -> dict[str, list[int]]:
    return {
        note.name: [int(line) for line in note.read_text().split()]
        for note in (folder / "asked").iterdir()
    }


def test_rows_are_asked_once_each_in_processes_and_kept_here(tmp_path: Path) -> None:
    words, told = [f"w-{number}" for number in range(30)], list[Progress]()
    report = _run(tmp_path, words, progress=told.append)
    assert (report.statuses, report.is_whole, report.known) == ({"ok": 30}, True, 0)
    assert sum(report.levels.values()) == 30
    assert [line["value"] for line in rows_of(tmp_path / "out.jsonl")] == [
        {"word": word} for word in words
    ]
    asked = _asked(tmp_path)
    assert sorted(asked) == sorted(words) and {len(pids) for pids in asked.values()} == {1}
    pids = {pid for pids in asked.values() for pid in pids}
    assert len(pids) == 2 and os.getpid() not in pids
    assert told[-1].is_over and told[-1].done == 30 and told[-1].at_once == 4
    alone = run_file(
        Word, tmp_path / "in.jsonl", tmp_path / "out.jsonl", model=Scripted(tmp_path / "asked")
    )
    assert alone.known == 30, "one process knows what several have kept"


def test_what_a_killed_process_had_is_asked_again_once_and_then_is_an_error(tmp_path: Path) -> None:
    words = ["w-mortal", *(f"w-{number}" for number in range(8)), "w-deadly"]
    report = _run(tmp_path, words)
    lines = {line["id"]: line for line in rows_of(tmp_path / "out.jsonl")}
    assert list(lines) == words and report.is_whole
    assert lines["w-mortal"]["status"] == "ok"
    assert "two processes ended that had this input" in lines["w-deadly"]["error"]
    asked = _asked(tmp_path)
    assert len(asked["w-mortal"]) == 2  # the others may have waited in the process that it ended
    assert max(map(len, asked.values())) == 2
    assert lines["w-0"]["status"] == "ok"


@pytest.mark.parametrize(
    ("word", "error"), [("w-refused", AuthenticationError), ("w-broken", ZeroDivisionError)]
)
def test_what_ends_a_run_in_one_process_ends_it_in_several(
    tmp_path: Path, word: str, error: type[Exception]
) -> None:
    if error is ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            _run(tmp_path, [word])
        return
    report = _run(tmp_path, [word])
    assert isinstance(report.error, error) and (report.left, report.is_whole) == (1, False)
    assert rows_of(tmp_path / "out.jsonl") == []


def test_a_run_that_is_told_to_stop_ends_what_is_under_way(tmp_path: Path) -> None:
    words = [f"w-{number}" for number in range(400)]
    (tmp_path / "asked").mkdir()
    report = _run(tmp_path, words, is_stopped=lambda: any((tmp_path / "asked").iterdir()))
    asked = _asked(tmp_path)
    assert report.reason == "it was told to stop" and not report.is_whole and report.error is None
    assert 0 < len(asked) < 400
    assert sorted(line["id"] for line in rows_of(tmp_path / "out.jsonl")) == sorted(asked)
    report = _run(tmp_path, words, processes=1)
    assert report.is_whole and report.known == len(asked)
    assert max(map(len, _asked(tmp_path).values())) == 1


def test_what_cannot_be_handed_over_is_told_before_anything_is_opened(tmp_path: Path) -> None:
    class Local(Word):
        pass

    source, out = jsonl(tmp_path / "in.jsonl", {"text": "w-1"}), tmp_path / "out.jsonl"
    for target, options, told in (
        (Word, {"model": FakeProvider(["{}"])}, "cannot be handed to another process"),
        (Local, {"model": Scripted(tmp_path)}, "cannot be handed to another process"),
        (Word, {"model": Scripted(tmp_path), "processes": 9}, "processes=9 have concurrency=8"),
        (Word, {"model": Scripted(tmp_path), "processes": 0}, "processes"),
    ):
        with pytest.raises(UsageError, match=told):
            run_file(target, source, out, **{"processes": 2, **options})
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


_SCRIPT = """
from pathlib import Path
from extractkit.batch import run_file
from tests.batch.crew import Scripted, Word
if {condition}:
    model = Scripted(Path("asked"))
    report = run_file(Word, "in.jsonl", "out.jsonl", model=model, processes=2)
    raise SystemExit(str(report.error))
"""


def _script(folder: Path, word: str, condition: str, *, rows: int = 2) -> subprocess.Popen[bytes]:
    (folder / "asked").mkdir()
    (folder / "in.jsonl").write_text(
        "".join(
            json.dumps({"id": f"{word}-{n}", "text": f"{word}-{n}"}) + "\n" for n in range(rows)
        )
    )
    (folder / "run.py").write_text(_SCRIPT.format(condition=condition))
    return subprocess.Popen(
        [sys.executable, "run.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
    )


def _wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_no_process_outlives_the_one_that_reads(tmp_path: Path) -> None:
    with _script(tmp_path, "w-slow", '__name__ == "__main__"') as process:
        _wait_for(lambda: sum(map(len, _asked(tmp_path).values())) == 2)
        pids = {pid for pids in _asked(tmp_path).values() for pid in pids}
        assert all(map(_is_there, pids))
        process.kill()
        process.communicate(timeout=60)
    assert process.returncode
    _wait_for(lambda: not any(map(_is_there, pids)))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_kill_of_the_one_that_reads_loses_no_more_than_may_be_under_way(tmp_path: Path) -> None:
    with _script(tmp_path, "w", '__name__ == "__main__"', rows=20_000) as process:
        _wait_for(lambda: len(_asked(tmp_path)) > 300)
        process.kill()
        process.communicate(timeout=60)
    pids = {pid for pids in _asked(tmp_path).values() for pid in pids}
    _wait_for(lambda: not any(map(_is_there, pids)))
    with Journal(tmp_path / "out.jsonl.journal") as journal:
        kept = len(journal) - 1  # one row says whose journal it is
    assert 300 < sum(map(len, _asked(tmp_path).values())) <= kept + 8, "concurrency is 8"


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    with _script(tmp_path, "w", "True") as process:
        told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1 and "__main__" in told.splitlines()[-1]
    assert not any((tmp_path / "asked").iterdir())


def test_the_command_line_has_them_too(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", {"text": "w-1"})
    call = ["run", "tests.batch.crew:Word", str(source), "-o", str(tmp_path / "out.jsonl")]
    for given, told in (
        (["--processes", "9"], "processes=9 have concurrency=8 inputs at once"),
        (
            ["--processes", "2", "--batch"],
            "leave --max-cost, --cache, --retry-failed and --processes out",
        ),
    ):
        said = io.StringIO()
        with redirect_stderr(said):
            assert main([*call, *given, "--model", "openai:gpt-5.4-mini"]) == 2
        assert told in said.getvalue()
