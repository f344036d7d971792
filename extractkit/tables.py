"""Rows of JSONL, CSV and Parquet files, one by one, each with its place; what is no row is told.

Neighbours: `evaluation` and `batch` say what the columns are. Parquet needs pyarrow, in the extra
`files`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

from extractkit.errors import MissingDependencyError, UsageError
from extractkit.paths import JsonValue, get, is_array, is_object

__all__ = [
    "Fault",
    "Table",
    "cell",
    "count_jsonl",
    "count_parquet",
    "input_of",
    "read_csv",
    "read_json",
    "read_jsonl",
    "read_parquet",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why something that stands in the place of a row is none."""

    reason: str


Table: TypeAlias = Iterator[tuple[str, Mapping[str, Any] | Fault]]
"""(place, row)."""


_NO_NAMES: Final = Fault(reason="it is empty")


def read_jsonl(source: str | os.PathLike[str] | Iterable[bytes]) -> Table:
    """Yield the objects of a JSONL file; lines without anything are left out.

    Args:
        source: The file, or its lines.

    Raises:
        UsageError: If the file cannot be opened.
    """
    if not isinstance(source, str | os.PathLike):
        yield from _objects(source)
        return
    with _opened(source) as file:
        yield from _objects(file)


def count_jsonl(path: str | os.PathLike[str]) -> int:
    """Return how many rows a JSONL file has; it is read through.

    Raises:
        UsageError: If the file cannot be opened.
    """
    with _opened(path) as file:
        return sum(1 for line in file if line.strip())


def _objects(lines: Iterable[bytes]) -> Table:
    for number, line in enumerate(lines, start=1):
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
        UsageError: If the file cannot be opened, has no names or one twice, or its names are not
            in UTF-8.
    """
    given: Any = delimiter
    if not isinstance(given, str) or len(given) != 1 or given in '"\r\n':
        raise UsageError(f"delimiter={given!r:.60}: expected one character, such as ';'")
    with _opened(path) as file:
        # A byte that is no UTF-8 becomes half of a character, which UTF-8 never says: it is told in
        # its row, and holds back no other.
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        yield from _csv_table(path, csv.reader(text, delimiter=delimiter, strict=True))


def _csv_table(path: str | os.PathLike[str], reader: Any) -> Table:
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
            yield place, _csv_fault(exc, reader.line_num)
            continue
        finally:
            csv.field_size_limit(limit)
        if cells:
            yield place, _decoded(cells)


def _csv_fault(error: csv.Error, line: int) -> Fault:
    if "unexpected end" in str(error):
        return Fault(
            reason=f"{error}: a quoted cell of it is not closed and takes all up to line {line}; "
            "add the quote that is missing"
        )
    return Fault(reason=f"{error}, up to line {line}; is a quote missing or one too many?")


def _decoded(cells: list[str]) -> list[str] | Fault:
    try:
        "".join(cells).encode("utf-8")
    except UnicodeEncodeError as exc:
        byte = ord(exc.object[exc.start]) & 0xFF
        return Fault(reason=f"not UTF-8: the byte 0x{byte:02x} is no character; convert the file")
    return cells


def read_parquet(path: str | os.PathLike[str]) -> Table:
    """Yield the rows of a Parquet file as plain JSON: dates as ISO texts, decimals as texts.

    Raises:
        UsageError: If the file cannot be opened, or is no Parquet.
        MissingDependencyError: If pyarrow is not installed.
    """
    library, readers = _packages()
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


def count_parquet(path: str | os.PathLike[str]) -> int:
    """Return how many rows a Parquet file has, without reading them.

    Raises:
        UsageError: If the file cannot be opened, or is no Parquet.
        MissingDependencyError: If pyarrow is not installed.
    """
    library, readers = _packages()
    with _opened(path) as file:
        try:
            count: int = readers.ParquetFile(file).metadata.num_rows
        except (library.ArrowException, ValueError) as exc:
            raise UsageError(f"{path} cannot be read as Parquet: {exc}") from exc
    return count


def _packages() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as exc:
        raise MissingDependencyError.for_feature(
            "reading Parquet", package="pyarrow", extra="files"
        ) from exc
    return pyarrow, parquet


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


def cell(row: Mapping[str, Any], column: str) -> Any:
    """Return what stands in a column, or at a JSON Pointer into the row.

    Raises:
        KeyError: If neither is there.
    """
    if column in row:
        return row[column]
    try:
        if column.startswith("/"):
            return get(dict(row), column)
    except KeyError:
        pass
    names = ", ".join(map(repr, row)) or "none"
    raise KeyError(f"no column {column!r}; found {names:.200}")


def input_of(
    place: str, row: Mapping[str, Any], *, text: str, id: str | None
) -> tuple[str, str] | Fault:
    """Return the id and the text of a row, or why it has none.

    Args:
        place: Where it was read; its number is the id where no column has one.
        row: The row.
        text: The column of the text.
        id: The column of the id; None for none.
    """
    try:
        found = cell(row, text)
        name = place.rpartition(" ")[2] if id is None else cell(row, id)
    except KeyError as exc:
        return Fault(reason=str(exc.args[0]))
    if not isinstance(found, str):
        return Fault(reason=f"{text!r} is {found!r:.60}, expected a text")
    if isinstance(name, int | float) and not isinstance(name, bool) and math.isfinite(name):
        name = str(int(name) if int(name) == name else name)  # pandas has whole numbers as floats
    if not isinstance(name, str) or not name:
        return Fault(reason=f"{id!r} is {name!r:.60}, expected an id")
    return name, found
