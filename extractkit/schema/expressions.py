"""Whether a regular expression of a schema can be read, and whether it occurs in a text.

Schemas come from anywhere, and so do their expressions: nothing here can take long. What
pydantic_core's engine reads is searched in linear time; other expressions (look-around,
back-references) are tried on short texts only, and left open on longer ones.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pydantic_core import SchemaError as CoreSchemaError
from pydantic_core import SchemaValidator, core_schema

__all__ = ["fault", "finds"]

_LONGEST: Final = 16_384
"""Longest expression that is read."""
_TRIED: Final = 16
"""Longest text on which an expression is tried that may take time without end."""
_BY_LANGUAGE: Final = re.compile(r"\\[dDwWsSbB]|(?i:\(\?[a-z]*i)")
# What ECMA 262 writes otherwise than Python, and what stands for it to see whether it compiles.
_SPELLINGS: Final = (
    (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"),
    (re.compile(r"\\k<(\w+)>"), r"(?P=\1)"),
    (re.compile(r"\\[pP]\{[^{}]*\}|\\u\{[0-9a-fA-F]+\}|\\c[A-Za-z]"), r"\\w"),
    (re.compile(r"\[\^\]"), "."),
)


@lru_cache(maxsize=512)
def fault(pattern: str) -> str | None:
    """Return why `pattern` is no regular expression in any language, or None."""
    if len(pattern) > _LONGEST:
        return f"it is {len(pattern):,} characters long, expected at most {_LONGEST:,}"
    try:
        re.compile(_as_python(pattern))
    except (re.error, OverflowError, RecursionError) as exc:
        return None if _linear(pattern) is not None else f"it does not compile: {exc}"
    return None


def finds(pattern: str, value: str) -> bool | None:
    """Whether `pattern` occurs in `value`; None where that cannot be told, or not in time."""
    if not value.isascii() and _BY_LANGUAGE.search(pattern):
        return None  # \d is ten digits in one language and hundreds in another
    linear = _linear(pattern)
    if linear is not None:
        return linear.isinstance_python(value)
    if len(value) > _TRIED:
        return None
    compiled = _backtracking(pattern)
    return None if compiled is None else compiled.search(value) is not None


@lru_cache(maxsize=512)
def _linear(pattern: str) -> SchemaValidator | None:
    if len(pattern) > _LONGEST:
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except CoreSchemaError:
        return None


@lru_cache(maxsize=512)
def _backtracking(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None


def _as_python(pattern: str) -> str:
    for spelling, stand_in in _SPELLINGS:
        pattern = spelling.sub(stand_in, pattern)
    return pattern
