"""Where digits stand in a text: the few places at which a date can begin.

Neighbours: `dates` tries its patterns only there. This module reads no value.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

__all__ = ["DigitRuns"]

_RUN = re.compile(r"\d+")
_MARKS = "-/."


class DigitRuns:
    """The runs of digits of one text, each as long as it can be."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [match.span() for match in _RUN.finditer(text)]

    def of_length(self, length: int) -> list[int]:
        """Return where the runs of `length` digits start."""
        return [start for start, end in self._spans if end - start == length]

    def before_marks(self) -> list[int]:
        """Return where a run of at most four digits starts that two others follow closely.

        Between each two of them stands a mark with at most one character on either side.
        """
        spans, text = self._spans, self._text
        return [
            start
            for at, (start, end) in enumerate(spans[:-2])
            if end - start <= 4
            and spans[at + 1][0] - end <= 3
            and spans[at + 2][0] - spans[at + 1][1] <= 3
            and (text[end] in _MARKS or text[end + 1] in _MARKS)
        ]

    def beside(self, offsets: Iterable[int]) -> tuple[list[int], list[int]]:
        """Return where the last run before each offset starts, and the first one behind it."""
        starts = [start for start, _ in self._spans]
        at = sorted({bisect_right(starts, offset) for offset in offsets})
        before = [starts[index - 1] for index in at if index]
        return before, [starts[index] for index in at if index < len(starts)]
