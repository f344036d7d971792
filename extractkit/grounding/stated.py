"""What a text states, as lists: what a field that must come from it can say.

Neighbours: the engine hands this to the grammar of local decoding, so that no other value can be
written; `locate` finds the same values afterwards, for both read the text with `numbers`, `dates`
and `times`. This module looks for no value and changes none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from itertools import compress, pairwise

from extractkit.grounding.dates import DateIndex
from extractkit.grounding.fractions import FractionIndex
from extractkit.grounding.normalize import fold
from extractkit.grounding.numbers import NumberIndex
from extractkit.grounding.source import ClaimKind, ClaimRow, Source
from extractkit.grounding.spelled import SpelledIndex
from extractkit.grounding.surroundings import look_left
from extractkit.grounding.words import is_letter, stands_alone
from extractkit.paths import JsonValue
from extractkit.results import Grounding

__all__ = ["Stated", "stated"]

_GLUED = re.compile(r"(?<=[^\W\d_])[0-9]+(?:[.,][0-9]+)*")
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """The values of one text.

    Attributes:
        chunks: The text, cut at every place where a match may both begin and end, so that any run
            of them is made of whole words and whole numbers; white space is a chunk of its own.
        glued: Digits that stand alone but for the letters beside them ("9.00" in "RM9.00").
        numbers: Every number, exactly, with the digits after the point that the text gives it;
            years that stand inside of dates and fractions, too, and numbers in words where they
            are asked for.
        dates: Every day that some place can be read as.
        times: Every time of day, and its offset from UTC in seconds where the text gives one.
    """

    chunks: tuple[str, ...]
    glued: tuple[str, ...]
    numbers: tuple[Decimal, ...]
    dates: tuple[date, ...]
    times: tuple[tuple[time, int | None], ...]
    _source: Source = field(repr=False, compare=False)

    def states(self, values: Sequence[JsonValue], kind: ClaimKind) -> tuple[bool, ...]:
        """Return of each value whether the text states it, looked for as `kind`."""
        return _are_stated(self._source, values, kind)


def stated(text: str, options: Grounding) -> Stated:
    """Return what `text` states; near linear in its length.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If numbers in words are asked for and cannot be read.
    """
    source = Source(text, options)
    numbers, dates = source.numbers, source.dates
    in_words = SpelledIndex(text, options.locale).values if options.spelled else ()
    beside = (*FractionIndex(text).values, *in_words)
    glued = [each for each in dict.fromkeys(_GLUED.findall(text)) if numbers.spelled(each)]
    return Stated(
        chunks=_chunks(text),
        # What follows the digits may make another number of them: 5 in 5e3.
        glued=tuple(compress(glued, _are_stated(source, glued, "text"))),
        numbers=_numbers(numbers, dates, beside),
        dates=tuple(sorted(dates.days)),
        times=source.times.stated,
        _source=source,
    )


def _are_stated(source: Source, values: Sequence[JsonValue], kind: ClaimKind) -> tuple[bool, ...]:
    rows: list[ClaimRow] = [(f"/{index}", value, kind, None) for index, value in enumerate(values)]
    found = source.find_all(rows).places
    return tuple(pointer in found for pointer, *_ in rows)


def _chunks(text: str) -> tuple[str, ...]:
    seams = _seams(text)
    edges = [match.start() for match in _PIECE.finditer(text)][1:]
    cuts = [
        at
        for at in edges
        if at not in seams
        and stands_alone(text, 0, at)
        and stands_alone(text, at, len(text))
        and not (text[at].isdecimal() and look_left(text, at).point)  # the 5 of .5
    ]
    return tuple(text[start:end] for start, end in pairwise((0, *cuts, len(text))))


def _seams(text: str) -> set[int]:
    """Return the places that lie inside of a word or of a character once the text is folded.

    A soft hyphen at the end of a line joins two words to one, and "\u2116" is the word "no".
    """
    if text.isascii():
        return set()
    folded = fold(text)
    seams: set[int] = set()
    done = 0  # up to here, the source is folded
    for offset, (start, end, is_linear) in zip(folded.starts, folded.pieces, strict=True):
        if offset and _is_one_run(folded.text[offset - 1], folded.text[offset]):
            seams.update(range(done, start + 1))
        if not is_linear and folded.text[offset] != " ":
            seams.update(range(start + 1, end))
        done = end
    return seams


def _is_one_run(before: str, after: str) -> bool:
    return (before.isdecimal() and after.isdecimal()) or (is_letter(before) and is_letter(after))


def _numbers(
    numbers: NumberIndex, dates: DateIndex, beside: tuple[Decimal, ...]
) -> tuple[Decimal, ...]:
    found = numbers.values()
    known = set(found)
    years = (Decimal(year) for year in dates.years_in_digits if 1000 <= year <= 9999)
    others = dict.fromkeys((*years, *beside))
    return (*found, *(each for each in others if each not in known))
