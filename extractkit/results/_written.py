"""A value as plain JSON, for readers in other languages. Neighbour: results write it."""

from __future__ import annotations

import math
from typing import Any

import pydantic_core

from extractkit.paths import JsonValue, is_array, is_object

__all__ = ["plain_value"]


def plain_value(value: Any) -> JsonValue:
    """Return a value as plain JSON, with "NaN" and "Infinity" as texts where a number is none.

    Raises:
        ValueError: If it holds itself.
    """
    return _finite(pydantic_core.to_jsonable_python(value, fallback=str))


def _finite(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if is_object(value):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if is_array(value) else value
