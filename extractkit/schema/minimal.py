"""The shortest document that nodes admit, by the length of its JSON text.

`bounds` uses it to tell how many tokens an answer takes at least. Each definition's shortest
document is found by going round until nothing gets shorter, so recursion needs no depth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonValue
from extractkit.schema.match import accepts
from extractkit.schema.nodes import (
    NO_TREE,
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
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.patterns import parse

__all__ = ["EXAMPLES", "shortest_document"]

EXAMPLES: Final = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00",
    "duration": "P1D",
    "email": "a@a.aa",
    "hostname": "a",
    "ipv4": "0.0.0.0",  # noqa: S104 - an example of the format, nothing listens
    "ipv6": "::",
    "uri": "a:b",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""A short text of each format."""


_LONGEST: Final = 65_536
"""Characters of the longest document that counts as one; nothing writes more to begin with."""


class _NoneError(Exception):
    """There is no document yet, or none at all, or only one of more than 65,536 characters."""


def shortest_document(tree: SchemaTree) -> JsonValue:
    """Return the shortest document that `tree` admits.

    A text with a pattern or a format is one short example of it, not surely the shortest.

    Raises:
        SchemaError: If no finite document fits.
    """
    finder = _Finder(tree)
    try:
        return finder.find()
    except _NoneError:
        raise SchemaError(
            "(root): no finite document fits the schema, or none below "
            f"{_LONGEST:,} characters; it asks for itself without end, for a value that cannot "
            "be, or for far too many",
            pointer="",
        ) from None


def _length(value: JsonValue) -> int:
    return len(json.dumps(value, ensure_ascii=False))


class _Finder:
    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._known: dict[str, JsonValue] = {}
        self._by_type: Mapping[type[Node], Callable[[Any], JsonValue]] = {
            AnyNode: lambda _: 0,
            NeverNode: _none,
            NullNode: lambda _: None,
            BooleanNode: lambda _: True,
            NumberNode: _number,
            StringNode: _text,
            ChoiceNode: _choice,
            ArrayNode: self._list,
            ObjectNode: self._object,
            UnionNode: self._union,
            AllOfNode: self._all_of,
            RefNode: self._reference,
        }

    def find(self) -> JsonValue:
        changed = True
        while changed:
            changed = False
            for name, node in self._tree.definitions.items():
                try:
                    value = self._of(node)
                except _NoneError:
                    continue
                length = _length(value)
                if length > _LONGEST:
                    continue
                if name not in self._known or length < _length(self._known[name]):
                    self._known[name] = value
                    changed = True
        return self._of(self._tree.root)

    def _of(self, node: Node) -> JsonValue:
        return self._by_type[type(node)](node)

    def _reference(self, node: RefNode) -> JsonValue:
        if node.name not in self._known:
            raise _NoneError
        return self._known[node.name]

    def _union(self, node: UnionNode) -> JsonValue:
        found: list[JsonValue] = []
        for branch in node.branches:
            try:
                found.append(self._of(branch))
            except _NoneError:
                continue
        if not found:
            raise _NoneError
        return min(found, key=_length)

    def _all_of(self, node: AllOfNode) -> JsonValue:
        found = [self._of(part) for part in node.parts]
        if all(isinstance(value, dict) for value in found):
            return {key: item for value in found for key, item in value.items()}
        fitting = [value for value in found if accepts(node, value, self._tree)]
        return min(fitting or found, key=_length)

    def _list(self, node: ArrayNode) -> JsonValue:
        _check_count(node.min_items, node.max_items)
        found = [self._of(part) for part in node.prefix[: node.min_items]]
        more = node.min_items - len(found)
        if more > 0:
            item = self._of(node.items)
            _check_count(more * _length(item), None)
            found += [item] * more
        return _checked(found)

    def _object(self, node: ObjectNode) -> JsonValue:
        _check_count(node.min_properties, None)
        found = {prop.name: self._of(prop.node) for prop in node.properties if prop.required}
        for prop in node.properties:
            if len(found) >= node.min_properties:
                break
            if prop.name not in found:
                found[prop.name] = self._of(prop.node)
        for count in range(node.min_properties - len(found)):
            pattern, value = node.patterns[0] if node.patterns else ("", node.extra)
            found[_key(pattern, count)] = self._of(value)
        if node.max_properties is not None and len(found) > node.max_properties:
            raise _NoneError
        _checked([*found.values()])
        return found


def _check_count(least: int, most: int | None) -> None:
    if least > (_LONGEST if most is None else min(most, _LONGEST)):
        raise _NoneError


def _checked(values: list[JsonValue]) -> list[JsonValue]:
    """Return `values`, which together are short enough; each by itself is."""
    _check_count(sum(_length(value) for value in values if isinstance(value, dict | list)), None)
    return values


def _none(_: Node) -> JsonValue:
    raise _NoneError


def _choice(node: ChoiceNode) -> JsonValue:
    value = min(node.values, key=_length)
    # Engines write a whole number without a point.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _key(pattern: str, count: int) -> str:
    parsed = parse(pattern)
    stem = parsed.shortest if parsed else ""
    return stem if count == 0 and stem else f"{stem}{count}"


def _number(node: NumberNode) -> JsonValue:
    step = Decimal(str(node.multiple_of)) if node.multiple_of is not None else Decimal(1)
    edges = [
        Decimal(str(edge))
        for edge in (node.minimum, node.maximum, node.exclusive_minimum, node.exclusive_maximum)
        if edge is not None
    ]
    candidates = {Decimal(0), *(edge for edge in edges if not node.integer)}
    for edge in edges:
        multiple = (edge / step).to_integral_value() * step
        candidates |= {multiple - step, multiple, multiple + step}
    if len(edges) > 1:
        candidates.add(sum(edges[:2], Decimal(0)) / 2)
    fitting = [value for value in map(_plain, candidates) if accepts(node, value, NO_TREE)]
    if not fitting:
        raise _NoneError
    return min(fitting, key=lambda value: (_length(value), value < 0, abs(value)))


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _text(node: StringNode) -> JsonValue:
    text = EXAMPLES.get(node.format or "", "")
    shortest = 0
    if node.pattern is not None:
        parsed = parse(node.pattern)
        text = parsed.shortest if parsed else text
        shortest = len(text) if parsed else 0
    _check_count(max(node.min_length, shortest), node.max_length)
    return text + "a" * (node.min_length - len(text))
