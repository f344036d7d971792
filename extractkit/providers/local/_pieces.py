"""One answer piece by piece: made in another thread, and read in the caller's.

Neighbours: `Local` says what is to be done and in which thread; `_decoding` tells of the answer
while it grows. Here it is found out what of that is new, and carried over.

The model serves one at a time. If it were held while a reader thinks, a stream that nobody reads
on would keep all others out, and a reader who asks the same model for something else would wait
for himself. So the answer is made at the model's own speed, whoever reads, and is kept until it is
read: it is no longer than its limit. Closing a stream never waits, so it may happen anywhere, in a
garbage collector too; the work then ends at its next token.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import queue
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, TypeAlias

from extractkit.errors import UsageError
from extractkit.messages import Delta, ModelResponse
from extractkit.providers.local._waiting import Handing, Patience

if TYPE_CHECKING:
    from extractkit.providers.local._growing import Growing

__all__ = ["Work", "apieces", "pieces"]

Work: TypeAlias = "Callable[[Callable[[Growing], None]], ModelResponse]"
"""Returns an answer, and calls what it is given with it while it grows."""

_Start: TypeAlias = Callable[[Callable[[], None]], object]
_Item: TypeAlias = Delta | BaseException


def pieces(work: Work, patience: Patience, start: _Start) -> Generator[Delta, None, None]:
    """Yield the pieces of what `work` makes; the last one has all of it.

    Args:
        work: What is to be done.
        patience: Its time; cancelled when nobody reads on.
        start: Has something done in another thread.

    Raises:
        UsageError: In a child of the process in which it was begun.
    """
    mailbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    maker = _Maker(work, mailbox.put)
    try:
        patience.read_here()
        start(maker.run)
        while not maker.is_read:
            maker.require_same_process()
            yield maker.opened(mailbox.get())
            patience.read_here()
    finally:
        patience.cancel()


async def apieces(work: Work, patience: Patience, start: _Start) -> AsyncGenerator[Delta, None]:
    """Yield the pieces as `pieces` does, without blocking the event loop.

    Args:
        work: What is to be done.
        patience: Its time; cancelled when nobody reads on.
        start: Has something done in another thread.

    Raises:
        UsageError: In a child of the process in which it was begun.
        DeadlineExceededError: If the time ended before the first piece.
    """
    loop = asyncio.get_running_loop()
    mailbox: asyncio.Queue[_Item] = asyncio.Queue()

    def hand(item: _Item) -> None:
        try:
            loop.call_soon_threadsafe(mailbox.put_nowait, item)
        except RuntimeError:  # the loop is closed, and whoever read with it
            patience.cancel()

    maker = _Maker(work, hand)
    try:
        start(maker.run)
        try:
            async with asyncio.timeout(patience.left()):
                first = await mailbox.get()
        except TimeoutError:
            raise patience.expired() from None
        yield maker.opened(first)
        while not maker.is_read:
            maker.require_same_process()
            # From here on the end of the time ends the answer, and that is a piece too.
            yield maker.opened(await mailbox.get())
    finally:
        patience.cancel()


class _Maker:
    """Makes an answer in one thread, and hands its pieces to another.

    Args:
        work: What is to be done.
        hand: Takes each piece, and what was raised instead of the last one.

    Attributes:
        is_read: Whether the last piece was opened.
    """

    def __init__(self, work: Work, hand: Callable[[_Item], None]) -> None:
        self._work = work
        self._hand = hand
        self._process = os.getpid()
        self.is_read = False

    def run(self) -> None:
        """Make the answer, and hand over all of it."""
        told = _Told()

        def tell(answer: Growing) -> None:
            if (piece := told.next(answer)) is not None:
                self._hand(piece)

        with Handing(self._hand):
            self._hand(told.last(self._work(tell)))

    def opened(self, item: _Item) -> Delta:
        """Return a piece that was handed over, or raise what was."""
        if isinstance(item, BaseException):
            raise item
        self.is_read = item.response is not None
        return item

    def require_same_process(self) -> None:
        """Return if what makes the answer is in this process.

        Raises:
            UsageError: If it is in the parent, which alone can read it.
        """
        if self._process != os.getpid():
            raise UsageError(
                "this stream was begun before the process was forked, and only the parent can "
                "read it; begin it again in the child"
            )


class _Told:
    """How much of a growing answer was told."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tokens = 0
        self._ahead = 0  # bytes that were told before their tokens
        self._characters = 0

    def next(self, answer: Growing) -> Delta | None:
        """Return what is new in `answer` and final; None where nothing is."""
        written, ahead = answer.final(self._tokens)
        text = self._decoder.decode((written + ahead)[self._ahead :])
        tokens = tuple(answer.records[self._tokens :])
        self._tokens = len(answer.tokens)
        self._ahead = max(self._ahead - len(written), len(ahead))
        self._characters += len(text)
        return Delta(text=text, tokens=tokens) if text or tokens else None

    def last(self, response: ModelResponse) -> Delta:
        """Return the last piece: the whole answer, with what of it was not told."""
        return Delta(
            text=response.text[self._characters :],
            tokens=response.tokens[self._tokens :],
            response=response,
        )
