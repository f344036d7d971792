"""Opening a model: which file, which engine, whether it works, and who uses it.

Neighbours: `_weights` finds and checks files, `_libllama` and `_numpy` are the engines;
`_session` opens through here. A model is loaded once per process for each set of settings and
released with its last user. What decides between engines is said in `Opened.reason`; a fall back
is never silent, and an engine that was asked for by name is never replaced.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

import numpy as np

from extractkit.errors import (
    ExtractkitError,
    MissingDependencyError,
    ProviderError,
    UnsupportedError,
)
from extractkit.providers.local import _weights
from extractkit.providers.local._engine import Engine

__all__ = ["EngineName", "Opened", "open_engine", "self_test"]

EngineName: TypeAlias = Literal["auto", "libllama", "numpy"]

# Every engine and weights format must go on counting; the two best tokens are 3.2 apart or more.
_COUNT = "1, 2, 3, 4,"
_COUNT_TOKENS = [33, 28, 216, 34, 28, 216, 35, 28, 216, 36, 28]
_COUNT_ON = [216, 37, 28]
_PROBE = 'Total: 62.00 € on 2024-03-14 {"naïve": "日本語"}\n'


class _MakesEngine(Protocol):
    def __call__(
        self, path: Path, *, context_tokens: int | None = None, threads: int = 1
    ) -> Engine: ...


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes two users share one loaded model."""

    path: Path
    engine: EngineName
    context_tokens: int | None
    threads: int
    at_once: int
    process: int


@dataclass(frozen=True, slots=True)
class _Made:
    """What loading gave."""

    engine: Engine
    reason: str
    sha256: str
    embedded: bool


@dataclass(slots=True)
class _Loaded:
    """A model that is being loaded, under `lock`, or in use."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: _Made | None = None
    users: int = 0


_lock = threading.RLock()  # a user may be dropped by the garbage collector at any point
_loaded: dict[_Key, _Loaded] = {}


class Opened:
    """One user's share of a loaded model.

    Attributes:
        engine: The same object for everybody who opened the same file with the same settings;
            users must not work with it at the same time.
        path: The weights file.
        name: The model's name.
        reason: Which engine runs and why, in one sentence.
        facts: The same for a response's details, as plain JSON.
    """

    def __init__(self, key: _Key, made: _Made) -> None:
        self.engine = made.engine
        self.path = key.path
        self.reason = made.reason
        self.name = _weights.NAME if made.embedded else key.path.stem
        self.facts: Mapping[str, str | int] = MappingProxyType(
            {
                "weights": key.path.name,
                "weights_sha256": made.sha256,
                "engine_reason": made.reason,
                "threads": key.threads,
            }
        )
        self._key = key
        self._closed = False

    def close(self) -> None:
        """Give this share back; the model is unloaded with the last one. Twice is fine.

        In a forked child this does nothing: the model belongs to the parent.
        """
        with _lock:
            if self._closed or os.getpid() != self._key.process:
                return
            self._closed = True
            last = _drop(self._key)
        if last:
            self.engine.close()


def open_engine(
    model: str | Path | None = None,
    *,
    engine: EngineName = "auto",
    context_tokens: int | None = None,
    threads: int = 1,
    at_once: int = 1,
) -> Opened:
    """Return a share of the loaded model, loading, checking and testing it if nobody uses it.

    Thread-safe: others wait for a load that is going on, and get its error if it fails. After a
    fork the child loads anew.

    Args:
        model: As in `_weights.find`.
        engine: "libllama", "numpy", or "auto": the first, or the second where it fails.
        context_tokens: Most tokens of a sequence; None for what the model was trained for.
        threads: Threads that compute.
        at_once: How many requests are answered together; who differs in it shares no engine.

    Raises:
        UsageError: If the model is unknown, the file is no GGUF file, or the context too long.
        NotFoundError: If the weights are not there.
        UnsupportedError: If the engine cannot run here or cannot compute this model.
        MissingDependencyError: If a package is missing.
        ProviderError: If the file is damaged, the library fails, or the self-test does.
    """
    path = _weights.find(model).resolve()
    key = _Key(path, engine, context_tokens, threads, at_once, os.getpid())
    with _lock:
        loaded = _loaded.setdefault(key, _Loaded())
        loaded.users += 1
    try:
        with loaded.lock:
            if loaded.made is None:
                loaded.made = _load(key)
    except BaseException:
        with _lock:
            _drop(key)
        raise
    return Opened(key, loaded.made)


def _drop(key: _Key) -> bool:
    """Count one user less; return whether that was the last. `_lock` must be held."""
    loaded = _loaded[key]
    loaded.users -= 1
    if loaded.users == 0:
        del _loaded[key]
    return loaded.users == 0


def _load(key: _Key) -> _Made:
    """Return a checked and tested model and why it runs on the engine that it runs on."""
    sha256 = _weights.verify(key.path)
    embedded = _weights.is_embedded(key.path, sha256)
    engine, reason = _choose(key, embedded=embedded)
    return _Made(engine, reason, sha256, embedded)


def _choose(key: _Key, *, embedded: bool) -> tuple[Engine, str]:
    if key.engine != "auto":
        return _make(key, key.engine, embedded=embedded), f"{key.engine}: asked for by name"
    try:
        engine = _make(key, "libllama", embedded=embedded)
    except (MissingDependencyError, UnsupportedError, ProviderError) as error:
        refused = error
    else:
        return engine, "libllama: the default, and it passed its self-test"
    try:
        engine = _make(key, "numpy", embedded=embedded)
    except ExtractkitError as error:
        error.add_note(f"The engine 'libllama' was tried first: {refused}")
        raise
    return engine, f"numpy: libllama cannot serve here: {refused}"


def _make(key: _Key, name: Literal["libllama", "numpy"], *, embedded: bool) -> Engine:
    """Return a tested engine."""
    try:
        make = _engine_class(name)
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_feature(
            f"the engine {name!r}", package=error.name or name, extra="local"
        ) from error
    engine = make(key.path, context_tokens=key.context_tokens, threads=key.threads)
    try:
        self_test(engine, embedded=embedded)
    except BaseException:
        engine.close()
        raise
    return engine


def _engine_class(name: Literal["libllama", "numpy"]) -> _MakesEngine:
    if name == "libllama":
        from extractkit.providers.local._libllama import LibllamaEngine

        return LibllamaEngine
    from extractkit.providers.local._numpy import NumpyEngine

    return NumpyEngine


def self_test(engine: Engine, *, embedded: bool) -> None:
    """Return if `engine` computes what it should; its sequence is empty afterwards.

    Args:
        engine: Newly made.
        embedded: Whether it runs the embedded model, of which tokens and answers are known.

    Raises:
        ProviderError: If it does not.
    """
    tokens = engine.tokenize(_COUNT)
    if embedded and tokens != _COUNT_TOKENS:
        raise _failed(engine, f"the tokens of {_COUNT!r} are {tokens}, not {_COUNT_TOKENS}")
    text = engine.vocabulary.text_of(engine.tokenize(_PROBE)).decode(errors="replace")
    if text.removeprefix(" ") != _PROBE:  # some tokenizers put a space before the first word
        raise _failed(engine, f"{_PROBE!r} became {text!r} on its way to tokens and back")
    room = engine.context_tokens - len(_COUNT_ON)
    said: list[int] = []
    feed = tokens[: max(1, room)]
    for _ in _COUNT_ON[: max(1, room)]:
        logits = engine.evaluate(feed)
        if not np.isfinite(logits).all():
            raise _failed(engine, "the logits are not finite")
        said.append(int(logits.argmax()))
        feed = said[-1:]
    engine.keep(0)
    if embedded and room >= len(tokens) and said != _COUNT_ON:
        raise _failed(engine, f"after {_COUNT!r} come the tokens {said}, not {_COUNT_ON}")


def _failed(engine: Engine, what: str) -> ProviderError:
    return ProviderError(
        f"the engine {engine.name!r} failed its self-test: {what}; the weights are damaged, the "
        "model's tokenizer changes text, or the engine does not work on this machine",
        provider="local",
    )


def _forget_parent() -> None:
    """In a forked child: the parent's models stay the parent's, and so do its locks."""
    global _lock
    _lock = threading.RLock()
    _loaded.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
