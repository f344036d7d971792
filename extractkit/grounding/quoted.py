"""Whether a string that is a number or an amount is all of what its place says.

Neighbours: `source` asks here for strings that it has found; `signs` and `surroundings` read what
stands around the digits, as they do for numbers. "48.00" is doubtful in "-48.00", "$48" in "$48
million", and "5" is not in ".5". Digits linked to others (a date, an identifier) are not looked at:
a string may be a part of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final

from extractkit.grounding.amounts import amount_of
from extractkit.grounding.compounds import compounds_at
from extractkit.grounding.edges import is_bare
from extractkit.grounding.numbers import NumberReading
from extractkit.grounding.scales import CODES, GAPS, SYMBOLS, has_letter
from extractkit.grounding.separators import GROUP_GAPS
from extractkit.grounding.signs import Signed, signs
from extractkit.grounding.surroundings import After, counted, goes_on, look_after, look_left
from extractkit.grounding.tokens import OVER_SPACE, SPACED

__all__ = ["is_quantity", "quoted"]

_NOTHING: Final = Decimal(0)
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_CODES: Final = frozenset(map(str.upper, CODES))
_LONGEST: Final = 40
_DIGITS: Final = rf"\d[\d.,{GROUP_GAPS} ]*"
_NUMBER: Final = re.compile(rf"{_DIGITS}\Z")
_SCALE_WORD: Final = re.compile(r"(?<=[\d ])[^\W\d_]+\Z")
_WITH_UNIT: Final = re.compile(
    rf"{_DIGITS}[^\W\d_]*[\u00b0\u2032\u2033\u2103\u2109'\"]?"
    r"[^\W\d_]*[\u00b2\u00b3]?\Z"
)
_RAISED: Final = re.compile(r"[\u00b2\u00b3\u2074-\u2079\u207b]|\^[-\u2212]?\d")
_FRACTION: Final = re.compile(r"(\d{1,2})/(\d{1,3})(?:\s[^\W\d_]+)?\Z")
_TIMES_BEFORE: Final = re.compile(r"(?<![^\W_])[xX]\Z")
_OVER: Final = re.compile(r"(?<![\d/.,:-])(\d{1,2})/\Z")
_WHOLE: Final = re.compile(rf"(?<![\w/.,:-])\d{{1,4}}[{GAPS}]\Z")
_UNDER: Final = re.compile(r"\d{1,3}(?![\d.,/])")
_POWER: Final = re.compile(
    rf"[{GAPS}]?[x\u00d7*\u00b7\u22c5][{GAPS}]?10(?:\^|\*\*|[\u00b2\u00b3\u00b9\u2070-\u207b])",
    re.IGNORECASE,
)
_SIGN_OF_MONEY: Final = re.compile(rf"[{SYMBOLS}]")
_OTHERS: Final = re.compile(r"(?<![^\W\d_])(?!US\Z)[^\W\d_]{1,3}\Z", re.IGNORECASE)
_REACH: Final = 24
_NEAR: Final = 8
_SIGN: Final = "the minus sign there is no part of it"
_MORE: Final = "the number goes on behind it"
_TIMES: Final = "the letter before it may be a sign of multiplication or a name"
_PART: Final = "the number there has more parts"
_CURRENCY: Final = "letters before the sign make it another currency"
_LETTER: Final = "the letter behind it may be a scale or a unit"


def is_quantity(value: str) -> bool:
    """Return whether a string is one number or one amount, with or without its sign."""
    if not value or len(value) > _LONGEST:
        return False
    if value[0].isalpha() and (value[:4].isalpha() or not value[-1].isdecimal()):
        return False  # only a currency may stand before digits
    letters = _LETTERS.match(value) if value.isascii() and "$" not in value else None
    if letters and letters.group().upper() not in _CODES:
        return False  # AX-1234 is the name of something
    core = value.lstrip("-+\u2212\u2013 ")
    if core[:1].isdecimal() and (_WITH_UNIT.match(core) or _is_fraction(core)):
        return True
    if _NUMBER.match(core) or amount_of(core):
        return True
    without = _SCALE_WORD.sub("", core).rstrip()
    return without != core and amount_of(without) is not None


def quoted(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[NumberReading]:
    """Yield the places of a quantity again, each with its unit and its doubt, if it is one.

    Args:
        text: The source.
        spans: Where the quantity stands. The values of what is yielded say nothing.
    """
    for start, end in spans:
        spaced = _space_doubt(text, start, end)
        in_words = not any(map(str.isdecimal, text[start:end]))
        alone = not (spaced or has_letter(text[end : end + 4])) and is_bare(text, start, end)
        alone = alone and not _is_part(text, start, end)
        if in_words or alone:
            yield NumberReading(_NOTHING, start, end)
        elif place := _place(text, start, end, spaced):
            yield place


def _place(text: str, start: int, end: int, spaced: str) -> NumberReading | None:
    first, last = start, end
    while not text[first].isdecimal():
        first += 1
    while not text[last - 1].isdecimal():
        last -= 1
    before = look_left(text, first)
    after = After(end=last, digits=last)
    behind = look_after(text, last, currency=before.currency, bracket=before.bracket >= 0)
    if last == end:
        after = behind or after
        if start == first:
            after = counted(before, after)
    elif behind is not None:
        after = after._replace(closed=behind.closed)
    if (before.point and start == first) or (after.power and not after.unit):
        return None  # "5" in ".5", "1.5" in "1.5e3"
    more = _more(text, start, end, last, after) or spaced
    doubt = _sign_doubt(signs(text, before, after, after.end), start, end) or more
    return NumberReading(_NOTHING, start, end, "" if after.either else after.unit, doubt)


def _is_fraction(written: str) -> bool:
    match = _FRACTION.match(written)
    return match is not None and int(match[1]) < int(match[2])


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a string is a part of a fraction, of a power of ten, or of several tokens."""
    if _POWER.match(text, end) or goes_on(text, end):
        return True
    if text[start].isdecimal() and not text[end - 1].isdecimal():  # 2 cups of 1/2 cups
        over = _OVER.search(text, max(0, start - _NEAR), start)
        under = _UNDER.match(text, start)
        if over and under and int(over[1]) < int(under.group()):
            return True
    if _WHOLE.search(text, max(0, start - _NEAR), start) and _is_fraction(text[start:end]):
        return True
    return compounds_at(text, start, end)


def _more(text: str, start: int, end: int, last: int, after: After) -> str:
    """Return what belongs to the number or to its unit and is no part of the string."""
    if last == end and goes_on(text, end):
        return _MORE
    if _is_part(text, start, end):
        return _PART
    if text[start].isdecimal() and _TIMES_BEFORE.search(text, max(0, start - 2), start):
        return _TIMES
    if _SIGN_OF_MONEY.match(text, start) and _OTHERS.search(text, max(0, start - 4), start):
        return _CURRENCY
    if last < end:
        return _MORE if _RAISED.match(text, end) else ""
    return _LETTER if after.either and after.unit.isupper() else after.doubt


def _sign_doubt(readings: Sequence[Signed], start: int, end: int) -> str:
    """Return why a string may be less than its number; "" where it has the sign itself."""
    minus = [each for each in readings if each.negative]
    if not minus or (start <= minus[0].start and minus[0].end <= end):
        return ""
    return next((each.doubt for each in readings if not each.negative), _SIGN)


def _space_doubt(text: str, start: int, end: int) -> str:
    """Return the doubt about digits to which others may belong behind a space."""
    left = text[start - 1 : start] == " " and start > 1 and text[start - 2].isdecimal()
    right = text[end : end + 1] == " " and text[end + 1 : end + 2].isdecimal()
    if not (left or right):
        return ""
    around = SPACED.finditer(text, max(0, start - _REACH), min(len(text), end + _REACH))
    across = any(
        match.start() < start < match.end() or match.start() < end < match.end() for match in around
    )
    return OVER_SPACE if across else ""
