"""What a recorded answer says, read from its JSON in another way than the decoders read it.

An answer is read as a flat list of (path, value) pairs of all its documents; every fact is a
question to that list. It shares no code with the decoders, and knows only whole recordings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, str, str]

STOPS = {
    "chat": {
        "stop": "stop",
        "length": "length",
        "content_filter": "content_filter",
        "tool_calls": "tool_use",
        "": "unknown",
    },
    "messages": {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "tool_use": "tool_use",
        "pause_turn": "pause",
        "refusal": "refusal",
        "": "length",
    },
    "responses": {"completed": "stop", "max_output_tokens": "length"},
}


@dataclass(slots=True)
class Told:
    """What one answer says; `stop` is "error" where it reports a failure."""

    stop: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    thought: int = 0
    logprobs: list[float] = field(default_factory=list[float])
    model: str = ""


def documents(response: dict[str, Any]) -> list[Any]:
    """Return the JSON documents of a recorded response: one, or one for each event."""
    if "json" in response:
        return [response["json"]]
    if "chunks" in response:
        return list(response["chunks"])
    found = re.findall(r"^data: ?(.*)$", response["sse_text"], re.MULTILINE)
    return [json.loads(data) for data in found if data.strip() != "[DONE]"]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, leaf) for everything in a document; list positions are numbers."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        here = f"{path}/{key}"
        if isinstance(item, (dict, list)) and item:
            yield from leaves(item, here)
        else:
            yield here, item


def told(api: str, docs: list[Any]) -> Told:
    """Return what an answer says."""
    return {"chat": _chat, "responses": _responses, "messages": _messages}[api](docs)


def _flat(docs: list[Any]) -> list[tuple[str, Any]]:
    return [pair for at, doc in enumerate(docs) for pair in leaves(doc, f"/{at}")]


def _of(flat: list[tuple[str, Any]], pattern: str) -> list[Any]:
    """Return the values whose whole path matches, in order; nulls left out."""
    return [v for path, v in flat if v is not None and re.fullmatch(pattern, path)]


def _last(flat: list[tuple[str, Any]], pattern: str, default: Any) -> Any:
    return (_of(flat, pattern) or [default])[-1]


def _chat(docs: list[Any]) -> Told:
    # Of several choices the one with index 0, which is the first one in all recordings.
    docs = [
        {**doc, "choices": [c for c in doc.get("choices") or [] if not c.get("index")]}
        for doc in docs
    ]
    flat = _flat(docs)
    where = r"/\d+/choices/0/(?:delta|message)" if len(docs) == 1 else r"/\d+/choices/0/delta"
    words = [w for w in _of(flat, r"/\d+/choices/0/finish_reason") if w]
    refusal = "".join(_of(flat, where + "/refusal"))
    one = Told(
        text="".join(_of(flat, where + r"/content(?:/\d+/text)?|" + where + r"/content/\d+/text")),
        model=_last(flat, r"/\d+/model", ""),
        calls=_chat_calls(docs),
        logprobs=_of(flat, r"/\d+/choices/0/logprobs/content/\d+/logprob"),
        tokens_in=_last(flat, r"/\d+/(?:x_groq/)?usage/prompt_tokens", 0),
        tokens_out=_last(flat, r"/\d+/(?:x_groq/)?usage/completion_tokens", 0),
        cached=_last(flat, r"/\d+/usage/(?:prompt_tokens?_details/)?cached_tokens", 0)
        or _last(flat, r"/\d+/usage/(?:prompt_cache_hit_tokens|num_cached_tokens)", 0),
        thought=_last(
            flat, r"/\d+/(?:x_groq/)?usage/(?:completion_tokens?_details/)?reasoning_tokens", 0
        ),
    )
    total = _last(flat, r"/\d+/(?:x_groq/)?usage/total_tokens", 0)
    one.tokens_out = max(one.tokens_out, total - one.tokens_in)
    one.stop = STOPS["chat"][words[-1] if words else ""]
    if one.stop == "stop" and one.calls:
        one.stop = "tool_use"
    if refusal:
        one.stop = "refusal"
    errors = [doc["error"] for doc in docs if doc.get("error")]
    if errors and not words:
        is_filter = errors[0].get("code") == "content_filter"
        one.stop = "content_filter" if is_filter else "error"
    return one


def _chat_calls(docs: list[Any]) -> list[Call]:
    """Return the calls; no recording gives two calls one index."""
    pieces: dict[int, list[str]] = {}
    for doc in docs:
        for choice in doc["choices"][:1]:
            given = (choice.get("delta") or choice.get("message") or {}).get("tool_calls") or []
            for at, call in enumerate(given):
                key = call.get("index", at) if "delta" in choice else at
                slot = pieces.setdefault(key, ["", "", ""])
                slot[0] = call.get("id") or slot[0]
                slot[1] = (call.get("function") or {}).get("name") or slot[1]
                slot[2] += (call.get("function") or {}).get("arguments") or ""
    return [(pieces[key][0], pieces[key][1], pieces[key][2]) for key in sorted(pieces)]


def _responses(docs: list[Any]) -> Told:
    body = docs[0]
    items: list[Any] = body.get("output", [])
    if "type" in body:  # a stream
        ends = [d for d in docs if d["type"] in ("response.completed", "response.incomplete")]
        body = ends[-1]["response"]
        items = [d["item"] for d in docs if d["type"] == "response.output_item.done"]
    parts = [
        [part for part in item["content"] if part["type"] in ("output_text", "refusal")]
        for item in items
        if item["type"] == "message" and item.get("phase") != "commentary"
    ]
    answer = parts[-1] if parts else []
    usage = dict(leaves(body.get("usage") or {}))
    streamed = [
        value
        for path, value in _flat([d for d in docs if d.get("type", "").endswith("text.delta")])
        if re.fullmatch(r"/\d+/logprobs/\d+/logprob", path)
    ]
    one = Told(
        text="".join(part.get("text", "") for part in answer),
        model=body["model"],
        calls=[
            (item["call_id"], item["name"], item.get("arguments", item.get("input")))
            for item in items
            if item["type"] in ("function_call", "custom_tool_call")
        ],
        tokens_in=usage.get("/input_tokens", 0),
        tokens_out=usage.get("/output_tokens", 0),
        cached=usage.get("/input_tokens_details/cached_tokens", 0),
        thought=usage.get("/output_tokens_details/reasoning_tokens", 0),
        logprobs=[e["logprob"] for part in answer for e in part.get("logprobs") or []] or streamed,
    )
    reason = (body.get("incomplete_details") or {}).get("reason")
    one.stop = STOPS["responses"][reason or body["status"]]
    if one.stop == "stop" and one.calls:
        one.stop = "tool_use"
    if any(part["type"] == "refusal" for part in answer):
        one.stop = "refusal"
    return one


def _messages(docs: list[Any]) -> Told:
    flat = _flat(docs)
    base = r"/\d+(?:/message)?"
    blocks: dict[int, dict[str, Any]] = {}
    for doc in docs:
        blocks |= dict(enumerate(doc.get("content") or []))
        if doc.get("type") == "content_block_start":
            blocks[doc["index"]] = {**doc["content_block"], "json": ""}
        delta = doc.get("delta") or {}
        if delta.get("type") == "text_delta":
            blocks[doc["index"]]["text"] += delta["text"]
        if delta.get("type") == "input_json_delta":
            blocks[doc["index"]]["json"] += delta["partial_json"]
    ordered = [blocks[at] for at in sorted(blocks)]
    word = _last(flat, r"/\d+(?:/delta|/message)?/stop_reason", "")

    def usage(name: str) -> int:
        return int(_last(flat, base + "/usage/" + name, 0))

    cached = usage("cache_read_input_tokens")
    one = Told(
        stop=STOPS["messages"][word],
        text="".join(block["text"] for block in ordered if block["type"] == "text"),
        model=_last(flat, base + "/model", ""),
        calls=[
            (block["id"], block["name"], block.get("json") or json.dumps(block["input"]))
            for block in ordered
            if block["type"] == "tool_use"
        ],
        tokens_in=usage("input_tokens") + usage("cache_creation_input_tokens") + cached,
        tokens_out=usage("output_tokens"),
        cached=cached,
    )
    one.thought = usage("output_tokens_details/thinking_tokens")
    if any(doc.get("type") == "error" for doc in docs):
        one.stop = "error"
    return one
