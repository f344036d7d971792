"""Which row an output line is about, what is an input and what is none, and where reading ends."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.batch import _files, read_rows, run_file
from extractkit.batch._rows import Row, count_rows
from extractkit.errors import UsageError
from extractkit.testing import FakeProvider
from tests.batch.test_files import jsonl, rows_of
from tests.batch.test_many import Word, echo


def found(source: Path, **columns: Any) -> list[tuple[int, str, str]]:
    return [(each.number, each.id, each.text) for each in read_rows(source, **columns)]


@pytest.mark.parametrize("first", [{}, {"id": "7"}])
def test_whether_a_row_has_an_id_is_said_by_the_row(tmp_path: Path, first: dict[str, str]) -> None:
    rows = [{**first, "text": "w-0"}, {"id": "1", "text": "w-1"}, {"text": "w-2"}]
    source, out = jsonl(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    run_file(Word, source, out, model=FakeProvider(echo))
    assert [(line["id"], line["row"], line["value"]["word"]) for line in rows_of(out)] == [
        (first.get("id"), 1, "w-0"),
        ("1", 2, "w-1"),
        (None, 3, "w-2"),
    ]


def test_an_id_that_was_asked_for_and_is_not_there_is_told(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", {"n": "a", "text": "w-0"}, {"text": "w-1"})
    assert [each.fault[:13] for each in read_rows(source, id="n")] == ["", "no column 'n'"]


def test_a_row_that_is_none_is_no_row_that_is_called_like_its_place(tmp_path: Path) -> None:
    rows = [{"id": "line 2", "text": "w-0"}, "{broken", {"id": "line 4", "text": "w-1"}, "{no"]
    source, out = jsonl(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    for _ in range(2):
        run_file(Word, source, out, model=FakeProvider(echo))
        assert [(line["id"], line["row"], line["status"]) for line in rows_of(out)] == [
            ("line 2", 1, "ok"),
            (None, 2, "error"),
            ("line 4", 3, "ok"),
            (None, 4, "error"),
        ]


def test_a_text_that_reads_like_a_fault_is_asked_about(tmp_path: Path) -> None:
    source, out = jsonl(tmp_path / "in.jsonl", {"id": "a", "text": 5}), tmp_path / "out.jsonl"
    run_file(Word, source, out, model=FakeProvider(echo))
    (fault,) = read_rows(source)
    provider = FakeProvider(lambda request: '{"word": "x"}')
    jsonl(source, {"text": fault.fault})
    run_file(Word, source, out, model=provider)
    assert len(provider.requests) == 1 and [line["status"] for line in rows_of(out)] == ["ok"]


def test_equal_texts_without_an_id_are_paid_for_once_and_stay_known(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    provider = FakeProvider(echo)
    jsonl(source, *({"text": f"w-{number % 3}"} for number in range(30)))
    report = run_file(Word, source, out, model=provider)
    assert (len(provider.requests), report.rows, report.is_whole) == (3, 30, True)
    assert [line["row"] for line in rows_of(out)] == [*range(1, 31)]
    jsonl(source, {"text": "w-9"}, *({"text": f"w-{number}"} for number in range(3)))
    report = run_file(Word, source, out, model=provider)
    assert (len(provider.requests), report.known) == (4, 3)


def test_whole_numbers_are_ids_however_a_table_keeps_them(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "in.parquet"
    cells = {"id": [1.0, 2.5, None, float("nan")], "text": ["a", "b", "c", "d"]}
    parquet.write_table(pyarrow.table(cells), source)
    rows = list(read_rows(source))
    assert [row.id for row in rows] == ["1", "2.5", "", ""]
    assert [bool(row.fault) for row in rows] == [False, False, True, True]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "1", "line 1"]), st.text()), min_size=1))
def test_no_two_rows_that_can_be_used_share_an_id(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    source = tmp_path_factory.mktemp("rows") / "in.jsonl"
    rows = [{"text": text, **({"id": id} if id else {})} for id, text in pairs]
    read = list(read_rows(jsonl(source, *rows)))
    ids = [row.id for row in read if row.id and not row.fault]
    assert len(set(ids)) == len(ids)
    assert [row.number for row in read] == [*range(1, len(pairs) + 1)]


def test_rows_without_ids_are_chosen_by_their_texts(tmp_path: Path) -> None:
    rows = [{"text": f"w-{number}"} for number in range(200)]
    source = jsonl(tmp_path / "in.jsonl", *rows)
    assert found(source, limit=2) == [(1, "", "w-0"), (2, "", "w-1")]
    some = [text for _, _, text in found(source, sample=0.2)]
    assert 15 < len(some) < 70
    jsonl(source, {"text": "more"}, *rows)
    assert [text for _, _, text in found(source, sample=0.2) if text != "more"] == some


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.part", "sub/../out.jsonl", "link.jsonl"])
def test_a_journal_that_the_output_would_overwrite_is_refused(tmp_path: Path, name: str) -> None:
    source = jsonl(tmp_path / "in.jsonl", {"text": "w-0"})
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "out.jsonl")
    provider = FakeProvider(echo)
    with pytest.raises(UsageError, match="are one file"):
        run_file(Word, source, tmp_path / "out.jsonl", journal=tmp_path / name, model=provider)
    assert not provider.requests and not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("make", [os.link, os.symlink])
def test_inputs_are_overwritten_under_no_name(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    source = jsonl(tmp_path / "in.jsonl", {"text": "w-0"})
    before = source.read_bytes()
    for name in ("out.jsonl", "out.jsonl.part", "out.jsonl.journal", "out.jsonl.journal.reserve"):
        make(source, tmp_path / name)
        with pytest.raises(UsageError, match="overwrite the inputs"):
            run_file(Word, source, tmp_path / "out.jsonl", model=FakeProvider(echo))
        (tmp_path / name).unlink()
    assert source.read_bytes() == before


def test_what_a_run_writes_into_its_folder_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("w-0")
    out, provider = tmp_path / "out.jsonl", FakeProvider(echo)
    for _ in range(3):
        report = run_file(Word, tmp_path, out, model=provider)
        assert (report.rows, len(provider.requests)) == (1, 1)
        (tmp_path / "out.jsonl.part").write_text("left by a kill")
    apart = [tmp_path / "a.txt"]
    assert count_rows(tmp_path, apart=apart) == len(list(read_rows(tmp_path, apart=apart)))


def test_what_is_no_regular_file_is_told_and_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "good").write_text("w-0")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
        faults = {row.id: row.fault for row in read_rows(folder)}
    assert faults.pop("good") == ""
    assert len(faults) == 3 and all("no regular file" in fault for fault in faults.values())


def test_a_bad_byte_is_a_fault_of_its_row_alone(tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    lines = [b"id,text\n", *(b"%d,w-%d\n" % (n, n) for n in range(40))]
    lines[30] = b'29,"caf\xe9\nw"\n'
    source.write_bytes(b"".join(lines))
    report = run_file(Word, source, out, model=FakeProvider(echo))
    assert report.statuses == {"ok": 39, "error": 1} and report.error is None
    (told,) = (line for line in rows_of(out) if line["status"] == "error")
    assert told["row"] == 31 and "not UTF-8: the byte 0xe9" in told["error"]


@given(st.binary(max_size=40))
def test_bytes_of_a_cell_are_its_text_or_a_fault(
    tmp_path_factory: pytest.TempPathFactory, cell: bytes
) -> None:
    source = tmp_path_factory.mktemp("rows") / "in.csv"
    source.write_bytes(b'text,more\n"' + cell.replace(b'"', b'""') + b'",x\nlast,x\n')
    first, last = read_rows(source)
    assert (last.text, last.fault) == ("last", "")
    try:
        assert (first.text, first.fault) == (cell.decode("utf-8"), "")
    except UnicodeDecodeError:
        assert "not UTF-8" in first.fault


def test_a_quote_that_is_not_closed_is_told_with_what_it_takes(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text('id,text\na,w-0\nb,"w-1\nc,w-2\nd,w-3\n')
    rows = list(read_rows(source))
    assert [row.number for row in rows] == [2, 3]
    assert "is not closed and takes all up to line 5" in rows[1].fault


@pytest.mark.parametrize("error", [UsageError("bad block"), OSError(5, "Input/output error")])
def test_where_no_more_can_be_read_what_was_taken_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def breaking(*_: Any, **__: Any) -> Iterator[Row]:
        yield from (Row(number=n, id=str(n), text=f"w-{n}") for n in range(1, 11))
        raise error

    monkeypatch.setattr(_files, "read_rows", breaking)
    out, provider = tmp_path / "out.jsonl", FakeProvider(echo)
    report = run_file(Word, tmp_path / "in.parquet", out, model=provider)
    assert (report.rows, report.left, report.is_whole) == (10, 0, False)
    assert isinstance(report.error, OSError) and "behind 10 rows" in str(report.error)
    assert len(rows_of(out)) == len(provider.requests) == 10
    assert json.loads(out.read_text().splitlines()[-1])["row"] == 10
