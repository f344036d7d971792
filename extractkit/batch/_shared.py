"""A journal that many processes keep together: a folder, in which each writes a file of its own.

Neighbours: `journal` has files, one writer each. `_ray` gives a folder to its actors; tasks of
Spark open one themselves.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from threading import Lock
from typing import Final
from uuid import uuid4

from extractkit.errors import UsageError
from extractkit.journal import Journal, JournalReader, Key
from extractkit.paths import JsonValue, is_object

__all__ = ["SharedJournal", "folder_of"]

_ENDING: Final = ".journal"


class SharedJournal(Journal):
    """A journal of a folder: this process writes a file of its own, and knows what all others hold.

    What another process has written is seen at the next question, also if that process was killed.
    A result in any of the files counts more than an error in another. Two processes that ask the
    same at the same moment both pay for it. `len`, `row` and `rows` are about the file of this
    process alone; one without a row is taken away on closing.

    On a disk of the same machine nothing is lost by a killed process. On a network file system
    others may see a row only when it is confirmed: within `sync_s`.

    Args:
        folder: The folder; made if it is not there. Its files end in .journal.
        sync_s: As of Journal.

    Raises:
        UsageError: If it is no folder, or a file in it that ends so is no journal.
    """

    def __init__(self, folder: str | os.PathLike[str], *, sync_s: float | None = 1.0) -> None:
        self._folder = folder_of(folder)
        self._others: dict[str, JournalReader] = {}
        self._looking = Lock()
        name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:12]}{_ENDING}"
        super().__init__(self._folder / name, sync_s=sync_s)
        try:
            self._look()
        except (UsageError, OSError):
            self.close()
            raise

    def __contains__(self, key: Key) -> bool:
        if super().__contains__(key):
            return True
        self._look()
        return any(key in other for other in self._others.values())

    def read(self, key: Key) -> JsonValue:
        """Return the record of a question, whoever wrote it.

        Raises:
            KeyError: If it is in no file of the folder.
            UsageError: If its line is not what it was when it was found, or the journal is closed.
        """
        found = [super().read(key)] if super().__contains__(key) else []
        if not any(map(_is_result, found)):
            self._look()
            found += [other.read(key) for other in self._others.values() if key in other]
        if not found:
            raise KeyError(key)
        return next(filter(_is_result, found), found[0])

    def close(self) -> None:
        """Let the files go; closing twice is fine.

        Raises:
            OSError: If the disk does not confirm what was written; the files are let go.
        """
        try:
            super().close()
        finally:
            for other in self._others.values():
                other.close()
            if not len(self):
                self.path.unlink(missing_ok=True)

    def _look(self) -> None:
        """Take in what others have written since; files that were read are asked for their size."""
        with self._looking:
            for other in self._others.values():
                other.refresh()
            with os.scandir(self._folder) as entries:
                names = {entry.name for entry in entries if entry.name.endswith(_ENDING)}
            for name in sorted(names - self._others.keys() - {self.path.name}):
                reader = _reader(self._folder / name)
                if reader is not None:  # another thread may be going through the old ones
                    self._others = {**self._others, name: reader}


def _is_result(record: JsonValue) -> bool:
    return is_object(record) and "result" in record


def _reader(path: Path) -> JournalReader | None:
    """Return what reads a file; None where its writer has just taken it away.

    Raises:
        UsageError: If it is no journal.
    """
    try:
        return JournalReader(path)
    except UsageError:
        if path.exists():
            raise
        return None


def folder_of(folder: str | os.PathLike[str]) -> Path:
    """Return the folder of a shared journal, which is made if it is not there.

    Raises:
        UsageError: If it cannot be made, or is a file.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(
            f"{path} cannot be a folder of journals: {exc.strerror}; name another one"
        ) from exc
    return path
