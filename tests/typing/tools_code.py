"""What users write with tools, checked by mypy and pyright; nothing here is run."""

from __future__ import annotations

from typing import Annotated, assert_type

from pydantic import BaseModel

from extractkit import Tool, ToolCall, parse_tool_calls, tool


class Order(BaseModel):
    number: int


@tool
def find(number: int, deep: Annotated[bool, "All of it"] = False) -> str:
    return f"{number} {deep}"


@tool(name="weigh_order", dangerous=True)
def weigh(number: int) -> float:
    return number / 2


order = tool(Order, name="order")


def calls(response: object) -> None:
    assert_type(find(1, deep=True), str)
    assert_type(order(number=1), Order)
    found = parse_tool_calls(response, [find, weigh, order])
    assert_type(found, tuple[ToolCall, ...])
    assert_type(find.run(found[0]), str)
    assert_type(weigh.run(found[1], confirm=lambda call: call.ok), float)
    assert_type(order.run(found[2]), Order)
    listed: Tool[..., object] = Tool.from_mcp(response)
    assert_type(listed(1), object)
