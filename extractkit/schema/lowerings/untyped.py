"""Places of any type, for targets that ask for a type everywhere.

| from | to | back |
|---|---|---|
| a place of any type | a string that holds JSON | the value of that JSON |
| alternatives of which one is any type | the same: the others say nothing more | the same |

Only untyped places are sent this way; what has a type keeps it. The target holds such a place to
a text only: that is told as "contentMediaType" before, and of an answer as a fault.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from extractkit.paths import JsonObject, JsonValue
from extractkit.schema.nodes import (
    AnyNode,
    Node,
    StringNode,
    UnionNode,
    replace,
    stand_in,
)
from extractkit.schema.scope import Scope
from extractkit.schema.ways import Way

__all__ = ["JsonText", "lower"]


class _NotJsonError(ValueError):
    """A text is not exactly one JSON document."""


@dataclass(frozen=True, slots=True)
class JsonText(Way):
    """A value as the JSON text of it."""

    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the JSON text of a value."""
        return json.dumps(value, ensure_ascii=False)

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the value of a JSON text; a text that is none is left as it is."""
        if not isinstance(value, str):
            return value
        try:
            return _read(value)
        except (ValueError, RecursionError) as exc:
            told.append(f"the text is not exactly one JSON document: {exc or 'too deep'}")
            return value


def _read(text: str) -> JsonValue:
    found: JsonValue = _decode(text)
    if "\\u" in text or not text.isascii():
        json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair fails here
    return found


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotJsonError("a key comes more than once")
    return found


def _constant(name: str) -> JsonValue:
    raise _NotJsonError(f"{name} is no JSON value")


def _fraction(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _NotJsonError(f"{digits[:20]} is more than a double can hold")
    return number


_decode: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_fraction
).decode


def lower(node: AnyNode | UnionNode, scope: Scope) -> Node:
    """Return a text for a place of any type."""
    if isinstance(node, UnionNode) and not any(_is_any(branch) for branch in node.branches):
        return node
    scope.change(node, "a place of any type", "a string that holds JSON")
    scope.lose(node, "contentMediaType", "the text may be no JSON; that is a fault")
    text = stand_in(StringNode(ways=(*node.ways, JsonText())), node)
    return replace(text, description=f"{node.description} (JSON text)".strip())


def _is_any(branch: Node) -> bool:
    if not isinstance(branch, StringNode) or branch.rest or branch.beyond:
        return False
    return any(isinstance(way, JsonText) for way in branch.ways)
