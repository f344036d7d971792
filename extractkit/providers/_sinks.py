"""The bytes of an answer, taken as they come: one JSON document, or events.

Neighbours: `_exchange` hands over the bytes and asks for the answer in the end; `_wire` and `_sse`
read it. Pure: nothing here waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pydantic_core import from_json

from extractkit.errors import ConnectError, MalformedResponseError, ProviderError
from extractkit.messages import Delta, ModelResponse
from extractkit.paths import JsonValue
from extractkit.providers._reports import beginning
from extractkit.providers._sse import EventDecoder
from extractkit.providers._wire import NOTHING, ServerEvent, Wire

__all__ = ["Document", "Events", "Sink", "kind_of"]


class Sink(Protocol):
    """Where the bytes of an answer go."""

    def take(self, chunk: bytes) -> list[Delta]: ...

    def end(self) -> list[Delta]: ...

    def is_over(self) -> bool: ...

    def answer(self) -> ModelResponse: ...


class Document:
    """An answer that is one JSON document."""

    def __init__(self, wire: Wire, headers: Mapping[str, str]) -> None:
        self._wire = wire
        self._headers = headers
        self._chunks: list[bytes] = []

    def take(self, chunk: bytes) -> list[Delta]:
        """Keep `chunk`; nothing can be read from a part."""
        self._chunks.append(chunk)
        return []

    def end(self) -> list[Delta]:
        """Return what is still to be told: nothing."""
        return []

    def is_over(self) -> bool:
        """Whether nothing more is to come, which only the end of the bytes tells."""
        return False

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
    """An answer that comes as server-sent events; nothing behind its last one is read."""

    def __init__(self, wire: Wire) -> None:
        self._events = EventDecoder()
        self._decoder = wire.decoder()
        self._failure: ProviderError | None = None

    def take(self, chunk: bytes) -> list[Delta]:
        """Return what each event that `chunk` completes adds to the answer.

        What stands before an event that tells of a failure was said: `is_over` raises it.
        """
        return self._read(self._events.feed(chunk))

    def end(self) -> list[Delta]:
        """Return what an event adds that had no end of its own."""
        return self._read(self._events.close())

    def _read(self, events: list[ServerEvent]) -> list[Delta]:
        found: list[Delta] = []
        decoder = self._decoder
        for event in events:
            if decoder.is_over:
                break
            try:
                delta = decoder.feed(event)
            except ProviderError as failure:
                self._failure = failure
                break
            if delta is not NOTHING:
                found.append(delta)
        return found

    def is_over(self) -> bool:
        """Whether the last event has come.

        Raises:
            ProviderError: If an event told of a failure, or was not what the API promises.
        """
        if self._failure is not None:
            raise self._failure
        return self._decoder.is_over

    def answer(self) -> ModelResponse:
        """Return the answer that the events hold."""
        return self._decoder.close()


def kind_of(headers: Mapping[str, str]) -> str:
    """Return what an answer says that it is, without parameters; the names are in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _beginning(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    return beginning(text) if text.strip() else "it is empty"
