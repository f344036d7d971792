"""One configuration asked about many inputs; what the journal knows is not asked again.

Neighbours: `_many` says when to ask, `_pace` how many at once, `api` asks.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final, Generic, Self, TypeVar

from extractkit.api import Extractor, facts_of
from extractkit.batch._item import Given, Item, item_of, record_of
from extractkit.batch._pace import Pace, Paced
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
from extractkit.schema import compile_schema

__all__ = ["Asker"]

T = TypeVar("T")

_OF_ALL: Final = (AuthenticationError, PermissionDeniedError, NotFoundError, UnsupportedError)
"""What is wrong with one input as it is with all others."""


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
        journal: The journal, from when it is entered.
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
        self._provider = provider
        self._path = journal
        self.journal: Journal | None = None
        self._opened = ExitStack()
        self._options = options
        self._retry_failed = retry_failed
        self._deadline_s = deadline_s
        self._end = math.inf
        self._under_way: dict[bytes, asyncio.Event] = {}
        self.fingerprint = compile_schema(target, "json-schema").fingerprint
        self.facts = {} if journal is None else facts_of(options, provider)

    def __enter__(self) -> Self:
        if isinstance(self._path, Journal):
            self.journal = self._path
        elif self._path is not None:
            self.journal = self._opened.enter_context(Journal(self._path))
        if self._deadline_s is not None:
            self._end = time.monotonic() + self._deadline_s
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._opened.close()

    @property
    def is_late(self) -> bool:
        """Whether the time for all has ended."""
        return time.monotonic() >= self._end

    def too_late(self) -> DeadlineExceededError:
        """Return the error that says so."""
        return DeadlineExceededError(
            f"the time for all inputs ended after {self._deadline_s:g} s; raise deadline_s",
            timeout_s=self._deadline_s,
        )

    def key(self, given: Given) -> Key:
        """Return which row of the journal holds what came of an input."""
        return Key.of(
            given.id,
            given.text,
            target=self.fingerprint,
            model=self.facts["model"],
            parameters=self.facts["parameters"],
        )

    def known(self, given: Given) -> Item[T] | None:
        """Return what can be said of an input without asking; None where that is nothing."""
        if given.fault:
            return _item(given, error=UsageError(given.fault))
        if self.journal is None:
            return None
        return self._kept(given, self.key(given), self.journal)

    def is_ended(self, key: Key) -> bool:
        """Whether the journal has what came of an input, and it is not to be asked about again."""
        if self.journal is None or key not in self.journal:
            return False
        if not self._retry_failed:
            return True  # without a look at the row: of a million most are known
        record = self.journal.read(key)
        return is_object(record) and not self._is_failed(record)

    async def ask(self, given: Given) -> Item[T]:
        """Return what comes of an input: asked once, however often it is given at the same time.

        Raises:
            MissingDependencyError: If a package that this needs is not installed.
            OSError: If the journal cannot be written.
        """
        if given.fault or self.journal is None:
            return self.known(given) or await self._asked(given)
        key = self.key(given)
        while (other := self._under_way.get(key.digest)) is not None:
            await other.wait()
        known = self._kept(given, key, self.journal)
        if known is not None:
            return known
        over = self._under_way[key.digest] = asyncio.Event()
        try:
            item = await self._asked(given)
            if not self.is_of_all(item) and not self.is_cut(item):
                self.journal.append(key, record_of(item))
            return item
        finally:
            del self._under_way[key.digest]
            over.set()

    @staticmethod
    def is_of_all(item: Item[T]) -> bool:
        """Whether what went wrong with an item is no matter of its own."""
        return isinstance(item.error, _OF_ALL)

    def is_cut(self, item: Item[T]) -> bool:
        """Whether the end of the time for all kept an item from ending."""
        return isinstance(item.error, DeadlineExceededError) and self.is_late

    def _kept(self, given: Given, key: Key, journal: Journal) -> Item[T] | None:
        record = journal.read(key) if key in journal else None
        if not is_object(record) or self._is_failed(record):
            return None
        return item_of(record, given, self._target, is_known=True)

    def _is_failed(self, record: JsonObject) -> bool:
        """Whether a record is one to ask about again."""
        return self._retry_failed and "result" not in record

    async def _asked(self, given: Given) -> Item[T]:
        try:
            async with asyncio.timeout_at(None if self._end == math.inf else self._end):
                async with self.pace.items:
                    return _item(given, result=await self._extractor.aextract(given.text))
        except TimeoutError:
            return _item(given, error=self.too_late())
        except MissingDependencyError:
            raise
        except ExtractkitError as error:
            return _item(given, error=error)


def _item(given: Given, **came: Any) -> Item[Any]:
    return Item(index=given.index, id=given.id, text=given.text, **came)
