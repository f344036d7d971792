"""JSON Pointers (RFC 6901) into the user's own shape: build, split, read, walk.

Neighbours: every room speaks of places in a document through this one. It knows nothing of
Pydantic, schemas or providers, and never changes a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, TypeGuard

__all__ = [
    "JsonObject",
    "JsonValue",
    "Pointer",
    "get",
    "is_array",
    "is_object",
    "join",
    "split",
    "walk",
]

JsonValue: TypeAlias = Any
"""Plain JSON: None, bool, int, float, str, list, or dict with str keys."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object."""

Pointer: TypeAlias = str
"""A JSON Pointer as text; the whole document is the empty string."""


def is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: JsonValue) -> TypeGuard[list[JsonValue]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def join(pointer: Pointer, *tokens: str | int) -> Pointer:
    """Return `pointer` extended by one or more keys or list positions, escaped.

    Args:
        pointer: Where to start; the empty string is the whole document.
        tokens: Object keys or 0-based list positions, outermost first.
    """
    for token in tokens:
        text = token if isinstance(token, str) else str(token)
        if "~" in text or "/" in text:
            text = text.replace("~", "~0").replace("/", "~1")
        pointer = f"{pointer}/{text}"
    return pointer


def split(pointer: Pointer) -> tuple[str, ...]:
    """Return the unescaped reference tokens of `pointer`, outermost first.

    Raises:
        ValueError: If the pointer is neither empty nor starts with a slash.
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"not a JSON Pointer: {pointer!r}; it is empty or starts with '/'")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def get(document: JsonValue, pointer: Pointer) -> JsonValue:
    """Return what stands at `pointer` in `document`.

    Raises:
        KeyError: If nothing stands there; the message names the first token that fails.
        ValueError: If `pointer` is not a JSON Pointer.
    """
    here: JsonValue = document
    for token in split(pointer):
        if is_object(here) and token in here:
            here = here[token]
        elif is_array(here) and token.isdecimal() and int(token) < len(here):
            here = here[int(token)]
        else:
            raise KeyError(f"{pointer}: nothing at {token!r}")
    return here


def walk(document: JsonValue, pointer: Pointer = "") -> Iterator[tuple[Pointer, JsonValue]]:
    """Yield (pointer, value) for every leaf of `document`, in document order.

    A leaf is a scalar, an empty list or an empty object. Iterative: depth is limited by memory.
    """
    pending: list[tuple[Pointer, JsonValue]] = [(pointer, document)]
    while pending:
        here, value = pending.pop()
        if is_object(value) and value:
            pending.extend([(join(here, key), value[key]) for key in reversed(value)])
        elif is_array(value) and value:
            pending.extend(
                [(f"{here}/{index}", value[index]) for index in range(len(value) - 1, -1, -1)]
            )
        else:
            yield here, value
