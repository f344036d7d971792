"""Room on the disk that is kept until it is needed.

Neighbours: a Journal gives it up when the disk is full, so that what is under way is still kept.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

__all__ = ["FULL", "Reserve"]

FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_BLOCK: Final = 1 << 20


class Reserve:
    """A file that takes up room beside a journal, while the journal is open.

    Args:
        path: That of the journal.
        size: How many bytes.

    Raises:
        OSError: If there is no such room.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path.with_name(f"{path.name}.reserve")
        try:
            _allocate(self._path, size)
        except OSError as exc:
            self.give_up()
            raise OSError(
                exc.errno,
                f"{exc.strerror}: {size:,} bytes are wanted there for answers that are under way "
                "when the disk is full; make room",
                str(self._path),
            ) from exc

    def give_up(self) -> None:
        """Free the room; twice is fine."""
        self._path.unlink(missing_ok=True)


def _allocate(path: Path, size: int) -> None:
    with path.open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
            return
        for start in range(0, size, _BLOCK):  # macOS
            file.write(bytes(min(_BLOCK, size - start)))
