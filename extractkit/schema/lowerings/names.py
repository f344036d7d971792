"""Keys whose spelling a target does not take.

| from | to | back |
|---|---|---|
| a key with other characters, too long, or empty | a legal one, unlike all others | the key |

The legal one keeps what it can of the user's spelling, and ends in a digest of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from extractkit.paths import JsonValue, is_object
from extractkit.schema.lowerings.maps import free_name
from extractkit.schema.nodes import (
    Node,
    ObjectNode,
    replace,
)
from extractkit.schema.scope import Scope
from extractkit.schema.ways import Way

__all__ = ["Renamed", "lower"]

_KEPT: Final = 48
"""Characters of a key that are kept; what makes it unique comes behind them."""


@dataclass(frozen=True, slots=True)
class Renamed(Way):
    """Keys under other names.

    Attributes:
        names: The user's key by the name that is sent.
    """

    names: Mapping[str, str]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return an object with the names that are sent.

        Raises:
            ValueError: If it has one of these names as a key of its own.
        """
        if not is_object(value):
            return value
        for name in self.names:
            if name in value:
                raise ValueError(
                    f"the key {name!r} is not declared, and stands for another one; leave it out"
                )
        sent = {key: name for name, key in self.names.items()}
        return {sent.get(key, key): item for key, item in value.items()}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return an object with the user's keys."""
        del told
        if not is_object(value):
            return value
        return {self.names.get(key, key): item for key, item in value.items()}

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return the user's key."""
        del value
        return self.names.get(key, key) if isinstance(key, str) else key


def lower(node: ObjectNode, scope: Scope) -> Node:
    """Return `node` with legal keys."""
    legal = scope.dialect.property_names
    if legal is None:
        return node
    is_legal = re.compile(legal).fullmatch
    taken = {prop.name for prop in node.properties if is_legal(prop.name)}
    if len(taken) == len(node.properties):
        return node
    names: dict[str, str] = {}
    for prop in node.properties:
        if prop.name not in taken:
            name = free_name(_legal(prop.name), {*taken, *names})
            names[name] = prop.name
            scope.change(prop.node, f"the key {prop.name!r:.80}", f'the key "{name}"')
    sent = {key: name for name, key in names.items()}
    properties = tuple(
        replace(prop, name=sent.get(prop.name, prop.name)) for prop in node.properties
    )
    return replace(node, properties=properties, ways=(*node.ways, Renamed(names)))


def _legal(key: str) -> str:
    """Return a name that hangs on the key alone, not on those beside it."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", key).strip("_")[:_KEPT] or "key"
    return f"{stem}_{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
