"""Writes down what came of inputs; what the disk does not take is held and told.

Neighbours: `_asking` hands it every item that has ended, `_files` makes an output of what is here.
"""

from __future__ import annotations

import errno
import json
import os
from typing import Final, TypeVar

from extractkit.batch._item import Item, written
from extractkit.journal import Journal, Key

__all__ = ["Keeper"]

T = TypeVar("T")

_TOLD: Final = 100
"""How many ids of lost answers are named."""


class Keeper:
    """Keeps what came of inputs in a journal, and in memory what that cannot take.

    Args:
        journal: It, which is open.

    Attributes:
        journal: Likewise.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._held: dict[bytes, tuple[Key, bytes]] = {}
        self._error: OSError | None = None

    @property
    def is_full(self) -> bool:
        """Whether what comes now may find no room: nobody is to be asked any more."""
        return self._error is not None or self.journal.is_full

    def keep(self, key: Key, item: Item[T]) -> Item[T]:
        """Write down what came of an input; return it, or the error of one that JSON cannot say."""
        item, record = written(item)
        self.keep_json(key, record)
        return item

    def keep_json(self, key: Key, record: bytes) -> None:
        """Write down what came of an input, as `written` gives it."""
        try:
            self.journal.append_json(key, record)
        except OSError as error:
            self._error = self._error or error
            self._held[key.digest] = key, record

    def retry(self) -> None:
        """Write down what is held, where the disk has room again."""
        for digest, (key, record) in list(self._held.items()):
            try:
                self.journal.append_json(key, record)
            except OSError:
                return
            del self._held[digest]

    def texts(self, digest: bytes) -> tuple[bytes, bytes] | None:
        """Return id and record of a question as JSON, kept or held; None where there is none.

        Raises:
            UsageError: If its line in the journal is not what it was.
        """
        held = self._held.get(digest)
        if held is None:
            return self.journal.row_json(digest)
        key, record = held
        return json.dumps(key.id).encode(), record

    def lost(self) -> str:
        """Return what is not in the journal and what that means; "" where nothing is."""
        if not self._held:
            return ""
        ids = [repr(key.id) for key, _ in self._held.values()]
        more = f" and {len(ids) - _TOLD} more" if len(ids) > _TOLD else ""
        return (
            f"what came of {len(ids)} inputs is not in it, is asked again next time and paid for "
            f"again: {', '.join(ids[:_TOLD])}{more}"
        )

    def trouble(self) -> OSError:
        """Return the error that says what happened, and what is kept."""
        error = self._error or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        why = os.strerror(error.errno) if error.errno else str(error)
        lost = self.lost() or "what was under way is in it"
        return OSError(
            error.errno,
            f"{why}: nobody is asked any more, because the journal could not keep it; {lost}. "
            "Make room; the same call goes on",
            str(self.journal.path),
        )
