"""The few places of a text at which a date can begin.

Neighbours: `dates` tries its patterns only there. This module reads no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["beside", "compact_starts", "may_be_numeric", "numeric_starts"]

# A search is quick only for patterns that begin with a character of their own.
_NUMERIC = re.compile(r"\d(?=\s?[-/.\u2013]\s?\d\d?\s?[-/.\u2013]\s?\d)")
_EIGHT = re.compile(r"\d{8}(?!\d)")
_RUN = re.compile(r"\d+")
# Digits as 0, the marks of a date as -, without white space: quick to make of ASCII.
_SHAPE: Final = {
    **dict.fromkeys(range(ord("0"), ord("9") + 1), "0"),
    **dict.fromkeys(map(ord, "-/."), "-"),
    **{code: None for code in range(128) if chr(code).isspace()},
}
_LAST = re.compile(r".*(\d)", re.DOTALL)


def may_be_numeric(text: str) -> tuple[bool, bool]:
    """Return whether `numeric_starts` and `compact_starts` may yield anything."""
    if not text.isascii():
        return True, True
    shape = text.translate(_SHAPE)
    return "0-0-0" in shape or "0-00-0" in shape, "00000000" in shape


def numeric_starts(text: str) -> Iterator[int]:
    """Yield where at most four digits begin that two other groups follow behind marks."""
    for match in _NUMERIC.finditer(text):
        start = _start_of_run(text, match.start())
        if start is not None:
            yield start


def compact_starts(text: str) -> Iterator[int]:
    """Yield where eight digits stand that end a run of them."""
    return (match.start() for match in _EIGHT.finditer(text))


def beside(text: str, offsets: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return where digits begin that stand next before an offset, and next after it.

    Runs before an offset are left out where they are longer than a year.
    """
    before: list[int] = []
    after: list[int] = []
    seen = done = 0  # up to `done`, the next digits are known
    for offset in sorted(offsets):
        if offset < done:
            continue
        last = _LAST.match(text, seen, offset)
        start = None if last is None else _start_of_run(text, last.start(1))
        if start is not None:
            before.append(start)
        following = _RUN.search(text, offset)
        if following is None:
            break
        after.append(following.start())
        seen, done = following.start(), following.end()
    return before, after


def _start_of_run(text: str, last: int) -> int | None:
    """Return where the digits begin that end at `last`; None for more than four."""
    start = last
    while start and last - start < 4 and text[start - 1].isdecimal():
        start -= 1
    return start if last - start < 4 else None
