r"""One row as one line of JSON, with a checksum over all that follows it.

    {"crc":"5f1c0a9e","key":"<32 hex digits>","id":...,"content":...,"target":...,"model":...,
     "parameters":...,"record":...}\n

Checksum and digest stand at fixed places: a file is checked and indexed without reading its JSON.
Neighbours: `_file` keeps lines, `_key` says what stands before the record.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.journal._key import Key
from extractkit.paths import JsonValue

__all__ = [
    "HEADER",
    "Row",
    "digest_of",
    "fault_of",
    "read_json",
    "read_row",
    "write_json",
    "write_row",
]

_BODY: Final = len('{"crc":"00000000",')
_ID: Final = b'","id":'
# Before these there are texts alone, whose quotes have a backslash.
_CONTENT: Final = b',"content":'
_RECORD: Final = b',"record":'
_DIGEST: Final = slice(_BODY + len('"key":"'), _BODY + len('"key":"') + 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A question and what was written down of its answer.

    Attributes:
        key: The question.
        record: Plain JSON.
    """

    key: Key
    record: JsonValue


def _sealed(body: bytes) -> bytes:
    return b'{"crc":"%08x",%b\n' % (zlib.crc32(body), body)


HEADER: Final = _sealed(b'"journal":1}')
"""The first line of every journal."""


def write_row(key: Key, record: JsonValue) -> bytes:
    """Return the line of a row.

    Raises:
        UsageError: If the record is no plain JSON.
    """
    try:
        return write_json(key, _encoded(record))
    except (TypeError, ValueError, RecursionError) as exc:
        raise UsageError(
            f"the record of {key.id!r} cannot be kept: {exc}; expected plain JSON"
        ) from exc


def write_json(key: Key, record: bytes) -> bytes:
    """Return the line of a row whose record is JSON text already, which is believed."""
    fields = {
        "key": key.digest.hex(),
        "id": key.id,
        "content": key.content,
        "target": key.target,
        "model": key.model,
        "parameters": key.parameters,
    }
    return _sealed(b"%b%b%b}" % (_encoded(fields)[1:-1], _RECORD, record))


def _encoded(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a character, as models may write it
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def fault_of(line: bytes) -> str:
    """Return what is wrong with a line and its end; empty where nothing is."""
    checksum = zlib.crc32(memoryview(line)[_BODY:-1])
    if line[:_BODY] != b'{"crc":"%08x",' % checksum or not line.endswith(b"\n"):
        return "its checksum is another"
    return "" if line.startswith(b'"key":"', _BODY) else "it is no row"


def digest_of(line: bytes) -> bytes:
    """Return the digest of the key of a line without a fault."""
    return bytes.fromhex(line[_DIGEST].decode("ascii"))


def read_json(line: bytes) -> tuple[bytes, bytes]:
    """Return the id and the record of a line without a fault, as the JSON texts that they are."""
    id = line[_DIGEST.stop + len(_ID) : line.index(_CONTENT)]
    return id, line[line.index(_RECORD) + len(_RECORD) : -2]


def read_row(line: bytes) -> Row:
    """Return the row of a line without a fault."""
    fields = json.loads(line)
    return Row(
        key=Key(
            id=fields["id"],
            content=fields["content"],
            target=fields["target"],
            model=fields["model"],
            parameters=fields["parameters"],
        ),
        record=fields["record"],
    )
