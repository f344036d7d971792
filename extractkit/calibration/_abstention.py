"""The threshold below which answers are abstained on, with a bound that needs no assumption.

For each threshold t of a list that was fixed beforehand, the answers with a confidence of at least
t are a sample of those that t keeps; how many of them are right is binomial, whatever the
distribution. So "the accuracy of what t keeps is below the target" is tested exactly, and the
lowest t for which that is rejected is taken. Many thresholds are tested, and still all errors
together stay below 1 - confidence_level: they are tested in an order that was fixed beforehand,
and a level is handed on from a rejected hypothesis to the next one only.

This is split fixed-sequence testing as in Learn then Test (Angelopoulos, Bates, Candes, Jordan and
Lei, 2021, arXiv:2110.01052): a part of the pairs that is not tested says where to begin. From there
it goes on to lower thresholds. Two more starting points at higher ones share the level, as in
the fallback procedure (Wiens, Pharmaceutical Statistics 2, 2003), for when the first test fails.

Neighbours: `_binomial` has the tails. What is abstained on is the business of whoever asks.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from extractkit.calibration._binomial import least_count, upper_tail
from extractkit.calibration._fields import field_of
from extractkit.calibration._figures import wilson_interval
from extractkit.calibration._maps import Calibration, PlattScaling
from extractkit.calibration._pairs import Pairs, checked_pairs, require_share
from extractkit.calibration._record import numbers_of, read_record, write_record
from extractkit.errors import UsageError
from extractkit.paths import Pointer
from extractkit.results import Confidence, ExtractionResult, Status

__all__ = ["AbstentionPolicy", "Decision", "Outcome"]

_STARTS: Final = ((1.0, 0.7), (0.5, 0.2), (0.25, 0.1))
"""Starting points: coverage as a share of the first one's, and share of the level."""
_ROOM: Final = 1.2
"""So many times the fewest answers that can show anything are wanted for a start."""
_GRID_SHARE: Final = 5
"""One pair of so many says which thresholds are tested and in which order, and is not tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy says of one result.

    Attributes:
        kept: The leaves that it trusts.
        abstained: Those that it does not, with the reason.
        reason: Why the result as a whole is not kept; empty where it is.
    """

    kept: tuple[Pointer, ...]
    abstained: Mapping[Pointer, str]
    reason: str = ""

    @property
    def keep(self) -> bool:
        """Whether the result as a whole is kept: there is a value, and nothing is abstained."""
        return not self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a policy does to pairs that it was not fitted on. Accuracy never without coverage.

    Attributes:
        count: How many answers.
        kept: How many of them are kept.
        coverage: Their share.
        accuracy: The share of the kept that is right; None where none is kept.
        interval: Wilson interval of `accuracy` at 95 %; None where none is kept.
    """

    count: int
    kept: int
    coverage: float
    accuracy: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionPolicy:
    """Keeps answers whose confidence reaches a threshold.

    Attributes:
        threshold: The least confidence that is kept; None where no threshold was shown to reach
            the target: then nothing is kept.
        target_accuracy: Of what is kept, this share is right.
        confidence_level: With this probability, over the pairs it was fitted on.
        fields: Which leaves decide, "*" standing for every list position; empty: all leaves
            that are choices.
        count: How many pairs it was fitted on.
        tested: How many of these the thresholds were tested on.
        kept: How many of these reach the threshold.
        right: How many of these are right.
        reason: Why there is no threshold.
        digest: Of the pairs, so that they are not reported on.
    """

    kind: ClassVar[str] = "abstention"

    threshold: float | None
    target_accuracy: float
    confidence_level: float
    fields: tuple[str, ...] = ()
    count: int = 0
    tested: int = 0
    kept: int = 0
    right: int = 0
    reason: str = ""
    digest: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        require_share("target_accuracy", self.target_accuracy)
        require_share("confidence_level", self.confidence_level)
        if self.threshold is not None:
            numbers_of("AbstentionPolicy", threshold=self.threshold)

    @classmethod
    def fit(
        cls,
        confidences: Iterable[float],
        correct: Iterable[bool],
        *,
        target_accuracy: float,
        confidence_level: float = 0.95,
        fields: Sequence[str] = (),
        unlabelled: Iterable[float] | None = None,
    ) -> AbstentionPolicy:
        """Return the policy with the lowest threshold that is shown to reach the target.

        With probability `confidence_level` over the choice of the pairs, the accuracy of what
        the policy keeps of further answers of the same kind is at least `target_accuracy`,
        whatever the distribution; with few pairs it keeps nothing. The pairs must be drawn like
        the answers to come, and must not have been used to fit the calibration of the
        confidences.

        Args:
            confidences: Probabilities, as `apply` will see them: calibrated or not.
            correct: Whether each answer was right.
            target_accuracy: Above 0 and below 1.
            confidence_level: Above 0 and below 1.
            fields: See the attribute.
            unlabelled: Confidences of other answers, for the list of thresholds and their order;
                without them, a fifth of the pairs is spent on it.

        Raises:
            UsageError: If there are no pairs, or a number is out of its range.
        """
        require_share("target_accuracy", target_accuracy)
        require_share("confidence_level", confidence_level)
        pairs = checked_pairs(confidences, correct)
        grid, tested = _apart(pairs) if unlabelled is None else (_claimed(unlabelled), pairs)
        test = _Test(sorted(tested), target_accuracy, 1.0 - confidence_level)
        threshold = test.lowest(grid)
        kept, right = (0, 0) if threshold is None else test.counts(threshold)
        return cls(
            threshold=threshold,
            target_accuracy=target_accuracy,
            confidence_level=confidence_level,
            fields=tuple(fields),
            count=len(pairs),
            tested=len(tested),
            kept=kept,
            right=right,
            reason="" if threshold is not None else test.why_not(),
            digest=_digest(pairs),
        )

    def keeps(self, confidence: float | None) -> bool:
        """Whether an answer of this confidence is kept; without one it never is."""
        return (
            self.threshold is not None and confidence is not None and confidence >= self.threshold
        )

    def apply(
        self, result: ExtractionResult[object], *, calibration: Calibration | None = None
    ) -> Decision:
        """Return what of a result is kept.

        Args:
            result: A result with confidences.
            calibration: What the confidences go through first, if the policy was fitted on
                calibrated ones.
        """
        kept: list[Pointer] = []
        abstained: dict[Pointer, str] = {}
        for pointer, confidence in result.confidence.items():
            if not self._decides(pointer, confidence):
                continue
            reason = self._doubt(confidence, calibration)
            if reason:
                abstained[pointer] = reason
            else:
                kept.append(pointer)
        return Decision(
            kept=tuple(kept), abstained=abstained, reason=self._why(result, kept, abstained)
        )

    def _decides(self, pointer: Pointer, confidence: Confidence) -> bool:
        if not self.fields:
            return confidence.kind in ("choice", "agreement")
        return field_of(pointer) in self.fields

    def _doubt(self, confidence: Confidence, calibration: Calibration | None) -> str:
        probability = confidence.probability
        if probability is None:
            return f"no confidence: {confidence.reason}"
        if calibration is not None:
            probability = calibration.apply(probability)
        if self.keeps(probability):
            return ""
        limit = self.reason if self.threshold is None else f"below {self.threshold:.4g}"
        return f"{probability:.4g}: {limit}"

    def _why(
        self,
        result: ExtractionResult[object],
        kept: Sequence[Pointer],
        abstained: Mapping[Pointer, str],
    ) -> str:
        if result.status is not Status.OK:
            return f"there is no value: {result.status.value}"
        if abstained:
            pointer, why = next(iter(abstained.items()))
            more = f" (and {len(abstained) - 1} more)" if len(abstained) > 1 else ""
            return f"{pointer or '(root)'}: {why}{more}"
        return "" if kept else "no leaf of this result decides; name some in fields"

    def evaluate(self, confidences: Iterable[float], correct: Iterable[bool]) -> Outcome:
        """Return what the policy does to pairs that it was not fitted on.

        Raises:
            UsageError: If there are no pairs, or they are those that it was fitted on: on these it
                looks better than it is.
        """
        pairs = checked_pairs(confidences, correct)
        if self.digest and _digest(pairs) == self.digest:
            raise UsageError(
                "these are the pairs that the threshold was chosen on; report on others, or on "
                "`kept` and `right` with the target and its level"
            )
        outcomes = [outcome for value, outcome in pairs if self.keeps(value)]
        right = sum(outcomes)
        return Outcome(
            count=len(pairs),
            kept=len(outcomes),
            coverage=len(outcomes) / len(pairs),
            accuracy=right / len(outcomes) if outcomes else None,
            interval=wilson_interval(right, len(outcomes)) if outcomes else None,
        )

    def to_json(self) -> str:
        """Return the policy as JSON."""
        return write_record(self.kind, **{name: getattr(self, name) for name in _FIELDS})

    @classmethod
    def from_json(cls, text: str) -> AbstentionPolicy:
        """Return the policy that `to_json` wrote.

        Raises:
            UsageError: If it did not write this text.
        """
        record = read_record(text, cls.kind, *_FIELDS)
        values: dict[str, Any] = {name: record[name] for name in _FIELDS}
        values["fields"] = tuple(record["fields"])
        return cls(**values)


_FIELDS: Final = (
    "threshold", "target_accuracy", "confidence_level", "fields", "count", "tested", "kept",
    "right", "reason", "digest",
)  # fmt: skip


_Grid: TypeAlias = list[tuple[float, float]]
"""(confidence, probability of being right as far as is known), highest confidence first."""


def _apart(pairs: Pairs) -> tuple[_Grid, Pairs]:
    """Return what one pair in five says, and the other pairs; by chance, not by order."""
    order = sorted(range(len(pairs)), key=lambda at: hashlib.sha256(str(at).encode()).digest())
    size = max(1, len(pairs) // _GRID_SHARE)
    apart = [pairs[at] for at in order[:size]]
    line = PlattScaling.fit((value for value, _ in apart), (right for _, right in apart))
    grid = sorted(((value, line.apply(value)) for value, _ in apart), reverse=True)
    return grid, [pairs[at] for at in order[size:]]


def _claimed(unlabelled: Iterable[float]) -> _Grid:
    """Return confidences, believed as they are: the order may be a poor one, the test is exact."""
    values = list(unlabelled)
    pairs = checked_pairs(values, [True] * len(values))
    return sorted(((value, value) for value, _ in pairs), reverse=True)


def _digest(pairs: Pairs) -> str:
    return hashlib.sha256(repr(sorted(pairs)).encode()).hexdigest()[:16]


class _Test:
    """Tests of one threshold after the other on the same pairs."""

    def __init__(self, pairs: Pairs, target: float, level: float) -> None:
        self._values = [value for value, _ in pairs]
        self._target, self._level = target, level
        self._least = least_count(target, level * _STARTS[0][1])
        self._right_from = [0] * (len(pairs) + 1)
        for place in range(len(pairs) - 1, -1, -1):
            self._right_from[place] = self._right_from[place + 1] + pairs[place][1]

    def counts(self, threshold: float) -> tuple[int, int]:
        """Return how many pairs a threshold keeps, and how many of these are right."""
        place = bisect_left(self._values, threshold)
        return len(self._values) - place, self._right_from[place]

    def lowest(self, grid: _Grid) -> float | None:
        """Return the lowest threshold that is shown to reach the target.

        Args:
            grid: Of answers that are not among the tested pairs.
        """
        found: float | None = None
        carried = 0.0
        for threshold, share in self._sequence(grid):
            level = carried + share * self._level
            carried = 0.0
            if not level:
                continue
            kept, right = self.counts(threshold)
            if kept and upper_tail(right, kept, self._target) <= level:
                carried = level
                found = threshold if found is None else min(found, threshold)
        return found

    def _sequence(self, grid: _Grid) -> list[tuple[float, float]]:
        """Return thresholds in the order of their tests, with the share of the level of each."""
        thresholds, signals = self._signals(grid)
        first = max(range(len(thresholds)), key=signals.__getitem__)
        sequence: list[tuple[float, float]] = []
        end = len(thresholds)
        for coverage, share in _STARTS:
            start = min(int((first + 1) * coverage), end - 1) if end < len(thresholds) else first
            start = max(start, 0)
            chain = thresholds[start:end]
            sequence += [(value, share * (not place)) for place, value in enumerate(chain)]
            end = start
            if not end:
                break
        return sequence

    def _signals(self, grid: _Grid) -> tuple[list[float], list[float]]:
        """Return thresholds from the highest one down, and how clearly each should pass.

        In standard errors, by what the grid says; far below 0 where so few answers are kept that
        none could pass.
        """
        share = len(self._values) / len(grid)
        thresholds: list[float] = []
        signals: list[float] = []
        total = 0.0
        for kept, (value, accuracy) in enumerate(grid, 1):
            total += accuracy
            tested = kept * share
            signal = (total / kept - self._target) * math.sqrt(tested)
            if thresholds and thresholds[-1] == value:
                thresholds.pop()
                signals.pop()
            thresholds.append(value)
            signals.append(signal if tested >= self._least * _ROOM else tested - len(self._values))
        if thresholds[-1] > 0.0:
            thresholds.append(0.0)
            signals.append(signals[-1])
        return thresholds, signals

    def why_not(self) -> str:
        """Return why no threshold was found."""
        count = len(self._values)
        if count < self._least:
            return (
                f"{count} tested pairs cannot show an accuracy of {self._target:g}, if all are "
                f"right; {self._least} can: give more pairs"
            )
        right = self._right_from[0]
        return (
            f"no threshold is shown to reach {self._target:g}: of {count} tested answers {right} "
            "are right; give more pairs, a lower target, or a better model"
        )
