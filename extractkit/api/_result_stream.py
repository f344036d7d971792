"""An extraction that is looked at while its answer comes.

Neighbours: `_extractor` starts one, the drivers of `engine` carry it out, `streaming` says what
changes. Nothing is sent before somebody asks for the first piece, or for the result.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Generic, Self, TypeVar

from extractkit.engine import Changes, Ended, Flow, Live, adrive_live, drive_live
from extractkit.errors import UsageError
from extractkit.messages import Provider
from extractkit.results import ExtractionResult, PartialResult
from extractkit.streaming import Change

__all__ = ["ResultStream"]

T = TypeVar("T")


class ResultStream(Generic[T]):
    """An answer while it comes: partial results, then the result that `extract` would give.

    `stream` gives one for `with` and `for`, `astream` one for `async with` and `async for`. Each
    piece that changed something gives one partial result. Leaving the block ends the request and
    frees the connection; nothing more is read. One thread, or one event loop, reads it at a time.

    Until a field was shown as PRESENT, an answer that breaks off or cannot be read is asked for
    again, as by `extract`, and what was shown of it is taken back. After that it stands as it is.

    Args:
        start: Makes the steps of the extraction; called once, with the first piece.
        live: Hears its answers.
        provider: Who answers.
        is_async: Whether it is for `async with` and `async for`.
    """

    def __init__(
        self, start: Callable[[], Flow[T]], live: Live, provider: Provider, *, is_async: bool
    ) -> None:
        self._start = start
        self._live = live
        self._provider = provider
        self._is_async = is_async
        self._pieces: Generator[Changes, None, ExtractionResult[T]] | None = None
        self._apieces: AsyncGenerator[Changes | Ended[ExtractionResult[T]], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = threading.Lock()
        self._error: Exception | None = None
        self._result: ExtractionResult[T] | None = None
        self._is_closed = False
        self._is_passed = False  # whether pieces came whose changes nobody was told

    # --- for `with` and `for` -------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._require_way(is_async=False)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[PartialResult]:
        self._require_way(is_async=False)
        self._require_more()
        return self

    def __next__(self) -> PartialResult:
        self._require_way(is_async=False)
        self._is_passed = True
        if self._next() is None:
            raise StopIteration
        return self._live.snapshot()

    def changes(self) -> Iterator[Change]:
        """Return what happens to the fields, in order, from the first piece on.

        A copy that is kept by them equals `document` of the partial result at each step.

        Raises:
            UsageError: If pieces were read before or in between, or it is for `async for`.
        """
        self._require_way(is_async=False)
        self._require_unread()
        return self._all_changes()

    @property
    def result(self) -> ExtractionResult[T]:
        """The result; looking at it reads what has not come yet, and waits for it.

        An asynchronous one has it once it was read to its end; see `aresult`.

        Raises:
            UsageError: If it was closed before its end, or would have to be awaited.
            MissingDependencyError: If a package that this needs is not installed.
            ProviderError: If the model could not be asked.
            DeadlineExceededError: If the time ended before anything of an answer came.
        """
        if self._result is None:
            self._require_way(is_async=False)
            self._live.is_watched, self._is_passed = False, True
            while self._next() is not None:
                pass
        return self._whole()

    def close(self) -> None:
        """End the request, if it is under way; closing twice is fine.

        Raises:
            UsageError: If another thread is reading it, or it is for `async with`.
        """
        self._require_way(is_async=False)
        self._take_turn()
        try:
            self._is_closed = True
            if self._pieces is not None:
                self._pieces.close()
        finally:
            self._turn.release()

    # --- for `async with` and `async for` -------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._require_way(is_async=True)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[PartialResult]:
        self._require_way(is_async=True)
        self._require_more()
        return self

    async def __anext__(self) -> PartialResult:
        self._require_way(is_async=True)
        self._is_passed = True
        if await self._anext() is None:
            raise StopAsyncIteration
        return self._live.snapshot()

    def achanges(self) -> AsyncIterator[Change]:
        """Return what `changes` does, for `async for`.

        Raises:
            UsageError: If pieces were read before or in between, or it is not for `async for`.
        """
        self._require_way(is_async=True)
        self._require_unread()
        return self._all_achanges()

    async def aresult(self) -> ExtractionResult[T]:
        """Return the result, after what has not come yet was read.

        Raises:
            UsageError: If it was closed before its end, or it is not for `async with`.
            MissingDependencyError: If a package that this needs is not installed.
            ProviderError: If the model could not be asked.
            DeadlineExceededError: If the time ended before anything of an answer came.
        """
        if self._result is None:
            self._require_way(is_async=True)
            self._live.is_watched, self._is_passed = False, True
            while await self._anext() is not None:
                pass
        return self._whole()

    async def aclose(self) -> None:
        """End the request, if it is under way; closing twice is fine.

        Raises:
            UsageError: If another task is reading it, or it is not for `async with`.
        """
        self._require_way(is_async=True)
        self._take_turn()
        try:
            self._is_closed = True
            if self._apieces is not None:
                await self._apieces.aclose()
        finally:
            self._turn.release()

    # --- what both do ---------------------------------------------------------------------------

    def _next(self) -> Changes | None:
        """Read the next piece; return what it changes, None at the end."""
        self._take_turn()
        try:
            if self._is_over():
                return None
            if self._pieces is None:
                self._pieces = drive_live(self._start(), self._provider)
            return next(self._pieces)
        except StopIteration as done:
            self._result = done.value
            return None
        except BaseException as error:
            self._ended_by(error)
            raise
        finally:
            self._turn.release()

    async def _anext(self) -> Changes | None:
        self._take_turn()
        try:
            if self._is_over():
                return None
            if self._apieces is None:
                self._loop = asyncio.get_running_loop()
                self._apieces = adrive_live(self._start(), self._provider)
            told = await anext(self._apieces)
            if not isinstance(told, Ended):
                return told
            self._result = told.result
            await self._apieces.aclose()
        except BaseException as error:
            self._ended_by(error)
            raise
        finally:
            self._turn.release()
        return None

    def _all_changes(self) -> Iterator[Change]:
        self._require_unread()
        while (changes := self._next()) is not None:
            yield from changes
            self._require_told()

    async def _all_achanges(self) -> AsyncIterator[Change]:
        self._require_unread()
        while (changes := await self._anext()) is not None:
            for change in changes:
                yield change
            self._require_told()

    def _ended_by(self, error: BaseException) -> None:
        """Take note of what ended the reading; a cancellation is of that one call, and no more."""
        if isinstance(error, Exception):
            self._error = self._error or error
        else:
            self._is_closed = True

    def _is_over(self) -> bool:
        if self._error is not None:
            raise self._error
        if self._result is None and self._is_closed:
            raise UsageError(
                "this stream was closed before its end, or the reading of it was cancelled: there "
                "is no more of it"
            )
        return self._result is not None

    def _whole(self) -> ExtractionResult[T]:
        if self._result is None:
            raise UsageError("this stream was not read to its end: there is no result")
        return self._result

    def _require_more(self) -> None:
        if self._result is not None:
            raise UsageError(
                "this stream was read to its end, and its pieces come once; keep what you need of "
                "them, or ask again"
            )

    def _require_unread(self) -> None:
        if self._pieces is not None or self._apieces is not None:
            raise UsageError(
                "pieces of this stream were read before, so that its changes would not be all of "
                "them; ask for the changes first"
            )

    def _require_told(self) -> None:
        if self._is_passed:
            raise UsageError(
                "other pieces of this stream, or its result, were read between its changes, so "
                "that these would not be all of them; read them to their end first"
            )

    def _require_way(self, *, is_async: bool) -> None:
        if is_async and not self._is_async:
            raise UsageError("stream is for `with`, `for` and `result`; await astream instead")
        if self._is_async and not is_async:
            raise UsageError(
                "astream is for `async with`, `async for` and `await aresult()`; in code that is "
                "not asynchronous use stream"
            )

    def _take_turn(self) -> None:
        if self._loop is not None and self._loop is not asyncio.get_running_loop():
            raise UsageError("this stream was begun in another event loop; read it there")
        if not self._turn.acquire(blocking=False):
            raise UsageError("this stream is being read already, by another thread or task")
