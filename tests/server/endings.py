"""The ways in which an answer can end, by name, for each API that has them.

The target behind the texts has `owner` (required), `parts` (a list) and `note` (or null).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from tests.server import chat, messages, responses
from tests.server.answers import Answer, Api, Failure
from tests.server.script import Reply, json_reply, sse_reply

__all__ = ["CUT", "ENDINGS", "REFUSAL", "WHOLE", "Ending", "Mode", "replies", "reply_of"]

Mode: TypeAlias = Literal["plain", "stream"]

WHOLE = '{"owner":"Ida","parts":["bolt"],"note":null}'
CUT = '{"owner":"Ida","parts":["bolt","nu'
SHORT = '{"owner":"Ida","parts":null,"note":null}'
"""Whole JSON, as a limit can leave it behind where the last fields may be null."""
REFUSAL = "I can't help with that."
_TOOL = ("get_weather", '{"city":"Rome"}')
_BOTH: tuple[Mode, ...] = ("plain", "stream")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """One way to end.

    Attributes:
        answers: What is answered, in order, the last for ever, by API; one that cannot end so
            is not there.
        modes: Whether it can happen in plain replies, in streams, or in both.
        drop: Whether the connection goes after the text.
    """

    answers: Mapping[Api, Sequence[Answer]]
    modes: tuple[Mode, ...] = _BOTH
    drop: bool = False


def replies(ending: Ending, api: Api, mode: Mode) -> list[Reply]:
    """Return what the server replies, in order."""
    return [_reply(answer, api, mode, drop=ending.drop) for answer in ending.answers[api]]


def reply_of(answer: Answer, api: Api, mode: Mode) -> Reply:
    """Return what the server replies for one answer."""
    return sse_reply(_EVENTS[api](answer)) if mode == "stream" else json_reply(_BODIES[api](answer))


def _reply(answer: Answer, api: Api, mode: Mode, *, drop: bool) -> Reply:
    reply = reply_of(answer, api, mode)
    # In a stream with an open end everything is text so far; half a plain body ends in the text.
    at = len(reply.body) if mode == "stream" else len(reply.body) // 2
    return reply.but(drop_at=at) if drop else reply


_BODIES: Mapping[Api, Callable[[Answer], dict[str, Any]]] = {
    "chat": chat.body,
    "responses": responses.body,
    "messages": messages.body,
}
_EVENTS: Mapping[Api, Callable[[Answer], list[bytes]]] = {
    "chat": chat.events,
    "responses": responses.events,
    "messages": messages.events,
}


def _of(*apis: Api, **answer: Any) -> Ending:
    """Return an ending of `apis`, or of all."""
    return Ending(answers={api: (Answer(**answer),) for api in apis or get_args(Api)})


def _only(ending: Ending, *modes: Mode, drop: bool = False) -> Ending:
    """Return `ending` where it can only happen in `modes`."""
    return Ending(answers=ending.answers, modes=modes, drop=drop)


def _failing(chat_kind: str, responses_kind: str, messages_kind: str) -> Ending:
    kinds: dict[Api, str] = {
        "chat": chat_kind,
        "responses": responses_kind,
        "messages": messages_kind,
    }
    return Ending(
        answers={api: (Answer(text=CUT, tail=Failure(kind=kind)),) for api, kind in kinds.items()}
    )


ENDINGS: Mapping[str, Ending] = {
    # clean
    "clean stop": _of(text=WHOLE),
    "clean stop, tokens not counted": _of(text=WHOLE, usage=False),
    "clean stop after reasoning": _of(text=WHOLE, thinking="The box is Ida's."),
    "clean stop after a preamble": _of("responses", text=WHOLE, preamble="Let me read it."),
    "clean stop, fence around the JSON": _of(text=f"```json\n{WHOLE}\n```"),
    # refusals
    "refusal without text": _of(text=None, refusal=REFUSAL),
    "refusal beside text": _of(text=REFUSAL, refusal=REFUSAL),
    "refusal after cut JSON": _of(text=CUT, refusal=REFUSAL),
    "refusal after whole JSON": _of(text=WHOLE, refusal=REFUSAL),
    # limits
    "output limit, cut JSON": _of(text=CUT, stop="length"),
    "output limit, whole JSON": _of(text=SHORT, stop="length"),
    "output limit while reasoning": _of(text=None, thinking="The box", stop="length"),
    "context window full, cut JSON": _of("messages", text=CUT, stop="context"),
    "context window full, whole JSON": _of("messages", text=SHORT, stop="context"),
    # filters
    "content filter, cut JSON": _of("chat", "responses", text=CUT, stop="filter"),
    "content filter, whole JSON": _of("chat", "responses", text=WHOLE, stop="filter"),
    "content filter, no content": _of("chat", "responses", text=None, stop="filter"),
    # turns that are not over
    "pause for ever, whole JSON": _of("messages", text=WHOLE, stop="pause"),
    "pause, then the rest": Ending(
        answers={
            "messages": (
                Answer(text=WHOLE[:20], stop="pause"),
                Answer(text=WHOLE[20:], stop="stop"),
            )
        }
    ),
    "tool call instead of text": _of(text=None, tool=_TOOL, stop="tool_use"),
    "tool call beside whole JSON": _of(text=WHOLE, tool=_TOOL, stop="tool_use"),
    # nothing
    "empty text": _of(text=""),
    "no content": _of(text=None),
    "no choice": _of("chat", empty=True),
    # other words
    "incomplete: max_messages": _of("responses", text=WHOLE, stop="incomplete:max_messages"),
    "incomplete: steered": _of("responses", text=WHOLE, stop="incomplete:steered"),
    "incomplete: a reason unknown to us": _of("responses", text=WHOLE, stop="incomplete:bored"),
    "incomplete without a reason": _of("responses", text=WHOLE, stop="incomplete:"),
    "stop reason unknown to us": _of(text=WHOLE, stop="sand_in_the_gears"),
    "no stop reason": _of(text=WHOLE, stop=None),
    "queued": _of("responses", text=WHOLE, stop="status:queued"),
    "in progress": _of("responses", text=WHOLE, stop="status:in_progress"),
    # failures of the provider with status 200
    "failed": _of("responses", text=CUT, stop="status:failed"),
    "cancelled": _of("responses", text=CUT, stop="status:cancelled"),
    "failure reported: server": _failing("server_error", "server_error", "api_error"),
    "failure reported: overloaded": _of(
        "messages", text=CUT, tail=Failure(kind="overloaded_error", message="Overloaded")
    ),
    "failure reported: rate limit": _failing(
        "rate_limit_exceeded", "rate_limit_exceeded", "rate_limit_error"
    ),
    # a clean stop and a bad answer
    "prose": _of(text="The box belongs to Ida and holds one bolt."),
    "two documents": _of(text=f"{WHOLE}\n{SHORT}"),
    "key twice": _of(text='{"owner":"Ida","owner":"Eve","parts":["bolt"],"note":null}'),
    "wrong type in an optional field": _of(text='{"owner":"Ida","parts":["bolt"],"note":5}'),
    # streams and connections
    "stream without its last event, cut JSON": _only(_of(text=CUT, tail="open"), "stream"),
    "stream without its last event, whole JSON": _only(_of(text=WHOLE, tail="open"), "stream"),
    "[DONE] without a finish reason": _only(_of("chat", text=WHOLE, tail="done"), "stream"),
    "connection lost after text": _only(_of(text=CUT, tail="open"), *_BOTH, drop=True),
}
