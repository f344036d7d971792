"""The invoice model of the demonstration, and values for it drawn by chance.

Neighbours: `_layouts` writes the values as text, `_score` compares answers with them. Every name
is put together from generic words; no model is asked here.
"""

from __future__ import annotations

import datetime
import random
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Currency", "Invoice", "LineItem", "draw"]

Currency: TypeAlias = Literal["EUR", "USD", "GBP", "CHF"]


class LineItem(BaseModel):
    """One line of an invoice."""

    model_config = ConfigDict(extra="forbid")

    description: str = Field(max_length=40)
    quantity: Decimal
    unit_price: Decimal
    amount: Decimal


class Invoice(BaseModel):
    """What the demonstration reads out of an invoice.

    The limits are those of a short invoice: a small model that repeats itself reaches them soon.
    """

    model_config = ConfigDict(extra="forbid")

    number: str = Field(max_length=20, description="the invoice number, as printed")
    issued: datetime.date = Field(description="date of the invoice")
    due: datetime.date | None = Field(description="date by which to pay; null if not given")
    seller: str = Field(max_length=40, description="who wrote the invoice")
    buyer: str = Field(max_length=40, description="who has to pay")
    currency: Currency
    items: list[LineItem] = Field(max_length=6, description="one entry for each line")
    net: Decimal | None = Field(description="sum before tax; null if not given")
    tax: Decimal | None = Field(description="tax amount, not the rate; null if not given")
    total: Decimal = Field(description="amount to pay")
    notes: Annotated[str, Field(max_length=60)] | None = Field(
        description="remark at the end; null if there is none"
    )


_FIRST = (
    "Amber",
    "Birch",
    "Cedar",
    "Copper",
    "Harbour",
    "Maple",
    "North",
    "Orchard",
    "Quarry",
    "River",
)
_SECOND = (
    "Bakery",
    "Bearings",
    "Books",
    "Lighting",
    "Paper",
    "Print",
    "Seeds",
    "Textiles",
    "Tools",
    "Valves",
)
_GOODS = (
    "A4 copy paper",
    "Brass hinge 60 mm",
    "Ceramic mug",
    "Consulting hour",
    "Cotton apron",
    "Delivery",
    "Desk lamp",
    "Envelope C5",
    "Hex bolt M8",
    "Installation",
    "LED bulb 9 W",
    "Oak shelf",
    "Paint roller",
    "Rubber gasket",
    "Steel bracket",
    "Storage box",
    "Wool blanket",
)
_NOTES = (
    "Thank you for your order.",
    "Goods remain our property until paid in full.",
    "Please quote the invoice number with your payment.",
    "Delivered in two parcels.",
)
_CENT = Decimal("0.01")


def draw(
    rng: random.Random,
    *,
    currency: Currency,
    suffixes: tuple[str, ...],
) -> Invoice:
    """Return the values of one invoice.

    Args:
        rng: Where chance comes from.
        currency: Currency of all amounts.
        suffixes: Legal forms to choose from, such as "Ltd".
    """
    issued = datetime.date(2023, 1, 1) + datetime.timedelta(days=rng.randrange(1000))
    goods = rng.sample(_GOODS, rng.randint(1, 4))
    items = [_line(rng, description) for description in goods]
    net = sum((item.amount for item in items), Decimal(0))
    taxed = rng.random() < 0.75
    rate = rng.choice((Decimal("0.07"), Decimal("0.19"), Decimal("0.2")))
    tax = (net * rate).quantize(_CENT, ROUND_HALF_UP)
    seller, buyer = rng.sample(_FIRST, 2)
    return Invoice(
        number=_number(rng, issued.year),
        issued=issued,
        due=issued + datetime.timedelta(days=rng.choice((14, 30))) if rng.random() < 0.6 else None,
        seller=f"{seller} {rng.choice(_SECOND)} {rng.choice(suffixes)}",
        buyer=f"{buyer} {rng.choice(_SECOND)} {rng.choice(suffixes)}",
        currency=currency,
        items=items,
        net=net if taxed else None,
        tax=tax if taxed else None,
        total=net + tax if taxed else net,
        notes=rng.choice(_NOTES) if rng.random() < 0.5 else None,
    )


def _line(rng: random.Random, description: str) -> LineItem:
    quantity = Decimal(rng.choice((1, 2, 3, 4, 5, 10, 12, 25)))
    price = Decimal(rng.randrange(150, 30_000)) / 100
    if rng.random() < 0.5:
        price = price.quantize(Decimal(1), ROUND_HALF_UP)
    price = price.quantize(_CENT)
    return LineItem(
        description=description, quantity=quantity, unit_price=price, amount=quantity * price
    )


def _number(rng: random.Random, year: int) -> str:
    count = rng.randrange(1, 9999)
    return rng.choice(
        (f"INV-{year}-{count:04d}", f"{year}/{count:04d}", f"R-{10_000 + count}", f"{count:05d}")
    )
