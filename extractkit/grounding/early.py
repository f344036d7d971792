"""Where single values of an answer stand, while the rest of it still comes.

Neighbours: `source` finds the places of a value, `align` chooses among those of a whole answer;
here one is chosen by what is known so far. Nothing is looked for before somebody asks, and what
was told of a place is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias

from extractkit.grounding.align import Places, line_breaks
from extractkit.grounding.evidence import span_of
from extractkit.grounding.glance import Seen
from extractkit.grounding.siblings import Siblings
from extractkit.grounding.source import ClaimKind, ClaimRow, Source
from extractkit.paths import Pointer
from extractkit.results import Grounding, Span

__all__ = ["EarlyEvidence"]

_Alike: TypeAlias = "tuple[ClaimKind, type, str, str]"
"""What is equal for values that have the same places: of some the name of the field counts."""

_LOOKED_AT: Final = 32
"""So many free places of one value are looked at."""


class _Value:
    """The places of a value.

    Attributes:
        places: They; None where the text does not have it.
        passed: So many of them, from the first on, are taken.
    """

    __slots__ = ("passed", "places")

    def __init__(self, places: Places | None) -> None:
        self.places = places
        self.passed = 0


class EarlyEvidence:
    """Finds values of an answer that still comes, one by one.

    Whether the text has a value, and all its places (`Span.candidates`), are what `locate` says of
    the whole answer. Where it has one place without a doubt, or one at all, so is that place. Of
    several the whole answer takes the one that goes best with all that stands beside the value,
    and here only what was asked for before can count: that place may be another one in the end.

    Args:
        text: What the model was given.
        options: Language, reference date.
    """

    def __init__(self, text: str, options: Grounding) -> None:
        self._text, self._options = text, options
        self._values: dict[_Alike, _Value] = {}
        self._siblings: dict[Pointer, Siblings] = {}
        self._taken: set[tuple[int, int]] = set()
        self._told: dict[Pointer, Span | None] = {}

    def find(self, row: ClaimRow) -> Span | None:
        """Return where a value stands; None where it is not found, or claims nothing.

        Args:
            row: A final leaf: its pointer, value, kind and mark.

        Raises:
            UsageError: If the locale is not known, or the reference date is no ISO date.
            UnsupportedError: If numbers in words are asked for and cannot be read.
        """
        pointer = row[0]
        if pointer not in self._told:
            value = self._value(row)
            self._told[pointer] = None if value is None else self._placed(pointer, value)
        return self._told[pointer]

    @cached_property
    def _source(self) -> Source:
        return Source(self._text, self._options)

    @cached_property
    def _breaks(self) -> Sequence[int]:
        return line_breaks(self._text)

    def _value(self, row: ClaimRow) -> _Value | None:
        pointer, value, kind, _ = row
        if kind in ("exempt", "key"):
            return None
        alike = kind, value.__class__, repr(value), _name(pointer)
        known = self._values.get(alike)
        if known is None:
            found = self._source.find_all([row]).places.get(pointer)
            places = self._source.read(pointer, found) if isinstance(found, Seen) else found
            known = self._values[alike] = _Value(places)
        return known

    def _placed(self, pointer: Pointer, value: _Value) -> Span | None:
        places = value.places
        if places is None:
            return None
        parent = pointer.rpartition("/")[0]
        siblings = self._siblings.get(parent)
        if siblings is None:
            siblings = self._siblings[parent] = Siblings(self._breaks)
        index = 0 if len(places.starts) == 1 else self._chosen(value, places, siblings)
        start, end = places.starts[index], places.ends[index]
        self._taken.add((start, end))
        siblings.add(start, end)
        return span_of(places, index)

    def _chosen(self, value: _Value, places: Places, siblings: Siblings) -> int:
        """Return which place a value takes: a free one, the one nearest to what is beside it."""
        starts, ends = places.starts, places.ends
        count, taken = len(starts), self._taken
        while value.passed < count and (starts[value.passed], ends[value.passed]) in taken:
            value.passed += 1
        left = range(value.passed, count)
        free = [*islice((at for at in left if (starts[at], ends[at]) not in taken), _LOOKED_AT)]
        return siblings.pick(places, free)


def _name(pointer: Pointer) -> str:
    """Return the last name in a pointer, which is no position of a list."""
    names = (token for token in reversed(pointer.split("/")) if not token.isdecimal())
    return next(names, "")
