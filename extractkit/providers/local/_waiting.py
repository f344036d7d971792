"""How long one call may take, and whether it is still wanted.

Neighbours: `Local` makes one Patience for each call and hands it to everything that can take
time. This file starts no thread and loads nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from concurrent.futures import CancelledError

from extractkit.providers._time import CallTime

__all__ = ["Patience"]

_LOOK_S = 0.05  # how soon a call that waits for a lock sees that it was cancelled


class Patience(CallTime):
    """The time of one call, counted from here, and its cancellation.

    Args:
        timeout_s: The budget in seconds, at least 0; None has no end.

    Raises:
        UsageError: If `timeout_s` is negative or NaN.
    """

    def __init__(self, timeout_s: float | None) -> None:
        super().__init__(timeout_s, stage="waiting for the model")
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Make the next check raise CancelledError; nobody waits for the answer any more."""
        self._cancelled.set()

    def check(self) -> None:
        """Return if the call may go on.

        Raises:
            DeadlineExceededError: If the budget has run out.
            CancelledError: If the call was cancelled.
        """
        if self._cancelled.is_set():
            raise CancelledError
        if self.left() == 0:
            raise self.expired()

    @contextlib.contextmanager
    def hold(self, lock: threading.Lock) -> Generator[None, None, None]:
        """Hold `lock` for the block, waiting for it no longer than the budget.

        Raises:
            DeadlineExceededError: If the budget ran out before the lock was free.
            CancelledError: If the call was cancelled before.
        """
        while True:
            self.check()
            left = self.left()
            if lock.acquire(timeout=_LOOK_S if left is None else min(left, _LOOK_S)):
                break
        try:
            yield
        finally:
            lock.release()
