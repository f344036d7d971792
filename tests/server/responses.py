"""Bodies of OpenAI's Responses."""

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

_INCOMPLETE = {
    "length": "max_output_tokens",
    "context": "max_output_tokens",
    "filter": "content_filter",
}
_CLEAN = {"stop", "refusal", "tool_use"}


def body(answer: Answer) -> dict[str, Any]:
    """Return the body of a plain reply."""
    if isinstance(answer.tail, Failure):
        return _response("failed", answer, error=answer.tail)
    status, reason = _ending(answer)
    error = Failure(kind="server_error") if status == "failed" else None
    return _response(status, answer, reason=reason, error=error)


def events(answer: Answer) -> list[bytes]:
    """Return the events of a stream."""
    begun: dict[str, Any] = {**_response("in_progress", answer), "output": [], "usage": None}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(_items(answer)):
        told += _item_events(index, item, answer.piece)
    told += _last(answer)
    return [
        event({**data, "sequence_number": number}, data["type"]) for number, data in enumerate(told)
    ]


def _last(answer: Answer) -> list[dict[str, Any]]:
    if isinstance(answer.tail, Failure):
        error = {"code": answer.tail.kind, "message": answer.tail.message, "param": None}
        return [{"type": "error", **error}]
    if answer.tail != "whole":
        return []
    response = body(answer)
    named = {"completed", "incomplete", "failed"}
    name = response["status"] if response["status"] in named else "completed"
    return [{"type": f"response.{name}", "response": response}]


def _ending(answer: Answer) -> tuple[str | None, str | None]:
    """Return status and reason of an incomplete answer."""
    stop = answer.stop
    if stop is None or stop in _CLEAN:
        return (None if stop is None else "completed"), None
    kind, _, word = stop.partition(":")
    if kind == "status":
        return word, None
    if kind == "incomplete":
        return "incomplete", word or None
    return ("incomplete", _INCOMPLETE[stop]) if stop in _INCOMPLETE else (stop, None)


def _response(
    status: str | None,
    answer: Answer,
    *,
    reason: str | None = None,
    error: Failure | None = None,
) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "error": {"code": error.kind, "message": error.message} if error else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": _items(answer),
        "parallel_tool_calls": True,
        "temperature": 0.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage() if answer.usage else None,
    }


def _items(answer: Answer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        items.append({"id": "rs_1", "type": "reasoning", "summary": summary})
    if answer.preamble:
        items.append({**_message("msg_0", [_text(answer.preamble)]), "phase": "commentary"})
    parts = [] if answer.text is None else [_text(answer.text)]
    if answer.refusal is not None:
        parts.append({"type": "refusal", "refusal": answer.refusal})
    if parts:
        items.append(_message("msg_1", parts))
    if answer.tool is not None:
        name, arguments = answer.tool
        call = {"name": name, "arguments": arguments, "call_id": "call_1", "status": "completed"}
        items.append({"id": "fc_1", "type": "function_call", **call})
    return items


def _message(name: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    # The item itself is always "completed": only the response says how it really ended.
    fixed = {"type": "message", "status": "completed", "role": "assistant"}
    return {"id": name, **fixed, "content": parts}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _item_events(index: int, item: dict[str, Any], size: int) -> list[dict[str, Any]]:
    place = {"output_index": index, "item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    if item["type"] == "message":
        begun["content"] = []
        inside = [
            told
            for position, part in enumerate(item["content"])
            for told in _part_events({**place, "content_index": position}, part, size)
        ]
    elif item["type"] == "function_call":
        begun["arguments"] = ""
        name = "response.function_call_arguments"
        inside = [
            {"type": f"{name}.delta", **place, "delta": piece}
            for piece in pieces(item["arguments"], size)
        ]
        inside.append({"type": f"{name}.done", **place, "arguments": item["arguments"]})
    else:
        begun, inside = item, []
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *inside,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _part_events(place: dict[str, Any], part: dict[str, Any], size: int) -> list[dict[str, Any]]:
    key, name = ("text", "output_text") if part["type"] == "output_text" else ("refusal",) * 2
    more: dict[str, Any] = {"logprobs": []} if key == "text" else {}
    said = part[key]
    return [
        {"type": "response.content_part.added", **place, "part": {**part, key: ""}},
        *(
            {"type": f"response.{name}.delta", **place, "delta": piece, **more}
            for piece in pieces(said, size)
        ),
        {"type": f"response.{name}.done", **place, key: said, **more},
        {"type": "response.content_part.done", **place, "part": part},
    ]


def _usage() -> dict[str, Any]:
    return {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": CACHED_TOKENS, "cache_write_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": REASONING_TOKENS},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
