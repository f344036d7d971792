"""Numbers that stand in a text by themselves, found at once with all others worth the same.

Neighbours: `numbers` has every reading of a token and asks here first, `surroundings` says what
belongs to digits. Most numbers of a document have nothing around them and one way to be read; this
module finds these and leaves all others to `numbers`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias, cast

from extractkit.grounding.chains import chain_doubt
from extractkit.grounding.edges import Edges
from extractkit.grounding.readings import NumberReading
from extractkit.grounding.surroundings import look_before
from extractkit.grounding.tokens import Filed, Tokens

__all__ = ["Alike", "AlikeTokens", "Forms"]

Forms: TypeAlias = list[tuple[Decimal, str, str]]
"""What a token with nothing around it may be worth, each with two doubts; "" for none."""

_Written: TypeAlias = tuple[str, list[int]]
_Span: TypeAlias = tuple[int, int]

Alike: TypeAlias = tuple[Sequence[_Written], Sequence[_Span]]
"""Tokens without a doubt and where each starts, one or more; the spans of doubtful ones."""

_MOST_PLACES = 1000
_new: Any = cast("Any", tuple).__new__  # the constructor of a named tuple takes twice as long

# Without leading zeros, and with no mark that may set thousands apart.
_ONE_READING = re.compile(r"(?:[1-9]\d*|0)(?:\.\d\d?)?\Z", re.ASCII)

# Further than this nothing is looked for before digits.
_WINDOW = 24
# Links of digits and words end here.
_END_OF_CHAIN = re.compile(r"[^\w\-\u2013/:]")
_NO_NUMBER = "no number"


_Family: TypeAlias = tuple[dict[str, list[_Written]], list[_Written], list[NumberReading], bool]
"""Tokens with the same significant digits.

Those that stand by themselves and have one reading, by the shortest way to write that; others
that stand by themselves; the readings of those that do not; and whether that is all.
"""


class AlikeTokens(ABC):
    """The tokens of one text by what they are worth; `numbers` says how others are read.

    Args:
        text: The source.
    """

    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._edges = Edges()
        self._families: dict[str, _Family] = {}

    @abstractmethod
    def _forms_of(self, token: str) -> Forms:
        """Return what a token with nothing around it may be worth, and the doubts about it."""

    @abstractmethod
    def _readings(self, filed: Filed) -> list[NumberReading]:
        """Return every reading of one token with what is around it."""

    def _doubts(self, token: str, value: Decimal) -> list[str]:
        """Return the doubt of each reading of a bare token that is worth `value`."""
        return [own or zero for number, own, zero in self._forms_of(token) if number == value]

    def find_alike(self, value: Decimal, spelled: str) -> Alike | None:
        """Return where the tokens stand that are worth `value` and have nothing around them.

        None where others must tell: where no such token is without a doubt, where a sign, a unit
        or a space may belong to one, and where there are very many.

        Args:
            value: What is looked for.
            spelled: The same in digits.
        """
        if "E" in spelled:
            return None
        digits = spelled.replace(".", "").strip("-0")
        family = self._families.get(digits) or self._family(digits)
        plain, odd, others, is_all = family
        shortest = spelled.rstrip("0").rstrip(".") if "." in spelled else spelled
        alike: Sequence[_Written] = plain.get(shortest if digits else "0", ())
        beside: Sequence[_Span] = ()
        if odd or others:
            found = self._add(alike, family, value)
            if found is None:
                return None
            alike, beside = found
        return (alike, beside) if alike and is_all else None

    def _add(self, alike: Sequence[_Written], family: _Family, value: Decimal) -> Alike | None:
        """Return these and what else of the family is worth `value`; None for more than doubts."""
        sure = [*alike]
        beside: list[_Span] = []
        _, odd, others, _ = family
        for token, starts in odd:
            doubts = self._doubts(token, value)
            if "" in doubts:
                sure.append((token, starts))
            elif doubts:
                beside += [(start, start + len(token)) for start in starts]
        for number, start, end, unit, doubt in others:
            if number == value:
                if unit or not doubt:
                    return None
                beside.append((start, end))
        beside.sort()
        return sure, beside

    def _family(self, digits: str) -> _Family:
        tokens = self._tokens
        plain: dict[str, list[_Written]] = {}
        odd: list[_Written] = []
        others: list[NumberReading] = []
        count = 0
        for token in tokens.families.get(digits, ()):
            numbers = tokens.numbers[token]
            count += len(numbers)
            bare = self._part(token, numbers, others)
            if not bare:
                continue
            if _ONE_READING.match(token):
                shortest = token.rstrip("0").rstrip(".") if "." in token else token
                plain.setdefault(shortest, []).append((token, bare))
            else:
                odd.append((token, bare))
        is_all = count <= _MOST_PLACES and digits not in tokens.cut
        family = self._families[digits] = plain, odd, others, is_all
        return family

    def _part(self, token: str, numbers: Sequence[int], others: list[NumberReading]) -> list[int]:
        """Return where a token starts that stands by itself; add its other readings to `others`."""
        tokens, is_bare = self._tokens, self._is_bare_at
        starts = tokens.starts
        bare = [starts[number] for number in numbers if is_bare[number]]
        if len(bare) == len(numbers):
            return bare
        for number in numbers:
            if is_bare[number]:
                continue
            doubt = self._doubt_before(number)
            if doubt is None:
                others += self._readings(tokens.filed(token, number))
            elif not doubt:
                bare.append(starts[number])
            elif doubt != _NO_NUMBER:
                start, end = starts[number], tokens.ends[number]
                others += [
                    _new(NumberReading, (each, start, end, "", own or doubt or zero))
                    for each, own, zero in self._forms_of(token)
                ]
        bare.sort()
        return bare

    def _doubt_before(self, number: int) -> str | None:
        """Return what `_linked` says of a token, None where there may be something behind."""
        betweens = self._tokens.betweens
        if number in self._is_open or not self._edges.after[betweens[number + 1]]:
            return None
        before = betweens[number]
        # Only that it is a digit counts of what stands before.
        return _linked(f"0{before}"[-_WINDOW:] if number else before[-_WINDOW:])

    @cached_property
    def _is_bare_at(self) -> Mapping[int, bool] | Sequence[bool]:
        """By the number of a token, whether nothing around it belongs to it."""
        betweens, edges = self._tokens.betweens, self._edges
        if len(betweens) > _MOST_PLACES:
            return _BareAt(betweens, edges, self._is_open)
        before, after = edges.before, edges.after
        is_bare = [before[left] and after[right] for left, right in pairwise(betweens)]
        for number in self._is_open:
            is_bare[number] = False
        return is_bare

    @cached_property
    def _is_open(self) -> frozenset[int]:
        """The numbers of the tokens to which more may belong than what touches them.

        One with a space in it may be made of them, or a number of several tokens; they may be
        several numbers with commas between.
        """
        tokens = self._tokens
        starts = tokens.starts
        spaced = (
            number
            for start, end in tokens.spaced
            for number in range(bisect_left(starts, start), bisect_left(starts, end))
        )
        return frozenset((*spaced, *tokens.open, *tokens.rows))


class _BareAt(dict[int, bool]):
    """The same as a list, of the tokens that are asked for: few of a long text are."""

    def __init__(self, betweens: Sequence[str], edges: Edges, is_open: frozenset[int]) -> None:
        super().__init__(dict.fromkeys(is_open, False))
        self._betweens, self._edges = betweens, edges

    def __missing__(self, number: int) -> bool:
        before, after = self._betweens[number : number + 2]
        is_bare = self[number] = self._edges.before[before] and self._edges.after[after]
        return is_bare


@lru_cache(maxsize=4096)  # lines of a table have the same before their numbers
def _linked(before: str) -> str | None:
    """Return the doubt about digits by what stands before them, "" for none.

    `_NO_NUMBER` where they are a part of something else, None where the place itself must be
    looked at: where there may be a sign, a bracket or a point, and where links may reach further
    back.
    """
    end = len(before)
    if before[-1:] in (".", ",", "") or not _END_OF_CHAIN.search(before):
        return None
    look = look_before(f"{before}0", end, plain=True)
    if look is None:
        return _NO_NUMBER
    if (
        look.negative
        or look.bracket >= 0
        or look.doubt
        or look.scale
        or look.loose >= 0
        or look.start != end
    ):
        return None
    chained = chain_doubt(f"{before}0", end, end + 1)
    return _NO_NUMBER if chained is None else chained
