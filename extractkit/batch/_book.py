"""What is under way, what has come, and what is handed out next; when to stop.

Neighbours: the two drivers of `_many` keep one each. Nothing here asks or waits.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Generic, TypeAlias, TypeVar

from extractkit.batch._asking import Asker
from extractkit.batch._item import Given, Item
from extractkit.errors import ExtractkitError, ProviderError

__all__ = ["Book", "Progress", "Told"]

T = TypeVar("T")

_ROOM: Final = 4
"""Inputs taken and not handed out, for each that may be under way: what waits behind a slow one."""

_MOST_IN_A_ROW: Final = 20
"""Requests that are refused for good, one after the other, after which no more are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        done: Inputs that have ended, those of an earlier run among them.
        total: Inputs that there are; None where that is not known.
        known: Inputs of which the journal knew what came.
        statuses: Status -> how many, "error" among them.
        levels: Level that was reached -> how many.
        cost_usd: What those asked now cost in US dollars, as far as prices are known.
        unpriced: How many of those asked now have no known cost.
        input_tokens: Of those asked now.
        output_tokens: Of those asked now.
        seconds: Since the run began.
        at_once: How many may be under way now.
        is_over: It is the last word.
    """

    done: int
    total: int | None
    known: int
    statuses: Mapping[str, int] = field(default_factory=dict[str, int])
    levels: Mapping[str, int] = field(default_factory=dict[str, int])
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    at_once: int = 1
    is_over: bool = False


Told: TypeAlias = Callable[[Progress], None]


class Book(Generic[T]):
    """Keeps the order of a run.

    Args:
        asker: Who asks.
        concurrency: Inputs under way at once, at most.
        ordered: Hand items out as the inputs came, else as they end.
        total: How many inputs there are, where that is known.
        progress: Told of every item.
    """

    def __init__(
        self,
        asker: Asker[T],
        *,
        concurrency: int,
        ordered: bool,
        total: int | None,
        progress: Told | None,
    ) -> None:
        self._asker = asker
        self._most = _ROOM * concurrency
        self._ordered = ordered
        self._total = total
        self._progress = progress
        self._began = time.monotonic()
        self._taken = 0
        self._handed_out = 0
        self._ended = 0
        self._held: dict[int, Item[T]] = {}
        self._ready: deque[Item[T]] = deque()
        self._statuses: Counter[str] = Counter()
        self._levels: Counter[str] = Counter()
        self._known = self._input_tokens = self._output_tokens = 0
        self._cost = Decimal(0)
        self._unpriced = 0
        self._in_a_row = 0
        self._error: ExtractkitError | None = None

    @property
    def has_room(self) -> bool:
        """Whether another input may be taken now; what is handed out makes room."""
        return self._taken - self._handed_out < self._most

    @property
    def is_stopped(self) -> bool:
        """Whether no more inputs may be taken at all."""
        if self._error is None and self._asker.is_late:
            self._error = self._asker.too_late()
        return self._error is not None

    @property
    def is_waiting(self) -> bool:
        """Whether something is under way."""
        return self._ended < self._taken

    def take(self, given: Any) -> Given:
        """Return the next input: a text, or an id and a text."""
        index, self._taken = self._taken, self._taken + 1
        match given:
            case str(text):
                return Given(index=index, id="", text=text)
            case (str(id), str(text)):
                return Given(index=index, id=id, text=text)
            case _:
                fault = f"input {index} is {given!r:.60}; expected a text, or an id and a text"
                return Given(index=index, id="", text="", fault=fault)

    def end(self, item: Item[T]) -> None:
        """Take what came of an input."""
        self._ended += 1
        self._count(item)
        if not self._ordered:
            self._ready.append(item)
            return
        self._held[item.index] = item
        while (following := self._held.pop(self._handed_out + len(self._ready), None)) is not None:
            self._ready.append(following)

    def ready(self) -> Iterator[Item[T]]:
        """Yield what can be handed out."""
        while self._ready:
            self._handed_out += 1
            yield self._ready.popleft()

    def close(self) -> None:
        """Say the last word.

        Raises:
            ExtractkitError: If inputs were left, because asking about them could not help.
        """
        self._tell(is_over=True)
        if self._error is not None:
            raise self._error

    def _count(self, item: Item[T]) -> None:
        self._statuses[item.status] += 1
        self._known += item.is_known
        if item.result is not None:
            self._in_a_row = 0
            self._levels[item.result.validity.name.lower()] += 1
            if not item.is_known:
                self._input_tokens += item.result.usage.input_tokens
                self._output_tokens += item.result.usage.output_tokens
                self._cost += item.result.cost_usd or 0
                self._unpriced += item.result.cost_usd is None
        elif item.error is not None and not item.is_known:
            self._judge(item, item.error)
        self._tell()

    def _judge(self, item: Item[T], error: ExtractkitError) -> None:
        """Stop where an error says that the next input would fare no better."""
        if isinstance(error, ProviderError) and not error.retryable:
            self._in_a_row += 1
        is_first = not self._levels and self._asker.is_of_all(item)
        if self._asker.is_cut(item):
            error = self._asker.too_late()
        elif not is_first and self._in_a_row < _MOST_IN_A_ROW:
            return
        self._error = self._error or error

    def _tell(self, *, is_over: bool = False) -> None:
        if self._progress is None:
            return
        self._progress(
            Progress(
                done=self._ended,
                total=self._total,
                known=self._known,
                statuses=dict(self._statuses),
                levels=dict(self._levels),
                cost_usd=self._cost,
                unpriced=self._unpriced,
                input_tokens=self._input_tokens,
                output_tokens=self._output_tokens,
                seconds=time.monotonic() - self._began,
                at_once=self._asker.pace.places,
                is_over=is_over,
            )
        )
