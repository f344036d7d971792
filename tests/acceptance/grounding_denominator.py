"""Which true labels stand in their text by a rule that owes nothing to the package.

    python -m tests.acceptance.grounding_denominator

prints for each set how many labels stand in their text, with a sum over which these are.

The rule: case is folded, white space and punctuation are removed, from the label and from the
text; what is left of the label is looked for in what is left of the text. The place that it comes
from must begin and end at the edge of a word: no letter or digit on both sides of an edge, and no
point or comma between two digits across it. Nothing else is normalised, and nothing of the package
is imported. Of wrong values, numbers also stand in a text that has the same number as a word of
its own, with or without commas and closing zeros (10.00, 10).
"""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from tests.acceptance.grounding_sets import SETS, Document, Label, documents

__all__ = ["has_number", "in_denominator", "places", "stands"]

_NUMBER: Final = re.compile(r"(?<![\w.,])[\d,]*\d(?:\.\d+)?(?!\w|[.,]\d)", re.ASCII)


class Reduced(NamedTuple):
    """A text without case, white space and punctuation, and where each character was."""

    text: str
    offsets: tuple[int, ...]


@lru_cache(maxsize=16)
def reduced(text: str) -> Reduced:
    """Return what the rule leaves of `text`."""
    kept: list[str] = []
    offsets: list[int] = []
    for at, char in enumerate(text):
        if not (char.isspace() or unicodedata.category(char)[0] == "P"):
            folded = char.casefold()
            kept.append(folded)
            offsets.extend([at] * len(folded))
    return Reduced("".join(kept), tuple(offsets))


def places(value: str, text: str) -> list[tuple[int, int]]:
    """Return where `value` stands in `text` by the rule, as spans of `text`."""
    wanted = reduced(value).text
    if not wanted:
        return []
    folded, offsets = reduced(text)
    found: list[tuple[int, int]] = []
    at = folded.find(wanted)
    while at >= 0:
        start, end = offsets[at], offsets[at + len(wanted) - 1] + 1
        if _is_edge(text, start) and _is_edge(text, end):
            found.append((start, end))
        at = folded.find(wanted, at + 1)
    return found


def stands(value: str | int | float, text: str) -> bool:
    """Return whether `value`, as JSON would spell it, stands in `text` by the rule."""
    return bool(places(str(value), text))


def has_number(value: str | int | float, text: str) -> bool:
    """Return whether a word of `text` is the number `value`, written in plain digits."""
    wanted = Decimal(str(value))
    found = (match.group().replace(",", "") for match in _NUMBER.finditer(text))
    return any(Decimal(number) == wanted for number in found)


def in_denominator(document: Document, label: Label) -> bool:
    """Return whether recall counts this label."""
    return stands(label.value, document.text)


def _is_edge(text: str, at: int) -> bool:
    """Whether a word can begin or end between the characters before and at `at`."""
    if not 0 < at < len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return False
    return not (_in_number(text, at - 1) or _in_number(text, at))


def _in_number(text: str, at: int) -> bool:
    return text[at] in ".," and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def main() -> int:
    """Print the denominator of each set."""
    for name in SETS:
        counted = labels = 0
        digest = hashlib.sha256()
        for document in documents(name):
            for index, label in enumerate(document.labels):
                labels += 1
                if in_denominator(document, label):
                    counted += 1
                    digest.update(f"{document.id}/{index}\n".encode())
        print(f"{name:<26} {counted:>6} of {labels:>6} labels  {digest.hexdigest()[:16]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
