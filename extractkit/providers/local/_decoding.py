"""The decoding loop: a prompt and a mask in, tokens and what is known about them out.

Neighbours: `_engine` computes logits, `_constraint` says what may come next, `_sampling` chooses,
`_recording` keeps the probabilities. This file knows no schema and no provider; `decode` is also
what benchmarks call.

A prompt is evaluated in two parts, the stable one and the rest, each from its own start in pieces
of the same size, whether or not the stable part is in the engine's memory already. So the sums
that the engine forms, and with them the answer, do not depend on what was asked before.
"""

from __future__ import annotations

import codecs
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from extractkit.errors import ProviderError
from extractkit.messages import StopReason, TokenLogprob
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarMask, Legal
from extractkit.providers.local._engine import Engine, Logits, Vocabulary
from extractkit.providers.local._recording import Recorder
from extractkit.providers.local._sampling import Sampler

__all__ = ["Decoded", "PromptMemory", "decode", "text_of"]

_PIECE = 128  # tokens between two looks at the clock while a prompt is evaluated


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One answer as tokens.

    Attributes:
        tokens: Ids in order, without the token that ends the answer.
        records: One for each token where recording was asked for, else empty.
        stop: STOP where the answer is whole, LENGTH where the limit cut it.
        stop_detail: "grammar" (nothing can follow), "eos" or the control token's name, or
            "limit".
        forward_passes: How often the model was evaluated, the prompt's last piece included.
        forced_tokens: Tokens that the grammar left no choice about and that were not asked for.
        prompt_tokens_reused: Tokens of the stable part that were in memory.
        prefill_s: Seconds until the first choice: the prompt, and what was forced before it.
        decode_s: Seconds after that.
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


def decode(
    memory: PromptMemory,
    prompt: Prompt,
    *,
    mask: GrammarMask | None = None,
    sampler: Sampler,
    limit: int,
    batch_forced: bool = True,
    top_logprobs: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> Decoded:
    """Return the model's answer to `prompt`.

    Args:
        memory: The engine, and what it remembers.
        prompt: Must leave room for `limit` tokens in the engine's context.
        mask: What the answer must look like, at its start; None for free text, which ends at
            any control token.
        sampler: Chooses among the legal tokens.
        limit: Most tokens of the answer, at least 1.
        batch_forced: Append what the grammar forces without asking the model, and feed it
            together with the last chosen token. False asks for every token (for comparison).
        top_logprobs: How many alternatives to record for each token; None records nothing.
        check: Called before each token and each piece of the prompt; may raise to end the work.

    Raises:
        ProviderError: If the engine or the matcher fails, or the logits are not finite.
    """
    run = _Run(memory, prompt, mask=mask, sampler=sampler, limit=limit, check=check)
    if top_logprobs is not None:
        run.recorder = Recorder(memory.engine.vocabulary, top_logprobs)
    run.batch_forced = batch_forced
    started = time.perf_counter()
    while True:
        run.take_forced()
        if run.has_ended():
            break
        check()
        run.step()
    ended = time.perf_counter()
    first = run.first_choice_at or ended
    return Decoded(
        tokens=tuple(run.tokens),
        records=tuple(run.records),
        stop=StopReason.LENGTH if run.detail == "limit" else StopReason.STOP,
        stop_detail=run.detail,
        forward_passes=run.passes,
        forced_tokens=run.forced,
        prompt_tokens_reused=run.reused,
        prefill_s=first - started,
        decode_s=ended - first,
    )


class _Run:
    """The state of one answer."""

    def __init__(
        self,
        memory: PromptMemory,
        prompt: Prompt,
        *,
        mask: GrammarMask | None,
        sampler: Sampler,
        limit: int,
        check: Callable[[], None],
    ) -> None:
        self._memory = memory
        self._vocabulary = memory.engine.vocabulary
        self._stable = prompt.stable
        self._mask = mask
        self._sampler = sampler
        self._limit = limit
        self._check = check
        self._pending = list(prompt.rest)  # chosen or forced, and not evaluated yet
        self.batch_forced = True
        self.recorder: Recorder | None = None
        self.tokens: list[int] = []
        self.records: list[TokenLogprob] = []
        self.detail = ""
        self.passes = 0
        self.forced = 0
        self.reused = 0
        self.first_choice_at: float | None = None

    def take_forced(self) -> None:
        """Append what the grammar leaves no choice about."""
        if self._mask is not None and self.batch_forced and not self.detail:
            self._append_forced(self._mask.forced())

    def has_ended(self) -> bool:
        """Return whether the answer is over; `detail` then says why."""
        if not self.detail:
            if self._mask is not None and self._mask.finished:
                self.detail = "grammar"
            elif len(self.tokens) >= self._limit:
                self.detail = "limit"
        return bool(self.detail)

    def step(self) -> None:
        """Append one token that the model chooses, or find that the answer ends here."""
        legal = None if self._mask is None else self._mask.legal()
        if legal is not None and legal.size == 1 and self.batch_forced:
            only = int(legal[0])
            if not self._ends(only):
                self._accept(only)
                self._append_forced([only])
            return
        logits = self._evaluate()
        self._choose(logits, legal)

    def _evaluate(self) -> Logits:
        if not self.passes:
            self.reused = self._memory.begin(self._stable, self._check)
        logits = self._memory.feed(self._pending, self._check)
        self._pending.clear()
        self.passes += 1
        if self.first_choice_at is None:
            self.first_choice_at = time.perf_counter()
        return logits

    def _choose(self, logits: Logits, legal: Legal | None) -> None:
        scores = logits if legal is None else logits.take(legal)
        place = self._sampler.choose(scores)
        if not math.isfinite(scores[place]):
            raise ProviderError(
                f"the engine {self._memory.engine.name!r} returned logits that are not finite; "
                "the weights file or the library is damaged",
                provider="local",
            )
        token = place if legal is None else int(legal[place])
        if self._ends(token):
            return
        self._accept(token)
        if self.recorder is not None:
            self.records.append(self.recorder.chosen(logits, scores, place, legal=legal))
        self.tokens.append(token)
        self._pending.append(token)

    def _ends(self, token: int) -> bool:
        if token not in self._vocabulary.control_ids:
            return False
        eos = token == self._vocabulary.eos_id
        self.detail = "eos" if eos else self._vocabulary.pieces[token].decode(errors="replace")
        return True

    def _accept(self, token: int) -> None:
        if self._mask is not None:
            self._mask.accept(token)

    def _append_forced(self, tokens: list[int]) -> None:
        room = self._limit - len(self.tokens)
        if len(tokens) > room:
            tokens = tokens[:room]
            self.detail = "limit"
        self.tokens.extend(tokens)
        self._pending.extend(tokens)
        self.forced += len(tokens)
        if self.recorder is not None:
            self.records.extend(map(self.recorder.forced, tokens))


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
