"""A server of chat completions that fails, and counts what it answered.

The answer to a row is made of its text: whose answer a row has can be seen. Failures fall on rows
by their number, once each, so that every row ends with an answer.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["CountingServer"]


class CountingServer:
    """A context manager; of 20 rows one is refused at first (429), one fails, one connection drops.

    Attributes:
        paid: Word -> how many answers with the status 200 were made for it.
        tries: Word -> how often it was asked about.
    """

    def __init__(self) -> None:
        self.paid: Counter[str] = Counter()
        self.tries: Counter[str] = Counter()
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body: Any = json.loads(self.rfile.read(length))
                server.answer(self, body["messages"][-1]["content"])

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._http = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> CountingServer:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def answer(self, to: BaseHTTPRequestHandler, prompt: str) -> None:
        """Answer, or fail."""
        word = next(part for part in prompt.split() if part.startswith("w-"))
        with self._lock:
            self.tries[word] += 1
            kind = int(word[2:]) % 20 if self.tries[word] == 1 else 0
            self.paid[word] += kind not in (7, 11, 13)
        if kind == 7:
            _reply(to, 429, {"error": {"message": "slow down"}}, {"retry-after": "0.05"})
        elif kind == 11:
            _reply(to, 500, {"error": {"message": "down"}}, {})
        elif kind == 13:
            to.close_connection = True  # and nothing is said
        else:
            _reply(to, 200, _completion(word), {})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _completion(word: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": json.dumps({"word": word})}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _reply(
    to: BaseHTTPRequestHandler, status: int, body: dict[str, Any], headers: dict[str, str]
) -> None:
    content = json.dumps(body).encode()
    to.send_response(status)
    for name, value in {"content-type": "application/json", **headers}.items():
        to.send_header(name, value)
    to.send_header("content-length", str(len(content)))
    to.end_headers()
    to.wfile.write(content)
