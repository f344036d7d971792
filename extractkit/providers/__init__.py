"""Providers: each turns a ModelRequest into one way of asking a model, and the reply back.

Neighbours: `api` resolves a model here; the engine knows providers only as the Protocol of
`messages`. This room knows no schema, prompt, check or strategy.
"""

from __future__ import annotations

import importlib
import inspect
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

from extractkit.errors import UsageError
from extractkit.messages import Provider

if TYPE_CHECKING:
    from extractkit.providers.anthropic import Anthropic
    from extractkit.providers.compatible import Compatible
    from extractkit.providers.local import Local
    from extractkit.providers.openai_chat import OpenAIChat
    from extractkit.providers.openai_decisions import OpenAIDecisions
    from extractkit.providers.openai_responses import OpenAIResponses

__all__ = [
    "Anthropic",
    "Compatible",
    "Local",
    "OpenAIChat",
    "OpenAIDecisions",
    "OpenAIResponses",
    "resolve",
    "shared",
]

_WHERE: Final = {
    # Loaded when named; no SDK is imported before the first request.
    "Anthropic": "anthropic",
    "Compatible": "compatible",
    "Local": "local",
    "OpenAIChat": "openai_chat",
    "OpenAIDecisions": "openai_decisions",
    "OpenAIResponses": "openai_responses",
}
_PREFIXES: Final = {
    "openai": "OpenAIResponses",
    "openai-chat": "OpenAIChat",
    "openai-decisions": "OpenAIDecisions",
    "anthropic": "Anthropic",
    "compatible": "Compatible",
    "local": "Local",
}
_EXPECTED: Final = (
    "expected 'openai:<model>', 'openai-chat:<model>', 'openai-decisions:<model>', "
    "'anthropic:<model>', 'compatible:<model>', 'local:<name or path of a .gguf>', or None for "
    "the embedded model"
)

_lock = threading.Lock()
_shared: dict[str | None, Provider] = {}
_warned = threading.Event()


def resolve(model: str | Provider | None) -> Provider:
    """Return who answers for `model`: a provider of the caller's own, to be closed by the caller.

    Args:
        model: None for the environment variable EXTRACTKIT_MODEL, else the embedded model;
            "openai:<model>" (Responses), "openai-chat:<model>", "openai-decisions:<model>",
            "anthropic:<model>", "compatible:<model>" (base URL from the environment),
            "local:<name or path of a .gguf>"; or a provider, which is returned as it is.

    Raises:
        UsageError: If the string names no provider, or the object is none.
    """
    model = _wanted(model)
    if model is None or isinstance(model, str):
        return _make(model)
    if not (callable(getattr(model, "complete", None)) and hasattr(model, "capabilities")):
        raise UsageError(
            f"model is a {type(model).__name__}; expected None, a string such as 'openai:<model>', "
            "or a provider such as extractkit.providers.Local()"
        )
    return model


def shared(model: str | Provider | None) -> Provider:
    """Return who answers for `model`, the same one for the same name as long as the process lives.

    Raises:
        UsageError: If the string names no provider, or the object is none.
    """
    model = _wanted(model)
    if model is not None and not isinstance(model, str):
        return resolve(model)
    with _lock:
        if model not in _shared:
            _shared[model] = _make(model)
        return _shared[model]


def _wanted(model: str | Provider | None) -> str | Provider | None:
    return (os.environ.get("EXTRACTKIT_MODEL") or None) if model is None else model


def _make(model: str | None) -> Provider:
    made: Provider
    if model is None:
        _warn_once()
        made = _named("Local")()
        return made
    prefix, _, name = model.partition(":")
    if prefix not in _PREFIXES:
        raise UsageError(f"model={model!r} names no provider; {_EXPECTED}")
    if not name.strip():
        raise UsageError(f"model={model!r} names no model of it; {_EXPECTED}")
    made = _named(_PREFIXES[prefix])(name)
    return made


def _named(name: str) -> Any:
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _named(name)
    return found


def __dir__() -> list[str]:
    return __all__


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
