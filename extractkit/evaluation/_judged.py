"""What is found where an answer stands beside its label.

    right        both hold the same
    empty        both say that there is nothing
    wrong        both hold something, and not the same
    missed       the label holds something, the answer says that there is nothing
    fabricated   the label says that there is nothing, the answer holds something
    declined     the answer says UNKNOWN, and the label does not; of an object or list in whose
                 place it stands, each part that the label has
    unanswered   there is no answer

Neighbours: `_judging` finds it, `_measures` counts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from extractkit.paths import JsonValue, Pointer

__all__ = ["Comparison", "Given", "Judged", "ListMatch", "Outcome", "State"]

Outcome: TypeAlias = Literal[
    "right", "empty", "wrong", "missed", "fabricated", "declined", "unanswered"
]
State: TypeAlias = Literal["value", "null", "unknown"]
Given: TypeAlias = dict[State, int]
"""How often a field of an answer holds what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One place of a label or an answer.

    Attributes:
        field: The place of the target.
        pointer: The place in the label; of what the label does not have, in the answer.
        outcome: What was found.
        why: The reason, as a clause.
        expected: What the label holds; None where nothing.
        found: What the answer holds; None where nothing.
        found_at: The place in the answer; None where the answer has none.
        label: What kind of thing the label holds.
    """

    field: str
    pointer: Pointer
    outcome: Outcome
    why: str
    label: State
    expected: JsonValue = None
    found: JsonValue = None
    found_at: Pointer | None = None

    @property
    def is_right(self) -> bool:
        """Whether the answer says here what the label says."""
        return self.outcome in ("right", "empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMatch:
    """A list of a label and that of the answer; where one of them has none, the other alone.

    Attributes:
        field: The place of the target.
        pointer: The place in the label; of what the label does not have, in the answer.
        expected: How many elements the label has.
        found: How many the answer has.
        matched: How many pairs are right in all that is judged.
        in_order: Whether the pairs stand in one order.
        paired: How they were paired; "alone" where only one side has a list.
        is_right: Whether it is the same list.
    """

    field: str
    pointer: Pointer
    expected: int
    found: int
    matched: int
    in_order: bool
    paired: Literal["position", "key", "assignment", "alone"]
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An answer beside its label.

    Attributes:
        places: Every place that was judged, in the order of the label.
        lists: Every list that is judged.
    """

    places: tuple[Judged, ...]
    lists: tuple[ListMatch, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the answer says all that the label says, and no more."""
        return all(each.is_right for each in self.places) and all(
            each.is_right for each in self.lists
        )
