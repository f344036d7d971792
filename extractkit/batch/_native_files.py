"""A run over a file through a provider's batch API, written as `run_file` writes it.

Neighbours: `_native` hands the inputs over, `_files` makes the output of the journal.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from extractkit.batch._files import (
    RunReport,
    own_files,
    require_same_target,
    require_writable,
    run_file,
)
from extractkit.batch._native import BatchJob, BatchStatus
from extractkit.batch._native_work import Work, numbered
from extractkit.batch._output import writer_of
from extractkit.batch._rows import Row, read_rows
from extractkit.errors import UsageError
from extractkit.journal import Journal

__all__ = ["run_batch"]


def run_batch(
    target: Any,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    poll_s: float = 60.0,
    wait: Callable[[float], object] = time.sleep,
    progress: Callable[[BatchStatus], None] | None = None,
    **options: Any,
) -> RunReport:
    """Return what came of the rows of a file, asked by a provider's batch API.

    It waits until all have ended, and then writes the output. Stopped or killed before, the same
    call goes on; what the journal knows from `run_file` is not asked again.

    Args:
        target: What is extracted, as of Extractor.
        source: The inputs, as of `read_rows`; they are read again at the end.
        output: As of `run_file`.
        journal: As of `run_file`; it holds the job.
        columns: The keywords of `read_rows`: text, id, limit, sample.
        poll_s: Seconds between two looks.
        wait: Called with them; if it returns something true, no more is waited for.
        progress: Told after every look.
        options: The keywords of Extractor, as of `submit_batch`.

    Raises:
        UsageError: If an argument cannot be used, or the inputs are not those that were handed
            over.
        UnsupportedError: If the model has no batch API.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the provider could not be asked or refuses; the same call goes on.
        OSError: If the journal or the output cannot be written.
    """
    place = Path(f"{output}.journal" if journal is None else journal)
    writer_of(Path(output))
    require_writable(Path(output), source, place)
    if source == "-":
        raise UsageError("a batch needs inputs that can be read again: name a file or a folder")
    read: dict[str, Any] = {**(columns or {}), "apart": own_files(Path(output), place)}
    work: Work[Any] = Work(target, options)
    with Journal(place) as opened:
        require_same_target(opened, work.fingerprint, Path(output))
        work.begin_or_resume(opened, _inputs(source, read))
        job: BatchJob[Any] = BatchJob(work)
        while not (status := job.status()).is_over:
            if progress is not None:
                progress(status)
            if wait(poll_s):
                return _unfinished(status)
        if not work.is_about(_inputs(source, read)):
            raise UsageError(
                f"{source} changed while its rows were asked about; their answers are in {place}, "
                "and extract_many(..., journal=...) gives them out"
            )
    return run_file(target, source, output, journal=place, columns=columns, **options)


def _inputs(source: str | os.PathLike[str], read: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    return numbered(_pairs(read_rows(source, **read)))


def _pairs(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Yield id and text of each input; of equal texts without an id one, for they are one."""
    seen: set[bytes] = set()
    for row in rows:
        if row.fault:
            continue
        if not row.id:
            digest = hashlib.blake2b(row.text.encode("utf-8", "surrogatepass")).digest()
            if digest in seen:
                continue
            seen.add(digest)
        yield row.id, row.text


def _unfinished(status: BatchStatus) -> RunReport:
    return RunReport(
        rows=status.rows,
        statuses={},
        levels={},
        known=0,
        left=status.rows - status.ended,
        cost_usd=Decimal(0),
        is_whole=False,
    )
