"""Numbers that are written with several tokens: 1 million 200 thousand, 3 man 5000, 3 euros 50.

Neighbours: `scales` knows the words, `tokens` files what is found here, `quoted` asks whether a
string is a part of such a number. This module reads neither sign nor currency.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from extractkit.grounding.scales import (
    CJK_CHARS,
    CJK_SCALE,
    GAPS,
    SCALES,
    SHARES,
    SYMBOLS,
    has_letter,
    is_paid,
    scale_behind,
)
from extractkit.grounding.separators import digit_readings, to_ascii
from extractkit.grounding.words import UNSPACED

__all__ = [
    "LONGEST_LINK", "Compound", "before_fractions", "before_letters", "before_powers", "compounds",
    "compounds_at", "hint_of",
]  # fmt: skip

LONGEST_LINK: Final = 24
"""Characters between two tokens that may make one number of them."""
_DIGITS: Final = r"\d+(?:[.,]\d+)*"
_WORDS: Final = "|".join(sorted(SCALES, key=len, reverse=True))
_NAMED: Final = rf"[{GAPS}](?:{_WORDS})(?![^\W_])"
_SCALE: Final = rf"(?:{_NAMED}(?:{_NAMED})*[{GAPS}]|{CJK_SCALE}[ ]?)"
_BETWEEN: Final = re.compile(rf"(?:{_SCALE}|[{SYMBOLS}])\Z", re.IGNORECASE)
# A date behind a scale is none of its parts.
_FORM: Final = re.compile(
    rf"(?<![\d.,]){_DIGITS}(?:{_SCALE}{_DIGITS})+(?!\d|[-/:.,]\d)", re.IGNORECASE
)
_MONEY: Final = re.compile(rf"(?<![\w.,])(\d+)[{SYMBOLS}](\d\d)(?![\w]|[.,]\d|[{SYMBOLS}])")
_TOKEN: Final = re.compile(_DIGITS)
_RAISED: Final = frozenset("^*\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b")
_TIMES: Final = frozenset("x\u00d7*\u00b7\u22c5X")
_GOES_ON: Final = "the number behind the scale may belong to it"
_WORD_OR_SIGN: Final = re.compile(rf"[^\W\d_{UNSPACED}]+|[{UNSPACED}{SYMBOLS}]")
_COULD_BE: Final = frozenset((*SCALES, *CJK_CHARS, *"$\u00a3\u00a5\u20ac"))
_ONE_GAP: Final = frozenset(GAPS)
_REACH: Final = 40


class Compound(NamedTuple):
    """One number of several tokens.

    Attributes:
        value: What it is worth.
        start: Where it starts.
        end: One past it.
        inside: Where its tokens start.
        doubt: Why it may be several numbers, as a sentence; "" where it is one.
    """

    value: Decimal
    start: int
    end: int
    inside: tuple[int, ...]
    doubt: str


@lru_cache(maxsize=4096)
def hint_of(between: str) -> str:
    """Return what may make more of the token before it: "link", "letter", or "" for nothing."""
    if not between or between[0] in "\n,":
        return ""
    if len(between) <= LONGEST_LINK and _BETWEEN.match(between):
        return "link"
    return "letter" if has_letter(between) else ""


def compounds(text: str) -> Iterator[Compound]:
    """Yield every number of a text that several tokens make up."""
    for match in _FORM.finditer(text):
        compound = _compound(text, match)
        if compound is not None:
            yield compound
    for match in _MONEY.finditer(text):
        value = Decimal(to_ascii(f"{match[1]}.{match[2]}"))
        yield Compound(value, *match.span(), (match.start(1), match.start(2)), "")


def compounds_at(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is a part of such a number, and not all of it."""
    first = max(0, start - _REACH)
    around = text[first : end + _REACH]
    if _COULD_BE.isdisjoint(_WORD_OR_SIGN.findall(around.lower())):
        return False
    for each in compounds(around):
        low, high = first + each.start, first + each.end
        if low < end and start < high and (low < start or end < high):
            return True
    return False


def before_fractions(betweens: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the tokens behind which a fraction may stand: the 2 of 2 1/2.

    Args:
        betweens: What stands before each token, and behind the last.
    """
    if "/" in betweens:
        for number, between in enumerate(betweens):
            if between == "/" and number > 1 and betweens[number - 1] in _ONE_GAP:
                yield number - 2


def before_powers(betweens: Sequence[str], tens: Iterable[int]) -> Iterator[int]:
    """Yield the numbers of the tokens behind which a power of ten may stand: 1.5 x 10^6.

    Args:
        betweens: What stands before each token, and behind the last.
        tens: The numbers of the tokens that are ten.
    """
    for number in tens:
        if number and betweens[number].strip() in _TIMES and betweens[number + 1][:1] in _RAISED:
            yield number - 1


def before_letters(betweens: Sequence[str], letters: Container[str]) -> Iterator[int]:
    """Yield the numbers of the tokens between a currency and a letter that is a scale: $5 m.

    Args:
        betweens: What stands before each token, and behind the last.
        letters: Those of them that begin with such a letter.
    """
    for number, between in enumerate(betweens):
        if between in letters and number and is_paid(betweens[number - 1]):
            yield number - 1


def _compound(text: str, match: re.Match[str]) -> Compound | None:
    """Return the number that a match is; None where its parts do not become smaller."""
    tokens = list(_TOKEN.finditer(text, match.start(), match.end()))
    total, least, end, doubt = Decimal(0), Decimal("Infinity"), match.end(), ""
    for token in tokens:
        readings = digit_readings(to_ascii(token.group()), None)
        if not readings:
            return None
        number, own = readings[0]
        scale = scale_behind(text, token.end(), currency=False)
        is_last = token is tokens[-1]
        if scale is not None and scale.unit in SHARES:
            return None
        if scale is not None and is_last and scale.doubt:
            scale = None
        power = scale.power if scale else 0
        value = Decimal(f"{number}E{power}")
        if value >= least:
            return None
        total, least, doubt = total + value, Decimal(f"1E{power}"), doubt or own
        if is_last and scale is not None:
            end = scale.end
        elif is_last and " " in match.group():
            doubt = doubt or _GOES_ON
    return Compound(total, match.start(), end, tuple(token.start() for token in tokens), doubt)
