"""The decoding loop: a prompt and a mask in, tokens and what is known about them out.

Neighbours: `_engine` computes logits, `_growing` holds the answer to its mask, `_sampling` chooses,
`_recording` keeps the probabilities; `_beam` follows several answers at once. This file knows no
schema and no provider; `decode` is also what benchmarks call.

A prompt is evaluated in two parts, the stable one and the rest, each from its own start in pieces
of the same size, whether or not the stable part is in the engine's memory already. So the sums
that the engine forms, and with them the answer, do not depend on what was asked before.
"""

from __future__ import annotations

import codecs
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from extractkit.errors import DeadlineExceededError, ProviderError
from extractkit.messages import StopReason, TokenLogprob
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarMask, Legal
from extractkit.providers.local._engine import Engine, Logits, Vocabulary
from extractkit.providers.local._growing import Growing
from extractkit.providers.local._penalties import Penalties
from extractkit.providers.local._recording import Recorder
from extractkit.providers.local._sampling import Sampler

__all__ = ["Decoded", "Passes", "PromptMemory", "decode", "require_finite", "text_of"]

_PIECE = 128  # tokens between two looks at the clock while a prompt is evaluated


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
        last = (len(tokens) - 1) // _PIECE * _PIECE
        for start in range(0, last, _PIECE):
            check()
            self._evaluate(tokens[start : start + _PIECE])
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


class Passes:
    """The passes of the model over one prompt and what is written behind it.

    Args:
        memory: The engine, and what it remembers.
        prompt: What is answered.
        check: Called before each piece that is evaluated; may raise to end the work.

    Attributes:
        count: How many there were, that over the prompt's last piece included.
    """

    def __init__(self, memory: PromptMemory, prompt: Prompt, check: Callable[[], None]) -> None:
        self._memory = memory
        self._prompt = prompt
        self._check = check
        self.count = 0
        self._reused = 0
        self._began = time.perf_counter()
        self._first_choice_at: float | None = None

    def logits(self, pending: list[int]) -> Logits:
        """Return the logits after `pending`, which is emptied; first the prompt comes before it."""
        if not self.count:
            self._reused = self._memory.begin(self._prompt.stable, self._check)
            pending[:0] = self._prompt.rest
        logits = self._memory.feed(pending, self._check)
        pending.clear()
        self.count += 1
        if self._first_choice_at is None:
            self._first_choice_at = time.perf_counter()
        return logits

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
            prompt_tokens_reused=self._reused,
            prefill_s=first - self._began,
            decode_s=ended - first,
            end_logprob=end_logprob,
            beam=beam or {},
        )


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
    run = _Run(
        memory.engine, passes, answer, sampler=sampler, penalties=penalties, recorder=recorder
    )
    begun = False
    try:
        while answer.goes_on():
            check()
            if begun := passes.count > 0:
                tell(answer)
            run.step()
    except DeadlineExceededError:
        if not begun:
            raise
        answer.cut()
    return passes.decoded(answer, end_logprob=run.end_logprob)


class _Run:
    """How one answer is grown by the model."""

    def __init__(
        self,
        engine: Engine,
        passes: Passes,
        answer: Growing,
        *,
        sampler: Sampler,
        penalties: Penalties | None,
        recorder: Recorder | None,
    ) -> None:
        self._engine = engine
        self._passes = passes
        self._answer = answer
        self._sampler = sampler
        self._penalties = penalties
        self._recorder = recorder
        self.end_logprob: float | None = None

    def step(self) -> None:
        """Append one token that the model chooses, or find that the answer ends here."""
        legal = self._answer.legal()
        if not self._answer.take_only(legal):
            self._choose(self._passes.logits(self._answer.pending), legal)

    def _choose(self, logits: Logits, legal: Legal | None) -> None:
        scores = logits if legal is None else logits.take(legal)
        wanted = scores if self._penalties is None else self._penalties.applied(scores)
        place = self._sampler.choose(wanted)
        require_finite(scores[place], self._engine)
        token = place if legal is None else int(legal[place])
        record = None
        if self._recorder is not None:
            record = self._recorder.chosen(logits, scores, place, legal=legal)
        if self._answer.ends(token):
            self.end_logprob = None if record is None else record.logprob
            return
        self._answer.append(token, record)
        if self._penalties is not None:
            self._penalties.count(token)


def require_finite(score: float, engine: Engine) -> None:
    """Return if the best score is a number.

    Raises:
        ProviderError: If it is not.
    """
    if not math.isfinite(score):
        raise ProviderError(
            f"the engine {engine.name!r} returned logits that are not finite; the weights file or "
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
