"""Frozen values that say what is known of an answer, what was planned and what was asked for.

Neighbours: `checks`, `grounding`, `parsing` make the parts, `engine` puts them together, the
caller reads them. This room never calls a model and never parses an answer. All paths are JSON
Pointers into the user's own shape; offsets are 0-based characters with exclusive end;
probabilities lie in [0, 1].
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, PlainSerializer, PydanticUserError, TypeAdapter

from extractkit.errors import (
    ExtractionError,
    FilteredError,
    InvalidError,
    RefusedError,
    TruncatedError,
    UsageError,
)
from extractkit.messages import ModelResponse, StopReason, Usage
from extractkit.paths import JsonObject, JsonValue, Pointer, is_object
from extractkit.results._failure import RequestFailure
from extractkit.results._given import require_choice, require_pointer, require_texts
from extractkit.results._options import Decoding, Example, Grounding, Retry
from extractkit.results._partial import FieldNow, FieldState, PartialResult, Places, TypedNow
from extractkit.results._span import Evidence, Span
from extractkit.results._written import plain_value

__all__ = [
    "Attempt",
    "Confidence",
    "Decoding",
    "Example",
    "ExtractionResult",
    "FieldNow",
    "FieldState",
    "Finding",
    "Grounding",
    "LevelCount",
    "PartialResult",
    "Places",
    "Plan",
    "Provenance",
    "RequestFailure",
    "Retry",
    "Span",
    "Status",
    "Strategy",
    "Timing",
    "TypedNow",
    "Validity",
]

T = TypeVar("T")


class Validity(IntEnum):
    """How far an answer is known to hold, ordered; see the levels page of the docs."""

    NONE = 0
    SYNTAX = 1
    SCHEMA = 2
    CONSISTENT = 3
    GROUNDED = 4
    CORRECT = 5


_E = TypeVar("_E", bound=Enum)
_SEVERITIES = ("error", "warning", "note")


def _checked(kind: type[_E], owner: str, name: str, value: Any) -> _E:
    """Return the member of `kind` that `value` names."""
    try:
        return kind(value)
    except ValueError:
        raise UsageError(
            f"{owner}({name}={value!r}): expected one of {', '.join(kind.__members__)}"
        ) from None


def _level(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.upper() not in Validity.__members__:
        raise ValueError(f"{value!r} is no validity level")
    return Validity[value.upper()]


def _level_name(value: Validity) -> str:
    return value.name.lower()


_Level: TypeAlias = Annotated[
    Validity, BeforeValidator(_level), PlainSerializer(_level_name, return_type=str)
]


class Status(str, Enum):
    """How an extraction ended. Only OK has a value."""

    OK = "ok"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    INVALID = "invalid"


class Strategy(str, Enum):
    """How the model is brought to answer in the wanted shape, strongest first."""

    NATIVE = "native"
    LOCAL = "local"
    JSON_MODE = "json_mode"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check has to say about an answer.

    Attributes:
        level: The level that it concerns.
        path: JSON Pointer into the user's shape; "" is the whole answer.
        message: What was found, what was expected.
        severity: An "error" keeps the answer below `level`; a "warning" and a "note" do not.
        code: A short stable name of the rule, such as "bound_hit" or "duplicate_key".

    Raises:
        UsageError: If the level or the severity is none, the path is no pointer, message or code
            is no text, or an error names the level NONE.
    """

    level: _Level
    path: Pointer
    message: str
    severity: Literal["error", "warning", "note"] = "error"
    code: str = ""

    def __post_init__(self) -> None:
        # A check of the caller's may give the level as a number; nothing may be lost by that.
        object.__setattr__(self, "level", _checked(Validity, "Finding", "level", self.level))
        # One that is misspelt would count as no error, and let the answer pass.
        require_choice("Finding", "severity", self.severity, _SEVERITIES)
        require_texts("Finding", path=self.path, message=self.message, code=self.code)
        require_pointer("Finding", "path", self.path)
        if self.severity == "error" and self.level is Validity.NONE:
            raise UsageError("Finding(level=NONE): an error keeps an answer below a level; name it")


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCount:
    """How many things were looked at on one level, left out by rule, and failed."""

    checked: int = 0
    exempt: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure the model was of one value, and how that was computed.

    Attributes:
        kind: "choice" and "sequence" come from token log-probabilities and are not comparable;
            "agreement" comes from several answers; "unavailable" has a `reason` and no number.
        probability: In [0, 1], or None.
        low: Lower bound in [0, 1], or None.
        high: Upper bound in [0, 1], or None.
        alternatives: Probability of each legal value, by its JSON text.
        removed_mass: Largest share of the model's own probability that the mask took away.
        reason: Why there is no number, or what limits it.
        weakest: Of a sequence, the probability of its least probable token.
    """

    kind: Literal["choice", "sequence", "agreement", "unavailable"]
    probability: float | None = None
    low: float | None = None
    high: float | None = None
    alternatives: Mapping[str, float] = field(default_factory=dict[str, float])
    removed_mass: float | None = None
    reason: str = ""
    weakest: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds from the start of an extraction.

    Attributes:
        total_s: Until the result.
        time_to_first_token_s: Until the first text of an answer came; None where no answer was
            read while it came, as with `extract`.
        first_field_s: Until the first field was final; None likewise, and where none was.
    """

    total_s: float = 0.0
    time_to_first_token_s: float | None = None
    first_field_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a question will be put, and why so.

    Attributes:
        strategy: How the model is brought to the wanted shape.
        reason: The choice, as a sentence.
        dialect: The dialect that the schema is written in.
        two_step: The model reasons freely first; only the answer after that is asked for in the
            wanted shape.
    """

    strategy: Strategy
    reason: str
    dialect: str
    two_step: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One answer of a model, whether it was good enough or not.

    Attributes:
        text: The answer as it came.
        stop_reason: Why the model stopped.
        validity: The level that the answer reached.
        findings: What the checks said.
        usage: Tokens of this attempt.
        seconds: Wall time of the request.
        failures: What went wrong on the way before this answer came, in order.
        cached: It came out of a cache: nobody was asked, and `usage` was spent earlier.
    """

    text: str
    stop_reason: StopReason
    validity: _Level
    findings: tuple[Finding, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What an answer came from, enough to ask again.

    Attributes:
        provider: Who was asked.
        model: What answered, as exactly as the provider says.
        dialect: Schema dialect of the request.
        fingerprint: Digest of the schema as it was sent.
        prompt: Version of the prompt's wording.
        parameters: Sampling parameters that were sent.
        versions: Versions of this library and of the packages that did the work.
        details: Facts that the provider added.
    """

    provider: str = ""
    model: str = ""
    dialect: str = ""
    fingerprint: str = ""
    prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionResult(Generic[T]):
    """A typed value together with what is known about it.

    Attributes:
        value: The value; None unless `status` is OK.
        document: The answer in the user's shape as plain JSON, wherever it parsed.
        status: How the extraction ended.
        validity: The highest level such that every level up to it holds.
        levels: How much was checked, exempt and failed, by level.
        findings: Everything that the checks of the returned attempt said.
        evidence: Where each found value stands in the text, by pointer.
        confidence: How sure the model was of each leaf, by pointer.
        strategy: How the model was asked.
        strategy_reason: Why so, as a sentence.
        refusal: What the model said when it declined.
        stop_reason: Why the model stopped.
        partial: What could be read of an answer that is not whole.
        usage: Tokens of all attempts together; one out of a cache counts none.
        cost_usd: What they cost in US dollars; None where no price was asked for or known.
        presence: How sure it was that null, nothing or a value of this type stands at a place
            that could hold another, by pointer of leaf, object or list.
        lengths: How sure it was of the length of each list, by pointer; where several answers were
            drawn, how far they agree on it.
        token_confidence: Where several answers were drawn and `confidence` says how far they
            agree: what the tokens of the returned one say of each leaf, and of lengths and keys
            left out; empty elsewhere.
        verdicts: With `Decoding(verdict=True)`: how probable it is to the model, asked once more,
            that a text or number is right; by pointer, always a choice or unavailable.
        attempts: Every answer in order.
        raw: The returned attempt's response as it came, with its tokens; None where the answer was
            put together of several.
        provenance: Model, parameters, schema fingerprint and versions.
        timing: How long it took, and, of a stream, how soon something of it was there.
        retries: How often a request was sent again, because one failed or its answer would not do.
        failure: How a request for another answer failed for good, so that this is what came before
            it, and not all that the model would have said; None where none did.
    """

    value: T | None
    document: JsonValue
    status: Status
    validity: _Level
    levels: Mapping[_Level, LevelCount]
    findings: tuple[Finding, ...]
    evidence: Evidence
    confidence: Mapping[Pointer, Confidence]
    strategy: Strategy
    strategy_reason: str
    refusal: str | None
    stop_reason: StopReason
    partial: PartialResult | None
    usage: Usage
    attempts: tuple[Attempt, ...]
    raw: ModelResponse | None
    provenance: Provenance
    cost_usd: Decimal | None = None
    presence: Mapping[Pointer, Confidence] = field(default_factory=dict[str, Confidence])
    lengths: Mapping[Pointer, Confidence] = field(default_factory=dict[str, Confidence])
    token_confidence: Mapping[Pointer, Confidence] = field(default_factory=dict[str, Confidence])
    verdicts: Mapping[Pointer, Confidence] = field(default_factory=dict[str, Confidence])
    timing: Timing = Timing()
    retries: int = 0
    failure: RequestFailure | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.status is Status.OK

    def unwrap(self) -> T:
        """Return the value.

        Raises:
            RefusedError: If the model declined.
            TruncatedError: If the answer was cut off.
            FilteredError: If a content filter withheld it.
            InvalidError: If no answer reached the required level.
        """
        if self.status is Status.OK:
            return self.value  # type: ignore[return-value]  # OK has a value; T may hold None
        raise _UNWRAP_ERRORS[self.status](self._why(), result=self)

    def _why(self) -> str:
        if self.status is Status.REFUSED:
            return f"the model declined: {self.refusal or '(it gave no reason)'}"
        if self.status is Status.TRUNCATED:
            return self._why_cut()
        if self.status is Status.FILTERED:
            return "a content filter withheld the answer; what was read is in result.partial"
        errors = [finding for finding in self.findings if finding.severity == "error"]
        shown = "; ".join(
            f"{finding.path or '(root)'}: {finding.message}" for finding in errors[:5]
        )
        more = f" (and {len(errors) - 5} more)" if len(errors) > 5 else ""
        return (
            f"no answer of {len(self.attempts)} can be taken; the best reached "
            f"{self.validity.name}: {shown or 'no finding'}{more}"
        )

    def _why_cut(self) -> str:
        detail = (self.raw.stop_detail if self.raw else "") or self.stop_reason.value
        cut = f"the answer was cut off ({detail}) after {self.usage.output_tokens} tokens"
        if self.raw and self.raw.broken:
            return f"{cut}: {self.raw.broken}; what was read is in result.partial"
        limit = self.provenance.parameters.get("max_output_tokens", "...")
        return (
            f"{cut}; raise Sampling(max_output_tokens={limit}) or shorten the text; what was read "
            "is in result.partial"
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the whole result as JSON text; `from_json` reads it back.

        `value` is written for readers in other languages; `from_json` makes it anew from
        `document`. A NaN or an infinite number, as a default or a validator makes them, is written
        there as the text "NaN", "Infinity" or "-Infinity".

        Raises:
            UsageError: If the value has something that JSON cannot say.
        """
        record = self.to_record()
        try:
            return json.dumps(record, ensure_ascii=False, indent=indent, allow_nan=False)
        except (ValueError, RecursionError) as exc:
            raise UsageError(f"this result cannot be written as JSON: {exc}") from exc

    def to_record(self) -> JsonObject:
        """Return what `to_json` writes as plain Python; `from_record` reads it back.

        Raises:
            UsageError: If the value has something that JSON cannot say. A NaN in `document` is
                left for who writes the record.
        """
        try:
            plain = dataclasses.replace(self, value=None)
            record: JsonObject = _adapter().dump_python(plain, mode="json")
            record["value"] = plain_value(self.value)
        except (ValueError, RecursionError) as exc:
            raise UsageError(f"this result cannot be written as JSON: {exc}") from exc
        return record

    @classmethod
    def from_json(cls, target: Any, text: str) -> ExtractionResult[Any]:
        """Return the result that `to_json` wrote. The record is believed, not checked again.

        Args:
            target: The target of the extraction, for the type of the value.
            text: What `to_json` returned.

        Raises:
            UsageError: If the text is not such a record, or does not fit the target.
        """
        try:
            record = json.loads(text)
        except (TypeError, ValueError, RecursionError) as exc:
            raise UsageError(f"not a result of this target: {exc}") from exc
        return cls.from_record(target, record)

    @classmethod
    def from_record(cls, target: Any, record: JsonValue) -> ExtractionResult[Any]:
        """Return the result of which `to_record` made this. It is believed, not checked again.

        Args:
            target: The target of the extraction, for the type of the value.
            record: What `to_record` returned.

        Raises:
            UsageError: If it is no such record, or does not fit the target.
        """
        try:
            if not is_object(record):
                raise UsageError(f"not a result: a JSON {type(record).__name__}, not an object")
            result: ExtractionResult[Any] = _adapter().validate_json(
                json.dumps({**record, "value": None})
            )
            value = _value_of(result, target)
        except (ValueError, TypeError, RecursionError, NameError, PydanticUserError) as exc:
            raise UsageError(f"not a result of this target: {exc}") from exc
        return dataclasses.replace(result, value=value)


def _value_of(result: ExtractionResult[Any], target: Any) -> Any:
    if result.status is not Status.OK or isinstance(target, dict):
        return result.document if result.status is Status.OK else None
    return TypeAdapter(target).validate_json(json.dumps(result.document))


_UNWRAP_ERRORS: Mapping[Status, type[ExtractionError]] = {
    Status.REFUSED: RefusedError,
    Status.TRUNCATED: TruncatedError,
    Status.FILTERED: FilteredError,
    Status.INVALID: InvalidError,
}


@cache
def _adapter() -> TypeAdapter[ExtractionResult[Any]]:
    return TypeAdapter(ExtractionResult[Any])
