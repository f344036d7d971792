"""One process of several that ask: it asks about the inputs that come, and tells what came of them.

Neighbours: `_processes` starts it and is at the other end of the pipe. What it is given and what it
tells are pickles between two processes of one program.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from extractkit.batch._asking import Asker
from extractkit.batch._item import Given, Item, written
from extractkit.errors import ExtractkitError, UsageError
from extractkit.messages import Usage

__all__ = ["LAST_S", "UNPORTABLE", "Came", "Report", "ask", "came_of"]

LAST_S: Final = 5.0
"""Seconds in which a process has to end by itself."""

UNPORTABLE: Final = (TypeError, AttributeError, ValueError, ImportError, pickle.PickleError)
"""What pickle raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of an input in another process.

    Attributes:
        index: Its place among the inputs.
        record: What the journal keeps of it; None where it keeps nothing.
        status: That of its item.
        level: Likewise.
        usage: Likewise.
        cost_usd: Likewise.
        error: Likewise.
        is_left: The end of all kept it from ending.
    """

    index: int
    record: bytes | None
    status: str
    level: str | None
    usage: Usage
    cost_usd: Decimal | None
    error: ExtractkitError | None
    is_left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a process tells: first that it is there, then what came.

    Attributes:
        places: How many it may have under way now.
        came: What has ended.
        fault: What keeps it from going on.
    """

    places: int
    came: tuple[Came, ...] = ()
    fault: BaseException | None = None


def came_of(item: Item[Any], *, is_of_all: bool = False, is_left: bool = False) -> Came:
    record = None
    if not (is_of_all or is_left):
        item, record = written(item)
    return Came(
        index=item.index,
        record=record,
        status=item.status,
        level=item.level,
        usage=item.usage,
        cost_usd=item.cost_usd,
        error=item.error,
        is_left=is_left,
    )


def ask(connection: Any, work: bytes, share: int) -> None:
    """Ask, as one process of a crew, until the pipe ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they mean the process that reads
        signal.signal(number, signal.SIG_IGN)
    try:
        target, model, options = pickle.loads(work)  # noqa: S301  # our own
    except UNPORTABLE as exc:
        fault = UsageError(
            f"the target or an option cannot be read in another process: {exc}; define classes "
            "and functions at the top of a module that it can import"
        )
        connection.send(Report(places=share, fault=fault))
        return
    asker: Asker[Any] = Asker(
        target,
        model=model,
        concurrency=share,
        journal=None,
        retry_failed=False,
        deadline_s=None,
        options=options,
    )
    with asker:
        asyncio.run(_Asking(connection, asker).serve())


class _Asking:
    """The event loop of one process of a crew."""

    def __init__(self, connection: Any, asker: Asker[Any]) -> None:
        self._connection = connection
        self._asker = asker
        self._tasks: set[asyncio.Task[Came]] = set()
        self._ended: list[Came] = []
        self._is_over = asyncio.Event()

    async def serve(self) -> None:
        """Ask about what comes until the pipe ends; asyncio.run then ends what is under way."""
        self._loop = asyncio.get_running_loop()
        # A thread takes what comes at any time: who gives never waits for who tells.
        threading.Thread(target=self._listen, daemon=True).start()
        self._tell()
        await self._is_over.wait()

    def _listen(self) -> None:
        try:
            while True:
                given: Given | None = self._connection.recv()
                self._loop.call_soon_threadsafe(self._hear, given)
        except (EOFError, OSError):
            self._asker.end()  # at once: the loop may have much to do before it hears of it
            with suppress(RuntimeError):  # the loop may be closed
                self._loop.call_soon_threadsafe(self._is_over.set)
        time.sleep(LAST_S)
        os._exit(1)  # nobody is there for whom to go on

    def _hear(self, given: Given | None) -> None:
        if given is None:
            self._asker.end()
            return
        task = self._loop.create_task(self._came_of(given))
        self._tasks.add(task)
        task.add_done_callback(self._end)

    async def _came_of(self, given: Given) -> Came:
        item = await self._asker.ask(given)
        return came_of(
            item, is_of_all=self._asker.is_of_all(item), is_left=self._asker.is_left(item)
        )

    def _end(self, task: asyncio.Task[Came]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._tell(_portable(error))
            return
        if not self._ended:  # what ends at the same time is told together
            self._loop.call_soon(self._tell)
        self._ended.append(task.result())

    def _tell(self, fault: BaseException | None = None) -> None:
        came, self._ended = tuple(self._ended), []
        try:
            self._connection.send(Report(places=self._asker.pace.places, came=came, fault=fault))
        except OSError:
            self._is_over.set()  # nobody listens


def _portable(error: BaseException) -> BaseException:
    """Return an error that another process can read."""
    try:
        again: BaseException = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    except UNPORTABLE:
        return ExtractkitError(f"{type(error).__name__}: {error}")
    return again
