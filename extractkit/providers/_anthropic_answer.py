"""One message of Anthropic's Messages API as a ModelResponse: blocks, ending, usage.

Neighbours: `anthropic` hands over a whole message, `_anthropic_stream` one that it has put
together. Nothing here looks into the text of an answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeGuard

import pydantic_core

from extractkit.errors import MalformedResponseError
from extractkit.messages import ModelResponse, RawToolCall, StopReason, Usage
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.providers._errors import from_event
from extractkit.providers._wire import CUT, malformed

__all__ = [
    "Block",
    "block_of",
    "is_count",
    "loads",
    "raise_for_error",
    "response_of",
    "usage_of",
    "word_of",
]


@dataclass(slots=True, kw_only=True)
class Block:
    """One content block; in a stream `pieces` follow what `body` began with."""

    kind: str
    body: JsonObject
    pieces: list[str] = field(default_factory=list[str])
    is_whole: bool = True

    def is_answer(self, tool: str | None) -> bool:
        """Whether this is the call of the tool that was asked for; "" is any tool."""
        return self.kind == "tool_use" and tool is not None and tool in ("", self.body["name"])

    @property
    def text(self) -> str:
        """What a block of text says."""
        return str(self.body["text"]) + "".join(self.pieces)

    @property
    def arguments(self) -> str:
        """The input as JSON text: as it was streamed, else as it stands in the block."""
        if any(self.pieces):
            return "".join(self.pieces)
        given = self.body.get("input")
        return _dumps(given) if self.is_whole and given is not None else ""

    def sent_back(self) -> JsonObject:
        """Return the block as the API wants to see it again.

        Raises:
            MalformedResponseError: If it was streamed and the input of a call is no JSON.
        """
        if not any(self.pieces):
            return self.body
        if self.kind in ("text", "thinking"):
            begun = word_of(self.body.get(self.kind))
            return {**self.body, self.kind: begun + "".join(self.pieces)}
        return {**self.body, "input": loads(self.arguments, "the input of a tool")}


def block_of(value: JsonValue) -> Block:
    """Return `value` as a block of which the parts that are read are there.

    Raises:
        MalformedResponseError: If they are not.
    """
    if not is_object(value) or not isinstance(value.get("type"), str):
        raise malformed("a content block is no object with a type")
    kind: str = value["type"]
    needed = {"text": "text", "tool_use": "name"}.get(kind)
    if needed and not isinstance(value.get(needed), str):
        raise malformed(f"a content block of type {kind!r} has no {needed!r} that is a text")
    return Block(kind=kind, body=dict(value))


def raise_for_error(data: JsonObject, *, name: str = "") -> None:
    """Return if `data` is no report of a failure.

    Args:
        data: A whole answer or the data of an event.
        name: The name of the event.

    Raises:
        ProviderError: If it is one.
    """
    told = data.get("error")
    if "error" not in (data.get("type"), name) and not is_object(told):
        return
    said: JsonObject = told if is_object(told) else data
    given = said.get("details")
    details: JsonObject = given if is_object(given) else {}
    error = from_event(
        word_of(said.get("type")),
        word_of(details.get("error_code")) or None,
        word_of(said.get("message")) or "the provider sent an error without a message",
        None,
    )
    error.request_id = error.request_id or word_of(data.get("request_id")) or None
    raise error


def response_of(
    message: JsonObject,
    blocks: Sequence[Block],
    tool: str | None,
    *,
    usage: Usage,
    is_whole: bool = True,
) -> ModelResponse:
    """Return the answer that `message`, its content aside, and `blocks` are.

    Args:
        message: The message as the API sends it; its content is not looked at.
        blocks: Its content, in order.
        tool: None: the text is the answer. Else the tool whose call is; "" is any tool.
        usage: Tokens read and written.
        is_whole: Whether a stream came to its last event.

    Raises:
        MalformedResponseError: If it is not what the API promises.
    """
    calls = tuple(_call(block) for block in blocks if block.kind == "tool_use")
    answers = [block for block in blocks if block.is_answer(tool)]
    written = "".join(block.text for block in blocks if block.kind == "text")
    is_sole = len(calls) == len(answers) == 1
    stop, detail = _stop(message.get("stop_reason"), is_whole)
    if tool is not None and stop in (StopReason.STOP, StopReason.TOOL_USE):
        stop, detail = _tool_stop(stop, detail, len(calls), is_sole)
    elif tool is None and any(map(_is_open, blocks)) and stop is StopReason.STOP:
        stop = StopReason.TOOL_USE  # a call that was not asked for
    details = _details(message, blocks)
    if tool is not None and written:
        details["preamble"] = written
    return ModelResponse(
        text=written if tool is None else "".join(block.arguments for block in answers[:1]),
        stop=stop,
        stop_detail=detail,
        refusal=_refusal(message, written) if stop is StopReason.REFUSAL else None,
        tool_calls=() if is_sole else calls,
        usage=usage,
        model=word_of(message.get("model")),
        details=details,
        continue_with=_going_on(stop, blocks),
    )


def _going_on(stop: StopReason, blocks: Sequence[Block]) -> tuple[JsonObject, ...] | None:
    """Return what the next request has to bring along for the model to go on; None for nothing.

    The API wants to see what was thought before calls again, with its signature.
    """
    if stop is StopReason.PAUSE:
        return tuple(block.sent_back() for block in blocks)
    if stop is not StopReason.TOOL_USE or all(b.kind in ("text", "tool_use") for b in blocks):
        return None
    try:
        return tuple(block.sent_back() for block in blocks)
    except MalformedResponseError:  # arguments that are no JSON; the calls stand as they came
        return None


_STOPS: Final = {
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "pause_turn": StopReason.PAUSE,
    "refusal": StopReason.REFUSAL,
}


def _stop(reason: JsonValue, is_whole: bool) -> tuple[StopReason, str]:
    """Return why the model stopped, and the provider's word for it."""
    if reason is not None and not isinstance(reason, str):
        raise malformed(f"stop_reason is of type {type(reason).__name__}, not a text")
    if not is_whole and reason != "refusal":  # what was refused stays refused
        return StopReason.LENGTH, CUT
    if reason is None:
        return StopReason.LENGTH, "ended without stop reason"
    return _STOPS.get(reason, StopReason.UNKNOWN), reason


def _tool_stop(stop: StopReason, reason: str, count: int, is_sole: bool) -> tuple[StopReason, str]:
    """Return how an answer ended that was asked for as one call."""
    if is_sole:
        return StopReason.STOP, reason
    if count == 0:
        return stop, reason
    return StopReason.TOOL_USE, f"{reason}: calls that were not asked for, {count} in all"


def _refusal(message: JsonObject, written: str) -> str:
    """Return what is known of a refusal, in the best words there are."""
    told = message.get("stop_details")
    said: JsonObject = told if is_object(told) else {}
    words = (word_of(said.get("explanation")), written, word_of(said.get("category")))
    return next((word for word in words if word.strip()), "refusal")


def _details(message: JsonObject, blocks: Sequence[Block]) -> JsonObject:
    """Return facts worth keeping that have no place of their own."""
    details: JsonObject = {}
    if message_id := word_of(message.get("id")):
        details["id"] = message_id
    kinds = Counter(block.kind for block in blocks if block.kind not in ("text", "tool_use"))
    if kinds:
        details["blocks"] = dict(kinds)
    told = message.get("stop_details")
    for name in ("category", "recommended_model"):
        if is_object(told) and (word := word_of(told.get(name))):
            details[f"refusal_{name}"] = word
    return details


def _is_open(block: Block) -> bool:
    """Whether `block` is a call of the model's own: code that it runs gets its answers itself."""
    caller = block.body.get("caller")
    by = word_of(caller.get("type")) if is_object(caller) else ""
    return block.kind == "tool_use" and by in ("", "direct")


def _call(block: Block) -> RawToolCall:
    return RawToolCall(
        id=word_of(block.body.get("id")), name=block.body["name"], arguments=block.arguments
    )


def usage_of(raw: JsonValue, *, is_final: bool = True) -> Usage:
    """Return the tokens of `raw`; numbers that are missing or none are not counted."""
    if not is_object(raw):
        return Usage(is_complete=False)
    details = raw.get("output_tokens_details")
    cached = _count(raw, "cache_read_input_tokens")
    return Usage(
        input_tokens=_count(raw, "input_tokens")
        + cached
        + _count(raw, "cache_creation_input_tokens"),
        output_tokens=_count(raw, "output_tokens"),
        cached_input_tokens=cached,
        reasoning_tokens=_count(details, "thinking_tokens") if is_object(details) else 0,
        is_complete=is_final and all(is_count(raw.get(n)) for n in _ALWAYS_COUNTED),
    )


_ALWAYS_COUNTED: Final = ("input_tokens", "output_tokens")


def is_count(value: JsonValue) -> TypeGuard[int]:
    """Whether `value` is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count(raw: JsonObject, name: str) -> int:
    value = raw.get(name)
    return value if is_count(value) else 0


def word_of(value: JsonValue) -> str:
    """Return `value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def _dumps(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(text: str, what: str) -> JsonValue:
    """Return the JSON that `text` is.

    Raises:
        MalformedResponseError: If it is none; the message calls it `what`.
    """
    try:
        return pydantic_core.from_json(text)
    except ValueError as error:
        raise malformed(f"{what} is not JSON ({error})") from None
