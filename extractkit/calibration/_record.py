"""Maps and policies as JSON: plain numbers, read without running anything.

Neighbours: every class of this room that can be saved.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.paths import JsonObject, is_object

__all__ = ["numbers_of", "read_record", "write_record"]

_VERSION: Final = 1


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
    except ValueError as exc:
        raise UsageError(f"not a saved {kind}: {exc}") from exc
    if not is_object(record) or record.get("kind") != kind or record.get("version") != _VERSION:
        found = record.get("kind") if is_object(record) else type(record).__name__
        raise UsageError(f"found {found!r}; expected a saved {kind!r} of version {_VERSION}")
    missing = [name for name in names if name not in record]
    if missing:
        raise UsageError(f"the saved {kind} lacks {', '.join(missing)}")
    return record


def numbers_of(owner: str, **values: Any) -> None:
    """Return if all are finite numbers.

    Raises:
        UsageError: If one is not.
    """
    for name, value in values.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise UsageError(f"{owner}({name}={value!r}): expected a finite number")
