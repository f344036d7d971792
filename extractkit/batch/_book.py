"""What is under way, what has come, and what is handed out next; when to stop.

Neighbours: the two drivers of `_many` keep one each. Nothing here asks or waits.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar

from extractkit.batch._asking import Asker
from extractkit.batch._item import Given, Item
from extractkit.errors import ExtractkitError, ProviderError, UsageError

__all__ = ["Book", "Progress", "Told"]

T = TypeVar("T")

_ROOM: Final = 4
"""Inputs taken and not handed out, for each that may be under way: what waits behind a slow one."""

_RECENT_S: Final = 60.0

_MOST_IN_A_ROW: Final = 20
"""Requests that are refused for good, one after the other, after which no more are sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is.

    Attributes:
        done: Inputs that have ended, those of an earlier run among them.
        total: Inputs that there are; None where that is not known.
        known: Inputs of which the journal knew what came.
        statuses: Status -> how many, "error" among them; of a run over a file, of those asked now.
        levels: Level that was reached -> how many; likewise.
        cost_usd: What those asked now cost in US dollars, as far as prices are known.
        unpriced: How many of those asked now have no known cost.
        input_tokens: Of those asked now.
        output_tokens: Of those asked now.
        seconds: Since the run began.
        left_s: Seconds that are left, at the pace of the last minute; None where the number of
            inputs or the pace is not known.
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
    left_s: float | None = None
    at_once: int = 1
    is_over: bool = False


Told: TypeAlias = Callable[[Progress], None]


class Book(Generic[T]):
    """Keeps the order of a run; a context manager.

    Args:
        asker: Who asks.
        concurrency: Inputs under way at once, at most.
        ordered: Hand items out as the inputs came, else as they end.
        total: How many inputs there are, where that is known.
        progress: True for a bar, from when it is entered, or what is told of every item.

    Raises:
        UsageError: If `progress` is neither.
    """

    def __init__(
        self,
        asker: Asker[T],
        *,
        concurrency: int,
        ordered: bool,
        total: int | None,
        progress: Told | bool | None,
    ) -> None:
        if not (progress is None or isinstance(progress, bool) or callable(progress)):
            raise UsageError(f"progress={progress!r:.60}: expected True, False or a callable")
        self._asker = asker
        self._most = _ROOM * concurrency
        self._ordered = ordered
        self._total = total
        self._progress = None if isinstance(progress, bool) else progress
        self._has_bar = progress is True
        self._opened = ExitStack()
        self._began = time.monotonic()
        self._recent = deque([(self._began, 0)])
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
        self._passed = 0
        self._is_cut = False
        self._error: ExtractkitError | None = None

    def __enter__(self) -> Self:
        if self._has_bar:
            from extractkit.batch._bar import showing

            self._progress = self._opened.enter_context(showing())
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._opened.close()

    @property
    def has_room(self) -> bool:
        """Whether another input may be taken now; what is handed out makes room."""
        return self._taken - self._handed_out < self._most

    @property
    def is_stopped(self) -> bool:
        """Whether no more inputs may be taken at all."""
        self._is_cut = self._is_cut or self._asker.trouble is not None
        return self._is_cut or self._error is not None

    @property
    def cost_usd(self) -> Decimal:
        """What those asked now cost in US dollars, as far as prices are known."""
        return self._cost

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

    def pass_over(self, *, is_known: bool) -> None:
        """Take note of an input that has ended and nobody waits for; the journal may have it."""
        self._passed += 1
        self._known += is_known

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
            OSError: If inputs were left, because what comes of them could not be kept.
        """
        self._tell(is_over=True)
        is_cut = self._is_cut or self._asker.has_lost
        error = self._error or (self._asker.trouble if is_cut else None)
        if error is not None:
            raise error

    def _count(self, item: Item[T]) -> None:
        if self._asker.is_left(item):
            self._is_cut = True
            return
        self._statuses[item.status] += 1
        self._known += item.is_known
        if not item.is_known:
            self._input_tokens += item.usage.input_tokens
            self._output_tokens += item.usage.output_tokens
            self._cost += item.cost_usd or 0
            self._unpriced += item.cost_usd is None
        if item.level is not None:
            self._in_a_row = 0
            self._levels[item.level] += 1
        elif item.error is not None and not item.is_known:
            self._judge(item, item.error)
        self._tell()

    def _judge(self, item: Item[T], error: ExtractkitError) -> None:
        """Stop where an error says that the next input would fare no better."""
        if isinstance(error, ProviderError) and not error.retryable:
            self._in_a_row += 1
        is_first = not self._levels and self._asker.is_of_all(item)
        if is_first or self._in_a_row >= _MOST_IN_A_ROW:
            self._error = self._error or error
            self._asker.end()

    def _tell(self, *, is_over: bool = False) -> None:
        if self._progress is None:
            return
        now, done = time.monotonic(), self._ended + self._passed
        self._progress(
            Progress(
                done=done,
                total=self._total,
                known=self._known,
                statuses=dict(self._statuses),
                levels=dict(self._levels),
                cost_usd=self._cost,
                unpriced=self._unpriced,
                input_tokens=self._input_tokens,
                output_tokens=self._output_tokens,
                seconds=now - self._began,
                left_s=None if self._total is None else self._left(now, self._total - done),
                at_once=self._asker.pace.places,
                is_over=is_over,
            )
        )

    def _left(self, now: float, inputs: int) -> float | None:
        """Return the seconds that so many inputs take at the pace of the last minute."""
        if now - self._recent[-1][0] >= 1:
            self._recent.append((now, self._ended))
            while len(self._recent) > 2 and self._recent[1][0] < now - _RECENT_S:
                self._recent.popleft()
        since, ended_then = self._recent[0]
        ended = self._ended - ended_then
        return inputs * (now - since) / ended if ended else None
