"""The inputs of a run, one by one: of a file of rows, a folder of texts, or standard input.

Neighbours: `tables` reads files of rows, `_files` runs over what comes. What is no input is told in
its place and holds back no other; what is wrong with all of them is an error before the first.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.messages import require_number
from extractkit.tables import (
    Fault,
    Table,
    cell,
    count_jsonl,
    count_parquet,
    input_of,
    read_csv,
    read_jsonl,
    read_parquet,
)

__all__ = ["Row", "count_rows", "read_rows"]

_READERS: Final[dict[str, Callable[[Path], Table]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".csv": read_csv,
    ".parquet": read_parquet,
}
_COUNTED: Final = 1 << 30
"""Bytes of a file that is read through once more, to know how many rows there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One input as it was read.

    Attributes:
        id: What it is called; where it cannot be used, its place.
        text: The input.
        fault: Why it cannot be used.
    """

    id: str
    text: str = ""
    fault: str = ""


def read_rows(
    source: str | os.PathLike[str],
    *,
    text: str = "text",
    id: str | None = None,
    limit: int | None = None,
    sample: float | None = None,
) -> Iterator[Row]:
    """Return the inputs, read when they are asked for. An id that came before is a fault.

    Args:
        source: A .jsonl, .csv or .parquet file, a folder whose files are one text each, or "-" for
            JSONL on standard input.
        text: The column of the text; a name, or a JSON Pointer into the row.
        id: The column of the id; None takes "id" where the first row has it, else the number of the
            row. Of a folder, the path in it.
        limit: The first so many alone.
        sample: A share of them, above 0 to 1: by their ids, so that it is the same each time.

    Raises:
        UsageError: If there is no such file, the first row lacks a column, or a number is out of
            its range; before anything is yielded.
        MissingDependencyError: If it is a Parquet file and pyarrow is not installed.
    """
    if limit is not None:
        require_number("read_rows", "limit", limit, low=1, whole=True)
    if sample is not None:
        require_number("read_rows", "sample", sample, low=0, high=1)
    path = Path(source)
    if source != "-" and path.is_dir():
        return _chosen(_of_folder(path), limit, sample)
    table = _table(source)
    first = next(table, None)
    if first is None:
        raise UsageError(f"{source} has no row")
    place, row = first
    if not isinstance(row, Fault):
        id = "id" if id is None and "id" in row else id
        _require_columns(f"{source}, {place}", row, text, id)
    return _chosen(_of_table(chain([first], table), text, id), limit, sample)


def _table(source: str | os.PathLike[str]) -> Table:
    if source == "-":
        return read_jsonl(sys.stdin.buffer)
    reader = _READERS.get(Path(source).suffix.lower())
    if reader is None:
        raise UsageError(
            f"{str(source)!r}: expected a file that ends in {', '.join(_READERS)}, a folder of "
            "texts, or - for JSONL on standard input"
        )
    return reader(Path(source))


def _require_columns(place: str, row: Mapping[str, Any], text: str, id: str | None) -> None:
    try:
        for column in (text, id):
            if column is not None:
                cell(row, column)
    except KeyError as exc:
        raise UsageError(f"{place}: {exc.args[0]}") from exc


def _of_table(table: Table, text: str, id: str | None) -> Iterator[Row]:
    for place, row in table:
        found = row if isinstance(row, Fault) else input_of(place, row, text=text, id=id)
        if isinstance(found, Fault):
            yield Row(id=place, fault=found.reason)
        else:
            yield Row(id=found[0], text=found[1])


def _of_folder(folder: Path) -> Iterator[Row]:
    for path in _files_of(folder):
        yield _of_file(path, path.relative_to(folder).as_posix())


def _files_of(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(here) / name


def _of_file(path: Path, id: str) -> Row:
    try:
        content = path.read_bytes()
    except OSError as exc:
        return Row(id=id, fault=f"it cannot be read: {exc.strerror}")
    if b"\0" in content:
        return Row(id=id, fault="it is no text: there are NUL bytes in it")
    try:
        return Row(id=id, text=content.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        return Row(id=id, fault=f"it is no UTF-8: byte {exc.start}: {exc.reason}")


def _chosen(rows: Iterator[Row], limit: int | None, sample: float | None) -> Iterator[Row]:
    seen: set[bytes] = set()
    count = 0
    for row in rows:
        digest = hashlib.blake2b(row.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        if sample is not None and int.from_bytes(digest, "big") >= sample * 2**64:
            continue
        if digest in seen and not row.fault:
            row = Row(id=row.id, text=row.text, fault=f"the id {row.id!r} came before")
        seen.add(digest)
        yield row
        count += 1
        if count == limit:
            return


def count_rows(
    source: str | os.PathLike[str],
    *,
    limit: int | None = None,
    sample: float | None = None,
    **columns: Any,
) -> int | None:
    """Return how many rows `read_rows` yields; None where only reading them tells.

    Args:
        source: As of `read_rows`.
        limit: Likewise.
        sample: Likewise.
        columns: The other keywords of `read_rows`, which say nothing of it.

    Raises:
        UsageError: If there is no such file.
        MissingDependencyError: If it is a Parquet file and pyarrow is not installed.
    """
    if source == "-" or sample is not None:
        return None
    path = Path(source)
    reader = _READERS.get(path.suffix.lower())
    if path.is_dir():
        count = sum(1 for _ in _files_of(path))
    elif reader is read_parquet:
        count = count_parquet(path)
    elif reader is read_jsonl and path.stat().st_size <= _COUNTED:
        count = count_jsonl(path)
    else:
        return None
    return count if limit is None else min(count, limit)
