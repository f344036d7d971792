"""Doubles for tests, the users' and our own: a provider that answers from a script.

Beside the house: it may use what a user may, and nothing in the package imports it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from extractkit.errors import UsageError
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason, Usage

__all__ = ["FakeProvider", "Reply"]

Reply: TypeAlias = str | ModelResponse | Exception | Callable[[ModelRequest], "Reply"]
"""What to answer: a text (a clean stop), a whole response, an error to raise, or a function."""


class FakeProvider:
    """Answers each request with the next reply of a script, and keeps the requests.

    Args:
        replies: One for each request, in order; or a single function for all of them.
        capabilities: What to claim; by default a provider that enforces nothing.
        model: The model's name.

    Attributes:
        requests: What was asked, in order.

    Thread-safe. A request beyond the script raises UsageError.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[ModelRequest], Reply],
        *,
        capabilities: Capabilities = Capabilities(source="a scripted provider"),
        model: str = "scripted",
    ) -> None:
        if isinstance(replies, str):
            replies = (replies,)
        self._replies: Iterator[Reply] = (
            iter(lambda: replies, object()) if callable(replies) else iter(replies)
        )
        self._lock = threading.Lock()
        self._capabilities = capabilities
        self._model = model
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """Always "fake"."""
        return "fake"

    @property
    def model(self) -> str:
        """The name that was given."""
        return self._model

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that were given."""
        return self._capabilities

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Return the next reply; raise it, if it is an error.

        Raises:
            UsageError: If the script has ended.
        """
        with self._lock:
            self.requests.append(request)
            try:
                reply = next(self._replies)
            except StopIteration:
                raise UsageError(
                    f"request {len(self.requests)} has no reply: the script has ended"
                ) from None
        return self._answer(reply, request)

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the next reply after giving other tasks a turn.

        Raises:
            UsageError: If the script has ended.
        """
        await asyncio.sleep(0)
        return self.complete(request, timeout_s=timeout_s)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _answer(self, reply: Reply, request: ModelRequest) -> ModelResponse:
        while callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ModelResponse):
            return reply
        usage = Usage(
            input_tokens=sum(len(message.content.split()) for message in request.messages),
            output_tokens=len(reply.split()),
        )
        return ModelResponse(text=reply, stop=StopReason.STOP, usage=usage, model=self._model)
