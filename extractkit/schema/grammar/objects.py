"""The inside of an object: declared keys in their order, then any others, commas between.

Neighbours: `walk` makes keys and values; this file knows no node beyond what can be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extractkit.schema.grammar.parts import (
    Either,
    Literal,
    Part,
    Repeat,
    Row,
    Rules,
    optional,
)
from extractkit.schema.match import is_found
from extractkit.schema.nodes import ObjectNode

__all__ = ["COLON", "COMMA", "Key", "body", "is_countable"]

COLON: Final = Literal(text=": ")
COMMA: Final = Literal(text=", ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A declared key: its name in JSON, what stands there, whether it must be there."""

    name: str
    part: Part
    required: bool

    def pair(self) -> Part:
        """Return key and value."""
        return Row(parts=(Literal(text=self.name), COLON, self.part))


def is_countable(node: ObjectNode) -> bool:
    """Whether rules can say which keys an object may have, and how many.

    They cannot where a key is only named as required, where one key may fall under two rules, or
    where keys that may be absent are counted.
    """
    if node.names is not None or not all(prop.declared for prop in node.properties):
        return False
    if len(node.patterns) > 1 or (node.patterns and not node.is_closed):
        return False
    if any(
        is_found(pattern, each.name) for pattern, _ in node.patterns for each in node.properties
    ):
        return False
    required = sum(prop.required for prop in node.properties)
    declared = len(node.properties)
    has_others = bool(node.patterns) or not node.is_closed
    if node.min_properties <= required and (
        node.max_properties is None or (node.max_properties >= declared and not has_others)
    ):
        return True
    return required == declared and has_others


def body(rules: Rules, keys: Sequence[Key], others: Repeat) -> Part:
    """Return what stands between the brackets.

    Args:
        rules: Where what is needed twice gets a name.
        keys: The declared keys in order.
        others: A pair that is not declared, and how many of them there may be.
    """
    rest: list[Part] = []  # what may follow a pair, from the last part to the first
    if others.high != 0:
        rest.append(_others(others, is_first=False))
    ways: list[Part] = [_others(others, is_first=True)]
    lead = next((at for at, key in enumerate(keys) if key.required), len(keys))
    for at in reversed(range(len(keys))):
        if lead > 0 and at <= lead and rest:
            rest = [rules.rule(Row(parts=tuple(reversed(rest))))]
        key = keys[at]
        first = Row(parts=(key.pair(), *reversed(rest)))
        if key.required:
            ways = [first]
            rest.append(Row(parts=(COMMA, key.pair())))
        else:
            ways.append(first)
            rest.append(optional(Row(parts=(COMMA, key.pair()))))
    return ways[0] if len(ways) == 1 else Either(parts=tuple(reversed(ways)))


def _others(others: Repeat, *, is_first: bool) -> Part:
    more = Row(parts=(COMMA, others.part))
    if others.high == 0:
        return Row(parts=())
    if not is_first:
        return Repeat(part=more, low=others.low, high=others.high)
    high = None if others.high is None else others.high - 1
    following = Repeat(part=more, low=max(others.low - 1, 0), high=high)
    row = Row(parts=(others.part, following))
    return row if others.low else optional(row)
