"""The decoding loop: a prompt and a mask in, tokens and what is known about them out.

Neighbours: `_engine` computes logits, `_growing` holds the answer to its mask, `_sampling` chooses,
`_recording` keeps the probabilities; `_beam` follows several beginnings of one answer at once. This
file knows no schema and no provider; `decode` is also what benchmarks call.

How an answer is written is a generator, `written`, that evaluates nothing: it says which tokens are
to be evaluated, and is sent the logits. `decode` does that with an engine for one answer; `_lanes`
does it for several together.

A prompt is evaluated in two parts, the stable one and the rest, each from its own start in pieces
of the same size, whether or not the stable part is in the engine's memory already. So the sums
that the engine forms, and with them the answer, do not depend on what was asked before.
"""

from __future__ import annotations

import codecs
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from extractkit.errors import DeadlineExceededError, ProviderError
from extractkit.messages import StopReason, TokenLogprob
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarMask, Legal
from extractkit.providers.local._engine import Engine, Logits, Vocabulary
from extractkit.providers.local._growing import Growing
from extractkit.providers.local._penalties import Penalties
from extractkit.providers.local._recording import Recorder
from extractkit.providers.local._sampling import Sampler

__all__ = [
    "PIECE",
    "Decoded",
    "Passes",
    "PromptMemory",
    "Tally",
    "Writing",
    "decode",
    "require_finite",
    "text_of",
    "written",
]

PIECE: Final = 128
"""Tokens between two looks at the clock while a prompt is evaluated."""

Writing: TypeAlias = Generator[list[int], Logits, float | None]
"""Yields tokens to evaluate, is sent the logits after them; returns as `Decoded.end_logprob`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One answer as tokens.

    Attributes:
        tokens: Ids in order, without the token that ends the answer.
        records: One for each token where recording was asked for, else empty.
        stop: STOP where the answer is whole, LENGTH where it was cut.
        stop_detail: "grammar" (nothing can follow), "eos" or the control token's name, "limit",
            or "time".
        forward_passes: How often the model was evaluated, the prompt's last piece included.
        forced_tokens: Tokens that the grammar left no choice about and that were not asked for.
        prompt_tokens_reused: Tokens of the stable part that were in memory.
        prefill_s: Seconds until the first choice: the prompt, and what was forced before it.
        decode_s: Seconds after that.
        end_logprob: Log-probability of the end among what could have followed; None where nothing
            else could, the answer was cut, or nothing was recorded.
        beam: How a beam found the answer, as plain numbers by name; empty without one.
    """

    tokens: tuple[int, ...]
    records: tuple[TokenLogprob, ...]
    stop: StopReason
    stop_detail: str
    forward_passes: int
    forced_tokens: int
    prompt_tokens_reused: int
    prefill_s: float
    decode_s: float
    end_logprob: float | None = None
    beam: Mapping[str, float] = field(default_factory=dict[str, float])


class PromptMemory:
    """Feeds one engine, and keeps the stable part of the last prompt in its memory."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._stable: tuple[int, ...] = ()

    def begin(self, stable: tuple[int, ...], check: Callable[[], None]) -> int:
        """Leave exactly `stable` in the engine's memory; return how many tokens were there.

        Args:
            stable: The stable part of a prompt.
            check: Called before each piece; may raise to end the work.
        """
        size = len(stable)
        # Only a part that was itself evaluated from the start, in the same pieces, is the same.
        if self._stable == stable and tuple(self.engine.past[:size]) == stable:
            self.engine.keep(size)
            return size
        self._stable = ()
        self.engine.keep(0)
        if stable:
            self.feed(stable, check)
        self._stable = stable
        return 0

    def feed(self, tokens: Sequence[int], check: Callable[[], None]) -> Logits:
        """Append `tokens` (at least one) and return the logits after the last."""
        last = (len(tokens) - 1) // PIECE * PIECE
        for start in range(0, last, PIECE):
            check()
            self._evaluate(tokens[start : start + PIECE])
        check()
        return self._evaluate(tokens[last:])

    def feed_every(self, tokens: Sequence[int]) -> Logits:
        """Append `tokens` (a few, at least one) and return the logits after each, in rows."""
        return self._evaluate(tokens, every=True)

    def _evaluate(self, tokens: Sequence[int], *, every: bool = False) -> Logits:
        trusted, self._stable = self._stable, ()  # nothing is, if the engine fails half-way
        logits = self.engine.evaluate(tokens, every=every)
        self._stable = trusted
        return logits


class Tally:
    """How often the model was asked for one answer, and when.

    Attributes:
        count: Passes of the model, that over the prompt's last piece included.
        reused: Tokens of the prompt's stable part that were in memory.
    """

    def __init__(self) -> None:
        self.count = 0
        self.reused = 0
        self._began = time.perf_counter()
        self._first_choice_at: float | None = None

    def passed(self) -> None:
        """Count one pass, which has ended now."""
        self.count += 1
        if self._first_choice_at is None:
            self._first_choice_at = time.perf_counter()

    def decoded(
        self,
        answer: Growing,
        *,
        end_logprob: float | None = None,
        beam: Mapping[str, float] | None = None,
    ) -> Decoded:
        """Return an answer that has ended, with what all passes took until now.

        Args:
            answer: The answer.
            end_logprob: As of Decoded.
            beam: As of Decoded; None without one.
        """
        ended = time.perf_counter()
        first = self._first_choice_at or ended
        return Decoded(
            tokens=tuple(answer.tokens),
            records=tuple(answer.records),
            stop=answer.stop,
            stop_detail=answer.detail,
            forward_passes=self.count,
            forced_tokens=answer.forced,
            prompt_tokens_reused=self.reused,
            prefill_s=first - self._began,
            decode_s=ended - first,
            end_logprob=end_logprob,
            beam=beam or {},
        )


class Passes(Tally):
    """The passes of the model over one prompt and what is written behind it.

    Args:
        memory: The engine, and what it remembers.
        prompt: What is answered.
        check: Called before each piece that is evaluated; may raise to end the work.
    """

    def __init__(self, memory: PromptMemory, prompt: Prompt, check: Callable[[], None]) -> None:
        super().__init__()
        self._memory = memory
        self._prompt = prompt
        self._check = check

    def logits(self, pending: list[int]) -> Logits:
        """Return the logits after `pending`, which is emptied; first the prompt comes before it."""
        if not self.count:
            self.reused = self._memory.begin(self._prompt.stable, self._check)
            pending[:0] = self._prompt.rest
        logits = self._memory.feed(pending, self._check)
        pending.clear()
        self.passed()
        return logits


def decode(
    memory: PromptMemory,
    prompt: Prompt,
    *,
    mask: GrammarMask | None = None,
    sampler: Sampler,
    limit: int,
    penalties: Penalties | None = None,
    batch_forced: bool = True,
    top_logprobs: int | None = None,
    check: Callable[[], None] = lambda: None,
    tell: Callable[[Growing], None] = lambda answer: None,
) -> Decoded:
    """Return the model's answer to `prompt`, or what came of it in time.

    Args:
        memory: The engine, and what it remembers.
        prompt: Must leave room for `limit` tokens in the engine's context.
        mask: What the answer must look like, at its start; None for free text, which ends at
            any control token.
        sampler: Chooses among the legal tokens.
        limit: Most tokens of the answer, at least 1.
        penalties: Lower the scores of what was written before; for free text only.
        batch_forced: Append what the grammar forces without asking the model, and feed it
            together with the last chosen token. False asks for every token (for comparison).
        top_logprobs: How many alternatives to record for each token; None records nothing.
        check: Called before each token and each piece of the prompt; may raise to end the work.
        tell: Called with the answer after each time that the model was asked, before it is asked
            again; not at the end.

    Raises:
        ProviderError: If the engine or the matcher fails, or the logits are not finite.
        DeadlineExceededError: If `check` raised it before the model had chosen anything.
    """
    vocabulary = memory.engine.vocabulary
    recorder = None if top_logprobs is None else Recorder(vocabulary, top_logprobs)
    answer = Growing(
        vocabulary, mask=mask, limit=limit, recorder=recorder, batch_forced=batch_forced
    )
    passes = Passes(memory, prompt, check)
    writing = written(
        answer,
        engine=memory.engine.name,
        sampler=sampler,
        penalties=penalties,
        recorder=recorder,
        check=check,
        tell=tell,
    )
    return passes.decoded(answer, end_logprob=_carried_out(writing, passes.logits))


def _carried_out(writing: Writing, evaluate: Callable[[list[int]], Logits]) -> float | None:
    """Evaluate what `writing` asks for until it ends; return what it returns."""
    try:
        run = next(writing)
        while True:
            try:
                logits = evaluate(run)
            except DeadlineExceededError as late:
                run = writing.throw(late)
            else:
                run = writing.send(logits)
    except StopIteration as ended:
        end_logprob: float | None = ended.value
        return end_logprob


def written(
    answer: Growing,
    *,
    engine: str,
    sampler: Sampler,
    penalties: Penalties | None = None,
    recorder: Recorder | None = None,
    check: Callable[[], None] = lambda: None,
    tell: Callable[[Growing], None] = lambda answer: None,
) -> Writing:
    """Grow `answer` to its end, yielding the tokens behind the prompt that are to be evaluated.

    A DeadlineExceededError that is thrown in, or raised by `check`, ends the answer where it is, if
    the model has chosen anything yet.

    Args:
        answer: At its start.
        engine: Whose logits are sent, for messages.
        sampler: Chooses among the legal tokens.
        penalties: As of `decode`.
        recorder: Makes the records of chosen tokens; None where nothing is recorded.
        check: As of `decode`; it is not called while something is evaluated.
        tell: As of `decode`.

    Raises:
        ProviderError: If the matcher fails, or the logits are not finite.
        DeadlineExceededError: If it came before the model had chosen anything.
    """
    asked = begun = False
    end_logprob: float | None = None
    try:
        while answer.goes_on():
            check()
            if begun := asked:
                tell(answer)
            legal = answer.legal()
            if answer.take_only(legal):
                continue
            run, answer.pending = answer.pending, []
            logits = yield run
            asked = True
            token, record = _chosen(logits, legal, sampler, penalties, recorder, engine)
            if answer.ends(token):
                end_logprob = None if record is None else record.logprob
                continue
            answer.append(token, record)
            if penalties is not None:
                penalties.count(token)
    except DeadlineExceededError:
        if not begun:
            raise
        answer.cut()
    return end_logprob


def _chosen(
    logits: Logits,
    legal: Legal | None,
    sampler: Sampler,
    penalties: Penalties | None,
    recorder: Recorder | None,
    engine: str,
) -> tuple[int, TokenLogprob | None]:
    """Return the next token and its record."""
    scores = logits if legal is None else logits.take(legal)
    wanted = scores if penalties is None else penalties.applied(scores)
    place = sampler.choose(wanted)
    require_finite(scores[place], engine)
    token = place if legal is None else int(legal[place])
    record = None if recorder is None else recorder.chosen(logits, scores, place, legal=legal)
    return token, record


def require_finite(score: float, engine: str) -> None:
    """Return if the best score is a number; `engine` is named where it is not.

    Raises:
        ProviderError: If it is not.
    """
    if not math.isfinite(score):
        raise ProviderError(
            f"the engine {engine!r} returned logits that are not finite; the weights file or "
            "the library is damaged",
            provider="local",
        )


def text_of(vocabulary: Vocabulary, tokens: Sequence[int]) -> tuple[str, int]:
    """Return the text of `tokens` and how many of their bytes are not in it as they are.

    An incomplete character at the end is left out; bytes elsewhere that are not UTF-8 (free text
    only) become U+FFFD.
    """
    data = vocabulary.text_of(tokens)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    kept = text.encode()
    if data.startswith(kept):
        return text, len(data) - len(kept)
    clean = data.decode(errors="ignore").encode()
    return text, len(data) - len(clean)
