"""`extractkit run` with what cannot be run: an error before anybody is asked, or an error row."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractkit.journal import Journal
from tests.cli.conftest import Run
from tests.cli.test_run import oslo

CALL = ("run", "shop.models:City", "in.jsonl", "-o", "out.jsonl")
GOOD = '{"id": "a", "text": "Oslo"}\n'


def _other_target(folder: Path, run: Run) -> None:
    (folder / "in.jsonl").write_text(GOOD)
    run("run", "shop.models:Outer.Inner", "in.jsonl", "-o", "out.jsonl")


def _wrote(content: str | bytes, name: str = "in.jsonl") -> Callable[[Path, Run], None]:
    def write(folder: Path, run: Run) -> None:
        raw = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(raw)

    return write


def _nothing(folder: Path, run: Run) -> None:
    """Leave the folder as it is."""


@pytest.mark.parametrize(
    ("prepare", "call", "said"),
    [
        (_nothing, CALL, "in.jsonl"),
        (_wrote(""), CALL, "in.jsonl has no row"),
        (_wrote('{"id": "a", "body": "Oslo"}\n'), CALL, "no column 'text'"),
        (_wrote(GOOD), (*CALL, "--text", "body"), "no column 'body'"),
        (_wrote(GOOD), (*CALL, "--id", "number"), "no column 'number'"),
        (_wrote(GOOD, "in.txt"), ("run", "shop.models:City", "in.txt", *CALL[3:]), "ends in"),
        (_wrote(b"\x1f\x8b\x08", "in.csv"), ("run", CALL[1], "in.csv", *CALL[3:]), "in.csv"),
        (_wrote(b"\x00\x01", "in.parquet"), ("run", CALL[1], "in.parquet", *CALL[3:]), "Parquet"),
        (_wrote(GOOD), (*CALL[:4], "no/out.jsonl"), "cannot be written there"),
        (_wrote(GOOD), (*CALL[:4], "in.jsonl"), "overwrite the inputs"),
        (_wrote(GOOD), (*CALL[:4], "shop"), "ends in .jsonl or .parquet"),
        (_wrote(GOOD), (*CALL, "--limit", "0"), "limit"),
        (_wrote(GOOD), (*CALL, "--sample", "2"), "sample"),
        (_wrote(GOOD), (*CALL, "--concurrency", "0"), "concurrency"),
        (_wrote(GOOD), (*CALL, "--journal", "in.jsonl"), "overwrite the inputs"),
        (_wrote(GOOD), (*CALL, "--journal", "out.jsonl"), "are one file"),
        (_other_target, CALL, "of another target"),
    ],
)
def test_what_cannot_be_run_is_an_error_before_anybody_is_asked(
    prepare: Callable[[Path, Run], None],
    call: tuple[str, ...],
    said: str,
    run: Run,
    folder: Path,
    answering: Any,
) -> None:
    answering(lambda request: json.dumps({"name": "Oslo"}))
    prepare(folder, run)
    provider = answering(oslo)
    ran = run(*call)
    assert (ran.code, said in ran.err, provider.requests) == (2, True, []), ran.err
    assert "Traceback" not in ran.err


def test_what_is_wrong_with_one_row_is_told_in_its_row(
    run: Run,
    folder: Path,
    answering: Any,
) -> None:
    lines = [GOOD.encode(), b"{broken\n", b"\xff\xfe\x00\n", b"[1]\n", b'{"id": "c"}\n']
    lines += [b'{"id": "d", "text": 5}\n', GOOD.encode(), b'{"id": "e", "text": "Oslo"}\n']
    (folder / "in.jsonl").write_bytes(b"".join(lines))
    provider = answering(oslo)
    for _ in range(2):
        ran = run(*CALL, "--json")
        assert ran.code == 1
        assert json.loads(ran.out)["statuses"] == {"ok": 2, "error": 6}
    assert len(provider.requests) == 2
    written = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [line["status"] for line in written] == ["ok", *["error"] * 6, "ok"]
    told = [line["error"] for line in written]
    for said, error in zip(
        (
            "no JSON",
            "no JSON in UTF-8",
            "expected an object",
            "no column 'text'",
            "",
            "came before",
        ),
        told[1:7],
        strict=True,
    ):
        assert said in error


def test_a_journal_that_another_process_writes_is_refused(
    run: Run,
    folder: Path,
    answering: Any,
) -> None:
    (folder / "in.jsonl").write_text(GOOD)
    provider = answering(oslo)
    with Journal(folder / "out.jsonl.journal"):
        ran = run(*CALL)
    assert ran.code == 2 and "being written by another process" in ran.err
    assert not provider.requests


def test_a_disk_without_room_is_told_before_anybody_is_asked(
    run: Run,
    folder: Path,
    answering: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (folder / "in.jsonl").write_text(GOOD)
    provider = answering(oslo)

    def full(path: Path, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("extractkit.journal._reserve._allocate", full)
    ran = run(*CALL)
    assert ran.code == 3 and "No space left" in ran.err and "make room" in ran.err
    assert not provider.requests


def test_a_disk_that_is_full_on_the_way_ends_with_its_own_code(
    run: Run,
    folder: Path,
    answering: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = (json.dumps({"id": f"r{n}", "text": f"Oslo {n}"}) for n in range(60))
    (folder / "in.jsonl").write_text("\n".join(lines))
    answering(oslo)

    def full(journal: Journal, key: Any, record: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(journal.path))

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append_json", full)
        ran = run(*CALL)
    assert ran.code == 3 and "paid for again" in ran.err and "'r0'" in ran.err
    assert "goes on where this one stopped" in ran.err
    assert run(*CALL).code == 0
    assert len((folder / "out.jsonl").read_text().splitlines()) == 60
