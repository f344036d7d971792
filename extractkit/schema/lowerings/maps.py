"""Open objects, for targets whose objects are closed.

| from | to | back |
|---|---|---|
| a map | a list of {"key": ..., "value": ...} | an object with these keys |
| a rule over keys: a pattern, a length, a choice | the same rule over "key" | as it is |
| keys by several patterns | one kind of entry per pattern | as it is |
| declared keys beside others | one more key, which holds the others as such a list | merged again |

A list can hold one key twice, which no object can: that is told as "uniqueKeys" before, and of
an answer as a fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final

from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.schema.lowerings.losses import may_overlap
from extractkit.schema.match import is_found
from extractkit.schema.nodes import (
    ArrayNode,
    NeverNode,
    Node,
    ObjectNode,
    Property,
    StringNode,
    UnionNode,
    replace,
    stand_in,
)
from extractkit.schema.scope import Scope
from extractkit.schema.ways import InPlace, Way

__all__ = ["Entries", "Others", "closed", "free_name", "lower"]

_KEY: Final = "key"
_VALUE: Final = "value"
_OTHERS: Final = "additional_properties"


@dataclass(frozen=True, slots=True)
class Entries(Way):
    """A map as a list of entries.

    Attributes:
        patterns: What keys must fit; empty where there is no such rule.
    """

    patterns: tuple[str, ...] = ()
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the entries of an object, in its order.

        Raises:
            ValueError: If it is no object, or a key fits none of the patterns.
        """
        if not is_object(value):
            raise ValueError("it is no object; give an object")
        for key in value:
            if self.patterns and not any(is_found(pattern, key) for pattern in self.patterns):
                raise ValueError(
                    f"the schema that is sent has no such key as {key!r:.60}; leave it out"
                )
        return [{_KEY: key, _VALUE: item} for key, item in value.items()]

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the object of a list of entries; of equal keys the first one counts."""
        if not is_array(value) or not all(_is_entry(entry) for entry in value):
            return value
        found: JsonObject = {}
        for entry in value:
            if entry[_KEY] in found:
                told.append(f"the key {entry[_KEY]!r} comes more than once")
            found.setdefault(entry[_KEY], entry[_VALUE])
        return found

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return the key of the entry at a position."""
        if is_array(value) and isinstance(key, int) and _is_entry(value[key]):
            return str(value[key][_KEY])
        return key


def _is_entry(entry: JsonValue) -> bool:
    return is_object(entry) and entry.keys() == {_KEY, _VALUE} and isinstance(entry[_KEY], str)


@dataclass(frozen=True, slots=True)
class Others(Way):
    """Keys that are not declared, under a key of their own.

    Attributes:
        name: The key that holds them.
        declared: The keys that it must not hold.
    """

    name: str
    declared: frozenset[str]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return an object with its undeclared keys put together."""
        if not is_object(value):
            return value
        others = {key: item for key, item in value.items() if key not in self.declared}
        known = {key: item for key, item in value.items() if key in self.declared}
        return {**known, self.name: others}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return an object with all keys beside each other again."""
        if not is_object(value) or not is_object(value.get(self.name)):
            return value
        known = {key: item for key, item in value.items() if key != self.name}
        others: JsonObject = value[self.name]
        told.extend(
            f"the key {key!r} is declared, and comes among the others under {self.name!r} too"
            for key in others
            if key in self.declared
        )
        return {**known, **{key: item for key, item in others.items() if key not in known}}

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return `key`; what holds the others stands at the place of the object itself."""
        del value
        return None if key == self.name else key


def lower(node: ObjectNode, scope: Scope) -> Node:
    """Return `node` with its undeclared keys as a list of entries."""
    if node.is_closed and not node.patterns:
        return node
    scope.lose(node, "uniqueKeys", "a list of entries can hold one key twice; that is a fault")
    entries = _entries(node, scope)
    if not node.properties:
        scope.change(node, "an open map", "a list of key and value entries")
        return stand_in(entries, node, min_items=node.min_properties, max_items=node.max_properties)
    declared = [prop.name for prop in node.properties]
    name = free_name(_OTHERS, declared)
    scope.change(node, "keys beside the declared ones", f'a list of entries under "{name}"')
    return replace(
        node,
        properties=(*node.properties, Property(name=name, node=entries, required=True)),
        patterns=(),
        names=None,
        extra=closed(node),
        extra_stated=True,
        ways=(*node.ways, Others(name, frozenset(declared))),
    )


def closed(node: Node) -> Node:
    """Return what no key beside the declared ones of `node` can be."""
    return NeverNode(pointer=f"{node.pointer}/*")


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, or the first of name_2, name_3 ... that is not taken."""
    known, count, free = set(taken), 1, name
    while free in known:
        count += 1
        free = f"{name}_{count}"
    return free


def _entries(node: ObjectNode, scope: Scope) -> ArrayNode:
    at = f"{node.pointer}/*"
    kinds = [
        _entry(StringNode(pointer=at, pattern=pattern), value) for pattern, value in node.patterns
    ]
    if not node.is_closed:
        names = StringNode(pointer=at) if node.names is None else node.names
        kinds.append(_entry(names, node.extra))
        if node.patterns:
            scope.lose(
                node, "patternProperties", "a key that fits an expression can be written as another"
            )
    if may_overlap(node):
        scope.lose(node, "patternProperties", "a key that fits two expressions is held to one")
    items = kinds[0] if len(kinds) == 1 else UnionNode(pointer=at, branches=tuple(kinds))
    patterns = tuple(pattern for pattern, _ in node.patterns) if node.is_closed else ()
    return ArrayNode(pointer=node.pointer, items=items, ways=(Entries(patterns),))


def _entry(key: Node, value: Node) -> Node:
    return ObjectNode(
        pointer=value.pointer,
        properties=(
            Property(name=_KEY, node=key, required=True),
            Property(name=_VALUE, node=value, required=True),
        ),
        extra=closed(value),
        extra_stated=True,
        ways=(InPlace(),),
    )
