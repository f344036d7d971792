"""A job whose process ends at any moment: nothing is lost, and nothing is handed over twice."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from extractkit.batch import BatchJob, open_batch, submit_batch
from extractkit.journal import Journal, Key
from tests.batch.batch_server import Api, BatchServer, serving
from tests.batch.test_native import TEXTS, Cup, good

_TEXTS = TEXTS[:3]


class _KilledError(BaseException):
    """The process ends here."""


def _say(server: BatchServer, id: str, body: Any) -> bytes:
    """Fail once for the first text, and answer the second one wrongly at first."""
    is_first = len(server.rows) == 1
    if is_first and "costs 0 euros" in str(body):
        return server.error(id, 500, "api_error")
    if is_first and "costs 1 euros" in str(body):
        return server.answer(id, '{"name": "blue cup", "price": "dear"}')
    return good(server, id, body)


def _step(server: BatchServer, provider: Any, journal: Path) -> bool:
    """Do what one process does: look, and answer what is there; return whether all is over."""
    job: BatchJob[Cup]
    if _has_job(journal):
        job = open_batch(Cup, journal, model=provider)
    else:
        job = submit_batch(Cup, _TEXTS, model=provider, journal=journal)
    with job:
        is_over = job.status().is_over
        if server.rows and server.newest not in server.out:
            server.end(lambda id, body: _say(server, id, body))
        return is_over


def _has_job(path: Path) -> bool:
    with Journal(path) as journal:
        return Key.of("job", "", target="", model="batch", parameters={}) in journal


@pytest.mark.parametrize("api", ["chat", "messages"])
def test_a_job_survives_its_end_at_every_moment(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the n-th line of its journal, for every n there is."""
    append = Journal._append
    left = 0

    def appending(journal: Journal, key: Key, line: bytes) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise _KilledError
        append(journal, key, line)

    monkeypatch.setattr(Journal, "_append", appending)
    for moment in count(1):
        left = moment
        with serving(api) as server, closing(server.provider()) as provider:
            journal = tmp_path / f"{moment}.journal"
            is_over, steps = False, 0
            while not is_over:
                steps += 1
                assert steps < 9
                try:
                    is_over = _step(server, provider, journal)
                except _KilledError:
                    continue
            with open_batch(Cup, journal, model=provider) as job:
                assert [item.unwrap().price for item in job.results()] == [0, 1, 2]
            assert [len(rows) for rows in server.rows.values()] == [3, 2], moment
        if left > 0:
            break
    assert moment > 15
