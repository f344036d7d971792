"""Calls of tools as users ask for them: the two functions, and their defaults.

Neighbours: `_tool_question` says how a model is asked, the engine's drivers ask it.
"""

from __future__ import annotations

from typing import Unpack

from extractkit.api._tool_question import Choice, ToolOptions, Tools, asked_of
from extractkit.engine import adrive, drive
from extractkit.messages import Provider
from extractkit.providers import shared
from extractkit.tools import ToolCalls

__all__ = ["acall_tools", "call_tools"]


def call_tools(
    tools: Tools,
    text: str,
    *,
    model: str | Provider | None = None,
    instructions: str | None = None,
    choice: Choice = "auto",
    parallel: int = 8,
    **options: Unpack[ToolOptions],
) -> ToolCalls:
    """Return the calls of tools that a model chooses for a text, and what is known of each.

    Nothing is carried out; `call.tool.run(call)` does that. No call at all is an answer, too.

    Args:
        tools: What may be called, at least one tool.
        text: What is asked for, in the user's own words.
        model: As for `extract`.
        instructions: Your own words to the model.
        choice: "auto" leaves it to the model whether it calls anything, "required" demands a call,
            a tool demands calls of that one.
        parallel: How many calls an answer may have at most, 1 to 128.
        options: Further keywords of `extract`, and what differs there. strategy: "auto" for the
            strongest way there is; "native" holds arguments to their schema at the provider, as
            strict tools or as an answer that lists the calls, "local" does so in this process,
            "prompt" asks for such an answer in words. checks: over a CheckContext of the whole
            answer, as in {"calls": [{"name": ..., "arguments": ...}]}; a Finding at
            "/calls/0/arguments/nights" is said of the first call. require: what the answer, and
            each call of it, must reach. sampling, decoding, grounding, retry, timeout_s: as there.

    Raises:
        UsageError: If an argument, the text or a tool cannot be used as given.
        SchemaError: If the arguments of a tool cannot be expressed.
        UnsupportedError: If the model cannot do what was wished.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the first answer.
    """
    provider = shared(model)
    asked = asked_of(
        tools,
        text,
        provider=provider,
        instructions=instructions,
        choice=choice,
        parallel=parallel,
        options=options,
    )
    return drive(asked.flow(), provider)


async def acall_tools(
    tools: Tools,
    text: str,
    *,
    model: str | Provider | None = None,
    instructions: str | None = None,
    choice: Choice = "auto",
    parallel: int = 8,
    **options: Unpack[ToolOptions],
) -> ToolCalls:
    """Return what `call_tools` returns, without blocking the event loop.

    Raises:
        UsageError: If an argument, the text or a tool cannot be used as given.
        SchemaError: If the arguments of a tool cannot be expressed.
        UnsupportedError: If the model cannot do what was wished.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the first answer.
    """
    provider = shared(model)
    asked = asked_of(
        tools,
        text,
        provider=provider,
        instructions=instructions,
        choice=choice,
        parallel=parallel,
        options=options,
    )
    return await adrive(asked.flow(), provider)
