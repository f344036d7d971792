"""All places of one value in a text.

Neighbours: `source` fills them, `align` chooses one, `shared` counts them. This module judges
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import lt
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["ClaimKind", "Grade", "Place", "Places"]

ClaimKind: TypeAlias = Literal["text", "number", "date", "datetime", "time", "key", "exempt"]
"""What a value is looked for as."""
Grade: TypeAlias = Literal["exact", "normalised", "fuzzy"]


class Place(NamedTuple):
    """One place in the text that states a value; a tuple, for there are very many.

    Attributes:
        start: First character.
        end: One past the last character.
        grade: "exact" where the text has the value's own characters.
        doubt: Why it may not state that value, as a sentence; "" for a plain yes.
        code: Short name of that doubt.
    """

    start: int
    end: int
    grade: Grade
    doubt: str = ""
    code: str = ""


class Places:
    """All places of one value, at least one, in the order of the text.

    Attributes:
        starts: Where the best of them start: those without a doubt, if there are any.
        grade: The grade of the first of these.
        best: These themselves; None where all are of that grade and without a doubt.
        count: How many there are, the best and others.
        head: Where the first of them starts.
        preferred: Which of the best is written most like the value.
        is_doubtful: Whether there is a doubt about each of them.
    """

    __slots__ = (
        "_are_apart",
        "_beside",
        "_ends",
        "_found",
        "best",
        "count",
        "grade",
        "head",
        "is_doubtful",
        "preferred",
        "starts",
    )

    def __init__(
        self,
        starts: list[int],
        ends: list[int] | int,
        grade: Grade,
        *,
        beside: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Make places without a doubt, all of one grade.

        Args:
            starts: Where they start, at least one.
            ends: Where they end, or the length that all of them have.
            grade: The grade of all.
            beside: Where others start and end, about which there is a doubt.
        """
        self.starts, self._ends, self.grade = starts, ends, grade
        self.best: Sequence[Place] | None = None
        self.is_doubtful = False
        self.preferred = 0
        self._are_apart: bool | None = None
        self._found: Sequence[Place] = ()
        self._beside = beside
        self.count = len(starts)
        self.head = starts[0]
        if beside:
            self.count += len(beside)
            self.head = min(self.head, beside[0][0])

    @classmethod
    def of(cls, found: Sequence[Place], *, beside: Sequence[tuple[int, int]] = ()) -> Places:
        """Return these places, at least one; `beside` others only if none of these is doubtful."""
        best = found
        if len(found) > 1:
            best = [place for place in found if not place[3]] or found
        starts, ends = [place[0] for place in best], [place[1] for place in best]
        made = cls(starts, ends, best[0][2], beside=beside)
        made.best = best
        made.is_doubtful = best[0][3] != ""
        if beside:
            return made
        made._found = found
        made.count = len(found)
        made.head = found[0][0]
        return made

    @property
    def ends(self) -> list[int]:
        """Where the best of them end."""
        ends = self._ends
        if isinstance(ends, int):
            length = ends
            ends = self._ends = [start + length for start in self.starts]
        return ends

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where all of them stand, in the order of the text."""
        if self._found:
            return tuple([(place[0], place[1]) for place in self._found])
        return tuple(sorted([*zip(self.starts, self.ends, strict=True), *self._beside]))

    def are_apart(self) -> bool:
        """Return whether the best ones end in the order in which they start."""
        if self._are_apart is None:
            ends = self.ends
            self._are_apart = all(map(lt, ends, ends[1:]))
        return self._are_apart

    @property
    def first(self) -> tuple[int, int]:
        """Where the first of all starts and ends."""
        if self._found:
            return self._found[0][:2]
        return min([(self.starts[0], self.ends[0]), *self._beside[:1]])
