"""A string that is one number with its unit: 5 kg, EUR 100, 48 %.

Neighbours: `numbers` finds the number, `source` asks here which of its places have the same unit.
A unit is compared by what it means, from a table; an unknown one is left to `wording`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extractkit.grounding.scales import GAPS, LONG_CODES
from extractkit.grounding.separators import GROUP_GAPS

__all__ = ["Amount", "amount_of", "unit_beside"]

_UNIT_LINES: Final = (
    "% percent per\u00a0cent pct prozent",
    "\u2030 permille promille",
    "EUR \u20ac euro euros",
    "GBP \u00a3 pounds\u00a0sterling",
    "USD us$ $us",
    "INR \u20b9 rs rupees",
    "MYR rm ringgit",
    "CNY rmb yuan",
    "KRW \u20a9 won",
    "kg kilogram kilograms kilo kilos kilogramme kilogrammes",
    "g gram grams gramme grammes",
    "mg milligram milligrams",
    "t tonne tonnes",
    "lb lbs pound pounds",
    "oz ounce ounces",
    "km kilometre kilometres kilometer kilometers",
    "m metre metres meter meters",
    "cm centimetre centimetres centimeter centimeters",
    "mm millimetre millimetres millimeter millimeters",
    "mi mile miles",
    "ft foot feet",
    "in inch inches",
    "l litre litres liter liters",
    "ml millilitre millilitres milliliter milliliters",
    "s sec secs second seconds",
    "min mins minute minutes",
    "h hr hrs hour hours",
    "d day days",
    "wk wks week weeks",
    "mo mos month months",
    "yr yrs y year years",
    "kwh kilowatt\u00a0hours",
    "pc pcs piece pieces",
)
_MEANING: Final = {
    name.replace("\u00a0", " "): line.split(" ")[0]
    for line in _UNIT_LINES
    for name in line.lower().split(" ")
}
# A mark that several currencies share is none of them, but the same as itself.
_SHARED: Final = frozenset(("$", "\u00a5"))
_CODES: Final = frozenset(map(str.lower, LONG_CODES))

_NUMBER: Final = rf"[-+\u2212]?\d[\d.,{GROUP_GAPS}]*"
_MARK: Final = r"[%\u2030\uff05]|[A-Za-z]{0,3}[$\u00a3\u00a5\u20a0-\u20cf][A-Za-z]{0,2}"
_WORD: Final = rf"[^\W\d_]+|{_MARK}"
_NAME: Final = rf"[^\W\d_]+(?:\s[^\W\d_]+)?|{_MARK}"
_AMOUNT: Final = re.compile(
    rf"(?P<before>{_NAME})?\s*(?P<number>{_NUMBER})\s*(?P<after>{_NAME})?\Z", re.IGNORECASE
)
_BEFORE: Final = re.compile(rf"(?<![^\W_])(?P<name>{_WORD})\.?[{GAPS}]?\Z", re.IGNORECASE)
_AFTER: Final = re.compile(rf"[\s-]?(?:{_NAME})(?![^\W_])", re.IGNORECASE)
_REACH: Final = 16


class Amount(NamedTuple):
    """A number with the meaning of its unit."""

    number: str
    unit: str


def amount_of(value: str) -> Amount | None:
    """Return what a string says if it is one number with a unit before or after it, else None."""
    match = _AMOUNT.match(value.strip())
    if match is None or (match["before"] is None) == (match["after"] is None):
        return None
    unit = _meaning(match["before"] or match["after"])
    if not unit or (match["before"] and not _is_currency(unit)):
        return None
    return Amount(match["number"].rstrip(".,'\u2019 \u00a0"), unit)


def unit_beside(text: str, start: int, end: int, unit: str) -> tuple[int, int] | None:
    """Return the span of a number with its unit; None where that is not beside it.

    Args:
        text: The source.
        start: Where the number starts.
        end: Where it ends; a percent sign may be a part of it.
        unit: What the unit means.
    """
    last = end
    while last > start and not text[last - 1].isdecimal():
        last -= 1
    after = _AFTER.match(text, last, min(len(text), last + _REACH))
    if after is not None:
        for stop in _ends(text, last, after.end()):
            if _meaning(text[last:stop]) == unit:
                return start, stop
    before = _BEFORE.search(text, max(0, start - _REACH), start)
    if before is not None and _is_currency(unit) and _meaning(before["name"]) == unit:
        return before.start(), end
    return None


def _ends(text: str, start: int, end: int) -> list[int]:
    """Return where a name of one or two words may end."""
    first = re.search(r"(?<=\S)\s", text[start:end])
    return [end, start + first.start()] if first else [end]


def _is_currency(unit: str) -> bool:
    """Whether a unit is one that may stand before its number."""
    return unit in _SHARED or unit.isupper()


def _meaning(name: str) -> str:
    """Return what a unit means, "" for one that is not known."""
    plain = " ".join(name.strip(" \t\n-.").lower().replace("\uff05", "%").split())
    if plain in _SHARED:
        return plain
    return _MEANING.get(plain, plain.upper() if plain in _CODES else "")
