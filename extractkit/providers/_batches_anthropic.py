"""Anthropic's Message Batches: requests in one body, results line by line.

Neighbours: `batches` drives this; `anthropic` encodes the requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json

from extractkit.errors import UnsupportedError
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.providers._errors import WORDS
from extractkit.providers._sdk import ANTHROPIC_SDK
from extractkit.providers._wire import HttpRequest
from extractkit.providers.batches import BatchLimits, BatchState, path_of

__all__ = ["LIMITS", "AnthropicBatches"]

LIMITS: Final = BatchLimits(
    rows=100_000,
    bytes=256_000_000,
    source="platform.claude.com/docs/build-with-claude/batch-processing, 2026-09",
)

_ENDED: Final = {"canceled": "cancelled", "expired": "expired"}
_STATUS: Final[Mapping[str, int]] = {
    # What an error's type is as a status, https://platform.claude.com/docs/en/api/errors, 2026-09.
    **WORDS,
    "timeout_error": 504,
}
_OVERHEAD: Final = len('{"requests":[]}')
_CLOCKS_DIFFER_S: Final = 60


class AnthropicBatches:
    """Batches of messages."""

    limits = BatchLimits(rows=LIMITS.rows, bytes=LIMITS.bytes - _OVERHEAD, source=LIMITS.source)

    def line(self, id: str, post: HttpRequest) -> JsonObject:
        """Return how one request stands in the body."""
        return {"custom_id": id, "params": post.body}

    def create(self, client: Any, lines: Sequence[bytes], tag: str) -> str:
        """Post requests; return the id of their batch. This API has no place for a tag."""
        batch = _batches(client).create(requests=[from_json(line) for line in lines])
        return str(batch.id)

    def find(self, client: Any, tag: str, rows: int, since: float) -> Iterator[str]:
        """Yield the ids of batches that were made then and have as many requests."""
        for batch in _batches(client).list(limit=100):  # the newest first
            if batch.created_at.timestamp() < since - _CLOCKS_DIFFER_S:
                return
            counts = batch.request_counts
            total = (
                counts.processing
                + counts.succeeded
                + counts.errored
                + counts.canceled
                + counts.expired
            )
            if total == rows:
                yield str(batch.id)

    def look(self, client: Any, id: str) -> BatchState:
        """Return how far a batch is."""
        batch = _batches(client).retrieve(id)
        word = str(batch.processing_status)
        if word != "ended":
            return BatchState(word=word, is_over=False)
        # The batch tells a URL; the key is sent to no other host than the one that was chosen.
        return BatchState(
            word=word, is_over=True, files=(path_of("/v1/messages/batches/{}/results", id),)
        )

    def outcome(self, line: JsonObject) -> tuple[JsonValue, JsonObject]:
        """Return whose answer a line is, and what it says."""
        id: JsonValue = line["custom_id"]
        result: JsonObject = line["result"]
        kind: JsonValue = result.get("type")
        if kind == "succeeded":
            return id, {"status": 200, "body": result.get("message")}
        if isinstance(kind, str) and kind in _ENDED:
            return id, {"ended": _ENDED[kind]}
        error: JsonValue = result.get("error")
        inner: JsonValue = error.get("error") if is_object(error) else None
        word: JsonValue = inner.get("type") if is_object(inner) else None
        request_id = error.get("request_id") if is_object(error) else None
        status = _STATUS.get(word, 500) if isinstance(word, str) else 500
        return id, {"status": status, "request_id": request_id, "body": error}

    def cancel(self, client: Any, id: str) -> None:
        """Ask that no more of a batch is answered."""
        _batches(client).cancel(id)


def _batches(client: Any) -> Any:
    # The clients of who hosts for Anthropic are of other classes, or have none.
    is_own = any(kind.__name__ == ANTHROPIC_SDK.sync for kind in type(client).__mro__)
    found = getattr(client.messages, "batches", None) if is_own else None
    if found is None:
        raise UnsupportedError(
            f"{type(client).__name__} has no Message Batches; give Anthropic's own client, or ask "
            "through extract_many"
        )
    return found
