"""What the server replies, as data: the bytes, how they are framed and cut, and what goes wrong.

A Reply never does anything; `loopback` carries it out.
"""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Literal, TypeAlias

__all__ = [
    "BEFORE_HEADERS",
    "Recorded",
    "Reply",
    "Script",
    "error_reply",
    "every",
    "gzipped",
    "html_page",
    "http_date",
    "json_reply",
    "split_within",
    "sse_reply",
]

BEFORE_HEADERS = -1
"""As `drop_at`: the connection goes before anything was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply.

    Attributes:
        status: The status of the first line.
        headers: Sent beside those that the framing needs.
        body: The bytes of the body, before the framing.
        framing: "length" announces the length; "chunked" makes a chunk of every piece;
            "until_close" announces nothing and closes.
        declared_length: A content-length that is not true, with framing "length".
        cuts: Offsets into the body; a new piece is sent at each.
        wait_s: Seconds before the first byte.
        head_pause_s: Seconds between any two bytes of status line and headers.
        pause_s: Seconds between any two pieces.
        drop_at: Bytes of the body after which the connection goes, or BEFORE_HEADERS.
        reset: Whether it goes with a reset instead of a plain end.
        close: Whether the connection ends after the whole reply.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    framing: Literal["length", "chunked", "until_close"] = "length"
    declared_length: int | None = None
    cuts: tuple[int, ...] = ()
    wait_s: float = 0.0
    head_pause_s: float = 0.0
    pause_s: float = 0.0
    drop_at: int | None = None
    reset: bool = False
    close: bool = False

    def but(self, **changes: Any) -> Reply:
        """Return this reply with other attributes."""
        return dataclasses.replace(self, **changes)

    def pieces(self) -> list[bytes]:
        """Return the body in the pieces in which it is sent, as far as it is sent at all."""
        body = self.body if self.drop_at is None else self.body[: max(self.drop_at, 0)]
        edges = [0, *sorted({cut for cut in self.cuts if 0 < cut < len(body)}), len(body)]
        return [body[a:b] for a, b in itertools.pairwise(edges) if a < b]

    def head(self) -> bytes:
        """Return status line and headers as they are sent."""
        lines = [f"HTTP/1.1 {self.status} Scripted"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.framing == "length":
            length = len(self.body) if self.declared_length is None else self.declared_length
            lines.append(f"content-length: {length}")
        elif self.framing == "chunked":
            lines.append("transfer-encoding: chunked")
        if self.close or self.framing == "until_close":
            lines.append("connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass(slots=True, kw_only=True)
class Recorded:
    """A request that arrived, and what became of its reply.

    Attributes:
        method: GET, POST, ...
        path: Path with query, as sent.
        headers: Names in lower case.
        body: The JSON of the body; None where there is none.
        at: Seconds of the monotonic clock at which it was read.
        connection: Number of the connection, from 0.
        replied: Whether the reply went out as scripted.
        left: Whether the client went away before that.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    at: float
    connection: int
    replied: bool = False
    left: bool = False


Script: TypeAlias = Callable[[Recorded], Reply]


_REQUEST_IDS = {"x-request-id": "req_openai", "request-id": "req_anthropic"}


def json_reply(value: Any, **changes: Any) -> Reply:
    """Return a reply with `value` as JSON, with the headers of both providers."""
    headers = {"content-type": "application/json", **_REQUEST_IDS, **changes.pop("headers", {})}
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return Reply(headers=headers, body=body, **changes)


def sse_reply(events: Iterable[bytes], **changes: Any) -> Reply:
    """Return a stream of `events`, one chunk each unless `cuts` says otherwise."""
    headers = {
        "content-type": "text/event-stream; charset=utf-8",
        **_REQUEST_IDS,
        **changes.pop("headers", {}),
    }
    pieces = list(events)
    if "cuts" not in changes:
        changes["cuts"] = tuple(itertools.accumulate(map(len, pieces)))
    return Reply(headers=headers, body=b"".join(pieces), framing="chunked", **changes)


def html_page(status: int = 200) -> Reply:
    """Return the page that a proxy shows instead of the API's answer."""
    return Reply(
        status=status,
        headers={"content-type": "text/html; charset=utf-8"},
        body=b"<!doctype html><html><body><h1>Sign in to the proxy</h1></body></html>",
    )


def error_reply(
    status: int,
    *,
    kind: str = "server_error",
    code: str | None = None,
    param: str | None = None,
    message: str = "scripted failure",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Return a failure in a body that the SDKs of both providers read."""
    error = {"type": kind, "code": code, "param": param, "message": message}
    return json_reply({"type": "error", "error": error}, status=status, headers=headers or {})


def http_date(from_now_s: float, now: float) -> str:
    """Return the moment `from_now_s` seconds after `now` as an HTTP date (whole seconds)."""
    return formatdate(now + from_now_s, usegmt=True)


def gzipped(reply: Reply) -> Reply:
    """Return `reply` with a gzip body; its cuts are spread over the smaller body."""
    body = gzip.compress(reply.body, mtime=0)
    cuts = every(max(1, len(body) // 5), body) if reply.cuts else ()
    return reply.but(
        headers={**reply.headers, "content-encoding": "gzip"}, body=body, cuts=tuple(cuts)
    )


def every(count: int, body: bytes) -> tuple[int, ...]:
    """Return the offsets that cut `body` into pieces of `count` bytes."""
    return tuple(range(count, len(body), count))


def split_within(body: bytes, *marks: bytes) -> tuple[int, ...]:
    """Return the offsets inside each place where one of `marks` stands, at every byte of it."""
    cuts: list[int] = []
    for mark in marks:
        cuts += _inside(body, mark)
    return tuple(sorted(set(cuts)))


def _inside(body: bytes, mark: bytes) -> Sequence[int]:
    found: list[int] = []
    start = body.find(mark)
    while start >= 0:
        found += range(start + 1, start + len(mark))
        start = body.find(mark, start + 1)
    return found
