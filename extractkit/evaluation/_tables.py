"""Rows of JSONL, CSV and Parquet files, one by one, each with its place; what is no row is told.

Neighbours: `_dataset` says what the columns are. Parquet needs pyarrow, in the extra `files`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

from extractkit.errors import MissingDependencyError, UsageError
from extractkit.paths import JsonValue, is_array, is_object

__all__ = ["Fault", "Table", "read_csv", "read_json", "read_jsonl", "read_parquet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why something that stands in the place of a row is none."""

    reason: str


Table: TypeAlias = Iterator[tuple[str, Mapping[str, Any] | Fault]]
"""(place, row)."""


_NO_NAMES: Final = Fault(reason="it is empty")


def read_jsonl(path: str | os.PathLike[str]) -> Table:
    """Yield the objects of a JSONL file; lines without anything are left out.

    Raises:
        UsageError: If the file cannot be opened.
    """
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield f"line {number}", _object(line)


def _object(line: bytes) -> Mapping[str, Any] | Fault:
    try:
        found = read_json(line.decode("utf-8"))
    except (ValueError, RecursionError) as exc:
        return Fault(reason=f"no JSON in UTF-8: {exc}")
    if not is_object(found):
        return Fault(reason=f"a JSON {type(found).__name__}, expected an object")
    return found


def read_json(text: str) -> JsonValue:
    """Return what a text says as JSON, each key once.

    Raises:
        ValueError: If it is none.
        RecursionError: If it is too deep.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)


def _once(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} comes twice")
    return found


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def read_csv(path: str | os.PathLike[str], *, delimiter: str = ",") -> Table:
    """Yield the rows of a CSV file in UTF-8 with a line of names.

    Raises:
        UsageError: If the file cannot be opened, is not UTF-8, has no names or one twice.
    """
    with _opened(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content[: exc.start].count(b"\n") + 1
        raise UsageError(f"{path}, line {line}: not UTF-8: {exc.reason}; convert the file") from exc
    given: Any = delimiter
    if not isinstance(given, str) or len(given) != 1 or given in '"\r\n':
        raise UsageError(f"delimiter={given!r:.60}: expected one character, such as ';'")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = _csv_rows(reader)
    _, names = next(rows, ("", _NO_NAMES))
    if isinstance(names, Fault) or not names or len(set(names)) < len(names):
        said = names.reason if isinstance(names, Fault) else f"found {names!r:.200}"
        raise UsageError(f"{path}, line 1: {said}; expected the names of columns, each once")
    for place, cells in rows:
        if isinstance(cells, Fault):
            yield place, cells
        elif len(cells) != len(names):
            yield place, Fault(reason=f"{len(cells)} cells, expected {len(names)}")
        else:
            yield place, dict(zip(names, cells, strict=True))


def _csv_rows(reader: Any) -> Iterator[tuple[str, list[str] | Fault]]:
    # The module's limit on cells is for all of the process; it is raised for one row at a time.
    while True:
        place = f"line {reader.line_num + 1}"
        limit = csv.field_size_limit(sys.maxsize)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            yield place, Fault(reason=str(exc))
            continue
        finally:
            csv.field_size_limit(limit)
        if cells:
            yield place, cells


def read_parquet(path: str | os.PathLike[str]) -> Table:
    """Yield the rows of a Parquet file as plain JSON: dates as ISO texts, decimals as texts.

    Raises:
        UsageError: If the file cannot be opened, or is no Parquet.
        MissingDependencyError: If pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as exc:
        raise MissingDependencyError.for_feature(
            "reading Parquet", package="pyarrow", extra="files"
        ) from exc
    readers: Any = parquet
    library: Any = pyarrow
    with _opened(path) as file:
        try:
            number = 0
            table = readers.ParquetFile(file)
            _require_once(table.schema_arrow.names)
            for batch in table.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", _plain(row)
        except (library.ArrowException, ValueError) as exc:
            raise UsageError(f"{path} cannot be read as Parquet: {exc}") from exc


def _require_once(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"its columns are named {names!r:.200}, expected each name once")


def _plain(cell: Any) -> JsonValue:
    if isinstance(cell, date | time | datetime):
        return cell.isoformat()
    if isinstance(cell, Decimal):
        return str(cell)
    if is_object(cell):
        return {name: _plain(part) for name, part in cell.items()}
    return [_plain(part) for part in cell] if is_array(cell) else cell


def _opened(path: str | os.PathLike[str]) -> Any:
    try:
        return Path(path).open("rb")
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc
