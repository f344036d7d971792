"""The labelled texts that grounding is measured on: six foreign sets, read whole or not at all.

Neighbours: `grounding_denominator` says which labels stand in their text word for word,
`grounding` measures. This module imports nothing of the package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from tests.acceptance.shared_data import rows

__all__ = ["SETS", "Document", "Label", "documents"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One true value of one document.

    Attributes:
        field: Name of what it answers; wrong values are drawn from the same field.
        value: The value as an answer would hold it.
        kind: What it is meant to be: text, number, date or time.
        span: Where it stands, for the sets that say so.
    """

    field: str
    value: str | int | float
    kind: Literal["text", "number", "date", "time"] = "text"
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text with its labels."""

    id: str
    text: str
    labels: tuple[Label, ...]


def documents(name: str, part: str = "dev") -> list[Document]:
    """Return every document of a set; a row that cannot be read ends the program."""
    found = list(SETS[name](part))
    for document in found:
        if not document.text:
            sys.exit(f"{name}: document {document.id} has no text")
    if not any(document.labels for document in found):
        sys.exit(f"{name}: no label at all")
    return found


_AMOUNT: Final = re.compile(r"(?:RM|\$)?\s*(-?[\d,]+(?:\.\d+)?)")


def _receipts(part: str) -> Iterator[Document]:
    for row in rows("sroie_receipts", part, "receipts.jsonl"):
        expected = {field: value for field, value in row["expected"].items() if value}
        labels = [Label(field=field, value=value) for field, value in expected.items()]
        amount = _AMOUNT.fullmatch(expected["total"])
        if amount is None:
            sys.exit(f"sroie_receipts: {row['id']}: {expected['total']!r} is no amount")
        number = amount[1].replace(",", "")
        labels.append(Label(field="total_number", value=number, kind="number"))
        yield Document(id=row["id"], text=row["text"], labels=tuple(labels))


def _agreements(part: str) -> Iterator[Document]:
    for row in rows("kleister_nda", part, "ndas.jsonl"):
        labels = [
            Label(
                field=field,
                value=value.replace("_", " "),
                kind="date" if field == "effective_date" else "text",
            )
            for field, values in row["expected"].items()
            for value in values
        ]
        yield Document(id=row["id"], text=row["text"], labels=tuple(labels))


_OPERAND: Final = re.compile(r"(?<![\d.,])\d[\d,]*(?:\.\d+)?")


def _reports(part: str) -> Iterator[Document]:
    for row in rows("tatqa_financial_reports", part, "reports.jsonl"):
        lines = [" | ".join(cells) for cells in row["table"]["table"]]
        paragraphs = sorted(row["paragraphs"], key=lambda each: int(each["order"]))
        text = "\n".join([*lines, *(each["text"] for each in paragraphs)])
        labels = tuple(label for asked in row["questions"] for label in _answers(asked))
        yield Document(id=row["table"]["uid"], text=text, labels=labels)


def _answers(asked: dict[str, Any]) -> Iterator[Label]:
    """Yield what an answer says word for word, or what it is calculated from."""
    if asked["answer_type"] in ("span", "multi-span"):
        for said in asked["answer"]:
            yield Label(field="answer", value=said)
    elif asked["answer_type"] == "arithmetic":
        for operand in _OPERAND.findall(asked["derivation"]):
            yield Label(field="operand", value=operand.replace(",", ""), kind="number")


def _requests(part: str) -> Iterator[Document]:
    for name in ("banking.jsonl", "hotels.jsonl"):
        for row in rows("nlupp_slots", part, name):
            slots = row.get("slots", {})
            labels = [label for field, slot in slots.items() for label in _slot(field, slot)]
            yield _checked(Document(id=row["id"], text=row["text"], labels=tuple(labels)))


def _slot(field: str, slot: dict[str, Any]) -> Iterator[Label]:
    """Yield the words of a slot, and what they are worth where that is one number, date or time."""
    span = slot["span"][0], slot["span"][1]
    yield Label(field=field, value=slot["text"], span=span)
    parts: dict[str, Any] = slot["value"] if isinstance(slot.get("value"), dict) else {}
    worth: Any = parts.get("amount", slot.get("value"))
    if isinstance(worth, int | float):
        yield Label(field=f"{field}_worth", value=worth, kind="number", span=span)
    elif {"day", "month", "year"} <= parts.keys():
        day = f"{parts['year']:04}-{parts['month']:02}-{parts['day']:02}"
        yield Label(field=f"{field}_worth", value=day, kind="date", span=span)
    elif {"hour", "minute"} <= parts.keys():
        clock = f"{parts['hour']:02}:{parts['minute']:02}"
        yield Label(field=f"{field}_worth", value=clock, kind="time", span=span)


def _bookings(part: str) -> Iterator[Document]:
    for row in rows("restaurant8k_spans", part, "utterances.jsonl"):
        labels = [
            Label(field=each["slot"], value=each["text"], span=(each["start"], each["end"]))
            for each in row["labels"]
        ]
        yield _checked(Document(id=row["id"], text=row["text"], labels=tuple(labels)))


def _abstracts(part: str) -> Iterator[Document]:
    names = ("developset.jsonl", "trainset.jsonl") if part == "dev" else ("testset.jsonl",)
    for name in names:
        for row in rows("ncbi_disease_spans", part, name):
            labels = [
                Label(field="disease", value=each["text"], span=(each["start"], each["end"]))
                for each in row["entities"]
            ]
            yield _checked(Document(id=row["id"], text=row["text"], labels=tuple(labels)))


def _checked(document: Document) -> Document:
    for label in document.labels:
        if label.span and label.kind == "text" and document.text[slice(*label.span)] != label.value:
            sys.exit(f"{document.id}: {label.value!r} is not what stands at {label.span}")
    return document


SETS: Final[dict[str, Callable[[str], Iterator[Document]]]] = {
    "sroie_receipts": _receipts,
    "kleister_nda": _agreements,
    "tatqa_financial_reports": _reports,
    "nlupp_slots": _requests,
    "restaurant8k_spans": _bookings,
    "ncbi_disease_spans": _abstracts,
}
"""The sets by name; each takes the part ("dev")."""
