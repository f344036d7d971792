"""The one flow from a question to a result, and the two drivers that carry its calls out.

`extract_flow` is a generator: it yields a Call and is sent the ModelResponse, or has the error
thrown in. It never awaits, sleeps or opens anything, and reads the clock only through the
function that it is given. Neighbours: `api` starts it, a Provider answers its calls.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar

import pydantic_core

from extractkit import checks, prompts, strategies
from extractkit.errors import DeadlineExceededError, ExtractkitError, SchemaError, UsageError
from extractkit.messages import (
    Capabilities,
    Constraint,
    ModelRequest,
    ModelResponse,
    Provider,
    Sampling,
    StopReason,
    Usage,
)
from extractkit.parsing import parse_json, parse_prefix
from extractkit.paths import JsonValue, join, walk
from extractkit.results import (
    Attempt,
    Confidence,
    Decoding,
    Example,
    ExtractionResult,
    FieldState,
    Finding,
    Grounding,
    LevelCount,
    PartialResult,
    Plan,
    Provenance,
    Retry,
    Status,
    Strategy,
    Validity,
)
from extractkit.schema import BoundedSchema, CompiledSchema, compile_schema

__all__ = ["Call", "Flow", "Question", "adrive", "drive", "extract_flow"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """Everything that one extraction is about, except who answers it.

    The fields are the arguments of `extract`; see there.
    """

    target: Any
    text: str
    strategy: Strategy | str = "auto"
    instructions: str | None = None
    examples: tuple[Example, ...] = ()
    checks: tuple[checks.Check, ...] = ()
    require: Validity = Validity.CONSISTENT
    sampling: Sampling = Sampling()
    decoding: Decoding = Decoding()
    grounding: Grounding = Grounding()
    retry: Retry = Retry()
    timeout_s: float | None = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to be sent now, and the seconds that are left for it (None: no limit)."""

    request: ModelRequest
    timeout_s: float | None


Flow: TypeAlias = Generator[Call, ModelResponse, ExtractionResult[T]]


def drive(flow: Flow[T], provider: Provider) -> ExtractionResult[T]:
    """Return the result of `flow`, its calls carried out by `provider` one after the other.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        call = next(flow)
        while True:
            try:
                response = provider.complete(call.request, timeout_s=call.timeout_s)
            except ExtractkitError as error:
                call = flow.throw(error)
            else:
                call = flow.send(response)
    except StopIteration as done:
        result: ExtractionResult[T] = done.value
        return result


async def adrive(flow: Flow[T], provider: Provider) -> ExtractionResult[T]:
    """Return the result of `flow` as `drive` does, without blocking the event loop.

    Raises:
        ExtractkitError: Whatever the flow lets through; see `extract`.
    """
    try:
        call = next(flow)
        while True:
            try:
                response = await provider.acomplete(call.request, timeout_s=call.timeout_s)
            except ExtractkitError as error:
                call = flow.throw(error)
            else:
                call = flow.send(response)
    except StopIteration as done:
        result: ExtractionResult[T] = done.value
        return result


def extract_flow(
    question: Question[T], *, provider: str, capabilities: Capabilities, clock: Callable[[], float]
) -> Flow[T]:
    """Yield the calls that `question` needs; return the result.

    Args:
        question: What is asked.
        provider: Name of who answers, for provenance.
        capabilities: What the answering model can do.
        clock: Seconds from any fixed start, never going back.

    Raises:
        UsageError: If the question cannot be put as written; before any call.
        DeadlineExceededError: If `timeout_s` ended before the first answer.
        ProviderError: If a call failed.
    """
    deadline = None if question.timeout_s is None else clock() + question.timeout_s
    setup = _prepare(question, capabilities)
    judged: list[_Judged[T]] = []
    request = setup.request
    while True:
        began = clock()
        try:
            response = yield Call(request=request, timeout_s=_left(deadline, began))
        except DeadlineExceededError as error:
            if not judged:
                raise DeadlineExceededError(
                    f"no answer within timeout_s={question.timeout_s}: {error.message}",
                    timeout_s=question.timeout_s,
                ) from error
            return _result(setup, provider, judged, note="the time ended before another answer")
        judged.append(_judge(setup, response, seconds=clock() - began))
        again = _why_again(setup, judged)
        if not again:
            return _result(setup, provider, judged)
        if deadline is not None and clock() >= deadline:
            return _result(setup, provider, judged, note="no time was left for another answer")
        request = dataclasses.replace(
            setup.request,
            messages=prompts.feedback(setup.request, response.text, judged[-1].findings),
        )


# --- before the first call ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup(Generic[T]):
    question: Question[T]
    plan: Plan
    compiled: CompiledSchema
    bounded: BoundedSchema | None
    request: ModelRequest


def _prepare(question: Question[T], capabilities: Capabilities) -> _Setup[T]:
    _check_text(question.text)
    if question.require not in (Validity.SCHEMA, Validity.CONSISTENT, Validity.GROUNDED):
        raise UsageError(
            f"require={question.require!r}: expected SCHEMA, CONSISTENT or GROUNDED (below SCHEMA "
            "there is no value; CORRECT is for an evaluation against labels to say)"
        )
    expressed = _express(question.target, capabilities)
    plan = strategies.choose(expressed, capabilities, question.strategy)
    compiled = (
        expressed
        if isinstance(expressed, CompiledSchema) and expressed.dialect == plan.dialect
        else compile_schema(question.target, plan.dialect)
    )
    bounded = compiled.bounded() if plan.strategy is Strategy.LOCAL else None
    request = prompts.build(
        plan,
        compiled,
        question.text,
        constraint=_constraint(plan, compiled, bounded),
        instructions=question.instructions,
        examples=[
            _example(compiled, position, item) for position, item in enumerate(question.examples)
        ],
        sampling=question.sampling,
        top_logprobs=5 if question.decoding.confidence and capabilities.logprobs else None,
    )
    return _Setup(question=question, plan=plan, compiled=compiled, bounded=bounded, request=request)


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise UsageError(
            f"text is a {type(text).__name__}; expected str (decode bytes first, with the encoding "
            "that the source really has)"
        )
    if not text.strip():
        raise UsageError("text is empty: there is nothing to extract from")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"text[{error.start}] is a lone surrogate (U+{ord(text[error.start]):04X}), which no "
            "encoding can carry; decode the source with errors='replace' instead of "
            "'surrogateescape'"
        ) from None


def _express(target: Any, capabilities: Capabilities) -> CompiledSchema | SchemaError | None:
    if capabilities.dialect is None:
        return None
    try:
        return compile_schema(target, capabilities.dialect)
    except SchemaError as error:
        compile_schema(target, strategies.PLAIN_DIALECT)  # a target that nothing can hold ends here
        return error


def _constraint(
    plan: Plan, compiled: CompiledSchema, bounded: BoundedSchema | None
) -> Constraint | None:
    if bounded is not None:
        return Constraint(
            schema=bounded.schema,
            name=compiled.name,
            minimal_text=pydantic_core.to_json(bounded.minimal).decode(),
        )
    if plan.strategy is Strategy.NATIVE:
        return Constraint(schema=compiled.schema, name=compiled.name)
    return None


def _example(compiled: CompiledSchema, position: int, example: Example) -> tuple[str, JsonValue]:
    where = f"examples[{position}]"
    try:
        _check_text(example.text)
        if compiled.adapter is None:
            document: JsonValue = pydantic_core.to_jsonable_python(example.value)
        else:
            value = compiled.adapter.validate_python(example.value)
            document = compiled.adapter.dump_python(value, mode="json", by_alias=True)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{where} does not fit the target: {error}") from error
    return example.text, compiled.lower(document)


# --- after each answer -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged(Generic[T]):
    """A response and everything that the checks made of it."""

    response: ModelResponse
    status: Status
    attempt: Attempt
    value: T | None = None
    document: JsonValue = None
    levels: Mapping[Validity, LevelCount] = field(default_factory=dict[Validity, LevelCount])
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    partial: PartialResult | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.attempt.findings


_ENDINGS = {
    StopReason.LENGTH: Status.TRUNCATED,
    StopReason.REFUSAL: Status.REFUSED,
    StopReason.CONTENT_FILTER: Status.FILTERED,
}


def _judge(setup: _Setup[T], response: ModelResponse, *, seconds: float) -> _Judged[T]:
    if response.refusal is not None:
        return _judge_unfinished(setup, response, Status.REFUSED, seconds)
    if response.stop is not StopReason.STOP:
        ending = _ENDINGS.get(response.stop, Status.INVALID)
        return _judge_unfinished(setup, response, ending, seconds)
    return _judge_whole(setup, response, seconds)


def _judge_unfinished(
    setup: _Setup[T], response: ModelResponse, status: Status, seconds: float
) -> _Judged[T]:
    parsed = parse_json(response.text, repair=False)
    detail = response.stop_detail or response.stop.value
    finding = Finding(
        level=Validity.SCHEMA,
        path="",
        message=f"the model did not finish its answer ({detail}); it is not known to be whole",
        code=status.value if status is not Status.INVALID else "unclean_stop",
    )
    validity = Validity.SYNTAX if parsed.ok else Validity.NONE
    findings = (*parsed.findings, finding) if parsed.ok else (finding,)
    return _Judged(
        response=response,
        status=status,
        attempt=_attempt(response, validity, findings, seconds),
        levels={Validity.SYNTAX: LevelCount(checked=1, failed=0 if parsed.ok else 1)},
        partial=_with_missing(setup.compiled, parse_prefix(response.text)),
    )


def _with_missing(compiled: CompiledSchema, partial: PartialResult) -> PartialResult:
    declared: Mapping[str, Any] = compiled.schema.get("properties", {})
    missing = {
        join("", name): FieldState.MISSING
        for name in declared
        if join("", name) not in partial.states
    }
    return dataclasses.replace(partial, states={**partial.states, **missing})


def _judge_whole(setup: _Setup[T], response: ModelResponse, seconds: float) -> _Judged[T]:
    question = setup.question
    parsed = parse_json(response.text, repair=question.decoding.repair)
    if not parsed.ok:
        return _Judged(
            response=response,
            status=Status.INVALID,
            attempt=_attempt(response, Validity.NONE, parsed.findings, seconds),
            levels={Validity.SYNTAX: LevelCount(checked=1, failed=1)},
        )
    document, lifting = _lift(setup.compiled, parsed.value)
    outcome = checks.run(
        setup.compiled,
        document,
        text=question.text,
        checks=question.checks,
        grounding=question.grounding,
        repair=question.decoding.repair,
    )
    findings = (*parsed.findings, *lifting, *_bounds_hit(setup, parsed.value), *outcome.findings)
    reached = outcome.built and outcome.validity >= question.require and not lifting
    return _Judged(
        response=response,
        status=Status.OK if reached else Status.INVALID,
        attempt=_attempt(
            response, Validity.SYNTAX if lifting else outcome.validity, findings, seconds
        ),
        value=outcome.value if reached else None,
        document=outcome.document,
        levels=outcome.levels,
        evidence=outcome.evidence,
    )


def _lift(compiled: CompiledSchema, wire: JsonValue) -> tuple[JsonValue, tuple[Finding, ...]]:
    """Return the user's shape; what cannot be taken back is a finding and stays as it came."""
    try:
        return compiled.lift(wire), ()
    except SchemaError as error:
        finding = Finding(
            level=Validity.SCHEMA, path=error.pointer or "", message=error.message, code="lift"
        )
        return wire, (finding,)


def _bounds_hit(setup: _Setup[T], wire: JsonValue) -> tuple[Finding, ...]:
    if setup.bounded is None:
        return ()
    return tuple(
        Finding(
            level=Validity.SCHEMA,
            path=hit.pointer,
            message=f"the value stands exactly at {hit.keyword}={hit.limit}, a limit that decoding "
            "added because the model declares none; it may have been cut there: declare a limit",
            severity="warning",
            code="bound_hit",
        )
        for hit in setup.bounded.hits(wire)
    )


def _attempt(
    response: ModelResponse, validity: Validity, findings: Sequence[Finding], seconds: float
) -> Attempt:
    return Attempt(
        text=response.text,
        stop_reason=response.stop,
        validity=validity,
        findings=tuple(findings),
        usage=response.usage,
        seconds=seconds,
    )


def _why_again(setup: _Setup[T], judged: Sequence[_Judged[T]]) -> bool:
    """Whether another answer can help: the last one is whole, falls short and is a new one."""
    last = judged[-1]
    if last.status is not Status.INVALID or last.response.stop is not StopReason.STOP:
        return False
    if len(judged) > setup.question.retry.answers:
        return False
    return all(last.response.text != earlier.response.text for earlier in judged[:-1])


# --- the result --------------------------------------------------------------------------------


def _result(
    setup: _Setup[T], provider: str, judged: Sequence[_Judged[T]], *, note: str = ""
) -> ExtractionResult[T]:
    last = judged[-1]
    best = last if last.status is not Status.INVALID else max(judged, key=_rank)
    usage = sum((item.response.usage for item in judged), Usage())
    findings = best.findings
    if note:
        findings = (*findings, Finding(level=Validity.NONE, path="", message=note, severity="note"))
    return ExtractionResult(
        value=best.value,
        document=best.document,
        status=best.status,
        validity=best.attempt.validity,
        levels=best.levels,
        findings=findings,
        evidence=best.evidence,
        confidence=_confidence(best.document),
        strategy=setup.plan.strategy,
        strategy_reason=setup.plan.reason,
        refusal=best.response.refusal,
        stop_reason=best.response.stop,
        partial=best.partial,
        usage=usage,
        attempts=tuple(item.attempt for item in judged),
        raw=best.response,
        provenance=_provenance(setup, provider, best.response),
    )


def _rank(judged: _Judged[Any]) -> tuple[int, int]:
    errors = sum(finding.severity == "error" for finding in judged.findings)
    return judged.attempt.validity, -errors


def _confidence(document: JsonValue) -> Mapping[str, Confidence]:
    unavailable = Confidence(
        kind="unavailable",
        reason="not built yet: the tokens with their log-probabilities are in result.raw.tokens",
    )
    return {pointer: unavailable for pointer, _ in walk(document)} if document is not None else {}


def _provenance(setup: _Setup[Any], provider: str, response: ModelResponse) -> Provenance:
    sampling = dataclasses.asdict(setup.request.sampling)
    return Provenance(
        provider=provider,
        model=response.model,
        dialect=setup.compiled.dialect,
        fingerprint=setup.compiled.fingerprint,
        prompt=prompts.VERSION,
        parameters={name: value for name, value in sampling.items() if value is not None},
        versions=_versions(),
        details=response.details,
    )


@cache
def _versions() -> Mapping[str, str]:
    names = ("extractkit", "pydantic", "pydantic-core", "jsonschema-rs", "outlines", "llguidance")
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _left(deadline: float | None, now: float) -> float | None:
    return None if deadline is None else max(0.0, deadline - now)
