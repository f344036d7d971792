"""What is shown of an extraction while its answer comes.

Neighbours: `run` says which answers are heard and what becomes of them, a driver hands their
pieces in, `streaming` reads them, `looking` reads single fields. What was shown as final is never
taken back for another answer: see `is_settled`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extractkit.engine.early import Early
from extractkit.engine.looking import Looking
from extractkit.engine.question import Question
from extractkit.engine.setup import Setup
from extractkit.engine.steps import Changes
from extractkit.engine.watching import Watch
from extractkit.errors import DeadlineExceededError, ProviderError, UnsupportedError
from extractkit.messages import Delta, ModelResponse, StopReason, Usage
from extractkit.paths import JsonValue
from extractkit.results import FieldState, PartialResult
from extractkit.streaming import Change, Growing

__all__ = ["Live", "require_one_answer"]

_TAKEN_BACK = (Change(pointer="", state=FieldState.MISSING),)


def require_one_answer(question: Question[Any]) -> None:
    """Return if the answer to `question` can be shown while it comes.

    Raises:
        UnsupportedError: If several answers are asked for.
    """
    if question.samples > 1:
        raise UnsupportedError(
            f"samples={question.samples}: which of several answers is given out is known when all "
            "have come, so that none can be shown before; stream one answer (samples=1), or use "
            "extract"
        )


class Live:
    """Hears the answers of one extraction, one after the other; `snapshot` shows the last one.

    Attributes:
        is_watched: Whether somebody looks at the pieces. Nobody does who only waits for the
            result; then answers may be asked for again as without a stream.
        is_settled: Whether somebody was shown a final field, so that no other answer may take
            the place of this one.
        first_text: When the first text came, on the clock of the extraction; None before.
        first_field: When the first field was final; None before.
        broke_off: What ended the answer on its way, after a part of it was heard; None else.
    """

    def __init__(self) -> None:
        self.is_watched = True
        self.is_settled = False
        self.first_text: float | None = None
        self.first_field: float | None = None
        self.broke_off: ProviderError | None = None
        self._clock: Callable[[], float] = float
        self._watch: Watch | None = None
        self._setup: Setup[Any] | None = None
        self._looking: Looking | None = None
        self._early: Early | None = None
        self._growing = Growing()
        self._texts: list[str] = []
        self._before = 0  # how many of the texts came with earlier responses of this answer
        self._is_shown = False

    def snapshot(self) -> PartialResult:
        """Return what is known now."""
        return self._growing.snapshot()

    # --- what the flow tells --------------------------------------------------------------------

    def start(self, clock: Callable[[], float], watch: Watch) -> None:
        """Take note of the clock of the extraction, and of who watches it."""
        self._clock = clock
        self._watch = watch

    def begin(self, setup: Setup[Any]) -> Changes:
        """Take note that an answer is asked for; return what takes back an earlier one.

        Args:
            setup: How the question is put.
        """
        self._setup = setup
        self._early = early = Early(setup)
        self._looking = looking = Looking(setup, early)
        repair = setup.question.decoding.repair
        self._growing = Growing(setup.compiled, repair=repair, places=looking.at)
        self._texts, self._before = [], 0
        is_shown, self._is_shown = self._is_shown, False
        return _TAKEN_BACK if is_shown else ()

    def sent(self) -> None:
        """Take note that a request for the answer, or for more of it, is sent."""
        self._before = len(self._texts)
        self.broke_off = None

    def over(self, response: ModelResponse) -> Changes:
        """Return what the end of an answer changes, with what was not heard of it before.

        Args:
            response: The whole answer, what came before pauses in it.
        """
        if self._is_idle:
            return ()
        changes: Changes = ()
        heard = "".join(self._texts)
        if not response.text.startswith(heard) and self._setup:
            changes, heard = self.begin(self._setup), ""  # it says something else in the end
        rest = response.text[len(heard) :]
        if self._early is not None:
            self._early.over(rest, response)
        changes += self._fed(rest)
        is_cut = bool(response.refusal) or response.stop is not StopReason.STOP
        return self._told(changes + self._growing.finish(cut=is_cut))

    def correct(self, document: JsonValue) -> Changes:
        """Return what changes when an answer is read as this document in the end."""
        if self._looking is not None:
            self._looking.read.clear()
            self._looking.early = None  # the result says what holds of another reading
        return self._told(self._growing.correct(document))

    # --- what a driver hands in -----------------------------------------------------------------

    def hear(self, delta: Delta) -> Changes:
        """Return what a piece of the answer changes that is to be told at once."""
        if self._early is not None:
            self._early.hear(delta)
        if not delta.text:
            return ()
        self._texts.append(delta.text)
        return () if self._is_idle else self._told(self._fed(delta.text))

    def broken_by(self, error: ProviderError | DeadlineExceededError) -> ModelResponse | None:
        """Return what was heard before `error` as an answer that was cut; None if nothing was."""
        text = "".join(self._texts[self._before :])
        if not text:
            return None
        self.broke_off = error if isinstance(error, ProviderError) else None
        may_pass = self.broke_off is not None and self.broke_off.retryable
        return ModelResponse(
            text=text,
            stop=StopReason.LENGTH,
            stop_detail=f"it broke off after {len(text)} characters: {error.message}",
            usage=Usage(is_complete=False),
            broken=error.message if may_pass else "",
        )

    @property
    def _is_idle(self) -> bool:
        """Whether there is nothing more to be found out or shown."""
        return not self.is_watched and self.first_field is not None

    def _fed(self, text: str) -> Changes:
        if not text:
            return ()
        if self.first_text is None:
            self.first_text = self._clock()
            if self._watch is not None:
                self._watch.first_text()
        return self._growing.feed(text)

    def _told(self, changes: Changes) -> Changes:
        if not self.is_settled and any(each.state is FieldState.PRESENT for each in changes):
            self.is_settled = self.is_watched
            if self.first_field is None:
                self.first_field = self._clock()
                if self._watch is not None:
                    self._watch.first_field()
        if not self.is_watched:
            return ()
        self._is_shown = self._is_shown or bool(changes)
        return changes
