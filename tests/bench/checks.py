"""What judging one answer costs beside Pydantic's own validation of the same text.

    python -m tests.bench.checks [--rounds 300]

Two invoices of 20 lines, each of which stands in its source. One is as invoices are: article
numbers, descriptions, quantities from 1 to 20, prices and amounts that differ and recur, the money
as text and as JSON numbers. All levels under default settings are held to the aim of one
millisecond; the whole extraction with a scripted model is printed beside it. The other is uniform
and small, and is held to ratios: all levels, parts of them, four ready checks.

CPU time in one process, the variants by turns; the least of the rounds counts and is printed
beside its ratio to `model_validate_json` of the same text. The command exits with 1 where a bound
is missed, the aim too.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import BaseModel

from extractkit import Extractor, Grounding, Validity
from extractkit.checks import adds_up, in_order, in_range, run, unique
from extractkit.checks._target import target_of
from extractkit.schema import compile_schema
from extractkit.testing import FakeProvider
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import INVOICE, Invoice, least_us

# Times model_validate_json of the same text.
_ALL_LEVELS: Final = 25.0
_WITHOUT_SOURCE: Final = 7.5
_COMPARED: Final = 6.0
_WITH_CHECKS: Final = 40.0
_AIM_MS: Final = 1.0

_CHECKS: Final = (
    adds_up("/lines/*/amount", to="/total"),
    unique("/lines/*/description"),
    in_range("/lines/*/amount", low=0),
    in_order("/lines/*/quantity"),
)


class Item(BaseModel):
    """One line of a bill."""

    sku: str
    description: str
    quantity: int
    price: Decimal
    amount: Decimal


class Bill(BaseModel):
    """An invoice as they are."""

    number: str
    issued: date
    buyer: str
    currency: Literal["EUR", "USD"]
    lines: list[Item]
    total: Decimal


_GOODS: Final = (
    "Paper A4, 80 g, 500 sheets", "Ballpoint pen, blue", "Stapler, half strip", "Staples 24/6",
    "Desk lamp LED", "Envelope C5, window", "Marker set, 4 colours", "Lever arch file, 8 cm",
    "Printer toner, black", "USB cable, 2 m",
)  # fmt: skip
_PRICES: Final = ("0.95", "1.20", "2.50", "4.20", "4.99", "12.00", "19.90", "49.00", "124.50")


def bill(seed: int = 7) -> tuple[Bill, str]:
    """Return an invoice of 20 lines and 105 leaves, and a text that states all of it."""
    chance = random.Random(seed)
    lines = [_item(chance) for _ in range(20)]
    made = Bill(
        number="RE-2026-0417",
        issued=date(2026, 4, 17),
        buyer="Kern & Sons Ltd",
        currency="EUR",
        lines=lines,
        total=sum((line.amount for line in lines), Decimal(0)),
    )
    rows = [
        f"{at:>3}  {each.sku}  {each.description:<28} {each.quantity:>3}  {each.price:>8} "
        f"{each.amount:>10,}"
        for at, each in enumerate(lines, start=1)
    ]
    head = f"Invoice {made.number}\n17 April 2026\nTo: {made.buyer}\nAmounts in EUR"
    return made, "\n".join([head, "", *rows, "", f"Total {made.total:,}", "Due in 30 days", ""])


def _item(chance: random.Random) -> Item:
    quantity, price = chance.randint(1, 20), Decimal(chance.choice(_PRICES))
    return Item(
        sku=f"{chance.choice('ABCK')}{chance.choice('XYZ')}-{chance.randint(1000, 9999)}",
        description=chance.choice(_GOODS),
        quantity=quantity,
        price=price,
        amount=quantity * price,
    )


def _with_numbers(document: Any) -> Any:
    """Return the document of a bill with its money as JSON numbers, which models write as often."""
    lines = [
        {**line, "price": float(line["price"]), "amount": float(line["amount"])}
        for line in document["lines"]
    ]
    return {**document, "lines": lines, "total": float(document["total"])}


def _measure_bill(rounds: int, bounds: Bounds) -> None:
    made, text = bill()
    compiled = compile_schema(Bill)
    as_text = json.loads(made.model_dump_json())
    for money, document in (("text", as_text), ("JSON numbers", _with_numbers(as_text))):
        written = json.dumps(document)
        outcome = run(compiled, document, text=text)
        if outcome.validity is not Validity.GROUNDED:
            raise SystemExit(f"the bill should be grounded: {outcome.findings}")
        everything, judged = "whole extraction", "all levels, default settings"
        extractor = Extractor(Bill, model=FakeProvider([written] * (rounds + 1)))
        if not extractor.extract(text).ok:
            raise SystemExit("the bill should be taken")
        variants: dict[str, Callable[[], object]] = {
            "model_validate_json": lambda written=written: Bill.model_validate_json(written),
            judged: lambda document=document: run(compiled, document, text=text),
            everything: lambda extractor=extractor: extractor.extract(text),
        }
        print(f"an invoice of 20 lines, {len(outcome.leaves)} leaves, money as {money}")
        least = least_us(variants, rounds)
        _print(least)
        bounds.at_most(f"all levels, money as {money}, in ms", least[judged] / 1000, _AIM_MS)


def _print(least: Mapping[str, float]) -> None:
    floor = least["model_validate_json"]
    for name, spent in least.items():
        print(f"  {name:<36} {spent / 1000:>8.3f} ms  {spent / floor:>6.2f}x")


def _source() -> str:
    """Return a text that states every value of the invoice."""
    head = "Invoice A-1 of 2 January 2026, in EUR, lines 1 to 20; order: 7, ship: road"
    lines = [f"{at + 1}. Item {at}   {at} piece   4.20" for at in range(20)]
    return "\n".join([head, *lines, "Total 84.00"])


def _numbers(document: Any) -> Any:
    """Return the document with its amounts as numbers, which models write more often."""
    for line in document["lines"]:
        line["amount"] = float(line["amount"])
    return document


def _measure(rounds: int, bounds: Bounds) -> None:
    written = INVOICE.model_dump_json()
    compiled, document, text = compile_schema(Invoice), json.loads(written), _source()
    numbers = _numbers(json.loads(written))
    nowhere = Grounding(locate=False)
    outcome = run(compiled, document, text=text, checks=_CHECKS)
    if outcome.validity is not Validity.GROUNDED or outcome.findings:
        raise SystemExit(f"the invoice should be grounded: {outcome.findings}")
    target = target_of(compiled)
    typed = target.validate(document, told=frozenset())
    unwritten = replace(typed, written=b"")
    variants: dict[str, Callable[[], object]] = {
        "model_validate_json": lambda: Invoice.model_validate_json(written),
        "all levels, default settings": lambda: run(compiled, document, text=text),
        "all levels and four checks": lambda: run(compiled, document, text=text, checks=_CHECKS),
        "up to CONSISTENT": lambda: run(compiled, document, text=text, grounding=nowhere),
        "value against document, as written": lambda: target.compare(typed, document),
        "value against document, walked": lambda: target.compare(unwritten, numbers),
    }
    least = least_us(variants, rounds)
    floor = least["model_validate_json"]
    print("a uniform invoice of 20 lines")
    _print(least)
    for name, most in (
        ("all levels, default settings", _ALL_LEVELS),
        ("all levels and four checks", _WITH_CHECKS),
        ("up to CONSISTENT", _WITHOUT_SOURCE),
        ("value against document, walked", _COMPARED),
    ):
        bounds.at_most(f"{name}, times model_validate_json", least[name] / floor, most)


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    print(machine())
    bounds = Bounds()
    _measure_bill(arguments.rounds, bounds)
    _measure(arguments.rounds, bounds)
    return bounds.exit_code()


if __name__ == "__main__":
    raise SystemExit(main())
