"""Calls as an answer: the model of a document that lists them, each with the name of its tool.

Where a model is given no tools of its own, it is asked for this document, through the same
compiler as for any other target: a call names one of the tools, and its arguments are that tool's.
No call at all is an answer, too, unless one is required.

Neighbours: `_tool` has the tools, `_calls` takes the calls out of such an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from extractkit.checks import Check, CheckContext
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.results import Finding, Validity
from extractkit.tools._read import NO_SUCH_ARGUMENT, dropped_by

if TYPE_CHECKING:
    from extractkit.tools._tool import Tool

__all__ = ["answer_of", "arguments_at", "no_other_arguments"]

_CLOSED: Final = ConfigDict(extra="forbid")


@lru_cache(maxsize=64)
def answer_of(tools: tuple[Tool[..., Any], ...], *, least: int, most: int) -> type[BaseModel]:
    """Return the model of an answer that lists calls: {"calls": [{"name", "arguments"}, ...]}.

    Args:
        tools: What may be called, at least one; their names differ.
        least: How many calls there are at least.
        most: How many there are at most.

    Raises:
        SchemaError: If the arguments of a tool cannot be a part of a schema.
    """
    calls = tuple([_call_of(tool, place) for place, tool in enumerate(tools)])
    one: Any = calls[0]
    if len(calls) > 1:
        one = Annotated[Union[calls], Field(discriminator="name")]  # noqa: UP007  # made here
    bounds = Field(min_length=least, max_length=most)
    parts: dict[str, Any] = {"calls": (list[one], bounds)}
    return create_model("Calls", __config__=_CLOSED, **parts)


def _call_of(tool: Tool[..., Any], place: int) -> Any:
    said: dict[str, Any] = {"description": tool.description} if tool.description else {}
    parts: dict[str, Any] = {
        "name": (Literal[tool.name], Field(**said)),
        "arguments": (_arguments_of(tool, place), ...),
    }
    return create_model(f"Call{place}", __config__=_CLOSED, **parts)


def _arguments_of(tool: Tool[..., Any], place: int) -> Any:
    """Return the type of the arguments; a JSON Schema becomes a resource of its own."""
    if not is_object(tool.target):
        return tool.target
    # References of the schema are to be found in it, and not in what it becomes a part of.
    id = f"https://tool.invalid/{place}"
    schema = {**_absolute(tool.target, id), "$id": id}
    schema.pop("$schema", None)
    return Annotated[dict[str, Any], WithJsonSchema(schema)]


def _absolute(schema: JsonObject, id: str) -> JsonObject:
    """Return a schema whose references to its own parts name it."""
    made: JsonObject = {}
    for word, held in schema.items():
        if word == "$ref" and isinstance(held, str) and held.startswith("#"):
            made[word] = id + held
        else:
            made[word] = _absolute_part(held, id)
    return made


def _absolute_part(part: JsonValue, id: str) -> JsonValue:
    if is_array(part):
        return [_absolute_part(each, id) for each in part]
    return _absolute(part, id) if is_object(part) else part


def no_other_arguments(tools: Sequence[Tool[..., Any]]) -> tuple[Check, ...]:
    """Return a check that tells of arguments which a tool's model would drop; none if none would.

    The check is over an answer of `answer_of`.
    """
    open_ones = {tool.name: tool.compiled for tool in tools if not is_object(tool.target)}

    def no_other_arguments(context: CheckContext) -> Iterable[Finding]:
        document: Any = context.document
        for place, call in enumerate(document["calls"]):
            compiled = open_ones.get(call["name"])
            if compiled is None:
                continue
            made = context.value.calls[place].arguments
            for pointer in dropped_by(compiled, call["arguments"], made):
                yield Finding(
                    level=Validity.SCHEMA,
                    path=f"{arguments_at(place)}{pointer}",
                    message=NO_SUCH_ARGUMENT,
                    code="extra_argument",
                )

    return (no_other_arguments,) if open_ones else ()


def arguments_at(place: int) -> Pointer:
    """Return where the arguments of a call stand in an answer."""
    return f"/calls/{place}/arguments"
