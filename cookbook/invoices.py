"""Read invoices with line items, and let their own arithmetic find the wrong readings.

You learn: what evidence proves of a line and what not, ready checks, a check of your own, what a
model is told when it is asked again, and what to do with an invoice that is wrong itself.
Costs: nothing. Needs the weights ("extractkit pull"). Takes about 10 seconds; the answers of a
larger model are a replay that stands in this file.
"""

# %%
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from textwrap import fill
from typing import Any

from pydantic import BaseModel, Field

from extractkit import (
    ExtractionResult,
    Extractor,
    Finding,
    Grounded,
    Retry,
    Validity,
    Verbatim,
    extract,
)
from extractkit.checks import Check, CheckContext, adds_up, in_order
from extractkit.providers import Local
from extractkit.testing import FakeProvider

# %% [markdown]
# ## What we want to know
#
# Every field says where it comes from: `Verbatim` words and `Grounded` numbers must stand in the
# invoice. What an invoice may not say is `| None`, so that nobody has to invent it: some have no
# quantities, some have no VAT, some are "payable on receipt".


# %%
class Line(BaseModel):
    """One line of the invoice."""

    item: Verbatim[str] = Field(max_length=40)
    quantity: Grounded[int] | None
    price: Grounded[Decimal] | None = Field(description="price of one")
    amount: Grounded[Decimal] | None = Field(description="price of all of them")


class Invoice(BaseModel):
    """What we want to know; all amounts are in the currency of the invoice."""

    number: Verbatim[str] = Field(max_length=20, description="the invoice number")
    issued: Grounded[date] = Field(description="date of the invoice")
    due: Grounded[date] | None = Field(description="date by which to pay")
    lines: list[Line] = Field(max_length=5)
    subtotal: Grounded[Decimal] | None = Field(description="sum of the lines, without VAT")
    vat_percent: Grounded[Decimal] | None
    vat: Grounded[Decimal] | None = Field(description="amount of VAT")
    total: Grounded[Decimal] = Field(description="amount to pay")


# %% [markdown]
# ## What must hold
#
# Sums and order are [ready checks](../docs/reference/checks.md). A product is not, so we write one:
# a function that yields a finding, with the JSON Pointer of the field at fault, for each thing that
# is wrong. A value that is null is not compared; 0 is never put in its place.


# %%
def products(context: CheckContext) -> Iterator[Finding]:
    """Yield an error where a product on the invoice is not the product of its factors."""
    invoice: Invoice = context.value
    claims: list[tuple[str, Decimal | int | None, Decimal | None, Decimal | None]] = [
        (f"/lines/{position}/amount", line.quantity, line.price, line.amount)
        for position, line in enumerate(invoice.lines)
    ]
    rate = None if invoice.vat_percent is None else invoice.vat_percent / 100
    claims.append(("/vat", invoice.subtotal, rate, invoice.vat))
    for pointer, one, other, product in claims:
        if one is None or other is None or product is None:
            continue
        if round(one * other, 2) != product:
            yield Finding(
                level=Validity.CONSISTENT,
                path=pointer,
                message=f"{one} times {other} is {round(one * other, 2)}, found {product}",
                code="product",
            )


CHECKS: list[Check] = [
    adds_up("/lines/*/amount", to="/subtotal"),
    adds_up("/subtotal", "/vat", to="/total"),
    products,
    in_order("/issued", "/due"),
]

# %% [markdown]
# ## The embedded model
#
# Grounded decoding leaves it no number that the invoice does not state, so nothing is invented.
# Whether it is the right number is another matter. `evidence` says on which line of the text each
# value was found; here the values of one item come from all over the page.

# %%
DATA = Path(__file__).parent / "data" / "invoices"


def show(title: str, result: ExtractionResult[Any], text: str) -> None:
    """Print the lines of an invoice with where they stand, and what is wrong."""
    value = "no value" if result.value is None else "a value"
    print(f"{title}: {result.status.value}, {result.validity.name}, {value}")
    print(f"  issued {result.document['issued']}, due {result.document['due'] or '-'}")
    for position, line in enumerate(result.document["lines"]):
        spans = [result.evidence.get(f"/lines/{position}/{name}") for name in line]
        places = [text.count("\n", 0, span.start) + 1 for span in spans if span is not None]
        item, *numbers = ("-" if cell is None else str(cell) for cell in line.values())
        print(f"  {item:26}{'{:>4}{:>9}{:>9}'.format(*numbers)}    from lines {places}")
    for finding in result.findings:
        print(tell(f"{finding.severity} {finding.path}: {finding.message}"))
    print()


def tell(words: str) -> str:
    """Return words for a terminal."""
    return fill(words, width=96, initial_indent="  ", subsequent_indent="      ")


alder = (DATA / "alder.txt").read_text(encoding="utf-8")
small = Extractor(Invoice, model=Local(), checks=CHECKS, retry=Retry(answers=0))
show("small model, alder.txt", small.extract(alder), alder)

# %% [markdown]
# The sums show it. The answer is not CONSISTENT, so `value` is None and nobody books it by mistake;
# `document` is kept for those who look into it. No check tells of the due date, which is the day of
# issue here: an invoice may be due at once, so the order holds.
#
# ## A model that can be told
#
# A larger model makes such a mistake too, but it mends it when it is told. Here its first answer
# takes the price of one buffet for the amount of thirty. 9.50 stands in the text, so grounding
# has nothing to say: only the arithmetic does. This is what is sent back to the model:

# %%
RIGHT: dict[str, Any] = {
    "number": "2024/0412",
    "issued": "2024-05-02",
    "due": "2024-06-01",
    "lines": [
        {"item": "Cold lunch buffet", "quantity": 30, "price": "9.50", "amount": "285.00"},
        {"item": "Fruit platter", "quantity": 4, "price": "18.00", "amount": "72.00"},
        {"item": "Delivery", "quantity": 1, "price": "15.00", "amount": "15.00"},
    ],
    "subtotal": "372.00",
    "vat_percent": "20",
    "vat": "74.40",
    "total": "446.40",
}
wrong = {**RIGHT, "lines": [{**RIGHT["lines"][0], "amount": "9.50"}, *RIGHT["lines"][1:]]}
large = FakeProvider([json.dumps(wrong), json.dumps(RIGHT)])
result = extract(Invoice, alder, model=large, checks=CHECKS)
for said in large.requests[-1].messages[-1].content.splitlines():
    print(tell(f"> {said}"))
print("answers:", ", ".join(attempt.validity.name for attempt in result.attempts))
show("large model, alder.txt", result, alder)

# %% [markdown]
# ## What is not on the invoice
#
# Tessen Studio states neither quantities nor a day by which to pay. Null claims nothing: the sums
# that can be made are made, the others are left out.

# %%
tessen = (DATA / "tessen.txt").read_text(encoding="utf-8")
answer = {
    "number": "T-0098",
    "issued": "2024-06-11",
    "due": None,
    "lines": [
        {"item": "Logo, three drafts", "quantity": None, "price": None, "amount": "600.00"},
        {"item": "Business cards, design", "quantity": None, "price": None, "amount": "180.00"},
    ],
    "subtotal": "780.00",
    "vat_percent": "19",
    "vat": "148.20",
    "total": "928.20",
}
sparse = extract(Invoice, tessen, model=FakeProvider([json.dumps(answer)]), checks=CHECKS)
show("tessen.txt", sparse, tessen)

# %% [markdown]
# ## When the invoice itself is wrong
#
# Brook Farm Dairy added up 50.40 and 18.00 and wrote 86.40. The model reads what stands there, and
# reads it again when it is asked again: the same answer twice, so nobody asks a third time.

# %%
brook = (DATA / "brook.txt").read_text(encoding="utf-8")
read = json.dumps(
    {
        "number": "771",
        "issued": "2024-07-09",
        "due": "2024-07-23",
        "lines": [
            {"item": "Butter 250 g", "quantity": 24, "price": "2.10", "amount": "50.40"},
            {"item": "Cream 1 l", "quantity": 6, "price": "3.00", "amount": "18.00"},
        ],
        "subtotal": "86.40",
        "vat_percent": None,
        "vat": None,
        "total": "86.40",
    }
)
stuck = extract(Invoice, brook, model=FakeProvider([read, read]), checks=CHECKS)
print("answers:", ", ".join(attempt.validity.name for attempt in stuck.attempts))
show("brook.txt, errors", stuck, brook)

# %% [markdown]
# Two things can be meant by a check. "This is no answer": then it is an error, as above. "Somebody
# should look at this": then it is a warning, and the value comes with it.

# %%
remarks: list[Check] = [
    adds_up("/lines/*/amount", to="/subtotal", severity="warning"),
    adds_up("/subtotal", "/vat", to="/total", severity="warning"),
]
kept = extract(Invoice, brook, model=FakeProvider([read]), checks=[*remarks, products])
show("brook.txt, warnings", kept, brook)
print("total:", kept.unwrap().total)
