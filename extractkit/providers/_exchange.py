"""One request to a provider and what becomes of it, without any I/O.

Neighbours: `_hosted` makes an Exchange for each call, `_transport` carries it out, `_sinks` take
what comes. Here is when it is over, what of it counts, and what goes wrong as one of our errors.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any, Final

from extractkit.errors import (
    ConnectError,
    DeadlineExceededError,
    MalformedResponseError,
    ProviderError,
    RequestTimeoutError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Delta, ModelRequest, ModelResponse, StopReason, Usage, changed
from extractkit.paths import JsonValue
from extractkit.providers._door import door
from extractkit.providers._errors import from_exception, from_key_function, is_of_another_loop
from extractkit.providers._reports import hiding, request_id_of, without_secrets
from extractkit.providers._sinks import Document, Events, Sink, kind_of
from extractkit.providers._time import CallTime, ahead_of
from extractkit.providers._wire import CUT, HttpRequest, Wire

__all__ = ["MOST_BYTES", "UNASKED", "Budget", "Exchange"]

UNASKED: Final = frozenset({"store", "stream_options"})
"""Members of a body that nobody asked for, so that a server which refuses them can go without."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""How long an answer may be, decoded from its content encoding.

Of a stream its text: events wrap a few characters in some hundreds of bytes. And this many bytes
without any text are no answer.
"""

_EARLY_S: Final = 0.01  # a wait of the operating system may end this much before its time


class Budget(CallTime):
    """The time of one hosted call, counted from here.

    Args:
        timeout_s: Seconds, at least 0; None has no end.

    Raises:
        UsageError: If `timeout_s` is negative or NaN.
    """

    def __init__(self, timeout_s: float | None) -> None:
        super().__init__(timeout_s, stage="waiting for the provider")

    def wait(self) -> float | None:
        """Return how long a wait may be that is to end before one of the caller's does."""
        left = self.left()
        return None if left is None else left - ahead_of(left)

    def is_over(self) -> bool:
        """Whether the time has ended."""
        return self.end is not None and time.monotonic() >= self.end - _EARLY_S


class Exchange:
    """One request, and what becomes of it.

    Args:
        request: What the caller wants.
        post: The same as it is sent.
        wire: How answers are read.
        stream: Whether events are asked for.
        budget: The time of the call.
        provider: Who is asked, for errors.
        model: The model's name, for errors.
        facts: What the answer's details are to say of where it came from.
        secrets: What must stand in no message.
    """

    def __init__(
        self,
        *,
        request: ModelRequest,
        post: HttpRequest,
        wire: Wire,
        stream: bool,
        budget: Budget,
        provider: str,
        model: str,
        facts: Mapping[str, Any],
        secrets: tuple[str, ...],
    ) -> None:
        self.budget = budget
        self._request = request
        self.post = post
        self._wire = wire
        self._stream = stream
        self._provider = provider
        self._model = model
        self._facts = facts
        self._secrets = secrets
        self._sink: Sink = Document(wire, {})
        self._request_id = ""
        self._bytes = 0  # since text came last
        self._characters = 0
        self._filtered: JsonValue = None

    def arguments(self, client: Any) -> dict[str, Any]:
        """Return what `post` of an SDK's client is called with.

        Raises:
            DeadlineExceededError: If no time is left to send anything.
        """
        if self.budget.is_over():
            raise self.budget.expired()
        return door(client, self.post, self.budget.left())

    def opened(self, response: Any) -> None:
        """Take the headers of an answer that is a success.

        Raises:
            UnsupportedError: If the events come in a form that is not read here.
        """
        # Each look into the library's own headers costs as much as this copy.
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers.raw
        }
        self._request_id = request_id_of(headers)
        kind = kind_of(headers)
        if kind == "application/vnd.amazon.eventstream":
            raise UnsupportedError(
                "this client streams in Amazon's own format, which is not read here; use "
                "streaming=False"
            )
        # A server that does not know how to stream answers with one document.
        is_stream = self._stream and (not kind or kind == "text/event-stream")
        self._sink = Events(self._wire) if is_stream else Document(self._wire, headers)

    def wait(self) -> float | None:
        """Return how long the next piece may be waited for.

        Where a part of the answer is to be kept, this ends before whoever else keeps the time.
        """
        return self.budget.wait() if self._characters else self.budget.left()

    def take(self, chunk: bytes) -> list[Delta]:
        """Return what `chunk` adds to the answer, event by event.

        Raises:
            MalformedResponseError: If the answer is longer than any answer is.
            DeadlineExceededError: If the time has ended.
        """
        self._bytes += len(chunk)
        if self._bytes > MOST_BYTES or self._characters > MOST_BYTES:
            raise MalformedResponseError(
                f"the answer is longer than {MOST_BYTES} bytes, and was not read to its end"
            )
        if self.budget.is_over():
            raise self.budget.expired()
        with hiding(self._secrets):
            deltas = self._sink.take(chunk)
        if deltas:
            self._count(deltas)
            self._bytes = 0
        return deltas

    def end(self) -> list[Delta]:
        """Return what only the end of the bytes tells."""
        with hiding(self._secrets):
            return self._count(self._sink.end())

    def is_over(self) -> bool:
        """Whether the answer has come to its end, so that no more bytes are waited for.

        Raises:
            ProviderError: If what was taken last tells of a failure.
        """
        return self._sink.is_over()

    def last(self, response: ModelResponse) -> Delta:
        """Return the last piece: the whole answer, with what of its text no event told."""
        tokens = () if self._characters else response.tokens
        return Delta(text=response.text[self._characters :], tokens=tokens, response=response)

    def answer(self) -> ModelResponse:
        """Return the whole answer, or what came of it in time.

        Raises:
            ProviderError: If what came is none.
            DeadlineExceededError: If the time ended before any of it had come.
        """
        with self.translated(), hiding(self._secrets):
            response = self._named(self._sink.answer())
        # A connection that is shut down at the end of the time looks like one that has ended.
        return self._late(response) if self.budget.is_over() else response

    def _late(self, response: ModelResponse) -> ModelResponse:
        if response.stop_detail != CUT or response.stop is not StopReason.LENGTH:
            return response
        if not self._characters:
            raise self.budget.expired()
        told = f"timeout_s ended after {self._characters} characters"
        return dataclasses.replace(response, stop_detail=told)

    def salvage(self, error: ProviderError | DeadlineExceededError) -> ModelResponse:
        """Return what had come before `error`; raise it if that is nothing.

        Raises:
            ProviderError: `error`, where no character of the answer had come.
            DeadlineExceededError: The same, where that is `error`.
        """
        if isinstance(error, DeadlineExceededError):
            if not self._characters:
                raise error
            return self._late(self.answer())
        if self._filtered is not None:
            return self._named(
                ModelResponse(
                    text="",
                    stop=StopReason.CONTENT_FILTER,
                    stop_detail="content_filter",
                    usage=Usage(is_complete=False),
                    details={"error": self._filtered},
                )
            )
        if not self._characters or error.status_code is not None:  # it is no broken connection
            raise error
        response = self.answer()
        broke = f"the connection broke after {self._characters} characters"
        response = dataclasses.replace(response, broken=error.message)
        if response.stop is StopReason.STOP:  # the end had come, only its last words had not
            return response
        return dataclasses.replace(response, stop=StopReason.LENGTH, stop_detail=broke)

    def translated(self) -> _Translated:
        """Within the block, what an SDK or its HTTP library raises becomes one of our errors."""
        return _Translated(self)

    def explained(
        self, exc: Exception
    ) -> ProviderError | DeadlineExceededError | UsageError | None:
        """Return `exc` as one of our errors; None where it is not known what it means."""
        with hiding(self._secrets):
            return self._explain(exc)

    def _explain(self, exc: Exception) -> ProviderError | DeadlineExceededError | UsageError | None:
        if is_of_another_loop(exc):
            return UsageError(
                "the asynchronous client that was given belongs to another event loop, which has "
                "ended; make the client inside the loop that uses it, or give no client: each "
                "loop then gets its own"
            )
        error = from_exception(exc) or from_key_function(exc)
        if error is None:
            return None
        is_transport = isinstance(error, ConnectError | RequestTimeoutError)
        if is_transport and error.status_code is None and self.budget.is_over():
            return self.budget.expired()
        if getattr(exc, "code", None) == "content_filter":
            self._filtered = getattr(exc, "body", None) or error.message
        error.provider = self._provider
        error.model = self._model
        error.request_id = self._without_secrets(error.request_id or self._request_id) or None
        error.parameter = self._own_parameter(error.parameter)
        error.args = (self._without_secrets(error.message),)
        return error

    def _own_parameter(self, parameter: str | None) -> str | None:
        """Return `parameter` if this request has it; both ways to ask for JSON share a name.

        So do tools, which may be refused as "tools" or for their schema.
        """
        has_tools = self._request.tools is not None and self._request.constraint is None
        if parameter == "constraint" and has_tools:
            return "tools"
        if parameter in {"constraint", "json_mode"}:
            if self._request.constraint is not None:
                return "constraint"
            return "json_mode" if self._request.json_mode else None
        if parameter in UNASKED and parameter not in self.post.body:
            return None
        if parameter == "top_logprobs" and self._request.top_logprobs is None:
            return None
        return parameter

    def _without_secrets(self, text: str) -> str:
        shown: str = without_secrets(text, self._secrets)
        return shown

    def is_telling(self, exc: BaseException | None) -> bool:
        """Whether a traceback with `exc` and its causes would show a key."""
        while exc is not None:
            if self._without_secrets(text := str(exc)) != text:
                return True
            exc = exc.__cause__ or exc.__context__
        return False

    def _count(self, deltas: list[Delta]) -> list[Delta]:
        for delta in deltas:
            self._characters += len(delta.text)
        return deltas

    def _named(self, response: ModelResponse) -> ModelResponse:
        """Return `response` with what is known of the exchange, and no key in what is a fact."""
        shown = self._without_secrets
        choices = response.details.get("choices", 1)
        if choices > 1 and response.stop is StopReason.STOP and "n" not in self.post.body:
            # One was asked for; which of them is the answer, nobody can say.
            response = dataclasses.replace(
                response,
                stop=StopReason.UNKNOWN,
                stop_detail=f"several choices, {choices} in all",
            )
        return changed(
            response,
            stop_detail=shown(response.stop_detail),
            model=shown(response.model),
            request_id=shown(self._request_id or response.request_id),
            tool_calls=tuple(
                dataclasses.replace(call, id=shown(call.id)) for call in response.tool_calls
            ),
            details=without_secrets({**response.details, **self._facts}, self._secrets),
        )


class _Translated:
    """A block in which errors become ours.

    A function that gives a key, and a hook of a client, are the caller's and raise what they like:
    whatever it is, it goes on, under our name where it is known what it means.
    """

    __slots__ = ("_exchange",)

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        if isinstance(exc, Exception):
            error = self._exchange.explained(exc)
            if error is not None and error is not exc:
                raise error from (None if self._exchange.is_telling(exc) else exc)
