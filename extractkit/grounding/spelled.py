"""Every number that a text writes in words: only where it is asked for.

Neighbours: `numbers` reads digits, `source` asks here with Grounding(spelled=True). The words are
read by text2num, in the language of the locale or in English.
"""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from decimal import Decimal
from typing import Any, Final, Protocol

from extractkit.errors import UnsupportedError

__all__ = ["SpelledIndex", "reader"]

_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+|\s+|[^\w\s]|_")
_LANGUAGES: Final = ("da", "de", "en", "es", "fr", "it", "nl", "pt")
_HYPHENS: Final = str.maketrans("\u2010\u2011", "--")


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
        self._found: defaultdict[Decimal, list[tuple[int, int]]] = defaultdict(list)
        spans: list[tuple[int, int]] = [match.span() for match in _TOKEN.finditer(text)]
        tokens = [_Word(text[start:end].translate(_HYPHENS)) for start, end in spans]
        each: _Found
        for each in find_numbers(tokens, language, 0.0):
            start, end = spans[each.start][0], spans[each.end - 1][1]
            value = _value(each)
            if value is not None and not text[start:end].isdecimal():
                self._found[value].append((start, end))

    @property
    def values(self) -> tuple[Decimal, ...]:
        """Every number that stands in words, each once."""
        return tuple(self._found)

    def find(self, value: Decimal) -> list[tuple[int, int]]:
        """Return where `value` stands in words, in the order of the text."""
        return self._found.get(value, [])


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
