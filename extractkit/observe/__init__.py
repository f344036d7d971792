"""Typed events out of the house: what is asked, what comes back, what goes wrong on the way.

Neighbours: `engine` calls `emit` at each step; `observe.log` and `observe.otel` make observers.
This room never alters a result, and no observer can raise into the caller. No event holds text
of a document, a prompt, an answer or an error unless its observer asks for it.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, TypeAlias, TypeVar

from extractkit.messages import ModelRequest, ModelResponse, StopReason, Usage
from extractkit.results import Status, Strategy, Validity

__all__ = [
    "AttemptFailed",
    "CapturedEvents",
    "ChecksFinished",
    "Event",
    "ExtractionFailed",
    "ExtractionFinished",
    "ExtractionStarted",
    "FirstFieldReceived",
    "FirstTokenReceived",
    "Observer",
    "RequestSent",
    "ResponseReceived",
    "capture_events",
    "emit",
    "failures",
    "priced",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionStarted:
    """A question was found sound and is about to be put.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        provider: Who is asked, such as "local" or "openai".
        model: The model's name as the caller gave it.
        strategy: How the model is brought to the wanted shape.
        dialect: The dialect that the schema is written in.
        fingerprint: Digest of the schema as it is sent.
        target: Name of the target, such as "Invoice".
        characters: Length of the source text.
    """

    extraction_id: str
    provider: str
    model: str
    strategy: Strategy
    dialect: str
    fingerprint: str
    target: str
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent:
    """One request is about to leave, or to be looked up where answers are kept.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        number: Which request of the extraction, from 1; repeated ones count.
        provider: Who is asked.
        model: The model's name as the caller gave it.
        operation: What is asked for, in OpenTelemetry's word.
        messages_count: How many turns are sent.
        has_constraint: Whether the answer's shape is sent along.
        sampling: The fields of Sampling that are set.
        timeout_s: Seconds that the request may take; None for no limit.
        request: The request itself, for an observer that asks for text.
    """

    extraction_id: str
    number: int
    provider: str
    model: str
    operation: str = "chat"
    messages_count: int
    has_constraint: bool
    sampling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    timeout_s: float | None = None
    request: ModelRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstTokenReceived:
    """The first text of a streamed extraction came.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        number: The request that it answers.
        seconds: Wall time since the extraction began.
    """

    extraction_id: str
    number: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFieldReceived:
    """The first field of a streamed extraction is final.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        number: The request whose answer has it.
        seconds: Wall time since the extraction began.
    """

    extraction_id: str
    number: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReceived:
    """One request was answered.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        number: The request that this answers.
        provider: Who was asked.
        model: The model that answered, as exactly as the provider says.
        request_id: The provider's id of the request; empty where it gives none.
        response_id: The provider's id of the answer; empty where it gives none.
        stop: Why the model stopped.
        usage: Tokens of this answer; none where it was kept.
        seconds: Wall time of the request.
        cached: The answer was kept from an earlier request: this one was not sent.
        response: The answer itself, for an observer that asks for text.
    """

    extraction_id: str
    number: int
    provider: str
    model: str
    request_id: str = ""
    response_id: str = ""
    stop: StopReason
    usage: Usage
    seconds: float
    cached: bool = False
    response: ModelResponse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFailed:
    """One request was not answered.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        number: The request that failed.
        error: Name of the exception's class.
        message: What the exception says, for an observer that asks for text: a provider may
            quote the request in it.
        status_code: HTTP status, where there was one.
        request_id: The provider's id of the request; empty where it gave none.
        retryable: Whether asking again can help.
        retry_in_s: Seconds until the request is made again; None where it is not.
        seconds: Wall time of the request.
    """

    extraction_id: str
    number: int
    error: str
    message: str | None = None
    status_code: int | None = None
    request_id: str = ""
    retryable: bool
    retry_in_s: float | None = None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksFinished:
    """One answer was judged.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        number: The request whose answer was judged.
        validity: The level that the answer reached.
        errors: How many findings are errors.
        warnings: How many findings are warnings.
        seconds: Wall time of parsing and checks.
    """

    extraction_id: str
    number: int
    validity: Validity
    errors: int
    warnings: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionFinished:
    """There is a result, with a value or without.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        status: How the extraction ended.
        validity: The level that the returned answer reached.
        usage: Tokens of all attempts together.
        attempts: How many answers were received.
        seconds: Wall time of the extraction.
    """

    extraction_id: str
    status: Status
    validity: Validity
    usage: Usage
    attempts: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionFailed:
    """The extraction ended in an exception, or was given up.

    Attributes:
        extraction_id: Names the extraction in all of its events.
        error: Name of the exception's class.
        message: What the exception says, for an observer that asks for text.
        seconds: Wall time of the extraction.
    """

    extraction_id: str
    error: str
    message: str | None = None
    seconds: float


Event: TypeAlias = (
    ExtractionStarted
    | RequestSent
    | FirstTokenReceived
    | FirstFieldReceived
    | ResponseReceived
    | AttemptFailed
    | ChecksFinished
    | ExtractionFinished
    | ExtractionFailed
)
"""Anything that an observer is called with."""

Observer: TypeAlias = Callable[[Event], object]
"""Called with each event, where it happens: it must return soon, and may come from any thread.

An attribute `wants_text = True` asks for the texts, which are None otherwise.
"""


def emit(
    observers: Iterable[Observer], event: Event, *, text: Callable[[], Event] | None = None
) -> None:
    """Call each observer with `event`; one that raises is counted and warned about once.

    Args:
        observers: Who is called, in order.
        event: What happened, without any text.
        text: Makes the same event with its texts; called at most once, and only if an observer
            has the attribute `wants_text = True`.
    """
    full: Event | None = None
    for observer in observers:
        try:
            if text is not None and getattr(observer, "wants_text", False) is True:
                full = full or text()
                _call(observer, full)
            else:
                _call(observer, event)
        except Exception as error:  # noqa: BLE001  # whatever an observer does, the work goes on
            _note_failure(observer, error)


def priced(
    price: Callable[[str, str, Usage], object], provider: str, model: str, usage: Usage
) -> Decimal | None:
    """Return what `price` says of an answer; None where it says nothing, or raises.

    A price that raises is counted and warned about once, as an observer is: what was paid for is
    not lost with it.

    Args:
        price: (provider, model, usage) -> US dollars as any number, or None.
        provider: Who answered.
        model: The model that answered.
        usage: Tokens of the answer.
    """
    try:
        cost = price(provider, model, usage)
        return None if cost is None else Decimal(str(cost))
    except Exception as error:  # noqa: BLE001  # a callback like an observer, and counted so
        _note_failure(price, error)
        return None


def failures(observer: Callable[..., object]) -> int:
    """Return how often `observer`, or a price, has raised in this process."""
    with _lock:
        return _failed[id(observer)][1] if id(observer) in _failed else 0


def _call(observer: Observer, event: Event) -> None:
    returned = observer(event)
    if inspect.iscoroutine(returned):
        returned.close()
        raise TypeError("an observer must be a plain function; this one is async and never ran")


_MOST_FAILED: Final = 64
_lock = threading.Lock()
# By identity, since an observer need not be hashable; held, so that no id comes twice. Bounded:
# a program may make an observer per extraction.
_failed: dict[int, tuple[Callable[..., object], int]] = {}


def _note_failure(observer: Callable[..., object], error: Exception) -> None:
    with _lock:
        count = _failed[id(observer)][1] + 1 if id(observer) in _failed else 1
        _failed[id(observer)] = (observer, count)
        if len(_failed) > _MOST_FAILED:
            del _failed[next(iter(_failed))]
    if count == 1:
        warnings.warn(
            f"{_name(observer)} raised {type(error).__name__}: {error}; extractions "
            "go on without it where it raises, and this is said once",
            RuntimeWarning,
            stacklevel=3,
        )


def _name(observer: Callable[..., object]) -> str:
    return getattr(observer, "__qualname__", None) or type(observer).__qualname__


_E = TypeVar("_E")


class CapturedEvents:
    """An observer that keeps what it is called with, for tests.

    Attributes:
        events: The events, oldest first.
        wants_text: Whether events come with their texts.
    """

    def __init__(self, *, text: bool = False) -> None:
        self.events: list[Event] = []
        self.wants_text = text

    def __call__(self, event: Event) -> None:
        """Keep `event`."""
        self.events.append(event)

    def of(self, kind: type[_E]) -> list[_E]:
        """Return the events of one class, oldest first."""
        return [event for event in self.events if isinstance(event, kind)]


def capture_events(*, text: bool = False) -> CapturedEvents:
    """Return an observer that keeps what it is called with, for tests.

    Args:
        text: Whether events come with their texts.
    """
    return CapturedEvents(text=text)
