"""Bodies of Anthropic's Messages."""

from __future__ import annotations

import json
from typing import Any

from tests.server.answers import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    MODEL,
    OUTPUT_TOKENS,
    REASONING_TOKENS,
    Answer,
    Failure,
    event,
    pieces,
)

__all__ = ["body", "events"]

_WORDS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "context": "model_context_window_exceeded",
    "pause": "pause_turn",
}


def body(answer: Answer) -> dict[str, Any]:
    """Return the body of a plain reply."""
    if isinstance(answer.tail, Failure):
        return _failure(answer.tail)
    return {
        **_message(_blocks(answer), usage=_usage() if answer.usage else None),
        "stop_reason": _word(answer),
        "stop_details": _details(answer),
    }


def events(answer: Answer) -> list[bytes]:
    """Return the events of a stream."""
    begun = {**_usage(), "output_tokens": 1} if answer.usage else None
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": _message([], usage=begun)},
        {"type": "ping"},
    ]
    for index, block in enumerate(_blocks(answer)):
        told += _block_events(index, block, answer.piece)
    if isinstance(answer.tail, Failure):
        told.append(_failure(answer.tail))
    elif answer.tail == "whole":
        delta = {
            "stop_reason": _word(answer),
            "stop_sequence": None,
            "stop_details": _details(answer),
        }
        counted = {"usage": {"output_tokens": OUTPUT_TOKENS, **_reasoning()}}
        told.append({"type": "message_delta", "delta": delta, **(counted if answer.usage else {})})
        told.append({"type": "message_stop"})
    return [event(data, data["type"]) for data in told]


def _word(answer: Answer) -> str | None:
    # Here a refusal is told by the reason to stop, whatever the text.
    if answer.refusal is not None:
        return "refusal"
    return answer.stop if answer.stop is None else _WORDS.get(answer.stop, answer.stop)


def _details(answer: Answer) -> dict[str, Any] | None:
    if answer.refusal is None:
        return None
    return {"type": "refusal", "category": "cyber", "explanation": answer.refusal}


def _message(blocks: list[dict[str, Any]], *, usage: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": blocks,
        "stop_reason": None,
        "stop_sequence": None,
        **({"usage": usage} if usage else {}),
    }


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "c2ln"})
    if answer.text is not None:
        blocks.append({"type": "text", "text": answer.text})
    if answer.tool is not None:
        name, arguments = answer.tool
        call = {"id": "toolu_1", "name": name, "input": json.loads(arguments)}
        blocks.append({"type": "tool_use", **call})
    return blocks


def _block_events(index: int, block: dict[str, Any], size: int) -> list[dict[str, Any]]:
    kind = block["type"]
    if kind == "tool_use":
        begun: dict[str, Any] = {**block, "input": {}}
        name, key, said = "input_json_delta", "partial_json", json.dumps(block["input"])
    else:
        begun = {**block, kind: ""}
        name, key, said = f"{kind}_delta", kind, block[kind]
    deltas = [{"type": name, key: piece} for piece in pieces(said, size)]
    if kind == "thinking":
        begun["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _usage() -> dict[str, Any]:
    return {
        # What came from the cache is counted beside the rest here.
        "input_tokens": INPUT_TOKENS - CACHED_TOKENS,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED_TOKENS,
        "output_tokens": OUTPUT_TOKENS,
        **_reasoning(),
    }


def _reasoning() -> dict[str, Any]:
    return {"output_tokens_details": {"thinking_tokens": REASONING_TOKENS}}


def _failure(failure: Failure) -> dict[str, Any]:
    error = {"type": failure.kind, "message": failure.message}
    return {"type": "error", "error": error, "request_id": "req_anthropic"}
