"""All answers of an evaluation with what they are worth, and the figures that follow.

Neighbours: `_evaluate` makes it, `_summary` counts, the room `report` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import to_jsonable_python

from extractkit.errors import UsageError
from extractkit.evaluation._cases import Case
from extractkit.evaluation._measures import Measures
from extractkit.evaluation._observation import Observation
from extractkit.evaluation._summary import Difference, Summary, differences, summarise
from extractkit.paths import JsonObject

__all__ = ["Answered", "EvaluationReport", "compare", "facts_told"]

_UNIT: Final = "input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One answer to one input.

    Attributes:
        case: The input with its label.
        sample: Which of the answers to it, from 0.
        observation: What came.
        measures: What it is worth.
    """

    case: Case
    sample: int
    observation: Observation
    measures: Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """What an evaluation found.

    Attributes:
        answers: Configuration -> every answer, inputs in their order.
        facts: Configuration -> samples, model, parameters; and reruns, where seeds that it was to
            draw by were refused, so that another run draws other answers.
        target: Fingerprint of what was extracted.
        bad: Rows of the data set that were left out.
        rules: Field -> how it was compared, where not by its type.
        unit: What rates are shares of, and what a bootstrap draws.
    """

    answers: Mapping[str, tuple[Answered, ...]]
    facts: Mapping[str, JsonObject]
    target: str
    bad: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict[str, str])
    unit: str = field(default=_UNIT)

    def measures(self, configuration: str) -> tuple[Measures, ...]:
        """Return what each answer of one configuration is worth.

        Raises:
            UsageError: If there is no such configuration.
        """
        given: Any = configuration
        if not isinstance(given, str) or given not in self.answers:
            known = ", ".join(map(repr, self.answers))
            raise UsageError(f"no configuration {given!r:.60}; found {known}")
        return tuple(each.measures for each in self.answers[configuration])

    def summary(self, configuration: str, *, level: float = 0.95, seed: int = 0) -> Summary:
        """Return the figures of one configuration with their intervals.

        Args:
            configuration: Its name.
            level: Of the intervals, two-sided.
            seed: Of the intervals that are drawn.

        Raises:
            UsageError: If there is no such configuration.
        """
        return summarise(self.measures(configuration), level=level, seed=seed)

    def plain(self, *, level: float = 0.95, seed: int = 0) -> JsonObject:
        """Return all figures as plain JSON, with what they were measured on.

        Args:
            level: Of the intervals, two-sided.
            seed: Of the intervals that are drawn.
        """
        return {
            "unit": self.unit,
            "target": self.target,
            "bad_rows": list(self.bad),
            "rules": dict(self.rules),
            "configurations": {
                name: {
                    **self.facts[name],
                    "figures": to_jsonable_python(self.summary(name, level=level, seed=seed)),
                }
                for name in self.answers
            },
        }


def facts_told(facts: JsonObject, answers: Iterable[Answered]) -> JsonObject:
    """Return what is told of a configuration, with what its answers say of its seeds.

    Args:
        facts: As `Way.facts` has them.
        answers: All that came of it.
    """
    parameters: JsonObject = facts["parameters"]
    if parameters.get("seed") is None or not any(map(_is_unseeded, answers)):
        return facts
    reruns = "the provider refuses a seed, so that another run draws other answers"
    return {**facts, "parameters": {**parameters, "seed": None}, "reruns": reruns}


def _is_unseeded(answered: Answered) -> bool:
    """Whether an answer was drawn without a seed; one that never came was not."""
    told = answered.observation.provenance.get("parameters")
    return told is not None and answered.observation.attempts > 0 and "seed" not in told


def compare(
    report: EvaluationReport, first: str, second: str, *, level: float = 0.95, seed: int = 0
) -> Difference:
    """Return the figures of `second` less those of `first`, paired by input.

    Args:
        report: What an evaluation found.
        first: A configuration.
        second: Another.
        level: Of the intervals, two-sided.
        seed: Of the intervals that are drawn.

    Raises:
        UsageError: If it is no report, there is no such configuration, or they have no input in
            common.
    """
    given: Any = report
    if not isinstance(given, EvaluationReport):
        raise UsageError(
            f"found {given!r:.60} for a report; expected what evaluate() returns, and after it the "
            "names of two configurations: compare(report, first, second)"
        )
    return differences(report.measures(first), report.measures(second), level=level, seed=seed)
