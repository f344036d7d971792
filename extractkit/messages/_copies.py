"""Frozen values, copied with some of their fields changed.

Neighbours: the rooms above change requests, responses and questions by it for each answer, and
nodes of a schema: most of what a compilation does is this. `dataclasses.replace` makes and checks
every field anew, which takes several times as long.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

__all__ = ["changed"]

T = TypeVar("T")


def changed(value: T, /, **fields: object) -> T:
    """Return a copy of a frozen value with other values in some fields; nothing is checked again.

    Args:
        value: An instance of a dataclass with slots.
        fields: The fields that are others, each of the kind that it has to be.

    Raises:
        AttributeError: If there is no such field.
    """
    kind: Any = type(value)
    copy: T = object.__new__(kind)
    for get, put in _slots(kind):
        put(copy, get(value))
    for name, other in fields.items():
        object.__setattr__(copy, name, other)
    return copy


@cache
def _slots(kind: type[Any]) -> tuple[tuple[Callable[[Any], Any], Callable[[Any, Any], None]], ...]:
    slots: list[Any] = [getattr(kind, item.name) for item in dataclasses.fields(kind)]
    return tuple((slot.__get__, slot.__set__) for slot in slots)
