"""What stands around the digits of a number: sign, currency, brackets, percent, scale, unit.

Neighbours: `numbers` finds the digits and reads their value, this module looks left and right of
them; `marks` says which dash is a sign, `scales` what a number is counted in. It knows nothing of
values, and never moves further than a few words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from extractkit.grounding.marks import DASHES, PLUS, TRUE_MINUS, standing
from extractkit.grounding.normalize import IGNORABLE
from extractkit.grounding.scales import (
    CODES,
    CURRENCY,
    GAPS,
    SYMBOLS,
    Scale,
    scale_before,
    scale_behind,
)
from extractkit.grounding.words import is_exponent, is_letter, is_point, skip_invisible

__all__ = [
    "CLOSED", "FRACTIONS", "JOINTS", "REACH", "After", "Before", "counted", "goes_on", "look_after",
    "look_before", "look_left",
]  # fmt: skip

FRACTIONS = "\u00bc-\u00be\u2150-\u215e"
"""Signs such as \u00bd, as the inside of a character class."""
JOINTS = "\u00b7\u2044^"
"""What makes one longer expression of the digits on both of its sides."""
REACH = 14
"""As far before digits as sign, currency, gap and bracket reach."""
CLOSED = re.compile(rf"[{GAPS}\t]{{0,2}}\|?[{GAPS}\t]{{0,2}}[)\uff09]")
"""The round bracket that closes behind a number, in the next column of a table at most."""

_NEAR = 8
_SIGN = rf"[{DASHES}{PLUS}]"
_GAP = rf"[{IGNORABLE}]{{0,2}}[{GAPS}]?[{IGNORABLE}]{{0,2}}"
_BEFORE = re.compile(
    rf"(?:(?P<outer>{_SIGN}){_GAP})?(?P<currency>{CURRENCY})?{_GAP}"
    rf"(?:(?P<inner>{_SIGN}){_GAP})?\Z",
    re.IGNORECASE,
)
# Behind a code of a currency, brackets may have the number of a note.
_OPEN = re.compile(rf"(?:(?P<currency>[{SYMBOLS}])[{GAPS}]?)?(?P<at>[(\uff08])[{GAPS}\t]{{0,2}}\Z")
_MINUS = re.compile(rf"(?<![^\W_])minus[{GAPS}]\Z", re.IGNORECASE)
# What makes a dash behind it one between two numbers.
_FROM = re.compile(
    rf"(?:\d[{GAPS}]?(?:{CURRENCY}|[A-Za-z]{{1,3}}\.?)?|[-.%\u2013\u2212)])[{GAPS}]?\Z"
)
_UNIT_LINES = (
    "mm cm dm m km in ft yd mi mg g kg t lb lbs oz ml cl dl l s sec secs min mins h hr hrs d",
    "day days wk wks mo mos yr yrs y ms kb mb gb tb k b c f v a w kw mw kwh mwh hz khz mhz",
    "ghz px pt pts pc pcs nos st nd rd th x ppm bps cal kcal j kj bar pa kpa am pm p e er uhr",
    "sqm sqft mol",
)
_UNITS = frozenset(unit for line in _UNIT_LINES for unit in line.split()) | frozenset(
    code.lower() for code in CODES
)
_SHORT_SCALES = {"k": 3, "m": 6, "mm": 6, "b": 9, "t": 12}
# These are found behind the number of a house or a room as well.
_OF_A_NAME = frozenset("abcfABCDF")

_EXPONENT = re.compile(r"[eE](?P<power>[-+\u2212]?\d{1,4})(?![^\W_]|[.,]\d)")
_GOES_ON = re.compile(rf"[{GAPS}]?[{FRACTIONS}]|[{JOINTS}]\d|[{IGNORABLE}]+[.,]\d")
_MIXED = re.compile(rf"[{GAPS}](?P<over>\d{{1,2}})/(?P<under>\d{{1,3}})(?![\w/]|[.,]\d)")
_RANGE = re.compile(r"[-\u2010-\u2013]\d[\d.,]*")
_THOUSAND = re.compile(r"[kK](?![^\W_])")
_INVISIBLE = re.compile(f"[{IGNORABLE}]")
_LEDGER = frozenset(("CR", "DR", "Cr", "Dr"))
_TOUCHING = re.compile(r"[^\W\d_]+")
_TAX = re.compile(r"[A-Z]{1,2}\Z")
_CURRENCY_AFTER = re.compile(rf"[{GAPS}]?{CURRENCY}(?![^\W_])", re.IGNORECASE)
_IN_NAME = "the letter behind the digits may belong to a name"
_TIMES = "the letter before the digits may be a sign of multiplication or a name"
_IN_CODE = "the letters behind the digits may be a code"
_FRACTION = "a fraction stands behind the digits"


class Before(NamedTuple):
    """What stands before the digits; a tuple, for there are many.

    Attributes:
        start: Where the number starts, its sign included.
        digits: Where it starts without its sign.
        negative: A minus sign belongs to the number.
        unsure: Why that sign may mean something else, as a sentence; "" where it does not.
        currency: A currency mark stands before it.
        bracket: Where an opening round bracket stands before it; -1 for none.
        point: The digits are the decimals of a number written without its zero (".50").
        loose: Where "minus" stands, or a dash that a space parts from the digits; -1 for none.
        doubt: Why the digits may be a part of something, as a sentence; "" where they are not.
        scale: What the number is counted in where that stands before it; None for nothing.
    """

    start: int
    digits: int
    negative: bool = False
    unsure: str = ""
    currency: bool = False
    bracket: int = -1
    point: bool = False
    loose: int = -1
    doubt: str = ""
    scale: Scale | None = None


class After(NamedTuple):
    """What stands after the digits; a tuple, for there are many.

    Attributes:
        end: One past the number, percent sign and scale word included.
        digits: One past the number without them.
        power: Power of ten that an exponent or a scale stands for.
        unit: "%", "permille", the scale word, or "".
        either: The scale letter may be a unit instead ("5M").
        closed: One past the round bracket that closes between digits and unit; 0 for none.
        doubt: Why digits or scale may mean something else, as a sentence; "" for no doubt.
    """

    end: int
    digits: int
    power: int = 0
    unit: str = ""
    either: bool = False
    closed: int = 0
    doubt: str = ""


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
        bare = plain and is_point(text, start - 1)
        return _signed(text, start - 1, point=True) if bare else _signed(text, start, point=False)
    if previous and is_letter(previous):
        return _after_letters(text, start)
    if previous == "_" and text[start - 2 : start - 1] != "_":
        return None  # two of them are a line to be filled in
    if previous.isnumeric() and not previous.isalpha():
        return None
    if is_exponent(text, start - 1):
        return None
    if previous and previous in JOINTS and start > 1 and text[start - 2].isalnum():
        return None
    return _signed(text, start, point=False)


def goes_on(text: str, end: int) -> bool:
    """Return whether digits up to `end` are a part of an expression: 1 \u00bd, 48^2, 2 1/2."""
    return _GOES_ON.match(text, end) is not None or _is_mixed(text, end)


def look_left(text: str, start: int) -> Before:
    """Return what stands before digits of which it is known that they are no part of a word."""
    bare = is_point(text, start - 1)
    return _signed(text, start - bare, point=bare)


def look_after(text: str, end: int, *, currency: bool, bracket: bool = False) -> After | None:
    """Return what stands after the digits that end at `end`; None where they go on.

    Args:
        text: The source.
        end: One past the digits.
        currency: A currency mark stands before them, so that "m" is a million.
        bracket: An opening round bracket stands before them.
    """
    following = text[end : end + 2]
    if following[:1] in (".", ",") and following[1:].isdecimal():
        return None
    if following[:1] == "_" and following != "__":
        return None
    if bracket and (closed := CLOSED.match(text, end)):
        return _counted(text, end, closed.end(), currency=currency)
    scaled = _counted(text, end, 0, currency=currency)
    if scaled.unit:
        return scaled
    if following[:1].isnumeric() and not following[0].isalpha():
        return None
    if _GOES_ON.match(text, end):
        return None
    if match := _EXPONENT.match(text, end):
        power = int(match["power"].replace("\u2212", "-"))
        return After(end=match.end(), digits=end, power=power)
    if match := _TOUCHING.match(text, end):
        return _before_letters(text, match, currency=currency)
    if match := _RANGE.match(text, end):
        return _counted_later(text, end, match.end())
    return After(end=end, digits=end, doubt=_FRACTION if _is_mixed(text, end) else "")


def counted(before: Before, after: After) -> After:
    """Return `after` with the scale that stands before the digits, if one does: TEUR 48."""
    if before.scale is None or after.unit or after.power:
        return after
    return after._replace(power=before.scale.power, unit=before.scale.unit)


def _counted(text: str, end: int, closed: int, *, currency: bool) -> After:
    """Return what digits are counted in, behind the bracket that closes behind them."""
    scale = scale_behind(text, closed or end, currency=currency)
    if scale is None:
        return After(end=end, digits=end)
    return After(
        end=scale.end, digits=end, power=scale.power, unit=scale.unit, closed=closed,
        doubt=scale.doubt,
    )  # fmt: skip


def _counted_later(text: str, end: int, last: int) -> After:
    """Return what the first end of a range is counted in, which only stands behind its last one."""
    scale = scale_behind(text, last, currency=False)
    if scale is None and (letter := _THOUSAND.match(text, last)):
        scale = Scale(letter.end(), 3, letter.group())
    if scale is None:
        return After(end=end, digits=end)
    doubt = "the scale stands behind another number" if scale.power else ""
    return After(end=end, digits=end, power=scale.power, unit=scale.unit, doubt=doubt)


def _is_mixed(text: str, end: int) -> bool:
    """Whether a proper fraction stands behind digits, as in 2 1/2."""
    match = _MIXED.match(text, end)
    return match is not None and 0 < int(match["over"]) < int(match["under"])


def _after_letters(text: str, start: int) -> Before | None:
    """Digits that touch a letter: only a currency code or a multiplication sign may stand there."""
    if text[start - 1] in "xX" and start > 1 and text[start - 2].isdecimal():
        if _is_hexadecimal(text, start - 2):
            return None
        return Before(start=start, digits=start)
    before = _signed(text, start, point=False)
    if before.currency:
        return before
    times = text[start - 1] in "xX" and not text[start - 2 : start - 1].isalnum()
    return Before(start=start, digits=start, doubt=_TIMES) if times else None


def _is_hexadecimal(text: str, zero: int) -> bool:
    """Whether the digit before an "x" is a zero that stands alone: 0x48, not 10x48."""
    return text[zero] == "0" and not (zero and (text[zero - 1].isalnum() or text[zero - 1] in ".,"))


def _signed(text: str, start: int, *, point: bool) -> Before:
    begin = max(0, start - _NEAR)
    if not text[begin:start].isascii():
        begin = max(0, start - REACH)  # characters without width may stand among the others
    match = _BEFORE.search(text, begin, start)
    if match is None:  # pragma: no cover - every part of the pattern is optional
        return Before(start=start, digits=start, point=point)
    currency = match["currency"] is not None
    first = match.start("currency") if currency else start
    sign, is_inner = -1, False
    for name in ("inner", "outer"):
        at = match.start(name)
        if at >= 0 and text[at] not in PLUS:
            sign, is_inner = at, name == "inner"
            break
    unsure: str | None = None
    # A dash that a space parts from the digits is a bullet or a dash, a true minus sign is not.
    if sign >= 0 and (skip_invisible(text, sign + 1) in (start, first) or text[sign] in TRUE_MINUS):
        unsure = standing(text, sign, start, is_paid=currency and is_inner)
    negative = unsure is not None
    if negative:
        first = min(first, sign)
    near = text[max(0, first - _NEAR) : first]
    bracket = None
    if "(" in near or "\uff08" in near:
        bracket = _OPEN.search(text, max(0, first - REACH), first)
    return Before(
        start=sign if negative else start,
        digits=start,
        negative=negative,
        unsure=unsure or "",
        currency=currency or (bracket is not None and bracket["currency"] is not None),
        bracket=-1 if bracket is None else bracket.start("at"),
        point=point,
        loose=-1 if negative else _loose(text, first, sign, start),
        scale=scale_before(text, start),
    )


def _loose(text: str, first: int, sign: int, start: int) -> int:
    """Return where "minus" stands before a number, or a dash and a space; -1 for neither.

    Args:
        text: The source.
        first: Where the number starts, its currency included.
        sign: Where a dash stands that is no plain sign; negative for none.
        start: Where the digits start.
    """
    if first and text[first - 1] in GAPS:
        word = _MINUS.search(text, max(0, first - REACH), first)
        if word:
            return word.start()
    if sign < 0 or text[sign + 1 : sign + 2] not in GAPS or sign + 2 not in (start, first):
        return -1
    return -1 if _FROM.search(text, max(0, sign - REACH), sign) else sign


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
        doubt = _IN_NAME if run == "b" else ""
        return After(end=match.end(), digits=end, power=power, unit=run, either=True, doubt=doubt)
    if run.lower() in _UNITS or not is_letter(run[-1]):
        return After(end=end, digits=end, doubt=_IN_NAME if run in _OF_A_NAME else "")
    is_amount = text[end - 3 : end - 2] in (".", ",") and _TAX.match(run) is not None
    return After(end=end, digits=end, doubt=_IN_CODE) if is_amount else None
