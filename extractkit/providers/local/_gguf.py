"""What a GGUF file says about itself, and where its tensors are.

Neighbours: `_weights` checks files with it, `_numpy` computes with what it finds, `_requantise`
checks what the library wrote. Reads version 2 and 3, little-endian; the `gguf` package's reader
does the same and takes 50 times as long over a vocabulary of 49,000 words. Writes nothing.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TypeAlias

from extractkit.errors import UnsupportedError, UsageError

__all__ = ["BLOCKS", "Gguf", "MetadataValue", "Tensor", "read_gguf"]

MetadataValue: TypeAlias = "str | int | float | bool | list[MetadataValue]"

_ALIGNMENT = 32
_UNREADABLE = (struct.error, ValueError, OverflowError, MemoryError, RecursionError)
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}

BLOCKS: Mapping[str, tuple[int, int, int]] = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q8_0": (8, 32, 34),
    "Q6_K": (14, 256, 210),
}
"""Tensor formats that this package reads: number in the file, values in a block, its bytes."""

_FORMAT_NAMES = {number: name for name, (number, _, _) in BLOCKS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """Where one array stands.

    Attributes:
        shape: Outermost dimension first, as in NumPy.
        format: A name of `BLOCKS`, or "type N" for others.
        start: Offset of its first byte in the file.
    """

    shape: tuple[int, ...]
    format: str
    start: int

    @property
    def size(self) -> int | None:
        """Length in bytes, or None for a format that is not in `BLOCKS`."""
        if self.format not in BLOCKS:
            return None
        _, values, length = BLOCKS[self.format]
        return prod(self.shape) // values * length


@dataclass(frozen=True, slots=True, kw_only=True)
class Gguf:
    """The head of one file.

    Attributes:
        path: The file.
        metadata: Every key with its value.
        tensors: By name, in the file's order.
    """

    path: Path
    metadata: Mapping[str, MetadataValue]
    tensors: Mapping[str, Tensor]

    @property
    def length(self) -> int:
        """Bytes that the file must have at least to hold its tensors."""
        return max((t.start + (t.size or 0) for t in self.tensors.values()), default=0)


def read_gguf(path: Path) -> Gguf:
    """Return the head of `path`, after checking that the file is long enough for its tensors.

    Raises:
        UsageError: If it is no GGUF file, or is cut short or damaged.
        UnsupportedError: If its version or byte order is another.
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        magic = file.read(8)
        if magic[:4] != b"GGUF" or len(magic) < 8:
            raise UsageError(
                f"{path} is not a GGUF file: it {_beginning(magic[:4])}, where the four letters "
                "GGUF were expected; give the path of a model in GGUF form"
            )
        version = int.from_bytes(magic[4:], "little")
        if version not in (2, 3):
            raise UnsupportedError(
                f"{path} has GGUF version {version}; versions 2 and 3, little-endian, are read"
            )
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                head = _read_head(path, data)
            except _UNREADABLE as error:
                raise UsageError(
                    f"{path} is damaged or cut short: its head cannot be read ({error}); fetch "
                    "the file again"
                ) from error
            if head.length > len(data):
                raise UsageError(
                    f"{path} is cut short: it has {len(data):,} bytes and its tensors need "
                    f"{head.length:,}; fetch the file again"
                )
    return head


def _beginning(start: bytes) -> str:
    """Return in words how a file begins."""
    if not start:
        return "is empty"
    if start == b"GGUF":
        return "ends after its first letters"
    if start.isascii() and start.decode("ascii").isprintable():
        return f'starts with the letters "{start.decode("ascii")}"'
    return f"starts with the bytes {start.hex(' ')}"


def _read_head(path: Path, data: mmap.mmap) -> Gguf:
    cursor = _Cursor(data, 8)
    tensor_count, key_count = cursor.number(10), cursor.number(10)
    metadata: dict[str, MetadataValue] = {}
    for _ in range(key_count):
        key = cursor.string()
        metadata[key] = cursor.value(cursor.number(4))
    found: list[tuple[str, tuple[int, ...], int, int]] = []
    for _ in range(tensor_count):
        name = cursor.string()
        shape = tuple(cursor.number(10) for _ in range(cursor.number(4)))[::-1]
        found.append((name, shape, cursor.number(4), cursor.number(10)))
    alignment = metadata.get("general.alignment", _ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"general.alignment is {alignment!r}")
    base = -(-cursor.offset // alignment) * alignment
    tensors = {
        name: Tensor(
            shape=shape,
            format=_FORMAT_NAMES.get(number, f"type {number}"),
            start=base + offset,
        )
        for name, shape, number, offset in found
    }
    return Gguf(path=path, metadata=metadata, tensors=tensors)


class _Cursor:
    """Reads one value after the other."""

    def __init__(self, data: mmap.mmap, offset: int) -> None:
        self._data = data
        self.offset = offset

    def number(self, kind: int) -> int:
        (value,) = self._scalar(kind)
        return int(value)

    def string(self) -> str:
        length = self.number(10)
        start, self.offset = self.offset, self.offset + length
        if self.offset > len(self._data):
            raise ValueError(f"a string of {length} bytes at {start}")
        return self._data[start : self.offset].decode("utf-8", "replace")

    def value(self, kind: int) -> MetadataValue:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            (value,) = self._scalar(kind)
            return value
        inner, count = self.number(4), self.number(10)
        if inner == _STRING:
            return self._each(self.string, count)
        if inner == _ARRAY:
            return self._each(lambda: self.value(_ARRAY), count)
        return self._numbers(inner, count)

    def _each(self, read: Callable[[], MetadataValue], count: int) -> list[MetadataValue]:
        return [read() for _ in range(count)]

    def _numbers(self, kind: int, count: int) -> list[MetadataValue]:
        code = _kind(kind).format[1:]
        values = struct.unpack_from(f"<{count}{code}", self._data, self.offset)
        self.offset += count * _kind(kind).size
        return list(values)

    def _scalar(self, kind: int) -> tuple[int | float | bool]:
        code = _kind(kind)
        values = code.unpack_from(self._data, self.offset)
        self.offset += code.size
        return values


def _kind(kind: int) -> struct.Struct:
    if kind not in _SCALARS:
        raise ValueError(f"a value of the unknown kind {kind}")
    return _SCALARS[kind]
