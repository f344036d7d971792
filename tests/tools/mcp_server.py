"""A server of the Model Context Protocol over stdio, as the package `mcp` makes one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Line(BaseModel):
    """One line."""

    sku: str
    count: int = Field(ge=1)


def order(
    lines: list[Line],
    pay: Annotated[Literal["card", "cash"], Field(description="How it is paid")] = "card",
    notes: dict[str, str] | None = None,
) -> str:
    """Orders what the lines say."""
    return f"{len(lines)} lines, {pay}, {notes}"


def ping() -> str:
    """Says that it is there."""
    return "pong"


if __name__ == "__main__":
    from mcp.server import MCPServer

    server = MCPServer("shop")
    server.add_tool(order)
    server.add_tool(ping)
    server.run("stdio")
