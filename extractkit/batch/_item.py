"""One input of many with what came of it, and how it is written down in a journal.

Neighbours: `_asking` makes items, `_book` hands them out in order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from extractkit import errors
from extractkit.errors import ExtractkitError, ProviderError
from extractkit.paths import JsonObject
from extractkit.results import ExtractionResult

__all__ = ["Given", "Item", "item_of", "record_of"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """One input, as it was given.

    Attributes:
        index: Its place among the inputs, from 0.
        id: What the caller calls it; "" where nothing was said.
        text: The input.
        fault: What keeps it from being one.
    """

    index: int
    id: str
    text: str
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Generic[T]):
    """One input and what came of it: a result, or the error that came in its place.

    Attributes:
        index: Its place among the inputs, from 0.
        id: What the caller calls it; "" where nothing was said.
        text: The input.
        result: What was extracted; None where there is an error.
        error: What kept the model from being asked; None where there is a result.
        is_known: It was in the journal, and nobody was asked for it now.
    """

    index: int
    id: str
    text: str
    result: ExtractionResult[T] | None = None
    error: ExtractkitError | None = None
    is_known: bool = False

    @property
    def status(self) -> str:
        """How it ended: the status of the result, or "error"."""
        return "error" if self.result is None else self.result.status.value

    def unwrap(self) -> T:
        """Return the value.

        Raises:
            ExtractkitError: `error`, or what `result.unwrap()` raises.
        """
        if self.result is not None:
            return self.result.unwrap()
        raise self.error or ExtractkitError("an item without a result and without an error")


def record_of(item: Item[Any]) -> JsonObject:
    """Return what a journal keeps of an item.

    Raises:
        UsageError: If the value has something that JSON cannot say.
    """
    if item.result is not None:
        return {"result": json.loads(item.result.to_json())}
    error: JsonObject = {"type": type(item.error).__name__, "message": str(item.error)}
    error.update((name, getattr(item.error, name, None)) for name in _KEPT)
    return {"error": error}


_KEPT: Final = ("provider", "model", "status_code", "request_id", "attempts")


def item_of(record: JsonObject, given: Given, target: Any, *, is_known: bool = False) -> Item[Any]:
    """Return an input with what a record holds of it.

    Raises:
        UsageError: If the result does not fit the target.
    """
    result = error = None
    if "result" in record:
        result = ExtractionResult[Any].from_json(target, json.dumps(record["result"]))
    else:
        error = _error_of(record)
    return Item(
        index=given.index,
        id=given.id,
        text=given.text,
        result=result,
        error=error,
        is_known=is_known,
    )


def _error_of(record: JsonObject) -> ExtractkitError:
    told: JsonObject = record["error"]
    kind: type[ExtractkitError] = getattr(errors, told["type"], ExtractkitError)
    if not issubclass(kind, ProviderError):
        return kind(told["message"])
    return kind(told["message"], **{name: told[name] for name in _KEPT if told[name] is not None})
