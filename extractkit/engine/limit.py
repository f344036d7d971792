"""An end for everything that is awaited in one place after the other.

Neighbours: the asynchronous driver waits for each piece of a stream within it. `asyncio.timeout`
would make a timer for each piece, which costs as much as the piece; here is one for all of them.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from extractkit.errors import DeadlineExceededError

__all__ = ["Limit"]


class Limit:
    """Within its blocks, one after the other, what is awaited is cut off at one moment.

    What lies ready is taken after that moment, too. Whoever made it stops it.

    Args:
        timeout_s: Seconds from the first block; None has no end.
    """

    __slots__ = ("_before", "_is_cut", "_is_over", "_task", "_timeout_s", "_timer")

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s
        self._timer: asyncio.Handle | None = None
        self._task: asyncio.Task[object] | None = None  # that waits in a block
        self._before = 0  # how often others had asked to cancel it
        self._is_over = False
        self._is_cut = False

    async def __aenter__(self) -> None:
        if self._timeout_s is None:
            return
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._timeout_s, self._ring)
        elif self._is_over:
            asyncio.get_running_loop().call_soon(self._ring)
        self._task = asyncio.current_task()
        self._before = 0 if self._task is None else self._task.cancelling()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        if not self._is_cut or task is None:
            return
        self._is_cut = False
        if task.uncancel() <= self._before and kind is asyncio.CancelledError:
            raise DeadlineExceededError("the provider did not answer in time") from error

    def stop(self) -> None:
        """Cut nothing off any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._is_over = True
        if self._task is not None and not self._is_cut:
            self._is_cut = True
            self._task.cancel()
