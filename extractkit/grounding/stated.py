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
from itertools import pairwise

from extractkit.grounding import ClaimKind, ClaimRow, locate_rows
from extractkit.grounding.dates import DateIndex
from extractkit.grounding.locales import convention
from extractkit.grounding.numbers import NumberIndex
from extractkit.grounding.source import Source
from extractkit.grounding.times import TimeIndex
from extractkit.grounding.words import stands_alone
from extractkit.paths import JsonValue
from extractkit.results import Grounding

__all__ = ["Stated", "stated"]

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """The values of one text.

    Attributes:
        chunks: The text, cut at every place where a match may both begin and end, so that any run
            of them is made of whole words and whole numbers; white space is a chunk of its own.
        numbers: Every number, exactly, with the digits after the point that the text gives it;
            years that stand inside of dates, too.
        dates: Every day that some place can be read as.
        times: Every time of day, and its offset from UTC in seconds where the text gives one.
    """

    chunks: tuple[str, ...]
    numbers: tuple[Decimal, ...]
    dates: tuple[date, ...]
    times: tuple[tuple[time, int | None], ...]
    _text: str = field(repr=False)
    _options: Grounding = field(repr=False)

    def states(self, values: Sequence[JsonValue], kind: ClaimKind) -> tuple[bool, ...]:
        """Return of each value whether the text states it, looked for as `kind`."""
        rows: list[ClaimRow] = [
            (f"/{index}", value, kind, None) for index, value in enumerate(values)
        ]
        found = locate_rows(rows, self._text, options=self._options).evidence
        return tuple(f"/{index}" in found for index in range(len(values)))


def stated(text: str, options: Grounding) -> Stated:
    """Return what `text` states; near linear in its length.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If fuzzy matches are asked for.
    """
    Source(text, options)  # refuses options that cannot be used
    own = convention(options.locale)
    reference = options.reference_date
    day = None if reference is None else date.fromisoformat(reference)
    dates = DateIndex(text, order=own.order, reference=day)
    return Stated(
        chunks=_chunks(text),
        numbers=_numbers(NumberIndex(text, decimal=own.decimal), dates),
        dates=tuple(sorted(dates.days)),
        times=TimeIndex(text).stated,
        _text=text,
        _options=options,
    )


def _chunks(text: str) -> tuple[str, ...]:
    cuts = [0]
    for match in _PIECE.finditer(text):
        at = match.start()
        if at and stands_alone(text, 0, at) and stands_alone(text, at, len(text)):
            cuts.append(at)
    return tuple(text[start:end] for start, end in pairwise((*cuts, len(text))))


def _numbers(numbers: NumberIndex, dates: DateIndex) -> tuple[Decimal, ...]:
    found = numbers.values()
    known = set(found)
    years = (Decimal(year) for year in dates.years_in_digits if 1000 <= year <= 9999)
    return (*found, *(year for year in years if year not in known))
