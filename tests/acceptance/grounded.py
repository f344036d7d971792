"""Grounded decoding beside plain schema decoding: the embedded model over scanned receipts.

    python -m tests.acceptance.grounded [--receipts 100] [--json FILE]

The same model class, the same prompts; the second run leaves out enforcement
(`Grounding(enforce=False)`). A value is not in the source where a string does not stand in it
letter for letter, or the checker finds no place for it. Data: SROIE 2019, see `receipts`.
Exit code 1 if grounded decoding gives any such value; accuracy has no target.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections import Counter
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from extractkit import (
    ExtractionResult,
    Extractor,
    Grounded,
    Grounding,
    Status,
    Validity,
    Verbatim,
)
from extractkit.errors import ExtractkitError
from extractkit.grounding.stated import stated
from extractkit.providers import Local

from .receipts import same_words
from .shared_data import Bounds, machine, rows

FIELDS = ("company", "date", "address", "total")


class Receipt(BaseModel):
    """What the labels of the data set hold, each from the source."""

    company: Verbatim[str] | None = Field(description="name of the shop")
    date: Grounded[datetime.date] | None = Field(description="day of the purchase")
    address: Verbatim[str] | None = Field(description="address of the shop")
    total: Grounded[Decimal] | None = Field(description="amount to pay")


def main() -> int:
    """Measure both ways and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--receipts", type=int, default=100)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    arguments = parser.parse_args()
    receipts = rows("sroie_receipts", "dev", "receipts.jsonl")[: arguments.receipts]
    provider = Local()
    print(f"{len(receipts)} receipts; {machine()}; {time.strftime('%Y-%m-%d')}")
    bounds = Bounds()
    records: dict[str, Any] = {}
    for name, enforce in (("grounded", True), ("plain", False)):
        extractor = Extractor(
            Receipt, model=provider, grounding=Grounding(enforce=enforce), timeout_s=None
        )
        records[name] = _measure(name, extractor, receipts)
    invented = records["grounded"]["values not in the source"]
    bounds.check(invented == 0, "grounded: no value that is not in the source", invented)
    failed = records["grounded"]["exceptions"]
    bounds.check(failed == 0, "grounded: no exception", failed)
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return bounds.exit_code()


def _measure(
    name: str, extractor: Extractor[Receipt], receipts: list[dict[str, Any]]
) -> dict[str, Any]:
    results: list[ExtractionResult[Receipt]] = []
    right: Counter[str] = Counter()
    given: Counter[str] = Counter()
    invented: Counter[str] = Counter()
    errors: list[str] = []
    extractor.extract("Total 1.00")  # loads the model, which is not measured
    cpu = time.process_time()
    for receipt in receipts:
        try:
            result = extractor.extract(receipt["text"])
        except ExtractkitError as error:
            errors.append(f"{receipt['id']}: {type(error).__name__}: {error}")
            continue
        results.append(result)
        invented.update(_invented(result, receipt["text"]))
        for field in FIELDS if result.value else ():
            value = getattr(result.value, field)
            given[field] += value is not None
            right[field] += _is_right(field, value, receipt["expected"].get(field))
    return _report(name, results, right, given, invented, errors, time.process_time() - cpu)


def _invented(result: ExtractionResult[Receipt], text: str) -> set[str]:
    """Return the fields whose values are not in the source."""
    document = result.document if isinstance(result.document, dict) else {}
    missed = {
        finding.path.strip("/")
        for finding in result.findings
        if finding.level is Validity.GROUNDED and finding.severity == "error"
    }
    strings = (name for name in ("company", "address") if isinstance(document.get(name), str))
    return missed | {name for name in strings if document[name] not in text}


def _is_right(field: str, value: Any, expected: str | None) -> bool:
    if value is None or not expected:
        return value is None and not expected
    if field == "date":
        return value in stated(expected, Grounding()).dates
    if field == "total":
        try:
            return bool(value == Decimal(expected.replace(",", "").strip("RM$ ")))
        except InvalidOperation:
            return False
    return same_words(value, expected)


def _report(
    name: str,
    results: list[ExtractionResult[Receipt]],
    right: Counter[str],
    given: Counter[str],
    invented: Counter[str],
    errors: list[str],
    cpu: float,
) -> dict[str, Any]:
    documents = len(results) + len(errors)
    decode = sum(item.raw.details["decode_s"] for item in results if item.raw)
    last = sum(item.raw.usage.output_tokens for item in results if item.raw)
    record: dict[str, Any] = {
        "exceptions": len(errors),
        "status": dict(Counter(item.status.value for item in results)),
        "values": dict(given),
        "values not in the source": sum(invented.values()),
        "of these by field": dict(invented),
        "field accuracy": {field: right[field] / documents for field in FIELDS},
        "attempts": sum(len(item.attempts) for item in results),
        "at GROUNDED": sum(item.validity >= Validity.GROUNDED for item in results),
        "not ok": sum(item.status is not Status.OK for item in results),
        "output tokens": last,
        "output tokens per second of decoding": last / decode if decode else None,
        "output tokens per CPU second, prompt included": last / cpu if cpu else None,
        "CPU seconds per receipt": cpu / documents,
    }
    print(f"\n{name}")
    for what, figure in record.items():
        print(f"  {what}: {figure:.3f}" if isinstance(figure, float) else f"  {what}: {figure}")
    for error in errors:
        print(f"  exception: {error}")
    return record


if __name__ == "__main__":
    sys.exit(main())
