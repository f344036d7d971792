"""Carrying out a call, if it may be: the only place where a tool's function is called for a model.

Neighbours: `_tool` is what users call; `_read` has judged the call. A dangerous tool is carried
out only after somebody has agreed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from extractkit.errors import NotConfirmedError, UsageError
from extractkit.tools._call import ToolCall

if TYPE_CHECKING:
    from extractkit.tools._tool import Tool

__all__ = ["arun", "run"]


def run(
    tool: Tool[..., Any], call: ToolCall, confirm: Callable[[ToolCall], object] | None
) -> object:
    """Return what `tool` gives for `call`; see `Tool.run`.

    Raises:
        UsageError: If it cannot be carried out in this way.
        NotConfirmedError: If `confirm` does not say True.
    """
    _require_runnable(tool, call, confirm)
    if _is_async(tool.function):
        raise UsageError(
            f"the tool {tool.name!r} is asynchronous; carry it out with `await tool.arun(call)`"
        )
    if tool.dangerous and confirm is not None:
        agreed = confirm(call)
        if inspect.isawaitable(agreed):
            _close(agreed)
            raise UsageError("confirm= is asynchronous; use `await tool.arun(call, confirm=...)`")
        _require_agreed(tool, call, agreed)
    given = _called(tool, call)
    if inspect.iscoroutine(given):  # nothing of it has run
        given.close()
        raise UsageError(
            f"the function of the tool {tool.name!r} gave a coroutine; carry it out with "
            "`await tool.arun(call)`"
        )
    return given


async def arun(
    tool: Tool[..., Any],
    call: ToolCall,
    confirm: Callable[[ToolCall], bool | Awaitable[bool]] | None,
) -> Any:
    """Return what `tool` gives for `call`; see `Tool.arun`.

    Raises:
        UsageError: If it cannot be carried out in this way.
        NotConfirmedError: If `confirm` does not say True.
    """
    _require_runnable(tool, call, confirm)
    if tool.dangerous and confirm is not None:
        agreed: object = confirm(call)
        _require_agreed(tool, call, await agreed if inspect.isawaitable(agreed) else agreed)
    if _is_async(tool.function):
        return await _called(tool, call)
    if isinstance(tool.function, type):
        return _called(tool, call)
    given, ended = await asyncio.to_thread(_called_in_thread, tool, call)
    if ended is not None:
        raise ended  # which Python makes a RuntimeError of, as in every coroutine
    return await given if inspect.isawaitable(given) else given


def _require_runnable(tool: Tool[..., Any], call: ToolCall, confirm: object) -> None:
    if not isinstance(cast("object", call), ToolCall):
        raise UsageError(f"a {type(call).__name__} was given to run; expected a ToolCall")
    if confirm is not None and not callable(confirm):
        raise UsageError(
            f"confirm={confirm!r:.80}: expected a function that takes the call and returns True "
            "to agree"
        )
    if call.tool is not tool:
        raise UsageError(
            f"a call of {call.name!r} was given to the tool {tool.name!r}; use call.tool"
            if call.tool is not None or call.ok
            else f"there is no tool {call.name!r}, and {tool.name!r} is not asked in its place"
        )
    call.unwrap()
    if tool.function is None:
        raise UsageError(f"the tool {tool.name!r} has no function; pass function= where it is made")
    if tool.dangerous and confirm is None:
        raise UsageError(
            f"the tool {tool.name!r} is dangerous, and nobody is asked; pass confirm=, a function "
            "that takes the call and returns True to agree"
        )


def _require_agreed(tool: Tool[..., Any], call: ToolCall, agreed: object) -> None:
    if agreed is not True:
        raise NotConfirmedError(
            f"the tool {tool.name!r} was not carried out: confirm= gave {agreed!r:.80}, and only "
            "True agrees",
            result=call,
        )


def _called(tool: Tool[..., Any], call: ToolCall) -> Any:
    if isinstance(tool.function, type):  # a model: the value is all there is
        return call.value
    if tool.function is not None and tool.parameters is not None:
        return tool.parameters.call(tool.function, call.value)
    return None if tool.function is None else tool.function(**call.arguments)


def _called_in_thread(tool: Tool[..., Any], call: ToolCall) -> tuple[Any, StopIteration | None]:
    """Return what the function gives, or the one exception that a thread cannot hand over."""
    try:
        return _called(tool, call), None
    except StopIteration as ended:
        return None, ended


def _is_async(function: object) -> bool:
    called = inspect.getattr_static(function, "__call__", None)  # an object that can be called
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _close(agreed: object) -> None:
    """End a coroutine that nobody waits for, so that it is not warned of."""
    if inspect.iscoroutine(agreed):
        agreed.close()
