"""A text as dates and times are read: in plain characters, with the way back to the source's own.

Neighbours: `dates` and `times` read what is made here and give back offsets of the source. Width,
hyphens of every kind, accents that stand apart, characters without width and words that a line
cuts in two say the same as plain ones; nothing else is changed.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

__all__ = ["Legible", "legible"]

_WIDE: Final = re.compile("[\uff01-\uff5e\u2010\u2011\u2212\u3000]")
_NARROW: Final[dict[int, int | str]] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0x2010, 0x2011, 0x2212), "-"),
    0x3000: " ",
}
_NO_WIDTH: Final = "\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_WIDTHLESS: Final = f"[{_NO_WIDTH}]"
_ODD: Final = re.compile(f"[{_NO_WIDTH}\u0300-\u036f\u1100-\u11ff]")  # quick to search for
_CUT: Final = re.compile(r"-(?<=[a-z]-)\r?\n(?=[a-z])")
# A soft hyphen takes the end of its line with it; Hangul may come in its letters. Between a word
# and digits, what has no width keeps them apart.
_APART: Final = re.compile(
    r"(?<=[^\W\d_])\u00ad\r?\n(?=[^\W\d_])"
    rf"|(?<=\d){_WIDTHLESS}+(?=\d)|(?<=[^\W\d_]){_WIDTHLESS}+(?=[^\W\d_])"
    rf"|(?<!\w){_WIDTHLESS}+|{_WIDTHLESS}+(?!\w)"
    r"|(?<=[^\W\d_])[\u0300-\u036f]+|[\u1100-\u11ff]+|(?<=[a-z])-\r?\n(?=[a-z])"
)


class Legible(NamedTuple):
    """A text in plain characters.

    Attributes:
        text: What is read.
        starts: Where each of its characters begins in the source; None where both are the same.
        ends: Where each of them ends.
    """

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a span stands in the source."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def legible(text: str) -> Legible:
    """Return `text` in plain characters; itself, at little cost, where it has no others."""
    is_cut = ("-\n" in text or "-\r\n" in text) and _CUT.search(text)
    if text.isascii():
        return _joined(text) if is_cut else Legible(text)
    if _WIDE.search(text):
        text = text.translate(_NARROW)
    return _joined(text) if is_cut or _ODD.search(text) else Legible(text)


def _joined(text: str) -> Legible:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in _APART.finditer(text):
        start, end = match.span()
        pieces.append(text[done:start])
        starts += range(done, start)
        ends += range(done + 1, start + 1)
        composed = unicodedata.normalize("NFC", match.group()) if text[start] >= "\u1100" else ""
        if composed and "\u1100" <= text[start] <= "\u11ff":
            pieces.append(composed)
            starts += [start] * len(composed)
            ends += [end] * len(composed)
        done = end
    pieces.append(text[done:])
    starts += range(done, len(text))
    ends += range(done + 1, len(text) + 1)
    return Legible("".join(pieces), starts, ends)
