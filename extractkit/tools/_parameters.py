"""The parameters of a function as a Pydantic model, and the way back to a call.

Neighbours: `_tool` makes tools of functions, `_docstring` says what is written of a parameter.
No function is called here.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PydanticSchemaGenerationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError as BrokenTypeError

from extractkit.errors import SchemaError, UsageError
from extractkit.tools._docstring import docstring_of, read_docstring, unwrapped

__all__ = ["Parameters", "parameters_of"]

_CONFIG: Final = ConfigDict(
    extra="forbid", arbitrary_types_allowed=False, protected_namespaces=(), title=None
)
_TAKEN: Final = frozenset(dir(BaseModel))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of one function.

    Attributes:
        model: The model that arguments are validated with; it takes no others.
        fields: The model's field of each parameter, in declared order.
        positional: The parameters that can only be given by position.
    """

    model: type[BaseModel]
    fields: Mapping[str, str]
    positional: frozenset[str]

    def arguments(self, value: BaseModel) -> dict[str, Any]:
        """Return the Python value of each parameter."""
        return {name: getattr(value, attribute) for name, attribute in self.fields.items()}

    def call(self, function: Callable[..., Any], value: BaseModel) -> Any:
        """Return what the function gives for validated arguments."""
        given = self.arguments(value)
        positional = [given.pop(name) for name in self.fields if name in self.positional]
        return function(*positional, **given)


def parameters_of(function: Callable[..., Any], name: str) -> Parameters:
    """Return the parameters of a function.

    Args:
        function: With a type for each parameter.
        name: What the tool is called.

    Raises:
        UsageError: If a parameter has no type, or one that cannot be looked up, or stands for any
            number of arguments.
        SchemaError: If a type cannot be a part of a schema.
    """
    signature = _signature_of(function, name)
    types = _types_of(function, name)
    said = read_docstring(docstring_of(function)).parameters
    fields: dict[str, str] = {}
    made: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        _require_usable(parameter, types, name)
        attribute = _attribute(parameter.name, made)
        fields[parameter.name] = attribute
        declared = _described(types[parameter.name], said.get(parameter.name, ""))
        _require_no_alias(parameter, types[parameter.name], name)
        if isinstance(parameter.default, FieldInfo):  # a: int = Field(ge=0)
            declared = Annotated[declared, parameter.default]
        made[attribute] = (declared, _field(parameter, attribute))
    try:
        model = create_model(name, __config__=_CONFIG, __module__=function.__module__, **made)
    except (PydanticUserError, PydanticSchemaGenerationError, BrokenTypeError, TypeError) as exc:
        raise SchemaError(
            f"tool {name!r}: its parameters cannot be described: {_told_by(exc)}; give each a "
            "type that Pydantic knows",
            pointer="",
        ) from exc
    positional = frozenset(
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind is parameter.POSITIONAL_ONLY
    )
    return Parameters(model=model, fields=fields, positional=positional)


def _signature_of(function: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(
            f"tool {name!r}: the parameters of {function!r:.80} cannot be read; wrap it in a "
            "function with typed parameters"
        ) from None


def _types_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    asked = unwrapped(function)
    if not inspect.isroutine(asked):  # an object that can be called
        asked = type(asked).__call__
    try:
        return typing.get_type_hints(inspect.unwrap(asked), include_extras=True)
    except NameError as exc:
        raise UsageError(
            f"tool {name!r}: the type of a parameter cannot be looked up: {exc}; move the type to "
            "the module, or leave out `from __future__ import annotations`"
        ) from None


def _require_usable(parameter: inspect.Parameter, types: Mapping[str, Any], name: str) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise UsageError(
            f"tool {name!r}: {parameter} stands for any number of arguments; name each parameter, "
            "or take one list or dict"
        )
    if parameter.name not in types:
        raise UsageError(
            f"tool {name!r}: parameter {parameter.name!r} has no type; annotate it (of a method, "
            "make the tool from the bound one: tool(thing.method))"
        )


def _require_no_alias(parameter: inspect.Parameter, declared: Any, name: str) -> None:
    extras = declared.__metadata__ if get_origin(declared) is Annotated else ()
    for extra in (*extras, parameter.default):
        if isinstance(extra, FieldInfo) and (extra.alias or extra.validation_alias):
            raise UsageError(
                f"tool {name!r}: Field(alias={extra.alias or extra.validation_alias!r}) of the "
                f"parameter {parameter.name!r} has no place: a model is told the parameter's own "
                "name; rename the parameter"
            )


def _attribute(name: str, made: Mapping[str, Any]) -> str:
    """Return the field for a parameter: its name, unless a model has no place for it."""
    attribute = f"{name.strip('_') or 'argument'}_" if _is_taken(name) else name
    while attribute in made or (attribute != name and _is_taken(attribute)):
        attribute += "_"
    return attribute


def _is_taken(name: str) -> bool:
    return name.startswith("_") or name in _TAKEN


def _field(parameter: inspect.Parameter, attribute: str) -> Any:
    alias = None if attribute == parameter.name else parameter.name
    if parameter.default is parameter.empty or isinstance(parameter.default, FieldInfo):
        return Field(alias=alias)
    return Field(default=parameter.default, alias=alias)


def _described(declared: Any, said: str) -> Any:
    """Return a type with a description: that of its own Field, a text in Annotated, `said`."""
    extras = list(declared.__metadata__) if get_origin(declared) is Annotated else []
    if any(isinstance(extra, FieldInfo) and extra.description for extra in extras):
        return declared
    texts = [extra for extra in extras if isinstance(extra, str)]
    texts += [extra.documentation for extra in extras if hasattr(extra, "documentation")]
    words = texts[0] if texts else said
    if not words:
        return declared
    bare = get_args(declared)[0] if extras else declared
    kept = [extra for extra in extras if not isinstance(extra, str)]
    return Annotated[(bare, *kept, Field(description=words))]


def _told_by(error: BaseException) -> str:
    lines = str(error).strip().split("\n")
    return lines[-1] if isinstance(error, BrokenTypeError) else lines[0]  # the cause stands last
