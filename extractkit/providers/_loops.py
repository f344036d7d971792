"""What is to end before an event loop is closed, also where nobody shuts its generators down.

`asyncio.run` and its like end all asynchronous generators of a loop. A loop that is only closed
leaves them, with their connections open. Neighbour: `_clients` keeps a client open by a generator.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import AsyncGenerator
from typing import Any, Final

__all__ = ["end_before"]

_Kept = weakref.WeakSet[AsyncGenerator[None, None]]

_kept: Final[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept]] = (
    weakref.WeakKeyDictionary()
)
_lock: Final = threading.Lock()


def end_before(loop: asyncio.AbstractEventLoop, keeper: AsyncGenerator[None, None]) -> None:
    """Have `loop` end `keeper` before it is closed, where a loop lets itself be asked for that.

    Args:
        loop: The loop in which `keeper` was begun. Its own `close` still does what it does.
        keeper: Held weakly.
    """
    with _lock:
        kept = _kept.get(loop)
        if kept is None:
            kept = _kept[loop] = _Kept()
            with contextlib.suppress(AttributeError):  # loops that are not written in Python
                loop.close = _Closing(loop, kept)  # type: ignore[method-assign]  # one object's own
        kept.add(keeper)


class _Closing:
    """Stands in for the `close` of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, kept: _Kept) -> None:
        self._loop = weakref.ref(loop)
        self._close = type(loop).close
        self._kept = kept

    def __call__(self) -> None:
        """End what was kept, and close the loop."""
        loop = self._loop()
        if loop is None:
            return
        if not (loop.is_closed() or loop.is_running()):
            if _is_in_loop():  # two cannot run in one thread
                thread = threading.Thread(target=self._end, args=(loop,))
                thread.start()
                thread.join()
            else:
                self._end(loop)
        self._close(loop)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        kept: list[Any] = list(self._kept)
        for keeper in kept:
            if keeper.ag_frame is not None:
                loop.run_until_complete(keeper.aclose())


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
