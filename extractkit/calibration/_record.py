"""Maps and policies as JSON: plain numbers, read without running anything.

Neighbours: every class of this room that can be saved.
"""

from __future__ import annotations

import json
import math
import sys
from contextlib import suppress
from typing import Any, Final

from extractkit.calibration._pairs import listed
from extractkit.errors import UsageError
from extractkit.paths import JsonObject, is_array, is_object, split

__all__ = [
    "counts_of",
    "numbers_of",
    "pointer_of",
    "pointers_of",
    "read_record",
    "sequence_of",
    "texts_of",
    "write_record",
]

_VERSION: Final = 1
_LARGEST: Final = sys.float_info.max
"""Whole numbers in JSON may be larger, and then are no floats."""


def write_record(kind: str, **fields: Any) -> str:
    """Return a record of `kind`."""
    return json.dumps({"kind": kind, "version": _VERSION, **fields}, allow_nan=False)


def read_record(text: str, kind: str, *names: str) -> JsonObject:
    """Return the record of `kind` that stands in `text`.

    Raises:
        UsageError: If it is no JSON, another kind or version, or lacks one of `names`.
    """
    try:
        record = json.loads(text)
    except (ValueError, TypeError, RecursionError) as exc:
        raise UsageError(f"not a saved {kind}: {exc}") from exc
    if not is_object(record) or record.get("kind") != kind or record.get("version") != _VERSION:
        found = record.get("kind") if is_object(record) else type(record).__name__
        raise UsageError(f"found {found!r}; expected a saved {kind!r} of version {_VERSION}")
    missing = [name for name in names if name not in record]
    if missing:
        raise UsageError(f"the saved {kind} lacks {', '.join(missing)}")
    return record


def numbers_of(
    owner: str, *, low: float = -math.inf, high: float = math.inf, **values: Any
) -> None:
    """Return if all are finite numbers in [low, high].

    Raises:
        UsageError: If one is not.
    """
    limits = "" if low == -math.inf else f" from {low:g}" + f" to {high:g}" * (high < math.inf)
    for name, value in values.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not -_LARGEST <= value <= _LARGEST or not low <= value <= high:
            raise UsageError(f"{owner}({name}={value!r:.60}): expected a finite number{limits}")


def counts_of(owner: str, **values: Any) -> None:
    """Return if all are whole numbers that are not negative.

    Raises:
        UsageError: If one is not.
    """
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{owner}({name}={value!r:.60}): expected a whole number from 0 up")


def texts_of(owner: str, **values: Any) -> None:
    """Return if all are texts.

    Raises:
        UsageError: If one is not.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            raise UsageError(f"{owner}({name}={value!r:.60}): expected a text")


def pointers_of(name: str, values: object) -> tuple[str, ...]:
    """Return a list of JSON Pointers as a tuple.

    Raises:
        UsageError: If it is no list of these.
    """
    if isinstance(values, str):
        raise UsageError(f"{name}={values!r:.60}: expected a list of fields, such as [{values!r}]")
    given = listed(name, values)
    for place, value in enumerate(given):
        pointer_of(f"{name}[{place}]", value)
    return given


def pointer_of(name: str, value: object) -> str:
    """Return a JSON Pointer.

    Raises:
        UsageError: If it is none.
    """
    with suppress(ValueError):
        if isinstance(value, str):
            split(value)
            return value
    raise UsageError(
        f"{name}={value!r:.60}: expected a JSON Pointer such as '/tone' or '/lines/*/kind'"
    )


def sequence_of(kind: str, name: str, value: Any) -> tuple[Any, ...]:
    """Return the list in a saved record as a tuple.

    Raises:
        UsageError: If it is none.
    """
    if not is_array(value):
        raise UsageError(f"the saved {kind} has {name}={value!r:.60}; expected a list")
    return tuple(value)
