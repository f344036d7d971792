"""What stands around the digits of a number: sign, currency, brackets, percent, scale, unit.

Neighbours: `numbers` finds the digits and reads their value, this module looks left and right of
them. It knows nothing of values, and never moves further than a few words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from extractkit.grounding.normalize import IGNORABLE
from extractkit.grounding.words import is_letter

__all__ = [
    "FRACTIONS", "JOINTS", "SCALE_WORDS", "After", "Before", "Edges", "chain_doubt", "goes_on",
    "is_bare", "is_in_chain", "look_after", "look_before", "look_left",
]  # fmt: skip

FRACTIONS = "\u00bc-\u00be\u2150-\u215e"
"""Signs such as \u00bd, as the inside of a character class."""
JOINTS = "\u00b7\u2044^"
"""What makes one longer expression of the digits on both of its sides."""

_GAPS = " \u00a0\u202f\u2009"
_WINDOW = 24

_SYMBOLS = "$\u00a2\u00a3\u00a4\u00a5\u0e3f\u20a0-\u20cf\uffe0\uffe1\uffe5\uff04"
_CODE_LINES = (
    "AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK DM EGP EUR GBP HKD HUF IDR ILS INR ISK JPY",
    "KRW KZT MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RM RMB RON RS RSD RUB SAR SEK SGD THB",
    "TRY TWD UAH USD VND ZAR kr Fr Ft Kc zl",
)
_CODES = tuple(code for line in _CODE_LINES for code in line.split())
_CURRENCY = rf"(?:[{_SYMBOLS}]|(?<![^\W_])(?:{'|'.join(_CODES)})\.?)"

_BEFORE = re.compile(
    rf"(?:(?P<outer>[-\u2212\u2013+])[{_GAPS}]?)?(?P<currency>{_CURRENCY})?[{_GAPS}]?"
    rf"(?:(?P<inner>[-\u2212\u2013+])[{_GAPS}]?)?\Z",
    re.IGNORECASE,
)
_MINUS = re.compile(rf"(?<![^\W_])minus[{_GAPS}]\Z", re.IGNORECASE)
# What makes a dash behind it one between two numbers.
_FROM = re.compile(
    rf"(?:\d[{_GAPS}]?(?:[{_SYMBOLS}]|[A-Za-z]{{1,3}}\.?)?|[-.%\u2013\u2212)])[{_GAPS}]?\Z"
)
_LINKS = ("-", "\u2013", "/", ":")
_INNER_LINKS = ("-", "\u2013", "/")
_LEFT_CHAIN = re.compile(r"(?:[^\W_]+[-\u2013/:])+\Z")
_RIGHT_CHAIN = re.compile(r"(?:[-\u2013/:][^\W_]+)+")

_SCALES = {
    **dict.fromkeys(("thousand", "thousands", "tausend", "tsd", "mille", "mila", "duizend"), 3),
    **dict.fromkeys(("million", "millions", "mio", "mln", "mn", "mill", "millionen"), 6),
    **dict.fromkeys(("millón", "millones", "milione", "milioni", "miljoen", "milhões"), 6),
    **dict.fromkeys(("billion", "billions", "bn", "bln", "mrd", "milliarde", "milliarden"), 9),
    **dict.fromkeys(("milliard", "milliards", "miliardo", "miliardi", "miljard"), 9),
    **dict.fromkeys(("trillion", "trillions", "tn", "trn"), 12),
    **dict.fromkeys(("lakh", "lakhs", "lac"), 5),
    **dict.fromkeys(("crore", "crores"), 7),
}
SCALE_WORDS = frozenset(_SCALES)
"""Words behind a number that make it larger, in lower case."""
_SHORT_SCALES = {"k": 3, "m": 6, "mm": 6, "b": 9, "t": 12}
_CJK_SCALES = {
    **dict.fromkeys("\u5343\uc1a1", 3),
    **dict.fromkeys("\u4e07\u842c\ub9cc", 4),
    **dict.fromkeys("\u5104\u4ebf\uc5b5", 8),
    "\u5146": 12,
}
_UNIT_LINES = (
    "mm cm dm m km in ft yd mi mg g kg t lb lbs oz ml cl dl l s sec secs min mins h hr hrs d",
    "day days wk wks mo mos yr yrs y ms kb mb gb tb k b c f v a w kw mw kwh mwh hz khz mhz",
    "ghz px pt pts pc pcs nos st nd rd th x ppm bps cal kcal j kj bar pa kpa am pm p e er uhr",
    "sqm sqft mol",
)
_UNITS = frozenset(unit for line in _UNIT_LINES for unit in line.split()) | frozenset(
    code.lower() for code in _CODES
)

_PERCENT = re.compile(
    rf"[{_GAPS}]?(?:(?P<mille>\u2030)|[%\uff05]|(?:per[{_GAPS}]?cent|pct)(?![^\W_]))", re.IGNORECASE
)
_SCALE_WORD = re.compile(
    rf"[{_GAPS}-]?(?P<word>{'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![^\W_])",
    re.IGNORECASE,
)
_EXPONENT = re.compile(r"[eE](?P<power>[+-]?\d{1,4})(?![^\W_]|[.,]\d)")
_GOES_ON = re.compile(rf"[{_GAPS}]?[{FRACTIONS}]|[{JOINTS}]\d|[{IGNORABLE}]+[.,]\d")
_INVISIBLE = re.compile(f"[{IGNORABLE}]")
_LEDGER = frozenset(("CR", "DR", "Cr", "Dr"))
_TOUCHING = re.compile(r"[^\W\d_]+")
_CURRENCY_AFTER = re.compile(rf"[{_GAPS}]?{_CURRENCY}(?![^\W_])", re.IGNORECASE)


# Eight characters are as far as sign, currency, gap and bracket reach.
_REACH = 8
# No percent sign or scale word is longer.
_AHEAD = 16
# Not all of it in any case: then letters would match signs beyond ASCII that are one with them.
_BARE_BEFORE = re.compile(r"(?!(?s:.?.?.?)(?i:minus) )[^-+(\u0080-\U0010ffff]*+(?<![\w.,/:^])\Z")
_BARE_AFTER = re.compile(
    rf"\Z|[.,](?!\Z)|[^\w .,%/:^\-\u0080-\U0010ffff]"
    rf"| (?![%\uff05\u2030{FRACTIONS}]|per[{_GAPS}]?cent|pct|[cd]r\b|{'|'.join(sorted(_SCALES))})",
    re.IGNORECASE,
)


class Edges:
    """Whether it is plain that nothing around digits belongs to them.

    Where it is, `look_before` and `look_after` find neither sign nor bracket, percent or scale,
    and `chain_doubt` no link. There may be a currency, which changes nothing then.

    Attributes:
        before: Whether that holds of all that stands between a number and the one before it.
        after: Whether it holds of all that stands between a number and the one after it.
    """

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before: Mapping[str, bool] = _BareBefore()
        self.after: Mapping[str, bool] = _BareAfter()


class _BareBefore(dict[str, bool]):
    def __missing__(self, between: str) -> bool:
        is_bare = self[between] = _is_bare_before(between[-_REACH:])
        return is_bare


class _BareAfter(dict[str, bool]):
    def __missing__(self, between: str) -> bool:
        is_bare = self[between] = _is_bare_after(between[:_AHEAD])
        return is_bare


@lru_cache(maxsize=4096)
def _is_bare_before(between: str) -> bool:
    return _BARE_BEFORE.match(between) is not None


@lru_cache(maxsize=4096)
def _is_bare_after(between: str) -> bool:
    return _BARE_AFTER.match(between) is not None


class Before(NamedTuple):
    """What stands before the digits; a tuple, for there are many.

    Attributes:
        start: Where the number starts, its sign included.
        digits: Where it starts without its sign.
        negative: A minus sign belongs to the number.
        unsure: That sign is a dash and may mean something else.
        currency: A currency mark stands before it.
        bracket: An opening round bracket stands before it.
        point: The digits are the decimals of a number written without its zero (".50").
        loose: Where "minus" stands, or a dash that a space parts from the digits; -1 for none.
    """

    start: int
    digits: int
    negative: bool = False
    unsure: bool = False
    currency: bool = False
    bracket: bool = False
    point: bool = False
    loose: int = -1


class After(NamedTuple):
    """What stands after the digits; a tuple, for there are many.

    Attributes:
        end: One past the number, percent sign and scale word included.
        digits: One past the number without them.
        power: Power of ten that an exponent or a scale stands for.
        unit: "%", "\u2030", the scale word, or "".
        either: The scale letter may be a unit instead ("5M").
    """

    end: int
    digits: int
    power: int = 0
    unit: str = ""
    either: bool = False


def look_before(text: str, start: int, *, plain: bool) -> Before | None:
    """Return what stands before the digits at `start`; None where they are part of something.

    Args:
        text: The source.
        start: Where the digits start.
        plain: The digits have no separator, so that a point before them may be a decimal point.
    """
    previous = text[start - 1] if start else ""
    if previous and previous in ".,":
        earlier = text[start - 2] if start > 1 else ""
        if earlier.isdecimal() or (earlier > "\x7f" and _INVISIBLE.match(earlier)):
            return None
        bare = plain and previous == "." and not earlier.isalnum() and earlier != "."
        return _signed(text, start - 1, point=True) if bare else _signed(text, start, point=False)
    if previous and is_letter(previous):
        return _after_letters(text, start)
    if previous == "_" or (previous.isnumeric() and not _is_han_digit(previous)):
        return None
    if previous and previous in JOINTS and start > 1 and text[start - 2].isalnum():
        return None
    return _signed(text, start, point=False)


def is_bare(text: str, start: int, end: int) -> bool:
    """Return whether it is plain that nothing around a number belongs to it, as `Edges` says."""
    before = _BARE_BEFORE.match(text, max(0, start - _REACH), start)
    return before is not None and _BARE_AFTER.match(text, end, end + _AHEAD) is not None


def goes_on(text: str, end: int) -> bool:
    """Return whether the digits that end at `end` are a part of an expression: 1 \u00bd, 48^2."""
    return _GOES_ON.match(text, end) is not None


def look_left(text: str, start: int) -> Before:
    """Return what stands before digits of which it is known that they are no part of a word."""
    earlier = text[max(0, start - 2) : start - 1]
    bare = text[start - 1 : start] == "." and not earlier.isalnum() and earlier != "."
    return _signed(text, start - bare, point=bare)


def look_after(text: str, end: int, *, currency: bool) -> After | None:
    """Return what stands after the digits that end at `end`; None where they go on.

    Args:
        text: The source.
        end: One past the digits.
        currency: A currency mark stands before them, so that "m" is a million.
    """
    following = text[end : end + 2]
    if following[:1] in (".", ",") and following[1:].isdecimal():
        return None
    if following[:1] == "_" or (following[:1].isnumeric() and not _is_han_digit(following[0])):
        return None
    if _GOES_ON.match(text, end):
        return None
    if match := _EXPONENT.match(text, end):
        return After(end=match.end(), digits=end, power=int(match["power"]))
    if match := _PERCENT.match(text, end):
        return After(end=match.end(), digits=end, unit="\u2030" if match["mille"] else "%")
    if following[:1] in _CJK_SCALES:
        return After(end=end + 1, digits=end, power=_CJK_SCALES[following[0]], unit=following[0])
    if match := _SCALE_WORD.match(text, end):
        return After(
            end=match.end(), digits=end, power=_SCALES[match["word"].lower()], unit=match["word"]
        )
    if match := _TOUCHING.match(text, end):
        return _before_letters(text, match, currency=currency)
    return After(end=end, digits=end)


def chain_doubt(text: str, start: int, end: int) -> str | None:
    """Return why digits that are linked to others are doubtful, "" if not; None if no number.

    "10-20" is a range and "48-hour" a compound of words: no doubt. "3-1" or "24/7" or "GPT-4" may
    be something else. Digits among three or more linked parts (a date, a telephone number, an
    identifier) are no number.
    """
    has_left, has_right = text[start - 1 : start] in _LINKS, text[end : end + 1] in _LINKS
    if not (has_left or has_right):
        return ""
    left = _LEFT_CHAIN.search(text, max(0, start - _WINDOW), start) if has_left else None
    right = _RIGHT_CHAIN.match(text, end, min(len(text), end + _WINDOW)) if has_right else None
    before = _parts(left.group()) if left else []
    after = _parts(right.group()) if right else []
    if left and left.group()[-1] == ":" and not before[-1].isdecimal():
        before = []
    if not any(part[-1:].isdecimal() or part[:1].isdecimal() for part in after):
        after = []
    if len(before) + len(after) > 1:
        return None
    if not before and not after:
        return ""
    link = left.group()[-1] if left and before else right.group()[0] if right else ""
    pair = (before[0], text[start:end]) if before else (text[start:end], after[0])
    if link in "-\u2013" and _ascends(*pair):
        return ""
    return f"the digits are linked to {(before or after)[0]!r}"


def is_in_chain(text: str, start: int, end: int) -> bool:
    """Return whether digits stand between two others, linked to both: as `chain_doubt`, quickly.

    False may mean that only `chain_doubt` can tell; where it is true, no sign is near.
    """
    return (
        text[start - 1 : start] in _INNER_LINKS
        and text[end : end + 1] in _INNER_LINKS
        and start > 1
        and text[start - 2].isdecimal()
        and text[end + 1 : end + 2].isdecimal()
    )


def _parts(chain: str) -> list[str]:
    return [part for part in re.split(r"[-\u2013/:]", chain) if part]


def _ascends(low: str, high: str) -> bool:
    return (
        low.isdecimal()
        and high.isdecimal()
        and (len(low), low) < (len(high), high)
        and not (len(low) > 1 and low.startswith("0"))
    )


def _is_han_digit(char: str) -> bool:
    """Whether `char` is a numeral that is also a letter (万, 千), unlike ½ or ²."""
    return char.isalpha()


def _after_letters(text: str, start: int) -> Before | None:
    """Digits that touch a letter: only a currency code or a multiplication sign may stand there."""
    if text[start - 1] in "xX" and start > 1 and text[start - 2].isdecimal():
        if _is_hexadecimal(text, start - 2):
            return None
        return Before(start=start, digits=start)
    before = _signed(text, start, point=False)
    return before if before.currency else None


def _is_hexadecimal(text: str, zero: int) -> bool:
    """Whether the digit before an "x" is a zero that stands alone: 0x48, not 10x48."""
    return text[zero] == "0" and not (zero and (text[zero - 1].isalnum() or text[zero - 1] in ".,"))


def _signed(text: str, start: int, *, point: bool) -> Before:
    match = _BEFORE.search(text, max(0, start - _REACH), start)
    if match is None:  # pragma: no cover - every part of the pattern is optional
        return Before(start=start, digits=start, point=point)
    currency = match["currency"] is not None
    first = match.start("currency") if currency else start
    sign = next(
        (at for name in ("inner", "outer") if (at := match.start(name)) >= 0 and text[at] != "+"),
        -1,
    )
    # A dash that a space parts from the digits is a bullet or a dash, a true minus sign is not.
    adjacent = sign + 1 in (start, first) or (sign >= 0 and text[sign] == "\u2212")
    negative = sign >= 0 and adjacent and _may_be_signed(text, sign)
    if negative:
        first = min(first, sign)
    loose = -1 if negative else _loose(text, first, sign, start)
    return Before(
        start=sign if negative else start,
        digits=start,
        negative=negative,
        unsure=negative and text[sign] == "\u2013",
        currency=currency,
        bracket=first > 0 and text[first - 1] == "(",
        point=point,
        loose=loose,
    )


def _loose(text: str, first: int, sign: int, start: int) -> int:
    """Return where "minus" stands before a number, or a dash and a space; -1 for neither.

    Args:
        text: The source.
        first: Where the number starts, its currency included.
        sign: Where a dash stands that is no plain sign; negative for none.
        start: Where the digits start.
    """
    if word := _MINUS.search(text, max(0, first - _REACH), first):
        return word.start()
    if sign < 0 or text[sign + 1 : sign + 2] not in _GAPS or sign + 2 not in (start, first):
        return -1
    return -1 if _FROM.search(text, max(0, sign - _REACH), sign) else sign


def _may_be_signed(text: str, at: int) -> bool:
    """Whether a dash at `at` can be a sign: not after a letter, digit, point or closing bracket."""
    if at == 0:
        return True
    before = text[at - 1]
    return not (before.isalnum() or before in ".,)]}-\u2013\u2212/_%")


def _before_letters(text: str, match: re.Match[str], *, currency: bool) -> After | None:
    """Digits that touch letters: a unit, a scale letter, a currency, or a part of a name."""
    end, run = match.start(), match.group()
    if not is_letter(run[0]) or run in _LEDGER:
        return After(end=end, digits=end)
    follower = text[match.end() : match.end() + 1]
    if run in ("x", "X") and _is_hexadecimal(text, end - 1):
        return None
    if follower.isdecimal() and run not in ("x", "X"):
        return None
    power = _SHORT_SCALES.get(run.lower())
    if power is not None:
        paid = currency or _CURRENCY_AFTER.match(text, match.end()) is not None
        if paid or run in ("k", "K"):
            return After(end=match.end(), digits=end, power=power, unit=run)
        return After(end=match.end(), digits=end, power=power, unit=run, either=True)
    return After(end=end, digits=end) if run.lower() in _UNITS or not is_letter(run[-1]) else None
