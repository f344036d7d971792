"""OpenAI's Batch API: a file of requests, a file of answers and one of errors.

Neighbours: `batches` drives this; `openai_chat` and `openai_responses` say which endpoint is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.providers._openai import is_withheld
from extractkit.providers._wire import HttpRequest
from extractkit.providers.batches import BatchLimits, BatchState, path_of

__all__ = ["LIMITS", "OpenAIBatches"]

LIMITS: Final = BatchLimits(
    rows=50_000,
    bytes=200_000_000,
    source="docstring of batches.create, openai 3.57.0, read 2026-11-30",
)

_OVER: Final[dict[str, str]] = {
    # The word for a batch that is over -> what became of requests that have no line, 2026-11.
    "completed": "missing",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
_CODES: Final = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
_LATER: Final = frozenset({"token_limit_exceeded", "rate_limit_exceeded"})
_TAG: Final = "extractkit"
_CLOCKS_DIFFER_S: Final = 3600


class OpenAIBatches:
    """Batches of one endpoint.

    Args:
        endpoint: The path behind "/v1".
    """

    limits = LIMITS

    def __init__(self, endpoint: str) -> None:
        self._url = f"/v1{endpoint}"

    def line(self, id: str, post: HttpRequest) -> JsonObject:
        """Return how one request stands in the file."""
        return {"custom_id": id, "method": "POST", "url": self._url, "body": post.body}

    def create(self, client: Any, lines: Sequence[bytes], tag: str) -> str:
        """Upload a file of requests and have it answered; return the id of the batch."""
        file = client.files.create(file=(f"{tag}.jsonl", b"".join(lines)), purpose="batch")
        batch = client.batches.create(
            completion_window="24h",
            endpoint=self._url,
            input_file_id=file.id,
            metadata={_TAG: tag},
        )
        return str(batch.id)

    def find(self, client: Any, tag: str, rows: int, since: float) -> Iterator[str]:
        """Yield the ids of batches that bear a tag."""
        for batch in client.batches.list(limit=100):  # the newest first
            if batch.created_at < since - _CLOCKS_DIFFER_S:
                return
            if batch.metadata and batch.metadata.get(_TAG) == tag:
                yield str(batch.id)

    def look(self, client: Any, id: str) -> BatchState:
        """Return how far a batch is."""
        batch = client.batches.retrieve(id)
        word = str(batch.status)
        if word not in _OVER:
            return BatchState(word=word, is_over=False)
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        rest: JsonObject = {"ended": _OVER[word]}
        if word == "failed":
            rest = _failed(batch.errors.data if batch.errors else None)
        return BatchState(
            word=word,
            is_over=True,
            files=tuple(path_of("/files/{}/content", file) for file in files),
            rest=rest,
        )

    def outcome(self, line: JsonObject) -> tuple[JsonValue, JsonObject]:
        """Return whose answer a line is, and what it says."""
        id: JsonValue = line["custom_id"]
        response: JsonValue = line.get("response")
        error: JsonValue = line.get("error")
        if not is_object(response):
            code = error.get("code") if is_object(error) else None
            if isinstance(code, str) and code in _CODES:
                return id, {"ended": _CODES[code]}
            return id, {"status": 500, "body": {"error": error}}
        body: JsonValue = response.get("body")
        status: JsonValue = response.get("status_code")
        if is_object(body) and is_withheld(body.get("error")):
            status = 200  # it is the ending of an answer, as Azure reports it
        return id, {"status": status, "request_id": response.get("request_id"), "body": body}

    def cancel(self, client: Any, id: str) -> None:
        """Ask that no more of a batch is answered."""
        client.batches.cancel(id)


def _failed(errors: Sequence[Any] | None) -> JsonObject:
    """Return what became of the requests of a batch that was refused as a whole."""
    first = errors[0] if errors else None
    code = getattr(first, "code", None)
    lines = [each.line for each in errors or () if each.line is not None]
    place = f" (line {lines[0]} of the batch's file)" if lines else ""
    message = f"the whole batch failed: {getattr(first, 'message', None) or 'no reason'}{place}"
    error: JsonObject = {"code": code, "message": message, "param": getattr(first, "param", None)}
    return {"status": 429 if code in _LATER else 400, "body": {"error": error}}
