"""Connections of our own synchronous clients, on which no wait is longer than its call may last.

Neighbours: `_clients` gives its HTTP client such connections, `_transport` says when a call ends.
An HTTP library waits anew for each piece that comes, so that a server that sends a byte now and
then keeps a caller for ever, also in the headers and in the body of a failure, which the SDKs
read before anybody else sees them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator
from typing import Any, Final

__all__ = ["bound", "ending_at"]

_SHORTEST_S: Final = 0.001  # a socket takes 0 for "do not wait at all", which fails in another way

_calls = threading.local()


@contextlib.contextmanager
def ending_at(end: float | None) -> Generator[None, None, None]:
    """Within the block, requests of this thread end at `end` (monotonic; None: no limit)."""
    outer: Any = getattr(_calls, "end", None)
    _calls.end = (end,)
    try:
        yield
    finally:
        _calls.end = outer


def bound(http: Any) -> None:
    """Make the connections that `http`, a client of ours, opens from now on end with their calls.

    What this replaces has no public name. Where it is gone, waits are as the library has them.
    """
    transports: list[Any] = [getattr(http, "_transport", None)]
    transports.extend(getattr(http, "_mounts", {}).values())
    for transport in transports:
        pool: Any = getattr(transport, "_pool", None)
        backend: Any = getattr(pool, "_network_backend", None)
        if backend is not None:
            pool._network_backend = _Backend(backend)


class _Backend:
    """Opens connections as another back end does, and bounds them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **rest: Any) -> Any:
        opened = self._inner.connect_tcp(host, port, timeout=_shorter(timeout, _end()), **rest)
        return _Stream(opened)


class _Stream:
    """Reads and writes as another stream does, no longer than the call that uses it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._until: float | None = None  # of the call that has sent something last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        read: bytes = self._inner.read(max_bytes, timeout=_shorter(timeout, self._until))
        return read

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._until = _end()
        self._inner.write(buffer, timeout=_shorter(timeout, self._until))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> Any:
        secured = self._inner.start_tls(
            ssl_context, server_hostname=server_hostname, timeout=_shorter(timeout, _end())
        )
        return _Stream(secured)


def _end() -> float | None:
    current: tuple[float | None] | None = getattr(_calls, "end", None)
    return None if current is None else current[0]


def _shorter(timeout: float | None, end: float | None) -> float | None:
    if end is None:
        return timeout
    left = max(_SHORTEST_S, end - time.monotonic())
    return left if timeout is None else min(timeout, left)
