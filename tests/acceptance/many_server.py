"""A server for many requests, in a process of its own: fast, faulty on purpose, and it counts.

    python -m tests.acceptance.many_server --rows N --seed N [--faults] [--latency SECONDS]

It prints its port. A chat completion is answered with the order that stands in the request. With
`--faults`, 1 % of all requests get a 429 (one in fifty of these asks to wait for a second), 0.5 % a
500, and 0.1 % lose their connection. GET /tally says how often each row was answered with 200.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["ORDER", "Tally", "counting"]

ORDER: Final = re.compile(
    rb"Order A-(\d+): (\d+) pieces of ([\w ]+) for ([\w ]+), total ([\d.]+) EUR"
)
_MODEL: Final = "gpt-4.1-mini"
_429, _500, _DROPPED = 0.01, 0.005, 0.001


@dataclass(kw_only=True)
class _Counts:
    answered: bytearray
    random: random.Random
    latency_s: float
    has_faults: bool
    requests: int = 0
    under_way: int = 0
    faults: dict[str, int] = field(default_factory=lambda: {"429": 0, "500": 0, "dropped": 0})


class _Connection(asyncio.Protocol):
    def __init__(self, counts: _Counts) -> None:
        self._counts = counts
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            length = re.search(rb"content-length: *(\d+)", head)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < size:
                return
            body, self._buffer = self._buffer[end + 4 : size], self._buffer[size:]
            if head.startswith(b"get /tally"):
                self._reply(200, self._tally())
            else:
                self._asked(body)

    def _asked(self, body: bytes) -> None:
        counts = self._counts
        counts.requests += 1
        counts.under_way += 1
        delay = counts.latency_s * counts.random.uniform(0.5, 1.5)
        asyncio.get_running_loop().call_later(delay, self._answer, body)

    def _answer(self, body: bytes) -> None:
        counts = self._counts
        counts.under_way -= 1
        chance = counts.random.random() if counts.has_faults else 1.0
        if chance < _429:
            counts.faults["429"] += 1
            wait = b"retry-after: 1\r\n" if counts.faults["429"] % 50 == 0 else b""
            self._reply(429, b'{"error":{"message":"slow down","type":"requests"}}', wait)
        elif chance < _429 + _500:
            counts.faults["500"] += 1
            self._reply(500, b'{"error":{"message":"it broke","type":"server_error"}}')
        elif chance < _429 + _500 + _DROPPED:
            counts.faults["dropped"] += 1
            self._transport.abort()
        else:
            order = ORDER.search(body)
            if order is None:
                self._reply(400, b'{"error":{"message":"no order in it"}}')
                return
            counts.answered[int(order[1])] += 1
            self._reply(200, _completion(order))

    def _reply(self, status: int, body: bytes, headers: bytes = b"") -> None:
        if not self._transport.is_closing():
            self._transport.write(
                b"HTTP/1.1 %d x\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n%b"
                % (status, headers, len(body), body)
            )

    def _tally(self) -> bytes:
        counts = self._counts
        return json.dumps(
            {
                "answered": counts.answered.hex(),
                "requests": counts.requests,
                "under_way": counts.under_way,
                "faults": counts.faults,
            }
        ).encode()


def _completion(order: re.Match[bytes]) -> bytes:
    number, quantity, product, customer, total = (part.decode() for part in order.groups())
    answer = {
        "number": f"A-{number}",
        "quantity": int(quantity),
        "product": product,
        "customer": customer,
        "total": float(total),
    }
    message = {"role": "assistant", "content": json.dumps(answer), "refusal": None}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": _MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340},
    }
    return json.dumps(completion).encode()


async def _serve(counts: _Counts) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(counts), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What the server has counted.

    Attributes:
        answered: For each row, how often it was answered with 200.
        requests: All requests.
        faults: Kind of fault -> how many requests it met.
    """

    answered: bytes
    requests: int
    faults: dict[str, int]


class Server:
    """A server that runs.

    Args:
        port: Where it listens.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.url = f"http://127.0.0.1:{port}/v1"

    def tally(self, *, settled: bool = False) -> Tally:
        """Return what it has counted; settled, once every request has its answer."""
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            with contextlib.closing(connection):
                connection.request("GET", "/tally")
                told = json.loads(connection.getresponse().read())
            if not (settled and told["under_way"]):
                return Tally(
                    answered=bytes.fromhex(told["answered"]),
                    requests=told["requests"],
                    faults=told["faults"],
                )


@contextlib.contextmanager
def counting(*arguments: str) -> Iterator[Server]:
    """Run the server with these arguments; give it."""
    command = [sys.executable, "-m", "tests.acceptance.many_server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None:
                raise SystemExit("the server has no pipe")
            yield Server(int(process.stdout.readline()))
        finally:
            process.kill()


def main() -> None:
    """Serve until it is killed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.01)
    parser.add_argument("--faults", action="store_true")
    given = parser.parse_args()
    counts = _Counts(
        answered=bytearray(given.rows),
        random=random.Random(given.seed),
        latency_s=given.latency,
        has_faults=given.faults,
    )
    asyncio.run(_serve(counts))


if __name__ == "__main__":
    main()
