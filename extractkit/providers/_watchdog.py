"""Ends a blocking read when the time of its call is over.

Neighbours: `_transport` puts a response under watch while it is read through a synchronous client.
A read waits as long as the request said when it was sent, and each piece that trickles in begins
that wait anew; so one thread of this process shuts the connection down at the moment that counts.
Our own clients know better (`_bounded`), asynchronous calls are cancelled.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from typing import Any

__all__ = ["Watch"]


class _Watchdog:
    """Shuts sockets down at their moments; its thread ends when there is nothing to watch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._watched: dict[int, tuple[float, socket.socket]] = {}
        self._wakes_at: float | None = None  # None: there is no thread

    def add(self, sock: socket.socket, end: float) -> int:
        """Return a number for `forget`; at `end` (monotonic) the socket is shut down."""
        with self._changed:
            number = next(self._numbers)
            self._watched[number] = (end, sock)
            if self._wakes_at is None:
                self._wakes_at = end
                threading.Thread(target=self._run, name="extractkit-deadlines", daemon=True).start()
            elif end < self._wakes_at:
                self._changed.notify()
        return number

    def forget(self, number: int) -> None:
        """Leave a socket alone."""
        with self._changed:
            self._watched.pop(number, None)

    def _run(self) -> None:
        with self._changed:
            while self._watched:
                self._wakes_at = min(end for end, _ in self._watched.values())
                self._changed.wait(max(0.0, self._wakes_at - time.monotonic()))
                now = time.monotonic()
                over = [number for number, (end, _) in self._watched.items() if end <= now]
                for number in over:
                    _shut_down(self._watched.pop(number)[1])
            self._wakes_at = None


_watchdog = _Watchdog()


def _start_anew() -> None:
    """A forked child has no thread, and its copy of the lock may be held for ever."""
    global _watchdog
    _watchdog = _Watchdog()


os.register_at_fork(after_in_child=_start_anew)


class Watch:
    """One call's watch over the connection that its answer is read from.

    Args:
        end: When the call ends, on the monotonic clock; None for no limit.
    """

    def __init__(self, end: float | None) -> None:
        self._end = end
        self._number: int | None = None

    def over(self, response: Any) -> bool:
        """Watch the connection of `response`; return whether it has one of its own to watch."""
        sock = _socket_of(response)
        if self._end is not None and sock is not None:
            self._number = _watchdog.add(sock, self._end)
        return self._number is not None

    def stop(self) -> None:
        """Leave the connection alone."""
        if self._number is not None:
            _watchdog.forget(self._number)


def _socket_of(response: Any) -> socket.socket | None:
    # Under HTTP/2 other calls read from the same socket.
    if not str(response.http_version).startswith("HTTP/1"):
        return None
    stream: Any = response.extensions.get("network_stream")
    found: Any = None if stream is None else stream.get_extra_info("socket")
    return found if isinstance(found, socket.socket) else None


def _shut_down(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # Not the method of a TLS socket: it also forgets the layer that another thread reads.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
