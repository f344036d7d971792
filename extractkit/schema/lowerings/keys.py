"""What map keys must be, for targets that know keys by pattern only.

| from | to | back |
|---|---|---|
| propertyNames: a choice of texts | patternProperties with those texts, nothing else | as it is |
| propertyNames: a pattern, a length or a date | patternProperties, nothing else | as it is |
| propertyNames beside declared keys | not enforced | as it is |
"""

from __future__ import annotations

from dataclasses import replace

from extractkit.paths import join
from extractkit.schema.lowerings.texts import DATE_PATTERNS
from extractkit.schema.nodes import (
    AnyNode,
    ChoiceNode,
    NeverNode,
    Node,
    ObjectNode,
    StringNode,
    UnionNode,
)
from extractkit.schema.patterns import escape
from extractkit.schema.scope import Scope, same

__all__ = ["lift", "lower", "lower_value"]


def lower(node: Node, scope: Scope) -> Node:
    """Return `node` with its rule over keys written as a pattern."""
    if not isinstance(node, ObjectNode) or node.names is None:
        return node
    if scope.dialect.enforces("propertyNames"):
        return node
    pattern = _pattern(scope.tree.resolve(node.names))
    simple = not node.properties and not node.patterns and not node.is_closed
    if pattern is None or not simple or not scope.dialect.enforces("patternProperties"):
        scope.lose(node, "propertyNames", "this rule over keys cannot be part of the grammar")
        return replace(node, names=None)
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


lower_value = same
lift = same
