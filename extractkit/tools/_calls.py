"""What a model asks for at once: its calls, or words in their place, and what is known of both.

Neighbours: `_read` has judged each call by itself, the engine the answer as a whole; here the two
are brought together. Nothing is executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

from extractkit.checks import required_only
from extractkit.messages import ModelResponse, RawToolCall, StopReason, Usage
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.results import (
    Attempt,
    Confidence,
    ExtractionResult,
    Finding,
    PartialResult,
    Provenance,
    Status,
    Strategy,
    Validity,
)
from extractkit.tools._answer import arguments_at
from extractkit.tools._call import ENDING_WORDS, ERRORS, ToolCall, errors_in

__all__ = ["ToolCalls", "gathered", "listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls(Sequence[ToolCall]):
    """The calls that a model asks for, in order; a sequence of them. None is carried out.

    Attributes:
        calls: Each call with what is known of it.
        text: What the model said in words, beside calls or in their place; None for nothing.
        status: How the answer ended; OK without any call, where none was required.
        validity: The level that the whole answer reached.
        findings: What there is to say of the whole; what is said of one call is in its own.
        confidence: How sure the model was, by pointer into the answer that lists the calls, as in
            "/calls/0/name"; empty where the calls came as such, without tokens.
        lengths: How sure it was that there are so many calls: of "/calls"; empty likewise.
        strategy: How the model was asked.
        strategy_reason: Why so, as a sentence.
        refusal: What the model said when it declined.
        stop_reason: Why the model stopped.
        usage: Tokens of all attempts together.
        attempts: Every answer in order.
        raw: The response that the calls are of.
        provenance: Model, parameters and versions.
    """

    calls: tuple[ToolCall, ...]
    text: str | None
    status: Status
    validity: Validity
    findings: tuple[Finding, ...]
    confidence: Mapping[Pointer, Confidence]
    lengths: Mapping[Pointer, Confidence]
    strategy: Strategy
    strategy_reason: str
    refusal: str | None
    stop_reason: StopReason
    usage: Usage
    attempts: tuple[Attempt, ...]
    raw: ModelResponse | None
    provenance: Provenance

    @property
    def ok(self) -> bool:
        """Whether the answer is one: every call of it may be carried out, and there may be none."""
        return self.status is Status.OK

    def unwrap(self) -> tuple[ToolCall, ...]:
        """Return the calls, of which there may be none.

        Raises:
            RefusedError: If the model declined.
            TruncatedError: If the answer was cut off.
            FilteredError: If a content filter withheld it.
            InvalidError: If a call, or the answer as a whole, did not reach the required level.
        """
        if self.ok:
            return self.calls
        raise ERRORS[self.status](self._why(), result=self)

    def _why(self) -> str:
        ended = ENDING_WORDS.get(self.status, "the calls cannot be taken")
        said = f": {self.refusal}" if self.refusal else ""
        own = [
            (call.name, errors_in([item for item in call.findings if item.code != _WHOLE]))
            for call in self.calls
        ]
        wrong = [f"{name!r}: {errors}" for name, errors in own if errors]
        told = "; ".join(filter(None, [errors_in(self.findings), *wrong]))
        return f"{ended}{said}; of {len(self.attempts)} answers: {told or 'no finding'}"

    def __len__(self) -> int:
        return len(self.calls)

    @overload
    def __getitem__(self, place: int) -> ToolCall: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[ToolCall, ...]: ...
    def __getitem__(self, place: int | slice) -> ToolCall | tuple[ToolCall, ...]:
        return self.calls[place]

    def __iter__(self) -> Iterator[ToolCall]:
        return iter(self.calls)


def listed(result: ExtractionResult[Any]) -> ModelResponse:
    """Return an answer that lists calls as a response that has them."""
    document = result.document
    if document is None and result.partial is not None:
        document = result.partial.document
    found: JsonValue = document.get("calls") if is_object(document) else None
    items: list[JsonValue] = found if is_array(found) else []
    return ModelResponse(
        text="",
        stop=result.stop_reason,
        stop_detail="" if result.raw is None else result.raw.stop_detail,
        refusal=result.refusal,
        tool_calls=tuple([_raw(item) for item in items]),
    )


def _raw(item: JsonValue) -> RawToolCall:
    call: JsonObject = item if is_object(item) else {}
    name: JsonValue = call.get("name")
    arguments = json.dumps(call["arguments"], ensure_ascii=False) if "arguments" in call else ""
    return RawToolCall(name=name if isinstance(name, str) else "", arguments=arguments)


def gathered(
    calls: Sequence[ToolCall], result: ExtractionResult[Any], *, text: str | None = None
) -> ToolCalls:
    """Return the calls of an answer together with what is known of the whole.

    Args:
        calls: The calls of the answer, each judged by itself.
        result: The answer that lists them, judged as a whole.
        text: What the model said in words.
    """
    whole = tuple([item for item in result.findings if _place_of(item, len(calls)) is None])
    fallen = _fallen(whole) if result.status is Status.INVALID else []
    made: list[ToolCall] = []
    for place, call in enumerate(calls):
        told = [*_told_of(place, call, result, len(calls)), *_same(call, calls[:place])]
        made.append(_with(call, [*told, *fallen], place, result))
    status = result.status
    if status is Status.OK and not all(call.ok for call in made):
        status = Status.INVALID
    return ToolCalls(
        calls=tuple(made),
        text=text or None,
        status=status,
        validity=result.validity,
        findings=whole,
        confidence=result.confidence,
        lengths=result.lengths,
        strategy=result.strategy,
        strategy_reason=result.strategy_reason,
        refusal=result.refusal,
        stop_reason=result.stop_reason,
        usage=result.usage,
        attempts=result.attempts,
        raw=result.raw,
        provenance=result.provenance,
    )


def _fallen(whole: Sequence[Finding]) -> list[Finding]:
    """Return what is said of each call where the whole does not hold: it is not done in parts."""
    errors = list(filter(_is_error, whole))
    if not errors:
        return []
    return [
        Finding(
            level=min(item.level for item in errors),
            path="",
            message=f"the answer as a whole does not hold: {errors_in(errors)}",
            code=_WHOLE,
        )
    ]


_WHOLE: Final = "whole_invalid"


def _place_of(finding: Finding, count: int) -> int | None:
    """Return which call a finding is about; None for the whole, or what came beyond the calls."""
    root, *rest = finding.path.split("/")[1:] or [""]
    is_one = root == "calls" and rest and rest[0].isdecimal() and int(rest[0]) < count
    return int(rest[0]) if is_one else None


def _told_of(
    place: int, call: ToolCall, result: ExtractionResult[Any], count: int
) -> Iterator[Finding]:
    """Yield what is said of a call as a part of the whole, and was not said of it by itself."""
    at = arguments_at(place)
    known = {(item.code, item.path, item.message) for item in call.findings}
    has_no_value = not call.ok and not _only_lacks_source(call)
    for item in result.findings:
        if _place_of(item, count) != place or (_is_error(item) and has_no_value):
            continue  # what is wrong with it by itself is said more exactly there
        inner = item.path.removeprefix(at) if _is_within(item.path, at) else ""
        if (item.code, inner, item.message) not in known:
            yield replace(item, path=inner)


def _only_lacks_source(call: ToolCall) -> bool:
    return call.status is Status.INVALID and all(
        item.level >= Validity.GROUNDED for item in call.findings if _is_error(item)
    )


def _same(call: ToolCall, before: Sequence[ToolCall]) -> list[Finding]:
    """Return a warning where the same call came before."""
    if not any(other.name == call.name and other.document == call.document for other in before):
        return []
    message = "the same call, with the same arguments, stands before this one"
    return [
        Finding(
            level=Validity.CONSISTENT,
            path="",
            message=message,
            severity="warning",
            code="same_call",
        )
    ]


def _with(
    call: ToolCall, told: Sequence[Finding], place: int, result: ExtractionResult[Any]
) -> ToolCall:
    """Return a call with what is said of it beside its own findings; errors may fell it."""
    at = arguments_at(place)
    confidence = {
        pointer.removeprefix(at): found
        for pointer, found in result.confidence.items()
        if _is_within(pointer, at)
    }
    call = replace(
        call,
        findings=(*call.findings, *[required_only(item, call.require) for item in told]),
        confidence=confidence or call.confidence,
        partial=None if call.partial is None else _partial(call.partial, at, result),
    )
    errors = [item.level for item in told if _is_error(item)]
    if not call.ok or not errors:
        return call
    validity = min(call.validity, Validity(min(errors) - 1))
    is_ok = validity >= call.require
    return replace(
        call,
        validity=validity,
        status=Status.OK if is_ok else Status.INVALID,
        value=call.value if is_ok else None,
    )


def _partial(own: PartialResult, at: Pointer, result: ExtractionResult[Any]) -> PartialResult:
    """Return what came of a call, with the states that its values had in the whole."""
    whole = result.partial or PartialResult()
    states = {
        pointer.removeprefix(at): state
        for pointer, state in whole.states.items()
        if _is_within(pointer, at)
    }
    return replace(own, states=states) if states else own


def _is_within(pointer: Pointer, at: Pointer) -> bool:
    return pointer == at or pointer.startswith(f"{at}/")


def _is_error(finding: Finding) -> bool:
    return finding.severity == "error"
