"""Every phrase of a text once more, now with a few letters changed: only where it is asked for.

Neighbours: `source` asks here last, with Grounding(fuzzy=True); `wording` cuts texts into words.
A near match has the same number of words; words of up to three letters and words with a digit
are the same, of the others few letters differ. This module never accepts another number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from extractkit.grounding.normalize import Folded, fold
from extractkit.grounding.wording import reduce
from extractkit.grounding.words import stands_alone

__all__ = ["NearIndex"]

_MOST_PLACES: Final = 1000
_LETTERS_PER_EDIT: Final = 8
_SHORT: Final = 4
_LONG: Final = 8


class NearIndex:
    """The words of one text, for a search that bears misspellings.

    Args:
        text: The source.
        folded: The same, folded.
    """

    def __init__(self, text: str, folded: Folded) -> None:
        self._text = text
        self._folded = folded
        self._spans = reduce(folded.text).spans

    def find(self, phrase: str) -> list[tuple[int, int]]:
        """Return where something nearly like `phrase` stands: the nearest only, in text order.

        Spans count characters of the source. Each word differs by one letter at most, by two from
        eight letters on, and all together by one in eight letters.
        """
        wanted = reduce(fold(phrase).text)
        words = [wanted.folded[start:end] for start, end in wanted.spans]
        most = sum(map(len, words)) // _LETTERS_PER_EDIT or 1
        alike = [self._alike(word) for word in words]
        if not words or not all(alike):
            return []
        rarest = min(range(len(words)), key=lambda index: self._count(alike[index]))
        best, found = most, list[tuple[int, int]]()
        for at in self._places(alike[rarest]):
            edits = self._edits(alike, at - rarest)
            if edits is None or edits > best:
                continue
            first, last = at - rarest, at - rarest + len(words) - 1
            span = self._folded.span(self._spans[first][0], self._spans[last][1])
            if span is None or not stands_alone(self._text, *span):
                continue
            if edits < best:
                best, found = edits, []
            found.append(span)
        return found[:_MOST_PLACES]

    @cached_property
    def _words(self) -> list[str]:
        return [self._folded.text[start:end] for start, end in self._spans]

    @cached_property
    def _known(self) -> defaultdict[str, list[int]]:
        known: defaultdict[str, list[int]] = defaultdict(list)
        for index, word in enumerate(self._words):
            known[word].append(index)
        return known

    @cached_property
    def _by_length(self) -> defaultdict[int, list[str]]:
        lengths: defaultdict[int, list[str]] = defaultdict(list)
        for word in self._known:
            if word.isalpha():
                lengths[len(word)].append(word)
        return lengths

    def _alike(self, word: str) -> dict[str, int]:
        """Return the words of the text that may stand for `word`, with what they differ by."""
        if len(word) < _SHORT or not word.isalpha():
            return {word: 0} if word in self._known else {}
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import extract

        most = 1 if len(word) < _LONG else 2
        near = [
            each
            for length in range(max(_SHORT, len(word) - most), len(word) + most + 1)
            for each in self._by_length[length]
        ]
        found = extract(word, near, scorer=Levenshtein.distance, score_cutoff=most, limit=None)
        return {each: int(edits) for each, edits, _ in found}

    def _count(self, alike: dict[str, int]) -> int:
        return sum(len(self._known[word]) for word in alike)

    def _places(self, alike: dict[str, int]) -> list[int]:
        return sorted(index for word in alike for index in self._known[word])

    def _edits(self, alike: Sequence[dict[str, int]], first: int) -> int | None:
        """Return in how many letters the words from `first` on differ; None for other words."""
        window = self._words[max(0, first) : first + len(alike)]
        if first < 0 or len(window) < len(alike):
            return None
        edits = 0
        for own, word in zip(alike, window, strict=True):
            if word not in own:
                return None
            edits += own[word]
        return edits
