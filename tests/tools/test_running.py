"""What is carried out, and what is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from extractkit import Tool, ToolCall, parse_tool_calls, tool
from extractkit.errors import InvalidError, NotConfirmedError, UsageError
from tests.tools.things import Seek, chat

_done: list[int] = []


@tool
def add(n: int) -> int:
    """Adds."""
    _done.append(n)
    return n + 1


@tool(dangerous=True)
def delete(n: int) -> str:
    """Deletes."""
    return f"deleted {n}"


@tool
async def later(n: int) -> int:
    """Adds later."""
    await asyncio.sleep(0)
    return n + 1


class _Async:
    async def __call__(self, n: int) -> int:
        return n + 2


def _call(of: Tool[..., Any], arguments: Any) -> ToolCall:
    (call,) = parse_tool_calls(chat((of.name, arguments)), [of])
    return call


def test_a_call_that_reached_what_is_required_is_carried_out() -> None:
    assert add.run(_call(add, {"n": 2})) == 3
    assert tool(Seek).run is not None
    seek = tool(Seek)
    assert seek.run(_call(seek, {"q": "x", "limit": 2})) == Seek(q="x", limit=2)
    listed = Tool.of_schema(
        "x", {"type": "object", "properties": {"n": {"type": "integer"}}}, function=lambda n: n * 2
    )
    assert listed.run(_call(listed, {"n": 4})) == 8


def test_a_call_that_did_not_is_never_carried_out() -> None:
    _done.clear()
    with pytest.raises(InvalidError, match="/n"):
        add.run(_call(add, {"n": "two"}))
    with pytest.raises(InvalidError):
        asyncio.run(add.arun(_call(add, "{")))
    assert _done == []


def test_a_call_of_another_tool_is_refused() -> None:
    with pytest.raises(UsageError, match=r"use call\.tool"):
        add.run(_call(later, {"n": 1}))
    (unknown,) = parse_tool_calls(chat(("nothing", {"n": 1})), [add])
    with pytest.raises(UsageError, match="there is no tool 'nothing'"):
        add.run(unknown)


def test_a_tool_without_a_function_says_so() -> None:
    listed = Tool.of_schema("x", {"type": "object"})
    with pytest.raises(UsageError, match="has no function"):
        listed.run(_call(listed, "{}"))


def test_a_dangerous_tool_waits_for_a_true() -> None:
    call = _call(delete, {"n": 1})
    asked: list[ToolCall] = []

    def agree(call: ToolCall) -> bool:
        asked.append(call)
        return True

    assert delete.run(call, confirm=agree) == "deleted 1"
    assert asked == [call]
    with pytest.raises(UsageError, match="pass confirm="):
        delete.run(call)
    with pytest.raises(NotConfirmedError, match="only True agrees") as caught:
        delete.run(call, confirm=lambda call: "yes")  # type: ignore[arg-type,return-value]
    assert caught.value.result is call


def test_confirm_is_not_asked_for_a_harmless_tool_nor_for_a_call_that_cannot_be_taken() -> None:
    def never(call: ToolCall) -> bool:
        raise AssertionError

    assert add.run(_call(add, {"n": 2}), confirm=never) == 3
    with pytest.raises(InvalidError):
        delete.run(_call(delete, {}), confirm=never)


def test_async_tools_need_arun_and_plain_ones_take_it() -> None:
    with pytest.raises(UsageError, match=r"await tool\.arun"):
        later.run(_call(later, {"n": 1}))  # type: ignore[unused-coroutine]
    assert asyncio.run(later.arun(_call(later, {"n": 1}))) == 2
    assert asyncio.run(add.arun(_call(add, {"n": 1}))) == 2
    held = tool(_Async(), name="held")
    with pytest.raises(UsageError, match=r"await tool\.arun"):
        held.run(_call(held, {"n": 1}))  # type: ignore[unused-coroutine]
    assert asyncio.run(held.arun(_call(held, {"n": 1}))) == 3
    seek = tool(Seek)
    assert asyncio.run(seek.arun(_call(seek, {"q": "x", "limit": 2}))) == Seek(q="x", limit=2)


def test_confirm_may_be_async_where_it_can_be_waited_for() -> None:
    async def agree(call: ToolCall) -> bool:
        return True

    call = _call(delete, {"n": 1})
    with pytest.raises(UsageError, match="confirm= is asynchronous"):
        delete.run(call, confirm=agree)  # type: ignore[arg-type]
    assert asyncio.run(delete.arun(call, confirm=agree)) == "deleted 1"
    with pytest.raises(NotConfirmedError):
        asyncio.run(delete.arun(call, confirm=lambda call: False))


def test_what_the_function_raises_is_raised_as_it_is() -> None:
    @tool
    def fails(n: int) -> None:
        """Fails."""
        raise KeyError(n)

    with pytest.raises(KeyError):
        fails.run(_call(fails, {"n": 1}))


def test_what_ends_an_iterator_does_not_keep_the_loop_waiting() -> None:
    @tool
    def first() -> int:
        """Gives the first of none."""
        return next(iter(list[int]()))

    async def soon() -> None:
        await asyncio.wait_for(first.arun(_call(first, {})), 5)

    with pytest.raises(StopIteration):
        first.run(_call(first, {}))
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(soon())


def test_a_coroutine_is_no_outcome_of_run() -> None:
    @tool
    def wrapped(n: int) -> Any:
        """Hands on to an asynchronous function."""
        return later(n)

    with pytest.raises(UsageError, match=r"gave a coroutine.*await tool\.arun"):
        wrapped.run(_call(wrapped, {"n": 1}))
    assert asyncio.run(wrapped.arun(_call(wrapped, {"n": 1}))) == 2


def test_an_argument_may_be_called_as_the_tool_itself_is_to_python() -> None:
    schema = {"type": "object", "properties": {"self": {"type": "integer"}}}
    listed = Tool.of_schema("x", schema, function=lambda **given: given)
    assert listed.run(_call(listed, {"self": 1})) == {"self": 1}
    assert listed(self=2) == {"self": 2}


@pytest.mark.parametrize("given", [{"n": 1}, None, 3])
def test_only_a_call_can_be_carried_out(given: Any) -> None:
    with pytest.raises(UsageError, match="expected a ToolCall"):
        add.run(given)
    with pytest.raises(UsageError, match="expected a ToolCall"):
        asyncio.run(add.arun(given))


def test_who_is_asked_has_to_be_a_function() -> None:
    with pytest.raises(UsageError, match="confirm=True: expected a function"):
        delete.run(_call(delete, {"n": 1}), confirm=True)  # type: ignore[arg-type]
