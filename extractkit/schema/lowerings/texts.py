"""Dates and decimal numbers as text, for targets whose own idea of them differs from ours.

| from | to | back |
|---|---|---|
| format date-time, offset optional (or needed, or forbidden) | a pattern that says so | as it is |
| format time, offset as above | a pattern that says so | as it is |
| format duration, of a type | a pattern of what the type is written as | as it is |
| the text form of a Decimal | a pattern of digits, and of as many as the type allows | as it is |
| a Decimal, for targets of which a number may lose digits | its text alone | as it is |

RFC 3339 wants an offset; a source that states none would force a model to invent one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from extractkit.paths import JsonValue
from extractkit.schema.nodes import (
    Node,
    NumberNode,
    StringNode,
    UnionNode,
    replace,
    stand_in,
)
from extractkit.schema.plain import digits_of
from extractkit.schema.scope import Scope
from extractkit.schema.ways import Way

__all__ = ["DATE_PATTERNS", "DECIMAL", "WITH_END", "Digits", "format_of", "is_bounded", "lower"]

_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP_YEAR}-02-29)"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_OFFSET = "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_CLOCK = "T(?:[0-9]{1,6}H(?:[0-9]{1,6}M(?:[0-9]{1,6}S)?)?|[0-9]{1,6}M(?:[0-9]{1,6}S)?|[0-9]{1,6}S)"
_DURATION = (
    f"P(?:(?:[0-9]{{1,6}}D|[0-9]{{1,4}}M(?:[0-9]{{1,6}}D)?"
    f"|[0-9]{{1,4}}Y(?:[0-9]{{1,4}}M(?:[0-9]{{1,6}}D)?)?)(?:{_CLOCK})?|{_CLOCK}|[0-9]{{1,6}}W)"
)

_SECONDS = r"[0-9]{1,6}(?:\.[0-9]{1,6})?S"
_TYPED_CLOCK = (
    f"T(?:[0-9]{{1,6}}H(?:[0-9]{{1,6}}M)?(?:{_SECONDS})?|[0-9]{{1,6}}M(?:{_SECONDS})?|{_SECONDS})"
)
_TYPED_DURATION: Final = (
    f"^-?P(?:(?:[0-9]{{1,7}}Y(?:[0-9]{{1,4}}M)?(?:[0-9]{{1,6}}D)?|[0-9]{{1,4}}M(?:[0-9]{{1,6}}D)?"
    f"|[0-9]{{1,6}}D)(?:{_TYPED_CLOCK})?|{_TYPED_CLOCK}|[0-9]{{1,6}}W)$"
)
"""What a timedelta is written as: signs, fractions and gaps that the format has not."""

DATE_PATTERNS: Final[Mapping[tuple[str, str], str]] = {
    ("date", "optional"): f"^{_DATE}$",
    ("date-time", "optional"): f"^{_DATE}T{_TIME}{_OFFSET}?$",
    ("date-time", "required"): f"^{_DATE}T{_TIME}{_OFFSET}$",
    ("date-time", "none"): f"^{_DATE}T{_TIME}$",
    ("time", "optional"): f"^{_TIME}{_OFFSET}?$",
    ("time", "required"): f"^{_TIME}{_OFFSET}$",
    ("time", "none"): f"^{_TIME}$",
    ("duration", "optional"): f"^{_DURATION}$",
}
"""Expressions by (format, offset)."""

_ANY_DECIMAL: Final = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?$"
"""The texts that a Decimal is written as."""
DECIMAL: Final = r"^[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,4})?$"
"""The same with an end."""
WITH_END: Final[Mapping[str, str]] = {_ANY_DECIMAL: DECIMAL}
"""What stands for an expression while decoding, where no answer may run away."""

_FORMATS: Final = {pattern: name for (name, _), pattern in DATE_PATTERNS.items()} | {
    DECIMAL: "decimal",
    _ANY_DECIMAL: "decimal",
    _TYPED_DURATION: "duration",
}


def format_of(pattern: str) -> str | None:
    """Return the format that `pattern` was made of here, "decimal" for a number as text, or None.

    For those who tell a person or a model what is asked for: the expression itself says little.
    """
    return _FORMATS.get(pattern)


@dataclass(frozen=True, slots=True)
class Digits(Way):
    """A decimal number as the text of its digits."""

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the digits of a number; a text is its own."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return digits_of(value)


_DIGITS: Final = StringNode(ways=(Digits(),))
_MOST_PLACES: Final = 10
"""The finest step that the engines take is 1e-10."""


def lower(node: StringNode | UnionNode, scope: Scope) -> Node:
    """Return `node` with its date, time or decimal text as a pattern."""
    if isinstance(node, UnionNode):
        return _decimal(node, scope) if node.decimal else node
    if node.format is None:
        return node
    if node.format == "duration" and scope.is_type and not node.pattern:
        scope.change(node, "format duration", "pattern (signs and fractions are allowed)")
        return replace(node, format=None, pattern=_TYPED_DURATION)
    pattern = DATE_PATTERNS.get((node.format, node.offset))
    if pattern is None or node.pattern or _is_exact(node, scope):
        return node
    word = {"optional": "optional", "required": "needed", "none": "not allowed"}[node.offset]
    scope.change(node, f"format {node.format}", f"pattern (offset {word})")
    return replace(node, format=None, pattern=pattern)


def _is_exact(node: StringNode, scope: Scope) -> bool:
    """Whether the target's own idea of the format asks for what the type asks for."""
    if node.format not in (scope.dialect.formats or ()):
        return False
    if node.format not in ("date-time", "time") or not scope.dialect.moments_need_offset:
        return True
    return node.offset == "required"


def is_bounded(number: NumberNode) -> bool:
    """Whether a decimal number has any limit of its own."""
    limits = (
        number.minimum, number.maximum, number.exclusive_minimum, number.exclusive_maximum,
        number.multiple_of, number.decimals, number.digits,
    )  # fmt: skip
    return any(limit is not None for limit in limits)


def _decimal(node: UnionNode, scope: Scope) -> Node:
    number = next((part for part in node.branches if isinstance(part, NumberNode)), None)
    pattern = _ANY_DECIMAL
    if number is not None and is_bounded(number):
        pattern = _digits(number)
        _lose_of_text(node, number, scope)
    if scope.dialect.decimals == "text":
        return _as_text(node, pattern, scope)
    branches = tuple(_decimal_branch(part, pattern, scope) for part in node.branches)
    scope.change(node, "any text beside a number", "the digits of a decimal number")
    return replace(node, branches=branches)


def _as_text(node: UnionNode, pattern: str, scope: Scope) -> Node:
    """Return a decimal as the text of its digits alone: a number could lose some on its way."""
    scope.change(node, "a decimal number or its text", "the text of its digits")
    others = [part for part in node.branches if not isinstance(part, (NumberNode, StringNode))]
    if not others:
        return stand_in(_DIGITS, node, pattern=pattern)
    text = replace(_DIGITS, pointer=node.pointer, pattern=pattern)
    return replace(node, branches=(text, *others), decimal=False)


def _decimal_branch(part: Node, pattern: str, scope: Scope) -> Node:
    if isinstance(part, StringNode) and part.pattern is None:
        return replace(part, pattern=pattern)
    if not isinstance(part, NumberNode) or part.decimals is None:
        return part
    places = part.decimals
    if part.digits is not None and scope.dialect.enforces("minimum"):
        part = _within(part, 10 ** max(0, part.digits - places))
    if places > _MOST_PLACES or not scope.dialect.enforces("multipleOf"):
        scope.lose(part, "decimal_places", f"{scope.dialect.name} cannot count so many digits")
        return replace(part, decimals=None)
    if part.multiple_of is not None:
        return part
    return replace(part, multiple_of=float(f"1e-{places}") if places else 1)


def _within(part: NumberNode, edge: int) -> NumberNode:
    """Return `part` between -edge and edge, wherever it has no narrower bound."""
    high, low = part.maximum, part.minimum
    return replace(
        part,
        exclusive_maximum=_tighter(part.exclusive_maximum, high, edge, 1),
        exclusive_minimum=_tighter(part.exclusive_minimum, low, -edge, -1),
    )


def _tighter(
    exclusive: float | None, inclusive: float | None, edge: int, side: int
) -> int | float | None:
    given = [side * bound for bound in (exclusive, inclusive) if bound is not None]
    return exclusive if given and min(given) < side * edge else edge


def _digits(number: NumberNode) -> str:
    """Return an expression for the text of `number`: its sign and its digits."""
    signed = max(number.minimum or -1, number.exclusive_minimum or -1) < 0
    if 0 in (number.minimum, number.exclusive_minimum):
        signed = False
    places = "+" if number.decimals is None else f"{{1,{number.decimals}}}"
    whole = "+"
    if number.digits is not None and number.decimals is not None:
        whole = f"{{1,{max(1, number.digits - number.decimals)}}}"
    fraction = rf"(?:\.[0-9]{places})?" if number.decimals != 0 else ""
    return f"^{'-?' if signed else ''}[0-9]{whole}{fraction}$"


def _lose_of_text(node: UnionNode, number: NumberNode, scope: Scope) -> None:
    why = "a decimal that is written as a text is not held to it"
    held_by_sign = number.minimum == 0
    lost = {
        "minimum": None if held_by_sign else number.minimum,
        "maximum": number.maximum,
        "exclusiveMinimum": number.exclusive_minimum,
        "exclusiveMaximum": number.exclusive_maximum,
        "multipleOf": number.multiple_of,
    }
    for keyword, limit in lost.items():
        if limit is not None:
            scope.lose(node, keyword, why)
    if number.digits is not None and (number.decimals is None or number.decimals >= number.digits):
        scope.lose(node, "max_digits", "digits are not counted across the point")
