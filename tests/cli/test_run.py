"""`extractkit run`: rows in, rows out, and an exit code that says whether all have ended."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from extractkit.errors import AuthenticationError, BadRequestError
from extractkit.messages import ModelRequest
from extractkit.testing import Reply
from tests.cli.conftest import Run


def oslo(request: ModelRequest) -> Reply:
    return json.dumps({"name": "Oslo", "kind": None})


def _data(folder: Path, count: int) -> None:
    rows = (json.dumps({"id": f"r{n}", "text": f"Oslo {n}"}) for n in range(count))
    (folder / "in.jsonl").write_text("\n".join(rows))


def test_every_row_is_written_and_a_second_call_asks_nothing(
    run: Run, folder: Path, answering: Any
) -> None:
    _data(folder, 3)
    provider = answering(oslo)
    call = ("run", "shop.models:City", "in.jsonl", "-o", "out.jsonl")
    ran = run(*call)
    assert (ran.code, "3 ok; 0 were known before" in ran.err) == (0, True)
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["r0", "r1", "r2"]
    asked = len(provider.requests)
    ran = run(*call, "--json")
    assert (ran.code, len(provider.requests)) == (0, asked)
    told = json.loads(ran.out)
    assert (told["rows"], told["known"], told["is_whole"]) == (3, 3, True)


def test_the_exit_code_says_what_has_not_ended(run: Run, folder: Path, answering: Any) -> None:
    _data(folder, 2)
    call = ("run", "shop.models:City", "in.jsonl", "-o", "out.jsonl")
    answering(lambda request: AuthenticationError("no such key"))
    ran = run(*call)
    assert ran.code == 3 and "not every row has ended" in ran.err and "no such key" in ran.err
    answering(lambda request: BadRequestError("too long"))
    ran = run(*call)
    assert ran.code == 1 and "2 error" in ran.err
    answering(oslo)
    assert run(*call, "--retry-failed").code == 0
    assert run("run", "shop.models:City", "in.jsonl", "-o", "out.txt").code == 2


def test_sigterm_ends_what_is_under_way_and_no_more(run: Run, folder: Path, answering: Any) -> None:
    _data(folder, 200)

    def reply(request: ModelRequest) -> Reply:
        os.kill(os.getpid(), signal.SIGTERM)
        return oslo(request)

    answering(reply)
    before = signal.getsignal(signal.SIGTERM)
    call = ("run", "shop.models:City", "in.jsonl", "-o", "out.jsonl", "--concurrency", "1")
    ran = run(*call)
    assert ran.code == 143 and "goes on where this one stopped" in ran.err
    assert 0 < len((folder / "out.jsonl").read_text().splitlines()) < 20
    assert signal.getsignal(signal.SIGTERM) is before
    answering(oslo)
    assert run(*call).code == 0
    assert len((folder / "out.jsonl").read_text().splitlines()) == 200


def test_an_output_that_cannot_be_written_is_told(
    run: Run, folder: Path, answering: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _data(folder, 1)
    answering(oslo)

    def full(path: Path, lines: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("extractkit.batch._output._write_jsonl", full)
    ran = run("run", "shop.models:City", "in.jsonl", "-o", "out.jsonl")
    assert ran.code == 3
    assert "No space left on device: the output was not written" in ran.err
    assert "the journal out.jsonl.journal has all that came, and the same call writes it" in ran.err


def test_equal_requests_are_sent_once_with_a_cache(run: Run, folder: Path, answering: Any) -> None:
    _data(folder, 3)
    provider = answering(oslo)
    for output in ("one.jsonl", "two.jsonl"):
        ran = run("run", "shop.models:City", "in.jsonl", "-o", output, "--cache", "kept")
        assert (ran.code, "3 ok; 0 were known before" in ran.err) == (0, True)
    assert len(provider.requests) == 3
    assert (
        run("run", "shop.models:City", "in.jsonl", "-o", "b.jsonl", "--cache", "x", "--batch").code
        == 2
    )
