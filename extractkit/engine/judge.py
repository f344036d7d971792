"""After each answer: did it end cleanly, what does it say, how far does it hold.

Neighbours: `parsing` reads, `schema` takes back to the user's shape, `checks` climbs the levels.
The ending is looked at first: a prefix that parses is no answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pydantic_core

from extractkit import checks
from extractkit.engine.setup import Setup
from extractkit.engine.steps import Answer
from extractkit.errors import SchemaError
from extractkit.messages import ModelRequest, ModelResponse, StopReason
from extractkit.parsing import ParsedDocument, parse_json, parse_prefix
from extractkit.paths import JsonValue, Pointer, join
from extractkit.results import (
    Attempt,
    FieldState,
    Finding,
    LevelCount,
    PartialResult,
    Status,
    Validity,
)
from extractkit.schema import CompiledSchema, Fault

__all__ = ["Judged", "attempt_of", "checked", "judge", "judge_assembled"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Generic[T]):
    """A response and everything that the checks made of it.

    Attributes:
        request: What it answers.
        parsed: The document in it; None where it was not read as one.
        is_assembled: It is no model's answer, but put together of several; `response` is then the
            one that comes nearest.
    """

    response: ModelResponse
    status: Status
    attempt: Attempt
    value: T | None = None
    document: JsonValue = None
    levels: Mapping[Validity, LevelCount] = field(default_factory=dict[Validity, LevelCount])
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    partial: PartialResult | None = None
    leaves: Sequence[Pointer] = ()
    request: ModelRequest | None = None
    parsed: ParsedDocument | None = None
    is_assembled: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks said of this attempt."""
        return self.attempt.findings


_ENDINGS = {
    StopReason.LENGTH: Status.TRUNCATED,
    StopReason.REFUSAL: Status.REFUSED,
    StopReason.CONTENT_FILTER: Status.FILTERED,
}
_ENDING_WORDS = {
    Status.TRUNCATED: "the answer was cut off",
    Status.REFUSED: "the model declined",
    Status.FILTERED: "a content filter withheld the answer",
    Status.INVALID: "the model did not finish its answer",
}


def judge(setup: Setup[T], answer: Answer) -> Judged[T]:
    """Return what `answer` is worth; only a clean stop is read further than SYNTAX.

    Args:
        setup: How the question was put.
        answer: What came back.
    """
    response = answer.response
    if response.refusal:
        return _judge_unfinished(setup, answer, Status.REFUSED)
    if response.stop is not StopReason.STOP:
        ending = _ENDINGS.get(response.stop, Status.INVALID)
        return _judge_unfinished(setup, answer, ending)
    return _judge_whole(setup, answer)


def _judge_unfinished(setup: Setup[T], answer: Answer, status: Status) -> Judged[T]:
    response = answer.response
    parsed = parse_json(response.text, repair=False)
    detail = _detail(setup, response, status)
    finding = Finding(
        level=Validity.SCHEMA,
        path="",
        message=f"{_ENDING_WORDS[status]} ({detail}); what came is not known to be whole",
        code=status.value if status is not Status.INVALID else "unclean_stop",
    )
    validity = Validity.SYNTAX if parsed.ok else Validity.NONE
    findings = (finding, *parsed.findings)
    return Judged(
        response=response,
        status=status,
        attempt=attempt_of(answer, validity, findings),
        levels={Validity.SYNTAX: LevelCount(checked=1, failed=0 if parsed.ok else 1)},
        partial=_with_missing(
            setup.compiled, setup.compiled.take_back_unfinished(parse_prefix(response.text))
        ),
        request=answer.request,
    )


def _detail(setup: Setup[Any], response: ModelResponse, status: Status) -> str:
    """Return the provider's word for the ending, with the limit that a cut answer was under."""
    word = response.stop_detail or response.stop.value
    room = setup.request.sampling.max_output_tokens
    is_told = "max_output_tokens=" in word
    if status is not Status.TRUNCATED or response.broken or room is None or is_told:
        return word
    return f"{word}; Sampling(max_output_tokens={room})"


def _with_missing(compiled: CompiledSchema, partial: PartialResult) -> PartialResult:
    declared: Mapping[str, Any] = _resolved(compiled.user_schema).get("properties", {})
    missing = {
        join("", name): FieldState.MISSING
        for name in declared
        if join("", name) not in partial.states
    }
    return dataclasses.replace(partial, states={**partial.states, **missing})


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the root says: of a recursive type it is a reference."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions: Mapping[str, Mapping[str, Any]] = schema.get("$defs", {})
    return definitions.get(name, schema)


def _judge_whole(setup: Setup[T], answer: Answer) -> Judged[T]:
    response = answer.response
    question = setup.question
    parsed = parse_json(response.text, repair=question.decoding.repair).held_by(setup.compiled)
    if not parsed.ok:
        return _judge_unread(setup, answer, parsed.findings)
    document, faults = setup.compiled.take_back(parsed.value, digits=parsed.digits)
    outcome = checked(setup, document, faults)
    findings = (*parsed.findings, *_bounds_hit(setup, parsed.value), *outcome.findings)
    reached = outcome.built and outcome.validity >= question.require
    return Judged(
        response=response,
        status=Status.OK if reached else Status.INVALID,
        attempt=attempt_of(answer, outcome.validity, findings),
        value=outcome.value if reached else None,
        document=outcome.document,
        levels=outcome.levels,
        evidence=outcome.evidence,
        leaves=outcome.leaves,
        request=answer.request,
        parsed=parsed,
    )


def judge_assembled(setup: Setup[T], document: JsonValue, near: Judged[T]) -> Judged[T]:
    """Return what a document is worth that was put together of several answers.

    Args:
        setup: How the question was put.
        document: The document, in the user's form.
        near: The answer that comes nearest.
    """
    outcome = checked(setup, document, ())
    hits: tuple[Finding, ...] = ()
    if setup.bounded is not None:
        with contextlib.suppress(SchemaError):  # what does not fit is told by the checks
            hits = _bounds_hit(setup, setup.compiled.lower(document))
    reached = outcome.built and outcome.validity >= setup.question.require
    return dataclasses.replace(
        near,
        status=Status.OK if reached else Status.INVALID,
        attempt=Attempt(
            text=pydantic_core.to_json(document).decode(),
            stop_reason=StopReason.STOP,
            validity=outcome.validity,
            findings=(*hits, *outcome.findings),
        ),
        value=outcome.value if reached else None,
        document=outcome.document,
        levels=outcome.levels,
        evidence=outcome.evidence,
        leaves=outcome.leaves,
        request=None,
        parsed=None,
        is_assembled=True,
    )


def checked(setup: Setup[Any], document: JsonValue, faults: Sequence[Fault] = ()) -> checks.Outcome:
    """Return what the checks make of a document in the user's form."""
    question = setup.question
    return checks.run(
        setup.compiled,
        document,
        text=question.text,
        checks=question.checks,
        grounding=question.grounding,
        repair=question.decoding.repair,
        faults=[_unliftable(fault) for fault in faults],
    )


def _judge_unread(setup: Setup[T], answer: Answer, findings: Sequence[Finding]) -> Judged[T]:
    response = answer.response
    if _fills_its_room(setup, response):
        # Some servers call an answer finished that they cut off.
        detail = "it has as many tokens as max_output_tokens allows, and no end"
        cut = dataclasses.replace(response, stop_detail=detail)
        return _judge_unfinished(setup, dataclasses.replace(answer, response=cut), Status.TRUNCATED)
    return Judged(
        response=response,
        status=Status.INVALID,
        attempt=attempt_of(answer, Validity.NONE, findings),
        levels={Validity.SYNTAX: LevelCount(checked=1, failed=1)},
        request=answer.request,
    )


def _fills_its_room(setup: Setup[T], response: ModelResponse) -> bool:
    room = setup.request.sampling.max_output_tokens
    return room is not None and response.usage.output_tokens >= room


def _unliftable(fault: Fault) -> Finding:
    return Finding(
        level=Validity.SCHEMA,
        path=fault.pointer,
        message=f"the answer cannot be taken back to the user's form: {fault.message}",
        code="unliftable",
    )


def _bounds_hit(setup: Setup[T], wire: JsonValue) -> tuple[Finding, ...]:
    if setup.bounded is None:
        return ()
    return tuple(
        Finding(
            level=Validity.SCHEMA,
            path=hit.pointer,
            message=f"{hit.keyword}={hit.limit} leaves the value no more room: decoding added this "
            "limit because the model declares none, and may have cut it there: declare a limit",
            severity="warning",
            code="bound_hit",
        )
        for hit in setup.bounded.hits(wire)
    )


def attempt_of(answer: Answer, validity: Validity, findings: Sequence[Finding]) -> Attempt:
    """Return an answer as one of the attempts of a result."""
    response = answer.response
    return Attempt(
        text=response.text,
        stop_reason=response.stop,
        validity=validity,
        findings=tuple(findings),
        usage=response.usage,
        seconds=answer.seconds,
        failures=answer.failures,
        cached=response.cached,
    )
