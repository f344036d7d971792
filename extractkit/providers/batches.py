"""Batch APIs of providers: many requests handed over at once, their answers fetched later.

Neighbours: `_batches_openai` and `_batches_anthropic` know how each API spells this, `_hosted`
gives a client and the exchange by which each answer is read as that of a call. What is asked, and
whether again, is the affair of `batch`. Nothing here waits or keeps anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, Protocol
from urllib.parse import quote

from pydantic_core import from_json, to_json

from extractkit.errors import (
    BadRequestError,
    ConnectError,
    MalformedResponseError,
    ProviderError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import ModelRequest, ModelResponse, Provider
from extractkit.paths import JsonObject, JsonValue
from extractkit.providers._errors import from_status
from extractkit.providers._exchange import Exchange
from extractkit.providers._reports import without_secrets
from extractkit.providers._wire import HttpRequest

__all__ = ["BatchApi", "BatchLimits", "BatchState", "Batches", "batches_of", "fetched", "path_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """What one batch may hold.

    Attributes:
        rows: Requests, at most.
        bytes: Their length as they are sent, at most.
        source: Who says so, and when it was read.
    """

    rows: int
    bytes: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchState:
    """How far a batch is.

    Attributes:
        word: The provider's own for it.
        is_over: Whether no more answers will come.
        files: Where its answers are, below the base URL.
        rest: What became of a request of which those say nothing, as an outcome.
    """

    word: str
    is_over: bool
    files: tuple[str, ...] = ()
    rest: JsonObject = field(default_factory=lambda: {"ended": "missing"})


class BatchApi(Protocol):
    """How one API takes batches.

    An outcome is plain JSON: "status", "body" and perhaps "request_id", as of an answer by HTTP; or
    "ended", a word of why there is no answer.
    """

    limits: BatchLimits

    def line(self, id: str, post: HttpRequest) -> JsonObject:
        """Return how one request stands in a batch."""
        ...

    def create(self, client: Any, lines: Sequence[bytes], tag: str) -> str:
        """Hand requests over; return the id of their batch."""
        ...

    def find(self, client: Any, tag: str, rows: int, since: float) -> Iterable[str]:
        """Return the ids of batches that may be one that was handed over, and by what tag."""
        ...

    def look(self, client: Any, id: str) -> BatchState:
        """Return how far a batch is."""
        ...

    def outcome(self, line: JsonObject) -> tuple[JsonValue, JsonObject]:
        """Return whose answer a line is, and what it says."""
        ...

    def cancel(self, client: Any, id: str) -> None:
        """Ask that no more of a batch is answered."""
        ...


_ENDED: Final[dict[str, tuple[type[ProviderError], str]]] = {
    "missing": (ServerError, "the batch ended, and its results say nothing of this request"),
    "expired": (ServerError, "the time of the batch ended before this request was answered"),
    "cancelled": (ProviderError, "the batch was cancelled before this request was answered"),
    "too long": (BadRequestError, "this request is longer than a whole batch may be"),
}


class Batches:
    """The batch API of one model; what a provider has as its `batches`.

    Args:
        api: How it is spelled.
        client: Gives a synchronous client of the SDK, which tries nothing again.
        exchange: Gives what a request is sent by, and its answer read.
        secrets: Gives what must stand in no file.
    """

    def __init__(
        self,
        api: BatchApi,
        *,
        client: Callable[[], Any],
        exchange: Callable[[ModelRequest], Exchange],
        secrets: Callable[[], Sequence[str]],
    ) -> None:
        self._api = api
        self._client = client
        self._exchange = exchange
        self._secrets = secrets

    @property
    def limits(self) -> BatchLimits:
        """What one batch may hold."""
        return self._api.limits

    def body(self, request: ModelRequest) -> bytes:
        """Return what is asked by a request, as bytes; equal ones are the same request.

        Raises:
            UnsupportedError: If the request has what the API has no place for.
            UsageError: If the request cannot be written as JSON.
        """
        try:
            return to_json(self._exchange(request).post.body)
        except ValueError as exc:
            raise UsageError(f"the request cannot be written as JSON: {exc}") from exc

    def line(self, id: str, request: ModelRequest) -> bytes:
        """Return a request as it stands in a batch, under an id of its own.

        Raises:
            UnsupportedError: If the request has what the API has no place for.
        """
        return to_json(self._api.line(id, self._exchange(request).post)) + b"\n"

    def submit(self, lines: Sequence[bytes], tag: str) -> str:
        """Hand requests over; return the id of their batch.

        Args:
            lines: What `line` returned, within the limits.
            tag: By which it may be found again.

        Raises:
            UsageError: If the provider is closed or its client is an asynchronous one.
            ProviderError: If the provider could not be asked, or refuses.
            MissingDependencyError: If the SDK is missing or too old.
        """
        with self._translated():
            return self._api.create(self._client(), lines, tag)

    def find(self, tag: str, *, rows: int, since: float) -> list[str]:
        """Return the ids of batches that may be one of which it is not known whether it came to be.

        Args:
            tag: By which it was handed over.
            rows: How many requests it has.
            since: When that was, in seconds since 1970.

        Raises:
            ProviderError: If the provider could not be asked.
        """
        with self._translated():
            return list(self._api.find(self._client(), tag, rows, since))

    def look(self, id: str) -> BatchState:
        """Return how far a batch is.

        Raises:
            ProviderError: If the provider could not be asked.
        """
        with self._translated():
            return self._api.look(self._client(), id)

    def outcomes(self, state: BatchState) -> Iterator[tuple[str, JsonObject] | None]:
        """Yield whose answer came and what it says, in any order; None for a line that is none.

        Raises:
            ProviderError: If the provider could not be asked.
        """
        for path in state.files:
            with self._translated():
                for line in fetched(self._client(), path):
                    yield self._outcome(line)

    def _outcome(self, line: bytes) -> tuple[str, JsonObject] | None:
        try:
            found: JsonValue = from_json(line)
            id, outcome = self._api.outcome(found)
        except (ValueError, LookupError, TypeError, AttributeError):
            return None  # it is no line of such a file
        return (id, without_secrets(outcome, self._secrets())) if isinstance(id, str) else None

    def read(self, outcome: JsonObject, request: ModelRequest) -> ModelResponse:
        """Return the answer that an outcome holds, as if the request had been sent by itself.

        Raises:
            ProviderError: If it holds none, or one that is not what the API promises.
        """
        exchange = self._exchange(request)
        try:
            with exchange.translated():
                _take(outcome, exchange)
        except (ConnectError, BadRequestError) as error:
            return exchange.salvage(error)
        return exchange.answer()

    def cancel(self, id: str) -> None:
        """Ask that no more of a batch is answered; what has been answered stays.

        Raises:
            ProviderError: If the provider could not be asked, or refuses.
        """
        with self._translated():
            self._api.cancel(self._client(), id)

    def _translated(self) -> Any:
        return self._exchange(ModelRequest(messages=(), top_logprobs=None)).translated()


def batches_of(provider: Provider) -> Batches:
    """Return the batch API of a provider.

    Raises:
        UnsupportedError: If it has none.
    """
    found = getattr(provider, "batches", None)
    if isinstance(found, Batches):
        return found
    raise UnsupportedError(
        f"{provider!r:.200} has no batch API here: expected OpenAIResponses, OpenAIChat or "
        "Anthropic; extract_many asks any provider about many inputs"
    )


def path_of(template: str, id: str) -> str:
    """Return a path below the base URL with an id in it, whatever characters that has."""
    return template.format(quote(id, safe=""))


def fetched(client: Any, path: str) -> Iterator[bytes]:
    """Yield the lines of a file of a provider that are not blank, as they come."""
    import httpx2

    response = client.get(path, cast_to=httpx2.Response, stream=True)
    with closing(response):
        rest = b""
        for chunk in response.iter_bytes():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line.strip())
        if rest.strip():
            yield rest


def _take(outcome: JsonObject, exchange: Exchange) -> None:
    """Give an exchange what an outcome holds.

    Raises:
        ProviderError: If it is no answer.
    """
    if "ended" in outcome:
        kind, told = _ENDED[outcome["ended"]]
        raise kind(told)
    status: JsonValue = outcome.get("status")
    if not isinstance(status, int):
        raise MalformedResponseError("the results of the batch give an answer without a status")
    id: JsonValue = outcome.get("request_id")
    headers = {"x-request-id": id} if isinstance(id, str) else {}
    body = to_json(outcome.get("body"))
    if not 200 <= status < 300:
        raise from_status(status, headers, body)
    raw = [(name.encode("latin-1"), told.encode("utf-8")) for name, told in headers.items()]
    exchange.opened(SimpleNamespace(headers=SimpleNamespace(raw=raw)))
    exchange.take(body)
    exchange.end()
