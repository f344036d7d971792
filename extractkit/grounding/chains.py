"""Whether digits are linked to others, as in a range, a date or an identifier.

Neighbours: `numbers` and `alike` ask here. This module looks at links only: hyphens, slashes and
colons.
"""

from __future__ import annotations

import re

__all__ = ["ascends", "chain_doubt", "is_in_chain"]

_WINDOW = 24
_DASHES = "-\u2010-\u2013"
_LINKS = ("-", "\u2010", "\u2011", "\u2012", "\u2013", "/", ":")
_INNER_LINKS = _LINKS[:-1]
_LEFT_CHAIN = re.compile(rf"(?:[^\W_]+[{_DASHES}/:])+\Z")
_RIGHT_CHAIN = re.compile(rf"(?:[{_DASHES}/:][^\W_]+)+")
_LINK = re.compile(rf"[{_DASHES}/:]")


def chain_doubt(text: str, start: int, end: int) -> str | None:
    """Return why digits that are linked to others are doubtful, "" if not; None if no number.

    "10-20" is a range and "48-hour" a compound of words: no doubt. "3-1" or "24/7" or "GPT-4" may
    be something else. Digits among three or more linked parts (a date, a telephone number, an
    identifier) are no number.
    """
    has_left, has_right = text[start - 1 : start] in _LINKS, text[end : end + 1] in _LINKS
    if not (has_left or has_right):
        return ""
    left = _LEFT_CHAIN.search(text, max(0, start - _WINDOW), start) if has_left else None
    right = _RIGHT_CHAIN.match(text, end, min(len(text), end + _WINDOW)) if has_right else None
    before = _parts(left.group()) if left else []
    after = _parts(right.group()) if right else []
    if left and left.group()[-1] == ":" and not before[-1].isdecimal():
        before = []
    if not any(part[-1:].isdecimal() or part[:1].isdecimal() for part in after):
        after = []
    if len(before) + len(after) > 1:
        return None
    if not before and not after:
        return ""
    link = left.group()[-1] if left and before else right.group()[0] if right else ""
    pair = (before[0], text[start:end]) if before else (text[start:end], after[0])
    if link not in "/:" and ascends(*pair):
        return ""
    return f"the digits are linked to {(before or after)[0]!r}"


def is_in_chain(text: str, start: int, end: int) -> bool:
    """Return whether digits stand between two others, linked to both: as `chain_doubt`, quickly.

    False may mean that only `chain_doubt` can tell; where it is true, no sign is near.
    """
    return (
        text[start - 1 : start] in _INNER_LINKS
        and text[end : end + 1] in _INNER_LINKS
        and start > 1
        and text[start - 2].isdecimal()
        and text[end + 1 : end + 2].isdecimal()
    )


def ascends(low: str, high: str) -> bool:
    """Return whether two whole numbers ascend, as the ends of a range do."""
    return (
        low.isdecimal()
        and high.isdecimal()
        and (len(low), low) < (len(high), high)
        and not (len(low) > 1 and low.startswith("0"))
    )


def _parts(chain: str) -> list[str]:
    return [part for part in _LINK.split(chain) if part]
