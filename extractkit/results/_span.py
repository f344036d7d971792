"""Where a value stands in the caller's text.

Neighbours: `grounding` finds places, a result holds them by pointer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeAlias

from pydantic import WrapSerializer

from extractkit.paths import Pointer

__all__ = ["Evidence", "Span"]


class _Spans(Protocol):
    @property
    def spans(self) -> tuple[tuple[int, int], ...]: ...


class _Candidates:
    """Makes the candidates of a span at the first look at them: few look, and there are many."""

    __slots__ = ("_places",)

    _places: _Spans

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> tuple[tuple[int, int], ...]:
            if name != "candidates":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = self._places.spans
            object.__setattr__(self, name, made)
            return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Span(_Candidates):
    """Where a value stands in the caller's text: `text[start:end]` is what was matched.

    Attributes:
        start: First character, 0-based.
        end: One past the last character.
        grade: "exact" (the same characters), "normalised" (equal after normalisation) or "fuzzy"
            (a near match, only with `Grounding(fuzzy=True)`).
        ambiguous: The text at this place has another reading too (03/04/2026).
        candidates: Every place of the value, this one among them, as (start, end) in the order of
            the text; at most the first thousand. Two spans are equal whatever these are.
    """

    start: int
    end: int
    grade: Literal["exact", "normalised", "fuzzy"] = "exact"
    ambiguous: bool = False
    candidates: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)


# Pydantic writes dictionaries, and no other mappings.
Evidence: TypeAlias = Annotated[
    Mapping[Pointer, Span], WrapSerializer(lambda evidence, write: write(dict(evidence)))
]
"""Where values stand, by pointer."""
