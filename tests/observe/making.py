"""Makes events for the tests of this room."""

from __future__ import annotations

from extractkit.messages import (
    Constraint,
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
    RequestSent,
    ResponseReceived,
)
from extractkit.results import Status, Strategy, Validity

DOCUMENT = "Invoice 7 of Ada Lovelace"
ANSWER = '{"buyer": "Ada Lovelace"}'

REQUEST = ModelRequest(
    messages=(
        Message(role="system", content="Extract."),
        Message(role="user", content=DOCUMENT),
    ),
    constraint=Constraint(),
)
RESPONSE = ModelResponse(text=ANSWER, stop=StopReason.STOP)


def started(extraction_id: str = "a", *, target: str = "Invoice") -> ExtractionStarted:
    return ExtractionStarted(
        extraction_id=extraction_id,
        provider="openai",
        model="gpt-test",
        strategy=Strategy.NATIVE,
        dialect="openai-strict",
        fingerprint="f00d",
        target=target,
        characters=len(DOCUMENT),
    )


def sent(
    extraction_id: str = "a",
    number: int = 1,
    *,
    provider: str = "openai",
    request: ModelRequest | None = None,
) -> RequestSent:
    return RequestSent(
        extraction_id=extraction_id,
        number=number,
        provider=provider,
        model="gpt-test",
        messages_count=2,
        has_constraint=True,
        sampling={"temperature": 0.0, "top_k": 3, "max_output_tokens": 500, "effort": "low"},
        timeout_s=30.0,
        request=request,
    )


def received(
    extraction_id: str = "a",
    number: int = 1,
    *,
    stop: StopReason = StopReason.STOP,
    usage: Usage = Usage(input_tokens=90, output_tokens=12),
    response: ModelResponse | None = None,
) -> ResponseReceived:
    return ResponseReceived(
        extraction_id=extraction_id,
        number=number,
        provider="openai",
        model="gpt-test-2026-01-01",
        request_id="req_1",
        response_id="chatcmpl-1",
        stop=stop,
        usage=usage,
        seconds=0.25,
        response=response,
    )


def attempt_failed(
    extraction_id: str = "a", number: int = 1, *, message: str | None = None
) -> AttemptFailed:
    return AttemptFailed(
        extraction_id=extraction_id,
        number=number,
        error="RateLimitError",
        message=message,
        status_code=429,
        request_id="req_9",
        retryable=True,
        retry_in_s=1.5,
        seconds=0.1,
    )


def checked(extraction_id: str = "a", number: int = 1) -> ChecksFinished:
    return ChecksFinished(
        extraction_id=extraction_id,
        number=number,
        validity=Validity.CONSISTENT,
        errors=0,
        warnings=2,
        seconds=0.001,
    )


def finished(extraction_id: str = "a", *, status: Status = Status.OK) -> ExtractionFinished:
    return ExtractionFinished(
        extraction_id=extraction_id,
        status=status,
        validity=Validity.CONSISTENT,
        usage=Usage(input_tokens=90, output_tokens=12, is_complete=False),
        attempts=1,
        seconds=0.5,
    )


def failed(extraction_id: str = "a", *, message: str | None = None) -> ExtractionFailed:
    return ExtractionFailed(
        extraction_id=extraction_id, error="AuthenticationError", message=message, seconds=0.5
    )


def with_texts() -> list[Event]:
    """One event of each class that can hold text, with text in it."""
    call = RawToolCall(id="call_1", name="answer", arguments=ANSWER)
    answer = ModelResponse(
        text=ANSWER, stop=StopReason.TOOL_USE, refusal=f"no: {DOCUMENT}", tool_calls=(call,)
    )
    return [
        sent(request=REQUEST),
        received(stop=StopReason.TOOL_USE, response=answer),
        attempt_failed(message=f"bad input: {DOCUMENT}"),
        failed(message=f"bad input: {DOCUMENT}"),
    ]
