"""Judge the tool calls of a model before anything is executed, and tell it what was wrong.

You learn: tools of functions, definitions for an API, calls as results, confirmation, and how a
model is asked again for a call that does not hold.
Costs: nothing; the answers stand in this file. Takes less than a second.
"""

import json
from datetime import date
from typing import Annotated, Any, Literal

from extractkit import Tool, ToolCall, call_tools, parse_tool_calls, tool
from extractkit.errors import NotConfirmedError
from extractkit.testing import FakeProvider
from extractkit.tools import definitions


@tool
def find_order(number: Annotated[int, "Number of the order"]) -> str:
    """Looks an order up."""
    return f"order {number}: 2 chairs, paid"


@tool
def move_delivery(
    number: Annotated[int, "Number of the order"],
    to: Annotated[date, "The new day"],
    window: Annotated[Literal["morning", "evening"], "When on that day"] = "morning",
) -> str:
    """Moves the delivery of an order to another day."""
    return f"order {number} comes on {to}, {window}"


@tool(dangerous=True)
def cancel_order(number: Annotated[int, "Number of the order"]) -> str:
    """Cancels an order. This cannot be undone."""
    return f"order {number} is cancelled"


TOOLS: list[Tool[..., Any]] = [find_order, move_delivery, cancel_order]

# What an SDK's response is as a dict; the object itself is taken as well.
RESPONSE = {
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [
        {"type": "tool_use", "id": "1", "name": "find_order", "input": {"number": 7}},
        {
            "type": "tool_use",
            "id": "2",
            "name": "move_delivery",
            "input": {"number": 7, "to": "2026-12-04", "window": None},
        },
        {
            "type": "tool_use",
            "id": "3",
            "name": "move_delivery",
            "input": {"number": 7, "to": "next Friday", "window": None},
        },
        {"type": "tool_use", "id": "4", "name": "cancel_order", "input": {"number": 7}},
        {"type": "tool_use", "id": "5", "name": "refund_order", "input": {"number": 7}},
    ],
}


# Two answers of a model that is asked for calls; call_tools asks a real one as well.
ANSWERS = [
    {"name": "move_delivery", "arguments": {"number": 7, "to": "Friday", "window": "evening"}},
    {"name": "move_delivery", "arguments": {"number": 7, "to": "2026-12-04", "window": "evening"}},
]


def agree(call: ToolCall) -> bool:
    """Return True where a person agrees; here nobody is asked about order 7."""
    print(f"   may I {call.name} {call.arguments}? no")
    return False


def main() -> None:
    """Carry out what can be, and say why the rest is not."""
    for definition in definitions(TOOLS, "anthropic"):
        schema = json.dumps(definition["input_schema"]["properties"])
        print(f"{definition['name']}: {len(schema)} characters of schema")
    for call in parse_tool_calls(RESPONSE, TOOLS):
        print(f"{call.id}. {call.name}: {call.status.value}, {call.validity.name}")
        if not call.ok or call.tool is None:
            for finding in call.findings:
                print(f"   {finding.path or '(root)'}: {finding.message}")
            continue
        try:
            print(f"   {call.tool.run(call, confirm=agree)}")
        except NotConfirmedError as error:
            print(f"   {error}")
    model = FakeProvider([json.dumps({"calls": [call]}) for call in ANSWERS])
    chosen = call_tools(TOOLS, "Order 7 on Friday, 2026-12-04, in the evening", model=model)
    print(f"{len(chosen.attempts)} answers: {chosen.status.value}")
    print(f"   {chosen.attempts[0].findings[0].path}: {chosen.attempts[0].findings[0].message}")
    for call in chosen.unwrap():
        print(f"   {call.tool.run(call) if call.tool else call.name}")


if __name__ == "__main__":
    main()
