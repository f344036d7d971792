"""Real documents: the embedded model over scanned receipts, constrained and asked.

    python -m tests.acceptance.receipts [--documents 50] [--json FILE]

Data: SROIE 2019 (ICDAR 2019 Robust Reading Challenge on Scanned Receipts OCR and Information
Extraction), texts and labels of the public repository zzzDavid/ICDAR-2019-SROIE.
Bounds hold for constrained decoding only; the accuracy of so small a model has no target.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from extractkit import ExtractionResult, Extractor, Status, Validity
from extractkit.errors import ExtractkitError
from extractkit.messages import StopReason
from extractkit.providers import Local

from .shared_data import Bounds, machine, rows

FIELDS = ("company", "date", "address", "total")


class Receipt(BaseModel):
    """What the labels of the data set hold, as it is printed."""

    company: str | None = Field(description="name of the shop")
    date: str | None = Field(description="as it is printed")
    address: str | None = Field(description="address of the shop")
    total: str | None = Field(description="amount to pay, without the currency")


def main() -> int:
    """Measure both strategies and return the exit code."""
    arguments = _arguments()
    receipts = rows("sroie_receipts", "dev", "receipts.jsonl")[: arguments.documents]
    provider = Local()
    print(f"{len(receipts)} receipts; {machine()}; {time.strftime('%Y-%m-%d')}")
    records: dict[str, Any] = {}
    bounds = Bounds()
    for name, strategy in (("constrained", "local"), ("asked", "prompt")):
        extractor = Extractor(Receipt, model=provider, strategy=strategy, timeout_s=None)
        results, errors, wall, cpu = _run(extractor, receipts)
        records[name] = _report(name, receipts, results, errors, wall=wall, cpu=cpu)
        bounds.check(not errors, f"{name}: no exception", len(errors))
        silent = [item for item in results if item.status is Status.OK and item.value is None]
        bounds.check(not silent, f"{name}: no silent ending", len(silent))
        if name == "constrained":
            _check_constrained(bounds, results, len(receipts))
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return bounds.exit_code()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    return parser.parse_args()


def _run(
    extractor: Extractor[Receipt], receipts: list[dict[str, Any]]
) -> tuple[list[ExtractionResult[Receipt]], list[str], list[float], list[float]]:
    results, errors, wall, cpu = [], [], [], []
    for receipt in receipts:
        began, cpu_began = time.perf_counter(), time.process_time()
        try:
            results.append(extractor.extract(receipt["text"]))
        except ExtractkitError as error:
            errors.append(f"{receipt['id']}: {type(error).__name__}: {error}")
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
    return results, errors, wall, cpu


def _check_constrained(
    bounds: Bounds, results: list[ExtractionResult[Receipt]], documents: int
) -> None:
    ended = [item for item in results if item.stop_reason is StopReason.STOP]
    share = len(ended) / documents
    bounds.check(share >= 0.95, "constrained: at least 95 % end within the limit", f"{share:.1%}")
    reached = sum(item.validity >= Validity.SCHEMA for item in ended)
    bounds.check(
        reached == len(ended),
        "constrained: all that end are at SCHEMA or above",
        f"{reached} of {len(ended)}",
    )


def _report(
    name: str,
    receipts: list[dict[str, Any]],
    results: list[ExtractionResult[Receipt]],
    errors: list[str],
    *,
    wall: list[float],
    cpu: list[float],
) -> dict[str, Any]:
    documents = len(receipts)
    right = Counter(
        field
        for receipt, result in zip(receipts, results, strict=False)
        for field in FIELDS
        if result.value and same_words(getattr(result.value, field), receipt["expected"].get(field))
    )
    levels = Counter(level for item in results for level in range(1, 5) if item.validity >= level)
    tokens = sum(item.usage.output_tokens for item in results)
    decode = sum(item.raw.details["decode_s"] for item in results if item.raw)
    last = sum(item.raw.usage.output_tokens for item in results if item.raw)
    record = {
        "documents": documents,
        "exceptions": len(errors),
        "status": dict(Counter(item.status.value for item in results)),
        "at least": {Validity(level).name: levels[level] / documents for level in range(1, 5)},
        "field accuracy": {field: right[field] / documents for field in FIELDS},
        "attempts per document": sum(len(item.attempts) for item in results) / documents,
        "output tokens": tokens,
        "output tokens per second of decoding": last / decode if decode else None,
        "seconds per document, median": statistics.median(wall),
        "seconds per document, highest": max(wall),
        "CPU seconds per document, median": statistics.median(cpu),
    }
    print(f"\n{name}")
    for what, figure in record.items():
        shown = (
            ", ".join(f"{key} {_short(value)}" for key, value in figure.items())
            if isinstance(figure, dict)
            else _short(figure)
        )
        print(f"  {what}: {shown}")
    for error in errors:
        print(f"  exception: {error}")
    return record


def _short(figure: Any) -> str:
    return f"{figure:.2f}" if isinstance(figure, float) else str(figure)


def same_words(found: str | None, expected: str | None) -> bool:
    """Whether both say the same but for case, punctuation and white space."""
    return _plain(found) == _plain(expected)


def _plain(text: str | None) -> str | None:
    if not text:
        return None
    kept = "".join(char if char.isalnum() else " " for char in text.casefold())
    return " ".join(kept.split())


if __name__ == "__main__":
    sys.exit(main())
