"""Which model holds a place of a tool's arguments, and what its configuration says.

Neighbours: `_read` asks of keys that no model declares. Nothing is validated here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pydantic import AliasChoices, BaseModel, RootModel

from extractkit.paths import Pointer, split

__all__ = ["config_at"]

_NONE: Final[Mapping[str, Any]] = {}


def config_at(value: object, pointer: Pointer) -> Mapping[str, Any]:
    """Return the configuration of the model that holds a place; empty where none is to be found.

    Args:
        value: What was made of the arguments.
        pointer: A place in the arguments as they came.
    """
    for token in split(pointer)[:-1]:
        value = _member(_unrooted(value), token)
    held = _unrooted(value)
    if isinstance(held, BaseModel):
        return cast("Mapping[str, Any]", type(held).model_config)
    return getattr(type(held), "__pydantic_config__", _NONE)


def _unrooted(value: object) -> object:
    while isinstance(value, RootModel):
        value = cast("Any", value).root
    return value


def _member(value: object, token: str) -> object:
    """Return what stands under a key of the arguments; None where that cannot be told."""
    if isinstance(value, BaseModel):
        return getattr(value, _field_of(type(value), token), None)
    if isinstance(value, Mapping):
        return cast("Mapping[Any, object]", value).get(token)
    if isinstance(value, Sequence):
        items = cast("Sequence[object]", value)
        return items[int(token)] if token.isdecimal() and int(token) < len(items) else None
    return getattr(value, token, None) if dataclasses.is_dataclass(value) else None


def _field_of(model: type[BaseModel], key: str) -> str:
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        keys = alias.choices if isinstance(alias, AliasChoices) else [alias, field.alias]
        if key in keys:
            return name
    return key
