"""What a text is to strict readers that are not ours.

RFC 8259 is read through `json.loads`, made strict: it takes NaN, Infinity, halves of surrogate
pairs and keys that come twice, which the RFC forbids or calls unpredictable, and numbers beyond a
double, for which the RFC lets a reader set limits. The second opinion is jiter, the parser of
`pydantic_core`, which is strict but for three things: `second_opinion` says which.
"""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic_core import from_json

from extractkit.parsing import MAX_DEPTH, MAX_DIGITS

__all__ = ["BEYOND_JITER", "BeyondLimitError", "reference", "second_opinion"]

BEYOND_JITER = ("duplicate key", "beyond a double", "too deep")
"""Reasons of `reference` for which jiter refuses nothing: it keeps the last of two equal keys,
reads 1e999 as infinity, and its own limit of depth is one more than ours."""


class BeyondLimitError(ValueError):
    """JSON by the RFC, and beyond a limit that ours states."""


def reference(text: str) -> Any:
    """Return the value of a strict JSON text.

    Raises:
        ValueError: If the text is none; the message says why, as far as `json` does not.
        BeyondLimitError: If only a limit of ours is passed.
    """
    if len(text) > 2 * MAX_DEPTH and _is_deep(text):
        raise BeyondLimitError("too deep")
    value = json.loads(
        text,
        object_pairs_hook=_members,
        parse_constant=_constant,
        parse_int=_integer,
        parse_float=_fraction,
    )
    if "\\u" in text or not text.isascii():
        json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def _constant(word: str) -> Any:
    raise ValueError(word)


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise BeyondLimitError("too many digits")
    return int(digits)


def _fraction(digits: str) -> float:
    if math.isinf(float(digits)):
        raise BeyondLimitError("beyond a double")
    return float(digits)


def _is_deep(text: str) -> bool:
    """Return whether brackets outside of strings stand inside each other too deep."""
    depth, in_string, escaped = 0, False, False
    for char in text:
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif char in "]}":
            depth -= 1
    return False


def second_opinion(text: str) -> Any:
    """Return jiter's reading of a text.

    Raises:
        ValueError: If it refuses the text.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except TypeError as error:  # half of a surrogate pair in the text itself
        raise ValueError(str(error)) from error
