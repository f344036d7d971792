"""One configuration asked about many inputs; what the journal knows is not asked again.

Neighbours: `_many` says when to ask, `_pace` how many at once, `_keeping` writes down what came,
`api` asks.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Final, Generic, Self, TypeVar

from extractkit.api import Extractor, facts_of
from extractkit.batch._item import Given, Item, item_of
from extractkit.batch._keeping import Keeper
from extractkit.batch._pace import Pace, Paced, StandingClock
from extractkit.engine import adrive
from extractkit.errors import (
    AuthenticationError,
    DeadlineExceededError,
    ExtractkitError,
    MissingDependencyError,
    NotFoundError,
    PermissionDeniedError,
    UnsupportedError,
    UsageError,
)
from extractkit.journal import Journal, Key
from extractkit.messages import require_number
from extractkit.paths import JsonObject, is_object
from extractkit.providers import shared
from extractkit.results import ExtractionResult
from extractkit.schema import compile_schema

__all__ = ["Asker"]

T = TypeVar("T")

_OF_ALL: Final = (AuthenticationError, PermissionDeniedError, NotFoundError, UnsupportedError)
"""What is wrong with one input as it is with all others."""

_ROOM: Final = 1 << 20
_ROOM_EACH: Final = 1 << 16
"""Bytes on the disk that are kept for what is under way: in all, and for each."""


class Asker(Generic[T]):
    """Asks about inputs, in an event loop; a context manager.

    Args:
        target: As of Extractor.
        model: As of Extractor.
        concurrency: Inputs under way at once, at most.
        journal: Keeps what came at once; None for nothing kept.
        retry_failed: Ask again where the journal has an error.
        deadline_s: Seconds for all inputs together, from when it is entered.
        options: The other keywords of Extractor.

    Attributes:
        pace: How many are under way at once.
        facts: What the answers come from, as `facts_of` gives it.
        fingerprint: That of the target.
        keeper: Writes down what came, from when it is entered; None where nothing is kept.
    """

    def __init__(
        self,
        target: Any,
        *,
        model: Any,
        concurrency: int,
        journal: Any,
        retry_failed: bool,
        deadline_s: float | None,
        options: Mapping[str, Any],
    ) -> None:
        require_number("extract_many", "concurrency", concurrency, low=1, whole=True)
        if deadline_s is not None:
            require_number("extract_many", "deadline_s", deadline_s, low=0)
        provider = shared(model)
        # One that works on one request after the other says so; more would only wait in its queue.
        self.pace = Pace(min(concurrency, getattr(provider, "at_once", concurrency)))
        self._extractor: Extractor[T] = Extractor(
            target, model=Paced(provider, self.pace), **options
        )
        self._target = target
        self._path = journal
        self._room = _ROOM + concurrency * _ROOM_EACH
        self.keeper: Keeper | None = None
        self._opened = ExitStack()
        self._retry_failed = retry_failed
        self._deadline_s = deadline_s
        self._end = math.inf
        self._is_ended = False
        self._left: set[int] = set()
        self._under_way: dict[bytes, asyncio.Event] = {}
        self.fingerprint = compile_schema(target, "json-schema").fingerprint
        self.facts = {} if journal is None else facts_of(options, provider)

    def __enter__(self) -> Self:
        if isinstance(self._path, Journal):
            self.keeper = Keeper(self._path)
        elif self._path is not None:
            journal = Journal(self._path, reserve_bytes=self._room)
            self.keeper = Keeper(self._opened.enter_context(journal))
        if self._deadline_s is not None:
            self._end = time.monotonic() + self._deadline_s
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._opened.close()

    @property
    def is_late(self) -> bool:
        """Whether the time for all has ended."""
        return time.monotonic() >= self._end

    @property
    def trouble(self) -> DeadlineExceededError | OSError | None:
        """What keeps all that follows from being asked or kept; None where nothing does."""
        if self.keeper is not None and self.keeper.is_full:
            return self.keeper.trouble()
        return self._too_late() if self.is_late else None

    @property
    def has_lost(self) -> bool:
        """Whether something came that could not be kept."""
        return self.keeper is not None and bool(self.keeper.lost())

    @property
    def is_over(self) -> bool:
        """Whether no input is asked about any more that is not under way."""
        return self._is_ended

    def end(self) -> None:
        """Ask about no input any more that is not under way."""
        self._is_ended = True

    def leave(self, index: int) -> None:
        """Take note that the end of all kept an input from ending."""
        self._left.add(index)

    def key(self, given: Given) -> Key:
        """Return which row of the journal holds what came of an input."""
        return self._key_of(given.id, given.text)

    @cached_property
    def _key_of(self) -> Callable[[str, str], Key]:
        model, parameters = self.facts["model"], self.facts["parameters"]
        return Key.maker(target=self.fingerprint, model=model, parameters=parameters)

    def known(self, given: Given) -> Item[T] | None:
        """Return what can be said of an input without asking; None where that is nothing."""
        if given.fault:
            return _item(given, error=UsageError(given.fault))
        if self.keeper is None:
            return None
        return self._kept(given, self.key(given), self.keeper.journal)

    def is_ended(self, key: Key) -> bool:
        """Whether the journal has what came of an input, and it is not to be asked about again."""
        if self.keeper is None or key not in self.keeper.journal:
            return False
        if not self._retry_failed:
            return True  # without a look at the row: of a million most are known
        record = self.keeper.journal.read(key)
        return is_object(record) and not self._is_failed(record)

    async def ask(self, given: Given) -> Item[T]:
        """Return what comes of an input: asked once, however often it is given at the same time.

        Raises:
            MissingDependencyError: If a package that this needs is not installed.
        """
        if given.fault or self.keeper is None:
            return self.known(given) or await self._asked(given)
        key = self.key(given)
        while (other := self._under_way.get(key.digest)) is not None:
            await other.wait()
        known = self._kept(given, key, self.keeper.journal)
        if known is not None:
            return known
        over = self._under_way[key.digest] = asyncio.Event()
        try:
            item = await self._asked(given)
            if self.is_of_all(item) or self.is_left(item):
                return item
            return self.keeper.keep(key, item)
        finally:
            del self._under_way[key.digest]
            over.set()

    @staticmethod
    def is_of_all(item: Item[T]) -> bool:
        """Whether what went wrong with an item is no matter of its own."""
        return isinstance(item.error, _OF_ALL)

    def is_left(self, item: Item[T]) -> bool:
        """Whether the end of all kept an item from ending."""
        return item.index in self._left

    def _kept(self, given: Given, key: Key, journal: Journal) -> Item[T] | None:
        record = journal.read(key) if key in journal else None
        if not is_object(record) or self._is_failed(record):
            return None
        return item_of(record, given, self._target, is_known=True)

    def _is_failed(self, record: JsonObject) -> bool:
        """Whether a record is one to ask about again."""
        return self._retry_failed and "result" not in record

    async def _asked(self, given: Given) -> Item[T]:
        clock = StandingClock()
        try:
            async with asyncio.timeout_at(None if self._end == math.inf else self._end):
                async with self.pace.items:
                    if self._is_ended or self.trouble is not None:
                        return self._left_out(given)
                    with clock:
                        flow = self._extractor.flow(given.text, clock=clock)
                        result = await adrive(flow, self._extractor.provider)
            if (failure := _failure_of(result)) is not None:
                return _item(given, error=failure)
            return _item(given, result=result)
        except TimeoutError:
            return self._left_out(given)
        except MissingDependencyError:
            raise
        except ExtractkitError as error:
            return _item(given, error=error)

    def _too_late(self) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"the time for all inputs ended after {self._deadline_s:g} s; raise deadline_s",
            timeout_s=self._deadline_s,
        )

    def _left_out(self, given: Given) -> Item[T]:
        """Return an item that says why its input was not asked about to the end."""
        self.leave(given.index)
        trouble = self.trouble
        if isinstance(trouble, DeadlineExceededError):
            return _item(given, error=trouble)
        why = "the run was ended" if trouble is None else trouble.strerror
        return _item(given, error=ExtractkitError(f"nobody was asked about this input: {why}"))


def _failure_of(result: ExtractionResult[Any]) -> ExtractkitError | None:
    """Return what kept the model from being asked to the end, where nothing good came before."""
    if result.failure is None or result.ok:
        return None
    error = result.failure.error()
    error.usage, error.cost_usd, error.retries = result.usage, result.cost_usd, result.retries
    return error


def _item(given: Given, **came: Any) -> Item[Any]:
    return Item(index=given.index, id=given.id, text=given.text, **came)
