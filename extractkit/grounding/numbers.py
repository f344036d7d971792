"""Every number that a text states, found by value.

Neighbours: `tokens` cuts the digits out, `separators` says what they may be worth, `surroundings`
reads sign, currency, percent and scale around them; `source` asks for values. A number is a whole
token: 48 is never found in 1480, 3,480.50 or AB48.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from extractkit.grounding.separators import (
    digit_readings,
    digits_of,
    significant,
    to_ascii,
    zero_doubt,
)
from extractkit.grounding.signs import signs
from extractkit.grounding.surroundings import (
    After,
    Before,
    Edges,
    chain_doubt,
    is_in_chain,
    look_after,
    look_before,
)
from extractkit.grounding.tokens import IN_LIST, OVER_SPACE, Filed, Tokens, is_token
from extractkit.paths import JsonValue

__all__ = ["NumberIndex", "NumberReading", "number_of"]

_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,6})?\Z", re.ASCII)

_MOST_PLACES = 1000
_START = itemgetter(1)
_new: Any = cast("Any", tuple).__new__  # the constructor of a named tuple takes twice as long


_Token: TypeAlias = tuple[int, int, str]
"""Start, end, and the doubt that comes with how it was cut out."""

_Bare: TypeAlias = tuple[list[int], Sequence[tuple[int, int]]]


class NumberReading(NamedTuple):
    """One way to read a number token.

    Attributes:
        value: What it is worth, exactly.
        start: First character, its sign included.
        end: One past the last character, percent sign and scale word included.
        unit: "" where the value is plain; "%" or "\u2030" where it counts those; the scale word
            where it is the number before that word.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    value: Decimal
    start: int
    end: int
    unit: str = ""
    doubt: str = ""


def number_of(value: JsonValue) -> Decimal | None:
    """Return the exact value of a JSON number or of a decimal written as a string, else None.

    A float is worth what its shortest decimal form says. Booleans, NaN, infinities and other
    strings have no value here.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = repr(value)
    elif isinstance(value, str) and not _PLAIN_NUMBER.match(value.strip()):
        return None
    if not isinstance(value, str | int | Decimal):
        return None
    number = Decimal(value)
    return number if number.is_finite() else None


class NumberIndex:
    """The numbers of one text.

    Args:
        text: The source.
        decimal: Decimal mark of the text's language; None where both are possible.
    """

    def __init__(self, text: str, *, decimal: Literal[".", ","] | None = None) -> None:
        self._text = text
        self._decimal: Literal[".", ","] | None = decimal
        self._tokens = Tokens(text)
        self._beside: dict[str, list[NumberReading]] = {}
        self._found: dict[Decimal, tuple[NumberReading, ...]] = {}
        self._read: dict[_Token, list[NumberReading]] = {}
        self._forms: dict[str, list[tuple[Decimal, str, str]]] = {}
        self._edges = Edges()

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
                if self._tokens.spaced or not self._is_bare(filed):
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

    def _doubts(self, token: str, value: Decimal) -> list[str]:
        """Return the doubt of each reading of a bare token that is worth `value`."""
        return [own or zero for number, own, zero in self._forms_of(token) if number == value]

    def find_bare(self, value: Decimal, spelled: str) -> _Bare | None:
        """Return where all tokens start that are worth `value`, if they are all alike.

        That is: each is written as `spelled`, has nothing around it and no doubt about it. The
        spans of doubtful ones come beside; with any others there is None.
        """
        tokens = self._tokens
        kin = tokens.kin.get(spelled)
        if kin is None or tokens.spaced or tokens.cut:
            return None
        before_is_bare, after_is_bare = self._edges.before, self._edges.after
        starts, betweens, numbers = tokens.starts, tokens.betweens, tokens.numbers[spelled]
        bare = [
            starts[number]
            for number in numbers
            if before_is_bare[betweens[number]] and after_is_bare[betweens[number + 1]]
        ]
        if not bare or len(bare) > _MOST_PLACES:
            return None
        # Only of three digits behind a point there may be a doubt.
        if spelled[-4:-3] == "." and self._doubts(spelled, value) != [""]:
            return None
        if len(kin) == 1 and len(bare) == len(numbers):
            return bare, ()
        beside = self._read_beside(kin, value)
        others = any(self._doubts(each, value) for each in kin if each != spelled)
        if others or any(each.unit or not each.doubt for each in beside):
            return None
        return bare, sorted([(each.start, each.end) for each in beside])

    def _read_beside(self, kin: Sequence[str], value: Decimal) -> list[NumberReading]:
        """Return the readings worth `value` where something around the digits may belong to them.

        Args:
            kin: How the digits are written.
            value: What they are worth together with what is around them.
        """
        found: list[NumberReading] = []
        for token in kin:
            readings = self._beside.get(token)
            if readings is None:
                filed = [self._tokens.filed(token, each) for each in self._tokens.numbers[token]]
                beside = [self._readings(each) for each in filed if not self._is_bare(each)]
                readings = self._beside[token] = [each for read in beside for each in read]
            found += [each for each in readings if each[0] == value]
        return found

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
            if filed[3] == digits and self._readings(filed)
        ]

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
        if self._is_bare(filed):
            space = self._space_doubt(start, end) if self._tokens.spaced else ""
            return [
                NumberReading(number, start, end, "", own or space or zero)
                for number, own, zero in self._forms_of(token)
            ]
        key = (start, end, doubt)
        readings = self._read.get(key)
        if readings is None:
            ends_there = not doubt and self._edges.after[after]
            readings = self._read[key] = self._read_token(start, end, doubt, ends_there=ends_there)
        return readings

    def _forms_of(self, token: str) -> list[tuple[Decimal, str, str]]:
        """Return what a token with nothing around it may be worth, and the doubts about it."""
        forms = self._forms.get(token)
        if forms is None:
            forms = self._forms[token] = [
                (Decimal(number), own, zero_doubt(number))
                for number, own in digit_readings(to_ascii(token), self._decimal)
            ]
        return forms

    def _read_token(
        self, start: int, end: int, doubt: str, *, ends_there: bool
    ) -> list[NumberReading]:
        digits = to_ascii(self._text[start:end])
        surroundings: tuple[Before, After, str] | None
        if doubt == IN_LIST:
            surroundings = Before(start=start, digits=start), After(end=end, digits=end), ""
        else:
            surroundings = self._surroundings(start, end, digits, ends_there=ends_there)
        if surroundings is None:
            return []
        before, after, around = surroundings
        doubt = doubt or around or self._space_doubt(start, end)
        return [
            reading
            for number, own in digit_readings(digits, self._decimal)
            for reading in _combine(
                self._text,
                f"0.{number}" if before.point else number,
                own or doubt or zero_doubt(number),
                before,
                after,
            )
        ]

    def _surroundings(
        self, start: int, end: int, digits: str, *, ends_there: bool
    ) -> tuple[Before, After, str] | None:
        """Return what stands around a token and the doubt about it; None if it is no number.

        `ends_there` is known where it is plain that nothing behind the digits belongs to them.
        """
        if is_in_chain(self._text, start, end):
            return None
        before = look_before(self._text, start, plain=digits.isdecimal())
        if before is None:
            return None
        if ends_there:
            after: After | None = After(end=end, digits=end)
        else:
            after = look_after(self._text, end, currency=before.currency)
        chained = "" if before.negative else chain_doubt(self._text, start, end)
        if after is None or chained is None:
            return None
        return before, after, chained

    def _space_doubt(self, start: int, end: int) -> str:
        spaced = self._tokens.spaced
        at = bisect_right(spaced, (start, len(self._text))) - 1
        inside = at >= 0 and spaced[at][1] >= end and spaced[at] != (start, end)
        return OVER_SPACE if inside else ""


def _combine(
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
    if after.unit in ("%", "\u2030"):
        whole = -2 if after.unit == "%" else -3
        return (0, after.unit, "", after.end), (whole, f"1/{after.unit}", "", after.end)
    if after.either:
        letter = f"{after.unit!r} may be a scale or a unit"
        number = 0, "", letter if after.unit.isupper() else "", after.digits
        return (after.power, "", letter, after.end), number
    if after.unit:
        return (after.power, "", "", after.end), (0, after.unit, "", after.end)
    return ((after.power, "", "", after.end),)
