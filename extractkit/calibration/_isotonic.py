"""The map that only keeps the order: steps and slopes, as many as the pairs ask for.

Neighbours: `_maps` has the two that need no package.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from extractkit.calibration._pairs import checked_pairs, listed
from extractkit.calibration._record import (
    counts_of,
    numbers_of,
    read_record,
    sequence_of,
    write_record,
)
from extractkit.errors import MissingDependencyError, UsageError

__all__ = ["IsotonicCalibration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IsotonicCalibration:
    """A rising line through some points, flat outside of them.

    It follows any shape, and needs more pairs than the others: a few hundred. Fitting needs
    scikit-learn; applying and loading do not.

    Attributes:
        confidences: Where the points are, rising.
        probabilities: What they are mapped to, never falling; between 1 / (count + 2) and its
            complement, since no number of pairs makes certainty.
        count: How many pairs it was fitted on.
    """

    kind: ClassVar[str] = "isotonic"

    confidences: tuple[float, ...]
    probabilities: tuple[float, ...]
    count: int = 0

    def __post_init__(self) -> None:
        counts_of("IsotonicCalibration", count=self.count)
        for name in ("confidences", "probabilities"):
            object.__setattr__(self, name, listed(name, getattr(self, name)))
        for value in (*self.confidences, *self.probabilities):
            numbers_of("IsotonicCalibration", low=0.0, high=1.0, point=value)
        if not self.confidences or len(self.confidences) != len(self.probabilities):
            raise UsageError(
                f"found {len(self.confidences)} confidences and {len(self.probabilities)} "
                "probabilities; expected as many, and one at least"
            )
        if any(high <= low for low, high in pairwise(self.confidences)) or any(
            high < low for low, high in pairwise(self.probabilities)
        ):
            raise UsageError(
                "IsotonicCalibration: expected confidences that rise and probabilities that never "
                "fall"
            )

    @classmethod
    def fit(cls, confidences: Iterable[float], correct: Iterable[bool]) -> IsotonicCalibration:
        """Return the map of the least squared error that never falls.

        Raises:
            UsageError: If there are no pairs.
            MissingDependencyError: If scikit-learn is not installed.
        """
        pairs = checked_pairs(confidences, correct)
        try:
            from sklearn.isotonic import IsotonicRegression
        except ModuleNotFoundError as error:
            raise MissingDependencyError.for_feature(
                "IsotonicCalibration.fit", package="scikit-learn", extra="calibration"
            ) from error
        edge = 1.0 / (len(pairs) + 2)
        regression: Any = IsotonicRegression  # scikit-learn has no types
        found = regression(y_min=edge, y_max=1.0 - edge, out_of_bounds="clip")
        found.fit([value for value, _ in pairs], [float(outcome) for _, outcome in pairs])
        return cls(
            confidences=tuple(float(value) for value in found.X_thresholds_),
            probabilities=tuple(float(value) for value in found.y_thresholds_),
            count=len(pairs),
        )

    def apply(self, confidence: float) -> float:
        """Return the probability of being right.

        Raises:
            UsageError: If `confidence` is no number in [0, 1].
        """
        ((value, _),) = checked_pairs([confidence], [True])
        places, heights = self.confidences, self.probabilities
        right = bisect_right(places, value)
        if right == 0 or right == len(places):
            return heights[0] if right == 0 else heights[-1]
        share = (value - places[right - 1]) / (places[right] - places[right - 1])
        return heights[right - 1] + share * (heights[right] - heights[right - 1])

    def to_json(self) -> str:
        """Return the map as JSON."""
        return write_record(
            self.kind,
            confidences=list(self.confidences),
            probabilities=list(self.probabilities),
            count=self.count,
        )

    @classmethod
    def from_json(cls, text: str) -> IsotonicCalibration:
        """Return the map that `to_json` wrote.

        Raises:
            UsageError: If it did not write this text.
        """
        record = read_record(text, cls.kind, "confidences", "probabilities", "count")
        return cls(
            confidences=sequence_of(cls.kind, "confidences", record["confidences"]),
            probabilities=sequence_of(cls.kind, "probabilities", record["probabilities"]),
            count=record["count"],
        )
