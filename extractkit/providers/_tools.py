"""Tools of a request, and turns with calls, in the forms of the hosted APIs.

Neighbours: the encoders put what is made here into their bodies. Definitions come in the API's own
form and are sent as they are. Pure: nothing is opened, and no call is judged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from extractkit.messages import Message, ToolOffer
from extractkit.paths import JsonObject

__all__ = ["chat_turns", "message_turns", "put_tools", "put_tools_of_messages", "response_items"]


def put_tools(body: JsonObject, offer: ToolOffer | None, *, nested: bool) -> None:
    """Put tools into a body of OpenAI's APIs; what is their default is left out.

    Args:
        body: What is posted; it is changed.
        offer: The tools; None puts nothing.
        nested: Whether a function has an object of its own, as in Chat Completions.
    """
    if offer is None:
        return
    body["tools"] = [dict(each) for each in offer.definitions]
    if offer.only:
        name: JsonObject = {"name": offer.only}
        body["tool_choice"] = {"type": "function", **({"function": name} if nested else name)}
    elif offer.required:
        body["tool_choice"] = "required"
    if not offer.parallel:
        body["parallel_tool_calls"] = False


def put_tools_of_messages(body: JsonObject, offer: ToolOffer | None) -> None:
    """Put tools into a body of Anthropic's Messages; what is its default is left out.

    Args:
        body: What is posted; it is changed.
        offer: The tools; None puts nothing.
    """
    if offer is None:
        return
    body["tools"] = [dict(each) for each in offer.definitions]
    choice: JsonObject = {"type": "any" if offer.required else "auto"}
    if offer.only:
        choice = {"type": "tool", "name": offer.only}
    if not offer.parallel:
        choice["disable_parallel_tool_use"] = True
    if choice != {"type": "auto"}:
        body["tool_choice"] = choice


def chat_turns(turns: Sequence[Message]) -> list[JsonObject]:
    """Return the messages of Chat Completions."""
    return [_chat_turn(turn) for turn in turns]


def _chat_turn(turn: Message) -> JsonObject:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.content}
    if not turn.calls:
        return {"role": turn.role, "content": turn.content}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in turn.calls
    ]
    return {"role": turn.role, "content": turn.content or None, "tool_calls": calls}


def response_items(turns: Sequence[Message]) -> list[JsonObject]:
    """Return the items of the input of Responses."""
    items: list[JsonObject] = []
    for turn in turns:
        if turn.role == "tool":
            items.append(
                {"type": "function_call_output", "call_id": turn.call_id, "output": turn.content}
            )
            continue
        if turn.content or not turn.calls:
            items.append({"role": turn.role, "content": turn.content})
        items += [
            # Without the item's own id, for which the API wants the reasoning before it, too.
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for call in turn.calls
        ]
    return items


def message_turns(turns: Sequence[Message]) -> list[JsonObject]:
    """Return the turns of Anthropic's Messages.

    What came of calls, and what the user says behind it, is one turn of the user. The arguments of
    a call have to be a JSON object.
    """
    made: list[JsonObject] = []
    results: list[JsonObject] = []
    for turn in turns:
        if turn.role == "tool":
            if not results:
                made.append({"role": "user", "content": results})
            results.append(_result(turn))
        elif turn.role == "user" and results:
            results.append({"type": "text", "text": turn.content})
        else:
            results = []
            made.append({"role": turn.role, "content": _blocks(turn)})
    return made


def _result(turn: Message) -> JsonObject:
    return {
        "type": "tool_result",
        "tool_use_id": turn.call_id,
        "content": turn.content,
        "is_error": True,  # no call is carried out while one is asked for
    }


def _blocks(turn: Message) -> str | list[JsonObject]:
    if turn.parts:
        return [dict(part) for part in turn.parts]
    if not turn.calls:
        return turn.content
    text: list[JsonObject] = [{"type": "text", "text": turn.content}] if turn.content else []
    calls: list[JsonObject] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in turn.calls
    ]
    return [*text, *calls]
