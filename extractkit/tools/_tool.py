"""Tools: what a model may ask to be done, with typed arguments.

Neighbours: `_parameters` reads functions, `_definitions` writes what a model is told, `_read` reads
what it asks for, `_running` carries that out. A tool is described here; no model is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from pydantic import BaseModel

from extractkit.errors import UsageError
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.schema import CompiledSchema, compile_schema
from extractkit.tools._call import ToolCall
from extractkit.tools._definitions import ToolApi, definitions
from extractkit.tools._docstring import docstring_of, name_of, read_docstring
from extractkit.tools._parameters import Parameters, parameters_of
from extractkit.tools._running import arun, run
from extractkit.tools._shapes import as_object, closed, require_object

__all__ = ["Tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool(Generic[P, R]):
    """Something that a model may ask to be done. Made by `tool`, `of_schema` and `from_mcp`.

    A tool of a function can be called as the function can.

    Attributes:
        name: What it is called; it is mapped where an API does not take it.
        description: What it does, for the model.
        target: What its arguments are judged by: a model class, or a JSON Schema that is closed
            to keys that it does not declare.
        function: What carries it out: a function, or the model class itself, which carries out
            nothing; None where there is neither.
        dangerous: Whether it is only carried out after somebody has agreed.
        schema: Its arguments as plain JSON Schema, as an MCP server lists it. Not to be changed.
        parameters: How the function takes them; None where it takes them by name.
    """

    name: str
    description: str
    target: Any
    function: Callable[P, R] | None = field(default=None, repr=False)
    dangerous: bool = False
    schema: JsonObject = field(repr=False)
    parameters: Parameters | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _require_name(self.name)
        _require_description(self.name, self.description)
        require_object(self.name, self.schema)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what the function gives; nothing is checked.

        Raises:
            UsageError: If the tool has no function.
        """
        if self.function is None:
            raise UsageError(f"the tool {self.name!r} has no function; pass function=")
        return self.function(*args, **kwargs)

    @classmethod
    def of_schema(
        cls,
        name: str,
        schema: JsonObject,
        *,
        description: str = "",
        function: Callable[..., Any] | None = None,
        dangerous: bool = False,
    ) -> Tool[..., Any]:
        """Return a tool whose arguments a JSON Schema describes.

        Keys that the schema does not declare are not taken, wherever it declares some and says
        nothing of others.

        Args:
            name: What it is called.
            schema: A JSON Schema of an object.
            description: What it does, for the model.
            function: What carries it out; it is called with the arguments by name.
            dangerous: Whether it is only carried out after somebody has agreed.

        Raises:
            UsageError: If the name is empty, or the schema is no object.
            SchemaError: If the arguments are no object, or the schema is broken.
        """
        if not is_object(cast("object", schema)):
            raise UsageError(f"tool {name!r}: the schema is a {type(schema).__name__}, not a dict")
        compile_schema(schema)
        return Tool(
            name=name,
            description=description,
            target=closed(schema),
            function=function,
            dangerous=dangerous,
            schema=schema,
        )

    @classmethod
    def from_mcp(
        cls,
        listed: Any,
        *,
        function: Callable[..., Any] | None = None,
        dangerous: bool | None = None,
    ) -> Tool[..., Any]:
        """Return the tool that an MCP server lists.

        Args:
            listed: An element of `tools` in the answer to tools/list: an object of the package
                `mcp`, or a dict as it stands in JSON.
            function: What carries it out; it is called with the arguments by name.
            dangerous: Whether it is only carried out after somebody has agreed. None believes the
                server's `destructiveHint` where it says True; it may be wrong, and a server that
                says nothing has not said that the tool is harmless.

        Raises:
            UsageError: If it is no such element.
            SchemaError: If the arguments are no object, or the schema is broken.
        """
        plain: JsonValue = listed
        if isinstance(listed, BaseModel):
            plain = listed.model_dump(mode="json", by_alias=True, exclude_none=True)
        if not is_object(plain) or not is_object(plain.get("inputSchema")):
            raise UsageError(
                f"not a tool of an MCP server: {type(listed).__name__}; expected an element of "
                "`tools` in the answer to tools/list, with name and inputSchema"
            )
        hints = plain.get("annotations")
        told = is_object(hints) and hints.get("destructiveHint") is True
        return cls.of_schema(
            cast("str", plain.get("name")),
            plain["inputSchema"],
            description=cast("str", plain.get("description") or ""),
            function=function,
            dangerous=told if dangerous is None else dangerous,
        )

    @property
    def compiled(self) -> CompiledSchema:
        """The arguments, compiled as plain JSON Schema."""
        return compile_schema(self.target)

    def definition(self, api: ToolApi, *, strict: bool = True) -> JsonObject:
        """Return what a model is told of the tool, in the form of an API.

        For several tools of one request, see `definitions`: some limits count over all of them.

        Args:
            api: "openai", "openai-chat", "anthropic", "compatible" or "mcp".
            strict: Whether the API is to hold arguments to the schema. False writes plain JSON
                Schema, for models without strict tools; say the same to `parse_tool_calls`.

        Raises:
            SchemaError: If the arguments cannot be expressed for this API.
            UnsupportedError: If there is no such API.
        """
        return definitions([self], api, strict=strict)[0]

    def arguments(self, value: Any) -> JsonObject:
        """Return what the function is called with, by parameter.

        Args:
            value: The `value` of a call of this tool.
        """
        if self.parameters is not None:
            return self.parameters.arguments(value)
        if isinstance(value, BaseModel):
            return {name: getattr(value, name) for name in type(value).model_fields}
        return dict(value)

    def run(self, call: ToolCall, *, confirm: Callable[[ToolCall], bool] | None = None) -> R:
        """Return what the tool gives for a call that reached what was required of it.

        What the function raises is raised as it is. A tool of a model gives the value.

        Args:
            call: A call of this tool.
            confirm: Asked before a dangerous tool is carried out; only True lets it.

        Raises:
            UsageError: If it is a call of another tool, the function is asynchronous (see `arun`)
                or missing, or the tool is dangerous and there is nobody to ask.
            NotConfirmedError: If `confirm` does not say True.
            RefusedError: If the model declined.
            TruncatedError: If the call was cut off.
            FilteredError: If a content filter withheld it.
            InvalidError: If the call did not reach the required level.
        """
        return cast("R", run(self, call, confirm))

    async def arun(
        self,
        call: ToolCall,
        *,
        confirm: Callable[[ToolCall], bool | Awaitable[bool]] | None = None,
    ) -> Any:
        """Return the same as `run`, for functions of either kind.

        A function that is not asynchronous runs in a thread, so that the event loop goes on.

        Args:
            call: A call of this tool.
            confirm: Asked before a dangerous tool is carried out; it may be asynchronous.

        Raises:
            UsageError: If it is a call of another tool, the function is missing, or the tool is
                dangerous and there is nobody to ask.
            NotConfirmedError: If `confirm` does not say True.
            RefusedError: If the model declined.
            TruncatedError: If the call was cut off.
            FilteredError: If a content filter withheld it.
            InvalidError: If the call did not reach the required level.
        """
        return await arun(self, call, confirm)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    dangerous: bool = False,
) -> Tool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, dangerous: bool = False
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    dangerous: bool = False,
) -> Any:
    """Return a tool of a function with typed parameters, or of a Pydantic model; a decorator.

    The description is the docstring before its first section. A parameter is described by
    Annotated[int, "..."], by a Field, or by the docstring, in this order.

    Args:
        function: A function or a model class; None gives a decorator.
        name: What the tool is called; by default as the function or class is.
        description: What it does, for the model, in place of the docstring.
        dangerous: Whether it is only carried out after somebody has agreed.

    Raises:
        UsageError: If it is neither, or a parameter has no type or stands for any number of
            arguments.
        SchemaError: If the parameters cannot be described, or are no object.

    Examples:
        >>> @tool
        ... def find_order(number: int) -> str:
        ...     '''Looks an order up.'''
        ...     return f"order {number}: paid"
        >>> find_order.name, find_order.description, find_order(7)
        ('find_order', 'Looks an order up.', 'order 7: paid')
    """
    if function is None:
        return partial(_made, name=name, description=description, dangerous=dangerous)
    return _made(function, name=name, description=description, dangerous=dangerous)


def _made(
    function: Callable[..., Any], *, name: str | None, description: str | None, dangerous: bool
) -> Tool[..., Any]:
    if not callable(cast("object", function)) or isinstance(function, Tool):
        raise UsageError(
            f"tool({function!r:.80}): expected a function with typed parameters, or a Pydantic "
            "model class"
        )
    called = name_of(function) if name is None else name
    _require_name(called)
    said = read_docstring(docstring_of(function)).summary if description is None else description
    _require_description(called, said)
    parameters: Parameters | None = None
    target: Any = function
    if not isinstance(function, type):
        parameters = parameters_of(function, called)
        target = parameters.model
    elif not issubclass(function, BaseModel):
        raise UsageError(
            f"tool({function.__name__}): a class that is no Pydantic model; expected a function "
            "with typed parameters, or a Pydantic model class"
        )
    return Tool(
        name=called,
        description=said,
        target=target,
        function=function,
        dangerous=dangerous,
        schema=as_object(compile_schema(target).schema),
        parameters=parameters,
    )


def _require_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise UsageError(f"a tool is called {name!r:.80}; expected a name")


def _require_description(name: str, description: object) -> None:
    if not isinstance(description, str):
        raise UsageError(f"tool {name!r}: the description is {description!r:.80}; expected a text")
