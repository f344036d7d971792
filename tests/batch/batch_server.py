"""A server that takes batches as OpenAI and Anthropic do, and answers when a test says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import unquote

from extractkit.providers import Anthropic, OpenAIChat, OpenAIResponses

KEY = "sk-test-0123456789abcdef"

Api = Literal["chat", "responses", "messages"]
APIS: tuple[Api, ...] = ("chat", "responses", "messages")


class BatchServer:
    """What it was handed, by batch; `end` answers one."""

    def __init__(self, api: Api) -> None:
        self.api: Api = api
        self.rows: dict[str, list[tuple[str, Any]]] = {}
        self.status: dict[str, str] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.out: dict[str, bytes] = {}
        self.errors: dict[str, bytes] = {}
        self.refused: dict[str, dict[str, Any]] = {}
        self.cancelled: list[str] = []
        self.seen: list[str] = []
        self.teams: set[str | None] = set()
        self.fail_next: list[int] = []
        self.lose_next_reply = False
        self.live = b""
        self.url = ""
        self._files: dict[str, bytes] = {}

    def provider(self, **options: Any) -> Any:
        """Return a provider that asks here."""
        if self.api == "messages":
            return Anthropic("claude-haiku-4-5", base_url=self.url, api_key=KEY, **options)
        kind = OpenAIChat if self.api == "chat" else OpenAIResponses
        return kind("gpt-5.1", base_url=f"{self.url}/v1", api_key=KEY, **options)

    @property
    def newest(self) -> str:
        """The batch that came last."""
        return list(self.rows)[-1]

    def answer(self, id: str, text: str, stop: str = "stop") -> bytes:
        """Return the line of an answer."""
        return _line(self.api, id, text, stop)

    def is_called(self, text: str, stop: str) -> None:
        """Give this answer to calls."""
        line = json.loads(self.answer("", text, stop))
        told = line["result"]["message"] if self.api == "messages" else line["response"]["body"]
        self.live = _json(told)

    def error(self, id: str, status: int, type: str, message: str = "no") -> bytes:
        """Return the line of a request that failed."""
        if self.api == "messages":
            error = {"type": "error", "error": {"type": type, "message": message}}
            return _json({"custom_id": id, "result": {"type": "errored", "error": error}})
        body = {"error": {"type": type, "code": None, "message": message, "param": None}}
        response = {"status_code": status, "request_id": "req_1", "body": body}
        return _json({"id": "x", "custom_id": id, "response": response, "error": None})

    def unreached(self, id: str, word: Literal["expired", "cancelled"]) -> bytes:
        """Return the line of a request that was not reached."""
        if self.api == "messages":
            kind = {"expired": "expired", "cancelled": "canceled"}[word]
            return _json({"custom_id": id, "result": {"type": kind}})
        error = {"code": f"batch_{word}", "message": "not reached"}
        return _json({"id": "x", "custom_id": id, "response": None, "error": error})

    def end(
        self,
        say: Callable[[str, Any], bytes | None],
        *,
        status: str = "completed",
        tail: bytes = b"",
    ) -> str:
        """Answer the newest batch, its last request first; errors go where the API puts them."""
        batch = self.newest
        lines = [line for id, body in reversed(self.rows[batch]) if (line := say(id, body))]
        good = [line for line in lines if self.api == "messages" or b'"status_code":200' in line]
        self.out[batch] = b"".join(good) + tail
        self.errors[batch] = b"".join(line for line in lines if line not in good)
        self.status[batch] = "ended" if self.api == "messages" else status
        return batch

    def take(self, method: str, path: str, headers: Message, body: bytes) -> tuple[int, bytes]:
        """Return status and body for a request."""
        path = unquote(path).partition("?")[0].removeprefix("/v1/").removeprefix("messages/")
        self.seen.append(f"{method} {path}")
        self.teams.add(headers["x-team"])
        if method == "POST" and path in ("batches", "files") and self.fail_next:
            return self.fail_next.pop(), b'{"error": {"type": "e", "message": "not now"}}'
        if path in ("chat/completions", "responses", "messages"):
            return 200, self.live
        if path == "files":
            return 200, self._keep_file(headers, body)
        name, _, rest = path.partition("/")
        if name == "files":
            return 200, self._file(rest.removesuffix("/content"))
        if path == "batches":
            return self._create(json.loads(body)) if method == "POST" else (200, self._list())
        id, _, verb = rest.partition("/")
        if verb == "cancel":
            self.cancelled.append(id)
        if verb == "results":
            return 200, self.out[id]
        return 200, _json(self._told(id))

    def _keep_file(self, headers: Message, body: bytes) -> bytes:
        whole = b"Content-Type: " + headers["content-type"].encode() + b"\r\n\r\n" + body
        parts = {
            str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
            for part in BytesParser(policy=HTTP).parsebytes(whole).iter_parts()
        }
        assert parts["purpose"] == b"batch"
        id = f"file-{len(self._files)}"
        self._files[id] = bytes(parts["file"])
        return _json({"id": id, "object": "file", "bytes": 1, "created_at": 1, "filename": "f",
                      "purpose": "batch", "status": "processed"})  # fmt: skip

    def _file(self, id: str) -> bytes:
        kind, _, batch = id.partition("@")
        return (self.out if kind == "out" else self.errors)[batch]

    def _create(self, body: dict[str, Any]) -> tuple[int, bytes]:
        id = f"batch_{len(self.rows)}"
        if self.api == "messages":
            self.rows[id] = [(row["custom_id"], row["params"]) for row in body["requests"]]
        else:
            rows = [json.loads(line) for line in self._files[body["input_file_id"]].splitlines()]
            assert {row["url"] for row in rows} == {body["endpoint"]}
            self.rows[id] = [(row["custom_id"], row["body"]) for row in rows]
            self.tags[id] = body["metadata"]
        self.status[id] = "in_progress"
        if self.lose_next_reply:
            self.lose_next_reply = False
            return 502, b"bad gateway"
        return 200, _json(self._told(id))

    def _list(self) -> bytes:
        data = [self._told(id) for id in reversed(self.rows)]
        return _json({"object": "list", "data": data, "has_more": False})

    def _told(self, id: str) -> dict[str, Any]:
        if self.api == "messages":
            counts = dict.fromkeys(("succeeded", "errored", "canceled", "expired"), 0)
            return {"id": id, "type": "message_batch", "processing_status": self.status[id],
                    "created_at": "2099-01-01T00:00:00Z", "expires_at": "2099-01-02T00:00:00Z",
                    "request_counts": {"processing": len(self.rows[id]), **counts},
                    "results_url": "http://elsewhere.invalid/results"}  # fmt: skip
        told: dict[str, Any] = {
            "id": id, "object": "batch", "status": self.status[id], "created_at": 4070908800,
            "completion_window": "24h", "endpoint": "/", "input_file_id": "f",
            "metadata": self.tags[id],
        }  # fmt: skip
        if self.out.get(id):
            told["output_file_id"] = f"out@{id}"
        if self.errors.get(id):
            told["error_file_id"] = f"err@{id}"
        if id in self.refused:
            told["errors"] = {"object": "list", "data": [self.refused[id]]}
        return told


def _line(api: Api, id: str, text: str, stop: str) -> bytes:
    if api == "messages":
        word = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}[stop]
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude",
                   "content": [{"type": "text", "text": text}], "stop_reason": word,
                   "usage": {"input_tokens": 7, "output_tokens": 3}}  # fmt: skip
        return _json({"custom_id": id, "result": {"type": "succeeded", "message": message}})
    body: dict[str, Any]
    if api == "chat":
        said = {"refusal": text} if stop == "refusal" else {"content": text}
        word = "length" if stop == "length" else "stop"
        choice = {"index": 0, "finish_reason": word, "message": {"role": "assistant", **said}}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        body = {"id": "c", "model": "gpt", "choices": [choice], "usage": usage}
    else:
        part = {"type": "output_text", "text": text}
        if stop == "refusal":
            part = {"type": "refusal", "refusal": text}
        item = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        body = {"id": "r", "model": "gpt", "status": "completed", "output": [item],
                "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}}  # fmt: skip
        if stop == "length":
            body |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    response = {"status_code": 200, "request_id": "req_1", "body": body}
    return _json({"id": "x", "custom_id": id, "response": response, "error": None})


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


@contextmanager
def serving(api: Api) -> Generator[BatchServer]:
    """A server that runs within the block."""
    server = BatchServer(api)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, reply = server.take(self.command, self.path, self.headers, body)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
