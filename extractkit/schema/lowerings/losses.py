"""What a target does not enforce: told in words, noted as lost, and left out.

| from | to | back |
|---|---|---|
| a keyword outside the dialect | a sentence in the description | as it is |
| what a type asks for beyond JSON Schema | a sentence in the description | as it is |
| a format or a pattern outside the dialect | a sentence in the description | as it is |

`checks` holds the answer to the user's own schema afterwards, so nothing lost here is lost for
good. It comes after everything that still looks at what is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from operator import attrgetter
from typing import Any, Final

from extractkit.paths import JsonValue, join
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    NeverNode,
    Node,
    NumberNode,
    ObjectNode,
    StringNode,
    replace,
)
from extractkit.schema.patterns import parse
from extractkit.schema.scope import Scope

__all__ = ["lower", "may_overlap"]

_FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "minimum": ("minimum", None),
    "maximum": ("maximum", None),
    "exclusiveMinimum": ("exclusive_minimum", None),
    "exclusiveMaximum": ("exclusive_maximum", None),
    "multipleOf": ("multiple_of", None),
    "minLength": ("min_length", 0),
    "maxLength": ("max_length", None),
    "minItems": ("min_items", 0),
    "maxItems": ("max_items", None),
    "uniqueItems": ("unique", False),
    "minProperties": ("min_properties", 0),
    "maxProperties": ("max_properties", None),
}


_NOT_PLAIN: Final = ("\\p", "\\P", "(?i", "(?s", "(?m", "(?x", "(?P", "(?<")
_FIELDS_OF: Final[Mapping[type[Node], tuple[str, ...]]] = {
    NumberNode: ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    StringNode: ("minLength", "maxLength"),
    ArrayNode: ("minItems", "maxItems", "uniqueItems"),
    ObjectNode: ("minProperties", "maxProperties"),
}
_LIMITS: Final[Mapping[type[Node], tuple[Callable[[Node], Any], Any]]] = {
    kind: (
        attrgetter(*[_FIELDS[keyword][0] for keyword in keywords]),
        tuple([_FIELDS[keyword][1] for keyword in keywords]),
    )
    for kind, keywords in _FIELDS_OF.items()
}
"""Of each kind what gives all its limits, and what that is where there are none."""
_LIMITED: Final = frozenset({AllOfNode, AnyNode, *_FIELDS_OF})
"""The kinds of which something may be lost besides what any node says."""


def lower(node: Node, scope: Scope) -> Node:
    """Return `node` without what the dialect does not enforce."""
    if node.rest:
        node = _rest(node, scope)
    if node.beyond:
        node = _beyond(node, scope)
    if type(node) not in _LIMITED:
        return node
    if isinstance(node, AllOfNode) and not _can_intersect(node, scope):
        return _first_part(node, scope)
    if not scope.dialect.plain_schemas:
        node = _without_plain(node)
    if isinstance(node, ArrayNode):
        node = _list(node, scope)
    special = _SPECIAL.get(type(node))
    return _fields(special(node, scope) if special else node, scope)


def _rest(node: Node, scope: Scope) -> Node:
    lost = [key for key in node.rest if not scope.dialect.enforces(key)]
    if not lost:
        return node
    for key in lost:
        scope.lose(node, key, f"{scope.dialect.name} does not know this keyword")
    return replace(
        node,
        rest={key: value for key, value in node.rest.items() if key not in lost},
        description=_told(node.description, {key: node.rest[key] for key in lost}),
    )


def _beyond(node: Node, scope: Scope) -> Node:
    for name, why in node.beyond.items():
        scope.lose(node, name, why)
    told = f"{node.description} ({'; '.join(node.beyond.values())})".strip()
    # What is told stays on the node: values out of a source are held to it (`grammar.stated`).
    return replace(node, description=told)


def _told(description: str, lost: Mapping[str, JsonValue]) -> str:
    """Return the description with the lost keywords in it, so that the model is told at least."""
    sentences = "; ".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in lost.items()
    )
    return f"{description} ({sentences})".strip()


def _fields(node: Node, scope: Scope) -> Node:
    limits_of, neutral_limits = _LIMITS.get(type(node), (None, None))
    if limits_of is None or limits_of(node) == neutral_limits:
        return node
    lost = {
        keyword: getattr(node, _FIELDS[keyword][0])
        for keyword in _FIELDS_OF[type(node)]
        if getattr(node, _FIELDS[keyword][0]) != _FIELDS[keyword][1]
        and not scope.dialect.enforces(keyword)
    }
    if not lost:
        return node
    for keyword in lost:
        scope.lose(node, keyword, f"{scope.dialect.name} does not enforce this keyword")
    neutral: dict[str, Any] = {_FIELDS[keyword][0]: _FIELDS[keyword][1] for keyword in lost}
    return replace(node, description=_told(node.description, lost), **neutral)


def _can_intersect(node: AllOfNode, scope: Scope) -> bool:
    """Whether the engine surely intersects these parts by itself: it does so with scalars."""
    if scope.dialect.keywords is None:
        return True
    scalars = StringNode | NumberNode
    return scope.dialect.enforces("allOf") and all(isinstance(p, scalars) for p in node.parts)


def _first_part(node: AllOfNode, scope: Scope) -> Node:
    scope.lose(node, "allOf", "its parts cannot be merged into one; only the first is enforced")
    return replace(
        node.parts[0], pointer=node.pointer, description=node.description, mark=node.mark
    )


def _text(node: StringNode, scope: Scope) -> Node:
    formats = scope.dialect.formats
    if node.format is not None and formats is not None and node.format not in formats:
        scope.lose(node, "format", f'{scope.dialect.name} does not know the format "{node.format}"')
        node = replace(
            node, format=None, description=_told(node.description, {"format": node.format})
        )
    why = _unfit(node.pattern, scope)
    if why:
        scope.lose(node, "pattern", why)
        node = replace(
            node, pattern=None, description=_told(node.description, {"pattern": node.pattern})
        )
    return node


def _unfit(pattern: str | None, scope: Scope) -> str:
    """Return why the target cannot take `pattern`, or ""."""
    kind = scope.dialect.patterns
    if pattern is None or kind == "any":
        return ""
    parsed = parse(pattern)
    if parsed is None:
        return "the expression is not linear (look-around, back-reference, \\b or the like)"
    if kind == "anchored" and not parsed.is_anchored:
        return "the expression is not anchored with ^ and $, and the engine takes it as if it were"
    if kind == "plain" and any(sign in pattern for sign in _NOT_PLAIN):
        return f"{scope.dialect.name} takes quantifiers, classes and groups only"
    most = scope.dialect.largest_repeat
    if most is not None and parsed.largest_count > most:
        return f"{scope.dialect.name} does not count repetitions beyond {most}"
    return ""


def _number(node: NumberNode, scope: Scope) -> Node:
    largest = scope.dialect.largest_number
    if largest is None:
        return node
    far: dict[str, Any] = {}
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        name = _FIELDS[keyword][0]
        if abs(getattr(node, name) or 0) > largest:
            far[name] = None
            scope.lose(node, keyword, f"{scope.dialect.name} cannot count that far")
    return replace(node, **far) if far else node


def _without_plain(node: Node) -> Node:
    """Return `node` without words about a place of any type, and without keys that cannot be."""
    if isinstance(node, AnyNode):
        return replace(node, description="", notes={})
    if isinstance(node, ObjectNode) and node.is_closed:
        possible = tuple(
            prop
            for prop in node.properties
            if prop.required or not isinstance(prop.node, NeverNode)
        )
        return node if len(possible) == len(node.properties) else replace(node, properties=possible)
    if isinstance(node, ArrayNode) and "items" in node.rest:
        node = replace(node, rest={k: v for k, v in node.rest.items() if k != "items"})
    if isinstance(node, ArrayNode) and isinstance(node.items, NeverNode) and not node.prefix:
        return replace(node, items=AnyNode(pointer=node.items.pointer), max_items=0)
    return node


def _list(node: ArrayNode, scope: Scope) -> ArrayNode:
    most = scope.dialect.largest_min_items
    if most is None or node.min_items <= most or not scope.dialect.enforces("minItems"):
        return node
    scope.lose(node, "minItems", f"{scope.dialect.name} does not count beyond {most}")
    told = _told(node.description, {"minItems": node.min_items})
    return replace(node, min_items=most, description=told)


def _map(node: ObjectNode, scope: Scope) -> Node:
    if node.patterns:
        node = _patterns(node, scope)
    if not scope.dialect.unique_keys and (node.patterns or not node.is_closed):
        scope.lose(node, "uniqueKeys", "a key that is not declared can be written twice")
    return node


def _patterns(node: ObjectNode, scope: Scope) -> ObjectNode:
    if not scope.dialect.enforces("patternProperties"):
        why = f"{scope.dialect.name} does not know this keyword"
    elif any(_unfit(pattern, scope) for pattern, _ in node.patterns):
        why = "an expression over keys is not linear"
    elif may_overlap(node):
        why = "one key could match two expressions"
    else:
        return node
    scope.lose(node, "patternProperties", why)
    extra = node.extra
    if isinstance(extra, NeverNode) and len(node.patterns) == 1:
        extra = node.patterns[0][1]  # the values are still held to their schema
    elif isinstance(extra, NeverNode):
        scope.lose(node, "additionalProperties", "the expressions over keys are not enforced")
        extra = AnyNode(pointer=join(node.pointer, "*"))
    told = {"patternProperties": [pattern for pattern, _ in node.patterns]}
    return replace(
        node, patterns=(), extra=extra, extra_stated=True,
        description=_told(node.description, told),
    )  # fmt: skip


def may_overlap(node: ObjectNode) -> bool:
    """Whether one key may match two of the expressions over keys."""
    pairs = combinations(node.patterns, 2)
    return any(_overlap(one, other) for (one, _), (other, _) in pairs)


def _overlap(one: str, other: str) -> bool:
    """Whether two expressions may match one key; only different fixed starts surely do not."""
    first, second = _fixed_start(one), _fixed_start(other)
    shared = min(len(first), len(second))
    return first[:shared] == second[:shared]


def _fixed_start(pattern: str) -> str:
    start = ""
    if not pattern.startswith("^") or "|" in pattern:
        return start
    for char in pattern[1:]:
        if not (char.isalnum() or char in "_-"):
            return start[:-1] if char in "*?{" else start
        start += char
    return start


_SPECIAL: Final[Mapping[type[Node], Callable[[Any, Scope], Node]]] = {
    NumberNode: _number,
    StringNode: _text,
    ObjectNode: _map,
}
