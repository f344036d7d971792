"""Every number that a text writes in words: only where it is asked for.

Neighbours: `numbers` reads digits, `source` asks here with Grounding(spelled=True); `scales` knows
percent and the scales that are no numbers. The words are read by text2num, in the language of the
locale or in English; a minus before them and a fraction behind them are read here.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from decimal import Decimal, Inexact, localcontext
from typing import Any, Final, NamedTuple, Protocol

from extractkit.errors import UnsupportedError
from extractkit.grounding.scales import SHARES, scale_behind

__all__ = ["Doubted", "SpelledIndex", "reader"]

_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+|\s+|[^\w\s]|_")
_LANGUAGES: Final = ("da", "de", "en", "es", "fr", "it", "nl", "pt")
_MINUS: Final = re.compile(r"(?<!\w)(?:minus|negative|moins|menos|meno|min)\s\Z", re.IGNORECASE)
_REACH: Final = 12
_HALF: Final = re.compile(r"\s(?:and\s)(?:a|one)[\s-]half(?!\w)", re.IGNORECASE)
_PARTS: Final = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6,
    "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100,
}  # fmt: skip
_PART_OF: Final = re.compile(
    rf"(?P<gap>[\s\-\u2010\u2011])(?P<name>{'|'.join(_PARTS)})(?P<many>s?)(?!\w)", re.IGNORECASE
)
_SIGN: Final = "'minus' before the number may be its sign or not"
_PART: Final = "the word behind the number may make a fraction of it"
_HYPHENS: Final = str.maketrans("\u2010\u2011", "--")


class Doubted(NamedTuple):
    """A place where a number in words may mean something else.

    Attributes:
        start: First character.
        end: One past the last character.
        doubt: What else, as a sentence.
        code: Short name of that.
    """

    start: int
    end: int
    doubt: str
    code: str = "ambiguous_number"


class _Part(NamedTuple):
    """A fraction behind a number in words, and the number with it; None for no exact decimal."""

    value: Decimal | None
    end: int
    is_unsure: bool


class SpelledIndex:
    """The numbers in words of one text.

    Args:
        text: The source.
        locale: Language of the text, such as "de"; None is English.

    Raises:
        UnsupportedError: If text2num is not installed, or does not know the language.
    """

    def __init__(self, text: str, locale: str | None) -> None:
        find_numbers, language = reader(locale)
        self._text = text
        self._found: defaultdict[Decimal, list[tuple[int, int]]] = defaultdict(list)
        self._doubtful: defaultdict[Decimal, list[Doubted]] = defaultdict(list)
        spans: list[tuple[int, int]] = [match.span() for match in _TOKEN.finditer(text)]
        tokens = [_Word(text[start:end].translate(_HYPHENS)) for start, end in spans]
        each: _Found
        last = 0
        for each in find_numbers(tokens, language, 0.0):
            start, end = spans[each.start][0], spans[each.end - 1][1]
            value = _value(each)
            if value is not None and not text[start:end].isdecimal() and start >= last:
                last = self._add(value, start, end, last)

    def _add(self, value: Decimal, start: int, end: int, last: int) -> int:
        """Keep a number with what belongs to it; return where that ends.

        Args:
            value: What its words are worth.
            start: Where they start.
            end: One past them.
            last: Where the number before ends.
        """
        sign = _MINUS.search(self._text, max(last, start - _REACH), start)
        if sign is not None:
            if self._text[last : sign.start()].strip() or not last:
                value, start = -value, sign.start()
            else:  # ten minus five
                self._doubtful[-value].append(Doubted(sign.start(), end, _SIGN))
                self._doubtful[value].append(Doubted(start, end, _SIGN))
                return end
        if part := _fraction(self._text, end, value):
            if part.value is not None:
                self._found[part.value].append((start, part.end))
            if part.is_unsure:
                self._doubtful[value].append(Doubted(start, end, _PART))
            return part.end
        scale = scale_behind(self._text, end, currency=False)
        if scale is None:
            self._found[value].append((start, end))
            return end
        power = SHARES.get(scale.unit, scale.power)
        self._found[value.scaleb(power)].append((start, scale.end))
        doubt = f"the source counts in {scale.unit!r}"
        self._doubtful[value].append(Doubted(start, end, doubt, "unit_mismatch"))
        return scale.end

    @property
    def values(self) -> tuple[Decimal, ...]:
        """Every number that stands in words, each once."""
        return tuple(dict.fromkeys((*self._found, *self._doubtful)))

    def find(self, value: Decimal) -> list[tuple[int, int]]:
        """Return where `value` stands in words, in the order of the text."""
        return self._found.get(value, [])

    def doubtful(self, value: Decimal) -> list[Doubted]:
        """Return where `value` stands in words and something else may be meant."""
        return self._doubtful.get(value, [])


class _Found(Protocol):
    """What text2num says of a number: its tokens, its digits."""

    start: int
    end: int
    text: str
    is_ordinal: bool


class _Word:
    """What text2num asks of a word."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self) -> str:
        return self._text

    def text_lowercase(self) -> str:
        return self._text.lower()

    def nt_separated(self, previous: _Word) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return self._text.isdecimal()


def reader(locale: str | None) -> tuple[Any, str]:
    """Return the function of text2num that reads numbers in words, and the language for it.

    Raises:
        UnsupportedError: If text2num is not installed, or does not know the language.
    """
    language = (locale or "en").replace("_", "-").lower().partition("-")[0]
    if language not in _LANGUAGES:
        raise UnsupportedError(
            f"Grounding(spelled=True, locale={locale!r}): numbers in words are read in "
            f"{', '.join(_LANGUAGES)} only; leave spelled out for this language"
        )
    try:
        return importlib.import_module("text_to_num").find_numbers, language
    except ImportError as exc:
        raise UnsupportedError(
            "Grounding(spelled=True) reads numbers in words with text2num, which is not "
            "installed: pip install 'extractkit[spelled]'"
        ) from exc


def _value(found: _Found) -> Decimal | None:
    """Return what a number in words is worth; None for an ordinal."""
    return None if found.is_ordinal else Decimal(found.text.replace(",", "."))


def _fraction(text: str, end: int, value: Decimal) -> _Part | None:
    """Return what a fraction behind a number makes of it: two and a half, two-thirds."""
    half = Decimal("0.5").copy_sign(value)
    if match := _HALF.match(text, end):
        return _Part(value + half, match.end(), is_unsure=False)
    match = _PART_OF.match(text, end)
    if match is None or (match["many"] != "") == (abs(value) == 1):
        return None
    with localcontext() as context:
        context.prec = 28
        context.clear_flags()
        part = value / _PARTS[match["name"].lower()]
        is_exact = not context.flags[Inexact]
    # Two quarters may be half a year.
    return _Part(part if is_exact else None, match.end(), is_unsure=match["gap"].isspace())
