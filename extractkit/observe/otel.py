"""Events as OpenTelemetry spans, named by the semantic conventions for generative AI.

Neighbours: `observe` has the events. One span per extraction, and under it one per request; what
the conventions have no name for is called extractkit.*. No span holds text unless asked to.
This file never configures OpenTelemetry, and never makes a span the current one: events come
out of a flow that may move between threads and tasks.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from extractkit.errors import MissingDependencyError
from extractkit.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    StopReason,
    Usage,
)
from extractkit.observe import (
    AttemptFailed,
    ChecksFinished,
    Event,
    ExtractionFailed,
    ExtractionFinished,
    ExtractionStarted,
    FirstFieldReceived,
    FirstTokenReceived,
    Observer,
    RequestSent,
    ResponseReceived,
)

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

__all__ = ["otel_events"]

_MOST_OPEN: Final = 4096

_PROVIDERS: Final = {"openai-chat": "openai", "openai-responses": "openai"}
"""Our names of providers where the conventions have another; theirs may be extended."""

_SAMPLING: Final = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "min_p": "extractkit.request.min_p",
    "seed": "gen_ai.request.seed",
    "repetition_penalty": "extractkit.request.repetition_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "effort": "gen_ai.request.reasoning.level",
}


def otel_events(tracer: Tracer | None = None, *, content: bool = False) -> Observer:
    """Return an observer that makes a span of each extraction and of each request.

    Args:
        tracer: Who makes the spans; None for the global provider's tracer "extractkit".
        content: Whether spans hold what was asked and answered, and what errors say. That is
            the text of your documents.

    Raises:
        MissingDependencyError: If OpenTelemetry's API is not installed.
    """
    try:
        from opentelemetry import trace
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_feature(
            "otel_events", package="opentelemetry-api", extra="otel"
        ) from error
    return _Spans(tracer or trace.get_tracer("extractkit"), content=content)


@dataclass(slots=True, kw_only=True)
class _Open:
    """The spans of one extraction that have not ended."""

    span: Span
    requests: dict[int, Span] = field(default_factory=dict[int, Any])


class _Spans:
    """The observer; extractions may come interleaved and from several threads."""

    def __init__(self, tracer: Tracer, *, content: bool, most_open: int = _MOST_OPEN) -> None:
        self.wants_text = content
        self._tracer = tracer
        self._most_open = most_open
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}  # oldest first

    def __call__(self, event: Event) -> None:
        match event:
            case ExtractionStarted():
                self._start(event)
            case RequestSent():
                self._send(event)
            case FirstTokenReceived():
                self._come("extractkit.first_token", event)
            case FirstFieldReceived():
                self._come("extractkit.first_field", event)
            case ResponseReceived():
                self._receive(event)
            case AttemptFailed():
                self._fail_attempt(event)
            case ChecksFinished():
                self._check(event)
            case ExtractionFinished():
                self._finish(event)
            case ExtractionFailed():
                self._fail(event)

    def _start(self, event: ExtractionStarted) -> None:
        span = self._tracer.start_span(
            f"extract {event.target}",
            attributes={
                "extractkit.extraction.id": event.extraction_id,
                "extractkit.target": event.target,
                "extractkit.strategy": event.strategy.value,
                "extractkit.dialect": event.dialect,
                "extractkit.fingerprint": event.fingerprint,
                "extractkit.characters": event.characters,
            },
        )
        with self._lock:
            dropped = [self._open.pop(event.extraction_id, None)]
            self._open[event.extraction_id] = _Open(span=span)
            if len(self._open) > self._most_open:
                dropped.append(self._open.pop(next(iter(self._open))))
        for item in dropped:
            if item is not None:
                # Nobody said how it ended, and it cannot be waited for any longer.
                item.span.set_attribute("extractkit.abandoned", True)
                _end_all(item, error="abandoned")

    def _send(self, event: RequestSent) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        open_ = self._find(event.extraction_id)
        if open_ is None:
            return
        span = self._tracer.start_span(
            f"{event.operation} {event.model}",
            context=set_span_in_context(open_.span),
            kind=SpanKind.INTERNAL if event.provider == "local" else SpanKind.CLIENT,
            attributes=dict(_request_attributes(event, content=self.wants_text)),
        )
        with self._lock:
            unanswered = open_.requests.pop(event.number, None)
            if self._open.get(event.extraction_id) is open_:
                open_.requests[event.number] = span
            else:  # abandoned by another thread in the meantime
                unanswered = span
        if unanswered is not None:
            _end(unanswered, error="abandoned")

    def _receive(self, event: ResponseReceived) -> None:
        span = self._take(event.extraction_id, event.number)
        if span is not None:
            span.set_attributes(dict(_response_attributes(event, content=self.wants_text)))
            span.end()

    def _fail_attempt(self, event: AttemptFailed) -> None:
        span = self._take(event.extraction_id, event.number)
        if span is None:
            return
        if event.status_code is not None:
            span.set_attribute("http.response.status_code", event.status_code)
        if event.request_id:
            span.set_attribute("extractkit.request.id", event.request_id)
        if event.retry_in_s is not None:
            span.set_attribute("extractkit.retry_in_s", event.retry_in_s)
        _end(span, error=event.error, message=self._said(event.message))

    def _come(self, name: str, event: FirstTokenReceived | FirstFieldReceived) -> None:
        open_ = self._find(event.extraction_id)
        if open_ is not None:
            open_.span.add_event(
                name,
                {
                    "extractkit.request.number": event.number,
                    "extractkit.seconds": event.seconds,
                },
            )

    def _check(self, event: ChecksFinished) -> None:
        open_ = self._find(event.extraction_id)
        if open_ is not None:
            open_.span.add_event(
                "extractkit.checks",
                {
                    "extractkit.request.number": event.number,
                    "extractkit.validity": event.validity.name.lower(),
                    "extractkit.findings.errors": event.errors,
                    "extractkit.findings.warnings": event.warnings,
                    "extractkit.seconds": event.seconds,
                },
            )

    def _finish(self, event: ExtractionFinished) -> None:
        open_ = self._pop(event.extraction_id)
        if open_ is None:
            return
        open_.span.set_attributes(
            {
                "extractkit.status": event.status.value,
                "extractkit.validity": event.validity.name.lower(),
                "extractkit.attempts": event.attempts,
                # Not gen_ai.usage.*: those of the requests would be counted twice.
                "extractkit.usage.input_tokens": event.usage.input_tokens,
                "extractkit.usage.output_tokens": event.usage.output_tokens,
                "extractkit.usage.is_complete": event.usage.is_complete,
            }
        )
        for span in open_.requests.values():
            _end(span, error="abandoned")
        open_.span.end()

    def _fail(self, event: ExtractionFailed) -> None:
        open_ = self._pop(event.extraction_id)
        if open_ is None:  # it failed before it could start
            span = self._tracer.start_span(
                "extract", attributes={"extractkit.extraction.id": event.extraction_id}
            )
            open_ = _Open(span=span)
        _end_all(open_, error=event.error, message=self._said(event.message))

    def _said(self, message: str | None) -> str | None:
        return message if self.wants_text else None

    def _find(self, extraction_id: str) -> _Open | None:
        with self._lock:
            return self._open.get(extraction_id)

    def _pop(self, extraction_id: str) -> _Open | None:
        with self._lock:
            return self._open.pop(extraction_id, None)

    def _take(self, extraction_id: str, number: int) -> Span | None:
        with self._lock:
            open_ = self._open.get(extraction_id)
            return None if open_ is None else open_.requests.pop(number, None)


def _end_all(item: _Open, *, error: str, message: str | None = None) -> None:
    for span in item.requests.values():
        _end(span, error=error, message=message)
    _end(item.span, error=error, message=message)


def _end(span: Span, *, error: str, message: str | None = None) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", error)
    span.set_status(Status(StatusCode.ERROR, message))
    span.end()


def _request_attributes(
    event: RequestSent, *, content: bool
) -> Iterator[tuple[str, str | int | float]]:
    yield "gen_ai.operation.name", event.operation
    yield "gen_ai.provider.name", _PROVIDERS.get(event.provider, event.provider)
    yield "gen_ai.request.model", event.model
    yield "extractkit.request.number", event.number
    yield "extractkit.request.messages", event.messages_count
    if event.has_constraint:
        yield "gen_ai.output.type", "json"
    for name, value in event.sampling.items():
        if value is not None:
            yield _SAMPLING.get(name, f"extractkit.request.{name}"), value
    if content and event.request is not None:
        yield "gen_ai.input.messages", _json(list(_input_messages(event.request)))


def _response_attributes(
    event: ResponseReceived, *, content: bool
) -> Iterator[tuple[str, str | int | float | list[str]]]:
    yield "gen_ai.response.finish_reasons", [_finish_reason(event.stop)]
    if event.model:
        yield "gen_ai.response.model", event.model
    if event.response_id:
        yield "gen_ai.response.id", event.response_id
    if event.request_id:
        yield "extractkit.request.id", event.request_id
    yield from _usage_attributes(event.usage)
    if content and event.response is not None:
        yield "gen_ai.output.messages", _json([_output_message(event.response)])


def _usage_attributes(usage: Usage) -> Iterator[tuple[str, int]]:
    if not usage.is_complete:  # a 0 would be taken for a count
        return
    yield "gen_ai.usage.input_tokens", usage.input_tokens
    yield "gen_ai.usage.output_tokens", usage.output_tokens
    if usage.cached_input_tokens:
        yield "gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens
    if usage.reasoning_tokens:
        yield "gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens


def _finish_reason(stop: StopReason) -> str:
    return "tool_call" if stop is StopReason.TOOL_USE else stop.value


def _input_messages(request: ModelRequest) -> Iterator[Mapping[str, Any]]:
    for message in request.messages:
        yield {"role": message.role, "parts": _parts_of(message)}


def _parts_of(message: Message) -> list[Mapping[str, Any]]:
    if message.role == "tool":
        outcome = {"id": message.call_id, "response": message.content}
        return [{"type": "tool_call_response", **outcome}]
    calls = list(map(_call_part, message.calls))
    if calls and not message.content:
        return calls
    return [{"type": "text", "content": message.content}, *calls]


def _call_part(call: RawToolCall) -> Mapping[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}


def _output_message(response: ModelResponse) -> Mapping[str, Any]:
    parts: list[Mapping[str, Any]] = []
    if response.text:
        parts.append({"type": "text", "content": response.text})
    if response.refusal is not None:
        parts.append({"type": "refusal", "content": response.refusal})
    parts.extend(map(_call_part, response.tool_calls))
    return {
        "role": "assistant",
        "parts": parts,
        "finish_reason": _finish_reason(response.stop),
    }


def _json(value: Any) -> str:
    # As text, since not every exporter takes nested attributes of spans; in ASCII, since a lone
    # surrogate of a broken answer could not be exported otherwise.
    return json.dumps(value, separators=(",", ":"))
