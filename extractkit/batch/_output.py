"""What came of the rows of a run, as JSONL or Parquet, written whole or not at all.

Neighbours: `_files` says which rows, `_item` wrote what came of them, which is passed on here
without reading it. Parquet needs pyarrow, in the extra `files`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from extractkit.batch._item import SHOWN, SPLIT
from extractkit.errors import MissingDependencyError, UsageError
from extractkit.paths import JsonObject

__all__ = ["Line", "line_of", "write", "writer_of"]

_RESULT: Final = b'{"result":{'
_HEAD: Final = re.compile(rb'"status":"(\w+)","validity":"(\w+)",')
_FLAT: Final = frozenset({"id", "row", "status", "validity", "refusal", "cost_usd", "error", "key"})
_GROUP: Final = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an output.

    Attributes:
        text: It, as JSON.
        status: That of the result, or "error".
        validity: The level that was reached; None where there is no result.
    """

    text: bytes
    status: str
    validity: str | None


def line_of(id: bytes, record: bytes, key: bytes, row: int) -> Line:
    """Return what is written of a row: a result, or the error in its place.

    Args:
        id: Its id, as JSON; "" for none.
        record: Its record, as JSON: as `written` made it, or in another order and spacing.
        key: The digest of its key.
        row: Its number in the source.
    """
    id = id if id != b'""' else b"null"
    shown, split, _ = record[len(_RESULT) :].partition(SPLIT)
    head = _HEAD.match(shown)
    if not record.startswith(_RESULT) or not split or head is None:
        return _read(id, json.loads(record), key, row)
    text = b'{"id":%b,"row":%d,%b,"error":null,"key":"%b"}' % (id, row, shown, key.hex().encode())
    return Line(text, head[1].decode(), head[2].decode())


def _read(id: bytes, record: JsonObject, key: bytes, row: int) -> Line:
    line: JsonObject = {"id": json.loads(id), "row": row, **dict.fromkeys(SHOWN), "error": None}
    if "result" in record:
        line.update((name, record["result"][name]) for name in SHOWN)
    else:
        told: JsonObject = record["error"]
        paid = {name: told.get(name) for name in ("usage", "cost_usd")}
        line.update(paid, status="error", error=f"{told['type']}: {told['message']}")
    line["key"] = key.hex()
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return Line(text.encode("utf-8", "backslashreplace"), line["status"], line["validity"])


Writer = Callable[[Path, Iterable[Line]], None]


def writer_of(path: Path) -> Writer:
    """Return what writes lines to a file of this name.

    Raises:
        UsageError: If its ending says nothing that is known.
        MissingDependencyError: If it is Parquet and pyarrow is not installed.
    """
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _write_jsonl
    if path.suffix.lower() != ".parquet":
        raise UsageError(f"{str(path)!r}: expected an output that ends in .jsonl or .parquet")
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise MissingDependencyError.for_feature(
            "writing Parquet", package="pyarrow", extra="files"
        )
    return _write_parquet


def write(path: Path, lines: Iterable[Line], writer: Writer) -> None:
    """Write a file whole: until the last line is there, an older one stays.

    Raises:
        OSError: If it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        writer(part, lines)
        part.replace(path)
    except OSError as exc:
        part.unlink(missing_ok=True)
        raise OSError(exc.errno, f"{exc.strerror}: the output was not written", str(path)) from exc


def _write_jsonl(path: Path, lines: Iterable[Line]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line.text + b"\n")


def _write_parquet(path: Path, lines: Iterable[Line]) -> None:
    import pyarrow
    from pyarrow import parquet

    library: Any = pyarrow
    names = ["id", "row", *SHOWN, "error", "key"]
    schema = library.schema([(name, library.string()) for name in names])
    tables: Any = parquet
    with tables.ParquetWriter(path, schema) as out:
        group: list[dict[str, str | None]] = []
        for line in lines:
            cells: JsonObject = json.loads(line.text)
            group.append({name: _text(name, cells[name]) for name in names})
            if len(group) == _GROUP:
                out.write_table(library.Table.from_pylist(group, schema=schema))
                group = []
        out.write_table(library.Table.from_pylist(group, schema=schema))


def _text(name: str, value: Any) -> str | None:
    """Return a cell: what has parts is JSON, so that the columns are the same for all targets."""
    if value is None:
        return None
    text = str(value) if name in _FLAT else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()
