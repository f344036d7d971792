"""Tools of a real server of the Model Context Protocol, over stdio, there and back."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from extractkit import Tool, parse_tool_calls, tool
from tests.tools import mcp_server
from tests.tools.things import chat

_SERVER = Path(mcp_server.__file__)


async def _session(work: Any) -> Any:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", mcp_server.__name__], cwd=str(_SERVER.parents[2])
    )
    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        return await work(session)


def test_what_a_server_lists_round_trips_and_its_tools_can_be_called() -> None:
    """Listed, defined for a model, asked for by it, judged, and called on the server."""
    pytest.importorskip("mcp", reason="needs the package mcp: pip install mcp")

    async def work(session: Any) -> tuple[list[Any], str]:
        listed = (await session.list_tools()).tools

        async def call_on_server(**arguments: Any) -> str:
            return str((await session.call_tool("order", arguments)).content[0].text)

        order = Tool.from_mcp(listed[0], function=call_on_server)
        arguments = {
            "lines": [{"sku": "a", "count": 2}],
            "pay": "cash",
            "notes": [[{"key": "to", "value": "me"}]],  # a list of one: it may be left out, too
        }
        (call,) = parse_tool_calls(chat(("order", arguments)), [order])
        return listed, await order.arun(call)

    listed, said = asyncio.run(_session(work))
    assert [each.name for each in listed] == ["order", "ping"]
    assert said == "1 lines, cash, {'to': 'me'}"
    for each in listed:
        plain = each.model_dump(mode="json", by_alias=True, exclude_none=True)
        told = Tool.from_mcp(each).definition("mcp")
        assert told == {key: plain[key] for key in ("name", "description", "inputSchema")}


def test_definitions_of_ours_are_what_the_package_takes_for_a_tool() -> None:
    types = pytest.importorskip("mcp.types", reason="needs the package mcp: pip install mcp")
    ours = tool(mcp_server.order)
    listed = types.Tool.model_validate(ours.definition("mcp"))
    assert Tool.from_mcp(listed).definition("mcp") == ours.definition("mcp")
    asked = types.CallToolRequest(
        params=types.CallToolRequestParams(name="order", arguments={"lines": []})
    )
    (call,) = parse_tool_calls(asked, [ours])
    assert ours.run(call) == "0 lines, card, None"
    (of_params,) = parse_tool_calls(asked.params, [ours])
    assert of_params.ok
    (nothing,) = parse_tool_calls(types.CallToolRequestParams(name="ping"), [tool(mcp_server.ping)])
    assert nothing.ok
    assert [finding.code for finding in nothing.findings] == ["empty_arguments"]
