"""Every phrase of a text again, now by its letters and digits: where only punctuation differs.

Neighbours: `phrases` looks first, for the phrase as it is and folded; `source` asks here for what
that does not find; `boundaries` says which marks between two characters say the same. This module
never joins or parts digits, and never reads over a sign, a percent mark or a currency.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import accumulate, islice, pairwise
from typing import Final, NamedTuple

from extractkit.grounding.boundaries import Side, agree
from extractkit.grounding.normalize import Folded, fold
from extractkit.grounding.words import stands_alone

__all__ = ["Reduced", "WordingIndex", "reduce"]

_MOST_PLACES: Final = 1000
# Where the same letters are parted in another sense that often, nobody means a phrase.
_MOST_TRIED: Final = 20_000

# What may be left out or differ; other symbols (%, &, +, $) say something and are words.
_PUNCTUATION: Final = (
    r"\s!\"'(),\-./:;?\[\]_{}*\\\u00a1\u00a7\u00b6\u00b7\u00bf\u2016\u2020-\u2022\u2027"
    r"\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb"
)
_WORD: Final = re.compile(rf"[^\W_]+|[^\w{_PUNCTUATION}]")
# Two ways to write the same word, in a name above all; the longer becomes the shorter.
_SAME: Final = {
    "&": "and",
    "incorporated": "inc",
    "corporation": "corp",
    "limited": "ltd",
    "proprietary": "pty",
    "berhad": "bhd",
    "sendirian": "sdn",
}
_MOST_NAMES: Final = 4
_REACH: Final = 8
_MINUS: Final = re.compile(r"[\s(]-\Z")
_IN_BRACKETS: Final = re.compile(r"\d[\d,]*[.,]\d+\)")


class Reduced(NamedTuple):
    """A folded text without punctuation.

    Attributes:
        text: Its words, one after the other.
        offsets: Where each word starts in `text`, and one past the last.
        spans: Where each word stands in the folded text.
        folded: That text.
    """

    text: str
    offsets: list[int]
    spans: list[tuple[int, int]]
    folded: str

    def sides(self, first: int, last: int) -> dict[int, Side]:
        """Return what stands between the words from `first` to `last`, by offset from the first.

        Two words may touch (40% is two): nothing stands between them then.
        """
        start = self.offsets[first]
        return {
            self.offsets[index + 1] - start: Side(
                self.folded[here[1] : there[0]],
                self.folded[slice(*here)],
                self.folded[slice(*there)],
                _is_negative(self.folded, here[1], there[0]),
            )
            for index, (here, there) in enumerate(pairwise(self.spans[first:last]), first)
        }


def reduce(folded: str) -> Reduced:
    """Return a folded text without its punctuation: linear in its length."""
    spans = [match.span() for match in _WORD.finditer(folded)]
    words = [folded[start:end] for start, end in spans]
    if not _SAME.keys().isdisjoint(words):
        words = [_SAME.get(word, word) for word in words]
    offsets = list(accumulate(map(len, words), initial=0))
    return Reduced("".join(words), offsets, spans, folded)


def _is_negative(folded: str, start: int, end: int) -> bool:
    """Whether a mark before a number ends in a minus sign, or in an amount's opening bracket."""
    if not folded[end].isdecimal() or end == start:
        return False
    if folded[end - 1] == "(":
        return _IN_BRACKETS.match(folded, end) is not None
    return _MINUS.search(folded, start, end) is not None


class WordingIndex:
    """The words of one text, without what stands between them.

    Args:
        text: The source.
        folded: The same, folded.
    """

    def __init__(self, text: str, folded: Folded) -> None:
        self._text = text
        self._folded = folded

    def find(self, phrase: str) -> list[tuple[int, int]]:
        """Return where the words of `phrase` stand, whatever the punctuation between them.

        Spans count characters of the source, in its order; a thousand at most.
        """
        wanted = reduce(fold(phrase).text)
        if not any(map(str.isalnum, wanted.text)):
            return []
        count = len(wanted.spans)
        sides: Mapping[int, Side] | None = None
        before, after = _around(wanted)
        found: list[tuple[int, int]] = []
        for first, last in islice(self._whole_words(wanted.text), _MOST_TRIED):
            if sides is None:
                sides = wanted.sides(0, count)
            if len(found) == _MOST_PLACES:
                break
            if self._is_signed(first, before, wanted.text) and agree(
                wanted.text, sides, self._reduced.sides(first, last), words=count
            ):
                self._keep(found, first, last, (before, after))
        return found

    def find_turned(self, phrase: str) -> list[tuple[int, int]]:
        """Return where a name of `phrase` stands in the other order: Doe, John for John Doe.

        Two to four words without digits; exactly one of both has a comma between its two parts.
        """
        wanted = reduce(fold(phrase).text)
        words = [wanted.folded[start:end] for start, end in wanted.spans]
        if not 1 < len(words) <= _MOST_NAMES or not all(map(str.isalpha, words)):
            return []
        marks = [wanted.folded[here[1] : there[0]] for here, there in pairwise(wanted.spans)]
        commas = [index for index, mark in enumerate(marks, 1) if mark.strip() == ","]
        if len(commas) > 1:
            return []
        found: list[tuple[int, int]] = []
        for turn in commas or range(1, len(words)):
            self._find_turn(words, turn, "" if commas else ",", found)
        return sorted(found)

    def _find_turn(
        self, words: list[str], turn: int, comma: str, found: list[tuple[int, int]]
    ) -> None:
        """Look for the words from `turn` on, then a comma or only a space, then the others."""
        turned = words[turn:] + words[:turn]
        count = len(words)
        spans, folded = self._reduced.spans, self._reduced.folded
        for first, last in self._whole_words("".join(turned)):
            if last - first != count:
                continue
            if [folded[slice(*span)] for span in spans[first:last]] != turned:
                continue
            joint = first + count - turn
            mark = folded[spans[joint - 1][1] : spans[joint][0]].strip()
            if mark == comma and not (comma and self._is_listed(first)):
                self._keep(found, first, last, ("", ""))

    def _is_listed(self, first: int) -> bool:
        """Whether a comma on the same line stands before a word: a list then, and no name."""
        start, end = self._reduced.spans[first]
        span = self._folded.span(start, end)
        return span is not None and self._text[: span[0]][-_REACH:].rstrip(" ").endswith(",")

    def _keep(
        self, found: list[tuple[int, int]], first: int, last: int, around: tuple[str, str]
    ) -> None:
        """Add the place of these words, with the punctuation around it that the phrase has too."""
        spans, folded = self._reduced.spans, self._reduced.folded
        start, end = spans[first][0], spans[last - 1][1]
        before, after = around
        while before and start and folded[start - 1] == before[-1]:
            start, before = start - 1, before[:-1]
        while after and folded[end : end + 1] == after[0]:
            end, after = end + 1, after[1:]
        span = self._folded.span(start, end)
        if span is not None and stands_alone(self._text, *span):
            found.append(span)

    @cached_property
    def _reduced(self) -> Reduced:
        return reduce(self._folded.text)

    def _whole_words(self, wanted: str) -> Iterator[tuple[int, int]]:
        """Yield the numbers of the first word and of the one past the last, where `wanted` is."""
        offsets, length = self._reduced.offsets, len(wanted)
        search = self._reduced.text.find
        at = search(wanted)
        while at >= 0:
            first = bisect_left(offsets, at)
            if offsets[first] == at:
                last = bisect_left(offsets, at + length, first)
                if offsets[last] == at + length:
                    yield first, last
                first += 1
            at = search(wanted, offsets[first])  # the next word; what is inside of one is no match

    def _is_signed(self, first: int, before: str, wanted: str) -> bool:
        """Whether a minus sign before the digits that begin a phrase is also in the text."""
        if before[-1:] != "-" or not wanted[0].isdecimal():
            return True
        start = self._reduced.spans[first][0]
        return self._reduced.folded[max(0, start - 1) : start] == "-"


def _around(wanted: Reduced) -> tuple[str, str]:
    """Return the punctuation before the first and after the last word."""
    return wanted.folded[: wanted.spans[0][0]].strip(), wanted.folded[wanted.spans[-1][1] :].strip()
