"""Every phrase of a text, found by its rarest word.

Neighbours: `normalize` folds the text, `words` judges the edges of a match, `source` asks for
strings. This module compares characters only; it knows nothing of numbers and dates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from extractkit.grounding.normalize import Folded, find_all, fold
from extractkit.grounding.words import UNSPACED, stands_alone

__all__ = ["PhraseIndex"]

# Of a phrase that stands more often than this, the first places are as good as any.
_MOST_PLACES = 1000

# Letters of one word, or digits of one number; raised digits and fractions belong to neither.
_RUN = re.compile(
    rf"[^\W\d_{UNSPACED}\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2080-\u2089\u2150-\u218b"
    r"\u2460-\u249b\u24ea-\u24ff\u2776-\u2793]+|\d+"
)


class PhraseIndex:
    """The phrases of one text after folding.

    Args:
        text: The source.
        skip_references: Read over reference marks such as "[3]".
    """

    def __init__(self, text: str, *, skip_references: bool = False) -> None:
        self._text = text
        self._skip_references = skip_references

    def find(self, needle: str) -> list[tuple[int, int]]:
        """Return where the folded `needle` stands as whole words, in the order of the text.

        Spans count characters of the source. Costs as much as the rarest word of the needle
        occurs; for needles without a word, a search through the text.
        """
        spans = (self._folded.span(at, at + len(needle)) for at in self._offsets(needle))
        whole = (span for span in spans if span is not None and stands_alone(self._text, *span))
        return list(islice(whole, _MOST_PLACES))

    def has_words(self, needle: str) -> bool:
        """Return whether each word of `needle` stands somewhere in the text."""
        return all(match.group() in self._runs for match in _RUN.finditer(needle))

    @cached_property
    def _folded(self) -> Folded:
        return fold(self._text, skip_references=self._skip_references)

    @cached_property
    def _runs(self) -> defaultdict[str, list[int]]:
        """Offsets in the folded text, by word."""
        runs: defaultdict[str, list[int]] = defaultdict(list)
        for match in _RUN.finditer(self._folded.text):
            runs[match.group()].append(match.start())
        return runs

    def _offsets(self, needle: str) -> Iterator[int]:
        folded = self._folded.text
        # The index pays only where many needles are looked for.
        if self._skip_references or not _RUN.search(needle):
            yield from find_all(folded, needle)
            return
        if not self.has_words(needle):
            return
        rarest = min(_RUN.finditer(needle), key=lambda match: len(self._runs[match.group()]))
        for at in self._runs[rarest.group()]:
            start = at - rarest.start()
            if start >= 0 and folded.startswith(needle, start):
                yield start
