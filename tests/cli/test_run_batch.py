"""`extractkit run --batch`: rows go to the provider's batch API, and come back as of any run."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.batch.batch_server import KEY, serving
from tests.cli.conftest import Run

_CALL = ("run", "shop.models:City", "in.jsonl", "-o", "out.jsonl", "--batch")


@pytest.fixture
def data(folder: Path) -> Path:
    rows = [json.dumps({"id": f"r{n}", "text": f"Oslo {n}"}) for n in range(3)]
    (folder / "in.jsonl").write_text("\n".join(rows))
    return folder


def test_a_run_waits_for_its_batch_and_writes_its_rows(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("chat") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

        class Stop:
            """What SIGTERM would set; waiting for it, the batch is answered."""

            def wait(self, seconds: float) -> bool:
                server.end(lambda id, body: server.answer(id, '{"name": "Oslo", "kind": null}'))
                return False

            def is_set(self) -> bool:
                return False

        monkeypatch.setattr("extractkit.cli._run._stopping", lambda: nullcontext(Stop()))
        ran = run(*_CALL, "--model", "openai-chat:gpt-5.1")
        assert (ran.code, "3 ok" in ran.err) == (0, True)
        lines = [json.loads(line) for line in (data / "out.jsonl").read_text().splitlines()]
        assert [line["id"] for line in lines] == ["r0", "r1", "r2"]
        assert len(server.rows) == 1


def test_limits_that_need_answers_one_by_one_are_refused(run: Run, data: Path) -> None:
    ran = run(*_CALL, "--max-cost", "1", "--model", "openai:gpt-5.1")
    assert (ran.code, "--max-cost" in ran.err) == (2, True)


def test_a_model_without_batches_is_refused(run: Run, data: Path) -> None:
    ran = run(*_CALL)
    assert (ran.code, "no batch API" in ran.err) == (2, True)


def test_what_cannot_be_written_is_told(
    run: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device", "out.jsonl.journal")

    monkeypatch.setattr("extractkit.batch.run_batch", full)
    ran = run(*_CALL)
    assert (ran.code, "No space left" in ran.err) == (3, True)
