"""Every number that a text writes with a fraction sign: ½, 1½, 1⁄4; and 1 1/2.

Neighbours: `forms` looks here for numbers that no digits state. A fraction with a percent sign, a
scale word or an open question about its sign is left out; so are those without an end, as ⅓, which
no decimal is equal to.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from decimal import Decimal, Inexact, localcontext
from itertools import chain
from typing import Final

from extractkit.grounding.scales import GAPS
from extractkit.grounding.surroundings import FRACTIONS, look_after, look_left

__all__ = ["FractionIndex"]

_SLASH: Final = "\u2044"
_FORM: Final = re.compile(
    rf"(?<![\w.,/^{_SLASH}])(?:(?P<whole>\d{{1,9}})[{GAPS}]?)?"
    rf"(?P<part>[{FRACTIONS}]|\d{{1,3}}{_SLASH}\d{{1,3}})(?![\w/^{_SLASH}]|[.,]\d)"
)
_MIXED: Final = re.compile(
    rf"(?<![\w.,/^:-])(?P<whole>\d{{1,4}})[{GAPS}-]"
    r"(?P<part>(?P<over>\d{1,2})/(?P<under>\d{1,3}))(?![\w/]|[.,]\d)"
)
_DIGITS: Final = 20


class FractionIndex:
    """The numbers of one text that are written with a fraction."""

    def __init__(self, text: str) -> None:
        self._found: defaultdict[Decimal, list[tuple[int, int]]] = defaultdict(list)
        forms = () if text.isascii() else _FORM.finditer(text)
        mixed = (
            match
            for match in _MIXED.finditer(text if "/" in text else "")
            if 0 < int(match["over"]) < int(match["under"])
        )
        for match in chain(forms, mixed):
            value = _value(match["whole"] or "0", match["part"])
            before = look_left(text, match.start())
            after = look_after(text, match.end(), currency=before.currency)
            unclear = before.bracket >= 0 or before.unsure or before.scale or before.loose >= 0
            if value is None or unclear or after is None or after.unit or after.power:
                continue
            start = before.start if before.negative else match.start()
            self._found[value.copy_negate() if before.negative else value].append(
                (start, match.end())
            )

    @property
    def values(self) -> tuple[Decimal, ...]:
        """Every number that stands as a fraction, each once."""
        return tuple(self._found)

    def find(self, value: Decimal) -> list[tuple[int, int]]:
        """Return where `value` stands as a fraction, in the order of the text."""
        return self._found.get(value, [])


def _value(whole: str, part: str) -> Decimal | None:
    """Return what a fraction is worth; None where no decimal is equal to it."""
    over, _, under = unicodedata.normalize("NFKC", part).replace("/", _SLASH).partition(_SLASH)
    if int(under) == 0:
        return None
    with localcontext() as context:
        context.prec = _DIGITS
        context.clear_flags()
        value = int(whole) + Decimal(int(over)) / int(under)
        return None if context.flags[Inexact] else value
