"""A loaded model and everything that is kept with it; requests become responses.

Neighbours: `_load` opens engines and counts who uses them; `Local` decides which thread asks;
`_lanes` answers several requests together. Everybody who uses one engine in this process shares one
Session, so the engine never serves two at once but in its lanes, and grammars and the prompt's
stable part serve all.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extractkit.errors import UsageError
from extractkit.messages import ModelRequest, ModelResponse, Scoring, StopReason, Usage
from extractkit.providers.local import _load
from extractkit.providers.local._beam import search
from extractkit.providers.local._chat import ChatML, Prompt
from extractkit.providers.local._constraint import GrammarCompiler, GrammarMask
from extractkit.providers.local._decoding import Decoded, PromptMemory, decode, text_of, written
from extractkit.providers.local._engine import Engine, Vocabulary
from extractkit.providers.local._growing import Growing
from extractkit.providers.local._lanes import Lane, Lanes
from extractkit.providers.local._limits import LANE_TOKENS
from extractkit.providers.local._penalties import Penalties
from extractkit.providers.local._recording import Recorder
from extractkit.providers.local._sampling import Sampler
from extractkit.providers.local._scoring import score
from extractkit.providers.local._sequence import longer_context
from extractkit.providers.local._waiting import Patience

__all__ = ["Lease", "Session", "lease"]

_DEFAULT_OUTPUT_TOKENS = 1024

_lock = threading.RLock()  # a lease may be released by the garbage collector, at any point
_entries: dict[int, _Entry] = {}
"""What is loaded, by the identity of its engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What one answer is held to.

    Attributes:
        request: What is asked.
        prompt: The same in tokens.
        mask: What the answer must look like; None for free text.
        sampler: Chooses its tokens.
        limit: Most tokens of it.
        limit_name: What sets that limit.
    """

    request: ModelRequest
    prompt: Prompt
    mask: GrammarMask | None
    sampler: Sampler
    limit: int
    limit_name: str

    def begun(self, vocabulary: Vocabulary) -> tuple[Growing, Recorder | None]:
        """Return an answer at its start, and what makes its records."""
        top = self.request.top_logprobs
        recorder = None if top is None else Recorder(vocabulary, top)
        answer = Growing(vocabulary, mask=self.mask, limit=self.limit, recorder=recorder)
        return answer, recorder


class Session:
    """An engine with its grammars, its prompt form and its memory.

    Args:
        engine: Used by this session alone.
        facts: What goes into every response's details (weights file, digest).
        name: The model's name in responses.

        crews: How many requests each thread answers together; nothing for one after the other.
        lane_tokens: Most tokens of a prompt and its answer that are answered together.

    Attributes:
        lock: Must be held while `answer` runs.

    Raises:
        UnsupportedError: If the model is not prompted in the ChatML form.
        ProviderError: If there is no memory for so many answers at once.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        facts: Mapping[str, Any],
        name: str,
        crews: Sequence[int] = (),
        lane_tokens: int = LANE_TOKENS,
    ) -> None:
        self.lock = threading.Lock()
        self.engine = engine
        self._facts = dict(facts)
        self._name = name
        self._chat = ChatML(engine.vocabulary, engine.tokenize)
        self._memory = PromptMemory(engine)
        self._grammars: GrammarCompiler | None = None
        self._compiling = threading.Lock()
        tokens = min(lane_tokens, engine.context_tokens)
        opened = [engine.open_lanes(count, tokens) for count in crews]
        lanes = [one for one in opened if one is not None]
        self._lanes = Lanes(lanes) if lanes else None

    def answer(
        self,
        request: ModelRequest,
        patience: Patience,
        tell: Callable[[Growing], None] = lambda answer: None,
    ) -> ModelResponse:
        """Return the answer to `request`; where its time ends in the midst, what came until then.

        Args:
            request: What is asked.
            patience: The time of the call.
            tell: Called with the answer while it grows, unless it is found in one piece.

        Raises:
            UsageError: If prompt and answer do not fit the context or the token limit.
            SchemaError: If the constraint cannot be enforced.
            ProviderError: If engine or grammar fail.
            DeadlineExceededError: If the time budget ran out before any text had come.
            CancelledError: If the call was cancelled.
        """
        patience.check()
        prompt = self._chat.encode(request.messages, request.stable_messages)
        if request.scoring is not None:
            return self._score(request, prompt, request.scoring, patience)
        patience.stage = "decoding"
        patience.hurry()
        asked = self._asked(request, prompt)
        return self._response(asked, self._decode(asked, check=patience.check, tell=tell))

    def answer_in_lane(self, request: ModelRequest, patience: Patience) -> ModelResponse | None:
        """Return what `answer` would, together with others that are asked for; needs no lock.

        None where it has to be answered alone: a beam, scores, or more tokens than a lane has.

        Raises:
            UsageError: If prompt and answer do not fit the context or the token limit.
            SchemaError: If the constraint cannot be enforced.
            ProviderError: If engine or grammar fail.
            DeadlineExceededError: If the time budget ran out before any text had come.
            CancelledError: If the call was cancelled.
        """
        if self._lanes is None or request.beam > 1 or request.scoring is not None:
            return None
        patience.check()
        prompt = self._chat.encode(request.messages, request.stable_messages)
        if len(prompt) >= self._lanes.tokens:
            return None
        asked = self._asked(request, prompt)
        answer, recorder = asked.begun(self.engine.vocabulary)
        writing = written(
            answer,
            engine=self.engine.name,
            sampler=asked.sampler,
            penalties=Penalties.of(request.sampling),
            recorder=recorder,
            check=patience.check,
        )
        decoded = self._lanes.decoded(Lane(prompt, answer, writing, patience))
        return None if decoded is None else self._response(asked, decoded)

    def _asked(self, request: ModelRequest, prompt: Prompt) -> _Asked:
        limit, limit_name = self._limit(request, len(prompt))
        return _Asked(
            request=request,
            prompt=prompt,
            mask=self._mask(request),
            sampler=Sampler(request.sampling),
            limit=limit,
            limit_name=limit_name,
        )

    def _mask(self, request: ModelRequest) -> GrammarMask | None:
        if request.constraint is None:
            return None
        with self._compiling:
            if self._grammars is None:
                self._grammars = GrammarCompiler(
                    self.engine.vocabulary, self.engine.tokenize, end_ids=(self._chat.end_id,)
                )
            return self._grammars.mask(request.constraint)

    def _decode(
        self, asked: _Asked, *, check: Callable[[], None], tell: Callable[[Growing], None]
    ) -> Decoded:
        request = asked.request
        if request.beam > 1:
            return search(
                self._memory,
                asked.prompt,
                width=request.beam,
                mask=asked.mask,
                limit=asked.limit,
                top_logprobs=request.top_logprobs,
                check=check,
            )
        return decode(
            self._memory,
            asked.prompt,
            mask=asked.mask,
            sampler=asked.sampler,
            limit=asked.limit,
            penalties=Penalties.of(request.sampling),
            top_logprobs=request.top_logprobs,
            check=check,
            tell=tell,
        )

    def _score(
        self, request: ModelRequest, prompt: Prompt, scoring: Scoring, patience: Patience
    ) -> ModelResponse:
        patience.stage = "scoring"
        began = time.perf_counter()
        is_ended = any(end is not None for ends in scoring.ends for end in ends)
        scored = score(
            self._memory,
            prompt,
            scoring,
            check=patience.check,
            end_id=self._chat.end_id,
            mask=self._mask(request) if is_ended else None,
        )
        return ModelResponse(
            text="",
            stop=StopReason.STOP,
            stop_detail="scored",
            scores=scored.scores,
            usage=Usage(
                input_tokens=len(prompt.stable) + scored.evaluated,
                cached_input_tokens=scored.reused,
            ),
            model=self._name,
            details={**self._facts, "scoring_s": time.perf_counter() - began},
        )

    def _limit(self, request: ModelRequest, prompt_tokens: int) -> tuple[int, str]:
        """Return the most tokens that the answer may have, and what sets that limit."""
        context = self.engine.context_tokens
        wanted = request.sampling.max_output_tokens or _DEFAULT_OUTPUT_TOKENS
        minimal = self._minimal(request)
        trained = self.engine.trained_context_tokens
        if minimal >= trained:
            raise UsageError(
                f"the shortest answer that the schema admits needs about {minimal} tokens, and "
                f"the longest context of this model has {trained} for prompt and answer together: "
                "it cannot answer this schema; lower what the schema demands (such as minItems), "
                "or use a model with a longer context"
            )
        room = (context - prompt_tokens) // request.beam
        if minimal > room:
            raise UsageError(_no_room(request.beam, prompt_tokens, minimal, context, trained))
        if minimal > wanted:
            raise UsageError(
                f"the shortest answer that the schema admits needs about {minimal} tokens, and "
                f"the limit is {wanted}; set Sampling(max_output_tokens=...) to at least {minimal}"
            )
        if room < wanted:
            shared = "" if request.beam == 1 else f", shared by a beam of {request.beam}"
            return room, f"context={context}{shared}"
        return wanted, f"max_output_tokens={wanted}"

    def _minimal(self, request: ModelRequest) -> int:
        shortest = request.constraint.minimal_text if request.constraint is not None else None
        return max(1, len(self.engine.tokenize(shortest))) if shortest is not None else 1

    def _details(self, decoded: Decoded, sampler: Sampler) -> dict[str, Any]:
        details: dict[str, Any] = {
            **self._facts,
            "engine": self.engine.name,
            "context_tokens": self.engine.context_tokens,
            "sampling": sampler.summary,
            "prefill_s": decoded.prefill_s,
            "decode_s": decoded.decode_s,
            "forward_passes": decoded.forward_passes,
            "forced_tokens": decoded.forced_tokens,
            "prompt_tokens_reused": decoded.prompt_tokens_reused,
        }
        if decoded.beam:
            details |= {"sampling": f"beam of {decoded.beam['width']}", "beam": {**decoded.beam}}
        if sampler.seed is not None:
            details["seed"] = sampler.seed
        if decoded.end_logprob is not None:
            details["end_logprob"] = decoded.end_logprob
        return details

    def _response(self, asked: _Asked, decoded: Decoded) -> ModelResponse:
        details = self._details(decoded, asked.sampler)
        if asked.mask is not None and asked.mask.warnings:
            details["grammar_warnings"] = list(asked.mask.warnings)
        text, undecoded = text_of(self.engine.vocabulary, decoded.tokens)
        if undecoded:
            details["undecoded_bytes"] = undecoded
        stop_detail = {
            "limit": asked.limit_name,
            "time": f"timeout_s ended after {len(text)} characters",
        }.get(decoded.stop_detail, decoded.stop_detail)
        return ModelResponse(
            text=text,
            stop=decoded.stop,
            stop_detail=stop_detail,
            tokens=decoded.records,
            usage=Usage(
                input_tokens=len(asked.prompt),
                output_tokens=len(decoded.tokens),
                cached_input_tokens=decoded.prompt_tokens_reused,
            ),
            model=self._name,
            details=details,
        )


def _no_room(beam: int, prompt_tokens: int, minimal: int, context: int, trained: int) -> str:
    """Return the message for a context that cannot hold prompt and answer."""
    answer = str(minimal) if beam == 1 else f"{minimal} in each of the {beam} places of the beam"
    narrower = "" if beam == 1 else ", or narrow the beam"
    return (
        f"the prompt has {prompt_tokens} tokens and the shortest answer needs {answer}, together "
        f"more than the context of {context} tokens; "
        f"{longer_context(prompt_tokens + minimal * beam, trained)}{narrower}"
    )


@dataclass(slots=True)
class _Entry:
    session: Session
    users: int = 0
    closers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])


class Lease:
    """One user's share of a session. The engine is closed when the last share is released."""

    def __init__(self, entry: _Entry) -> None:
        """Take a share; `_lock` must be held."""
        self._entry = entry
        self._released = False
        entry.users += 1

    @property
    def session(self) -> Session:
        """What is shared."""
        return self._entry.session

    def share(self) -> Lease:
        """Return another share of the same session, to be released on its own."""
        with _lock:
            return Lease(self._entry)

    def release(self) -> None:
        """Give this share back; doing so twice is fine."""
        with _lock:
            if self._released:
                return
            self._released = True
            self._entry.users -= 1
            if self._entry.users:
                return
            _entries.pop(id(self.session.engine), None)
            closers, self._entry.closers = self._entry.closers, []
        for close in closers:
            close()


def lease(
    model: str | None,
    *,
    engine: _load.EngineName,
    context_tokens: int | None,
    threads: int,
    at_once: int = 1,
) -> Lease:
    """Return a share of the session for these settings, loading the model if nobody uses it.

    Raises:
        ProviderError: If the weights are missing or damaged, or no engine works.
        UsageError: If the context is longer than the model was trained for.
        UnsupportedError: If the model is not prompted in the ChatML form.
        MissingDependencyError: If a package that the engine needs is not installed.
    """
    opened = _load.open_engine(
        model, engine=engine, context_tokens=context_tokens, threads=threads, at_once=at_once
    )
    try:
        with _lock:
            entry = _entries.get(id(opened.engine))
            if entry is None:
                session = Session(
                    opened.engine,
                    facts=opened.facts,
                    name=f"local:{opened.name}",
                    crews=_crews(at_once, threads),
                    lane_tokens=context_tokens or LANE_TOKENS,
                )
                entry = _Entry(session)
            share = Lease(entry)
            entry.closers.append(opened.close)
            _entries[id(opened.engine)] = entry
    except BaseException:
        opened.close()
        raise
    return share


def _crews(at_once: int, threads: int) -> tuple[int, ...]:
    """Return how many requests each thread answers together; none where that is one in all."""
    if at_once == 1:
        return ()
    crews = min(threads, at_once)
    return tuple((at_once + place) // crews for place in range(crews))


def _forget_parent() -> None:
    """In a forked child: the parent's models stay the parent's, and so do its locks."""
    global _lock
    _lock = threading.RLock()
    _entries.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
