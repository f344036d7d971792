"""The file of a journal: written by one process, read by any number.

Neighbours: `_line` says what a line is. Only digests of keys and places of rows are held in memory:
about 160 bytes a row. For Linux and macOS: the lock is flock(2).
"""

from __future__ import annotations

import io
import os
import stat
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Final, Self

from extractkit.errors import UsageError
from extractkit.journal._key import Key
from extractkit.journal._line import (
    HEADER,
    Row,
    digest_of,
    fault_of,
    read_json,
    read_row,
    write_json,
    write_row,
)
from extractkit.journal._reserve import FULL, Reserve
from extractkit.messages import require_number
from extractkit.paths import JsonValue

__all__ = ["Damage", "Journal", "JournalReader"]

_BLOCK: Final = 1 << 18
_ROW: Final = 1 << 13  # what is read at once where one row is looked up


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A line that is no row.

    Attributes:
        line: Its number, from 1 up.
        start: Its first byte in the file.
        length: How many bytes it has.
        reason: What is wrong with it.
        is_torn: It is the last line and was never finished: a Journal has taken it away when it
            was opened. Any other stays in the file.
    """

    line: int
    start: int
    length: int
    reason: str
    is_torn: bool = False

    def __str__(self) -> str:
        done = "was never finished" if self.is_torn else "is damaged"
        return (
            f"line {self.line} ({self.length} bytes from byte {self.start}) {done}: {self.reason}"
        )


class JournalReader:
    """The rows that a journal held when it was opened or last refreshed, whoever is writing it.

    A question that was written down several times counts as it was the last time.

    Args:
        path: The file.

    Raises:
        UsageError: If there is none, or it is no journal.
    """

    _flags: ClassVar[int] = os.O_RDONLY

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._file = _File(self._path, self._flags)
        self._lock = Lock()
        self._places: dict[bytes, int] = {}
        self._damage: list[Damage] = []
        self._end: int = 0
        self._count: int = 0  # of lines
        self._is_ended = True
        try:
            self._guard()
            self._index()
        except (UsageError, OSError):
            self._file.close()  # whoever keeps the error keeps no lock
            raise

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Every line that is no row, as it was found on opening."""
        return tuple(self._damage)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: Key) -> bool:
        return key.digest in self._places

    def read(self, key: Key) -> JsonValue:
        """Return the record of a question.

        Raises:
            KeyError: If it is not in the journal.
            UsageError: If its line is not what it was on opening, or the journal is closed.
        """
        return read_row(self._sound(key.digest, repr(key.id))).record

    def row(self, digest: bytes) -> Row | None:
        """Return the row of a question, by the digest of its key; None where there is none.

        Raises:
            UsageError: If its line is not what it was on opening, or the journal is closed.
        """
        if digest not in self._places:
            return None
        return read_row(self._sound(digest, digest.hex()))

    def row_json(self, digest: bytes) -> tuple[bytes, bytes] | None:
        """Return id and record of a question as JSON texts, by the digest of its key, not parsed.

        Raises:
            UsageError: If its line is not what it was on opening, or the journal is closed.
        """
        if digest not in self._places:
            return None
        return read_json(self._sound(digest, digest.hex()))

    def rows(self, *, every: bool = False) -> Iterator[Row]:
        """Yield the rows in the order in which they were written, each read when it is asked for.

        Args:
            every: Those too that were written anew later.

        Raises:
            UsageError: If the journal is closed.
        """
        at = 0
        for line in self._lines_from(0):
            if at >= self._end:
                return
            row = _ended(line)
            if not fault_of(row) and (every or self._places.get(digest_of(row)) == at):
                yield read_row(row)
            at += len(line)

    def refresh(self) -> None:
        """Take in what was written since; what was read before is not read again.

        Raises:
            UsageError: If the journal is closed.
        """
        with self._lock:
            self._require_open()
            if os.fstat(self._file.fd).st_size > self._end:
                self._damage = [each for each in self._damage if not each.is_torn]
                JournalReader._index(self)

    def close(self) -> None:
        """Let the file go; closing twice is fine."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _guard(self) -> None:
        """Keep others from writing; a reader does not."""

    def _require_open(self) -> None:
        if self._file.fd < 0:
            raise UsageError(
                f"{self._path}: this journal is closed; open it anew, in the process that uses it"
            )

    def _sound(self, digest: bytes, name: str) -> bytes:
        """Return the line of a row, which is as it was."""
        start = self._places[digest]
        line = _ended(next(self._lines_from(start, _ROW), b""))
        if fault := fault_of(line):
            raise UsageError(f"{self._path}, byte {start}: the row of {name} changed: {fault}")
        return line

    def _lines_from(self, start: int, block: int = _BLOCK) -> Iterator[bytes]:
        self._require_open()
        return iter(io.BufferedReader(_At(self._file.fd, start), block))

    def _index(self) -> None:
        """Find the rows behind those that were found; memory: their keys and the longest line."""
        lines = self._lines_from(self._end)
        if not self._end:
            first = next(lines, b"")
            if first != HEADER:
                if HEADER.startswith(first):  # killed while it was made
                    return
                raise UsageError(
                    f"{self._path} is no journal: its first line is {first[:60]!r}, expected "
                    f"{HEADER!r}; name another file, or put that line back"
                )
            self._end, self._count = len(HEADER), 1
        for line in lines:
            if not self._is_ended and line == b"\n":  # of a row that was taken without it
                self._end, self._is_ended = self._end + 1, True
                continue
            if fault := fault_of(_ended(line)):
                damage = Damage(
                    line=self._count + 1,
                    start=self._end,
                    length=len(line),
                    reason=fault,
                    is_torn=not line.endswith(b"\n"),
                )
                self._damage.append(damage)
                if damage.is_torn:
                    return
            else:
                self._places[digest_of(line)] = self._end
            self._count += 1
            self._end += len(line)
            self._is_ended = line.endswith(b"\n")


class Journal(JournalReader):
    """A journal that this process writes, and no other.

    A row that `append` has taken is with the operating system: the death of this process, kill -9
    too, loses none. What a power cut may lose is bounded by `sync_s`. A last line that was never
    finished is taken away on opening and told in `damage`; a damaged line before it stays, is told
    there with its number, and its question counts as not answered. Where the disk is full, `append`
    takes back the part of the row that was written and raises; all before it is kept. With
    `reserve_bytes` so much room is taken up beside it, in a file of its own, and given up when the
    disk is full: then `is_full`, and rows are still taken while there is room.

    Thread-safe. The lock ends with this process, however that ends; a forked child has none.

    Args:
        path: The file; made if it is not there.
        sync_s: Seconds after which the next row makes the disk confirm all that was written
            (fsync); 0 after each row, None never. Closing confirms in any case.
        reserve_bytes: Room that is kept for what is under way when the disk is full; 0 for none.

    Raises:
        UsageError: If another process, or another Journal of this one, writes it, it cannot be
            opened, or it is no journal.
        OSError: If it cannot be written, or there is no such room.
    """

    _flags = os.O_RDWR | os.O_CREAT | os.O_APPEND

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        sync_s: float | None = 1.0,
        reserve_bytes: int = 0,
    ) -> None:
        if sync_s is not None:
            require_number("Journal", "sync_s", sync_s, low=0)
        require_number("Journal", "reserve_bytes", reserve_bytes, low=0, whole=True)
        self._sync_s = sync_s
        self._synced = time.monotonic()
        self._is_torn = False
        self._is_full = False
        self._reserve: Reserve | None = None
        super().__init__(path)
        if reserve_bytes:
            try:
                self._reserve = Reserve(self._path, reserve_bytes)
            except OSError:
                self._file.close()
                raise

    @property
    def is_full(self) -> bool:
        """Whether the disk was full, so that rows are written into the room that was kept."""
        return self._is_full

    def append(self, key: Key, record: JsonValue) -> None:
        """Write down the answer to a question; one that was written before counts no more.

        Args:
            key: The question.
            record: Plain JSON; tuples come back as lists.

        Raises:
            UsageError: If the record is no plain JSON, or the journal is closed.
            OSError: If it cannot be written, such as on a full disk. The journal stays as it was.
        """
        self._append(key, write_row(key, record))

    def append_json(self, key: Key, record: bytes) -> None:
        """Write down the answer to a question, as `append` does.

        Args:
            key: The question.
            record: One JSON value on one line, in UTF-8; it is believed.

        Raises:
            UsageError: If the journal is closed.
            OSError: If it cannot be written, such as on a full disk. The journal stays as it was.
        """
        self._append(key, write_json(key, record))

    def _append(self, key: Key, line: bytes) -> None:
        with self._lock:
            self._require_open()
            self._write(line, f"the row of {key.id!r} was not written, all before it are kept")
            self._places[key.digest] = self._end - len(line)
            if self._sync_s is not None and time.monotonic() - self._synced >= self._sync_s:
                self._sync()

    def sync(self) -> None:
        """Return when the disk has confirmed all that was written.

        Raises:
            UsageError: If the journal is closed.
            OSError: If the disk does not confirm it.
        """
        with self._lock:
            self._require_open()
            self._sync()

    def close(self) -> None:
        """Confirm what was written and let the file go; closing twice is fine.

        Raises:
            OSError: If the disk does not confirm it; the file is let go all the same.
        """
        try:
            with self._lock:
                if self._file.fd >= 0:
                    if self._reserve is not None:
                        self._reserve.give_up()
                    self._take_back()
                    self._sync()
        finally:
            super().close()

    def _guard(self) -> None:
        import fcntl

        try:
            fcntl.flock(self._file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise UsageError(
                f"{self._path} is being written by another process, or by another Journal of this "
                "one: wait until it ends, or name another file; JournalReader reads it meanwhile"
            ) from exc

    def _index(self) -> None:
        super()._index()
        os.ftruncate(self._file.fd, self._end)
        if not self._end:
            self._write(HEADER, "nothing was written")
            _sync_folder(self._path)
        elif not self._is_ended:  # by a program that leaves out the last line feed
            self._write(b"\n", "nothing was written")

    def _write(self, line: bytes, what: str) -> None:
        """Write a whole line, or nothing."""
        self._take_back()
        self._is_torn = True  # whatever interrupts this, the next row finds out
        try:
            self._put(line)
        except OSError as exc:
            self._take_back()
            raise OSError(exc.errno, f"{exc.strerror}: {what}", str(self._path)) from exc
        self._end += len(line)
        self._is_torn = False

    def _put(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self._file.fd, rest) :]
            except OSError as exc:
                if exc.errno not in FULL or self._reserve is None:
                    raise
                self._reserve.give_up()
                self._reserve = None
                self._is_full = True

    def _take_back(self) -> None:
        if self._is_torn:
            os.ftruncate(self._file.fd, self._end)
            self._is_torn = False

    def _sync(self) -> None:
        os.fsync(self._file.fd)
        self._synced = time.monotonic()


class _File:
    """An open file, closed when nobody has it any more; -1 is the descriptor of a closed one."""

    __slots__ = ("__weakref__", "fd")

    def __init__(self, path: Path, flags: int) -> None:
        self.fd = -1
        try:
            # Not blocking says nothing to a file; a pipe would wait for somebody at its other end.
            self.fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        except OSError as exc:
            raise UsageError(f"{path} cannot be opened as a journal: {exc.strerror}") from exc
        if not stat.S_ISREG(os.fstat(self.fd).st_mode):
            self.close()
            raise UsageError(f"{path} is no regular file; name one for the journal")
        _OPEN.add(self)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class _At(io.RawIOBase):
    """A file read from a place on, by a descriptor that others use, too."""

    def __init__(self, fd: int, start: int) -> None:
        self._fd = fd
        self._start = start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        block = os.pread(self._fd, len(view), self._start)
        view[: len(block)] = block
        self._start += len(block)
        return len(block)


def _ended(line: bytes) -> bytes:
    """Return a line with its end, which the last one of a file may lack."""
    return line if line.endswith(b"\n") else line + b"\n"


def _sync_folder(path: Path) -> None:
    """Make the disk confirm that the file is there."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _leave_to_parent() -> None:
    """In a forked child: the lock is the parent's, and ends with the parent alone."""
    for file in list(_OPEN):
        file.close()


_OPEN: Final[weakref.WeakSet[_File]] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)
