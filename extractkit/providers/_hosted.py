"""Models behind an HTTP API: what all such providers have in common.

Neighbours: `openai_responses`, `openai_chat`, `anthropic` and `compatible` name an API and a wire
and are Hosted in all else; `_clients` gives something to post with, `_transport` carries one
exchange out. No retries here, no schema, no prompt.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final, Literal, TypedDict, cast
from urllib.parse import urlsplit

from extractkit.errors import UsageError
from extractkit.messages import Capabilities, Delta, ModelRequest, ModelResponse
from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.providers import _verdicts
from extractkit.providers._arguments import (
    is_secret_header,
    password_of,
    refuse_both,
    refuse_local,
    require_body,
    require_enforcement,
    require_headers,
    require_key,
    require_model,
    require_url,
    secrets_of,
    shown,
    url_in,
)
from extractkit.providers._clients import OwnClients, Target
from extractkit.providers._exchange import UNASKED, Budget, Exchange
from extractkit.providers._sdk import Sdk, check_client, is_async
from extractkit.providers._transport import arun, run
from extractkit.providers._wire import HttpRequest, Wire
from extractkit.providers.batches import BatchApi, Batches
from extractkit.providers.capabilities import Api, capabilities_of

__all__ = ["Hosted", "Service", "Settings"]

_SECRET_PART: Final = re.compile(r"(?i)key$|token$|secret|auth|password|credential")
_LEAST_SECRET: Final = 8  # a placeholder such as "none" is a word of ordinary messages too


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One API of one provider.

    Attributes:
        name: Who is asked.
        api: Its name in the table of capabilities.
        endpoint: The path below the base URL.
        sdk: Whose client posts.
        wire: How requests and answers look.
        streams: Whether it gives answers piece by piece; else they come in one.
    """

    name: str
    api: Api
    endpoint: str
    sdk: Sdk
    wire: Wire
    streams: bool = True


class Settings(TypedDict, total=False):
    """The keyword arguments of every hosted provider."""

    client: Any
    base_url: str | None
    api_key: str | None
    enforcement: Literal["native"] | None
    streaming: bool
    extra_body: Mapping[str, Any] | None
    extra_headers: Mapping[str, str] | None


class Hosted:
    """A model behind an HTTP API; implements the Provider protocol.

    Constructing one is cheap: the SDK is imported, and a client made, with the first request. The
    caller's own client is used as it is; it is never closed or changed, and its retries are
    switched off for each request, because the engine retries.

    A call is one request. "store" and "stream_options" are sent without having been asked for; a
    request whose `without` names them goes without. Of an answer that is streamed, what came in
    time is the answer, cut.

    Thread-safe, and usable from several event loops and after a fork, as far as the caller's own
    client is. Pickling keeps everything but keys and clients, and refuses where one was given.

    Args:
        model: The model's name at the provider.
        client: A client of the SDK, synchronous or asynchronous; None makes one when needed.
        base_url: Where the API is; None for what the SDK reads from the environment.
        api_key: The key; None for what the SDK reads from the environment.
        enforcement: "native" says that whoever is asked holds answers to a schema, such as a proxy
            before the provider. None goes by the table for the provider itself, and believes
            nothing of another server until `verify_enforcement` has looked.
        streaming: Whether answers are asked for piece by piece, which keeps what had come when a
            connection breaks.
        extra_body: What else to send; it may add to a request and replace nothing.
        extra_headers: Headers to send beside the SDK's own.

    Raises:
        UsageError: If an argument is not usable, or a client comes with a key or a base URL.
        UnsupportedError: If `extra_body` holds a penalty on repeated words.
        MissingDependencyError: If the SDK that made `client` is too old.
    """

    _SERVICE: ClassVar[Service]

    def __init__(
        self,
        model: str,
        *,
        client: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        enforcement: Literal["native"] | None = None,
        streaming: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        owner = type(self).__name__
        require_model(owner, model)
        if client is not None:
            refuse_both(owner, base_url, api_key)
            check_client(owner, client, self._SERVICE.sdk)
        require_url(owner, base_url)
        require_key(owner, api_key)
        require_enforcement(owner, enforcement)
        self._model = model
        self._enforcement = enforcement
        self._client = client
        self._given_url = base_url
        self._has_key = api_key is not None
        self._streaming = streaming
        self._extra_body = require_body(owner, extra_body)
        self._extra_headers = require_headers(owner, extra_headers)
        self._closed = False
        self._client_url: str | None = None
        self._own = self._make_own(api_key)
        self._table: tuple[str, Capabilities] | None = None
        self._known_secrets: tuple[tuple[Any, Any, Any], tuple[str, ...]] | None = None

    def _make_own(self, api_key: str | None) -> OwnClients:
        return OwnClients(self._SERVICE.sdk, api_key=api_key)

    def __repr__(self) -> str:
        where = f", base_url={shown(self._given_url)!r}" if self._given_url else ""
        return f"{type(self).__name__}({self._model!r}{where})"

    def __reduce__(self) -> tuple[Any, ...]:
        has_secret = any(is_secret_header(name) for name in self._extra_headers)
        has_password = self._given_url is not None and password_of(self._given_url) != ""
        if self._client is not None or self._has_key or has_secret or has_password:
            what = "client" if self._client is not None else "key"
            raise UsageError(
                f"{self!r} was given a {what}, which is not pickled; let it read its key from the "
                "environment, or make the provider where it is used"
            )
        return (_rebuild, (type(self), self._model, self._settings()))

    def _settings(self) -> dict[str, Any]:
        """Return the keyword arguments that make an equal provider."""
        return {
            "base_url": self._given_url,
            "enforcement": self._enforcement,
            "streaming": self._streaming,
            "extra_body": self._extra_body or None,
            "extra_headers": self._extra_headers or None,
        }

    @property
    def name(self) -> str:
        """Who is asked."""
        return self._SERVICE.name

    @property
    def model(self) -> str:
        """The model's name as the caller gave it."""
        return self._model

    @property
    def base_url(self) -> str:
        """Where the API is, without credentials and without a slash at the end."""
        if self._client is None:
            return shown(self._own_url()).rstrip("/")
        if self._client_url is None:  # a client keeps its address
            self._client_url = shown(str(self._client.base_url)).rstrip("/")
        return self._client_url

    @property
    def settings(self) -> JsonObject:
        """What else makes its answers others, as plain JSON: the address, and no key or client."""
        kept = {**self._settings(), "base_url": self.base_url}
        kept["extra_body"] = _without_secrets(dict(self._extra_body))
        headers = self._extra_headers.items()
        kept["extra_headers"] = {name: told for name, told in headers if not is_secret_header(name)}
        return kept

    @property
    def endpoint(self) -> str:
        """The path below the base URL that is asked."""
        return self._SERVICE.endpoint

    @property
    def capabilities(self) -> Capabilities:
        """What this model can do: what the table says, and what was proved of the server."""
        url = self.base_url  # the environment may say another one than before
        if self._table is None or self._table[0] != url:
            self._table = (url, self._look_up(url))
        table = self._table[1]
        return _verdicts.applied(table, url, self.endpoint, self._model, dialect=self._dialect)

    def _look_up(self, url: str) -> Capabilities:
        service = self._SERVICE
        is_known = self._enforcement is not None or self._is_official(url)
        table = capabilities_of(service.api, self._model, official=is_known)
        table = replace(table, unasked=UNASKED - self._extra_body.keys())
        if self._enforcement is not None:
            told = "the caller says that this server holds its answers to a schema"
            return replace(table, enforcement="native", dialect=self._dialect, source=told)
        return table if table.dialect is None else replace(table, dialect=self._dialect)

    @property
    def _dialect(self) -> str:
        """What a schema is written in here, where one is sent."""
        return "anthropic" if self._SERVICE.api == "anthropic" else "openai-strict"

    def _is_official(self, url: str) -> bool:
        """Whether it is the provider itself, or who hosts for it, that is asked at `url`."""
        return re.fullmatch(self._SERVICE.sdk.official, urlsplit(url).hostname or "") is not None

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Return the answer to `request`, asked for once.

        Raises:
            UsageError: If this provider is closed, or its client is an asynchronous one.
            UnsupportedError: If the request has what the API has no place for.
            MissingDependencyError: If the SDK is missing or too old.
            ProviderError: If the provider could not be asked, or its reply is broken.
            DeadlineExceededError: If `timeout_s` ran out before any text had come.
        """
        exchange = self._exchange(request, timeout_s, stream=self._streaming)
        answer: ModelResponse | None = None
        for delta in run(self._sync_client(exchange.budget), exchange):
            answer = delta.response
        return cast("ModelResponse", answer)

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the answer to `request`, asked for once, without blocking the event loop.

        Raises:
            UsageError: If this provider is closed, or its client is a synchronous one.
            UnsupportedError: If the request has what the API has no place for.
            MissingDependencyError: If the SDK is missing or too old.
            ProviderError: If the provider could not be asked, or its reply is broken.
            DeadlineExceededError: If `timeout_s` ran out before any text had come.
        """
        exchange = self._exchange(request, timeout_s, stream=self._streaming)
        answer: ModelResponse | None = None
        async for delta in arun(partial(self._async_client, exchange.budget), exchange):
            answer = delta.response
        return cast("ModelResponse", answer)

    def stream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> Generator[Delta, None, None]:
        """Return the answer to `request` event by event; the last piece has the whole answer.

        Nothing is sent before the first piece is asked for. Closing the generator, or forgetting
        it, ends the request and frees its connection.

        Raises:
            UsageError: If this provider is closed, or its client is an asynchronous one.
            UnsupportedError: If the request has what the API has no place for.
            MissingDependencyError: If the SDK is missing or too old.
            ProviderError: While iterating, if the provider failed before any text had come.
            DeadlineExceededError: While iterating, if `timeout_s` ran out before that.
        """
        exchange = self._exchange(request, timeout_s, stream=self._SERVICE.streams)
        return run(self._sync_client(exchange.budget), exchange)

    def astream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[Delta, None]:
        """Return the answer as `stream` does, without blocking the event loop.

        Raises:
            UsageError: If this provider is closed; while iterating, if its client is a
                synchronous one.
            UnsupportedError: If the request has what the API has no place for.
            MissingDependencyError: While iterating, if the SDK is missing or too old.
            ProviderError: While iterating, if the provider failed before any text had come.
            DeadlineExceededError: While iterating, if `timeout_s` ran out before that.
        """
        exchange = self._exchange(request, timeout_s, stream=self._SERVICE.streams)
        return arun(partial(self._async_client, exchange.budget), exchange)

    def close(self) -> None:
        """Close the clients that this provider made; afterwards it refuses requests.

        A client of the caller's stays open. Closing twice is fine.
        """
        self._closed = True
        self._own.close()

    async def aclose(self) -> None:
        """Close as `close` does, and wait for what the running event loop has open."""
        self._closed = True
        await self._own.aclose()

    def _exchange(
        self, request: ModelRequest, timeout_s: float | None, *, stream: bool
    ) -> Exchange:
        budget = Budget(timeout_s)
        if self._closed:
            raise UsageError(f"{self!r} is closed; make a new one")
        refuse_local(self, request)
        service, wire = self._SERVICE, self._wire_for(request)
        post = wire.encode(request, self._model, stream)
        return Exchange(
            request=request,
            post=self._extended(_without(post, request.without)),
            wire=wire,
            stream=stream,
            budget=budget,
            provider=service.name,
            model=self._model,
            facts={"base_url": self.base_url, "endpoint": post.path},
            secrets=self._secrets(),
        )

    def _batches(self, api: BatchApi) -> Batches:
        return Batches(
            api,
            # A batch that is handed over twice is paid for twice.
            client=lambda: self._sync_client(Budget(None)).with_options(
                max_retries=0, default_headers=self._extra_headers
            ),
            exchange=lambda request: self._exchange(request, None, stream=False),
            secrets=self._secrets,
        )

    def _wire_for(self, request: ModelRequest) -> Wire:
        """Return how `request` is asked and its answer read."""
        return self._SERVICE.wire

    def _extended(self, post: HttpRequest) -> HttpRequest:
        if not (self._extra_body or self._extra_headers):
            return post
        body = _merged(post.body, self._extra_body, "")
        return replace(post, body=body, headers={**post.headers, **self._extra_headers})

    def _secrets(self) -> tuple[str, ...]:
        client: Any = self._client
        if client is None:
            target = self._target()
            now = (self._own.key(target), None, target.url)
        else:
            now = (
                getattr(client, "api_key", None),
                getattr(client, "auth_token", None),
                client.base_url,
            )
        known = self._known_secrets
        if known is None or known[0] != now:
            known = self._known_secrets = (now, self._found_secrets(*now))
        return known[1]

    def _found_secrets(self, key: Any, token: Any, url: Any) -> tuple[str, ...]:
        found = [*secrets_of(self._extra_headers), key, token, password_of(str(url))]
        texts = {text for text in found if isinstance(text, str) and len(text) >= _LEAST_SECRET}
        return tuple(sorted(texts, key=len, reverse=True))  # a part would leave the rest

    def _sync_client(self, budget: Budget) -> Any:
        if self._client is None:
            return self._own.sync(self._target(), budget)
        return self._checked(asynchronous=False)

    async def _async_client(self, budget: Budget) -> Any:
        if self._client is None:
            return await self._own.for_loop(self._target(), budget)
        return self._checked(asynchronous=True)

    def _checked(self, *, asynchronous: bool) -> Any:
        client: Any = self._client
        kind = type(client).__name__
        if is_async(client) is not asynchronous:
            other = f"Async{kind}" if asynchronous else kind.removeprefix("Async")
            how = "aextract and other asynchronous calls" if asynchronous else "extract"
            raise UsageError(
                f"{type(self).__name__} was given {kind}, with which {how} cannot work; give "
                f"client={other}(...), or no client at all"
            )
        if client.is_closed():
            raise UsageError(f"the {kind} that was given to {self!r} is closed; give an open one")
        return client

    def _target(self) -> Target:
        return Target(url=self._own_url(), key_variables=self._SERVICE.sdk.key_variables)

    def _own_url(self) -> str:
        sdk = self._SERVICE.sdk
        return self._given_url or url_in(sdk.base_variable) or sdk.base_url


def _rebuild(kind: type[Hosted], model: str, settings: dict[str, Any]) -> Hosted:
    return kind(model, **settings)


def _without_secrets(value: JsonValue) -> JsonValue:
    if is_object(value):
        parts = ((name, part) for name, part in value.items() if not _SECRET_PART.search(name))
        return {name: _without_secrets(part) for name, part in parts}
    return [_without_secrets(part) for part in value] if is_array(value) else value


def _without(post: HttpRequest, names: frozenset[str]) -> HttpRequest:
    if not names:
        return post
    kept = {name: value for name, value in post.body.items() if name not in names & UNASKED}
    return replace(post, body=kept)


def _merged(body: JsonObject, extra: Mapping[str, JsonValue], at: str) -> JsonObject:
    merged = dict(body)
    for name, value in extra.items():
        there: JsonValue = merged.get(name)
        if is_object(there) and is_object(value):
            merged[name] = _merged(there, value, f"{at}{name}.")
        elif name in merged and there != value:
            raise UsageError(
                f"extra_body sets {at}{name!r}, which the request itself sets to {there!r:.80}; "
                "use the argument for it, such as Sampling(...), or leave it out"
            )
        else:
            merged[name] = value
    return merged
