"""Calls into the user's code, whose exceptions are findings and never ours to pass on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from extractkit.results import Finding, Validity

T = TypeVar("T")


def attempt(action: Callable[[], T]) -> T | Exception:
    """Return what `action` returns, or the exception that the user's code in it raised."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001  # any class may come out of the user's code
        return error


def raised(kind: str, name: str, error: Exception) -> Finding:
    """Return the finding that names the check or model whose code raised."""
    written = attempt(lambda: str(error))  # also the user's code
    why = " (which cannot be written)" if isinstance(written, Exception) else f": {written}"
    said = f"{type(error).__name__}{why}"
    return Finding(
        level=Validity.CONSISTENT,
        path="",
        message=f"the {kind} {name} raised {said[:300]}; expected findings, not an exception",
        code=f"{kind}_raised",
    )


def name_of(code: object) -> str:
    """Return the name under which the user knows a callable or class."""
    if isinstance(code, partial):
        return name_of(code.func)
    return str(getattr(code, "__qualname__", type(code).__qualname__))
