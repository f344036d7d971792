"""What every wire of a hosted provider has in common: a request as data, an answer as data.

Neighbours: `openai_chat`, `openai_responses` and `anthropic` are wires, `_hosted` sends what they
encode. This file opens nothing and knows no provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from extractkit.errors import MalformedResponseError
from extractkit.messages import Delta, ModelRequest, ModelResponse, TokenLogprob
from extractkit.paths import JsonObject

__all__ = [
    "CUT",
    "NOTHING",
    "HttpRequest",
    "ServerEvent",
    "StreamDecoder",
    "Wire",
    "decode_events",
    "malformed",
    "piece",
]

CUT: Final = "the stream ended without its last event"
"""stop_detail of an answer whose end did not arrive."""

NOTHING: Final = Delta()
"""What an event brings that adds nothing to the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What is posted: `path` below the base URL, a JSON body, headers beside the SDK's own."""

    path: str
    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class ServerEvent(NamedTuple):
    """One server-sent event: its name, which may be empty, and its data lines joined."""

    event: str = ""
    data: str = ""


_new = object.__new__
_set_text, _set_tokens, _set_response = (
    getattr(Delta, name).__set__ for name in ("text", "tokens", "response")
)


class StreamDecoder(Protocol):
    """Takes the events of one answer in order; pure, no I/O."""

    @property
    def is_over(self) -> bool:
        """Whether the last event has come, so that nothing more is waited for."""
        ...

    def feed(self, event: ServerEvent) -> Delta:
        """Return what `event` adds to the answer: NOTHING, or text, its tokens, or both.

        Raises:
            ProviderError: If the event says that the provider failed.
            MalformedResponseError: If it is not what the API promises.
        """
        ...

    def close(self) -> ModelResponse:
        """Return the whole answer; what ended without its last event is cut off, not whole."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One API: three pure functions.

    Attributes:
        encode: (request, model, stream) -> what is posted.
        decode: The JSON of a 2xx answer -> the response.
        decoder: A new StreamDecoder for one streamed answer.
    """

    encode: Callable[[ModelRequest, str, bool], HttpRequest]
    decode: Callable[[Any], ModelResponse]
    decoder: Callable[[], StreamDecoder]


def decode_events(wire: Wire, events: Iterable[ServerEvent]) -> ModelResponse:
    """Return the answer that a whole stream of events holds.

    Raises:
        MalformedResponseError: If the events are not what the API promises.
        ProviderError: If an event says that the provider failed.
    """
    decoder = wire.decoder()
    for event in events:
        decoder.feed(event)
    return decoder.close()


def piece(text: str, tokens: tuple[TokenLogprob, ...] = ()) -> Delta:
    """Return what one event adds to the answer."""
    if not (text or tokens):
        return NOTHING
    made = _new(Delta)  # there is one for each event, and calling the class takes twice as long
    _set_text(made, text)
    _set_tokens(made, tokens)
    _set_response(made, None)
    return made


def malformed(message: str) -> MalformedResponseError:
    """Return the error for an answer that is not what its API promises."""
    return MalformedResponseError(f"{message}; this is not what the API promises")
