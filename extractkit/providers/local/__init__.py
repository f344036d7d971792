"""Models that run in this process: `Local`, the provider that enforces schemas token by token.

Neighbours: `messages` says what a provider is; the files beside this one load weights, compute
logits, mask and choose tokens, and are imported on first use only, because they bring NumPy,
Outlines and llguidance. This room knows no target, strategy or check.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from extractkit.errors import MissingDependencyError, UnsupportedError, UsageError
from extractkit.messages import (
    ALL_SAMPLING,
    PENALTIES,
    PENALTY_REASON,
    Capabilities,
    Delta,
    ModelRequest,
    ModelResponse,
    require_beam,
    sampling_given,
)
from extractkit.paths import JsonObject
from extractkit.providers.local._limits import MOST_AT_ONCE, WIDEST_BEAM
from extractkit.providers.local._pieces import apieces, pieces
from extractkit.providers.local._waiting import Patience

if TYPE_CHECKING:
    from extractkit.providers.local._growing import Growing
    from extractkit.providers.local._session import Lease

__all__ = ["EngineName", "Local"]

R = TypeVar("R")

EngineName: TypeAlias = Literal["auto", "libllama", "numpy"]

_ENGINES = ("auto", "libllama", "numpy")
_EMBEDDED = "SmolLM2-135M-Instruct"
_SOURCE = "measured with llguidance 1.9 and Outlines 1.3 on 2026-11-30"


class Local:
    """A model that runs in this process; implements the StreamingProvider protocol.

    Constructing one is cheap: weights are found, checked and loaded with the first request, once
    per process for all objects that name the same model and settings. Requests are answered one
    at a time. Answers do not depend on the order in which they are asked for.

    Thread-safe, and usable from several event loops. Pickling gives an equal object that has
    loaded nothing, and so does a fork, in the child.

    Args:
        model: None for the embedded model, or its name, or the path of a .gguf file.
        engine: "libllama" (llama.cpp's library), "numpy" (slow, needs no library), or "auto" for
            the first of them that works.
        context_tokens: Prompt and answer together, at least 1; None for the engine's default.
        threads: Threads that compute, from 1 to the number of processors (os.cpu_count()). On
            small busy machines one is fastest. With `at_once` above 1 they share the requests, and
            each computes by itself.
        at_once: Requests that are worked on at the same time, from 1 to 64; others wait in a
            queue. Above 1, those with prompt and answer of up to 1024 tokens, or up to
            `context_tokens` if that is given, are answered together, in memory that is taken for
            that many; longer ones, streams, beams and scores one at a time beside them. The engine
            numpy answers one after the other.

    Raises:
        UsageError: If an argument is out of range or no whole number.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        engine: EngineName = "auto",
        context_tokens: int | None = None,
        threads: int = 1,
        at_once: int = 1,
    ) -> None:
        if engine not in _ENGINES:
            raise UsageError(f"Local(engine={engine!r}): expected one of {', '.join(_ENGINES)}")
        if context_tokens is not None:
            _require_count("context_tokens", context_tokens, "at least 1")
        processors = os.cpu_count() or 1
        # Far more threads than processors take minutes to start, or end the process.
        legal = f"from 1 to {processors}, the number of processors of this machine"
        _require_count("threads", threads, legal, most=processors)
        legal = f"from 1 to {MOST_AT_ONCE}"
        _require_count("at_once", at_once, legal, most=MOST_AT_ONCE)
        self._model = None if model is None else str(model)
        self._engine: EngineName = engine
        self._context_tokens = context_tokens
        self._threads = threads
        self._at_once = at_once
        self._closed = False
        self._start_unloaded()
        _alive[id(self)] = self

    def _start_unloaded(self) -> None:
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._lease: Lease | None = None
        self._worker: ThreadPoolExecutor | None = None

    @property
    def name(self) -> str:
        """Who is asked."""
        return "local"

    @property
    def model(self) -> str:
        """The model's name as the caller gave it, after "local:"."""
        return f"local:{self._model or _EMBEDDED}"

    @property
    def at_once(self) -> int:
        """Requests that it works on at the same time; who sends more waits in a queue."""
        return self._at_once

    @property
    def settings(self) -> JsonObject:
        """What else makes its answers others, as plain JSON."""
        return {"engine": self._engine, "context_tokens": self._context_tokens}

    @property
    def capabilities(self) -> Capabilities:
        """What a local model can do; the context is known once the model is loaded."""
        lease = self._lease
        loaded = None if lease is None else lease.session.engine.context_tokens
        return Capabilities(
            enforcement="mask",
            dialect="llguidance",
            logprobs=True,
            scoring=True,
            beam=WIDEST_BEAM,
            is_greedy=True,
            sampling=ALL_SAMPLING.union(PENALTIES),
            context_tokens=loaded or self._context_tokens,
            one_token=self._one_token,
            source=_SOURCE,
        )

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Return the answer to `request`, or the scores that it asks for.

        Waiting for other answers and loading the model count against `timeout_s`. Where it ends
        in the midst of an answer, what came until then is the answer, cut.

        Raises:
            UsageError: If this provider is closed, or the request does not fit the model.
            SchemaError: If the constraint cannot be enforced.
            UnsupportedError: If the request asks for what local models lack.
            MissingDependencyError: If the extra `local` is not installed.
            ProviderError: If the weights are missing or damaged, or the engine fails.
            DeadlineExceededError: If `timeout_s` ran out.
        """
        _refuse_unsupported(request)
        return self._answer(request, Patience(timeout_s))

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the answer to `request` without blocking the event loop.

        The work is done in threads of this provider. Cancelling takes a waiting request out of
        the queue and ends a running one at its next token; others do not notice.

        Raises:
            UsageError: If this provider is closed, or the request does not fit the model.
            SchemaError: If the constraint cannot be enforced.
            UnsupportedError: If the request asks for what local models lack.
            MissingDependencyError: If the extra `local` is not installed.
            ProviderError: If the weights are missing or damaged, or the engine fails.
            DeadlineExceededError: If `timeout_s` ran out.
        """
        _refuse_unsupported(request)
        patience = Patience(timeout_s)
        answer = asyncio.wrap_future(self._submit(lambda: self._answer(request, patience)))
        try:
            await asyncio.wait((answer,), timeout=patience.left())
            if answer.done():
                return answer.result()
            raise patience.expired()
        finally:
            patience.cancel()
            if not answer.cancel():
                answer.exception()  # read here, else asyncio reports it as lost

    def stream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> Generator[Delta, None, None]:
        """Yield the answer to `request` piece by piece, while the model writes it.

        A piece is a token that the model was asked for, with all that the constraint forces
        behind it; nothing comes before the model has read the prompt. A beam and scores come in
        one piece. The last piece has what `complete` would return.

        The answer is made at the model's own speed, in a thread of its own, and waits to be read:
        a stream that is not read to its end keeps nobody out. Closing it, or dropping it, ends
        the work at the next token. The time counts from the first piece that is asked for.

        Raises:
            UsageError: If this provider is closed, the request does not fit the model, or the
                process was forked meanwhile.
            SchemaError: If the constraint cannot be enforced.
            UnsupportedError: If the request asks for what local models lack.
            MissingDependencyError: If the extra `local` is not installed.
            ProviderError: If the weights are missing or damaged, or the engine fails.
            DeadlineExceededError: If `timeout_s` ran out before any text had come.
        """
        _refuse_unsupported(request)
        patience = Patience(timeout_s)

        def begin(work: Callable[[], None]) -> None:
            threading.Thread(target=work, name="extractkit-local-stream").start()

        yield from pieces(lambda tell: self._answer(request, patience, tell), patience, begin)

    async def astream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[Delta, None]:
        """Yield the pieces as `stream` does, without blocking the event loop.

        Raises:
            UsageError: If this provider is closed, the request does not fit the model, or the
                process was forked meanwhile.
            SchemaError: If the constraint cannot be enforced.
            UnsupportedError: If the request asks for what local models lack.
            MissingDependencyError: If the extra `local` is not installed.
            ProviderError: If the weights are missing or damaged, or the engine fails.
            DeadlineExceededError: If `timeout_s` ran out before any text had come.
        """
        _refuse_unsupported(request)
        patience = Patience(timeout_s)
        coming = apieces(lambda tell: self._answer(request, patience, tell), patience, self._submit)
        async with contextlib.aclosing(coming):
            async for piece in coming:
                yield piece

    def close(self) -> None:
        """Release the model; it is unloaded when nobody in this process uses it any more.

        An answer in progress is finished first, without waiting for it here. Afterwards this
        object refuses requests. Closing twice is fine.
        """
        with self._lock:
            self._closed = True
            lease, self._lease = self._lease, None
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.shutdown(wait=False)
        if lease is not None:
            lease.release()

    def _one_token(self, texts: Sequence[str]) -> frozenset[str]:
        """Return those of `texts` that are tokens of the model, without loading it.

        Raises:
            ProviderError: If the weights are missing.
            UsageError: If the file is no GGUF file.
            UnsupportedError: If its version or byte order is another.
        """
        from extractkit.providers.local._words import words_among

        return words_among(self._model, tuple(texts))

    def _answer(
        self,
        request: ModelRequest,
        patience: Patience,
        tell: Callable[[Growing], None] | None = None,
    ) -> ModelResponse:
        """Return the answer, having told of it while it grew where somebody listens."""
        lease = self._open(patience)
        try:
            session = lease.session
            response = None if tell else session.answer_in_lane(request, patience)
            if response is not None:
                return response
            with patience.hold(session.lock):
                return session.answer(request, patience, tell or (lambda answer: None))
        finally:
            lease.release()

    def _open(self, patience: Patience) -> Lease:
        """Return a lease of the loaded model, to be released by the caller."""
        with patience.hold(self._loading):
            with self._lock:
                self._refuse_closed()
                if self._lease is not None:
                    return self._lease.share()
            patience.stage = "loading the model"
            loaded = self._load()
            patience.stage = "waiting for the model"
            with self._lock:
                if not self._closed:
                    self._lease = kept = loaded.share()
                    # An object that is dropped without close() must not keep the model.
                    weakref.finalize(self, kept.release).atexit = False
            return loaded

    def _load(self) -> Lease:
        try:
            from extractkit.providers.local import _session
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("extractkit"):
                raise
            raise MissingDependencyError.for_feature(
                "the local model", package=error.name or "llguidance", extra="local"
            ) from error
        return _session.lease(
            self._model,
            engine=self._engine,
            context_tokens=self._context_tokens,
            threads=self._threads,
            at_once=self._at_once,
        )

    def _submit(self, work: Callable[[], R]) -> Future[R]:
        with self._lock:
            self._refuse_closed()
            if self._worker is None:
                self._worker = ThreadPoolExecutor(
                    self._at_once, thread_name_prefix="extractkit-local"
                )
            return self._worker.submit(work)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise UsageError(f"this provider ({self.model}) is closed; make a new Local(...)")

    def _settings(self) -> tuple[Any, ...]:
        return (self._model, self._engine, self._context_tokens, self._threads, self._at_once)

    def __repr__(self) -> str:
        model, engine, context_tokens, threads, at_once = self._settings()
        together = "" if at_once == 1 else f", {at_once=}"
        return f"Local({model!r}, {engine=}, {context_tokens=}, {threads=}{together})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Local):
            return NotImplemented
        return self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash(self._settings())

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, self._settings()


_alive: weakref.WeakValueDictionary[int, Local] = weakref.WeakValueDictionary()


def _forget_parent() -> None:
    """In a forked child: no provider has loaded anything, and no lock is held."""
    for provider in _alive.values():
        provider._start_unloaded()  # pyright: ignore[reportPrivateUsage]  # of this very class


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _unpickle(
    model: str | None,
    engine: EngineName,
    context_tokens: int | None,
    threads: int,
    at_once: int = 1,
) -> Local:
    return Local(
        model, engine=engine, context_tokens=context_tokens, threads=threads, at_once=at_once
    )


def _require_count(name: str, value: object, legal: str, *, most: float = float("inf")) -> None:
    # True would count as 1.
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError(f"Local({name}={value!r}): expected a whole number {legal}")


def _refuse_unsupported(request: ModelRequest) -> None:
    """Raise UnsupportedError if `request` asks for what local models do not have."""
    if request.sampling.effort is not None:
        raise UnsupportedError(
            f"Sampling(effort={request.sampling.effort!r}): local models have no reasoning "
            "effort; leave it None"
        )
    if request.tools is not None:
        raise UnsupportedError(
            "tools: local models are given no tools of their own; call_tools(...) holds the answer "
            "to the tools by a constraint"
        )
    if request.json_mode and request.constraint is None:
        raise UnsupportedError(
            "json_mode: local models have no JSON mode; give a constraint, which they enforce"
        )
    given = sampling_given(request.sampling)
    penalties = [f"Sampling({name}={given[name]!r})" for name in PENALTIES if name in given]
    if penalties and request.constraint is not None:
        raise UnsupportedError(
            f"{', '.join(penalties)} with a constraint: {PENALTY_REASON}; leave it out, or ask for "
            "free text"
        )
    if request.beam > WIDEST_BEAM:
        raise UnsupportedError(
            f"beam={request.beam}: local models follow at most {WIDEST_BEAM} beginnings at once"
        )
    require_beam(request.beam, request.sampling)
