"""Seven ways to set the same invoice: columns, pairs, prose, tables, a receipt, two locales.

Neighbours: `_facts` draws the values. Every value of the truth stands in the text in some
spelling, and what is None in the truth does not stand in it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from extractkit.cli._facts import Currency, Invoice

__all__ = ["LAYOUTS", "Layout"]

_ENGLISH = ("Ltd", "Trading", "& Sons")
_NARROW_SPACE = "\u202f"
"""French typography groups digits with it."""
_SYMBOLS: dict[Currency, str] = {"EUR": "€", "USD": "$", "GBP": "£", "CHF": "CHF "}
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MOIS = (
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One way to set an invoice.

    Attributes:
        name: What it is called in reports.
        currencies: Currencies that it can show unambiguously.
        suffixes: Legal forms of the companies in it.
        write: The text of an invoice in this layout.
    """

    name: str
    currencies: tuple[Currency, ...]
    suffixes: tuple[str, ...]
    write: Callable[[Invoice], str]


def _lines(*parts: str | Iterator[str] | None) -> str:
    """Return the parts as lines; None is left out, an iterator gives several."""
    written: list[str] = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
        elif part is not None:
            written.extend(part)
    return "\n".join(written) + "\n"


def _month_first(day: datetime.date) -> str:
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"


def _day_first(day: datetime.date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _continental(value: Decimal, group: str) -> str:
    return f"{value:,.2f}".replace(",", "\0").replace(".", ",").replace("\0", group)


def _two_columns(invoice: Invoice) -> str:
    sign = _SYMBOLS[invoice.currency]

    def pair(left: str, right: str) -> str:
        return f"{left:<34}{right}".rstrip()

    return _lines(
        pair("INVOICE", f"Invoice no. {invoice.number}"),
        pair("", f"Date: {_month_first(invoice.issued)}"),
        pair("", f"Due:  {_month_first(invoice.due)}") if invoice.due else None,
        "",
        pair("From", "Bill to"),
        pair(invoice.seller, invoice.buyer),
        pair("Unit 4, Mill Lane", "12 Station Road"),
        "",
        f"{'Description':<22}{'Qty':>5}{'Price':>12}{'Amount':>14}",
        (
            f"{item.description:<22}{item.quantity:>5}{item.unit_price:>12,.2f}{item.amount:>14,.2f}"
            for item in invoice.items
        ),
        "",
        f"{'Subtotal':>39}{sign + format(invoice.net, ',.2f'):>14}" if invoice.net else None,
        f"{'Tax':>39}{sign + format(invoice.tax, ',.2f'):>14}" if invoice.tax else None,
        f"{'Total ' + invoice.currency:>39}{sign + format(invoice.total, ',.2f'):>14}",
        "",
        invoice.notes,
    )


def _key_values(invoice: Invoice) -> str:
    return _lines(
        f"Invoice number: {invoice.number}",
        f"Invoice date: {invoice.issued.isoformat()}",
        f"Due date: {invoice.due.isoformat()}" if invoice.due else None,
        f"Supplier: {invoice.seller}",
        f"Customer: {invoice.buyer}",
        f"Currency: {invoice.currency}",
        *(
            f"Line {place}: {item.description}; quantity {item.quantity}; "
            f"unit price {item.unit_price}; amount {item.amount}"
            for place, item in enumerate(invoice.items, start=1)
        ),
        f"Net total: {invoice.net}" if invoice.net else None,
        f"VAT: {invoice.tax}" if invoice.tax else None,
        f"Total due: {invoice.total}",
        f"Note: {invoice.notes}" if invoice.notes else None,
    )


def _letter(invoice: Invoice) -> str:
    sign = _SYMBOLS[invoice.currency]
    goods = "; ".join(
        f"{item.quantity} x {item.description} at {sign}{item.unit_price:,.2f} each, "
        f"{sign}{item.amount:,.2f}"
        for item in invoice.items
    )
    net = f"That comes to {sign}{invoice.net:,.2f} before tax. " if invoice.net else ""
    tax = f"We add tax of {sign}{invoice.tax:,.2f}. " if invoice.tax else ""
    due = f" by {_day_first(invoice.due)}" if invoice.due else ""
    return _lines(
        invoice.seller,
        _day_first(invoice.issued),
        "",
        f"To {invoice.buyer}",
        "",
        f"Our invoice {invoice.number}",
        "",
        f"We have supplied the following: {goods}.",
        f"{net}{tax}Please pay {sign}{invoice.total:,.2f} in all{due}.",
        invoice.notes,
        "",
        f"Accounts, {invoice.seller}",
    )


def _pipe_table(invoice: Invoice) -> str:
    dates = f"Issued {invoice.issued:%Y/%m/%d}"
    due = f", payable until {invoice.due:%Y/%m/%d}" if invoice.due else ""
    return _lines(
        f"# {invoice.seller}: invoice {invoice.number}",
        "",
        f"{dates}{due}. Client: {invoice.buyer}. All amounts in {invoice.currency}.",
        "",
        "| # | item | qty | unit | sum |",
        "|---|------|----:|-----:|----:|",
        (
            f"| {place} | {item.description} | {item.quantity} | {item.unit_price} "
            f"| {item.amount} |"
            for place, item in enumerate(invoice.items, start=1)
        ),
        f"| | net | | | {invoice.net} |" if invoice.net else None,
        f"| | tax | | | {invoice.tax} |" if invoice.tax else None,
        f"| | **total** | | | **{invoice.total}** |",
        "",
        f"> {invoice.notes}" if invoice.notes else None,
    )


def _receipt(invoice: Invoice) -> str:
    def items() -> Iterator[str]:
        for item in invoice.items:
            yield item.description.upper()
            yield f"   {item.quantity} @ {item.unit_price:.2f}".ljust(24) + f"{item.amount:>8.2f}"

    return _lines(
        invoice.seller.upper().center(32).rstrip(),
        "-" * 32,
        f"INVOICE {invoice.number}",
        f"{invoice.issued.day:02d}-{_MONTHS[invoice.issued.month - 1][:3]}-{invoice.issued.year}",
        f"SOLD TO {invoice.buyer.upper()}",
        "-" * 32,
        items(),
        "-" * 32,
        f"{'SUBTOTAL':<22}{invoice.net:>10.2f}" if invoice.net else None,
        f"{'TAX':<22}{invoice.tax:>10.2f}" if invoice.tax else None,
        f"{'TOTAL ' + invoice.currency:<22}{invoice.total:>10.2f}",
        f"PAY BY {invoice.due.day:02d}-{_MONTHS[invoice.due.month - 1][:3]}-{invoice.due.year}"
        if invoice.due
        else None,
        f"* {invoice.notes}" if invoice.notes else None,
    )


def _rechnung(invoice: Invoice) -> str:
    def amount(value: Decimal) -> str:
        return f"{_continental(value, '.')} {'€' if invoice.currency == 'EUR' else 'CHF'}"

    return _lines(
        invoice.seller,
        "",
        "RECHNUNG",
        f"Rechnungs-Nr.: {invoice.number}        Datum: {invoice.issued:%d.%m.%Y}",
        f"Kunde: {invoice.buyer}",
        "",
        "Pos.  Menge  Bezeichnung / Einzelpreis / Betrag",
        (
            f"{place}.  {item.quantity} Stk.  {item.description}  "
            f"{amount(item.unit_price)}  {amount(item.amount)}"
            for place, item in enumerate(invoice.items, start=1)
        ),
        "",
        f"Nettobetrag: {amount(invoice.net)}" if invoice.net else None,
        f"MwSt.: {amount(invoice.tax)}" if invoice.tax else None,
        f"Gesamtbetrag: {amount(invoice.total)}",
        f"Zahlbar bis {invoice.due:%d.%m.%Y}" if invoice.due else None,
        f"Hinweis: {invoice.notes}" if invoice.notes else None,
    )


def _facture(invoice: Invoice) -> str:
    def day(value: datetime.date) -> str:
        return f"{value.day} {_MOIS[value.month - 1]} {value.year}"

    def amount(value: Decimal) -> str:
        return f"{_continental(value, _NARROW_SPACE)} {invoice.currency}"

    return _lines(
        f"Facture n° {invoice.number} du {day(invoice.issued)}",
        f"Émetteur : {invoice.seller}",
        f"Destinataire : {invoice.buyer}",
        "",
        (
            f"- {item.description}, {item.quantity} × {amount(item.unit_price)} "
            f"= {amount(item.amount)}"
            for item in invoice.items
        ),
        "",
        f"Total HT : {amount(invoice.net)}" if invoice.net else None,
        f"TVA : {amount(invoice.tax)}" if invoice.tax else None,
        f"Total à payer : {amount(invoice.total)}",
        f"Échéance : {day(invoice.due)}" if invoice.due else None,
        f"Remarque : {invoice.notes}" if invoice.notes else None,
    )


LAYOUTS: tuple[Layout, ...] = (
    Layout(name="two columns", currencies=("USD",), suffixes=("Inc", "LLC"), write=_two_columns),
    Layout(name="key and value", currencies=("EUR", "GBP"), suffixes=_ENGLISH, write=_key_values),
    Layout(name="letter", currencies=("GBP",), suffixes=_ENGLISH, write=_letter),
    Layout(name="pipe table", currencies=("EUR", "CHF"), suffixes=_ENGLISH, write=_pipe_table),
    Layout(name="receipt", currencies=("USD", "GBP"), suffixes=_ENGLISH, write=_receipt),
    Layout(name="rechnung", currencies=("EUR", "CHF"), suffixes=("GmbH", "KG"), write=_rechnung),
    Layout(name="facture", currencies=("EUR",), suffixes=("SARL", "SA"), write=_facture),
)
"""All layouts, in the order in which consecutive seeds use them."""
