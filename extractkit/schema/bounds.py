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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Final, TypeAlias

from extractkit.fields import Mark
from extractkit.paths import JsonObject, JsonValue, Pointer, is_object, join
from extractkit.schema.convert import below
from extractkit.schema.dialects import Dialect
from extractkit.schema.inject import Injector
from extractkit.schema.limits import Bounds, InjectedBound
from extractkit.schema.match import choose
from extractkit.schema.minimal import shortest_document
from extractkit.schema.nodes import (
    NeverNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
    replace,
)
from extractkit.schema.plain import parts_of, type_of
from extractkit.schema.write import write

__all__ = ["BoundedSchema", "Bounds", "InjectedBound", "bound"]


_CutAt: TypeAlias = Callable[[str, int], int | None]


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
    _cut_at: _CutAt | None = field(default=None, repr=False)

    @property
    def limits(self) -> Mapping[Node, tuple[InjectedBound, ...]]:
        """What was added to the nodes of `tree`."""
        return self._limits

    def held(self, cut_at: _CutAt) -> BoundedSchema:
        """Return the same where marked leaves are held to a source, which bounds them.

        Args:
            cut_at: Gives of a text and an added limit the length that keeps out the source's
                next word, None where there is room for it.
        """
        return replace(self, _cut_at=cut_at)

    @property
    def tree(self) -> SchemaTree:
        """The bounded nodes, from which a grammar can be written."""
        return self._tree

    def hits(self, document: JsonValue) -> tuple[InjectedBound, ...]:
        """Return the bounds that values of an answer have reached, so that they may be cut.

        A number counts when it has no room for one more digit. Of marked leaves that are held to
        a source, a text counts when it has no room for the source's next word, a number never.

        Args:
            document: An answer to `schema`.
        """
        found: list[InjectedBound] = []
        pending: list[_Step] = [("", document, self._tree.root, None)]
        while pending:
            pointer, value, start, outer = pending.pop()
            node, mark = (None, None) if start is None else self._settle(start, value, outer)
            if node is None:
                continue
            cut_at = self._cut_at if mark in _BINDING else None
            for limit in self._limits.get(node, ()):
                if limit.keyword == "keyLength" and isinstance(node, ObjectNode) and node.key_mark:
                    cut_at = self._cut_at if node.key_mark in _BINDING else None
                reached = _reached if cut_at is None else partial(_reached_in_source, cut_at)
                found.extend(reached(pointer, value, limit))
            steps: list[_Step] = [
                (join(pointer, key), part, _below(node, key), mark) for key, part in parts_of(value)
            ]
            pending.extend(reversed(steps))
        return tuple(found)

    def _settle(
        self, node: Node, value: JsonValue, mark: Mark | None
    ) -> tuple[Node | None, Mark | None]:
        """Return the node that speaks of `value`, and the mark that holds there."""
        found: Node | None = node
        while found is not None:
            mark = found.mark or mark
            if isinstance(found, RefNode):
                found = self._tree.definitions[found.name]
            elif isinstance(found, UnionNode):
                found = choose(found, value, self._tree)
            else:
                break
        return found, mark


def _below(node: Node, key: str | int) -> Node | None:
    """Return what speaks of a part; a word of the source may be longer than the limit of keys."""
    found = below(node, key)
    if isinstance(found, NeverNode) and isinstance(node, ObjectNode) and len(node.patterns) == 1:
        return node.patterns[0][1]
    return found


_BINDING: Final = (Mark.VERBATIM, Mark.GROUNDED)
_Step: TypeAlias = tuple[Pointer, JsonValue, Node | None, Mark | None]


def _reached_in_source(
    cut_at: _CutAt, pointer: Pointer, value: JsonValue, limit: InjectedBound
) -> list[InjectedBound]:
    """Return a limit that words of the source have reached; numbers are held to none of these."""
    if limit.keyword == "keyLength":
        found = [(join(pointer, key), key) for key in value] if is_object(value) else []
    elif limit.keyword == "maxLength":
        found = [(pointer, value)] if isinstance(value, str) else []
    elif limit.keyword in ("minimum", "maximum", "multipleOf"):
        return []
    else:
        return _reached(pointer, value, limit)
    cuts = ((at, cut_at(text, int(limit.limit))) for at, text in found)
    return [replace(limit, pointer=at, limit=cut) for at, cut in cuts if cut is not None]


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
