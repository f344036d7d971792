"""The words around tools that an API takes as such; the definitions are not words, and sent apart.

Neighbours: `engine` builds the first request for calls and every repeated one here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from extractkit.messages import Message, ModelRequest, ModelResponse, RawToolCall
from extractkit.prompts._telling import MOST_FINDINGS, errors_of, own
from extractkit.results import Finding

__all__ = ["calling", "calling_again"]

_SYSTEM = """\
You choose the tools that serve a request, and call them.
{instructions}Take every argument from the request, and make none up.{none}"""
_NONE = " Where no tool serves it, call none and say so in words."

_WRONG = "This call was not carried out. What is wrong with it:\n{findings}"
_NOT_DONE = "This call was not carried out, because the answer as a whole does not hold."
_AGAIN = """\
That answer does not hold, and nothing was carried out:
{findings}
Answer again as a whole, with everything that is to be called."""


def calling(text: str, *, instructions: str | None, required: bool) -> tuple[Message, ...]:
    """Return the turns that ask for calls.

    Args:
        text: The request, unchanged.
        instructions: The caller's own words.
        required: Whether there has to be a call.
    """
    system = _SYSTEM.format(instructions=own(instructions), none="" if required else _NONE)
    return (Message(role="system", content=system), Message(role="user", content=text))


def calling_again(
    request: ModelRequest,
    response: ModelResponse,
    findings: Sequence[Finding],
    wrong: Sequence[Sequence[Finding]],
) -> tuple[Message, ...]:
    """Return the turns of `request`, the answer, what came of each call, and what is wrong.

    What is wrong with a call is told as what came of it, where the answer can be shown as it came:
    APIs take calls back that have an id each and a JSON object as arguments.

    Args:
        request: What was asked.
        response: The answer with its calls.
        findings: What is wrong with the answer as a whole.
        wrong: What is wrong with each call, by its place.
    """
    calls = response.tool_calls
    every = "\n".join([*_lines(findings), *_lines_apart(calls, wrong)][:MOST_FINDINGS])
    again = Message(role="user", content=_AGAIN.format(findings=every))
    has_own_ids = len({call.id for call in calls}) == len(calls)
    if not (calls and has_own_ids and all(map(_can_be_shown, calls))):
        shown = [f"{call.name}({call.arguments})" for call in calls]
        said = "\n".join([response.text, *shown]).strip() or "(nothing)"
        return (*request.messages, Message(role="assistant", content=said), again)
    asked = Message(
        role="assistant",
        content=response.text,
        calls=tuple([_as_it_is_shown(call) for call in calls]),
        parts=response.continue_with or (),
    )
    outcomes = [
        Message(
            role="tool",
            content=_WRONG.format(findings=_told(each)) if each else _NOT_DONE,
            call_id=call.id,
        )
        for call, each in zip(calls, wrong, strict=True)
    ]
    whole = Message(role="user", content=_AGAIN.format(findings=_told(findings) or every))
    return (*request.messages, asked, *outcomes, whole)


def _told(findings: Sequence[Finding]) -> str:
    return "\n".join(_lines(findings)[:MOST_FINDINGS])


def _lines(findings: Sequence[Finding], whose: str = "") -> list[str]:
    return errors_of(findings, whole="the whole", whose=whose)


def _lines_apart(calls: Sequence[RawToolCall], wrong: Sequence[Sequence[Finding]]) -> Iterator[str]:
    """Yield what is wrong with each call; of several, each line says whose it is."""
    for number, (call, each) in enumerate(zip(calls, wrong, strict=True), start=1):
        whose = f"call {number} ({call.name}), " if len(calls) > 1 else ""
        yield from _lines(each, whose)


def _can_be_shown(call: RawToolCall) -> bool:
    try:
        arguments = json.loads(call.arguments.strip() or "{}")
    except ValueError:
        return False
    return bool(call.id) and isinstance(arguments, dict)


def _as_it_is_shown(call: RawToolCall) -> RawToolCall:
    return RawToolCall(id=call.id, name=call.name, arguments=call.arguments.strip() or "{}")
