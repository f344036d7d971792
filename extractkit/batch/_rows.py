"""The inputs of a run, one by one: of a file of rows, a folder of texts, or standard input.

Neighbours: `tables` reads files of rows, `_files` runs over what comes. What is no input is told in
its place and holds back no other; what is wrong with all of them is an error before the first.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
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
        number: That of its line, of a CSV file of its first line; of its row in Parquet; of its
            file in a folder. It begins with 1.
        id: What it is called; "" where nothing says that.
        text: The input.
        fault: Why it cannot be used.
    """

    number: int
    id: str = ""
    text: str = ""
    fault: str = ""


def read_rows(
    source: str | os.PathLike[str],
    *,
    text: str = "text",
    id: str | None = None,
    limit: int | None = None,
    sample: float | None = None,
    apart: Collection[str | os.PathLike[str]] = (),
) -> Iterator[Row]:
    """Return the inputs, read when they are asked for. An id that came before is a fault.

    Args:
        source: A .jsonl, .csv or .parquet file, a folder whose files are one text each, or "-" for
            JSONL on standard input.
        text: The column of the text; a name, or a JSON Pointer into the row.
        id: The column of the id, which each row must have; None takes "id" of each row that has
            it. Of a folder, the path in it.
        limit: The first so many alone.
        sample: A share of them, above 0 to 1: by their ids, or texts where they have none, so that
            it is the same each time.
        apart: Files that are no inputs, though they are in the folder. Hidden ones never are.

    Raises:
        UsageError: If there is no such file, the first row lacks a column, or a number is out of
            its range; before anything is yielded.
        MissingDependencyError: If it is a Parquet file and pyarrow is not installed.
    """
    if limit is not None:
        require_number("read_rows", "limit", limit, low=1, whole=True)
    if sample is not None:
        require_number("read_rows", "sample", sample, low=0, high=1)
        if not sample:
            raise UsageError("read_rows(sample=0): expected a share above 0, at most 1")
    path = Path(source)
    if source != "-" and path.is_dir():
        return _chosen(_of_folder(path, apart), limit, sample)
    table = _table(source)
    first = next(table, None)
    if first is None:
        raise UsageError(f"{source} has no row")
    place, row = first
    if not isinstance(row, Fault):
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
        number = int(place.rpartition(" ")[2])
        if isinstance(row, Fault):
            yield Row(number=number, fault=row.reason)
            continue
        column = "id" if id is None and "id" in row else id
        found = input_of(place, row, text=text, id=column)
        if isinstance(found, Fault):
            yield Row(number=number, fault=found.reason)
        else:
            yield Row(number=number, id="" if column is None else found[0], text=found[1])


def _of_folder(folder: Path, apart: Collection[str | os.PathLike[str]]) -> Iterator[Row]:
    for number, path in enumerate(_files_of(folder, apart), start=1):
        id = path.relative_to(folder).as_posix()
        try:
            yield Row(number=number, id=id, text=_text_of(path))
        except ValueError as exc:
            yield Row(number=number, id=id, fault=str(exc))


def _files_of(folder: Path, apart: Collection[str | os.PathLike[str]]) -> Iterator[Path]:
    left_out = {Path(each).resolve() for each in apart}
    for here, folders, names in os.walk(folder):
        folders.sort()
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted(names):
            path = Path(here) / name
            if not name.startswith(".") and path.resolve() not in left_out:
                yield path


def _text_of(path: Path) -> str:
    """Return the text of a file.

    Raises:
        ValueError: If there is none; says why.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is no regular file, and reading it might never end")
        content = path.read_bytes()
    except OSError as exc:
        raise ValueError(f"it cannot be read: {exc.strerror}") from exc
    if b"\0" in content:
        raise ValueError("it is no text: there are NUL bytes in it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ValueError(f"it is no UTF-8: byte {exc.start}: {exc.reason}") from exc


def _chosen(rows: Iterator[Row], limit: int | None, sample: float | None) -> Iterator[Row]:
    seen: set[bytes] = set()
    count = 0
    for row in rows:
        digest = _digest(row.id or row.text or str(row.number))
        if sample is not None and int.from_bytes(digest, "big") >= sample * 2**64:
            continue
        if row.id and not row.fault:
            if digest in seen:
                row = replace(row, fault=f"the id {row.id!r} came before")
            seen.add(digest)
        yield row
        count += 1
        if count == limit:
            return


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def count_rows(
    source: str | os.PathLike[str],
    *,
    limit: int | None = None,
    sample: float | None = None,
    apart: Collection[str | os.PathLike[str]] = (),
    **columns: Any,
) -> int | None:
    """Return how many rows `read_rows` yields; None where only reading them tells.

    Args:
        source: As of `read_rows`.
        limit: Likewise.
        sample: Likewise.
        apart: Likewise.
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
        count = sum(1 for _ in _files_of(path, apart))
    elif not path.is_file():
        return None  # a pipe is read once
    elif reader is read_parquet:
        count = count_parquet(path)
    elif reader is read_jsonl and path.stat().st_size <= _COUNTED:
        count = count_jsonl(path)
    else:
        return None
    return count if limit is None else min(count, limit)
