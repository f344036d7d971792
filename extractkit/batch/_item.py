"""One input of many with what came of it, and how it is written down in a journal.

Neighbours: `_asking` makes items, `_book` hands them out in order, `_output` writes what a record
shows without reading it.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Generic, TypeVar

from pydantic_core import PydanticSerializationError, to_json

from extractkit import errors
from extractkit.engine import Price
from extractkit.errors import ExtractkitError, ProviderError, UsageError
from extractkit.messages import Usage
from extractkit.observe import priced
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.results import ExtractionResult

__all__ = ["SHOWN", "SPLIT", "Given", "Item", "item_of", "spent_of", "written"]

T = TypeVar("T")

SHOWN: Final = (
    "status", "validity", "value", "findings", "evidence", "confidence", "refusal", "usage",
    "cost_usd", "provenance",
)  # fmt: skip
"""What an output shows of a result; a record begins with it."""

SPLIT: Final = b"\t"
"""What stands behind it in a record: JSON has it nowhere else as it is."""


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

    @property
    def level(self) -> str | None:
        """The level that was reached, in small letters; None where there is an error."""
        return None if self.result is None else self.result.validity.name.lower()

    @property
    def usage(self) -> Usage:
        """Tokens of all that was answered, also where an error came in the end."""
        if self.result is not None:
            return self.result.usage
        return getattr(self.error, "usage", None) or Usage()

    @property
    def cost_usd(self) -> Decimal | None:
        """What that cost in US dollars, 0 where nothing was answered; None if it is not known."""
        if self.result is not None and self.result.attempts:
            return self.result.cost_usd
        if self.error is not None and self.error.usage is not None:
            cost: Decimal | None = self.error.cost_usd
            return cost
        return Decimal(0)

    def unwrap(self) -> T:
        """Return the value.

        Raises:
            ExtractkitError: `error`, or what `result.unwrap()` raises.
        """
        if self.result is not None:
            return self.result.unwrap()
        raise self.error or ExtractkitError("an item without a result and without an error")


def _record(item: Item[Any]) -> bytes:
    if item.result is None:
        return _json({"error": _told_of(item)})
    rest = item.result.to_record()
    shown = {name: rest.pop(name) for name in SHOWN}
    return b'{"result":%b%b,%b}' % (_json(shown)[:-1], SPLIT, _json(rest)[1:])


def written(item: Item[T]) -> tuple[Item[T], bytes]:
    """Return an item and what a journal keeps of it, as JSON text on one line.

    In the place of a result that JSON cannot say is the error that says so.
    """
    try:
        return item, _record(item)
    except UsageError as error:
        error.usage, error.cost_usd = item.usage, item.cost_usd
        item = dataclasses.replace(item, result=None, error=error)
        return item, _record(item)


def _told_of(item: Item[Any]) -> JsonObject:
    told: JsonObject = {"type": type(item.error).__name__, "message": str(item.error)}
    told.update((name, getattr(item.error, name, None)) for name in _KEPT)
    if item.error is not None and item.error.usage is not None:
        cost = item.cost_usd
        told["usage"] = dataclasses.asdict(item.usage)
        told["cost_usd"] = None if cost is None else str(cost)
    return told


_KEPT: Final = ("provider", "model", "status_code", "request_id", "attempts")


def _json(record: JsonObject) -> bytes:
    """Return plain data as JSON.

    Raises:
        UsageError: If there is something that JSON cannot say.
    """
    try:
        text = to_json(record, inf_nan_mode="constants")
        if b"NaN" not in text and b"Infinity" not in text:
            return text
    except PydanticSerializationError:
        pass  # half of a character, as models may write it
    try:
        return json.dumps(record, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"this result cannot be written as JSON: {exc}") from exc


def item_of(record: JsonObject, given: Given, target: Any, *, is_known: bool = False) -> Item[Any]:
    """Return an input with what a record holds of it.

    Raises:
        UsageError: If the result does not fit the target.
    """
    result = error = None
    if "result" in record:
        result = ExtractionResult[Any].from_record(target, record["result"])
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
    facts: JsonObject = {}
    if issubclass(kind, ProviderError):
        facts = {name: told[name] for name in _KEPT if told[name] is not None}
    error = kind(told["message"], **facts)
    if told.get("usage") is not None:
        error.usage = Usage(**told["usage"])
        error.cost_usd = None if told["cost_usd"] is None else Decimal(told["cost_usd"])
    return error


def spent_of(record: JsonValue, price: Price) -> Decimal | None:
    """Return what was paid for a record; None where nobody knows it.

    What was written down without a price is priced now, all answers of an input together.
    """
    part = (record.get("result") or record.get("error")) if is_object(record) else None
    if not is_object(part) or part.get("attempts") == []:
        return Decimal(0)
    usage, cost, of = part.get("usage"), part.get("cost_usd"), part.get("provenance", part)
    if not is_object(usage):  # an error before any answer
        return Decimal(0)
    if cost is not None:
        return Decimal(str(cost))
    paid: dict[str, Any] = usage
    return priced(price, str(of["provider"]), str(of["model"]), Usage(**paid))
