"""Bounds on time that hold on a busy machine: what work costs, and what waiting takes.

A virtual machine may run nobody for seconds, and a collection of garbage over all that a test run
has left takes long too. Neither says anything of the code under test.
"""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Iterator

_BEAT_S = 0.005
_PAUSE_S = 0.05
_LONGEST_S = 60.0


@contextlib.contextmanager
def works_within(seconds: float) -> Iterator[None]:
    """Assert that this thread computes no longer than so many seconds; waiting costs nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    began = time.thread_time()
    try:
        yield
        took = time.thread_time() - began
    finally:
        if was_enabled:
            gc.enable()
    assert took < seconds


class Watch:
    """Measures a wait from when it is made until it is stopped.

    Beside it a thread sleeps a little, again and again, and sees when it was not woken: then
    nobody was. Code under test that waits lets it run, so that a wait too long is seen as one.

    Attributes:
        seconds: Those in which threads of this process could run, when it was stopped.
        waited: All of them.
    """

    def __init__(self) -> None:
        self._is_stopped = threading.Event()
        self._pauses = 0.0
        self.seconds = self.waited = 0.0
        self._beating = threading.Thread(target=self._beat, name="watch", daemon=True)
        self._began = time.monotonic()
        self._beating.start()

    def stop(self) -> float:
        """End the measurement; return `seconds`."""
        self.waited = time.monotonic() - self._began
        self._is_stopped.set()
        self._beating.join()
        self.seconds = max(self.waited - self._pauses, 0.0)
        return self.seconds

    def _beat(self) -> None:
        seen = self._began
        while not self._is_stopped.is_set() and seen - self._began < _LONGEST_S:
            time.sleep(_BEAT_S)
            now = time.monotonic()
            if now - seen > _PAUSE_S:
                self._pauses += now - seen - _BEAT_S
            seen = now
