"""The time of one call: how much of it is left, and the error that says that it has ended.

Neighbours: `_exchange` counts a hosted call by it, `local` one in this process.
"""

from __future__ import annotations

import time
from typing import Final

from extractkit.errors import DeadlineExceededError, UsageError

__all__ = ["CallTime", "ahead_of"]

_AHEAD_S: Final = 0.05


def ahead_of(left: float) -> float:
    """Return how much sooner than the caller's time ours ends, where a part is to be kept.

    Args:
        left: The seconds that are left.
    """
    return min(_AHEAD_S, left / 10)


class CallTime:
    """The time of one call, counted from here.

    Args:
        timeout_s: Seconds, at least 0; None has no end.
        stage: What the call is doing, in words for the error message.

    Attributes:
        end: When it ends on the monotonic clock; None where it has no end.
        stage: As given.

    Raises:
        UsageError: If `timeout_s` is negative or NaN.
    """

    def __init__(self, timeout_s: float | None, *, stage: str) -> None:
        if timeout_s is not None and not timeout_s >= 0:
            raise UsageError(f"timeout_s={timeout_s!r}: expected at least 0 seconds, or None")
        self.stage = stage
        self.end = None if timeout_s is None else time.monotonic() + timeout_s
        self._timeout_s = timeout_s

    def left(self) -> float | None:
        """Return the seconds that are left, at least 0; None where there is no end."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    def expired(self) -> DeadlineExceededError:
        """Return the error that says that the time has ended."""
        return DeadlineExceededError(
            # No number: what is left of a caller's budget here is not what the caller gave.
            f"the time ended while {self.stage}; raise timeout_s, shorten the text, or lower "
            "Sampling(max_output_tokens=...)",
            timeout_s=self._timeout_s,
        )
