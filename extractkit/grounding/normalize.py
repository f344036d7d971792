"""Text folding that remembers where every folded character came from.

Neighbours: `phrases` searches folded text; `words` judges where a match may begin and end. This
module never changes what a text says: two texts fold alike only where they differ in
presentation (case, white space, quotes, dashes, ligatures, width, composed accents, characters
without width).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["IGNORABLE", "Folded", "find_all", "fold", "fold_phrase", "joins_previous"]

IGNORABLE = "\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
"""Characters without width, as the inside of a regular expression's character class."""

_SINGLE_QUOTES = "`\u00b4\u02bc\u2018\u2019\u201a\u201b\u2032\u2039\u203a"
_DOUBLE_QUOTES = "\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\u301d\u301e"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys(_SINGLE_QUOTES, "'"),
        **dict.fromkeys(_DOUBLE_QUOTES, '"'),
        **dict.fromkeys(_DASHES, "-"),
        "\u2044": "/",
    }
)

# What folding makes of ASCII, but for runs of white space.
_ASCII = {
    code: " " if chr(code).isspace() else chr(code).lower().translate(_TYPOGRAPHY)
    for code in range(128)
}
_BLANKS = re.compile("  +")

# Compatibility folding would glue these to their neighbour: 10² is not 102, Acme™ not Acmetm.
_KEPT = "\u2120\u2122"

# Letters, digits and punctuation that nearly always fold one to one, single spaces among them.
_VISIBLE = r"!-~\w\u2010\u2012-\u2015\u2018-\u201f\u3001-\u3003\u3008-\u3011"
_PIECE = re.compile(
    rf"(?P<run>[{_VISIBLE}]+(?: [{_VISIBLE}]+)*)|(?P<blank>[\s{IGNORABLE}]+)|(?P<other>.)",
    re.DOTALL,
)
# The same where a run does not: the parts that do, and single characters.
_PART = re.compile(r"[ -~]+|[^\W\d]+|.", re.DOTALL)
_LINE_BREAK_HYPHEN = re.compile(r"\u00ad\s*\n")
_REFERENCE = re.compile(r"\s*\[\d{1,3}(?:\s?[,\u2013-]\s?\d{1,3})*\]")
_ONLY_IGNORABLE = re.compile(rf"[{IGNORABLE}]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A folded text with the way back to the characters that it came from.

    Attributes:
        text: The folded text.
        starts: Offset in `text` at which each piece starts, ascending.
        pieces: For each piece: first source character, one past the last, and whether source and
            folded characters correspond one to one.
    """

    text: str
    starts: tuple[int, ...]
    pieces: tuple[tuple[int, int, bool], ...]

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the source characters of `text[start:end]`, or None where they cannot be cut out.

        They cannot where the match begins or ends inside of what one character became (the "i"
        of a ligature). Costs O(log n).
        """
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        first_start, _, first_linear = self.pieces[first]
        last_start, last_end, last_linear = self.pieces[last]
        if not first_linear and start != self.starts[first]:
            return None
        piece_end = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.text)
        if not last_linear and end != piece_end:
            return None
        source_start = first_start + (start - self.starts[first] if first_linear else 0)
        source_end = last_start + end - self.starts[last] if last_linear else last_end
        return source_start, source_end


def fold(text: str, *, skip_references: bool = False) -> Folded:
    """Return `text` folded: linear in its length.

    Args:
        text: Any text.
        skip_references: Leave out reference marks such as "[3]" with the space before them.
    """
    if text.isascii() and not skip_references:
        return _fold_ascii(text)
    folder = _Folder(text)
    kept_from = 0
    if skip_references:
        for mark in _REFERENCE.finditer(text):
            folder.take(kept_from, mark.start())
            kept_from = mark.end()
    folder.take(kept_from, len(text))
    return Folded(
        text="".join(folder.parts), starts=tuple(folder.starts), pieces=tuple(folder.pieces)
    )


def fold_phrase(text: str) -> str:
    """Return `text` folded and without spaces around it."""
    if text.isascii():
        return " ".join(text.lower().replace("`", "'").split())
    return fold(text).text.strip(" ")


def _fold_ascii(text: str) -> Folded:
    """Fold a text in which only runs of white space do not fold one to one."""
    folded = text.translate(_ASCII)
    starts: list[int] = []
    pieces: list[tuple[int, int, bool]] = []
    at = removed = 0
    for blank in _BLANKS.finditer(folded) if "  " in folded else ():
        start, stop = blank.span()
        if start > at:
            starts.append(at - removed)
            pieces.append((at, start, True))
        starts.append(start - removed)
        pieces.append((start, stop, False))
        at = stop
        removed += stop - start - 1
    if len(folded) > at:
        starts.append(at - removed)
        pieces.append((at, len(folded), True))
    short = _BLANKS.sub(" ", folded) if removed else folded
    return Folded(text=short, starts=tuple(starts), pieces=tuple(pieces))


def find_all(haystack: str, needle: str) -> Iterator[int]:
    """Yield each offset at which `needle` stands in `haystack`, overlapping ones included."""
    at = haystack.find(needle)
    while at >= 0:
        yield at
        at = haystack.find(needle, at + 1)


@lru_cache(maxsize=4096)
def joins_previous(char: str) -> bool:
    """Return whether `char` makes one written character together with the one before it.

    True for combining marks, for the vowels and finals of decomposed Hangul, and for the
    voicing marks of half-width kana; false for variation selectors.
    """
    return (
        (unicodedata.category(char)[0] == "M" and not _ONLY_IGNORABLE.match(char))
        or "\u1160" <= char <= "\u11ff"
        or "\uffc2" <= char <= "\uffdc"
        or char in "\uff9e\uff9f"
    )


# Unicode's stream-safe text has no more marks in a row; normalising a row costs its square.
_LONGEST_CLUSTER = 31


class _Folder:
    """Collects folded pieces of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.pieces: list[tuple[int, int, bool]] = []
        self._length = 0

    def take(self, start: int, end: int) -> None:
        """Fold the characters from `start` to `end`."""
        while start < end:
            match = _PIECE.match(self.text, start, end)
            if match is None:  # pragma: no cover - the last alternative takes any character
                return
            if match.lastgroup == "blank":
                self._blank(start, match.end())
                start = match.end()
            else:
                start = self._run(start, match.end(), end)

    def _run(self, start: int, stop: int, end: int) -> int:
        """Fold a run of visible characters; return where the next one starts."""
        if stop < end and self.text[stop] > "\x7f" and joins_previous(self.text[stop]):
            stop -= 1  # the last character takes the mark that follows
        if self._linear(start, stop):
            return stop
        at = start
        while at < stop:
            match = _PART.match(self.text, at, stop)
            if match and self._linear(at, match.end()):
                at = match.end()
                continue
            part_end = match.end() if match else stop
            while at < part_end:
                at = self._cluster(at, end)
        return self._cluster(at, end) if at == start else at

    def _linear(self, start: int, stop: int) -> bool:
        """Fold a run if its characters fold one by one; return whether they do."""
        run = self.text[start:stop]
        folded = run.lower() if run.isascii() else run.casefold()
        one_by_one = run.isascii() or (
            len(folded) == len(run) and _is_settled(run) and _is_settled(folded)
        )
        if one_by_one and run:
            self._add(folded.translate(_TYPOGRAPHY), start, stop, linear=True)
        return one_by_one and bool(run)

    def _cluster(self, start: int, end: int) -> int:
        stop = start + 1
        end = min(end, start + _LONGEST_CLUSTER)
        while stop < end and self.text[stop] > "\x7f" and joins_previous(self.text[stop]):
            stop += 1
        self._add(_fold_cluster(self.text[start:stop]), start, stop, linear=False)
        return stop

    def _blank(self, start: int, stop: int) -> None:
        run = self.text[start:stop]
        if not _ONLY_IGNORABLE.match(run) and not _LINE_BREAK_HYPHEN.match(run):
            self._add(" ", start, stop, linear=False)

    def _add(self, folded: str, start: int, stop: int, *, linear: bool) -> None:
        self.parts.append(folded)
        self.starts.append(self._length)
        self.pieces.append((start, stop, linear))
        self._length += len(folded)


def _is_settled(run: str) -> bool:
    return unicodedata.is_normalized("NFKC", run)


@lru_cache(maxsize=16384)
def _fold_cluster(cluster: str) -> str:
    if unicodedata.category(cluster[0]) == "No" or cluster[0] in _KEPT:
        return unicodedata.normalize("NFC", cluster)
    # Before composing: the acute accent that stands alone is a quote, not a space with a mark.
    plain = unicodedata.normalize("NFKC", cluster.translate(_TYPOGRAPHY))
    folded = unicodedata.normalize("NFKC", plain.casefold()).translate(_TYPOGRAPHY)
    return folded.replace("i\u0307", "i")  # what casefolding makes of the Turkish capital
