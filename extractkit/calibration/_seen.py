"""Which pairs a policy was fitted on, in few bytes: so that it is not reported on the same ones.

Neighbours: `_abstention` keeps what is made here. A pair that came twice says nothing (a share of
five answers is 0.6 again and again), so that only those that came once are kept; how often others
came twice says how often further pairs are like one of them by chance (Good and Turing).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from extractkit.calibration._pairs import Pairs

__all__ = ["Overlap", "digest_of", "is_written", "overlap", "seen_in"]

_MOST: Final = 1000
"""As many marks are kept at most, the lowest ones: those of further pairs are then comparable."""
_SIZE: Final = 8
"""Hexadecimal digits of a mark."""
_WRITTEN: Final = re.compile(rf"([0-9]{{1,12}}:([0-9a-f]{{{_SIZE}}})*\+?)?")
_ERRORS: Final = 5.0
"""So many standard errors above what chance gives are no chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How many pairs are equal to one that a policy was fitted on.

    Attributes:
        is_known: Whether at least a tenth of the pairs that it was fitted on came once, so that
            some would be found again: of round confidences nothing tells old from new.
        compared: How many could be compared.
        same: How many of these are equal to one.
        by_chance: How many would be where all are new.
        spread: The standard error of the difference between these two then.
    """

    is_known: bool
    compared: int
    same: int
    by_chance: float
    spread: float

    @property
    def is_clear(self) -> bool:
        """Whether more are equal than chance explains."""
        return self.same > self.by_chance + _ERRORS * self.spread


def digest_of(pairs: Pairs) -> str:
    """Return a digest of all pairs, in whatever order."""
    return hashlib.sha256(repr(sorted(pairs)).encode()).hexdigest()[:16]


def seen_in(pairs: Pairs) -> str:
    """Return the marks of the pairs that came once, and how many came twice, as one text."""
    counts = Counter(pairs)
    marks = sorted(_mark(pair) for pair, count in counts.items() if count == 1)
    twice = sum(count == 2 for count in counts.values())
    return f"{twice}:{''.join(marks[:_MOST])}{'+' if len(marks) > _MOST else ''}"


def is_written(seen: str) -> bool:
    """Whether a text is of the form that `seen_in` gives, or empty: nothing is known then."""
    return _WRITTEN.fullmatch(seen) is not None


def overlap(seen: str, fitted: int, pairs: Pairs) -> Overlap:
    """Return how far pairs are those that a policy was fitted on.

    Args:
        seen: What `seen_in` gave of those.
        fitted: How many they were.
        pairs: Other pairs, as is hoped.
    """
    twice, _, written = seen.partition(":")
    joined = written.rstrip("+")
    marks = [joined[at : at + _SIZE] for at in range(0, len(joined), _SIZE)]
    if not marks:
        return Overlap(is_known=False, compared=0, same=0, by_chance=0.0, spread=0.0)
    last = marks[-1] if written.endswith("+") else "g"  # above every mark
    found = [mark for mark in map(_mark, pairs) if mark <= last]
    known = frozenset(marks)
    each = 2 * len(found) / max(1, fitted)
    by_chance = each * (int(twice) + 1)
    once = len(marks) if last == "g" else len(marks) * 16**_SIZE / (int(last, 16) + 1)
    return Overlap(
        is_known=10 * once >= fitted,
        compared=len(found),
        same=sum(mark in known for mark in found),
        by_chance=by_chance,
        spread=math.sqrt(by_chance + each * by_chance),  # of the pairs, and of the count of twice
    )


def _mark(pair: tuple[float, bool]) -> str:
    return hashlib.sha256(repr(pair).encode()).hexdigest()[:_SIZE]
