"""Doubles for tests, the users' and our own: a provider that answers from a script.

Beside the house: it may use what a user may, and nothing in the package imports it.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from typing import TypeAlias

from extractkit.errors import UsageError
from extractkit.messages import (
    Capabilities,
    Delta,
    ModelRequest,
    ModelResponse,
    StopReason,
    Usage,
)

__all__ = ["FakeProvider", "Reply"]

Reply: TypeAlias = (
    str | ModelResponse | Exception | Sequence[str | Exception] | Callable[[ModelRequest], "Reply"]
)
"""What to answer: a text (a clean stop), a whole response, an error to raise, a list of the pieces
in which a text comes (an error among them is raised in its place), or a function."""


_Written: TypeAlias = str | ModelResponse | Sequence[str | Exception]


class FakeProvider:
    """Answers each request with the next reply of a script, and keeps the requests.

    Args:
        replies: One for each request, in order; or a single function for all of them.
        capabilities: What to claim; by default a provider that enforces nothing.
        model: The model's name.
        pieces: How a stream cuts a text: so many characters a piece, or what a function makes of
            the text. A response with tokens comes token by token.

    Attributes:
        requests: What was asked, in order.
        open_streams: How many streams were begun and have not ended.

    Thread-safe. A request beyond the script raises UsageError.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[ModelRequest], Reply],
        *,
        capabilities: Capabilities = Capabilities(source="a scripted provider"),
        model: str = "scripted",
        pieces: int | Callable[[str], Iterable[str]] = 4,
    ) -> None:
        if isinstance(replies, str):
            replies = (replies,)
        self._replies: Iterator[Reply] = (
            iter(lambda: replies, object()) if callable(replies) else iter(replies)
        )
        self._lock = threading.Lock()
        self._capabilities = capabilities
        self._model = model
        self._pieces = pieces
        self.open_streams = 0
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
        return self._answer(self._reply(request), request)

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the next reply after giving other tasks a turn.

        Raises:
            UsageError: If the script has ended.
        """
        await asyncio.sleep(0)
        return self.complete(request, timeout_s=timeout_s)

    def stream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> Generator[Delta, None, None]:
        """Yield the next reply in pieces; raise it, or what is among its pieces, if it is an error.

        Raises:
            UsageError: If the script has ended.
        """
        reply = self._reply(request)
        self._count(1)
        try:
            yield from self._deltas(reply, request)
        finally:
            self._count(-1)

    async def astream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[Delta, None]:
        """Yield what `stream` yields, giving other tasks a turn before each piece.

        Raises:
            UsageError: If the script has ended.
        """
        with contextlib.closing(self.stream(request, timeout_s=timeout_s)) as deltas:
            for delta in deltas:
                await asyncio.sleep(0)
                yield delta

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _count(self, more: int) -> None:
        with self._lock:
            self.open_streams += more

    def _reply(self, request: ModelRequest) -> _Written:
        with self._lock:
            self.requests.append(request)
            try:
                reply = next(self._replies)
            except StopIteration:
                raise UsageError(
                    f"request {len(self.requests)} has no reply: the script has ended"
                ) from None
        while callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _answer(self, reply: _Written, request: ModelRequest) -> ModelResponse:
        if isinstance(reply, ModelResponse):
            return reply
        text = "".join(_without_errors(reply))
        usage = Usage(
            input_tokens=sum(len(message.content.split()) for message in request.messages),
            output_tokens=len(text.split()),
        )
        return ModelResponse(text=text, stop=StopReason.STOP, usage=usage, model=self._model)

    def _deltas(self, reply: _Written, request: ModelRequest) -> Iterator[Delta]:
        if isinstance(reply, ModelResponse) and reply.tokens:
            decoder = codecs.getincrementaldecoder("utf-8")()
            for token in reply.tokens:
                yield Delta(text=decoder.decode(token.token), tokens=(token,))
        else:
            for piece in self._cut(reply):
                yield Delta(text=piece)
        yield Delta(response=self._answer(reply, request))

    def _cut(self, reply: _Written) -> Iterable[str]:
        if not isinstance(reply, str | ModelResponse):
            return _without_errors(reply)
        text = reply if isinstance(reply, str) else reply.text
        size = self._pieces
        if callable(size):
            return size(text)
        return (text[start : start + size] for start in range(0, len(text), size))


def _without_errors(pieces: Iterable[str | Exception]) -> Iterator[str]:
    """Yield pieces up to the first error, which is raised."""
    for piece in pieces:
        if isinstance(piece, Exception):
            raise piece
        yield piece
