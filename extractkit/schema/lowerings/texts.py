"""Dates and decimal numbers as text, for targets whose own idea of them differs from ours.

| from | to | back |
|---|---|---|
| format date-time, offset optional (or needed, or forbidden) | a pattern that says so | as it is |
| format time, offset optional | a pattern that says so | as it is |
| the text form of a Decimal | a pattern of digits | as it is |

RFC 3339 wants an offset; a source that states none would force a model to invent one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from extractkit.schema.nodes import Node, StringNode, UnionNode
from extractkit.schema.scope import Scope, same

__all__ = ["DATE_PATTERNS", "DECIMAL", "lift", "lower", "lower_value"]

_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP_YEAR}-02-29)"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_OFFSET = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

DATE_PATTERNS: Final[Mapping[tuple[str, str], str]] = {
    ("date", "optional"): f"^{_DATE}$",
    ("date-time", "optional"): f"^{_DATE}T{_TIME}{_OFFSET}?$",
    ("date-time", "required"): f"^{_DATE}T{_TIME}{_OFFSET}$",
    ("date-time", "none"): f"^{_DATE}T{_TIME}$",
    ("time", "optional"): f"^{_TIME}{_OFFSET}?$",
}
"""Expressions by (format, offset)."""

DECIMAL: Final = r"^[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?$"
"""The texts that a Decimal is written as."""


def lower(node: Node, scope: Scope) -> Node:
    """Return `node` with its date, time or decimal text as a pattern."""
    if isinstance(node, UnionNode) and node.decimal:
        return _decimal(node, scope)
    if not isinstance(node, StringNode) or node.format is None:
        return node
    pattern = DATE_PATTERNS.get((node.format, node.offset))
    if pattern is None or node.format in (scope.dialect.formats or ()) or node.pattern:
        return node
    word = {"optional": "optional", "required": "needed", "none": "not allowed"}[node.offset]
    scope.change(node, f"format {node.format}", f"pattern (offset {word})")
    return replace(node, format=None, pattern=pattern)


def _decimal(node: UnionNode, scope: Scope) -> Node:
    branches = tuple(
        replace(part, pattern=DECIMAL)
        if isinstance(part, StringNode) and part.pattern is None
        else part
        for part in node.branches
    )
    scope.change(node, "any text beside a number", "the digits of a decimal number")
    return replace(node, branches=branches)


lower_value = same
lift = same
