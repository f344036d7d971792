"""All figures of an evaluation, computed once: for pages, tables, JSON and CSV.

Neighbours: `evaluation` counts, `_evaluation` makes the page, `_csv` the rows. Nothing is asked
or judged here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from extractkit.errors import UsageError
from extractkit.evaluation import Answered, Difference, EvaluationReport, Summary, compare
from extractkit.paths import JsonObject

__all__ = ["EvaluationFigures", "asked_of", "failed_inputs", "outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFigures:
    """The figures of every configuration, and what each is better or worse than the baseline.

    Attributes:
        report: What they were computed from.
        summaries: Configuration -> its figures.
        baseline: The configuration that the others are compared with.
        differences: Configuration -> its figures less those of the baseline, paired by input.
        level: Of the intervals, two-sided.
        seed: Of the intervals that are drawn.
        notes: What a reader must know besides, such as answers that are not there yet.
    """

    report: EvaluationReport
    summaries: Mapping[str, Summary]
    baseline: str
    differences: Mapping[str, Difference]
    level: float
    seed: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        report: EvaluationReport,
        *,
        baseline: str | None = None,
        level: float = 0.95,
        seed: int = 0,
        notes: Sequence[str] = (),
    ) -> EvaluationFigures:
        """Return the figures of a report. What draws many intervals takes seconds.

        Args:
            report: What an evaluation found.
            baseline: What the others are compared with; None takes the first configuration.
            level: Of the intervals, two-sided.
            seed: Of the intervals that are drawn.
            notes: What a reader must know besides.

        Raises:
            UsageError: If there is no such configuration, or no configuration at all.
        """
        names = list(report.answers)
        if not names:
            raise UsageError("the report has no configuration; expected at least one")
        first = names[0] if baseline is None else baseline
        report.measures(first)
        return cls(
            report=report,
            summaries={name: report.summary(name, level=level, seed=seed) for name in names},
            baseline=first,
            differences={
                name: compare(report, first, name, level=level, seed=seed)
                for name in names
                if name != first and _have_common(report, first, name)
            },
            level=level,
            seed=seed,
            notes=(*notes, *_incomparable(report, first)),
        )

    def plain(self) -> JsonObject:
        """Return all of it as plain JSON, with what it was measured on."""
        configurations: JsonObject = {
            name: {
                **self.report.facts[name],
                "asked": asked_of(self.report.answers[name]),
                "outcomes": outcomes(self.report.answers[name]),
                "failed_inputs": [each[0].case.id for each in failed_inputs(self.report, name)],
                "figures": to_jsonable_python(summary),
            }
            for name, summary in self.summaries.items()
        }
        return {
            "unit": self.report.unit,
            "target": self.report.target,
            "level": self.level,
            "interval_seed": self.seed,
            "notes": list(self.notes),
            "bad_rows": list(self.report.bad),
            "rules": dict(self.report.rules),
            "configurations": configurations,
            "baseline": self.baseline,
            "differences": to_jsonable_python(dict(self.differences)),
        }


def _have_common(report: EvaluationReport, first: str, second: str) -> bool:
    inputs = {each.case.id for each in report.answers[first]}
    return any(each.case.id in inputs for each in report.answers[second])


def _incomparable(report: EvaluationReport, first: str) -> Iterator[str]:
    """Say which configurations have no input in common with the baseline, or fewer inputs."""
    most = {each.case.id for found in report.answers.values() for each in found}
    for name in report.answers:
        count = len({each.case.id for each in report.answers[name]})
        if count < len(most):
            yield f"{name} has answers to {count} of {len(most)} inputs; its rates are over those"
        if not _have_common(report, first, name):
            yield f"{name} has no input in common with {first}; they are not compared"


def outcomes(answers: Sequence[Answered]) -> dict[str, dict[str, int]]:
    """Return field -> outcome -> at how many places of all answers."""
    found: dict[str, Counter[str]] = {}
    for each in answers:
        for name, counts in each.measures.fields.items():
            found.setdefault(name, Counter()).update(dict(counts.items()))
    return {name: dict(counts) for name, counts in found.items()}


_ASKED = ("provider", "model", "dialect", "fingerprint", "prompt")


def asked_of(answers: Sequence[Answered]) -> JsonObject:
    """Return who answered and how; every value that occurs, where they differ.

    Package versions are by package. A fingerprint is that of the schema as it was sent.
    """
    told: dict[str, dict[str, None]] = {}
    versions: dict[str, dict[str, None]] = {}
    for each in answers:
        record = each.observation.provenance
        for name in _ASKED:
            if record.get(name):
                told.setdefault(name, {})[str(record[name])] = None
        if each.observation.strategy:
            told.setdefault("strategy", {})[each.observation.strategy] = None
        packages: Any = record.get("versions", {})
        for name, version in packages.items():
            versions.setdefault(name, {})[str(version)] = None
    found: JsonObject = {name: list(values) for name, values in told.items()}
    if versions:
        found["versions"] = {name: list(values) for name, values in versions.items()}
    return found


def failed_inputs(report: EvaluationReport, configuration: str) -> list[list[Answered]]:
    """Return, of each input that some answer failed, those answers; inputs in their order.

    With a label, an answer fails that is not exact; without, one that has no value.
    """
    found: dict[str, list[Answered]] = {}
    for each in report.answers[configuration]:
        exact = each.measures.exact
        if not (each.measures.ok if exact is None else exact):
            found.setdefault(each.case.id, []).append(each)
    return list(found.values())
