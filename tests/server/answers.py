"""One answer of a model in neutral words, and the reply that an API makes of it.

`chat`, `responses` and `messages` write the bodies; `endings` names the answers that matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = [
    "CACHED_TOKENS",
    "INPUT_TOKENS",
    "MODEL",
    "OUTPUT_TOKENS",
    "REASONING_TOKENS",
    "Answer",
    "Api",
    "Failure",
    "event",
    "pieces",
]

Api: TypeAlias = Literal["chat", "responses", "messages"]

MODEL = "scripted-model-2026-01-01"
INPUT_TOKENS = 11
"""All that was read; the part that came from the cache included."""
CACHED_TOKENS = 3
OUTPUT_TOKENS = 7
REASONING_TOKENS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure that the API reports although the status is 200.

    Attributes:
        kind: What it is: the type (Chat, Messages) or the code (Responses).
        message: The words beside it.
    """

    kind: str
    message: str = "scripted failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model answered.

    Attributes:
        text: The text; None where there is no text at all (null, no item, no block).
        stop: "stop", "length", "context", "filter", "tool_use", "pause" or "refusal" in the API's
            own word; "status:x" is a status of Responses; "incomplete:x" its reason; anything
            else is sent as it is; None is null.
        refusal: Words of a refusal, where the API has a place for them.
        tool: Name and arguments of a tool call.
        thinking: A block of reasoning before the text.
        preamble: A message before the answer, marked as commentary (Responses).
        usage: Whether the tokens are counted.
        tail: How a stream ends: "whole"; "open": without what says how it ended, but cleanly;
            "done": the same, with the [DONE] of Chat; a Failure after the text.
        empty: Chat: no choice at all.
        piece: Characters that one event of a stream brings.
    """

    text: str | None = ""
    stop: str | None = "stop"
    refusal: str | None = None
    tool: tuple[str, str] | None = None
    thinking: str = ""
    preamble: str = ""
    usage: bool = True
    tail: Literal["whole", "open", "done"] | Failure = "whole"
    empty: bool = False
    piece: int = 5


def pieces(text: str | None, count: int) -> Sequence[str]:
    """Return `text` in the pieces in which a stream brings it."""
    return [text[start : start + count] for start in range(0, len(text), count)] if text else []


def event(data: Mapping[str, Any] | str, name: str = "") -> bytes:
    """Return one server-sent event."""
    line = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {line}\n\n".encode()
