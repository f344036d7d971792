"""The server: one thread accepts, one thread per connection replies by script.

Starts without waiting on a free port and ends without leaving a thread or a socket. Waiting
between bytes ends at once when the client goes away (which is recorded) or the server closes.
"""

from __future__ import annotations

import contextlib
import json
import math
import select
import socket
import struct
import threading
import time
from typing import Any, Self, TypeAlias

from tests.server.script import BEFORE_HEADERS, Recorded, Reply, Script

__all__ = ["Loopback"]

_NOTHING = Reply(status=404, headers={"content-type": "text/plain"}, body=b"nothing is scripted")


class Loopback:
    """A scripted HTTP server, used as a context manager.

    Args:
        replies: Sent in this order, the last one again and again.
    """

    def __init__(self, *replies: Reply) -> None:
        self.requests: list[Recorded] = []
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._script: Script = _in_order(replies)
        self._round = 0
        self._busy = 0
        self._threads: list[threading.Thread] = []
        self._connections: dict[int, socket.socket] = {}
        self._accepted = 0
        self._closing = False

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        # Closing one end wakes every select() on the other.
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._start(self._accept)
        return self

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._closing = True
        self._wake_writer.close()
        for connection in list(self._connections.values()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(timeout=5)
        alive = [thread.name for thread in self._threads if thread.is_alive()]
        self._wake_reader.close()
        self._listener.close()
        assert not alive, f"threads of the server did not end: {alive}"

    @property
    def url(self) -> str:
        """Where the server is, as the anthropic SDK wants it."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def openai_url(self) -> str:
        """Where the server is, as the openai SDK wants it."""
        return f"{self.url}/v1"

    @property
    def open_connections(self) -> int:
        """How many clients are connected at this moment."""
        with self._lock:
            return len(self._connections)

    @property
    def accepted(self) -> int:
        """How many connections were made in all."""
        with self._lock:
            return self._accepted

    def play(self, *replies: Reply) -> None:
        """Forget the requests so far and reply with these from now on, the last one for ever."""
        self.play_by(_in_order(replies))

    def play_by(self, script: Script) -> None:
        """Forget the requests so far and reply by a function of the request from now on."""
        with self._lock:
            self._script = script
            self._round += 1
            # A new list: whoever holds the old one keeps it as it is.
            self.requests = []

    def settle(self, timeout_s: float = 2.0) -> None:
        """Wait until no reply is under way, as after a client that went away.

        Raises:
            AssertionError: If one still is after `timeout_s`.
        """
        with self._changed:
            assert self._changed.wait_for(lambda: not self._busy, timeout_s), "a reply hangs"

    def _start(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        with self._lock:
            self._threads = [known for known in self._threads if known.is_alive()]
            thread.start()
            self._threads.append(thread)

    def _accept(self) -> None:
        while True:
            if self._wake_reader in _ready(self._listener, self._wake_reader):
                return
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                number = self._accepted
                self._accepted += 1
                self._connections[number] = connection
            self._start(self._serve, connection, number)

    def _serve(self, connection: socket.socket, number: int) -> None:
        wire = _Connection(connection, self._wake_reader)
        try:
            while (asked := wire.read_request()) is not None:
                request, reply = self._record(asked, number)
                try:
                    if not self._carry_out(wire, request, reply):
                        return
                finally:
                    with self._changed:
                        self._busy -= 1
                        self._changed.notify_all()
        except _GoneError:
            return
        finally:
            with self._lock:
                del self._connections[number]
            connection.close()

    def _record(self, asked: _Asked, number: int) -> tuple[Recorded, Reply]:
        method, path, headers, body = asked
        request = Recorded(
            method=method,
            path=path,
            headers=headers,
            body=json.loads(body) if body else None,
            at=time.monotonic(),
            connection=number,
        )
        with self._lock:
            self.requests.append(request)
            script = self._script
            self._busy += 1
            try:
                return request, script(request)
            except BaseException:
                self._busy -= 1
                raise

    def _carry_out(self, wire: _Connection, request: Recorded, reply: Reply) -> bool:
        """Send `reply`; return whether the connection serves on."""
        try:
            wire.pause(reply.wait_s)
            if reply.drop_at == BEFORE_HEADERS:
                request.replied = True
                wire.end(reset=reply.reset)
                return False
            wire.send_head(reply)
            wire.send_body(reply)
        except _GoneError:
            request.left = not self._closing
            raise
        request.replied = True
        if reply.drop_at is not None:
            wire.end(reset=reply.reset)
            return False
        # After an untrue length the client cannot know where the next reply begins.
        return not (
            reply.close or reply.framing == "until_close" or reply.declared_length is not None
        )


class _GoneError(Exception):
    """The client went away, or the server is closing."""


_Asked: TypeAlias = tuple[str, str, dict[str, str], bytes]


class _Connection:
    """One connection: reads requests, sends what a Reply says, notices that the client left."""

    def __init__(self, connection: socket.socket, wake: socket.socket) -> None:
        self._socket = connection
        self._wake = wake
        self._buffer = b""

    def read_request(self) -> _Asked | None:
        """Return method, path, headers and body of the next request, None at a plain end."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._receive():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            if not self._receive():
                return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return method, path, headers, body

    def send_head(self, reply: Reply) -> None:
        """Send status line and headers, byte by byte where the reply says so."""
        head = reply.head()
        if not reply.head_pause_s:
            self._send(head)
            return
        for position in range(len(head)):
            self._send(head[position : position + 1])
            self.pause(reply.head_pause_s)

    def send_body(self, reply: Reply) -> None:
        """Send the pieces of the body, and the end of it where it is not cut off."""
        for position, piece in enumerate(reply.pieces()):
            if position:
                self.pause(reply.pause_s)
            chunked = reply.framing == "chunked"
            self._send(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if reply.framing == "chunked" and reply.drop_at is None:
            self._send(b"0\r\n\r\n")

    def pause(self, seconds: float) -> None:
        """Wait; raise _GoneError as soon as the client leaves or the server closes."""
        until = time.monotonic() + seconds
        watched = [self._socket, self._wake]
        while (left := until - time.monotonic()) > 0:
            ready = _ready(*watched, timeout_s=left)
            if self._wake in ready or (ready and self._has_left()):
                raise _GoneError
            if ready:
                watched = [self._wake]  # the client sends ahead; that is no reason to spin

    def end(self, *, reset: bool) -> None:
        """End the connection, with a reset where asked for."""
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self._socket.shutdown(socket.SHUT_RDWR)

    def _has_left(self) -> bool:
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def _receive(self) -> bool:
        if self._wake in _ready(self._socket, self._wake):
            return False
        try:
            more = self._socket.recv(65536)
        except OSError:
            return False
        self._buffer += more
        return bool(more)

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:
            raise _GoneError from None


def _ready(*sockets: socket.socket, timeout_s: float | None = None) -> list[socket.socket]:
    """Return which of `sockets` can be read or have ended; poll() takes any number of files."""
    poll = select.poll()
    for each in sockets:
        poll.register(each, select.POLLIN)
    timeout_ms = None if timeout_s is None else math.ceil(timeout_s * 1000)
    files = {file for file, _ in poll.poll(timeout_ms)}
    return [each for each in sockets if each.fileno() in files]


def _in_order(replies: tuple[Reply, ...]) -> Script:
    waiting = list(replies) or [_NOTHING]

    def script(_: Recorded) -> Reply:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return script
