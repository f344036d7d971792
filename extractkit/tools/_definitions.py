"""Definitions of tools in the forms of the APIs that take them.

    openai          Responses                            {"type": "function", "name", ...}
    openai-chat     Chat Completions                     {"type": "function", "function": {...}}
    compatible      the same, for servers that speak it
    anthropic       Messages                             {"name", "input_schema", "strict"}
    mcp             tools/list of the Model Context Protocol

Neighbours: `schema` compiles, `_tool` has the tools, `_read` takes back what is answered to these.
Nothing is sent here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from extractkit.errors import SchemaError, UnsupportedError, UsageError
from extractkit.paths import JsonObject
from extractkit.schema import CompiledSchema, compile_request
from extractkit.tools._shapes import as_object

if TYPE_CHECKING:
    from extractkit.tools._tool import Tool

__all__ = [
    "ToolApi",
    "compiled_tools",
    "definitions",
    "name_on_wire",
    "require_names",
    "require_tools",
    "strict_names",
]

ToolApi: TypeAlias = Literal["openai", "openai-chat", "anthropic", "compatible", "mcp"]
"""Whose form a definition has."""

_DIALECTS: Final = {
    "openai": "openai-strict",
    "openai-chat": "openai-strict",
    "compatible": "openai-strict",
    "anthropic": "anthropic-tool",
    "mcp": "json-schema",
}
_PLAIN: Final = "json-schema"
_LONGEST: Final = 64
_NAME: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST}}}")
_MCP_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def definitions(
    tools: Sequence[Tool[..., Any]], api: ToolApi, *, strict: bool | AbstractSet[str] = True
) -> list[JsonObject]:
    """Return the definitions of all tools of one request, in order.

    Limits of the API that count over a request are counted over all of them together.

    Args:
        tools: The tools.
        api: Whose form they are to have.
        strict: Whether the API is to hold arguments to the schema; or the names of the tools of
            which it is. False writes plain JSON Schema, for models without strict tools; say the
            same to `parse_tool_calls`.

    Raises:
        UsageError: If one is no tool, or two have one name in a request.
        SchemaError: If arguments cannot be expressed for this API, or all are too much together.
        UnsupportedError: If there is no such API.
    """
    compiled = compiled_tools(tools, api, strict=strict)
    return [
        _definition(tool, each, api, strict=_is_strict(tool, strict))
        for tool, each in zip(tools, compiled, strict=True)
    ]


def compiled_tools(
    tools: Sequence[Tool[..., Any]],
    api: ToolApi | None,
    *,
    strict: bool | AbstractSet[str] = True,
) -> tuple[CompiledSchema, ...]:
    """Return what the arguments of the tools of one request are compiled to, in order.

    Without an API that is their own shape, under their own names.

    Raises:
        UsageError: If one is no tool, or two have one name in a request.
        SchemaError: If arguments cannot be expressed for this API, or all are too much together.
        UnsupportedError: If there is no such API.
    """
    if api is not None:
        _require_api(api)
    require_tools(tools)
    _require_strict(strict, tools)
    require_names(tools, api)
    form = _PLAIN if api is None else _DIALECTS[api]
    dialects = [form if _is_strict(tool, strict) else _PLAIN for tool in tools]
    return _compiled(tuple(tools), tuple(dialects))


@lru_cache(maxsize=32)
def _compiled(
    tools: tuple[Tool[..., Any], ...], dialects: tuple[str, ...]
) -> tuple[CompiledSchema, ...]:
    targets = [tool.target for tool in tools]
    return compile_request(list(zip(targets, dialects, strict=True)))


def _is_strict(tool: Tool[..., Any], strict: bool | AbstractSet[str]) -> bool:
    return strict if isinstance(strict, bool) else tool.name in strict


@lru_cache(maxsize=32)
def strict_names(tools: tuple[Tool[..., Any], ...], api: ToolApi) -> frozenset[str]:
    """Return the names of the tools of one request of which an API can hold arguments to a schema.

    None, where those that it could hold by themselves are too much together.

    Raises:
        UsageError: If two have one name in a request.
    """
    names = frozenset(tool.name for tool in tools if _is_alone_strict(tool, api))
    try:
        compiled_tools(tools, api, strict=names)
    except SchemaError:
        return frozenset()
    return names


def _is_alone_strict(tool: Tool[..., Any], api: ToolApi) -> bool:
    try:
        compiled_tools((tool,), api)
    except SchemaError:
        return False
    return True


def _require_api(api: object) -> None:
    """Return if there is such an API.

    Raises:
        UnsupportedError: If not.
    """
    if not isinstance(api, str) or api not in _DIALECTS:
        known = ", ".join(get_args(ToolApi))
        raise UnsupportedError(f"tools are not written for {api!r:.80}; expected one of {known}")


def require_tools(tools: object) -> None:
    """Return if it is a list of tools.

    Raises:
        UsageError: If not.
    """
    from extractkit.tools._tool import Tool

    if not isinstance(tools, list | tuple):
        raise UsageError(f"tools is a {type(tools).__name__}; expected a list of tools")
    for each in cast("Sequence[object]", tools):
        if not isinstance(each, Tool):
            raise UsageError(f"{each!r:.80} is no tool; make one of it: tool(...)")


def _require_strict(strict: object, tools: Sequence[Tool[..., Any]]) -> None:
    if isinstance(strict, bool):
        return
    if not isinstance(strict, AbstractSet):
        raise UsageError(f"strict={strict!r:.80}: expected True, False or a set of tools' names")
    unknown = cast("AbstractSet[object]", strict) - {tool.name for tool in tools}
    if unknown:
        raise UsageError(f"strict names {', '.join(sorted(map(repr, unknown)))[:80]}, no such tool")


def require_names(tools: Sequence[Tool[..., Any]], api: ToolApi | None) -> None:
    """Return if no two tools have one name as the API takes it, or of their own without one.

    Raises:
        UsageError: If two have one.
    """
    seen: dict[str, str] = {}
    for tool in tools:
        name = name_on_wire(tool.name, api)
        if name in seen:
            mapped = "" if api is None else f" in a request ({seen[name]!r} and {tool.name!r})"
            raise UsageError(
                f"two tools are called {name!r}{mapped}; give one another name: tool(..., name=...)"
            )
        seen[name] = tool.name


def name_on_wire(name: str, api: ToolApi | None) -> str:
    """Return the name of a tool as the API takes it; its own where there is none.

    Letters that it does not take become "_"; a name that is too long is cut, and ends in a digest
    of the whole. What the model answers is read under either name.
    """
    if api is None or (_MCP_NAME if api == "mcp" else _NAME).fullmatch(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST - len(digest) - 1]}_{digest}"


def _definition(
    tool: Tool[..., Any], compiled: CompiledSchema, api: ToolApi, *, strict: bool
) -> JsonObject:
    named: JsonObject = {"name": name_on_wire(tool.name, api)}
    if tool.description:
        named["description"] = tool.description
    if api == "mcp":
        return _mcp_definition(tool, named)
    schema = as_object(compiled.schema)
    if api == "anthropic":
        form: JsonObject = {**named, "input_schema": schema}
        return {**form, "strict": True} if strict else form
    function: JsonObject = {**named, "parameters": schema, "strict": strict}
    if api == "openai":
        return {"type": "function", **function}
    return {"type": "function", "function": function}


def _mcp_definition(tool: Tool[..., Any], named: JsonObject) -> JsonObject:
    definition = {**named, "inputSchema": tool.schema}
    if tool.dangerous:
        definition["annotations"] = {"destructiveHint": True}
    return definition
