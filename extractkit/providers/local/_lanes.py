"""Several answers at once: each in a lane of its own, and the lanes evaluated together.

Neighbours: `_session` says what is asked, and gets what was decoded; `_decoding.written` writes an
answer without evaluating anything; the engine's lanes evaluate. This file knows no schema.

A crew is a thread with lanes of its own; all crews serve one queue. A lane begins as a copy of the
crew's root, which holds the stable part of the last prompt. The rest of a prompt is evaluated by
itself: a pass over many tokens gains nothing by more of them. Then lanes with as many tokens to be
evaluated go together: one token each as a rule, or what the grammar forces behind one, which is as
much at the same place of the same schema. The largest group goes first, so that others wait until
more have caught up with them, but not for ever.

Tokens are never fed in other pieces than `_decoding.decode` feeds them in. So an answer has the
same bits as if it were asked for alone.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Final

from extractkit.errors import DeadlineExceededError, ProviderError
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._decoding import PIECE, Decoded, Tally, Writing
from extractkit.providers.local._engine import LaneEngine, Logits
from extractkit.providers.local._growing import Growing
from extractkit.providers.local._waiting import LOOK_S, Handing, Patience

__all__ = ["Lane", "Lanes"]

_PROMPT: Final = 16  # more tokens than these gain nothing by company
_WAITS: Final = 12  # passes of others that a lane waits for company


class Lane:
    """One answer that is asked for, in the queue or under way.

    Args:
        prompt: What is answered.
        answer: At its start.
        writing: Grows it.
        patience: The time of the call.

    Attributes:
        came: What was decoded, handed over when nobody works on it any more; None where the lane
            was too short for it.
        is_over: Whether it can be handed over.
        run: Tokens to be evaluated next.
        used: Tokens that were evaluated, those of the root included.
        passed_over: How many passes others have had since its last one.
    """

    def __init__(
        self, prompt: Prompt, answer: Growing, writing: Writing, patience: Patience
    ) -> None:
        self.prompt = prompt
        self.patience = patience
        self.came: Future[Decoded | None] = Future()
        self.is_over = False
        self.run: list[int] = []
        self.used = len(prompt.stable)
        self.passed_over = 0
        self._answer = answer
        self._writing = writing
        self._tally = Tally()
        self._decoded: Decoded | None = None
        self._error: BaseException | None = None

    def begin(self, root: Callable[[], int]) -> None:
        """Find out what is evaluated first.

        Args:
            root: Has the stable part evaluated; returns how many of its tokens were in memory.
        """
        with Handing(self.fail):
            self.patience.check()
            self.patience.stage = "decoding"
            self.patience.hurry()
            self._tally.reused = root()
            self._go_on(lambda: [*self.prompt.rest, *next(self._writing)])

    def look(self) -> None:
        """End the answer if its time has ended or nobody waits for it."""
        with Handing(self.fail):
            try:
                self.patience.check()
            except DeadlineExceededError as late:
                self._go_on(partial(self._writing.throw, late))

    def take(self, count: int) -> list[int]:
        """Return the next `count` tokens, which are evaluated now."""
        taken, self.run = self.run[:count], self.run[count:]
        self.used += count
        self.passed_over = 0
        return taken

    def evaluated(self, logits: Logits) -> None:
        """Go on with the logits after what was taken last."""
        if not self.run:
            self._tally.passed()
            with Handing(self.fail):
                self._go_on(lambda: self._writing.send(logits))

    def _go_on(self, step: Callable[[], list[int]]) -> None:
        try:
            self.run = step()
        except StopIteration as ended:
            self.end(self._tally.decoded(self._answer, end_logprob=ended.value))

    def end(self, decoded: Decoded | None) -> None:
        """End with what was decoded, or None for no room."""
        self._decoded = decoded
        self.is_over = True

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._error = error
        self.is_over = True

    def hand_over(self) -> None:
        """Let whoever waits have it."""
        if self._error is not None:
            self.came.set_exception(self._error)
        else:
            self.came.set_result(self._decoded)


class Lanes:
    """The queue and the crews. Thread-safe.

    Args:
        engines: The lanes of each crew, at least one.

    Attributes:
        tokens: Most tokens of prompt and answer together.
    """

    def __init__(self, engines: Sequence[LaneEngine]) -> None:
        self._lock = threading.Lock()
        self._queue: deque[Lane] = deque()
        self._crews = [_Crew(engine) for engine in engines]
        self._idle = [*self._crews]
        self.tokens: Final = min(engine.tokens for engine in engines)

    def decoded(self, lane: Lane) -> Decoded | None:
        """Return what comes of `lane`, waiting for it; None where it needs more room.

        When this returns or raises, nobody works on it any more.

        Raises:
            ProviderError: As `_decoding.decode` does.
            DeadlineExceededError: If the time ended before any text had come.
            CancelledError: If the call was cancelled.
        """
        with self._lock:
            self._queue.append(lane)
            crew = self._idle.pop() if self._idle else None
        if crew is not None:
            threading.Thread(target=self._work, args=(crew,), name="extractkit-lanes").start()
        try:
            while not wait((lane.came,), timeout=LOOK_S).done:
                with self._lock:
                    is_queued = lane in self._queue
                if is_queued:
                    lane.patience.check()
            return lane.came.result()
        finally:
            self._abandon(lane)

    def _abandon(self, lane: Lane) -> None:
        """Return when nobody works on `lane` any more."""
        if lane.came.done():
            return
        lane.patience.cancel()
        with self._lock:
            if lane in self._queue:
                self._queue.remove(lane)
                return
        wait((lane.came,))

    def _work(self, crew: _Crew) -> None:
        """Serve the queue until nothing is under way."""
        with Handing(lambda error: self._broken(crew, error)):
            while True:
                with self._lock:
                    begun = self._share(crew)
                    if not begun and not crew.lanes:
                        self._idle.append(crew)
                        return
                crew.begin(begun)
                crew.step()

    def _share(self, crew: _Crew) -> list[Lane]:
        """Return those of the queue that `crew` begins with: every crew gets as many."""
        under_way = sum(len(one.lanes) for one in self._crews)
        fair = -(-(len(self._queue) + under_way) // len(self._crews))
        room = min(fair, crew.engine.count) - len(crew.lanes)
        return [self._queue.popleft() for _ in range(min(room, len(self._queue)))]

    def _broken(self, crew: _Crew, error: BaseException) -> None:
        """End all that wait, after a failure that nobody foresaw."""
        with self._lock:
            left = [*crew.lanes.values(), *self._queue]
            self._queue.clear()
            crew.forget()
            self._idle.append(crew)
        for lane in left:
            lane.fail(error)
            lane.hand_over()


class _Crew:
    """One thread's lanes, and who is in them.

    Attributes:
        engine: Evaluates.
        lanes: Answers under way, by the number of their lane.
    """

    def __init__(self, engine: LaneEngine) -> None:
        self.engine = engine
        self.lanes: dict[int, Lane] = {}
        self._stable: tuple[int, ...] | None = None

    def begin(self, begun: Sequence[Lane]) -> None:
        """Put each where there is room; there is for all."""
        free = [number for number in range(1, 1 + self.engine.count) if number not in self.lanes]
        self.lanes.update(zip(free, begun, strict=False))
        for number, lane in zip(free, begun, strict=False):
            lane.begin(lambda: self._root(lane, number))  # noqa: B023  # called at once
            self._settle(number)

    def _root(self, lane: Lane, number: int) -> int:
        """Begin a lane with the stable part of its prompt; return how many tokens were there."""
        stable = lane.prompt.stable
        reused = len(stable)
        if stable != self._stable:
            reused = 0
            self._stable = None  # nothing is, if the engine fails half-way
            self.engine.clear(0)
            for start in range(0, len(stable), PIECE):
                lane.patience.check()
                self.engine.evaluate({0: stable[start : start + PIECE]})
            self._stable = stable
        self.engine.copy(number)
        return reused

    def step(self) -> None:
        """Evaluate once, for as many lanes as go together."""
        for number, lane in [*self.lanes.items()]:
            lane.look()
            self._settle(number)
        if not self.lanes:
            return
        numbers, count = self._together()
        for lane in self.lanes.values():
            lane.passed_over += 1
        runs = {number: self.lanes[number].take(count) for number in numbers}
        try:
            rows = self.engine.evaluate(runs)
        except ProviderError as error:
            for number in numbers:
                self.lanes[number].fail(ProviderError(str(error), provider="local"))
        else:
            for number, logits in zip(numbers, rows, strict=True):
                self.lanes[number].evaluated(logits)
        for number in numbers:
            self._settle(number)

    def _together(self) -> tuple[list[int], int]:
        """Return the lanes that come next, and how many tokens of each."""
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for number, lane in self.lanes.items():
            count = min(len(lane.run), PIECE)
            if count > _PROMPT:
                return [number], count
            groups[count].append(number)

        def urgency(count: int) -> tuple[bool, int, int]:
            waits = max(self.lanes[number].passed_over for number in groups[count])
            return waits > _WAITS, len(groups[count]), waits

        count = max(groups, key=urgency)
        return sorted(groups[count]), count

    def _settle(self, number: int) -> None:
        """Free the place of a lane that has ended, or has no room for what comes next."""
        lane = self.lanes[number]
        if not lane.is_over and lane.used + len(lane.run) > self.engine.tokens:
            lane.end(None)
        if lane.is_over:
            self.engine.clear(number)
            del self.lanes[number]
            lane.hand_over()

    def forget(self) -> None:
        """Have nobody in the lanes, and nothing in the root."""
        self.lanes.clear()
        self._stable = None
