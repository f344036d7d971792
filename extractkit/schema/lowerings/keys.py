"""What map keys must be, for targets that know keys by pattern only.

| from | to | back |
|---|---|---|
| propertyNames: a choice of texts | those keys, declared and optional, nothing else | as it is |
| propertyNames: a pattern, a length or a date | patternProperties, nothing else | as it is |
| propertyNames beside declared keys | not enforced | as it is |
| propertyNames, where `maps` makes entries of an object | a rule over their keys | as it is |
"""

from __future__ import annotations

from typing import Final

from extractkit.paths import join
from extractkit.schema.lowerings.texts import DATE_PATTERNS
from extractkit.schema.nodes import (
    AnyNode,
    ChoiceNode,
    NeverNode,
    Node,
    ObjectNode,
    Property,
    StringNode,
    UnionNode,
    replace,
)
from extractkit.schema.patterns import escape
from extractkit.schema.scope import Scope

__all__ = ["lower"]


_MOST_DECLARED: Final = 64
"""A choice of more keys than this is a rule over the keys of entries."""


def lower(node: ObjectNode, scope: Scope) -> Node:
    """Return `node` with its rule over keys written as a pattern."""
    if node.names is None or scope.dialect.enforces("propertyNames"):
        return node
    names = scope.tree.resolve(node.names)
    for why in {**names.beyond, **node.names.beyond}.values():
        scope.lose(node, "propertyNames", why)
    node = replace(node, key_mark=node.names.mark or names.mark)
    simple = not node.properties and not node.patterns and not node.is_closed
    if not scope.dialect.open_objects:
        return _of_entries(node, names, scope, simple=simple)
    pattern = _pattern(names)
    if pattern is None or not simple or not scope.dialect.enforces("patternProperties"):
        scope.lose(node, "propertyNames", "this rule over keys cannot be part of the grammar")
        return replace(node, names=None)
    if isinstance(names, ChoiceNode):
        return _declared(node, names, scope)
    if not pattern:
        return replace(node, names=None)
    scope.change(node, "propertyNames", "patternProperties")
    return replace(
        node,
        names=None,
        patterns=((pattern, node.extra),),
        extra=NeverNode(pointer=join(node.pointer, "*")),
        extra_stated=True,
    )


def _of_entries(node: ObjectNode, names: Node, scope: Scope, *, simple: bool) -> Node:
    """Return the object with a rule over keys that `maps` can put on the keys of its entries."""
    if isinstance(names, UnionNode) and names.implied == "string":
        names = next(part for part in names.branches if isinstance(part, StringNode))
    if isinstance(names, AnyNode) or (node.is_closed and not node.patterns):
        if not isinstance(names, AnyNode):
            scope.lose(node, "propertyNames", "the declared keys are not held to it")
        return replace(node, names=None)
    if isinstance(names, ChoiceNode) and all(isinstance(value, str) for value in names.values):
        if simple and len(names.values) <= _MOST_DECLARED:
            return _declared(node, names, scope)
        return replace(node, names=names)
    if isinstance(names, StringNode):
        return replace(node, names=names)
    scope.lose(node, "propertyNames", "this rule over keys cannot be sent")
    return replace(node, names=None)


def _declared(node: ObjectNode, names: ChoiceNode, scope: Scope) -> Node:
    """Return the map as an object of its possible keys: then none can be written twice."""
    texts = [value for value in names.values if isinstance(value, str)]
    every = node.min_properties >= len(texts)
    scope.change(node, "a map of given keys", "an object with these keys")
    return replace(
        node,
        names=None,
        properties=tuple(
            Property(name=text, node=node.extra, required=every, of_map=True) for text in texts
        ),
        extra=NeverNode(pointer=join(node.pointer, "*")),
        extra_stated=True,
        min_properties=0 if every else node.min_properties,
        max_properties=_fewer(node.max_properties, len(texts)),
    )


def _fewer(most: int | None, keys: int) -> int | None:
    return most if most is not None and most < keys else None


def _pattern(names: Node) -> str | None:
    """Return an expression over whole keys; "" where every key fits, None where there is none."""
    if isinstance(names, UnionNode) and names.implied == "string":
        names = next(part for part in names.branches if isinstance(part, StringNode))
    if isinstance(names, AnyNode):
        return ""
    if isinstance(names, ChoiceNode):
        texts = [value for value in names.values if isinstance(value, str)]
        return f"^(?:{'|'.join(escape(text) for text in texts)})$" if texts else None
    if not isinstance(names, StringNode):
        return None
    given = [
        names.pattern,
        DATE_PATTERNS.get((names.format or "", names.offset)),
        _length(names),
    ]
    stated = [pattern for pattern in given if pattern]
    if len(stated) > 1 or (names.format and not stated):
        return None
    return stated[0] if stated else ""


def _length(names: StringNode) -> str | None:
    if not names.min_length and names.max_length is None:
        return None
    most = "" if names.max_length is None else names.max_length
    return f"^(?s:.){{{names.min_length},{most}}}$"
