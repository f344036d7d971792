"""Providers: each turns a ModelRequest into one way of asking a model, and the reply back.

Neighbours: `api` resolves a model here; the engine knows providers only as the Protocol of
`messages`. This room knows no schema, prompt, check or strategy.
"""

from __future__ import annotations

import inspect
import os
import threading
import warnings

from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import Provider
from extractkit.providers.local import Local

__all__ = ["Local", "resolve", "shared"]

_LATER = ("openai", "openai-chat", "anthropic", "compatible")
_lock = threading.Lock()
_shared: dict[str | None, Provider] = {}
_warned = threading.Event()


def resolve(model: str | Provider | None) -> Provider:
    """Return who answers for `model`: a provider of the caller's own, to be closed by the caller.

    Args:
        model: None for the environment variable EXTRACTKIT_MODEL, else the embedded model;
            "local:<name or path of a .gguf>"; or a provider, which is returned as it is.

    Raises:
        UsageError: If the string names no provider, or the object is none.
        UnsupportedError: If the provider is one that this version does not have.
    """
    if model is None:
        model = os.environ.get("EXTRACTKIT_MODEL") or None
    if model is None or isinstance(model, str):
        return _make(model)
    if not (callable(getattr(model, "complete", None)) and hasattr(model, "capabilities")):
        raise UsageError(
            f"model is a {type(model).__name__}; expected None, a string such as 'local:<path>', "
            "or a provider such as extractkit.providers.Local()"
        )
    return model


def shared(model: str | Provider | None) -> Provider:
    """Return who answers for `model`, the same one for the same name as long as the process lives.

    Raises:
        UsageError: If the string names no provider, or the object is none.
        UnsupportedError: If the provider is one that this version does not have.
    """
    if model is None:
        model = os.environ.get("EXTRACTKIT_MODEL") or None
    if model is not None and not isinstance(model, str):
        return resolve(model)
    with _lock:
        if model not in _shared:
            _shared[model] = _make(model)
        return _shared[model]


def _make(model: str | None) -> Provider:
    if model is None:
        _warn_once()
        return Local()
    prefix, colon, name = model.partition(":")
    if colon and prefix == "local" and name:
        return Local(name)
    if prefix in _LATER:
        raise UnsupportedError(
            f"model={model!r}: this version has no hosted providers yet; use 'local:<path of a "
            ".gguf>' or a provider object of your own"
        )
    raise UsageError(
        f"model={model!r} names no provider; expected 'local:<name or path of a .gguf>', or None "
        "for the embedded model"
    )


def _warn_once() -> None:
    if _warned.is_set():
        return
    _warned.set()
    warnings.warn(
        "no model was named: answering with the embedded SmolLM2-135M-Instruct, a small "
        "demonstration model that is often wrong; name one with model=... or EXTRACTKIT_MODEL",
        stacklevel=_depth_of_caller(),
    )


def _depth_of_caller() -> int:
    """Return the stacklevel at which a warning of `_warn_once` points out of the package."""
    frame = inspect.currentframe()
    depth = 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "extractkit":
        frame, depth = frame.f_back, depth + 1
    return depth
