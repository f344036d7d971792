"""Read an invoice with line items and see where each value stands in the text.

You learn: a model with a list, limits, a nullable field, evidence and findings. The embedded
model gets much of it wrong; see which of the wrong values the findings point at, and which not.
Costs: nothing. Needs the weights ("extractkit pull"). Takes a few seconds.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from extractkit import extract
from extractkit.providers import Local


class Line(BaseModel):
    """One line of the invoice."""

    description: str = Field(max_length=40)
    quantity: int
    amount: Decimal


class Invoice(BaseModel):
    """What we want to know."""

    number: str = Field(max_length=20, description="the invoice number")
    issued: date = Field(description="date of the invoice")
    due: date | None = Field(description="date by which to pay")
    seller: str = Field(max_length=40, description="who wrote the invoice")
    currency: Literal["EUR", "USD", "GBP"]
    lines: list[Line] = Field(max_length=5)
    total: Decimal = Field(description="amount to pay")


text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
result = extract(Invoice, text, model=Local())

print(result.status.value, result.stop_reason.value, result.validity.name)
if result.value is not None:
    for name, value in result.value:
        print(f"{name}: {value}")
for pointer, span in result.evidence.items():
    print(f"{pointer} = text[{span.start}:{span.end}] = {text[span.start : span.end]!r}")
for finding in result.findings:
    print(f"{finding.severity}: {finding.path}: {finding.message}")
