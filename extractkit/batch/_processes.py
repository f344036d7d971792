"""Inputs asked about in several processes; this one reads them, keeps what came, and tells of it.

Each process is spawned, has an Extractor and a provider of its own, and its share of what may be
under way at once; how many a provider has room for, each finds out by itself. What came of an input
comes back as the JSON text that the journal keeps. The inputs of a process that was killed are
given to a new one, once. When this process ends, however it ends, the others see the end of their
pipe, begin nothing more, and end. None has more inputs than it may have under way until what came
of them is kept here: so that is all that a kill loses.

Neighbours: `_files` runs over a file, `_worker` is what each process does, `_book` and `_keeping`
are those of this one.
"""

from __future__ import annotations

import multiprocessing
import pickle
import selectors
from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Self

from extractkit.batch._asking import Asker
from extractkit.batch._book import Book
from extractkit.batch._item import Given, Item
from extractkit.batch._keeping import Keeper
from extractkit.batch._worker import LAST_S, UNPORTABLE, Came, Report, ask, came_of
from extractkit.errors import ExtractkitError, UsageError
from extractkit.messages import Usage, require_number

__all__ = ["Crew", "asked_apart"]

_END: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Brief(Item[Any]):
    """An item whose result is in the journal alone."""

    came: Came

    @property
    def status(self) -> str:
        return self.came.status

    @property
    def level(self) -> str | None:
        return self.came.level

    @property
    def usage(self) -> Usage:
        return self.came.usage

    @property
    def cost_usd(self) -> Decimal | None:
        return self.came.cost_usd


class Crew:
    """Processes that ask; a context manager, which starts and ends them.

    Args:
        target: As of Extractor.
        model: Likewise.
        options: The other keywords of Extractor.
        concurrency: Inputs under way at once, in all.
        processes: How many.

    Raises:
        UsageError: If there are more processes than inputs at once, or what they need cannot be
            handed to them.
    """

    def __init__(
        self,
        target: Any,
        *,
        model: Any,
        options: Mapping[str, Any],
        concurrency: int,
        processes: int,
    ) -> None:
        require_number("run_file", "processes", processes, low=1, whole=True)
        if processes > concurrency:
            raise UsageError(
                f"processes={processes} have concurrency={concurrency} inputs at once between "
                "them; give each at least one"
            )
        try:
            self._work = pickle.dumps((target, model, dict(options)))
        except UNPORTABLE as exc:
            raise UsageError(
                f"the target or an option cannot be handed to another process: {exc}; name the "
                "model by a string, and define classes and functions at the top of a module"
            ) from exc
        least, more = divmod(concurrency, processes)
        self._shares = [least + (number < more) for number in range(processes)]
        self._hands: list[_Hand] = []
        self._ready = selectors.DefaultSelector()
        self._is_stopped = False
        self._fault: BaseException | None = None

    def __enter__(self) -> Self:
        for share in self._shares:
            self._start(share)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ready.close()
        for hand in self._hands:
            hand.connection.close()
        for hand in self._hands:
            hand.end()

    @property
    def places(self) -> int:
        """How many inputs may be under way now, in all processes."""
        return sum(hand.places for hand in self._hands)

    def free(self) -> _Hand | None:
        """Return the process with the most room for another input; None where there is none."""
        hand = min(self._hands, key=lambda hand: len(hand.given) / hand.share)
        return hand if len(hand.given) < hand.share else None

    def stop(self) -> None:
        """Let what is under way end, and nothing begin."""
        if not self._is_stopped:
            self._is_stopped = True
            for hand in self._hands:
                hand.send(None)

    def came(self, timeout_s: float | None) -> list[tuple[Given, Came]]:
        """Return what has come by now, or wait so long for something; None for no limit.

        Raises:
            ExtractkitError: If a process ends before it begins, or tells what keeps it from asking.
        """
        if self._fault is not None:
            raise self._fault
        found: list[tuple[Given, Came]] = []
        for key, _ in self._ready.select(timeout_s):
            hand: _Hand = key.data
            report = hand.receive()
            if report is None:
                found += self._lost(hand)
                continue
            if report.fault is not None:
                self._fault = report.fault  # first, what has come is kept
                continue
            hand.places, hand.is_there = report.places, True
            found += ((hand.given.pop(came.index), came) for came in report.came)
        return found

    def _start(self, share: int) -> _Hand:
        hand = _Hand(self._work, share)
        self._hands.append(hand)
        self._ready.register(hand.connection, selectors.EVENT_READ, hand)
        return hand

    def _lost(self, hand: _Hand) -> list[tuple[Given, Came]]:
        """Put another process in the place of one that ended; return what it is not given."""
        self._ready.unregister(hand.connection)
        self._hands.remove(hand)
        hand.connection.close()
        hand.end()
        if not hand.is_there:
            self._fault = ExtractkitError(
                f"a process that was to ask ended with code {hand.process.exitcode} before it "
                "began; what it wrote to the standard error says why. A script has to call "
                'run_file below `if __name__ == "__main__":`, for each process reads it first'
            )
            return []
        other = self._start(hand.share)
        found: list[tuple[Given, Came]] = []
        for given in hand.given.values():
            if self._is_stopped:
                found.append((given, _left(given)))
            elif given.index in hand.again:
                found.append((given, _given_up(given, hand.process.exitcode)))
            else:
                other.again.add(given.index)
                other.give(given)
        if self._is_stopped:
            other.send(None)
        return found


class _Hand:
    """One process, and the inputs that it has.

    Attributes:
        share: How many of them it may have under way.
        places: How many it has places for now.
        given: By their places.
        again: Those that another process had before it ended.
        is_there: It has begun.
    """

    def __init__(self, work: bytes, share: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.share = self.places = share
        self.given: dict[int, Given] = {}
        self.again: set[int] = set()
        self.is_there = False
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=ask, args=(theirs, work, share), daemon=True)
        try:
            self.process.start()
        finally:
            theirs.close()  # so that the end of one of us is the end of the pipe for the other

    def give(self, given: Given) -> None:
        """Hand an input over."""
        self.given[given.index] = given
        self.send(given)

    def send(self, told: Given | None) -> None:
        """Tell something to a process; that it has ended is seen when it is heard."""
        with suppress(OSError):
            self.connection.send(told)

    def receive(self) -> Report | None:
        """Return what is told; None where the process has ended."""
        try:
            report: Report = self.connection.recv()
        except (EOFError, OSError):
            return None
        return report

    def end(self) -> None:
        """Return when the process has ended, killed if it must be; its pipe is closed."""
        self.process.join(2 * LAST_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def asked_apart(
    asker: Asker[Any], book: Book[Any], texts: Iterable[tuple[str, str]], crew: Crew
) -> Generator[Item[Any]]:
    """Yield what a crew makes of texts, as `driven` does; the journal has each before.

    Args:
        asker: Knows keys and the journal, and is entered; it asks nothing.
        book: Keeps the order.
        texts: Pairs of an id and a text.
        crew: Asks.

    Raises:
        ExtractkitError: What ends a run before its inputs end.
    """
    with crew:
        inputs = iter(texts)
        is_over = False
        while True:
            yield from book.ready()
            is_over = is_over or book.is_stopped
            if asker.is_over or book.is_stopped:
                crew.stop()
            hand = crew.free() if not is_over and book.has_room else None
            if hand is not None:
                # One at a time: the next may be long in coming, and what is there is handed out.
                text = next(inputs, _END)
                is_over = text is _END
                if not is_over:
                    hand.give(book.take(text))
                came = crew.came(0)
            elif book.is_waiting:
                came = crew.came(None)
            else:
                break
            asker.pace.told(crew.places)
            for given, what in came:
                book.end(_kept(asker, given, what))
        book.close()


def _kept(asker: Asker[Any], given: Given, came: Came) -> Item[Any]:
    """Write down what came of an input; return it."""
    keeper: Keeper | None = asker.keeper
    if came.is_left:
        asker.leave(given.index)
    elif came.record is not None and keeper is not None:
        keeper.keep_json(asker.key(given), came.record)
    return _Brief(index=given.index, id=given.id, text=given.text, error=came.error, came=came)


def _left(given: Given) -> Came:
    error = ExtractkitError("nobody was asked about this input: the run was ended")
    return came_of(Item(index=given.index, id=given.id, text=given.text, error=error), is_left=True)


def _given_up(given: Given, code: int | None) -> Came:
    error = ExtractkitError(
        f"two processes ended that had this input, the second with code {code}; "
        "retry_failed asks again"
    )
    return came_of(Item(index=given.index, id=given.id, text=given.text, error=error))
