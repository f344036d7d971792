"""Our own clients of the SDKs, made when first needed.

Neighbours: `_hosted` asks here for something to post with where the caller gave no client; `_sdk`
loads what they are made of.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final

from extractkit.errors import AuthenticationError
from extractkit.providers._arguments import fault_of_key
from extractkit.providers._bounded import bound, bound_async, cutting, cutting_async
from extractkit.providers._errors import from_exception
from extractkit.providers._exchange import Budget
from extractkit.providers._loops import end_before
from extractkit.providers._sdk import (
    ANTHROPIC_SDK,
    Sdk,
    errors_of,
    has_profile,
    load,
    loading,
    trust,
)

__all__ = ["OwnClients", "Target"]

_LOOK_EVERY_S: Final = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request goes now; the environment, which says so, may say something else later.

    Attributes:
        url: The base URL.
        key_variables: The environment variables that a key for it is read from, first one first.
    """

    url: str
    key_variables: tuple[str, ...]


class OwnClients:
    """Clients that are made when first needed: one per process, and one per event loop.

    Thread-safe. After a fork the child makes its own: connections cannot be shared. Where address
    or key have changed since, clients are made anew; the old ones serve what they have begun.

    Args:
        sdk: Whose clients.
        api_key: The key, or None for what is read from the environment.
        fallback_key: What is sent where no key is found; None makes that an error.
    """

    def __init__(
        self,
        sdk: Sdk,
        *,
        api_key: str | None,
        fallback_key: str | None = None,
    ) -> None:
        self._sdk = sdk
        self._api_key = api_key
        self._fallback_key = fallback_key
        self._start_empty()

    def _start_empty(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._made_for: tuple[str, str | None] | None = None
        self._retired: list[tuple[Any, _ByLoop]] = []
        self._sync: Any = None
        self._by_loop: _ByLoop = weakref.WeakKeyDictionary()

    def key(self, target: Target) -> str | None:
        """Return the key that is sent to `target`, as far as it is known here."""
        found = self._api_key or next(filter(None, map(os.environ.get, target.key_variables)), None)
        return found or self._fallback_key

    def sync(self, target: Target, budget: Budget) -> Any:
        """Return the synchronous client of this process for `target`.

        Raises:
            AuthenticationError: If there is no key.
            MissingDependencyError: If the SDK is missing or too old.
            DeadlineExceededError: If the SDK could not be loaded in time.
        """
        self._leave_parent()
        key = self._require_key(target)
        thread = loading(self._sdk)
        if thread is not None:
            thread.join(budget.left())
            if thread.is_alive():
                raise budget.expired()
        with self._lock:
            self._leave_others(target, key)
            if self._sync is None:
                http = self._http("DefaultHttpxClient", cutting)
                bound(http)
                self._sync = self._make(self._sdk.sync, http, target)
                # Dropped without close(), at the latest at the end of the process, this must not
                # leave its connections open.
                weakref.finalize(self, _close_here, http, self._process)
            return self._sync

    async def for_loop(self, target: Target, budget: Budget) -> Any:
        """Return the asynchronous client of the running event loop for `target`.

        Raises:
            AuthenticationError: If there is no key.
            MissingDependencyError: If the SDK is missing or too old.
            DeadlineExceededError: If the SDK could not be loaded in time.
        """
        self._leave_parent()
        key = self._require_key(target)
        loop = asyncio.get_running_loop()
        thread = loading(self._sdk)
        while thread is not None and thread.is_alive():
            if budget.is_over():
                raise budget.expired()
            await asyncio.sleep(_LOOK_EVERY_S)
        with self._lock:
            self._leave_others(target, key)
            if loop in self._by_loop:
                return self._by_loop[loop][0]
            for other in [other for other in self._by_loop if other.is_closed()]:
                del self._by_loop[other]
            http = self._http("DefaultAsyncHttpxClient", cutting_async)
            bound_async(http)
            client = self._make(self._sdk.other, http, target)
            keeper = _keep_open(client, loop, weakref.ref(self._by_loop))
            self._by_loop[loop] = (client, keeper)
        # Begun, the generator is the loop's to end, which asyncio.run and its like do.
        await anext(keeper)
        end_before(loop, keeper)
        return client

    def close(self) -> None:
        """Close all of them; those of an event loop when that loop runs next."""
        self._leave_parent()
        with self._lock:
            clients = [self._sync, *(client for client, _ in self._retired)]
            self._sync = None
            self._retired = []
            self._by_loop = weakref.WeakKeyDictionary()
        for client in clients:
            if client is not None:
                client.close()

    async def aclose(self) -> None:
        """Close all of them, that of the running event loop before this returns."""
        self._leave_parent()
        with self._lock:
            mine = self._by_loop.pop(asyncio.get_running_loop(), None)
        if mine is not None:
            await mine[1].aclose()
        self.close()

    def _leave_parent(self) -> None:
        if self._process == os.getpid():
            return
        # Kept, never closed: their locks may be held by a thread that this process has not.
        _of_parents.append((self._sync, self._by_loop))
        self._start_empty()

    def _leave_others(self, target: Target, key: str | None) -> None:
        """Begin anew where the clients that there are ask somewhere else, or with another key."""
        wanted = (target.url, key)
        if self._made_for not in (None, wanted):
            # Kept open until `close`: calls may be under way.
            self._retired.append((self._sync, self._by_loop))
            self._sync = None
            self._by_loop = weakref.WeakKeyDictionary()
        self._made_for = wanted

    def _http(self, name: str, hook: Any) -> Any:
        module = load(self._sdk)
        import httpx2

        # The SDKs keep 100 idle connections of 1000; above that, each call would connect anew.
        limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=1000)
        hooks = {"response": [hook]}
        return getattr(module, name)(limits=limits, verify=trust(), event_hooks=hooks)

    def _make(self, name: str, http: Any, target: Target) -> Any:
        options: dict[str, Any] = {"max_retries": 0, "http_client": http}
        # Where nothing says another address, an SDK may know one from a profile.
        if target.url != self._sdk.base_url or os.environ.get(self._sdk.base_variable):
            options["base_url"] = target.url
        # Without one the SDK looks at the environment, and Anthropic's at profiles on disk too.
        is_ours = target.key_variables != self._sdk.key_variables
        key = self._api_key or (self.key(target) if is_ours else None)
        if key is not None:
            options["api_key"] = key
        try:
            return getattr(load(self._sdk), name)(**options)
        except errors_of(self._sdk) as error:
            raise from_exception(error) or error from error

    def _require_key(self, target: Target) -> str | None:
        """Return the key that is sent; None where the SDK has one of its own."""
        key = self.key(target)
        if key is not None:
            self._require_sendable(key, target)
            return key
        if self._sdk is ANTHROPIC_SDK and has_profile():
            return None
        raise AuthenticationError(
            f"there is no key for {self._sdk.package}: set {target.key_variables[0]}, or give "
            "api_key=... or client=...",
            provider=self._sdk.package,
        )

    def _require_sendable(self, key: str, target: Target) -> None:
        """Return if a header can hold `key`: one that was given is checked, one found is not."""
        fault = fault_of_key(key)
        if not fault:
            return
        name = next((name for name in target.key_variables if os.environ.get(name) == key), "")
        raise AuthenticationError(
            f"the environment variable {name}: {fault}", provider=self._sdk.package
        )


async def _keep_open(
    client: Any, loop: asyncio.AbstractEventLoop, by_loop: weakref.ref[_ByLoop]
) -> AsyncGenerator[None, None]:
    """Close `client` in its own event loop, when this generator is closed or lost."""
    try:
        yield
    finally:
        there = by_loop()
        if there is not None:
            there.pop(loop, None)
        await client.close()


_ByLoop = weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None, None]]
]

_of_parents: list[Any] = []


def _close_here(http: Any, process: int) -> None:
    if process == os.getpid():
        http.close()
