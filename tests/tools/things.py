"""Tools and responses that several tests use."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from extractkit.tools import tool


class Ping(BaseModel):
    """Says that it is there."""


class Seek(BaseModel):
    """Looks something up."""

    q: str
    limit: int = Field(default=10, ge=1)


@tool
def book(
    guests: int,
    hotel: Annotated[str, "Which one"],
    until: date,
    room: Literal["single", "double"] = "single",
    *,
    extras: dict[str, int] | None = None,
) -> tuple[int, str, date, str, dict[str, int] | None]:
    """Books a room.

    Args:
        guests: How many
            people.
        hotel: Not said to the model: the annotation is.
    """
    return guests, hotel, until, room, extras


ARGUMENTS: dict[str, Any] = {"guests": 2, "hotel": "Sacher", "until": "2026-12-01"}


def chat(*calls: tuple[str, Any], finish: str | None = "tool_calls", **more: Any) -> dict[str, Any]:
    """Return a Chat Completion with calls: (tool, arguments as text or JSON)."""
    told = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": name, "arguments": text_of(given)},
        }
        for at, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": told, **more}
    return {"object": "chat.completion", "choices": [{"finish_reason": finish, "message": message}]}


def text_of(given: Any) -> Any:
    """Return arguments as they stand in a call: a text or null is kept."""
    return given if given is None or isinstance(given, str) else json.dumps(given)
