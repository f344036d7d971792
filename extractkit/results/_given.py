"""Whether what a caller gave is of the kind that was asked for; if not, a sentence that says so.

Neighbours: the values of this room ask here when they are made; `messages` does so for numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extractkit.errors import UsageError

__all__ = ["require_choice", "require_flags", "require_pointer", "require_texts"]


def require_choice(owner: str, name: str, value: Any, options: Sequence[str]) -> None:
    """Return if `value` is one of `options`.

    Raises:
        UsageError: If not.
    """
    if value not in options:
        known = ", ".join(map(repr, options))
        raise UsageError(f"{owner}({name}={value!r:.60}): expected one of {known}")


def require_texts(owner: str, **values: Any) -> None:
    """Return if every one of `values` is a text.

    Raises:
        UsageError: If one is not.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            raise UsageError(f"{owner}({name}={value!r:.60}): expected a text")


def require_flags(owner: str, **values: Any) -> None:
    """Return if every one of `values` is True or False.

    Raises:
        UsageError: If one is not; "no" and 0 would count as one of them by accident.
    """
    for name, value in values.items():
        if not isinstance(value, bool):
            raise UsageError(f"{owner}({name}={value!r:.60}): expected True or False")


def require_pointer(owner: str, name: str, value: str) -> None:
    """Return if `value` may be a JSON Pointer.

    Raises:
        UsageError: If it neither is empty nor starts with a slash.
    """
    if value and value[0] != "/":
        raise UsageError(
            f"{owner}({name}={value!r:.60}): expected a JSON Pointer such as '/total', or '' for "
            "the whole answer"
        )
