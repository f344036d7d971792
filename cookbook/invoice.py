"""Read an invoice with line items and see where each value stands in the text.

You learn: a model with a list, nullable fields, evidence, and what to do without a value.
Costs: nothing. Needs the weights ("extractkit pull"). Takes a few seconds.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from extractkit import extract


class Line(BaseModel):
    """One line of the invoice."""

    description: str
    quantity: int
    amount: Decimal


class Invoice(BaseModel):
    """What we want to know."""

    number: str
    issued: date
    due: date | None
    seller: str
    currency: Literal["EUR", "USD", "GBP"]
    lines: list[Line]
    total: Decimal


text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
result = extract(Invoice, text, model="local:SmolLM2-135M-Instruct")

print(result.status.value, result.stop_reason.value, result.validity.name)
if result.value is not None:
    for name, value in result.value:
        print(f"{name}: {value}")
for pointer, span in result.evidence.items():
    print(f"{pointer} = text[{span.start}:{span.end}] = {text[span.start : span.end]!r}")
for finding in result.findings:
    print(f"{finding.severity}: {finding.path}: {finding.message}")
