"""Bounds of our own clients: how long they wait, how long a failure is.

Neighbours: `_clients` gives its HTTP clients these, `_transport` says when a call ends.
An HTTP library waits anew for each piece that comes, so that a server that sends a byte now and
then keeps a caller for ever, also in the headers and in the body of a failure, which the SDKs
read before anybody else sees them. They read that body to its end, however long it is; what is
read of it here is cut.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

__all__ = [
    "FIRST_CONNECT_S",
    "MOST_FAILURE_BYTES",
    "Connecting",
    "bound",
    "bound_async",
    "cutting",
    "cutting_async",
    "ending_at",
    "forget_reached",
]

MOST_FAILURE_BYTES: Final = 64 * 1024
"""How much of the body of a failure is read."""

_MOST_PACKED_BYTES: Final = (
    4 * 1024
)  # of one with a content encoding: it can be a thousand times it

FIRST_CONNECT_S: Final = 0.8
"""How long a connection may take to a place that has not been reached before."""

_BUSY_S: Final = 0.1  # as late as this, a wait has ended for want of time and not of an answer

_SHORTEST_S: Final = 0.001  # a socket takes 0 for "do not wait at all", which fails in another way

_calls = threading.local()


def ending_at(end: float | None) -> _EndingAt:
    """Within the block, requests of this thread end at `end` (monotonic; None: no limit)."""
    return _EndingAt(end)


class _EndingAt:
    __slots__ = ("_end", "_outer")

    def __init__(self, end: float | None) -> None:
        self._end = end

    def __enter__(self) -> None:
        self._outer: Any = getattr(_calls, "end", None)
        _calls.end = (self._end,)

    def __exit__(self, *exc_info: object) -> None:
        _calls.end = self._outer


def cutting(response: Any) -> None:
    """Cut the body of a failure; a hook for responses of a synchronous HTTP client of ours."""
    if response.is_success:
        return
    import httpx2

    stream: Any = response.stream
    most = _most_of(response)

    class Cut(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            left = most
            for chunk in stream:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return

        def close(self) -> None:
            stream.close()

    response.stream = Cut()


async def cutting_async(response: Any) -> None:
    """Cut the body of a failure; a hook for responses of an asynchronous HTTP client of ours."""
    if response.is_success:
        return
    import httpx2

    stream: Any = response.stream
    most = _most_of(response)

    class Cut(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = most
            async for chunk in stream:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Cut()


def _most_of(response: Any) -> int:
    is_packed = response.headers.get("content-encoding", "identity") != "identity"
    return _MOST_PACKED_BYTES if is_packed else MOST_FAILURE_BYTES


def bound(http: Any) -> None:
    """Make the connections that `http`, a synchronous client of ours, opens end with their calls.

    What this replaces has no public name. Where it is gone, waits are as the library has them.
    """
    _replace_backends(http, _Backend)


def bound_async(http: Any) -> None:
    """Make `http`, an asynchronous client of ours, wait for first connections as `bound` does.

    Where its calls end is the event loop's affair.
    """
    _replace_backends(http, _AsyncBackend)


def _replace_backends(http: Any, kind: Callable[[Any], Any]) -> None:
    transports: list[Any] = [getattr(http, "_transport", None)]
    transports.extend(getattr(http, "_mounts", {}).values())
    for transport in transports:
        pool: Any = getattr(transport, "_pool", None)
        backend: Any = getattr(pool, "_network_backend", None)
        if backend is not None:
            pool._network_backend = kind(backend)


_reached: set[tuple[str, int]] = set()
"""Where a connection has been opened by this process."""


def forget_reached() -> None:
    """Forget where connections have been opened, as if there had been none."""
    _reached.clear()


class Connecting:
    """The opening of one connection.

    A place that nothing has ever come from is most likely a wrong one: it is not waited for as
    long as the library would, and not tried again. One that has been reached may be busy.

    Args:
        host: Where.
        port: And at which port.
        timeout: The seconds that the library waits.
        end: When the call ends, on the monotonic clock; None for no limit.

    Attributes:
        timeout: The seconds that are waited.
        is_given_up: Whether it did not come in the time that a first one has.
    """

    __slots__ = ("_is_cut", "_place", "is_given_up", "timeout")

    def __init__(
        self, host: str, port: int, timeout: float | None, end: float | None = None
    ) -> None:
        self._place = (host, port)
        is_first = self._place not in _reached
        most = FIRST_CONNECT_S if is_first and (timeout is None or timeout > FIRST_CONNECT_S) else 0
        self.timeout = _shorter(most or timeout, end)
        self._is_cut = self.timeout is not None and self.timeout == most
        self.is_given_up = False

    def __enter__(self) -> Connecting:
        return self

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        if exc is None:
            _reached.add(self._place)
            return
        from httpcore2 import ConnectError, ConnectTimeout

        if isinstance(exc, ConnectTimeout) and self._is_cut and self._place not in _reached:
            self.is_given_up = True
            raise ConnectError(
                f"no connection within {FIRST_CONNECT_S} s (where that is too short, give "
                "client=..., which waits as long as you say)"
            ) from None


class _Backend:
    """Opens connections as another back end does, and bounds them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **rest: Any) -> Any:
        with Connecting(host, port, timeout, _end()) as connecting:
            opened = self._inner.connect_tcp(host, port, timeout=connecting.timeout, **rest)
        return _Stream(opened)


class _AsyncBackend:
    """Opens connections as another back end does, and bounds the first one."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, **rest: Any
    ) -> Any:
        from httpcore2 import ConnectError

        began = time.monotonic()
        connecting = Connecting(host, port, timeout)
        connect = self._inner.connect_tcp
        try:
            with connecting:
                return _AsyncStream(await connect(host, port, timeout=connecting.timeout, **rest))
        except ConnectError:
            is_late = time.monotonic() - began >= FIRST_CONNECT_S + _BUSY_S
            if not (connecting.is_given_up and is_late):
                raise
        # The loop had no time to look, as where hundreds of calls begin at once: nothing is known.
        return _AsyncStream(await connect(host, port, timeout=timeout, **rest))


class _AsyncStream:
    """Reads and writes as another stream does, and says sooner whether something lies there.

    The library asks that of every idle connection for every request and again for every answer:
    with 64 at once it was a fifth of all that a request costs.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._socket: Any = None
        self._poll: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable" and hasattr(select, "poll"):
            return self._is_readable()
        return self._inner.get_extra_info(info)

    async def start_tls(self, *args: Any, **rest: Any) -> Any:
        return _AsyncStream(await self._inner.start_tls(*args, **rest))

    def _is_readable(self) -> bool:
        if self._socket is None:
            self._socket = self._inner.get_extra_info("socket")
        place: int = -1 if self._socket is None else self._socket.fileno()
        if place < 0:  # closed: what would be read next is the end
            return True
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(place, select.POLLIN)
        return bool(self._poll.poll(0))


class _Stream:
    """Reads and writes as another stream does, no longer than the call that uses it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._until: float | None = None  # of the call that has sent something last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._until is not None and time.monotonic() >= self._until:
            # What lies ready is read without any wait, and so without an end of its own.
            from httpcore2 import ReadTimeout

            raise ReadTimeout
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
