"""What came of the rows of a run, as JSONL or Parquet, written whole or not at all.

Neighbours: `_files` says which rows, `journal` has what came of them. Parquet needs pyarrow, in the
extra `files`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from extractkit.errors import MissingDependencyError, UsageError
from extractkit.journal import Row
from extractkit.paths import JsonObject

__all__ = ["line_of", "write", "writer_of"]

_KEPT: Final = (
    "status", "validity", "value", "findings", "evidence", "confidence", "refusal", "usage",
    "cost_usd", "provenance",
)  # fmt: skip
_FLAT: Final = frozenset({"id", "status", "validity", "refusal", "cost_usd", "error", "key"})
_GROUP: Final = 1000


def line_of(row: Row) -> JsonObject:
    """Return what is written of a row: a result, or the error in its place."""
    record: Any = row.record
    line: JsonObject = {"id": row.key.id, **dict.fromkeys(_KEPT), "error": None}
    if "result" in record:
        line.update((name, record["result"][name]) for name in _KEPT)
    else:
        told = record["error"]
        line.update(status="error", error=f"{told['type']}: {told['message']}")
    line["key"] = row.key.digest.hex()
    return line


Writer = Callable[[Path, Iterable[JsonObject]], None]


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


def write(path: Path, lines: Iterable[JsonObject], writer: Writer) -> None:
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
        raise OSError(
            exc.errno, f"{exc.strerror}: the output was not written; the journal has all", str(path)
        ) from exc


def _write_jsonl(path: Path, lines: Iterable[JsonObject]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _write_parquet(path: Path, lines: Iterable[JsonObject]) -> None:
    import pyarrow
    from pyarrow import parquet

    library: Any = pyarrow
    names = ["id", *_KEPT, "error", "key"]
    schema = library.schema([(name, library.string()) for name in names])
    tables: Any = parquet
    with tables.ParquetWriter(path, schema) as out:
        group: list[dict[str, str | None]] = []
        for line in lines:
            group.append({name: _text(name, line[name]) for name in names})
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
