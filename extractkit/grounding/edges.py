"""Whether it is plain at a look that nothing around digits belongs to them.

Neighbours: `alike`, `numbers` and `quoted` ask here first, and `surroundings` where it is not
plain. What stands between two numbers is the same in every line of a table, and judged once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from extractkit.grounding.normalize import IGNORABLE
from extractkit.grounding.scales import may_be_scale, scale_before
from extractkit.grounding.surroundings import FRACTIONS, REACH

__all__ = ["Edges", "is_bare"]

# No percent sign or scale word is longer.
_AHEAD = 16
_BARE_BEFORE = re.compile(r"[^-+(\u0080-\U0010ffff]*+(?<![\w.,/:^])\Z")
_CURRENCY = r"(?:[A-Za-z]{1,3}\.?|[$\u00a2-\u00a5\u20a0-\u20cf])"
_OPEN = (
    rf"[\s({IGNORABLE}]{{0,4}}[%\uff05\u2030{FRACTIONS}{IGNORABLE}]"
    rf"|\s?{_CURRENCY}?\s?[-\u2010-\u2013\u2212]\s*(?:[\n|;,)]|\Z)"
)
_BARE_AFTER = re.compile(
    rf"\Z|[.,](?!\Z)|(?!{_OPEN})(?:\s|[^\w\s.,%/:^\-\u0080-\U0010ffff])", re.IGNORECASE
)


class Edges:
    """Whether it is plain that nothing around digits belongs to them.

    Where it is, `look_before` and `look_after` find neither sign nor bracket, percent or scale,
    and `chain_doubt` no link. There may be a currency, which changes nothing then.

    Attributes:
        before: Whether that holds of all that stands between a number and the one before it.
        after: Whether it holds of all that stands between a number and the one after it.
    """

    __slots__ = ("after", "before")

    def __init__(self) -> None:
        self.before: Mapping[str, bool] = _BareBefore()
        self.after: Mapping[str, bool] = _BareAfter()


class _BareBefore(dict[str, bool]):
    def __missing__(self, between: str) -> bool:
        is_bare = self[between] = _is_bare_before(between[-REACH:])
        return is_bare


class _BareAfter(dict[str, bool]):
    def __missing__(self, between: str) -> bool:
        is_bare = self[between] = _is_bare_after(between[:_AHEAD])
        return is_bare


@lru_cache(maxsize=4096)
def _is_bare_before(between: str) -> bool:
    return (
        _BARE_BEFORE.match(between) is not None
        and "minus " not in between.lower()
        and scale_before(between, len(between)) is None
    )


@lru_cache(maxsize=4096)
def _is_bare_after(between: str) -> bool:
    return _BARE_AFTER.match(between) is not None and not may_be_scale(between)


def is_bare(text: str, start: int, end: int) -> bool:
    """Return whether it is plain that nothing around a number belongs to it, as `Edges` says."""
    before = text[max(0, start - REACH) : start]
    return _is_bare_before(before) and _is_bare_after(text[end : end + _AHEAD])
