"""Tool calls that real providers sent: each ends as the recording says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from extractkit import Status, Tool, ToolCall, parse_tool_calls
from extractkit.errors import ExtractkitError
from extractkit.providers import anthropic, openai_chat, openai_responses
from extractkit.providers._sse import EventDecoder
from extractkit.tools import ToolApi, read_calls
from tests.acceptance.replay import _BROKEN, Case, _bytes_of
from tests.acceptance.replay_oracle import Told, documents, told

_APIS: dict[str, tuple[ToolApi, Any]] = {
    "chat": ("openai-chat", openai_chat.WIRE),
    "responses": ("openai", openai_responses.WIRE),
    "messages": ("anthropic", anthropic.WIRE),
}


def _cases(folder: Path) -> list[tuple[Case, Told, dict[str, Any]]]:
    found: list[tuple[Case, Told, dict[str, Any]]] = []
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        file = json.loads(line)["file"]
        for each in json.loads((folder / file).read_text(encoding="utf-8"))["interactions"]:
            request = each["request"]
            case = Case(file, frozenset(each["tags"]), request.get("url") or "", each["response"])
            if case.api not in _APIS or case.response["status"] != 200 or file in _BROKEN:
                continue
            said = told(case.api, documents(case.response))
            if said.calls and said.stop != "error":
                body = request.get("json") or request.get("json_partial") or {}
                found.append((case, said, body))
    return found


def _tools(body: dict[str, Any], said: Told) -> list[Tool[..., Any]]:
    """Return the tools that were given, and those that only the calls tell of."""
    made: dict[str, Tool[..., Any]] = {}
    for given in body.get("tools") or ():
        held = given.get("function") if isinstance(given.get("function"), dict) else given
        schema = held.get("parameters") or held.get("input_schema") or {"type": "object"}
        if held.get("name"):
            made[held["name"]] = Tool.of_schema(held["name"], schema)
    if not made:
        made = {name: Tool.of_schema(name, {"type": "object"}) for _, name, _ in said.calls if name}
    return list(made.values())


def _read(case: Case, tools: list[Tool[..., Any]]) -> tuple[ToolCall, ...]:
    api, wire = _APIS[case.api]
    if "json" in case.response:
        return parse_tool_calls(case.response["json"], tools, api=api, strict=False)
    events, decoder = EventDecoder(), wire.decoder()
    for event in [*events.feed(_bytes_of(case.response)), *events.close()]:
        decoder.feed(event)
    return read_calls(decoder.close(), tools, api=api, strict=False)


def _expected(stop: str, arguments: str, tool: Tool[..., Any] | None, *, is_last: bool) -> Status:
    endings = {"refusal": Status.REFUSED, "content_filter": Status.FILTERED}
    if stop == "length":
        if is_last:
            return Status.TRUNCATED
    elif stop not in ("stop", "tool_use"):
        return endings.get(stop, Status.INVALID)
    try:
        document = json.loads(arguments.strip() or "{}")
    except ValueError:
        return Status.INVALID
    fits = tool is not None and jsonschema_rs.is_valid(tool.target, document)
    return Status.OK if fits else Status.INVALID


def test_recorded_calls_end_as_the_recording_says(shared_data: Path) -> None:
    """Of arguments that are whole, a validator of its own says whether they fit."""
    folder = shared_data / "llm_recordings" / "dev"
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}")
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for case, said, body in _cases(folder):
        tools = _tools(body, said)
        try:
            calls = _read(case, tools)
        except ExtractkitError as error:
            wrong.append(f"{case.file}: {error}")
            continue
        known = {tool.name: tool for tool in tools}
        assert len(calls) == len(said.calls), case.file
        for call, (id, name, arguments) in zip(calls, said.calls, strict=True):
            is_last = call is calls[-1]
            expected = _expected(said.stop, arguments, known.get(name), is_last=is_last)
            counts[call.status.value] += 1
            if (call.id, call.name, call.status) != (id, name, expected):
                words = [finding.message for finding in call.findings]
                wrong.append(f"{case.file}: {name}: {call.status}, not {expected}: {words}")
            elif not call.ok and not any(item.severity == "error" for item in call.findings):
                wrong.append(f"{case.file}: {name}: no finding says why")
    assert wrong == []
    assert counts["ok"] > 210
    assert counts["truncated"] >= 1
    assert counts["invalid"] >= 1
