"""One pull at a time in a cache folder, and nothing of killed ones left behind.

Neighbours: `_weights.pull` works inside `alone`. The lock is the operating system's on an open
file: it ends with the process that holds it, however that ends, so it is never stale and nobody
has to guess whether its owner lives.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from extractkit.errors import RequestTimeoutError

__all__ = ["SCRATCH", "alone"]

SCRATCH = "pull-"
"""Scratch folders in the cache start with this."""

_LOCK = "pull.lock"
_LEFT_BEHIND = (f"{SCRATCH}*", "requantise-*")
_LOOK_S = 0.2
_WAIT_S = 900.0  # a pull that gets nothing for 180 s ends by itself
_STALE_S = 86_400.0


@contextmanager
def alone(folder: Path, waits: Callable[[], None]) -> Generator[None]:
    """Do the block while no other process or thread does it in `folder`.

    What killed pulls left is removed first. While the lock is held no other pull is going on, so
    that is every scratch folder. Where the file system has no locks, it is those of a day ago,
    and two pulls at once cost a second download, no more: files appear whole or not at all.

    Args:
        folder: The cache folder; an empty lock file stays in it.
        waits: Called once if another pull is waited for.

    Raises:
        RequestTimeoutError: If another pull holds the lock for 15 minutes.
        OSError: If the lock file cannot be written.
    """
    with (folder / _LOCK).open("ab") as file:  # closing it gives the lock back
        locked = _lock(file, waits)
        _remove_left_behind(folder, every=locked)
        yield


def _lock(file: IO[bytes], waits: Callable[[], None]) -> bool:
    """Return whether the lock is held; False where there are no locks."""
    if sys.platform == "win32":
        return False
    import fcntl

    end = time.monotonic() + _WAIT_S
    told = False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise RequestTimeoutError(
                    f"another pull has held {file.name} for {_WAIT_S:.0f} s; wait for it or end "
                    "it, and try again",
                    provider="local",
                ) from None
        except OSError:  # a network file system without locks
            return False
        else:
            return True
        if not told:
            waits()
            told = True
        time.sleep(_LOOK_S)


def _remove_left_behind(folder: Path, *, every: bool) -> None:
    for pattern in _LEFT_BEHIND:
        for path in folder.glob(pattern):
            try:
                age_s = time.time() - path.stat().st_mtime
            except OSError:  # its own process has just removed it
                continue
            if every or age_s > _STALE_S:
                shutil.rmtree(path, ignore_errors=True)
