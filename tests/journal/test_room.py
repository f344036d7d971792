"""Rows as texts, and the room that a journal keeps for what is under way."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.journal import Journal, JournalReader
from tests.journal.test_journal import _FullDisk, key

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=60)
@given(id=st.text(st.characters()) | st.just('a,"content":,"record":{}'), record=_JSON)
def test_texts_say_what_the_row_says(
    tmp_path_factory: pytest.TempPathFactory, id: str, record: Any
) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    one, other = key(id), key(id, "another")
    with Journal(path) as journal:
        journal.append(one, record)
        texts = journal.row_json(one.digest)
        assert texts is not None
        assert [json.loads(text) for text in texts] == [id, record]
        journal.append_json(other, texts[1])
        assert journal.read(other) == record
        assert journal.row_json(key("c" + id).digest) is None
    with JournalReader(path) as reader:
        assert [row.record for row in reader.rows()] == [record, record]


def test_rows_that_were_written_anew_are_told_where_every_one_is_wanted(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        for record in (1, 2):
            journal.append(key(), record)
        assert [row.record for row in journal.rows()] == [2]
        assert [row.record for row in journal.rows(every=True)] == [1, 2]


def test_room_is_kept_while_the_journal_is_open(tmp_path: Path) -> None:
    path, reserve = tmp_path / "j", tmp_path / "j.reserve"
    with Journal(path, reserve_bytes=100_000) as journal:
        assert reserve.stat().st_blocks * 512 >= 100_000
        journal.append(key(), 1)
        assert not journal.is_full
    assert [each.name for each in tmp_path.iterdir()] == ["j"]
    reserve.write_bytes(b"left by a process that was killed")
    Journal(path, reserve_bytes=100_000).close()
    assert not reserve.exists()


def test_the_room_is_given_up_when_the_disk_is_full_and_rows_are_still_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = _FullDisk(monkeypatch, room=10**6)
    remove = Path.unlink

    def removed(path: Path, **options: Any) -> None:
        disk.room += 1000 if path.exists() else 0
        remove(path, **options)

    monkeypatch.setattr(Path, "unlink", removed)
    with Journal(tmp_path / "j", reserve_bytes=1000) as journal:
        disk.room = 40
        journal.append(key("a"), 1)
        assert journal.is_full and not (tmp_path / "j.reserve").exists()
        journal.append(key("b"), 2)
        disk.room = 0
        with pytest.raises(OSError, match="was not written"):
            journal.append(key("c"), 3)
        assert [row.record for row in journal.rows()] == [1, 2]


@pytest.mark.parametrize("is_known", [True, False])
def test_without_such_room_nothing_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if is_known:
        monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    else:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
        monkeypatch.setattr("extractkit.journal._reserve.bytes", full, raising=False)
    with pytest.raises(OSError, match="2,000,000 bytes are wanted there"):
        Journal(tmp_path / "j", reserve_bytes=2_000_000)
    assert not (tmp_path / "j.reserve").exists()
    Journal(tmp_path / "j").close()
