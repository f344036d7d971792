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

from extractkit.grounding.normalize import Folded, find_all, fold, fold_phrase
from extractkit.grounding.words import UNSPACED, stands_alone

__all__ = ["PhraseIndex"]

# Of a phrase that stands more often than this, the first places are as good as any.
_MOST_PLACES = 1000

# A search through a short text is cheaper than an index of it, unless most of what it finds is
# inside of words.
_LONG = 16_384
_MOST_INSIDE = 64

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
        self._is_ascii = text.isascii()
        self._skip_references = skip_references

    def find(self, needle: str) -> list[tuple[int, int]]:
        """Return where the folded `needle` stands as whole words, in the order of the text.

        Spans count characters of the source. Costs as much as the rarest word of the needle
        occurs; for needles without a word, a search through the text.
        """
        near = None if self._skip_references else self._search(needle)
        if near is not None:
            return near
        spans = (self.folded.span(at, at + len(needle)) for at in self._offsets(needle))
        whole = (span for span in spans if span is not None and stands_alone(self._text, *span))
        return list(islice(whole, _MOST_PLACES))

    def find_as_is(self, phrase: str) -> list[int] | None:
        """Return where `phrase` starts as whole words, letter for letter.

        None where it does not, and where `find` must tell: beyond ASCII, and where the phrase may
        stand very often.

        Args:
            phrase: Not empty, and without spaces around it.
        """
        text = self._text
        if not (self._is_ascii and phrase.isascii()):
            return None
        # At most every second character begins a word.
        few = 2 * _MOST_PLACES if phrase[0].isalnum() else _MOST_PLACES
        if len(text) > few and self._may_be_frequent(phrase):
            return None
        search, length, inside = text.find, len(phrase), 0
        may_go_on = phrase[-1].isalnum()
        starts: list[int] = []
        at = search(phrase)
        while at >= 0:
            end = at + length
            after = text[end : end + 1]
            if (after == " " and at and text[at - 1] == " ") or (
                not (may_go_on and after.isalnum()) and stands_alone(text, at, end)
            ):
                starts.append(at)
            elif (inside := inside + 1) > _MOST_INSIDE:
                return None
            at = search(phrase, at + 1)
        return starts or None

    def _may_be_frequent(self, phrase: str) -> bool:
        """Whether a phrase in ASCII may, once folded, stand at more places than are looked at."""
        if len(self._text) > _LONG:
            return True
        word = fold_phrase(phrase).partition(" ")[0]
        return self._lowered.count(word) * len(word) > _MOST_PLACES

    @property
    def is_plain(self) -> bool:
        """Whether the text is ASCII without any mark that could be a reference."""
        return self._is_ascii and "[" not in self._text

    def has_words(self, needle: str) -> bool:
        """Return whether each word of `needle` stands somewhere in the text."""
        return all(match.group() in self._runs for match in _RUN.finditer(needle))

    def _search(self, needle: str) -> list[tuple[int, int]] | None:
        """Return the same by a search through the text, or None where the index must tell.

        It must beside characters of which the edges of words depend, and where the needle
        stands often inside of words.
        """
        if not needle.isascii() or len(self._text) > _LONG:
            return None
        folded, length, inside = self.folded, len(needle), 0
        text = folded.text
        search, is_ascii = text.find, self._is_ascii
        is_same = is_ascii and len(folded.starts) == 1
        spans: list[tuple[int, int]] = []
        at = search(needle)
        while at >= 0:
            if is_same and at and text[at - 1] == " " == text[at + length : at + length + 1]:
                spans.append((at, at + length))
                if len(spans) == _MOST_PLACES:
                    break
                at = search(needle, at + 1)
                continue
            span = (at, at + length) if is_same else folded.span(at, at + length)
            if span is None or not (is_ascii or self._is_ascii_at(span, at, needle)):
                return None
            if stands_alone(self._text, *span):
                spans.append(span)
                if len(spans) == _MOST_PLACES:
                    break
            elif (inside := inside + 1) > _MOST_INSIDE:
                return None
            at = search(needle, at + 1)
        return spans

    def _is_ascii_at(self, span: tuple[int, int], at: int, needle: str) -> bool:
        """Whether text and folded text are the same ASCII characters at both edges of a match."""
        start, end = span
        own = self._text[max(0, start - 1) : start + 1], self._text[end - 1 : end + 1]
        folded, last = self.folded.text, at + len(needle)
        theirs = folded[max(0, at - 1) : at + 1], folded[last - 1 : last + 1]
        return all(map(str.isascii, own)) and tuple(fold(each).text for each in own) == theirs

    @cached_property
    def _lowered(self) -> str:
        return fold_phrase(self._text)

    @cached_property
    def folded(self) -> Folded:
        """The text, folded."""
        return fold(self._text, skip_references=self._skip_references)

    @cached_property
    def _runs(self) -> defaultdict[str, list[int]]:
        """Offsets in the folded text, by word."""
        runs: defaultdict[str, list[int]] = defaultdict(list)
        for match in _RUN.finditer(self.folded.text):
            runs[match.group()].append(match.start())
        return runs

    def _offsets(self, needle: str) -> Iterator[int]:
        folded = self.folded.text
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
