"""One streamed message of Anthropic's Messages API, event by event.

Neighbours: `_anthropic_answer` makes the response out of what is put together here. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from extractkit.messages import Delta, ModelResponse
from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.providers._anthropic_answer import (
    Block,
    block_of,
    is_count,
    loads,
    raise_for_error,
    response_of,
    usage_of,
    word_of,
)
from extractkit.providers._refrain import Refrain
from extractkit.providers._wire import NOTHING, ServerEvent, malformed, piece

__all__ = ["Decoder"]

_PIECES: Final = {
    # where a delta has its piece
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}

_ENDING: Final = ("stop_reason", "stop_details")  # parts of a message_delta that are read


def _index(data: JsonObject) -> int:
    index = data.get("index")
    if not is_count(index):
        raise malformed("an event of a content block has no index")
    return index


class Decoder:
    """Takes the events of one streamed answer in order."""

    __slots__ = ("_blocks", "_has_usage", "_is_whole", "_message", "_open", "_refrain", "_tool")

    def __init__(self, tool: str | None = None) -> None:
        self._tool = tool
        self._message: JsonObject | None = None
        self._blocks: dict[int, Block] = {}
        self._open: int | None = None
        self._has_usage = False
        self._refrain = Refrain()
        self._is_whole = False

    @property
    def is_over(self) -> bool:
        """Whether the last event has come."""
        return self._is_whole

    def feed(self, event: ServerEvent) -> Delta:
        """Return what `event` adds to the answer.

        Raises:
            ProviderError: If the event says that the provider failed.
            MalformedResponseError: If it is not what the API promises.
        """
        text = self._refrain.text_of(event)
        if text is not None and self._open is not None:
            self._blocks[self._open].pieces.append(text)
            return piece(text)
        self._refrain.forget()
        if self._is_whole:
            return NOTHING
        data: JsonValue = {}
        if event.data.strip():
            data = loads(event.data, f"an event named {event.event!r}")
        if not is_object(data):
            raise malformed(f"an event is JSON of type {type(data).__name__}, not an object")
        payload, data = data, {"type": event.event, **data}
        raise_for_error(data, name=event.event)
        kind = word_of(data["type"])
        take = self._EVENTS.get(kind)
        if take is None:  # ping, and what a later version of the API may add
            return NOTHING
        if self._message is None and kind != "message_start":
            raise malformed(f"the event {kind!r} came before message_start")
        text = take(self, data)
        if text and kind == "content_block_delta":
            self._refrain.learn(event, payload, "delta", _PIECES[data["delta"]["type"]])
        return piece(text)

    def close(self) -> ModelResponse:
        """Return the whole answer; without its last event it is cut off.

        Raises:
            MalformedResponseError: If a paused turn cannot be written back.
        """
        message = self._message or {}
        usage = usage_of(message.get("usage"), is_final=self._has_usage)
        blocks = tuple(self._blocks.values())
        return response_of(message, blocks, self._tool, usage=usage, is_whole=self._is_whole)

    def _start(self, data: JsonObject) -> str:
        message = data.get("message")
        if not is_object(message) or message.get("content"):
            raise malformed("message_start has no message that is empty")
        if self._message is None:
            self._message = dict(message)
        elif message.get("id") != self._message.get("id"):
            # something on the way lost the first answer and went on with another one
            error = malformed("a second message began before the first one had ended")
            error.retryable = True
            raise error
        return ""  # some gateways tell the beginning of one message twice

    def _start_block(self, data: JsonObject) -> str:
        index = _index(data)
        if index in self._blocks or self._open is not None:
            raise malformed(f"content block {index} begins twice, or inside another one")
        block = block_of(data.get("content_block"))
        block.is_whole = False
        self._blocks[index] = block
        self._open = index
        return block.text if self._tool is None and block.kind == "text" else ""

    def _add(self, data: JsonObject) -> str:
        block, delta = self._open_block(data), data.get("delta")
        if not is_object(delta):
            raise malformed("content_block_delta has no delta that is an object")
        kind = word_of(delta.get("type"))
        if kind == "signature_delta":
            block.body["signature"] = word_of(delta.get("signature"))
        if kind == "citations_delta":
            before = block.body.get("citations")
            citations = before if is_array(before) else []
            block.body["citations"] = [*citations, delta.get("citation")]
        if kind not in _PIECES:
            return ""
        name = _PIECES[kind]
        piece = delta.get(name)
        owner = block.kind if block.kind in ("text", "thinking") else "partial_json"
        if not isinstance(piece, str) or name != owner:
            raise malformed(f"{kind} has no {name!r} that is a text, or adds to a {block.kind!r}")
        block.pieces.append(piece)
        return piece if self._is_read(block) else ""

    def _stop_block(self, data: JsonObject) -> str:
        block = self._open_block(data)
        block.is_whole = True
        self._open = None
        is_unread = self._tool is not None and self._is_read(block) and not any(block.pieces)
        return block.arguments if is_unread else ""

    def _end(self, data: JsonObject) -> str:
        delta, usage = data.get("delta"), data.get("usage")
        if not is_object(delta):
            raise malformed("message_delta has no delta that is an object")
        message = self._message or {}
        message.update((name, delta[name]) for name in _ENDING if delta.get(name) is not None)
        if is_object(usage):
            # totals so far: what is missing or null keeps what message_start said
            begun = message.get("usage")
            given = {name: value for name, value in usage.items() if value is not None}
            message["usage"] = {**(begun if is_object(begun) else {}), **given}
            self._has_usage = self._has_usage or "output_tokens" in given
        return ""

    def _finish(self, data: JsonObject) -> str:
        self._is_whole = True
        return ""

    def _open_block(self, data: JsonObject) -> Block:
        index = _index(data)
        if index != self._open:
            raise malformed(f"an event belongs to content block {index}, which is not open")
        return self._blocks[index]

    def _is_read(self, block: Block) -> bool:
        """Whether what `block` holds is the text of the answer."""
        if self._tool is None:
            return block.kind == "text"
        answers = (each for each in self._blocks.values() if each.is_answer(self._tool))
        return next(answers, None) is block

    _EVENTS: ClassVar[Mapping[str, Callable[[Any, JsonObject], str]]] = {
        # every other event is passed over: ping, and what a later version of the API may add
        "message_start": _start,
        "content_block_start": _start_block,
        "content_block_delta": _add,
        "content_block_stop": _stop_block,
        "message_delta": _end,
        "message_stop": _finish,
    }
