"""Nodes -> a grammar: one rule or terminal for what each place may say.

Neighbours: `texts` makes strings, `stated` lists what marked leaves may say, `parts` writes the
grammar. Objects are written with ", " and ": " between their parts and nothing else, in declared
order. What needs nothing of ours (numbers, texts with a pattern) is left to the engine's own
reading of JSON Schema, under the same options.

A mark holds for everything below it, until a mark further in. What a marked leaf may say is
finite, so that it is held to the limits that the user declares, not to those of decoding. An
object whose rules over keys cannot be written here is left to the engine whole; marks below it
are then checked afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from extractkit.fields import Mark
from extractkit.paths import JsonObject
from extractkit.schema.dialects import Dialect
from extractkit.schema.grammar.objects import COLON, COMMA, Key, body, is_countable
from extractkit.schema.grammar.parts import (
    Either,
    Literal,
    Missing,
    Named,
    Part,
    Repeat,
    Row,
    Rules,
    optional,
)
from extractkit.schema.grammar.runs import Runs
from extractkit.schema.grammar.stated import Sourced, choices, is_duration, numbers, texts
from extractkit.schema.grammar.texts import any_key, any_text, one_of, source_text, written
from extractkit.schema.limits import InjectedBound
from extractkit.schema.lowerings.defaults import NullIsAbsent
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    NumberNode,
    ObjectNode,
    Property,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
    owners,
    replace,
    walk_nodes,
)
from extractkit.schema.write import write

__all__ = ["JSON_OPTIONS", "Walk", "is_marked"]

JSON_OPTIONS: Final[JsonObject] = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": False,
    "coerce_one_of": False,
}
"""How the engine reads what is left to it: the same separators, and no keyword passed over."""

_NOTHING: Final = Row(parts=())
_FREE: Final = (None, Mark.INFERRED, Mark.REASONING)
_DECLARED: Final = {"maximum": "maximum", "minimum": "minimum", "multipleOf": "multiple_of"}
"""Limits that decoding adds to numbers, and the attributes of a node that hold them."""
_LENGTH_ONLY: Final = re.compile(r"\^\(\?s:\.\)\{(\d+),(\d*)\}\$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """What holds at a place: the mark, whether it is the place's own, and what it is part of."""

    owner: str = ""
    mark: Mark | None = None
    own: bool = False
    decimal: bool = False

    @property
    def is_free(self) -> bool:
        """Whether values need not come from the source."""
        return self.mark in _FREE


class Walk:
    """One walk over one bounded tree.

    Args:
        tree: The nodes, with a bound on everything.
        dialect: How the engine's own JSON Schema is written.
        sourced: What the source states; None enforces no mark.
        limits: What decoding has added to the nodes of `tree`.
    """

    def __init__(
        self,
        tree: SchemaTree,
        dialect: Dialect,
        sourced: Sourced | None,
        limits: Mapping[Node, tuple[InjectedBound, ...]] = MappingProxyType({}),
    ) -> None:
        self._tree = tree
        self._dialect = dialect
        self._sourced = sourced
        self._limits = limits
        self._runs = Runs(() if sourced is None else sourced.chunks)
        self._rules = Rules()
        self._named: dict[tuple[str, _Here], Named] = {}
        self._waiting: list[tuple[str, _Here, Named]] = []
        self._by_type: Mapping[type[Node], Callable[[Any, _Here], Part]] = {
            AnyNode: self._embedded,
            NeverNode: self._never,
            NullNode: lambda _, __: Literal(text="null"),
            BooleanNode: lambda _, __: one_of(self._rules, ("true", "false")),
            NumberNode: self._number,
            StringNode: self._string,
            ChoiceNode: self._choice,
            ArrayNode: self._array,
            ObjectNode: self._object,
            UnionNode: self._union,
            AllOfNode: self._embedded,
            RefNode: self._reference,
        }

    def run(self) -> tuple[str, tuple[str, ...]]:
        """Return the grammar, and the places of the user's document that nothing can fill.

        One of the two is empty.
        """
        root = self._part(self._tree.root, _Here())
        while self._waiting:
            name, here, rule = self._waiting.pop()
            self._rules.define(rule, self._part(self._tree.definitions[name], here))
        text = self._rules.text(root)
        return text, () if text else self._rules.missing(root)

    def _part(self, node: Node, here: _Here) -> Part:
        if self._sourced is not None:
            own = here.own or node.mark is not None
            mark = node.mark or here.mark
            if mark not in _FREE and is_unknown(self._tree.resolve(node)):
                mark = None
            here = replace(here, mark=mark, own=own)
        return self._by_type[type(node)](node, here)

    def _missing(self, node: Node, here: _Here) -> Part:
        places = self._tree.places.get(here.owner, ("",))
        return Missing(pointer=(places[0] if places else "") + node.pointer)

    def _never(self, node: NeverNode, here: _Here) -> Part:
        return self._missing(node, here)

    # --- what is left to the engine ---------------------------------------------------------

    def _embedded(self, node: Node, here: _Here) -> Part:
        del here
        bare = replace(node, description="", notes={})
        below = {name: self._tree.definitions[name] for name in self._reached(node)}
        schema = write(SchemaTree(root=bare, definitions=below), self._dialect)
        options = {"x-guidance": JSON_OPTIONS}
        return self._rules.schema(json.dumps({**schema, **options}, ensure_ascii=False))

    def _reached(self, node: Node) -> list[str]:
        found: dict[str, None] = {}
        pending = [node]
        while pending:
            for part in walk_nodes(pending.pop()):
                if isinstance(part, RefNode) and part.name not in found:
                    found[part.name] = None
                    pending.append(self._tree.definitions[part.name])
        return list(found)

    def _is_left(self, node: Node, here: _Here) -> bool:
        """Whether a container has to be left to the engine, and can be."""
        if not (node.rest or (isinstance(node, ObjectNode) and not is_countable(node))):
            return False
        if self._sourced is None:
            return True
        below = [node, *(self._tree.definitions[name] for name in self._reached(node))]
        marks = {mark for top in below for part in walk_nodes(top) for mark in _marks(part)}
        return here.is_free and marks.issubset(_FREE)

    # --- leaves -----------------------------------------------------------------------------

    def _number(self, node: NumberNode, here: _Here) -> Part:
        if here.is_free or self._sourced is None:
            return self._embedded(node, here)
        own = {_DECLARED[key]: None for key in self._added(node) if key in _DECLARED}
        return self._one_of(numbers(replace(node, **own), self._sourced), node, here)

    def _string(self, node: StringNode, here: _Here) -> Part:
        has_form = node.format is not None or node.pattern is not None
        if here.is_free or self._sourced is None or is_duration(node):
            if has_form or node.rest:
                return self._embedded(node, here)
            return any_text(self._rules, node.min_length, node.max_length)
        if has_form or here.decimal:
            found = texts(self._with_room(node), self._sourced, decimal=here.decimal)
            return self._one_of(found, node, here)
        return self._from_source(self._with_room(node), here, self._sourced)

    def _added(self, node: Node) -> list[str]:
        """Return the keywords that decoding has put on `node`."""
        return [limit.keyword for limit in self._limits.get(node, ())]

    def _with_room(self, node: StringNode) -> StringNode:
        """Return a text of which no limit of decoding forbids a beginning in the source."""
        if "maxLength" not in self._added(node):
            return node
        return replace(node, max_length=self._room(node.min_length, node.max_length))

    def _room(self, low: int, added: int | None) -> int | None:
        return None if added is None else max(added, self._runs.room(low))

    def _from_source(self, node: StringNode, here: _Here, sourced: Sourced) -> Part:
        low, high = node.min_length, node.max_length
        glued = [text for text in sourced.glued if _is_within(len(text), low, high)]
        run = source_text(self._rules, self._runs, low, high)
        ways: list[Part] = [self._missing(node, here) if run is None else run]
        if glued:
            ways.append(one_of(self._rules, [written(text) for text in glued]))
        return Either(parts=tuple(ways))

    def _choice(self, node: ChoiceNode, here: _Here) -> Part:
        values = node.values
        # A tag that a mark further out covers is a part of the form, not of the answer.
        claims = not (here.is_free or node.unknown) and (here.own or len(values) > 1)
        if claims and self._sourced is not None:
            values = choices(node, self._sourced)
        elif node.rest or any(isinstance(value, dict | list) for value in values):
            return self._embedded(node, here)
        return self._one_of([written(_whole(value)) for value in values], node, here)

    def _one_of(self, found: tuple[str, ...] | list[str], node: Node, here: _Here) -> Part:
        if not found:
            return self._missing(node, here)
        if len(found) == 1:
            return Literal(text=found[0])
        return one_of(self._rules, found)

    # --- containers -------------------------------------------------------------------------

    def _reference(self, node: RefNode, here: _Here) -> Part:
        if self._is_left(node, here):
            return self._embedded(node, here)
        below = replace(here, owner=node.name)
        key = node.name, below
        if key not in self._named:
            self._named[key] = self._rules.reserve()
            self._waiting.append((node.name, below, self._named[key]))
        return self._named[key]

    def _union(self, node: UnionNode, here: _Here) -> Part:
        if self._is_left(node, here):
            return self._embedded(node, here)
        below = replace(here, decimal=here.decimal or node.decimal)
        return Either(parts=tuple(self._part(branch, below) for branch in node.branches))

    def _array(self, node: ArrayNode, here: _Here) -> Part:
        if self._is_left(node, here):
            return self._embedded(node, here)
        below = _Here(owner=here.owner, mark=here.mark)
        most = node.max_items
        prefix = node.prefix if most is None else node.prefix[:most]
        written_prefix = [self._part(part, below) for part in prefix]
        low = max(0, node.min_items - len(prefix))
        high = None if most is None else most - len(prefix)
        tail: Part = _NOTHING
        if high != 0 and not isinstance(node.items, NeverNode):
            item = self._rules.rule(self._part(node.items, below))
            tail = self._items(item, low, high, is_first=not prefix)
        elif low:
            tail = self._missing(node, here)
        for index in reversed(range(len(prefix))):
            row = (COMMA, written_prefix[index], tail) if index else (written_prefix[index], tail)
            tail = Row(parts=row)
            if index >= node.min_items:
                tail = optional(tail)
        return Row(parts=(Literal(text="["), tail, Literal(text="]")))

    def _items(self, item: Part, low: int, high: int | None, *, is_first: bool) -> Part:
        more = Row(parts=(COMMA, item))
        if not is_first:
            return Repeat(part=more, low=low, high=high)
        others = Repeat(part=more, low=max(low - 1, 0), high=None if high is None else high - 1)
        row = Row(parts=(item, others))
        return row if low else optional(row)

    def _object(self, node: ObjectNode, here: _Here) -> Part:
        if self._is_left(node, here):
            return self._embedded(node, here)
        below = _Here(owner=here.owner, mark=here.mark)
        unstated = self._unstated(node)
        keys = [
            Key(
                name=written(prop.name),
                part=(
                    self._unfilled(prop, node, here)
                    if prop in unstated
                    else self._part(prop.node, below)
                ),
                required=prop.required,
            )
            for prop in node.properties
            if prop.required or prop not in unstated
        ]
        declared = len(keys)
        low = max(0, node.min_properties - declared)
        high = None if node.max_properties is None else max(0, node.max_properties - declared)
        if node.is_closed and not node.patterns:
            low = high = 0
        others = Repeat(part=_NOTHING, low=low, high=high)
        if high != 0:
            others = self._others(node, below, others)
        return Row(parts=(Literal(text="{"), body(self._rules, keys, others), Literal(text="}")))

    def _unstated(self, node: ObjectNode) -> tuple[Property, ...]:
        """Return the keys that a map may have in general, and not after this source."""
        keys = [prop for prop in node.properties if prop.of_map]
        if self._sourced is None or node.key_mark in _FREE or not keys:
            return ()
        of_source = choices(ChoiceNode(values=tuple(prop.name for prop in keys)), self._sourced)
        return tuple(prop for prop in keys if prop.name not in of_source)

    def _unfilled(self, prop: Property, node: ObjectNode, here: _Here) -> Part:
        """Return what stands under a key that is always written and must not be there."""
        absent = [way.names for way in node.ways if isinstance(way, NullIsAbsent)]
        if any(prop.name in names for names in absent):
            return Literal(text="null")
        return self._missing(prop.node, here)

    def _others(self, node: ObjectNode, here: _Here, wanted: Repeat) -> Repeat:
        """Return what keys that are not declared may be, with their values, and how many.

        A key stands there once, so that there are no more than the source states.
        """
        ways: list[Part] = []
        counts: list[int | None] = []
        patterns = [*node.patterns, *([] if node.is_closed else [(None, node.extra)])]
        for pattern, value in patterns:
            key, count = self._key(pattern, node, here)
            ways.append(self._pair(key, value, here))
            counts.append(count)
        part: Part = self._rules.rule(Either(parts=tuple(ways)))
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return replace(wanted, part=part)
        most = sum(known)
        if wanted.low > most:
            part = self._missing(node, here)
        high = most if wanted.high is None else min(most, wanted.high)
        return Repeat(part=part, low=wanted.low, high=max(high, wanted.low, 1))

    def _pair(self, key: Part, value: Node, here: _Here) -> Part:
        return Row(parts=(key, COLON, self._part(value, here)))

    def _key(self, pattern: str | None, node: ObjectNode, here: _Here) -> tuple[Part, int | None]:
        """Return what a key may be, and how many there are of it; None where that is unknown."""
        length = _LENGTH_ONLY.fullmatch(pattern or "^(?s:.){0,}$")
        low, high = (0, None) if length is None else _bounds(length)
        here = replace(here, mark=node.key_mark or here.mark)
        if not here.is_free and self._sourced is not None and not node.properties:
            if length is not None:
                most = self._room(low, high) if "keyLength" in self._added(node) else high
                key = StringNode(pointer=node.pointer, min_length=low, max_length=most)
                return self._from_source(key, here, self._sourced), None
            found = texts(StringNode(pattern=pattern), self._sourced, decimal=False)
            return self._one_of(found, node, here), len(found)
        if length is None:
            return self._embedded(StringNode(pattern=pattern), here), None
        names = [] if pattern else [prop.name for prop in node.properties]
        if names:
            return any_key(self._rules, low, high, names), None
        return any_text(self._rules, low, high), None


def is_marked(tree: SchemaTree) -> bool:
    """Whether any place of `tree` must come from the source."""
    nodes = (node for _, top in owners(tree) for node in walk_nodes(top))
    return any(mark not in _FREE for node in nodes for mark in _marks(node))


def _marks(node: Node) -> tuple[Mark | None, ...]:
    return (node.mark, node.key_mark) if isinstance(node, ObjectNode) else (node.mark,)


def _is_within(count: int, low: int, high: int | None) -> bool:
    return low <= count and (high is None or count <= high)


def _bounds(length: re.Match[str]) -> tuple[int, int | None]:
    return int(length[1]), int(length[2]) if length[2] else None


def _whole(value: Any) -> Any:
    """Return a number without a point where it has no fraction, which is how engines write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
