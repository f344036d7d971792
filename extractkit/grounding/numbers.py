"""Every number that a text states, found by value.

Neighbours: `tokens` cuts the digits out, `separators` says what they may be worth, `surroundings`
reads sign, currency, percent and scale around them; `source` asks for values. A number is a whole
token: 48 is never found in 1480, 3,480.50 or AB48.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import Any, Literal, TypeAlias, cast

from extractkit.grounding.alike import AlikeTokens, Forms
from extractkit.grounding.chains import chain_doubt, is_in_chain
from extractkit.grounding.readings import NumberReading, combine
from extractkit.grounding.separators import (
    digit_readings,
    digits_of,
    significant,
    to_ascii,
    zero_doubt,
)
from extractkit.grounding.surroundings import After, Before, counted, look_after, look_before
from extractkit.grounding.tokens import OVER_SPACE, Filed, is_token
from extractkit.paths import JsonValue

__all__ = ["NumberIndex", "NumberReading", "number_of"]

_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,6})?\Z", re.ASCII)

_MOST_PLACES = 1000
_COMMAS = (",", "\uff0c")
_START = itemgetter(1)
_new: Any = cast("Any", tuple).__new__  # the constructor of a named tuple takes twice as long


_Token: TypeAlias = tuple[int, int, str]
"""Start, end, and the doubt that comes with how it was cut out."""


def number_of(value: JsonValue) -> Decimal | None:
    """Return the exact value of a JSON number or of a decimal written as a string, else None.

    A float is worth what its shortest decimal form says. Booleans, NaN, infinities and other
    strings have no value here.
    """
    if type(value) is int:
        return Decimal(value)
    if isinstance(value, str):
        return Decimal(value) if _PLAIN_NUMBER.match(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(repr(value) if isinstance(value, float) else value)
    return number if number.is_finite() else None


class NumberIndex(AlikeTokens):
    """The numbers of one text.

    Args:
        text: The source.
        decimal: Decimal mark of the text's language; None where both are possible.
    """

    def __init__(self, text: str, *, decimal: Literal[".", ","] | None = None) -> None:
        super().__init__(text)
        self._text = text
        self._decimal: Literal[".", ","] | None = decimal
        self._found: dict[Decimal, tuple[NumberReading, ...]] = {}
        self._read: dict[_Token, list[NumberReading]] = {}
        self._has_open = bool(self._tokens.spaced or self._tokens.open)
        self._forms: dict[str, Forms] = {}

    def find(self, value: Decimal) -> tuple[NumberReading, ...]:
        """Return the readings worth `value`, in the order of the text.

        Where it stands very often, the places after the first thousand (with a doubt: five
        thousand) are left out.
        """
        if value not in self._found:
            plain = 0
            found: list[NumberReading] = []
            same: list[NumberReading]
            doubts: dict[str, list[str]] = {}
            for filed in self._tokens.family(digits_of(str(value))):
                start, end, _, token, _, _ = filed
                if self._has_open or not self._is_bare(filed):
                    same = [each for each in self._readings(filed) if each[0] == value]
                else:
                    if token not in doubts:
                        doubts[token] = self._doubts(token, value)
                    same = [
                        _new(NumberReading, (value, start, end, "", own)) for own in doubts[token]
                    ]
                found += same
                plain += len([each for each in same if not each[4]])
                if plain >= _MOST_PLACES or len(found) >= 5 * _MOST_PLACES:
                    break
            found.sort(key=_START)
            self._found[value] = tuple(found)
        return self._found[value]

    def _is_bare(self, filed: Filed) -> bool:
        """Return whether nothing around a token belongs to it, and nothing else may either."""
        _, _, doubt, _, before, after = filed
        return not doubt and self._edges.before[before] and self._edges.after[after]

    def spelled(self, digits: str) -> list[tuple[int, int]]:
        """Return the spans of tokens written exactly as `digits`, as "9.00" in "RM9.00"."""
        if not is_token(digits):
            return []
        return [
            filed[:2]
            for filed in self._tokens.family(significant(digits))
            if filed[3] == digits and self._states(filed)
        ]

    def _states(self, filed: Filed) -> bool:
        """Return whether a token states what its own digits are worth, with any sign or unit."""
        worth = {number for number, _, _ in self._forms_of(filed[3])}
        return any(abs(reading.value) in worth for reading in self._readings(filed))

    def values(self) -> tuple[Decimal, ...]:
        """Return what every reading is worth; equal ones once for each way to write the digits."""
        return tuple(
            {
                str(reading.value): reading.value
                for digits in (*self._tokens.families, *self._tokens.cut)
                for filed in self._tokens.family(digits)
                for reading in self._readings(filed)
            }.values()
        )

    def _readings(self, filed: Filed) -> list[NumberReading]:
        """Read one token: every value it may have, none where it is part of something longer."""
        start, end, doubt, token, _, after = filed
        if self._is_bare(filed) and start not in self._open_starts:
            space = self._space_doubt(start, end) if self._tokens.spaced else ""
            return [
                NumberReading(number, start, end, "", own or space or zero)
                for number, own, zero in self._forms_of(token)
            ]
        key = (start, end, doubt)
        readings = self._read.get(key)
        if readings is None:
            ends_there = not doubt and not self._has_open and self._edges.after[after]
            readings = self._read[key] = self._read_token(start, end, doubt, ends_there=ends_there)
        return readings

    def _forms_of(self, token: str) -> Forms:
        """Return what a token with nothing around it may be worth, and the doubts about it."""
        forms = self._forms.get(token)
        if forms is None:
            read = to_ascii(token)
            if read.isdecimal():
                forms = [(Decimal(read), "", zero_doubt(read))]
            else:
                forms = [
                    (Decimal(number), own, zero_doubt(number))
                    for number, own in digit_readings(read, self._decimal)
                ]
            self._forms[token] = forms
        return forms

    def _read_token(
        self, start: int, end: int, doubt: str, *, ends_there: bool
    ) -> list[NumberReading]:
        compound = self._tokens.compounds.get((start, end))
        if compound is not None:
            before, after = self._sides(start, end)
            number = str(compound.value)
            return list(combine(self._text, number, doubt, before, after))
        inside = self._tokens.inside.get(start)
        if inside == "":
            return []
        digits = to_ascii(self._text[start:end])
        surroundings = self._surroundings(start, end, digits, ends_there=ends_there)
        if surroundings is None:
            return []
        before, after, around = surroundings
        doubt = doubt or around or inside or before.doubt or self._space_doubt(start, end)
        return [
            reading
            for number, own in digit_readings(digits, self._decimal)
            for reading in combine(
                self._text,
                f"0.{number}" if before.point else number,
                own or doubt or zero_doubt(number),
                before,
                after,
            )
        ]

    def _sides(self, start: int, end: int) -> tuple[Before, After]:
        """Return what stands around a number of several tokens: no more than a sign."""
        before = look_before(self._text, start, plain=False) or Before(start=start, digits=start)
        return before, After(end=end, digits=end)

    def _surroundings(
        self, start: int, end: int, digits: str, *, ends_there: bool
    ) -> tuple[Before, After, str] | None:
        """Return what stands around a token and the doubt about it; None if it is no number.

        `ends_there` is known where it is plain that nothing behind the digits belongs to them.
        """
        text = self._text
        if is_in_chain(text, start, end):
            return None
        is_part = (start, end) in self._tokens.parts
        if (
            is_part
            and text[start - 1 : start] in _COMMAS
            and text[start - 2 : start - 1].isdecimal()
        ):
            before: Before | None = Before(start=start, digits=start)
        else:
            before = look_before(text, start, plain=digits.isdecimal())
        if before is None:
            return None
        after: After | None
        if (ends_there and before.bracket < 0) or (
            is_part and text[end : end + 1] in _COMMAS and text[end + 1 : end + 2].isdecimal()
        ):
            after = After(end=end, digits=end)
        else:
            bracket = before.bracket >= 0
            after = look_after(text, end, currency=before.currency, bracket=bracket)
        chained = "" if before.negative else chain_doubt(self._text, start, end)
        if after is None or chained is None:
            return None
        return before, counted(before, after), chained

    @cached_property
    def _open_starts(self) -> frozenset[int]:
        """Where tokens start to which something behind another token may belong."""
        return frozenset(self._tokens.starts[number] for number in self._tokens.open)

    def _space_doubt(self, start: int, end: int) -> str:
        spaced = self._tokens.spaced
        at = bisect_right(spaced, (start, len(self._text))) - 1
        inside = at >= 0 and spaced[at][1] >= end and spaced[at] != (start, end)
        return OVER_SPACE if inside else ""
