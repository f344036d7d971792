"""The bytes of an answer, taken as they come: one JSON document, or events.

Neighbours: `_exchange` hands over the bytes and asks for the answer in the end; `_wire` and `_sse`
read it. Pure: nothing here waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic_core import from_json

from extractkit.errors import ConnectError, MalformedResponseError, ProviderError
from extractkit.messages import ModelResponse
from extractkit.paths import JsonValue
from extractkit.providers._reports import beginning
from extractkit.providers._sse import EventDecoder
from extractkit.providers._wire import Wire

__all__ = ["Document", "Events", "Sink", "kind_of"]


class Sink(Protocol):
    """Where the bytes of an answer go."""

    def take(self, chunk: bytes) -> str: ...

    def end(self) -> str: ...

    def answer(self) -> ModelResponse: ...


class Document:
    """An answer that is one JSON document."""

    def __init__(self, wire: Wire, headers: Mapping[str, str]) -> None:
        self._wire = wire
        self._headers = headers
        self._chunks: list[bytes] = []

    def take(self, chunk: bytes) -> str:
        """Keep `chunk`; nothing can be read from a part."""
        self._chunks.append(chunk)
        return ""

    def end(self) -> str:
        """Return what is still to be told: nothing."""
        return ""

    def answer(self) -> ModelResponse:
        """Return the answer that the document holds."""
        body = b"".join(self._chunks)
        try:
            document: JsonValue = from_json(body)
        except ValueError as error:
            raise self._unreadable(body, str(error)) from None
        return self._wire.decode(document)

    def _unreadable(self, body: bytes, why: str) -> ProviderError:
        # Without a length only the bytes tell that there should be more of them.
        is_measured = "content-length" in self._headers or "transfer-encoding" in self._headers
        if body.strip() and why.startswith("EOF") and not is_measured:
            return ConnectError(
                f"the connection ended in the middle of the answer, after {len(body)} bytes; "
                "ask again"
            )
        return MalformedResponseError(
            f"the answer is no JSON ({kind_of(self._headers)}): {_beginning(body)}; check the "
            "base URL and what stands between here and the provider"
        )


class Events:
    """An answer that comes as server-sent events."""

    def __init__(self, wire: Wire) -> None:
        self._events = EventDecoder()
        self._decoder = wire.decoder()

    def take(self, chunk: bytes) -> str:
        """Return the characters that `chunk` adds to the answer."""
        return "".join([self._decoder.feed(event) for event in self._events.feed(chunk)])

    def end(self) -> str:
        """Return the characters of an event that had no end of its own."""
        return "".join([self._decoder.feed(event) for event in self._events.close()])

    def answer(self) -> ModelResponse:
        """Return the answer that the events hold."""
        return self._decoder.close()


def kind_of(headers: Mapping[str, str]) -> str:
    """Return what an answer says that it is, without parameters; the names are in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _beginning(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return beginning(text) if text.strip() else "it is empty"
