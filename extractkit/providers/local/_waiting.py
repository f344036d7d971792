"""How long one call may take, and whether it is still wanted.

Neighbours: `Local` makes one Patience for each call and hands it to everything that can take
time. This file starts no thread and loads nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from typing import Final

from extractkit.providers._time import CallTime, ahead_of

__all__ = ["LOOK_S", "Handing", "Patience"]

LOOK_S: Final = 0.05
"""How soon a call that waits sees that it was cancelled."""


class Patience(CallTime):
    """The time of one call, counted from here, and its cancellation.

    Args:
        timeout_s: The budget in seconds, at least 0; None has no end.

    Raises:
        UsageError: If `timeout_s` is negative or NaN.
    """

    def __init__(self, timeout_s: float | None) -> None:
        super().__init__(timeout_s, stage="waiting for the model")
        self._cancelled = False
        self._reader: threading.Thread | None = None

    def cancel(self) -> None:
        """Make the next check raise CancelledError; nobody waits for the answer any more.

        It takes no lock, so that a garbage collector can call it.
        """
        self._cancelled = True

    def read_here(self) -> None:
        """Take the calling thread for the one that reads what another makes."""
        self._reader = threading.current_thread()

    def hurry(self) -> None:
        """Let the time end a little earlier, so that what came by then is read in the caller's."""
        left = self.left()
        if self.end is not None and left is not None:
            self.end -= ahead_of(left)

    def check(self) -> None:
        """Return if the call may go on.

        Raises:
            DeadlineExceededError: If the budget has run out.
            CancelledError: If the call was cancelled.
        """
        if self._cancelled or self._is_left_behind():
            raise CancelledError
        if self.left() == 0:
            raise self.expired()

    def _is_left_behind(self) -> bool:
        """Whether the process is ending, and waits for a thread that nobody reads from."""
        reader = self._reader
        return not (reader is None or reader.is_alive() or threading.main_thread().is_alive())

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
            if lock.acquire(timeout=LOOK_S if left is None else min(left, LOOK_S)):
                break
        try:
            yield
        finally:
            lock.release()


class Handing:
    """A block whose exception goes to somebody else instead of the thread that it ran in."""

    def __init__(self, hand: Callable[[BaseException], None]) -> None:
        self._hand = hand

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> bool:
        if exc is not None:
            self._hand(exc)
        return True
