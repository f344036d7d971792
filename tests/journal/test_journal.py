from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import UsageError
from extractkit.journal import Damage, Journal, JournalReader, Key, Row
from extractkit.journal._line import HEADER


def key(id: str = "a", content: str = "text", **changes: Any) -> Key:
    parts: dict[str, Any] = {"target": "t1", "model": "m", "parameters": {"seed": 1}}
    return Key.of(id, content, **{**parts, **changes})


def filled(path: Path, count: int) -> list[Key]:
    keys = [key(str(index)) for index in range(count)]
    with Journal(path) as journal:
        for place, each in enumerate(keys):
            journal.append(each, {"n": place})
    return keys


def test_what_was_written_is_read_again_by_another_opening(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record = {"text": "Größe \ud83d 5\n\u2028", "n": [1, 2.5, None, True], "deep": {"": []}}
    with Journal(path) as journal:
        journal.append(key(), record)
        assert journal.read(key()) == record
    with Journal(path) as journal:
        assert len(journal) == 1
        assert key() in journal
        assert journal.read(key()) == record
        assert list(journal.rows()) == [Row(key=key(), record=record)]
        assert journal.damage == ()


def test_every_line_is_json(tmp_path: Path) -> None:
    filled(tmp_path / "j", 3)
    lines = (tmp_path / "j").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("record") for line in lines] == [
        None,
        *({"n": n} for n in range(3)),
    ]


@pytest.mark.parametrize(
    "other",
    [
        key("b"),
        key(content="another text"),
        key(target="t2"),
        key(model="n"),
        key(parameters={"seed": 2}),
    ],
    ids=["id", "content", "target", "model", "parameters"],
)
def test_a_change_of_any_part_of_the_question_is_a_new_row(tmp_path: Path, other: Key) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append(key(), 1)
        assert other not in journal
        with pytest.raises(KeyError):
            journal.read(other)
        journal.append(other, 2)
        assert (journal.read(key()), journal.read(other)) == (1, 2)


def test_keys_do_not_depend_on_the_order_of_parameters_and_have_one_reading() -> None:
    assert key(parameters={"a": 1, "b": 2}) == key(parameters={"b": 2, "a": 1})
    parts = {"content": "c", "target": "t", "model": "m", "parameters": "p"}
    one = Key(**{**parts, "id": "a", "content": "bc"})
    assert one.digest != Key(**{**parts, "id": "ab", "content": "c"}).digest
    assert key(content="x") == Key.of("a", b"x", target="t1", model="m", parameters={"seed": 1})


def test_a_maker_gives_the_same_keys_and_keeps_the_parameters_as_they_were() -> None:
    parameters: dict[str, Any] = {"seed": 1, "stop": ["a"]}
    make = Key.maker(target="t", model="m", parameters=parameters)
    asked: list[tuple[str, str | bytes]] = [("a", "x"), ("a", b"x"), ("", "\ud800"), ("ä", "")]
    expected = [
        Key.of(id, content, target="t", model="m", parameters={"stop": ["a"], "seed": 1})
        for id, content in asked
    ]
    parameters["seed"] = 2
    made = [make(id, content) for id, content in asked]
    assert made == expected
    assert [key.digest for key in made] == [key.digest for key in expected]
    with pytest.raises(UsageError, match="expected a text"):
        cast("Any", make)(7, "x")


@pytest.mark.parametrize("parameters", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}])
def test_parameters_that_are_no_json_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="plain JSON"):
        key(parameters=parameters)


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Key\(id=7\)"):
        Key(id=7, content="", target="", model="", parameters="")  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [object(), float("inf"), {"a": {1}}, b"bytes"])
def test_a_record_that_is_no_json_is_refused_and_nothing_is_written(
    tmp_path: Path, record: Any
) -> None:
    with Journal(tmp_path / "j") as journal:
        with pytest.raises(UsageError, match="'a' cannot be kept"):
            journal.append(key(), record)
        assert len(journal) == 0
    assert (tmp_path / "j").read_bytes() == HEADER


def test_a_question_written_twice_counts_as_the_last_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append(key("a"), "failed")
        journal.append(key("b"), "right")
        journal.append(key("a"), "right now")
        assert [(row.key.id, row.record) for row in journal.rows()] == [
            ("b", "right"),
            ("a", "right now"),
        ]
    with JournalReader(tmp_path / "j") as reader:
        assert len(reader) == 2
        assert reader.read(key("a")) == "right now"


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.append(key(), 1)
        with pytest.raises(UsageError, match="being written by another process"):
            Journal(tmp_path / "j")
        with JournalReader(tmp_path / "j") as reader:
            assert [row.record for row in reader.rows()] == [1]
            journal.append(key("b"), 2)
            assert key("b") not in reader
            assert [row.record for row in reader.rows()] == [1]
    with Journal(tmp_path / "j") as again:
        assert len(again) == 2


_WRITER = """
import itertools, sys
from extractkit.journal import Journal, Key
with Journal(sys.argv[1], sync_s=None) as journal:
    done = len(journal)
    print("open", flush=True)
    for number in itertools.count(done):
        key = Key.of(str(number), "t", target="t", model="m", parameters={})
        assert key not in journal
        journal.append(key, {"n": number, "pad": "x" * 5000})
        print(number, flush=True)
"""


def test_kill_9_loses_nothing_that_was_acknowledged_and_frees_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "j"
    acknowledged = -1
    for wait in (0.0, 0.01, 0.02, 0.05):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "open\n"
            with pytest.raises(UsageError, match="another process"):
                Journal(path)
            time.sleep(wait)
            child.send_signal(signal.SIGKILL)
            said = [int(line) for line in child.stdout if line.endswith("\n")]
        acknowledged = max([acknowledged, *said])
        with Journal(path) as journal:
            assert all(item.is_torn for item in journal.damage)
            numbers = [row.record["n"] for row in journal.rows()]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > acknowledged


def test_a_forked_child_neither_writes_nor_holds_the_lock(tmp_path: Path) -> None:
    script = """
import os, sys, time
from extractkit.errors import UsageError
from extractkit.journal import Journal, Key
key = Key.of("a", "t", target="t", model="m", parameters={})
journal = Journal(sys.argv[1])
if os.fork() == 0:
    try:
        journal.append(key, 1)
    except UsageError as error:
        print(error, flush=True)
    sys.stdin.read()
    os._exit(0)
time.sleep(0.2)
os._exit(1)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "j")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        assert "open it anew" in child.stdout.readline()
        assert child.wait() == 1
        Journal(tmp_path / "j").close()  # while the child of the child lives
        child.stdin.close()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_tail_torn_anywhere_costs_the_rows_that_it_reaches_and_no_other(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("torn") / "j"
    keys = filled(path, 3)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    rubbish = data.draw(st.binary(max_size=8).filter(lambda part: b"\n" not in part))
    if cut < len(HEADER):
        rubbish = b""  # that is no journal
    path.write_bytes(whole[:cut] + rubbish)
    lines, _, tail = (whole[:cut] + rubbish).rpartition(b"\n")
    is_whole = tail != b"" and tail + b"\n" in whole.splitlines(keepends=True)[1:]
    complete = max(0, lines.count(b"\n") + is_whole)
    with Journal(path) as journal:
        assert [row.record["n"] for row in journal.rows()] == list(range(complete))
        torn = bool(journal.damage)
        for each in keys[complete:]:
            journal.append(each, {"n": keys.index(each)})
    assert path.read_bytes() == whole
    assert torn == (tail != b"" and not is_whole and cut >= len(HEADER))


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_changed_byte_is_told_with_its_line_and_costs_that_row_alone(
    place: int, flip: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("flip") / "j"
    filled(path, 4)
    whole = bytearray(path.read_bytes())
    place = len(HEADER) + place % (len(whole) - len(HEADER) - 1)
    number = whole[:place].count(b"\n") + 1
    if whole[place] == 10 or whole[place] ^ flip == 10:
        flip ^= 128  # lines that melt or split are another law
    whole[place] ^= flip
    path.write_bytes(whole)
    with Journal(path) as journal:
        (told,) = journal.damage
        expected = {0, 1, 2, 3} - {number - 2}
        if whole[:place].count(b"\n") + 1 == number and bytes(whole).count(b"\n") == 5:
            assert told.line == number
            assert {row.record["n"] for row in journal.rows()} == expected
        assert f"line {told.line} " in str(told)
    assert path.read_bytes().startswith(whole)  # what is damaged is kept


def test_lines_that_melt_into_one_are_told(tmp_path: Path) -> None:
    path = tmp_path / "j"
    filled(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:-1] + lines[2] + lines[3])
    with JournalReader(path) as reader:
        assert reader.damage == (
            Damage(
                line=2,
                start=len(lines[0]),
                length=len(lines[1]) + len(lines[2]) - 1,
                reason="its checksum is another",
            ),
        )
        assert [row.record["n"] for row in reader.rows()] == [2]


def test_a_reader_leaves_a_torn_tail_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "j"
    filled(path, 2)
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    with JournalReader(path) as reader:
        assert [item.is_torn for item in reader.damage] == [True]
        assert "was never finished" in str(reader.damage[0])
        assert len(reader) == 1
    assert path.read_bytes() == torn


def test_a_last_line_feed_that_an_editor_left_out_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j"
    keys = filled(path, 2)
    path.write_bytes(path.read_bytes()[:-1])
    with JournalReader(path) as reader:
        assert reader.read(keys[1]) == {"n": 1}
        assert len(list(reader.rows())) == 2
    with Journal(path) as journal:
        journal.append(key("new"), 3)
        assert journal.damage == ()
    with JournalReader(path) as reader:
        assert [row.record for row in reader.rows()] == [{"n": 0}, {"n": 1}, 3]


def test_a_journal_killed_while_it_was_made_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(HEADER[:7])
    with JournalReader(path) as reader:
        assert len(reader) == 0
        assert list(reader.rows()) == []
    with Journal(path) as journal:
        journal.append(key(), 1)
    with JournalReader(path) as reader:
        assert [row.record for row in reader.rows()] == [1]


@pytest.mark.parametrize("content", [b'{"a": 1}\n', b"\x00" * 50, b'{"crc":"x","journal":2}\n'])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    for kind in (Journal, JournalReader):
        with pytest.raises(UsageError, match="is no journal") as kept:
            kind(path)
        with pytest.raises(UsageError, match="is no journal"):
            kind(path)  # and not that it is locked
        assert kept
    assert path.read_bytes() == content


def test_a_line_that_was_sealed_and_is_no_row_is_told(tmp_path: Path) -> None:
    path = tmp_path / "j"
    filled(path, 1)
    path.write_bytes(path.read_bytes() + HEADER)  # two journals, one behind the other
    with Journal(path) as journal:
        assert [item.reason for item in journal.damage] == ["it is no row"]


@pytest.mark.parametrize("kind", [Journal, JournalReader])
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, kind: type[JournalReader]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (Path(os.devnull), pipe):
        with pytest.raises(UsageError, match="is no regular file"):
            kind(path)


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        JournalReader(tmp_path / "none")
    with pytest.raises(UsageError, match="No such file"):
        Journal(tmp_path / "none" / "j")
    with pytest.raises(UsageError, match="directory"):
        Journal(tmp_path)
    with pytest.raises(UsageError, match="sync_s"):
        Journal(tmp_path / "j", sync_s=-1)


class _FullDisk:
    """A disk that takes `room` more bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, fd: int, data: Any) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self._write(fd, bytes(data)[: self.room])
        self.room -= written
        return written


def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.append(key("a"), 1)
        before = path.read_bytes()
        disk = _FullDisk(monkeypatch, room=40)
        with pytest.raises(OSError, match="'b' was not written, all before it are kept") as caught:
            journal.append(key("b"), 2)
        assert caught.value.errno == errno.ENOSPC
        assert path.read_bytes() == before
        assert key("b") not in journal
        disk.room = 10**6
        journal.append(key("b"), 3)
    with JournalReader(path) as reader:
        assert [row.record for row in reader.rows()] == [1, 3]
        assert reader.damage == ()


def test_a_really_full_disk_is_survived(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from extractkit.journal import Journal, Key
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
with Journal(sys.argv[1]) as journal:
    try:
        for number in range(1000):
            journal.append(Key.of(str(number), "t", target="t", model="m", parameters={}), "x" * 99)
    except OSError as error:
        print(number, error.strerror)
"""
    told = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "j")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "was not written" in told
    with JournalReader(tmp_path / "j") as reader:
        assert len(reader) == int(told.split()[0]) > 10
        assert reader.damage == ()


def test_an_interrupted_write_is_taken_back_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j"
    write = os.write

    def interrupted(fd: int, data: Any) -> int:
        write(fd, bytes(data)[:20])
        raise KeyboardInterrupt

    with Journal(path) as journal:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "write", interrupted)
            journal.append(key("a"), 1)
        journal.append(key("b"), 2)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "write", interrupted)
            journal.append(key("c"), 3)
    with JournalReader(path) as reader:
        assert [row.record for row in reader.rows()] == [2]
        assert reader.damage == ()


@pytest.mark.parametrize(("sync_s", "expected"), [(0.0, 3), (None, 0), (3600.0, 0)])
def test_the_disk_confirms_as_often_as_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync_s: float | None, expected: int
) -> None:
    journal = Journal(tmp_path / "j", sync_s=sync_s)
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    for number in range(3):
        journal.append(key(str(number)), 1)
    assert len(calls) == expected
    journal.sync()
    journal.close()
    assert len(calls) == expected + 2


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.append(key(), 1)
    journal.close()
    journal.close()
    for use in (
        lambda: journal.append(key(), 1),
        lambda: journal.read(key()),
        lambda: list(journal.rows()),
        journal.sync,
    ):
        with pytest.raises(UsageError, match="is closed"):
            use()
    assert journal.path == tmp_path / "j"


def test_a_forgotten_journal_frees_the_lock(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    del journal
    Journal(tmp_path / "j").close()


def test_a_row_that_changed_under_a_reader_is_told(tmp_path: Path) -> None:
    path = tmp_path / "j"
    (only,) = filled(path, 1)
    with JournalReader(path) as reader:
        content = path.read_bytes()
        with path.open("r+b") as file:
            file.seek(len(content) - 4)
            file.write(b"9")
        with pytest.raises(UsageError, match="the row of '0' changed"):
            reader.read(only)


def test_threads_write_whole_rows(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:

        def write(name: str) -> None:
            for number in range(50):
                journal.append(key(f"{name}{number}"), "x" * number)

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with JournalReader(tmp_path / "j") as reader:
        assert len(reader) == 200
        assert reader.damage == ()


def test_a_row_costs_less_than_a_tenth_of_a_millisecond(tmp_path: Path) -> None:
    record = {"document": {"total": 12.5, "name": "x" * 300}, "status": "ok", "seconds": 1.25}
    with Journal(tmp_path / "j", sync_s=None) as journal:
        rounds: list[float] = []
        for turn in range(5):
            began = time.process_time_ns()
            for number in range(300):
                journal.append(key(f"{turn}-{number}"), record)
            rounds.append((time.process_time_ns() - began) / 300)
    assert min(rounds) < 100_000  # nanoseconds


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    import tracemalloc

    with Journal(tmp_path / "j") as journal:
        for number in range(300):
            journal.append(key(str(number)), "x" * 20_000)
        tracemalloc.start()
        for count, row in enumerate(journal.rows(), start=1):
            assert row.key.id == str(count - 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 300
    assert peak < 1_500_000  # of 6,000,000 bytes
