"""What digits are worth together with the sign, brackets, percent or scale around them.

Neighbours: `surroundings` says what stands there and `signs` which sign that is, `numbers` and
`alike` ask here. This module looks at no text by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from extractkit.grounding.scales import SHARES
from extractkit.grounding.signs import signs
from extractkit.grounding.surroundings import After, Before

__all__ = ["NumberReading", "combine"]


class NumberReading(NamedTuple):
    """One way to read a number token.

    Attributes:
        value: What it is worth, exactly.
        start: First character, its sign included.
        end: One past the last character, percent sign and scale word included.
        unit: "" where the value is plain; "%" or "permille" where it counts those; the scale word
            where it is the number before that word.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    value: Decimal
    start: int
    end: int
    unit: str = ""
    doubt: str = ""


def combine(
    text: str, number: str, doubt: str, before: Before, after: After
) -> Iterator[NumberReading]:
    """Yield what `number` is worth with its sign, scale and brackets, most likely first."""
    for exponent, unit, own, stop in _scales(after):
        worth = Decimal(f"{number}E{exponent}")
        for negative, start, end, unsure in signs(text, before, after, stop):
            value = worth.copy_negate() if negative else worth
            yield NumberReading(value, start, end, unit, doubt or own or unsure)


def _scales(after: After) -> tuple[tuple[int, str, str, int], ...]:
    """Return (power of ten, unit, doubt, end) for each way to take what follows the digits."""
    if after.unit in SHARES:
        part = SHARES[after.unit]
        whole = 0, after.unit, after.doubt, after.end
        return whole, (part, f"1/{after.unit}", after.doubt, after.end)
    if after.either:
        letter = f"{after.unit!r} may be a scale or a unit"
        number = 0, "", letter if after.unit.isupper() else after.doubt, after.digits
        return (after.power, "", letter, after.end), number
    if after.unit:
        return (after.power, "", after.doubt, after.end), (0, after.unit, after.doubt, after.end)
    return ((after.power, "", after.doubt, after.end),)
