"""Files that a command writes: looked at before the work, written after it.

Neighbours: `_extract`, `_eval` and `_journals` write through here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from extractkit.cli._lines import UnwritableError, stream
from extractkit.errors import UsageError

__all__ = ["require_writable", "write"]


def require_writable(option: str, goal: str, read: Sequence[str | None]) -> None:
    """Return if a file can be written there; before the model is asked, not after.

    Args:
        option: What was typed before it, for messages.
        goal: The file.
        read: The files that this call reads, as they were typed, "-" being standard input; None
            where one was not named.

    Raises:
        UsageError: If not, or if that would overwrite what this call reads.
    """
    path = Path(goal)
    if goal == "-":
        raise UsageError(f"{option} -: a page goes to a file; name one (./- for one of that name)")
    if path.is_dir():
        raise UsageError(f"{option} {path}: that is a folder; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")
    for known in filter(None, read) if path.exists() else ():
        if _is_same(path, known):
            raise UsageError(f"{option} {path}: that would overwrite {known}; name another file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{option} {path}: it cannot be written; name another file")


def _is_same(path: Path, known: str) -> bool:
    """Return whether `path` is the file that `known` names, "-" being standard input."""
    if known != "-":
        return Path(known).is_file() and path.samefile(known)
    opened = stream("stdin")
    try:
        here = None if opened is None else os.fstat(opened.fileno())
    except OSError:  # one that a notebook put there has no number
        return False
    return here is not None and os.path.samestat(here, path.stat())


def write(option: str, goal: str, text: str) -> None:
    """Write a file whole.

    Raises:
        UnwritableError: If it cannot be written.
    """
    try:
        # Half of a character, as models may write it, becomes the JSON escape that it is.
        Path(goal).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise UnwritableError(f"{option} {goal}: {error.strerror or error}") from error
