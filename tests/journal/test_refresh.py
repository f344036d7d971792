"""A reader that follows a journal while another process writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import UsageError
from extractkit.journal import Journal, JournalReader, Key


def key(id: str) -> Key:
    return Key.of(id, "text", target="t", model="m", parameters={})


def test_a_reader_sees_what_was_written_since_it_was_refreshed(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal, JournalReader(tmp_path / "j") as reader:
        journal.append(key("a"), 1)
        assert key("a") not in reader
        reader.refresh()
        assert reader.read(key("a")) == 1
        journal.append(key("a"), 2)
        journal.append(key("b"), 3)
        reader.refresh()
        assert (reader.read(key("a")), reader.read(key("b"))) == (2, 3)
        journal.refresh()  # a writer knows its own
        assert [row.record for row in journal.rows()] == [2, 3]


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_a_reader_that_followed_a_file_byte_by_byte_knows_what_a_new_one_knows(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("follow") / "j"
    with Journal(path) as journal:
        for id in "abcab":
            journal.append(key(id), {"id": id})
    whole = path.read_bytes()
    if data.draw(st.booleans()):  # one row was damaged
        place = data.draw(st.integers(60, len(whole) - 2))
        whole = whole[:place] + bytes([whole[place] ^ 128]) + whole[place + 1 :]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    path.write_bytes(whole[: cuts[0]] if cuts else b"")
    with JournalReader(path) as follower:
        for cut in [*cuts, len(whole)]:
            path.write_bytes(whole[:cut])  # the same file, longer
            follower.refresh()
            with JournalReader(path) as new:
                assert list(follower.rows()) == list(new.rows())
                assert follower.damage == new.damage


def test_a_reader_that_was_closed_does_not_refresh(tmp_path: Path) -> None:
    Journal(tmp_path / "j").close()
    reader = JournalReader(tmp_path / "j")
    reader.close()
    with pytest.raises(UsageError, match="closed"):
        reader.refresh()
