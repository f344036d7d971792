"""What a number may be counted in behind its digits: percent, a scale word, a scale letter.

Neighbours: `surroundings` asks here what follows digits, `compounds` which words a number may have
inside, `glance` which words make another number of one. This module looks at no digits.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extractkit.grounding.normalize import IGNORABLE

__all__ = [
    "CHANGING_WORDS", "CJK_CHARS", "CJK_SCALE", "CODES", "CURRENCY", "GAPS", "LONG_CODES", "SCALES",
    "SHARES", "SYMBOLS", "Scale", "has_letter", "is_changed", "is_paid", "is_parted",
    "may_be_scale", "power_of", "scale_before", "scale_behind",
]  # fmt: skip

GAPS: Final = " \u00a0\u202f\u2009"
"""Spaces that may part digits from what belongs to them, as the inside of a character class."""
SYMBOLS: Final = "$\u00a2\u00a3\u00a4\u00a5\u0e3f\u20a0-\u20cf\uffe0\uffe1\uffe5\uff04"
"""Signs of currencies, as the inside of a character class."""
SHARES: Final = {"%": -2, "permille": -3}
"""The units that a number may count parts of a whole in, and the power of ten of one."""
_CODE_LINES: Final = (
    "AED AUD BGN BRL CAD CHF CLP CNY COP CZK DKK DM EGP EUR GBP HKD HUF IDR ILS INR ISK JPY",
    "KRW KZT MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RM RMB RON RS RSD RUB SAR SEK SGD THB",
    "TRY TWD UAH USD VND ZAR kr Fr Ft Kc zl",
)
CODES: Final = tuple(code for line in _CODE_LINES for code in line.split())
LONG_CODES: Final = tuple(code for code in CODES if len(code) == 3 and code.isupper())
"""Those of three capital letters."""
CURRENCY: Final = rf"(?:[{SYMBOLS}]|(?<![^\W_])(?:{'|'.join(CODES)})\.?)"

_BY_POWER: Final = {
    2: "hundred hundert honderd",
    3: (
        "thousand thousands tausend tsd mille mila duizend tusen tusind tuhat tuhatta ezer "
        "tkr tys tysi\u0105ce tysi\u0119cy tis tis\xedc tis\xedce ngh\xecn ng\xe0n ribu "
        "\u0442\u044b\u0441 \u0442\u044b\u0441\u044f\u0447 "
        "\u0442\u044b\u0441\u044f\u0447\u0430 \u0442\u044b\u0441\u044f\u0447\u0438 "
        "\u0442\u0438\u0441 \u0442\u0438\u0441\u044f\u0447 "
        "\u0442\u0438\u0441\u044f\u0447\u0456 \u0445\u0438\u043b "
        "\u0445\u0438\u043b\u044f\u0434\u0438 \u0445\u0438\u0459\u0430\u0434\u0430"
    ),
    5: "lakh lakhs lac lacs",
    6: (
        "million millions mio mln mn mill millionen mill\xf3n millones milione milioni "
        "miljoen miljoenen milh\xf5es milh\xe3o miljon miljoner milj mkr milion milioane "
        "miliony milion\xf3w milion\u016f milijun milijuna milijonov milli\xf3 miljoonaa "
        "milyon tri\u1ec7u juta \u043c\u043b\u043d "
        "\u043c\u0438\u043b\u043b\u0438\u043e\u043d "
        "\u043c\u0438\u043b\u043b\u0438\u043e\u043d\u0430 "
        "\u043c\u0438\u043b\u043b\u0438\u043e\u043d\u043e\u0432 "
        "\u043c\u0456\u043b\u044c\u0439\u043e\u043d "
        "\u043c\u0456\u043b\u044c\u0439\u043e\u043d\u0438 "
        "\u043c\u0456\u043b\u044c\u0439\u043e\u043d\u0456\u0432 "
        "\u043c\u0438\u043b\u0438\u043e\u043d \u043c\u0438\u043b\u0438\u043e\u043d\u0430 "
        "\u03b5\u03ba\u03b1\u03c4"
    ),
    7: "crore crores",
    9: (
        "billion billions bn bln mrd milliarde milliarden milliard milliards miliardo "
        "miliardi miljard miljarder miljardia mld miliard miliardy miliard\xf3w "
        "miliard\u016f milijarda milijardi milli\xe1rd milyar t\u1ef7 t\u1ec9 miliar "
        "\u043c\u043b\u0440\u0434 \u043c\u0438\u043b\u043b\u0438\u0430\u0440\u0434 "
        "\u043c\u0438\u043b\u043b\u0438\u0430\u0440\u0434\u0430 "
        "\u043c\u0438\u043b\u043b\u0438\u0430\u0440\u0434\u043e\u0432 "
        "\u043c\u0456\u043b\u044c\u044f\u0440\u0434 "
        "\u043c\u0456\u043b\u044c\u044f\u0440\u0434\u0456\u0432 "
        "\u043c\u0438\u043b\u0438\u0430\u0440\u0434\u0430 \u03b4\u03b9\u03c3"
    ),
    12: (
        "trillion trillions tn trn \u0442\u0440\u043b\u043d "
        "\u0442\u0440\u0438\u043b\u043b\u0438\u043e\u043d\u043e\u0432"
    ),
}
SCALES: Final = {word: power for power, line in _BY_POWER.items() for word in line.split()}
"""Words behind a number that make it larger, in lower case, and the power of ten."""
# Thousand in Spanish, Portuguese and Turkish, a thousand millions in German; or something else.
_UNSURE: Final = {"mil": 3, "bin": 3, "mia": 9}
_WRITTEN: Final = ("mil", "bin", "Mia", "MIL", "MIA")
_LETTERS: Final = {"k": 3, "m": 6, "mm": 6, "md": 9, "b": 9, "t": 12}

# A hundred of ten thousands is one scale: 5\u767e\u4e07.
_SMALL: Final = {
    "\u5341": 1, "\uc2ed": 1, "\u767e": 2, "\ubc31": 2, "\u5343": 3, "\ucc9c": 3,
}  # fmt: skip
_LARGE: Final = {
    "\u4e07": 4, "\u842c": 4, "\ub9cc": 4, "\u5104": 8, "\u4ebf": 8, "\uc5b5": 8, "\u5146": 12,
    "\uc870": 12,
}  # fmt: skip
CJK_CHARS: Final = (*_SMALL, *_LARGE)
"""The characters of these scales."""
# An article of a Korean law has the same sign as a million millions.
_MONEY: Final = r"(?!\uc870(?!\s?(?:\uc6d0|\ub2ec\ub7ec|\d)))"
CJK_SCALE: Final = rf"(?:[{''.join(_SMALL)}]?{_MONEY}[{''.join(_LARGE)}]|[{''.join(_SMALL)}])"
"""A scale in Chinese, Japanese or Korean, as a regular expression."""

_REACH: Final = 10
_PERCENT_WORDS: Final = (
    r"per[ \u00a0]?cent|pct|prozent|procent|pour[ \u00a0]cent|por[ \u00a0]ciento|por[ \u00a0]cento|"
    r"per[ \u00a0]cento|percento|\u043f\u0440\u043e\u0446\u0435\u043d\u0442[\u0430\u043e\u0432]*|"
    r"\u0432\u0456\u0434\u0441\u043e\u0442\u043a\w{1,3}"
)
_BETWEEN: Final = rf"[{GAPS}\t{IGNORABLE}]{{0,3}}"
_PERCENT: Final = re.compile(
    rf"{_BETWEEN}(?:(?P<mille>\u2030)|[%\uff05]|(?:{_PERCENT_WORDS})(?![^\W_])"
    r"|\u30d1\u30fc\u30bb\u30f3\u30c8|\ud37c\uc13c\ud2b8)",
    re.IGNORECASE,
)
_ALL: Final = {**SCALES, **_UNSURE}
_WORD: Final = re.compile(r"[^\W\d_]++(?![^\W_])")
_LEAD: Final = re.compile(
    rf"(?P<line>[{GAPS}\t]*\r?\n[{GAPS}\t]*)|[-\u2010\u2011]|[{GAPS}\t]{{0,2}}(?P<open>\((?:in )?)?"
)
_NEXT: Final = re.compile(rf"[{GAPS}](?P<word>[^\W\d_]+)(?![^\W_])")
_ANY_CODE: Final = "|".join(LONG_CODES)
# Five metres may stand before the currency of another number.
_PAID: Final = re.compile(
    rf"[{GAPS}]?(?:(?P<letter>[kKmMbBtT]|mm|[Mm][Dd])[{GAPS}]?(?P<sign>[{SYMBOLS}])"
    rf"|(?P<spaced>[kKmMbBtT]|mm|[Mm][Dd])[{GAPS}](?P<code>{'|'.join(CODES)})(?![^\W_])"
    rf"|(?P<glued>[kKMBT]|Md)(?P<long>{_ANY_CODE})(?![^\W_]))"
)
_LETTER: Final = re.compile(rf"[{GAPS}](?P<letter>mm|[Mm]d|[kmbKMBT])(?![^\W_])")
_CJK: Final = re.compile(CJK_SCALE)
_POWER: Final = re.compile(
    rf"[{GAPS}]?(?:[x\u00d7*\u00b7\u22c5]|\\times)[{GAPS}]?10(?:(?:\^|\*\*)\{{?(?P<up>[-+\u2212]?\d{{1,3}})\}}?"
    r"|(?P<raised>[\u207a\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,3}))(?![\w]|[.,]\d)",
    re.IGNORECASE,
)
_RAISED: Final = str.maketrans(
    "\u207a\u207b\u2212\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079",
    "+--0123456789",
)
_EURO: Final = ("\u20ac", "EUR", "CHF")
_UNIT: Final = "{!r} may be a scale or a unit"
_ON_NEXT_LINE: Final = "the scale stands on the next line"

_PAID_WORDS: Final = [
    f"{letter}{code}".lower() for letter in "kmt" for code in CODES if len(code) == 3
]
CHANGING_WORDS: Final = frozenset((
    *_ALL, "minus", "cent", "percent", "pct", "prozent", "procent", "ciento", "cento", "percento",
    "cr", "dr", "times", *_PAID_WORDS,
))  # fmt: skip
"""Words beside a number that may make another of it, in lower case."""
_CHANGING: Final = re.compile(  # each part is tried only where the one before it holds
    r" (?=[kmbtKMBT\d])(?<=\d )"
    rf"(?:(?i:mm|md|[kmbt])(?:{_ANY_CODE})?(?![^\W_])|\d\d?/\d|\d{{3}})",
    re.ASCII,
)
# Lower case letters are units more often; `has_letter` and `is_paid` tell of these.
_LOWER: Final = ("m", "mm", "b", "t")
_AHEAD: Final = frozenset((*CHANGING_WORDS, "k", "md", "per", "pour", "por", "in"))
_PAID_BEHIND: Final = re.compile(
    rf"[{GAPS}](?:mm|[mbt])(?:[{GAPS}]?[{SYMBOLS}]|[{GAPS}](?:{'|'.join(CODES)})(?![^\W_]))"
)
_PAID_BEFORE: Final = re.compile(rf"{CURRENCY}[{GAPS}]?\Z", re.IGNORECASE)
_CODE_REACH: Final = 6  # the longest code, its point, a gap, and what may not be a letter
_LOWER_BEHIND: Final = re.compile(rf"[{GAPS}](?:mm|[mbt])(?![^\W_])")
_FIRST: Final = re.compile(r"\n\s*([a-z]+)")
_MAY_BE: Final = re.compile(r"[\s(]{1,4}([^\W\d_]+)")
_PAID_WORD: Final = re.compile(rf"(?:md|[kmbt])(?:{_ANY_CODE})\Z", re.IGNORECASE)


_BEFORE: Final = re.compile(
    rf"(?<![^\W_])(?P<letter>[kKMT]|Mio\.?[{GAPS}]?|Mrd\.?[{GAPS}]?)(?P<paid>\u20ac|{_ANY_CODE})"
    rf"[{GAPS}]?\Z"
)


class Scale(NamedTuple):
    """What a number is counted in.

    Attributes:
        end: One past it.
        power: The power of ten that it stands for; 0 for percent.
        unit: "%", "permille", or what is written.
        doubt: Why it may not belong to the number, as a sentence; "" where it does.
    """

    end: int
    power: int
    unit: str
    doubt: str = ""


def scale_behind(text: str, end: int, *, currency: bool) -> Scale | None:
    """Return what a number is counted in whose digits end at `end`, None for nothing.

    Args:
        text: The source.
        end: One past the digits, and the bracket that closes behind them.
        currency: A currency stands before the digits, so that "M" behind a space is a million.
    """
    if match := _PERCENT.match(text, end):
        return Scale(match.end(), 0, "permille" if match["mille"] else "%")
    if match := _CJK.match(text, end):
        return Scale(match.end(), sum(_cjk_power(char) for char in match.group()), match.group())
    if match := _POWER.match(text, end):
        power = int((match["up"] or match["raised"]).translate(_RAISED))
        return Scale(match.end(), power, match.group().strip())
    return _words(text, end) or _letters(text, end, currency=currency)


def scale_before(text: str, start: int) -> Scale | None:
    """Return the scale of a currency before the digits at `start`: TEUR 48, M\u20ac 5."""
    match = _BEFORE.search(text, max(0, start - _REACH), start)
    if match is None:
        return None
    letter = match["letter"].rstrip(f".{GAPS}")
    power = 3 if letter == "T" else SCALES.get(letter.lower()) or _LETTERS[letter.lower()]
    return Scale(match.start(), power, match.group().strip())


def may_be_scale(behind: str) -> bool:
    """Return whether a scale may follow digits, by the characters behind them: False is sure."""
    match = _MAY_BE.match(behind)
    if match is None:
        return False
    if match[1] in _LOWER:
        return _PAID_BEHIND.match(behind) is not None
    word = match[1].lower()
    return (
        word in _AHEAD or word in _LOWER or not word.isascii() or _PAID_WORD.match(word) is not None
    )


def power_of(word: str) -> int | None:
    """Return the power of ten that a word or a letter in lower case stands for; None for none."""
    return SCALES.get(word) or _LETTERS.get(word)


def is_changed(text: str) -> bool:
    """Return whether digits in ASCII are followed by what may make another number of them.

    Such as 5 M, 2 1/2, 5 x 10**3 and 5 000; words are not looked for.
    """
    return "10**" in text or _CHANGING.search(text) is not None


def is_parted(text: str) -> bool:
    """Return whether a line of ASCII begins with a scale, so that the one before counts in it."""
    return not _ALL.keys().isdisjoint(_FIRST.findall(text.lower()))


def has_letter(behind: str) -> bool:
    """Return whether a lower case letter stands behind digits that may be a scale: $5 m."""
    return _LOWER_BEHIND.match(behind) is not None


def is_paid(before: str) -> bool:
    """Return whether a currency stands right before digits, by what stands before them."""
    return _PAID_BEFORE.search(before[-_CODE_REACH:]) is not None


def _words(text: str, end: int) -> Scale | None:
    """Return the scale that one word or several stand for: million, hundred thousand."""
    lead = _LEAD.match(text, end)
    start = lead.end() if lead else end
    word = _WORD.match(text, start)
    power = _ALL.get(word.group().lower()) if word else None
    if word is None or power is None:
        return None
    if lead and lead["open"]:
        if not text.startswith(")", word.end()):
            return None
        return Scale(word.end() + 1, power, word.group())
    doubt = _ON_NEXT_LINE if lead and lead["line"] else ""
    if word.group().lower() in _UNSURE:
        if word.group() not in _WRITTEN:
            return None
        doubt = f"{word.group()!r} may be a scale or something else"
    stop = word.end()
    while (more := _NEXT.match(text, stop)) and (next_power := SCALES.get(more["word"].lower())):
        power, stop = power + next_power, more.end()
    return Scale(stop, power, text[start:stop], doubt)


def _letters(text: str, end: int, *, currency: bool) -> Scale | None:
    """Return the scale of a letter beside a currency: 5 M\u20ac, 48 TEUR, $5 M."""
    match = _PAID.match(text, end)
    if match is None:
        spaced = _LETTER.match(text, end) if currency else None
        if spaced is None:
            return None
        return Scale(spaced.end(), _LETTERS[spaced["letter"].lower()], spaced["letter"])
    letter = match["letter"] or match["spaced"] or match["glued"]
    paid = match["sign"] or match["code"] or match["long"]
    is_thousand = letter in "Tt" and paid in _EURO
    power = 3 if is_thousand else _LETTERS[letter.lower()]
    stop = max(match.end(name) for name in ("letter", "spaced", "glued"))
    return Scale(stop, power, letter, _UNIT.format(letter) if match["spaced"] else "")


def _cjk_power(char: str) -> int:
    return _SMALL.get(char) or _LARGE[char]
