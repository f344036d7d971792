"""A policy: the threshold below which answers are abstained on, and what it says of a result.

Neighbours: `_thresholds` finds the threshold, with a bound that needs no assumption. What becomes
of what is abstained on is the business of whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from extractkit.calibration._deciding import Map, calibrated, deciding, require_calibration
from extractkit.calibration._fields import field_of
from extractkit.calibration._figures import wilson_interval
from extractkit.calibration._pairs import checked_pairs, is_share, require_share
from extractkit.calibration._record import (
    counts_of,
    numbers_of,
    pointers_of,
    read_record,
    sequence_of,
    texts_of,
    write_record,
)
from extractkit.calibration._seen import digest_of, is_written, overlap, seen_in
from extractkit.calibration._thresholds import ThresholdTest, apart, claimed
from extractkit.errors import UsageError
from extractkit.paths import Pointer
from extractkit.results import Confidence, ExtractionResult, Status

__all__ = ["AbstentionPolicy", "Decision", "Outcome"]


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
        seen: How many of the pairs are equal to one that the threshold was chosen on, of those
            that came once there: a few can be by chance. None where less than a tenth of these
            came once, because confidences are round, or nothing is known of them: then it cannot
            be told whether pairs come again.
    """

    count: int
    kept: int
    coverage: float
    accuracy: float | None
    interval: tuple[float, float] | None
    seen: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionPolicy:
    """Keeps answers whose confidence reaches a threshold.

    Attributes:
        threshold: The least confidence that is kept; None where no threshold was shown to reach
            the target: then nothing is kept.
        target_accuracy: Of what is kept, this share is right.
        confidence_level: With this probability, over the pairs it was fitted on.
        fields: Which leaves decide, "*" standing for every list position; empty: all leaves
            that are choices or have an agreement or a verdict, and those that have no number.
        count: How many pairs it was fitted on.
        tested: How many of these the thresholds were tested on.
        kept: How many of these reach the threshold.
        right: How many of these are right.
        reason: Why there is no threshold.
        digest: Of the pairs, so that they are not reported on.
        seen: Marks of single pairs, so that a part of them is not.
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
    seen: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        require_share("target_accuracy", self.target_accuracy)
        require_share("confidence_level", self.confidence_level)
        if self.threshold is not None:
            numbers_of("AbstentionPolicy", low=0.0, high=1.0, threshold=self.threshold)
        counts_of(
            "AbstentionPolicy",
            count=self.count,
            tested=self.tested,
            kept=self.kept,
            right=self.right,
        )
        texts_of("AbstentionPolicy", reason=self.reason, digest=self.digest, seen=self.seen)
        if not is_written(self.seen):
            raise UsageError(f"AbstentionPolicy(seen={self.seen!r:.60}): not what `fit` gave")
        object.__setattr__(self, "fields", pointers_of("fields", self.fields))

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
        the answers to come, one by one, and must not have been used to fit the calibration of
        the confidences. Where several leaves of a result decide, a pair is the whole result:
        `least_confidence` of it, and whether all of these leaves are right.

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
        grid, tested = apart(pairs) if unlabelled is None else (claimed(unlabelled), pairs)
        test = ThresholdTest(sorted(tested), target_accuracy, 1.0 - confidence_level)
        threshold = test.lowest(grid, is_claimed=unlabelled is not None)
        kept, right = (0, 0) if threshold is None else test.counts(threshold)
        return cls(
            threshold=threshold,
            target_accuracy=target_accuracy,
            confidence_level=confidence_level,
            fields=pointers_of("fields", fields),
            count=len(pairs),
            tested=len(tested),
            kept=kept,
            right=right,
            reason="" if threshold is not None else test.why_not(),
            digest=digest_of(pairs),
            seen=seen_in(pairs),
        )

    def keeps(self, confidence: float | None) -> bool:
        """Whether an answer of this confidence is kept; without one it never is.

        Raises:
            UsageError: If `confidence` is no number in [0, 1], and not None.
        """
        if confidence is not None and not is_share(confidence):
            raise UsageError(
                f"keeps({confidence!r:.60}): expected a probability from 0 to 1, or None"
            )
        return (
            self.threshold is not None and confidence is not None and confidence >= self.threshold
        )

    def apply(
        self,
        result: ExtractionResult[Any],
        *,
        calibration: Map | None = None,
    ) -> Decision:
        """Return what of a result is kept.

        Where a field that decides has no leaf, because what holds it is null, absent or an empty
        list, that decides in its place. Of a confidence with bounds the low end is compared. Null
        or a value, keys that are left out and the lengths of lists decide, too: from tokens, or
        where several answers were drawn by their agreement.

        Args:
            result: A result with confidences.
            calibration: What the confidences go through first, if the policy was fitted on
                calibrated ones.

        Raises:
            UsageError: If `result` is none, or `calibration` is no map.
        """
        require_calibration(calibration)
        kept: list[Pointer] = []
        abstained: dict[Pointer, str] = {}
        for pointer, known in deciding(result, self.fields).items():
            doubts = (self._doubt(pointer, found, calibration) for found in known)
            reason = next(filter(None, doubts), "") if known else _not_there(pointer, result)
            if reason:
                abstained[pointer] = reason
            else:
                kept.append(pointer)
        return Decision(
            kept=tuple(kept), abstained=abstained, reason=self._why(result, kept, abstained)
        )

    def _doubt(
        self,
        pointer: Pointer,
        confidence: Confidence,
        calibration: Map | None,
    ) -> str:
        probability, reason = calibrated(pointer, confidence, calibration)
        if probability is None:
            return f"no confidence: {reason or 'nothing says why'}"
        if self.keeps(probability):
            return ""
        if self.threshold is None:
            limit = self.reason or "the policy has no threshold, and keeps nothing"
        else:
            limit = f"below {self.threshold:.4g}"
        is_low = confidence.low is not None and confidence.low != confidence.probability
        return f"{probability:.4g}{' (the low end)' if is_low else ''}: {limit}"

    def _why(
        self,
        result: ExtractionResult[Any],
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

        A part of the pairs that it was fitted on is found where their confidences differ; of
        round ones (0.6 again and again) it is not, and `seen` is None.

        Raises:
            UsageError: If there are no pairs, or they are those that it was fitted on, or so many
                of them are equal to one of those as chance does not explain: on these it looks
                better than it is.
        """
        pairs = checked_pairs(confidences, correct)
        if self.digest and digest_of(pairs) == self.digest:
            raise UsageError(f"these are the pairs {_REPORT}")
        found = overlap(self.seen, self.count, pairs)
        if found.is_clear:
            raise UsageError(
                f"{found.same} of {found.compared} pairs that can be compared are equal to pairs "
                f"{_REPORT}"
            )
        outcomes = [outcome for value, outcome in pairs if self.keeps(value)]
        right = sum(outcomes)
        return Outcome(
            count=len(pairs),
            kept=len(outcomes),
            coverage=len(outcomes) / len(pairs),
            accuracy=right / len(outcomes) if outcomes else None,
            interval=wilson_interval(right, len(outcomes)) if outcomes else None,
            seen=found.same if found.is_known else None,
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
        record = {"seen": "", **read_record(text, cls.kind, *_FIELDS[:-1])}
        values: dict[str, Any] = {name: record[name] for name in _FIELDS}
        values["fields"] = sequence_of(cls.kind, "fields", record["fields"])
        return cls(**values)


_FIELDS: Final = (
    "threshold", "target_accuracy", "confidence_level", "fields", "count", "tested", "kept",
    "right", "reason", "digest", "seen",
)  # fmt: skip
_REPORT: Final = (
    "that the threshold was chosen on; report on others, or on `kept` and `right` with the target "
    "and its level"
)


def _not_there(name: str, result: ExtractionResult[Any]) -> str:
    """Return why a named field has nothing that could decide."""
    below = next((leaf for leaf in result.confidence if leaf.startswith(f"{name}/")), None)
    if below is None:
        return "this result has no such leaf"
    return f"it is no leaf and holds some: name those, such as {field_of(below)!r}"
