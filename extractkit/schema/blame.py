"""Which part of a type keeps Pydantic from reading it.

`describe` asks here when it has failed already, so that its error names a place. Nothing is
changed, and what a type's own code does is done again at most once for each of its parts.
"""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Final, Union, cast

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic_core import SchemaError as CoreSchemaError

from extractkit.paths import Pointer, join

__all__ = ["FAILURES", "culprit"]

# What Pydantic raises for types it cannot read, and what code of the types themselves may raise.
FAILURES: Final = (
    PydanticUserError,
    CoreSchemaError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)
_DEPTH: Final = 16
_AROUND: Final = frozenset({"NotRequired", "ReadOnly", "Required"})
"""What may stand around the type of a key of a TypedDict, and is no type itself."""


def culprit(target: Any) -> Pointer:
    """Return the place of the innermost part that Pydantic cannot read; "" is the type itself."""
    place: Pointer = ""
    for _ in range(_DEPTH):
        found = next(((key, part) for key, part in _parts(target) if not _can_read(part)), None)
        if found is None:
            return place
        key, target = found
        place = place if key is None else join(place, key)
    return place


def _can_read(target: Any) -> bool:
    if isinstance(target, type) and issubclass(target, BaseModel):
        return target.__pydantic_complete__
    try:
        return TypeAdapter[Any](cast("Any", target)).pydantic_complete
    except FAILURES:
        return False


def _parts(target: Any) -> Iterator[tuple[str | int | None, Any]]:
    """Yield the types that a type is made of, each with its key in a document, if it has one."""
    origin, arguments = typing.get_origin(target), typing.get_args(target)
    if origin is None:
        yield from _fields(target)
    elif origin is Annotated:
        yield None, arguments[0]
    elif origin in (Union, types.UnionType):
        yield from ((None, part) for part in arguments)
    elif origin is tuple:
        endless = len(arguments) == 2 and arguments[1] is Ellipsis
        places = ["*"] if endless else range(len(arguments))
        yield from zip(places, arguments, strict=False)
    elif isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        yield "*", arguments[-1]
    elif isinstance(origin, type) and issubclass(origin, collections.abc.Iterable):
        yield "*", arguments[0]
    else:
        yield from _fields(target)


def _fields(target: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a class; what an annotation refers to, where that can be found."""
    if not isinstance(target, type):
        return
    names: dict[str, Any] = {}
    for base in reversed(target.__mro__):
        names.update(inspect.get_annotations(base))
    module = sys.modules.get(target.__module__)
    for name, annotation in names.items():
        found = _resolved(annotation, vars(module) if module else {})
        origin = typing.get_origin(found)
        if repr(origin).rpartition(".")[2] in _AROUND:
            found = typing.get_args(found)[0]
        if not name.startswith("_") and origin is not typing.ClassVar:
            yield name, found


def _resolved(annotation: Any, known: dict[str, Any]) -> Any:
    holder: Any = types.SimpleNamespace(__annotations__={"field": annotation})
    try:
        return typing.get_type_hints(holder, globalns=known, include_extras=True)["field"]
    except (AttributeError, NameError, SyntaxError, TypeError):
        return annotation
