"""What came of one question, as plain JSON: what a journal keeps, and all figures come from.

Neighbours: `_evaluate` makes it, `_measures` puts it beside a label. A label is no part of it: a
label that is corrected costs no new answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

from pydantic_core import to_jsonable_python

from extractkit.calibration import least_confidence
from extractkit.errors import ExtractkitError
from extractkit.paths import JsonObject, JsonValue, Pointer
from extractkit.results import ExtractionResult, RequestFailure, Validity

__all__ = ["Ending", "Observation"]

Ending: TypeAlias = Literal["ok", "refused", "truncated", "filtered", "invalid", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One answer, or what came in its place.

    Attributes:
        status: How it ended; "error" where the model could not be asked, or not to the end: a
            request for another answer failed for good. Nothing of it then counts as the model's.
        validity: The level that was reached, from 0 to 4.
        document: The answer in the user's form; None where there is none.
        levels: Level -> how much was checked, exempt and failed.
        findings: What the checks said: level, path, message, severity, code.
        evidence: Pointer -> first character and the one past the last.
        confidence: Pointer -> kind, probability, low, high and removed_mass.
        least_confidence: Of the leaves that decide; None where a policy could not judge.
        answer: The text of the returned attempt.
        refusal: What the model said when it declined.
        stop_reason: Why it stopped.
        strategy: How it was asked.
        seconds: Wall time of the whole extraction.
        first_token_s: Until the first text came; None where it was not read as it came.
        is_first: It was the first question of its configuration in a process: it pays for the
            compilation of the schema and the loading of a model.
        attempts: How many answers came.
        failures: How many requests failed on the way.
        retries: How often a request was sent again, because one failed or its answer would not do.
        input_tokens: Of all attempts.
        output_tokens: Of all attempts.
        reasoning_tokens: The part of `output_tokens` that is reasoning.
        cost_usd: In US dollars; None where it is not known.
        provenance: Provider, model, dialect, fingerprint, prompt, parameters, versions.
        error: What kept the model from being asked, or from being asked to the end.
    """

    status: Ending
    validity: int = 0
    document: JsonValue = None
    levels: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Any])
    findings: tuple[JsonObject, ...] = ()
    evidence: Mapping[Pointer, list[int]] = field(default_factory=dict[str, Any])
    confidence: Mapping[Pointer, JsonObject] = field(default_factory=dict[str, Any])
    least_confidence: float | None = None
    answer: str = ""
    refusal: str | None = None
    stop_reason: str = ""
    strategy: str = ""
    seconds: float = 0.0
    first_token_s: float | None = None
    is_first: bool = False
    attempts: int = 0
    failures: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    provenance: JsonObject = field(default_factory=dict[str, Any])
    error: str = ""

    @classmethod
    def of(
        cls, result: ExtractionResult[Any], *, seconds: float | None = None, is_first: bool = False
    ) -> Observation:
        """Return what a result says.

        Args:
            result: The result.
            seconds: Wall time; None takes `result.timing`.
            is_first: See the attribute.
        """
        told = cls(
            status=result.status.value,
            validity=int(result.validity),
            document=result.document,
            levels={
                level.name.lower(): {
                    "checked": count.checked,
                    "exempt": count.exempt,
                    "failed": count.failed,
                }
                for level, count in result.levels.items()
            },
            findings=tuple(
                {
                    "level": Validity(item.level).name.lower(),
                    "path": item.path,
                    "message": item.message,
                    "severity": item.severity,
                    "code": item.code,
                }
                for item in result.findings
            ),
            evidence={pointer: [span.start, span.end] for pointer, span in result.evidence.items()},
            confidence={
                pointer: {
                    "kind": item.kind,
                    "probability": item.probability,
                    "low": item.low,
                    "high": item.high,
                    "removed_mass": item.removed_mass,
                }
                for pointer, item in result.confidence.items()
            },
            least_confidence=least_confidence(result),
            answer=_answer(result),
            refusal=result.refusal,
            stop_reason=result.stop_reason.value,
            strategy=result.strategy.value,
            seconds=result.timing.total_s if seconds is None else seconds,
            first_token_s=result.timing.time_to_first_token_s,
            is_first=is_first,
            attempts=len(result.attempts),
            failures=sum(len(attempt.failures) for attempt in result.attempts),
            retries=result.retries,
            input_tokens=result.usage.input_tokens,
            output_tokens=result.usage.output_tokens,
            reasoning_tokens=result.usage.reasoning_tokens,
            cost_usd=None if result.cost_usd is None else float(result.cost_usd),
            provenance=_provenance(result),
        )
        return told if result.failure is None else told._cut_short_by(result.failure)

    @classmethod
    def of_error(
        cls, error: ExtractkitError, *, seconds: float, is_first: bool = False
    ) -> Observation:
        """Return what an error says that came in place of a result.

        Args:
            error: The error.
            seconds: Wall time until then.
            is_first: See the attribute.
        """
        usage, cost = error.usage, error.cost_usd
        return cls(
            status="error",
            seconds=seconds,
            is_first=is_first,
            failures=int(getattr(error, "attempts", 1)),
            retries=error.retries,
            input_tokens=0 if usage is None else usage.input_tokens,
            output_tokens=0 if usage is None else usage.output_tokens,
            cost_usd=None if cost is None else float(cost),
            error=f"{type(error).__name__}: {error.message}",
        )

    def _cut_short_by(self, failure: RequestFailure) -> Observation:
        """Return it as one about which the model could not be asked to the end.

        What it cost counts, and what came can be read; no level, value or confidence is left.
        """
        return replace(
            self,
            status="error",
            validity=0,
            document=None,
            levels={},
            evidence={},
            confidence={},
            least_confidence=None,
            failures=self.failures + failure.attempts,
            error=f"{failure.kind}: {failure.message}",
        )

    def plain(self) -> JsonObject:
        """Return all of it as one JSON object."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_plain(cls, record: JsonObject) -> Observation:
        """Return what `plain` gave, read back from JSON; names that are not known are left out."""
        known = {item.name for item in fields(cls)}
        given = {name: value for name, value in record.items() if name in known}
        given["findings"] = tuple(given.get("findings", ()))
        if "retries" not in given:  # as a version before wrote it: what could be told without them
            given["retries"] = max(0, given.get("attempts", 0) - 1) + given.get("failures", 0)
        return cls(**given)


def _answer(result: ExtractionResult[Any]) -> str:
    """Return the text that was given out; "" where no model was asked."""
    if result.raw is not None:
        return result.raw.text
    return result.attempts[-1].text if result.attempts else ""


def _provenance(result: ExtractionResult[Any]) -> JsonObject:
    told = result.provenance
    record: JsonObject = to_jsonable_python(
        {
            "provider": told.provider,
            "model": told.model,
            "dialect": told.dialect,
            "fingerprint": told.fingerprint,
            "prompt": told.prompt,
            "parameters": dict(told.parameters),
            "versions": dict(told.versions),
        },
        fallback=str,
    )
    return record
