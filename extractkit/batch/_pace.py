"""How many requests may be under way at once, by what the provider says to those that were.

Additive increase, multiplicative decrease: each request that is refused for now takes one place
away, so that a round of which a share is refused loses that share; a round without a refusal adds
one. Nobody goes before the time that a provider asks to wait for. A request that failed is sent
again by the engine alone, which asks here for a place as all others do.

Neighbours: `_asking` asks through `Paced`. For one event loop; nothing here is sent twice.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final, Self

from extractkit.engine import unlimited
from extractkit.errors import ProviderError
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, Provider

__all__ = ["Gate", "Pace", "Paced", "StandingClock"]


class Pace:
    """The number of places that a provider has for us, as far as it is known.

    Args:
        most: Never more than these, at least 1.

    Attributes:
        items: Who begins on an input goes through here, so that its time starts when it can run.
        requests: Each request goes through here.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._places = float(most)
        self._open_at = 0.0
        self.items = Gate(self)
        self.requests = Gate(self)

    @property
    def places(self) -> int:
        """How many may be under way now."""
        return int(self._places)

    @property
    def is_open(self) -> bool:
        """Whether no provider asked to wait until later than now."""
        return time.monotonic() >= self._open_at

    def answered(self) -> None:
        """Take note of a request that was answered."""
        if self._places < self._most:
            self._places = min(float(self._most), self._places + 1 / self._places)
            self._let_in()

    def failed(self, error: ProviderError) -> None:
        """Take note of a request that failed; only what may pass says something of the pace."""
        if not error.retryable:
            return
        self._places = max(1.0, self._places - 1)
        wait = error.retry_after_s or 0.0
        if time.monotonic() + wait > self._open_at:
            self._open_at = time.monotonic() + wait
            asyncio.get_running_loop().call_later(wait, self._let_in)

    def told(self, places: int) -> None:
        """Take note of how many places there are by what others found, who ask in our place."""
        self._places = float(places)

    def _let_in(self) -> None:
        self.items.let_in()
        self.requests.let_in()


class Gate:
    """Lets as many in as there are places, first come, first served; used by `async with`."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Self:
        if not self._waiting and self._is_free():
            self._inside += 1
            return self
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self.let_in()  # the time to wait for may have passed this moment
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # let in at the same moment
                self._leave()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._leave()

    def let_in(self) -> None:
        """Let those in for whom there is a place."""
        while self._waiting and self._is_free():
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._inside += 1
                turn.set_result(None)

    def _is_free(self) -> bool:
        return self._inside < self._pace.places and self._pace.is_open

    def _leave(self) -> None:
        self._inside -= 1
        self.let_in()


class StandingClock:
    """Seconds of one input, which stand still while a request of it waits for its place.

    Within its block, requests of the task, and of tasks that it begins, are those of the input.
    """

    def __init__(self) -> None:
        self._waiting = 0
        self._since = self._stood = 0.0

    def __call__(self) -> float:
        return (self._since if self._waiting else time.monotonic()) - self._stood

    def __enter__(self) -> None:
        self._before = _CLOCK.set(self)

    def __exit__(self, *exc_info: object) -> None:
        _CLOCK.reset(self._before)

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Within the block, stand still."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._stood += time.monotonic() - self._since


_CLOCK: Final[ContextVar[StandingClock | None]] = ContextVar("clock", default=None)


@contextmanager
def standing() -> Generator[None]:
    """Within the block, no time passes for the input and for its request."""
    clock = _CLOCK.get()
    with unlimited(), nullcontext() if clock is None else clock.stopped():
        yield


class Paced:
    """A provider whose requests wait for their place.

    Args:
        provider: Who is asked.
        pace: Has the places.
    """

    def __init__(self, provider: Provider, pace: Pace) -> None:
        self._provider = provider
        self._pace = pace

    @property
    def name(self) -> str:
        """That of the provider."""
        return self._provider.name

    @property
    def model(self) -> str:
        """That of the provider."""
        return self._provider.model

    @property
    def capabilities(self) -> Capabilities:
        """Those of the provider."""
        return self._provider.capabilities

    @property
    def settings(self) -> object:
        """Those of the provider, as `facts_of` asks for them; None where it has none."""
        return getattr(self._provider, "settings", None)

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Return the answer of the provider; who waits for it is alone, and needs no place."""
        return self._provider.complete(request, timeout_s=timeout_s)

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the answer of the provider, asked for when there is a place.

        Raises:
            ProviderError: As the provider raises it.
            DeadlineExceededError: Likewise; waiting for a place takes no time of an input.
        """
        async with AsyncExitStack() as place:
            with standing():
                await place.enter_async_context(self._pace.requests)
            try:
                response = await self._provider.acomplete(request, timeout_s=timeout_s)
            except ProviderError as error:
                self._pace.failed(error)
                raise
            self._pace.answered()
            return response

    def close(self) -> None:
        """Close nothing: the provider is that of others."""
