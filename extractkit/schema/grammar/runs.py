"""Where a text out of the source can begin and end, so that what cannot be is known beforehand.

Neighbours: `texts` writes the terminal of all runs, `walk` asks whether there is any, and how much
room they need. A run is made of whole chunks; it begins and ends with a character that is seen. A
terminal that no text fits would stop the engine in the middle of an answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

__all__ = ["FARTHEST", "UNSEEN", "VARIANTS", "Runs"]

FARTHEST: Final = 1000
"""Characters from a beginning to the next end: before each step the engine looks for one, at a cost
that grows with the square. A word, or a text that must be longer, cannot be said."""

UNSEEN: Final = (
    r"\s\u{ad}\u{180e}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{2064}\u{2066}-\u{2069}\u{feff}"
)
"""Characters that no run begins or ends with, as the engine's expressions write them."""
VARIANTS: Final = r"\u{fe00}-\u{fe0f}"
"""Selectors of a written form, which may come last only."""


def _seen(unseen: str) -> re.Pattern[str]:
    plain = re.sub(r"\\u\{([0-9a-f]+)\}", lambda found: rf"\u{int(found[1], 16):04x}", unseen)
    return re.compile(rf"[^\x00-\x1f{plain}]")


_FIRST: Final = _seen(UNSEEN + VARIANTS)
_LAST: Final = _seen(UNSEEN)


class Runs:
    """The runs of whole chunks of one source.

    Args:
        chunks: The source, cut where a value may begin or end.
    """

    def __init__(self, chunks: Sequence[str]) -> None:
        self.chunks = tuple(chunks)
        edges = list(accumulate(map(len, self.chunks), initial=0))
        pieces = list(zip(self.chunks, edges, strict=False))
        self._starts = [at for chunk, at in pieces if chunk and _FIRST.match(chunk)]
        self._ends = [at + len(chunk) for chunk, at in pieces if chunk and _LAST.match(chunk[-1])]
        self._text = "".join(self.chunks)
        self._rooms: dict[int, int] = {}

    def has(self, low: int, high: int | None) -> bool:
        """Whether any run has `low` to `high` characters; None is no limit."""
        most = FARTHEST if high is None else min(high, FARTHEST)
        return any(needed <= most for needed in self._shortest(low))

    def most(self, low: int, high: int | None) -> int | None:
        """Return `high`, less where ends are too far away, None where it cuts nothing."""
        ahead = max(self._shortest(low), default=0)
        unended = next((at for at in self._starts if not self._has_end(at, low)), None)
        if unended is not None:
            ahead = max(ahead, len(self._text) - unended)
        if ahead > FARTHEST:
            high = FARTHEST if high is None else min(high, FARTHEST)
        return None if high is None or high >= len(self._text) else high

    def room(self, low: int) -> int:
        """Return the length with which a run of at least `low` can begin at every word."""
        if low not in self._rooms:
            self._rooms[low] = max(
                (needed for needed in self._shortest(low) if needed <= FARTHEST), default=0
            )
        return self._rooms[low]

    def cut_at(self, text: str, added: int) -> int | None:
        """Return the length that leaves `text` no room for the next word; None where it has room.

        Args:
            text: A run.
            added: A limit of decoding, which gives way to longer words.
        """
        most = max(added, self.room(0))
        at = self._text.find(text)
        while text and at >= 0:
            after = bisect_left(self._ends, at + len(text) + 1)
            if after < len(self._ends) and self._ends[after] - at > most:
                return most
            at = self._text.find(text, at + 1)
        return None

    def _has_end(self, start: int, low: int) -> bool:
        return bool(self._ends) and self._ends[-1] >= start + max(low, 1)

    def _shortest(self, low: int) -> Iterator[int]:
        """Yield of each beginning the length of the shortest run that is long enough."""
        for start in self._starts:
            if self._has_end(start, low):
                yield self._ends[bisect_left(self._ends, start + max(low, 1))] - start
