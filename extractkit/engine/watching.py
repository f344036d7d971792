"""The engine's side of `observe`: what happened, as events, for those who want to know.

Neighbours: `run` says what happens. Where nobody watches, nothing is made.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from extractkit.engine.judge import Judged
from extractkit.engine.setup import Setup
from extractkit.engine.steps import Answer
from extractkit.errors import ProviderError
from extractkit.messages import ModelRequest, sampling_given
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
    emit,
)
from extractkit.results import ExtractionResult

__all__ = ["Watch"]


class Watch:
    """Tells observers of one extraction.

    Args:
        observers: Who is told; with none, every method does nothing.
        provider: Name of who answers.
        clock: Seconds from any fixed start.
    """

    def __init__(
        self, observers: Sequence[Observer], provider: str, clock: Callable[[], float]
    ) -> None:
        self._observers = observers
        self._provider = provider
        self._clock = clock
        self._id = uuid.uuid4().hex if observers else ""
        self._began = clock() if observers else 0.0
        self._number = 0
        self._model = ""

    def started(self, setup: Setup[Any], model: str) -> None:
        """Tell that an extraction begins."""
        self._model = model
        if self._observers:
            self._tell(
                ExtractionStarted(
                    extraction_id=self._id,
                    provider=self._provider,
                    model=model,
                    strategy=setup.plan.strategy,
                    dialect=setup.compiled.dialect,
                    fingerprint=setup.compiled.fingerprint,
                    target=setup.compiled.name,
                    characters=len(setup.question.text),
                )
            )

    def sent(self, request: ModelRequest, timeout_s: float | None) -> int:
        """Tell that a request goes out; return its number, by which its answer is told."""
        self._number += 1
        number = self._number
        if not self._observers:
            return number
        event = RequestSent(
            extraction_id=self._id,
            number=number,
            provider=self._provider,
            model=self._model,
            operation="chat",
            messages_count=len(request.messages),
            has_constraint=request.constraint is not None,
            sampling=sampling_given(request.sampling),
            timeout_s=timeout_s,
            request=None,
        )
        self._tell(event, lambda: dataclasses.replace(event, request=request))
        return number

    def first_text(self) -> None:
        """Tell that the first text of an answer came."""
        if self._observers:
            seconds = self._clock() - self._began
            self._tell(
                FirstTokenReceived(extraction_id=self._id, number=self._number, seconds=seconds)
            )

    def first_field(self) -> None:
        """Tell that the first field of an answer is final."""
        if self._observers:
            seconds = self._clock() - self._began
            self._tell(
                FirstFieldReceived(extraction_id=self._id, number=self._number, seconds=seconds)
            )

    def received(self, answer: Answer) -> None:
        """Tell that a response came."""
        if not self._observers:
            return
        response = answer.response
        event = ResponseReceived(
            extraction_id=self._id,
            number=answer.number,
            provider=self._provider,
            model=response.model,
            request_id=response.request_id,
            response_id=str(response.details.get("id", "")),
            stop=response.stop,
            usage=response.spent,
            seconds=answer.seconds,
            cached=response.cached,
            response=None,
        )
        self._tell(event, lambda: dataclasses.replace(event, response=response))

    def failed(
        self, number: int, error: ProviderError, retry_in_s: float | None, seconds: float
    ) -> None:
        """Tell that a request failed."""
        if not self._observers:
            return
        event = AttemptFailed(
            extraction_id=self._id,
            number=number,
            error=type(error).__name__,
            status_code=error.status_code,
            request_id=error.request_id or "",
            retryable=error.retryable,
            retry_in_s=retry_in_s,
            seconds=seconds,
        )
        self._tell(event, lambda: dataclasses.replace(event, message=error.message))

    def checked(self, number: int, judged: Judged[Any], seconds: float) -> None:
        """Tell what the checks said of an answer, by the number of its request."""
        if self._observers:
            severities = [finding.severity for finding in judged.findings]
            self._tell(
                ChecksFinished(
                    extraction_id=self._id,
                    number=number,
                    validity=judged.attempt.validity,
                    errors=severities.count("error"),
                    warnings=severities.count("warning"),
                    seconds=seconds,
                )
            )

    def finished(self, result: ExtractionResult[Any]) -> None:
        """Tell that there is a result."""
        if self._observers:
            self._tell(
                ExtractionFinished(
                    extraction_id=self._id,
                    status=result.status,
                    validity=result.validity,
                    usage=result.usage,
                    attempts=len(result.attempts),
                    seconds=self._clock() - self._began,
                )
            )

    def crashed(self, error: BaseException) -> None:
        """Tell that there will be none: an error, or nobody waits for it any more."""
        if not self._observers:
            return
        event = ExtractionFailed(
            extraction_id=self._id,
            error=type(error).__name__,
            seconds=self._clock() - self._began,
        )
        self._tell(event, lambda: dataclasses.replace(event, message=str(error)))

    def _tell(self, event: Event, text: Callable[[], Event] | None = None) -> None:
        emit(self._observers, event, text=text)
