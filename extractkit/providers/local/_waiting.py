"""How long one call may take, and whether it is still wanted.

Neighbours: `Local` makes one Patience for each call and hands it to everything that can take
time. This file starts no thread and loads nothing.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator
from concurrent.futures import CancelledError

from extractkit.errors import DeadlineExceededError, UsageError

__all__ = ["Patience"]

_LOOK_S = 0.05  # how soon a call that waits for a lock sees that it was cancelled


class Patience:
    """The time budget of one call, counted from here, and its cancellation.

    Args:
        timeout_s: The budget in seconds, at least 0; None has no end.

    Attributes:
        stage: What the call is doing, in words for the error message.

    Raises:
        UsageError: If `timeout_s` is negative or NaN.
    """

    def __init__(self, timeout_s: float | None) -> None:
        if timeout_s is not None and not timeout_s >= 0:
            raise UsageError(f"timeout_s={timeout_s!r}: expected at least 0 seconds, or None")
        self.stage = "waiting for the model"
        self._timeout_s = timeout_s
        self._end = None if timeout_s is None else time.monotonic() + timeout_s
        self._cancelled = threading.Event()

    def remaining(self) -> float | None:
        """Return the seconds that are left, at least 0; None where there is no end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

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
        if self._end is not None and time.monotonic() >= self._end:
            raise self.expired()

    def expired(self) -> DeadlineExceededError:
        """Return the error that says that the budget has run out."""
        return DeadlineExceededError(
            # No number: what is left of a caller's budget here is not what the caller gave.
            f"the time ended while {self.stage}; raise timeout_s, shorten the text, or lower "
            "Sampling(max_output_tokens=...)",
            timeout_s=self._timeout_s,
        )

    @contextlib.contextmanager
    def hold(self, lock: threading.Lock) -> Generator[None, None, None]:
        """Hold `lock` for the block, waiting for it no longer than the budget.

        Raises:
            DeadlineExceededError: If the budget ran out before the lock was free.
            CancelledError: If the call was cancelled before.
        """
        while True:
            self.check()
            left = self.remaining()
            if lock.acquire(timeout=_LOOK_S if left is None else min(left, _LOOK_S)):
                break
        try:
            yield
        finally:
            lock.release()
