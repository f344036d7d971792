"""Compares an output with the page or file that shows it, where numbers may be masked.

`‹number›` stands for one number: digits with commas, a point, a sign, an exponent. Two or more
spaces before it stand for one or more, as numbers of a column are padded to their width.
Everything else is literal, but for white space at the end of a line.
"""

from __future__ import annotations

import difflib
import re
from itertools import zip_longest

MASK = "‹number›"

_NUMBER = r"[+\-−]?(?:\d+(?:,\d{3})*|\d+)(?:\.\d+)?(?:[eE][+\-]?\d+)?"
_PADDED = re.compile(f"(?: {{2,}})?{MASK}")


def differences(shown: str, printed: str) -> str:
    """Return a diff from what is shown to what was printed; empty where they agree."""
    expected, found = _lines(shown), _lines(printed)
    if all(_agree(line, other) for line, other in zip_longest(expected, found)):
        return ""
    rest = list(found)
    for number, line in enumerate(expected):
        # A line that agrees is shown as it was printed, so that only the others differ.
        position = next((at for at, other in enumerate(rest) if _agree(line, other)), None)
        if position is not None:
            expected[number] = rest[position]
            del rest[: position + 1]
    return "\n".join(difflib.unified_diff(expected, found, "shown", "printed", lineterm=""))


def _lines(text: str) -> list[str]:
    return [line.rstrip(" ") for line in text.split("\n")]


def _agree(line: str | None, other: str | None) -> bool:
    if line is None or other is None:
        return False
    pattern, at = "", 0
    for mask in _PADDED.finditer(line):
        padding = " +" if mask[0].startswith(" ") else ""
        pattern += re.escape(line[at : mask.start()]) + padding + _NUMBER
        at = mask.end()
    return re.fullmatch(pattern + re.escape(line[at:]), other) is not None
