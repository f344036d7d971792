"""Decoding bounds: limits where the user sets none, so that no answer runs away.

    | what is unbounded | bound | told as |
    |---|---|---|
    | a text (or one whose pattern or format has no end) | length | maxLength |
    | a list | length | maxItems |
    | a map | number of keys, length of keys | maxProperties, keyLength |
    | an integer | its size | minimum, maximum |
    | a number | its size, digits after the point | minimum, maximum, multipleOf |
    | anything (`Any`) | levels of nesting, and all of the above | depth |
    | recursion | levels of nesting | depth |

Besides, keys that may be absent and whose null (or one possible value) says the same are made
required: a small model leaves out what it may. Every bounded document fits the unbounded schema,
so the way back is the same. A value that reaches a bound is told by `BoundedSchema.hits`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from extractkit.paths import JsonObject, JsonValue, Pointer, is_object, join
from extractkit.schema.convert import below, settle
from extractkit.schema.dialects import Dialect
from extractkit.schema.inject import Injector
from extractkit.schema.limits import Bounds, InjectedBound
from extractkit.schema.minimal import shortest_document
from extractkit.schema.nodes import (
    Node,
    SchemaTree,
    replace,
)
from extractkit.schema.plain import parts_of, type_of
from extractkit.schema.write import write

__all__ = ["BoundedSchema", "Bounds", "InjectedBound", "bound"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedSchema:
    """A schema for decoding.

    Attributes:
        schema: What is enforced.
        injected: Every limit that was added.
        unbounded: (pointer, reason) of what no bound could be put on.
        minimal: The shortest document that the schema admits.
    """

    schema: JsonObject
    injected: tuple[InjectedBound, ...]
    unbounded: tuple[tuple[Pointer, str], ...]
    minimal: JsonValue
    _tree: SchemaTree = field(repr=False)
    _limits: Mapping[Node, tuple[InjectedBound, ...]] = field(repr=False)

    @property
    def tree(self) -> SchemaTree:
        """The bounded nodes, from which a grammar can be written."""
        return self._tree

    def hits(self, document: JsonValue) -> tuple[InjectedBound, ...]:
        """Return the bounds that values of an answer have reached, so that they may be cut.

        A number counts when it has no room for one more digit.

        Args:
            document: An answer to `schema`.
        """
        found: list[InjectedBound] = []
        pending: list[tuple[Pointer, JsonValue, Node | None]] = [("", document, self._tree.root)]
        while pending:
            pointer, value, node = pending.pop()
            node = None if node is None else settle(node, value, self._tree)
            if node is None:
                continue
            for limit in self._limits.get(node, ()):
                found.extend(_reached(pointer, value, limit))
            steps = [(join(pointer, key), part, below(node, key)) for key, part in parts_of(value)]
            pending.extend(reversed(steps))
        return tuple(found)


def _reached(pointer: Pointer, value: JsonValue, limit: InjectedBound) -> list[InjectedBound]:
    if limit.keyword == "keyLength":
        keys = [key for key in value if len(key) >= limit.limit] if is_object(value) else []
        return [replace(limit, pointer=join(pointer, key)) for key in keys]
    return [replace(limit, pointer=pointer)] if _is_at(value, limit) else []


_SIZED: Final = {"maxLength": "string", "maxItems": "array", "maxProperties": "object"}


def _is_at(value: JsonValue, limit: InjectedBound) -> bool:
    if limit.keyword == "depth":
        return True  # only what stands on the last level carries this limit
    if limit.keyword in _SIZED:
        # What is no answer to the schema can stand where something else was asked for.
        return type_of(value) == _SIZED[limit.keyword] and len(value) >= limit.limit
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if limit.keyword == "maximum":
        return value > 0 and value * 10 > limit.limit
    if limit.keyword == "minimum":
        return value < 0 and value * 10 < limit.limit
    if limit.keyword == "multipleOf":
        return _decimals(value) >= _decimals(limit.limit)
    return False


def _decimals(value: float) -> int:
    exponent = Decimal(str(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def bound(tree: SchemaTree, dialect: Dialect, bounds: Bounds) -> BoundedSchema:
    """Return what `tree` becomes with limits wherever it has none.

    Raises:
        SchemaError: If no finite document fits `tree`.
    """
    shortest_document(tree)
    injector = Injector(tree, dialect, bounds)
    bounded = injector.run()
    return BoundedSchema(
        schema=write(bounded, dialect),
        injected=injector.injected(),
        unbounded=injector.unbounded(),
        minimal=shortest_document(bounded),
        _tree=bounded,
        _limits=injector.limits,
    )
