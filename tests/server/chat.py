"""Bodies of OpenAI's Chat Completions."""

from __future__ import annotations

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

_WORDS = {"context": "length", "filter": "content_filter", "tool_use": "tool_calls"}


def body(answer: Answer) -> dict[str, Any]:
    """Return the body of a plain reply."""
    if isinstance(answer.tail, Failure):
        return _failure(answer.tail)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text,
        "refusal": answer.refusal,
        "annotations": [],
    }
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    if answer.tool is not None:
        message["tool_calls"] = [_call(answer.tool)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _word(answer)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": MODEL,
        "choices": [] if answer.empty else [choice],
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
        **({"usage": _usage()} if answer.usage else {}),
    }


def events(answer: Answer) -> list[bytes]:
    """Return the events of a stream."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
    deltas += [{"reasoning_content": piece} for piece in pieces(answer.thinking, answer.piece)]
    deltas += [{"content": piece} for piece in pieces(answer.text, answer.piece)]
    deltas += [{"refusal": piece} for piece in pieces(answer.refusal, answer.piece)]
    if answer.tool is not None:
        deltas.append({"tool_calls": [{"index": 0, **_call(answer.tool)}]})
    lines = [] if answer.empty else [event(_chunk(delta, None)) for delta in deltas]
    if isinstance(answer.tail, Failure):
        return [*lines, event(_failure(answer.tail))]
    if answer.tail == "whole" and not answer.empty:
        lines.append(event(_chunk({}, _word(answer))))
    if answer.tail == "whole" and answer.usage:
        lines.append(event({**_frame(), "choices": [], "usage": _usage()}))
    if answer.tail != "open":
        lines.append(event("[DONE]"))
    return lines


def _word(answer: Answer) -> str | None:
    # A refusal is told by its field; the word is that of a clean stop.
    stop = "stop" if answer.stop == "refusal" else answer.stop
    return stop if stop is None else _WORDS.get(stop, stop)


def _frame() -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    }


def _chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_frame(), "choices": [choice], "usage": None}


def _call(tool: tuple[str, str]) -> dict[str, Any]:
    name, arguments = tool
    return {
        "id": "call_1",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _usage() -> dict[str, Any]:
    return {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": REASONING_TOKENS, "audio_tokens": 0},
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "error": {
            "message": failure.message,
            "type": failure.kind,
            "code": failure.kind,
            "param": None,
        }
    }
