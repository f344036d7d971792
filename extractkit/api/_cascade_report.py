"""What a cascade did over many inputs: accuracy end to end and by stage, coverage, cost.

Neighbours: `_cascaded` has what is counted; labels are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from extractkit.api._cascaded import CascadeResult
from extractkit.calibration import wilson_interval
from extractkit.errors import UsageError
from extractkit.messages import Usage

__all__ = ["CascadeReport", "StageReport"]

_Given: TypeAlias = list[tuple[CascadeResult[Any], bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """What one stage did.

    Attributes:
        place: Its place in the cascade, from 0.
        provider: Who was asked.
        model: The model, as it was configured.
        asked: How many inputs came to it.
        failed: In how many of these the model could not be asked.
        answered: How many inputs were given its answer.
        share: Their share of all inputs.
        right: How many of these answers are right.
        accuracy: Their share of `answered`; None where that is 0.
        interval: Wilson interval of `accuracy`; None where there is none.
        kept: How many of these answers are kept.
        usage: Tokens of all that it was asked, passed on or not.
        cost_usd: What these cost in US dollars, as far as it is known.
        unpriced: For how many inputs it is not known.
        seconds: Wall time of all that it was asked.
    """

    place: int
    provider: str
    model: str
    asked: int
    failed: int
    answered: int
    share: float
    right: int
    accuracy: float | None
    interval: tuple[float, float] | None
    kept: int
    usage: Usage
    cost_usd: Decimal
    unpriced: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeReport:
    """What a cascade did over inputs with labels. Accuracy never without coverage.

    Attributes:
        count: How many inputs.
        right: How many of the answers that were given out are right, kept or not.
        accuracy: Their share: end to end.
        interval: Wilson interval of `accuracy`.
        kept: How many answers are kept.
        coverage: Their share.
        kept_right: How many of the kept are right.
        kept_accuracy: Their share of `kept`; None where none is kept.
        kept_interval: Wilson interval of `kept_accuracy`; None where none is kept.
        stages: One for each stage that was asked, in order.
        confidence_level: Of the intervals, two-sided.
    """

    count: int
    right: int
    accuracy: float
    interval: tuple[float, float]
    kept: int
    coverage: float
    kept_right: int
    kept_accuracy: float | None
    kept_interval: tuple[float, float] | None
    stages: tuple[StageReport, ...]
    confidence_level: float = 0.95

    @property
    def usage(self) -> Usage:
        """Tokens of all stages together."""
        return sum((stage.usage for stage in self.stages), Usage())

    @property
    def cost_usd(self) -> Decimal:
        """What all stages cost in US dollars, as far as it is known; see `unpriced`."""
        return sum((stage.cost_usd for stage in self.stages), Decimal(0))

    @property
    def unpriced(self) -> int:
        """For how many askings the cost is not known."""
        return sum(stage.unpriced for stage in self.stages)

    @classmethod
    def of(
        cls,
        outcomes: Iterable[tuple[CascadeResult[Any], bool]],
        *,
        confidence_level: float = 0.95,
    ) -> CascadeReport:
        """Return the report of inputs that the policies were not fitted on.

        Args:
            outcomes: (what the cascade gave, whether that is right) for each input. Whether an
                answer without a value is right, the caller says.
            confidence_level: Of the intervals, two-sided.

        Raises:
            UsageError: If there are no outcomes, or they are of different cascades.
        """
        given = _checked(outcomes)
        right = sum(correct for _, correct in given)
        kept = [correct for result, correct in given if result.kept]
        kept_accuracy, kept_interval = _share(sum(kept), len(kept), confidence_level)
        places = range(max(stage.place for result, _ in given for stage in result.stages) + 1)
        return cls(
            count=len(given),
            right=right,
            accuracy=right / len(given),
            interval=wilson_interval(right, len(given), confidence_level=confidence_level),
            kept=len(kept),
            coverage=len(kept) / len(given),
            kept_right=sum(kept),
            kept_accuracy=kept_accuracy,
            kept_interval=kept_interval,
            stages=tuple(_stage(place, given, confidence_level) for place in places),
            confidence_level=confidence_level,
        )

    def to_text(self) -> str:
        """Return a table: a line for each stage, one for all inputs and one for what is kept."""
        rows = [_HEAD, *map(_cells, self.stages), *_totals(self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )


_Row: TypeAlias = tuple[str, str, str, str, str, str, str]

_HEAD: Final[_Row] = ("stage", "asked", "answers", "share", "accuracy", "cost (USD)", "tokens")


def _checked(outcomes: Iterable[tuple[CascadeResult[Any], bool]]) -> _Given:
    given: _Given = []
    names: dict[int, tuple[str, str]] = {}
    for place, (result, correct) in enumerate(outcomes):
        if correct not in (True, False):
            raise UsageError(f"outcome {place} is {correct!r:.60}; expected True or False")
        for stage in result.stages:
            name = (stage.provider, stage.model)
            if names.setdefault(stage.place, name) != name:
                raise UsageError(
                    f"stage {stage.place} is {name[1]!r} in outcome {place} and "
                    f"{names[stage.place][1]!r} before; report on one cascade at a time"
                )
        given.append((result, bool(correct)))
    if not given:
        raise UsageError("found no outcomes; expected at least one")
    return given


def _stage(place: int, given: _Given, confidence_level: float) -> StageReport:
    asked = [stage for result, _ in given for stage in result.stages if stage.place == place]
    answers = [(result.stage, correct) for result, correct in given if result.stage.place == place]
    right = sum(correct for _, correct in answers)
    accuracy, interval = _share(right, len(answers), confidence_level)
    costs = [stage.cost_usd for stage in asked if stage.cost_usd is not None]
    return StageReport(
        place=place,
        provider=asked[0].provider,
        model=asked[0].model,
        asked=len(asked),
        failed=sum(stage.result is None for stage in asked),
        answered=len(answers),
        share=len(answers) / len(given),
        right=right,
        accuracy=accuracy,
        interval=interval,
        kept=sum(stage.kept for stage, _ in answers),
        usage=sum((stage.usage for stage in asked), Usage()),
        cost_usd=sum(costs, Decimal(0)),
        unpriced=len(asked) - len(costs),
        seconds=sum(stage.seconds for stage in asked),
    )


def _share(
    right: int, count: int, confidence_level: float
) -> tuple[float | None, tuple[float, float] | None]:
    if not count:
        return None, None
    return right / count, wilson_interval(right, count, confidence_level=confidence_level)


def _cells(stage: StageReport) -> _Row:
    return (
        f"{stage.place} {stage.provider} {stage.model}",
        f"{stage.asked}" + (f" ({stage.failed} failed)" if stage.failed else ""),
        f"{stage.answered}",
        f"{stage.share:.1%}",
        _accuracy(stage.accuracy, stage.interval),
        _cost(stage.cost_usd, stage.unpriced),
        _tokens(stage.usage),
    )


def _totals(report: CascadeReport) -> list[_Row]:
    count, kept = f"{report.count}", f"{report.kept}"
    accuracy = _accuracy(report.accuracy, report.interval)
    kept_accuracy = _accuracy(report.kept_accuracy, report.kept_interval)
    cost = _cost(report.cost_usd, report.unpriced)
    return [
        ("all", count, count, "100.0%", accuracy, cost, _tokens(report.usage)),
        ("kept", "", kept, f"{report.coverage:.1%}", kept_accuracy, "", ""),
    ]


def _accuracy(accuracy: float | None, interval: tuple[float, float] | None) -> str:
    if accuracy is None or interval is None:
        return "-"
    return f"{accuracy:.1%} ({interval[0]:.1%} to {interval[1]:.1%})"


def _cost(known: Decimal, unpriced: int) -> str:
    return f"{known:.6f}" + (f" ({unpriced} unknown)" if unpriced else "")


def _tokens(usage: Usage) -> str:
    return f"{usage.input_tokens} + {usage.output_tokens}" + (
        "" if usage.is_complete else " at least"
    )
