"""A journal of a folder: one writer for each file, and everybody knows what all have written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pydantic import BaseModel

from extractkit import extract_many
from extractkit.batch import SharedJournal
from extractkit.errors import BadRequestError, UsageError
from extractkit.journal import Journal, Key
from extractkit.testing import FakeProvider


class Word(BaseModel):
    word: str


def answering() -> FakeProvider:
    return FakeProvider(lambda request: json.dumps({"word": "a"}))


def failing() -> FakeProvider:
    return FakeProvider(lambda request: BadRequestError("no"))


def key(id: str) -> Key:
    return Key.of(id, "text", target="t", model="m", parameters={})


def test_one_knows_what_another_has_written_before_and_since(tmp_path: Path) -> None:
    with SharedJournal(tmp_path) as first:
        first.append(key("a"), {"result": 1})
        with SharedJournal(tmp_path) as second:
            assert second.read(key("a")) == {"result": 1}
            assert key("b") not in second
            first.append(key("b"), {"result": 2})
            assert second.read(key("b") if key("b") in second else key("a")) == {"result": 2}
            second.append(key("c"), {"result": 3})
            assert key("c") in first
            with pytest.raises(KeyError):
                first.read(key("d"))


_WRITER = """
import sys
from extractkit.batch import SharedJournal
from extractkit.journal import Key
journal = SharedJournal(sys.argv[1])
for number in range(10**6):
    key = Key.of(str(number), "text", target="t", model="m", parameters={})
    journal.append(key, {"result": number})
    print(number, flush=True)
"""


def test_what_a_killed_process_had_written_is_known_to_all(tmp_path: Path) -> None:
    with SharedJournal(tmp_path) as journal:
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(50):
            last = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        assert [key(str(number)) in journal for number in range(last + 1)] == [True] * (last + 1)
        assert journal.read(key(str(last))) == {"result": last}


def test_a_result_in_one_file_counts_more_than_an_error_in_another(tmp_path: Path) -> None:
    with SharedJournal(tmp_path) as first:
        assert [i.status for i in extract_many(Word, ["a"], model=failing(), journal=first)] == [
            "error"
        ]
        with SharedJournal(tmp_path) as second:
            known = list(extract_many(Word, ["a"], model=answering(), journal=second))
            assert [(item.status, item.is_known) for item in known] == [("error", True)]
            again = list(
                extract_many(Word, ["a"], model=answering(), journal=second, retry_failed=True)
            )
            assert [(item.status, item.is_known) for item in again] == [("ok", False)]
        for journal in (first, SharedJournal(tmp_path)):
            with journal:
                provider = failing()
                (item,) = extract_many(Word, ["a"], model=provider, journal=journal)
                assert (item.status, item.is_known, provider.requests) == ("ok", True, [])


def test_threads_look_for_new_files_while_others_read(tmp_path: Path) -> None:
    with SharedJournal(tmp_path) as journal:
        faults: list[BaseException] = []

        def ask() -> None:
            try:
                for number in range(200):
                    _ = key(str(number)) in journal
            except RuntimeError as fault:
                faults.append(fault)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(30):
            with SharedJournal(tmp_path) as other:
                other.append(key(str(number)), {"result": number})
        for thread in threads:
            thread.join(timeout=60)
        assert faults == []
        assert all(key(str(number)) in journal for number in range(30))


def test_a_file_without_a_row_is_taken_away(tmp_path: Path) -> None:
    with SharedJournal(tmp_path / "new" / "folder") as journal:
        assert [path.name for path in journal.path.parent.iterdir()] == [journal.path.name]
    journal.close()
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_other_files_of_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with Journal(tmp_path / "old.journal") as old:
        old.append(key("a"), {"result": 1})
    with SharedJournal(tmp_path) as journal:
        assert journal.read(key("a")) == {"result": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "old.journal"]


def test_what_is_no_folder_of_journals_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be a folder of journals"):
        SharedJournal(tmp_path / "file")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.journal").write_text("hello")
    with pytest.raises(UsageError, match=r"x\.journal is no journal"):
        SharedJournal(tmp_path / "bad")
    assert [path.name for path in (tmp_path / "bad").iterdir()] == ["x.journal"]
