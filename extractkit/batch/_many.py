"""Extraction over many inputs, as they are wanted; and its two drivers.

Neighbours: `_asking` asks about each input, `_book` says what comes next. The drivers differ in who
waits: `extract_many` has a thread with an event loop of its own for what is under way, and takes
inputs in the thread of its caller; `aextract_many` does all in the event loop of its caller.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Coroutine,
    Generator,
    Iterable,
    Sized,
)
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar, Unpack, overload

from extractkit.api import ExtractorOptions
from extractkit.batch._asking import Asker
from extractkit.batch._book import Book, Told
from extractkit.batch._item import Item
from extractkit.journal import Journal
from extractkit.messages import Provider

__all__ = ["Input", "ManyOptions", "aextract_many", "driven", "extract_many"]

T = TypeVar("T")
R = TypeVar("R")

Input: TypeAlias = str | tuple[str, str]
"""A text, or an id and a text."""


class ManyOptions(ExtractorOptions, total=False):
    """The keywords of `extract_many`, for type checkers; see there for what they mean."""

    concurrency: int
    ordered: bool
    journal: str | os.PathLike[str] | Journal | None
    retry_failed: bool
    deadline_s: float | None
    progress: Told | bool | None


@overload
def extract_many(
    target: type[T], texts: Iterable[Input], **options: Unpack[ManyOptions]
) -> Generator[Item[T], None, None]: ...
@overload
def extract_many(
    target: Any, texts: Iterable[Input], **options: Unpack[ManyOptions]
) -> Generator[Item[Any], None, None]: ...
def extract_many(
    target: Any,
    texts: Iterable[Input],
    *,
    model: str | Provider | None = None,
    concurrency: int = 8,
    ordered: bool = True,
    journal: str | os.PathLike[str] | Journal | None = None,
    retry_failed: bool = False,
    deadline_s: float | None = None,
    progress: Told | bool | None = None,
    **options: Any,
) -> Generator[Item[Any], None, None]:
    """Return what a model says that each text holds, item by item, in bounded memory.

    What goes wrong with one input is the `error` of its item, and the others go on. Inputs are
    taken when there is room for them: at most four times `concurrency` are taken and not handed
    out. Closing the generator ends what is under way.

    Args:
        target: What is extracted, as of Extractor.
        texts: Texts, or pairs of an id and a text; any iterable, also one without end.
        model: As of Extractor.
        concurrency: Inputs under way at once, at most; fewer while the provider refuses requests
            for now, and one where it works on one after the other.
        ordered: Hand items out in the order of the inputs, else as they end.
        journal: A file that keeps every answer at once; what it knows of the same id, text, target,
            model and options is handed out from there, and nobody is asked. An open Journal stays
            open.
        retry_failed: Ask again about inputs of which the journal has an error.
        deadline_s: Seconds for all inputs together; None for no limit. `timeout_s` is for each.
        progress: True for a bar in the terminal or notebook, or what is told of every item.
        options: The other keywords of Extractor.

    Raises:
        UsageError: If an argument cannot be used; while iterating, if the journal cannot be.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: While iterating, after what had come: if the provider refuses the key or the
            model before any answer, or 20 inputs in a row for good.
        DeadlineExceededError: While iterating, after what had come, if `deadline_s` ended.
        OSError: While iterating, if the journal cannot be written.
    """
    asker, book = _begun(
        target,
        texts,
        model=model,
        concurrency=concurrency,
        ordered=ordered,
        journal=journal,
        retry_failed=retry_failed,
        deadline_s=deadline_s,
        progress=progress,
        options=options,
    )
    return _opened(asker, book, texts)


@overload
def aextract_many(
    target: type[T],
    texts: Iterable[Input] | AsyncIterable[Input],
    **options: Unpack[ManyOptions],
) -> AsyncGenerator[Item[T], None]: ...
@overload
def aextract_many(
    target: Any, texts: Iterable[Input] | AsyncIterable[Input], **options: Unpack[ManyOptions]
) -> AsyncGenerator[Item[Any], None]: ...
def aextract_many(
    target: Any,
    texts: Iterable[Input] | AsyncIterable[Input],
    *,
    model: str | Provider | None = None,
    concurrency: int = 8,
    ordered: bool = True,
    journal: str | os.PathLike[str] | Journal | None = None,
    retry_failed: bool = False,
    deadline_s: float | None = None,
    progress: Told | bool | None = None,
    **options: Any,
) -> AsyncGenerator[Item[Any], None]:
    """Return what `extract_many` returns, without blocking the event loop.

    Args:
        target: As of `extract_many`.
        texts: Likewise, or an asynchronous iterable.
        model: As of Extractor.
        concurrency: As of `extract_many`.
        ordered: Likewise.
        journal: Likewise.
        retry_failed: Likewise.
        deadline_s: Likewise.
        progress: Likewise.
        options: The other keywords of Extractor.

    Raises:
        UsageError: If an argument cannot be used; while iterating, if the journal cannot be.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: While iterating, as of `extract_many`.
        DeadlineExceededError: While iterating, after what had come, if `deadline_s` ended.
        OSError: While iterating, if the journal cannot be written.
    """
    asker, book = _begun(
        target,
        texts,
        model=model,
        concurrency=concurrency,
        ordered=ordered,
        journal=journal,
        retry_failed=retry_failed,
        deadline_s=deadline_s,
        progress=progress,
        options=options,
    )
    return _adriven(asker, book, texts)


def _begun(
    target: Any,
    texts: object,
    *,
    concurrency: int,
    ordered: bool,
    progress: Told | bool | None,
    **asking: Any,
) -> tuple[Asker[Any], Book[Any]]:
    """Return who asks, with the rest of the keywords, and what keeps the order."""
    asker: Asker[Any] = Asker(target, concurrency=concurrency, **asking)
    total = len(texts) if isinstance(texts, Sized) else None
    book: Book[Any] = Book(
        asker, concurrency=concurrency, ordered=ordered, total=total, progress=progress
    )
    return asker, book


_END: Final = object()

_SHARE: Final = 0.25
_MOMENT_S: Final = 0.02
"""What has ended is told when it is such a share of what is under way, or so many seconds old."""


def _opened(
    asker: Asker[T], book: Book[T], texts: Iterable[Input]
) -> Generator[Item[T], None, None]:
    with asker, book:
        yield from driven(asker, book, texts)


def driven(
    asker: Asker[T], book: Book[T], texts: Iterable[Input]
) -> Generator[Item[T], None, None]:
    """Yield what an asker that was entered makes of texts, as `extract_many` does.

    Raises:
        ExtractkitError: What ends a run before its inputs end.
    """
    with _Aside[Item[T]]() as aside:
        inputs = iter(texts)
        is_over = False
        while True:
            yield from book.ready()
            is_over = is_over or book.is_stopped
            if not is_over and book.has_room:
                # One at a time: the next may be long in coming, and what is there is handed out.
                text = next(inputs, _END)
                is_over = text is _END
                if not is_over:
                    given = book.take(text)
                    known = asker.known(given)
                    if known is None:
                        aside.begin(asker.ask(given))
                    else:
                        book.end(known)
                came = aside.ended()
            elif book.is_waiting:
                came = aside.next()
            else:
                break
            for item in came:
                book.end(item)
        book.close()


class _Aside(Generic[R]):
    """A thread with an event loop for what is under way; a context manager.

    Two threads that wake each other for every item spend more time on that than on the items. So
    the loop is called once for all that is begun before it comes, and tells of what has ended when
    that is a share of what is under way, or after a moment.
    """

    def __init__(self) -> None:
        self._begun: deque[Coroutine[Any, Any, R]] = deque()
        self._is_called = False
        self._tasks: set[asyncio.Task[R]] = set()
        self._over: list[asyncio.Task[R]] = []
        self._telling: asyncio.TimerHandle | None = None
        self._came: SimpleQueue[list[asyncio.Task[R]]] = SimpleQueue()
        self._is_there = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="extract_many", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_there.wait()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.call_soon_threadsafe(self._is_left.set)
        self._thread.join()

    def begin(self, work: Coroutine[Any, Any, R]) -> None:
        """Let something begin."""
        self._begun.append(work)
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._begin)

    def next(self) -> list[R]:
        """Wait for something that ends; return its result, and what has ended besides."""
        return [*(task.result() for task in self._came.get()), *self.ended()]

    def ended(self) -> list[R]:
        """Return the results of what was told to have ended."""
        found: list[R] = []
        try:
            while True:
                found += [task.result() for task in self._came.get_nowait()]
        except Empty:
            return found

    def _begin(self) -> None:
        self._is_called = False  # before the look: what comes behind it calls again
        while self._begun:
            task = self._loop.create_task(self._begun.popleft())
            self._tasks.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[R]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        task.exception()  # whoever leaves does not ask for it
        self._over.append(task)
        if len(self._over) >= len(self._tasks) * _SHARE:
            self._tell()
        elif self._telling is None:
            self._telling = self._loop.call_later(_MOMENT_S, self._tell)

    def _tell(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        over, self._over = self._over, []
        self._came.put(over)

    async def _serve(self) -> None:
        """Run until it is left; asyncio.run then ends what is under way, and closes clients."""
        self._loop = asyncio.get_running_loop()
        self._is_left = asyncio.Event()
        self._is_there.set()
        await self._is_left.wait()


async def _adriven(
    asker: Asker[T], book: Book[T], texts: Iterable[Input] | AsyncIterable[Input]
) -> AsyncGenerator[Item[T], None]:
    room = asyncio.Event()

    async def read() -> None:
        async for text in _each(texts):
            beside.begin(asker.ask(book.take(text)))
            while not book.has_room:
                room.clear()
                await room.wait()

    with asker, book:
        async with _Beside() as beside:
            reading = beside.begin(read())
            is_over = False
            while not is_over or book.is_waiting:
                task = await beside.next()
                if task is not reading:
                    book.end(task.result())
                elif not task.cancelled():
                    task.result()  # raises what the inputs raised
                is_over = is_over or task is reading
                for item in book.ready():
                    yield item
                    room.set()
                if book.is_stopped:
                    reading.cancel()
    book.close()


class _Beside:
    """What is under way in this event loop; a context manager."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Let something begin."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)
        return task

    async def next(self) -> asyncio.Task[Any]:
        """Wait for something that ends."""
        return await self._came.get()

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever leaves does not ask for it
        self._came.put_nowait(task)


async def _each(texts: Iterable[Input] | AsyncIterable[Input]) -> AsyncIterator[Input]:
    if isinstance(texts, AsyncIterable):
        async for text in texts:
            yield text
    else:
        for text in texts:
            yield text
