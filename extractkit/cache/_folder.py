"""A folder that holds texts, one file each, up to a number of bytes; for any number of processes.

The files are spread over 32 shards, each with its share of the bytes. Who writes holds the lock of
the shard, and first puts down in the lock's file how many bytes there are with the new text: one
that is killed leaves a number that is too high, never too low. Where the number would go above the
share, the shard is looked through, and what was not used for longest goes. A file comes into its
place by being renamed, so that a reader sees all of it or none, and waits for nobody.

Neighbours: `_entry` makes the texts and finds out which are damaged. For Linux and macOS: the lock
is flock(2). SQLite would keep one file for all; a file each means that a damaged one costs one
answer, that no reader waits for a writer, and that nothing which others wrote is run or parsed
beyond JSON.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Generator, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.messages import require_number

__all__ = ["Cache"]

_SHARDS: Final = 32
_LEAST_BYTES: Final = 1 << 20
_KEPT_SHARE: Final = 7 / 8
"""What is left of a full shard, so that it is not looked through for each text."""
_LOCK: Final = "lock"
_NEW: Final = "new-"
_KEY: Final = re.compile(r"[0-9a-f]{64}\Z")
_TRIES: Final = 100
_WAIT_S: Final = 0.001
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Cache(MutableMapping[str, str]):
    """Texts by digests of 64 hex digits in a folder, safe over threads and processes.

    Nothing is put on the disk for good at once: after a loss of power a text may be missing or
    damaged. The folder is made where there is none, for its owner alone (0700).

    Args:
        path: The folder.
        most_bytes: How much its files may hold in all, at least 1 MiB; what was not used for
            longest goes. One text may have a 32nd of it.

    Raises:
        UsageError: If the folder cannot be used, or the number is none or too small.
    """

    def __init__(self, path: str | os.PathLike[str], most_bytes: int = 1 << 30) -> None:
        require_number("Cache", "most_bytes", most_bytes, low=_LEAST_BYTES, whole=True)
        self._path = Path(path)
        self._most_bytes = most_bytes
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            raise UsageError(
                f"the cache {str(self._path)!r} cannot be used: {exc.strerror}; expected a folder, "
                "or a place where one can be made"
            ) from exc

    def __reduce__(self) -> tuple[Any, ...]:
        return (Cache, (self._path, self._most_bytes))

    def __repr__(self) -> str:
        return f"Cache({str(self._path)!r}, most_bytes={self._most_bytes})"

    @property
    def path(self) -> Path:
        """The folder."""
        return self._path

    @property
    def most_bytes(self) -> int:
        """How much its files may hold in all."""
        return self._most_bytes

    def __getitem__(self, key: str) -> str:
        """Return a text, and take note that it was used.

        What is no plain file of text that fits the share is as none.

        Raises:
            KeyError: If there is none.
            OSError: If the folder cannot be read.
        """
        if not _KEY.match(key):
            raise KeyError(key)
        try:
            with self._shard(key) as shard:
                return _read(shard, key, self._share)
        except FileNotFoundError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: str) -> None:
        """Keep a text in place of an earlier one.

        Raises:
            UsageError: If the key is no digest.
            OSError: If it cannot be kept: no room, too long, a lock that nobody gives back.
        """
        if not _KEY.match(key):
            raise UsageError(f"the key {key!r:.80}: expected a digest of 64 hex digits")
        data = value.encode()
        if len(data) > self._share:
            raise OSError(
                errno.EFBIG,
                f"{len(data):,} bytes are more than the {self._share:,} that one answer may have; "
                "raise most_bytes of the Cache",
            )
        with self._shard(key, make=True) as shard, _locked(shard) as lock:
            held = _held(lock)
            if held is None or held + len(data) > self._share:
                held = _emptied(shard, self._share - len(data))
            _put_down(lock, held + len(data))
            _place(shard, key, data)

    def __delitem__(self, key: str) -> None:
        """Take a text away.

        Raises:
            KeyError: If there is none.
        """
        if not _KEY.match(key):
            raise KeyError(key)
        try:
            with self._shard(key) as shard:
                os.unlink(key, dir_fd=shard)
        except FileNotFoundError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        for number in range(_SHARDS):
            with suppress(FileNotFoundError), self._opened(number) as shard:
                names = os.listdir(shard)  # noqa: PTH208  # pathlib reads no open folder
                yield from [name for name in names if _KEY.match(name)]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def _share(self) -> int:
        return self._most_bytes // _SHARDS

    def _shard(self, key: str, *, make: bool = False) -> Any:
        return self._opened(int(key[:2], 16) % _SHARDS, make=make)

    @contextmanager
    def _opened(self, number: int, *, make: bool = False) -> Generator[int]:
        path = self._path / f"{number:02d}"
        try:
            shard = os.open(path, _FOLDER)
        except FileNotFoundError:
            if not make:
                raise
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
            shard = os.open(path, _FOLDER)
        try:
            yield shard
        finally:
            os.close(shard)


def _read(shard: int, key: str, most: int) -> str:
    try:
        file = os.open(key, _READ, dir_fd=shard)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENXIO):  # a link, a socket
            raise FileNotFoundError(exc.errno, exc.strerror) from exc
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(errno.ENOENT, "it is no file")
    with os.fdopen(file, "rb") as opened:
        data = opened.read(most + 1)
        with suppress(OSError):  # one that may only read the folder uses it all the same
            os.utime(file)
    return data.decode(errors="replace") if len(data) <= most else ""


@contextmanager
def _locked(shard: int) -> Generator[int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(_LOCK, flags, 0o600, dir_fd=shard)
    try:
        for _ in range(_TRIES):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_WAIT_S)
        else:
            raise BlockingIOError(errno.EAGAIN, "another process holds the lock of the shard")
        yield lock
    finally:
        os.close(lock)  # which gives the lock back


def _held(lock: int) -> int | None:
    """Return how many bytes the shard holds at most; None where that is not known."""
    data = os.pread(lock, 24, 0)
    return int(data) if re.fullmatch(rb"\d{20}", data) else None


def _put_down(lock: int, held: int) -> None:
    os.pwrite(lock, b"%020d" % held, 0)


def _emptied(shard: int, most: int) -> int:
    """Take away what was not used for longest, if need be; return how many bytes are left.

    Only files that a cache has made are looked at: whatever else lies here stays.
    """
    found: list[tuple[int, int, str]] = []
    with os.scandir(shard) as entries:
        for entry in entries:
            if entry.name.startswith(_NEW):  # of one that was killed: who writes has the lock
                os.unlink(entry.name, dir_fd=shard)
            elif _KEY.match(entry.name):
                with suppress(FileNotFoundError):
                    info = entry.stat(follow_symlinks=False)
                    found.append((info.st_mtime_ns, info.st_size, entry.name))
    held = sum(size for _, size, _ in found)
    if held <= most:
        return held
    for _, size, name in sorted(found):
        if held <= most * _KEPT_SHARE:
            break
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=shard)
        held -= size
    return held


def _place(shard: int, key: str, data: bytes) -> None:
    name = f"{_NEW}{os.urandom(8).hex()}"
    file = os.open(name, _WRITE, 0o600, dir_fd=shard)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
        os.replace(name, key, src_dir_fd=shard, dst_dir_fd=shard)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=shard)
        raise
