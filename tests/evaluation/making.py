"""A small target, its labels and a scripted model, for the tests of this room."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel

from extractkit import Unknown
from extractkit.evaluation import Case, Dataset
from extractkit.messages import ModelRequest


class Line(BaseModel):
    sku: str | None
    price: Decimal
    note: str | None = None


class Invoice(BaseModel):
    name: str
    day: date | None
    kind: Literal["goods", "services"] | Unknown
    total: Decimal
    lines: list[Line]


LABEL: dict[str, Any] = {
    "name": "Acme Inc.",
    "day": "2024-03-04",
    "kind": "goods",
    "total": "62.00",
    "lines": [{"sku": "x", "price": "1"}, {"sku": "y", "price": "61"}],
}


def changed(**parts: Any) -> dict[str, Any]:
    return {**LABEL, **parts}


def cases(count: int = 3) -> Dataset:
    return Dataset(
        Case(id=str(k), text=f"input {k} answer: {json.dumps(LABEL)}", label=LABEL)
        for k in range(count)
    )


def text_of(request: ModelRequest) -> str:
    """The last turn, in which the text stands."""
    return request.messages[-1].content


def echo(request: ModelRequest) -> str:
    """Answers with the JSON that stands in the text behind "answer:"."""
    content = text_of(request)
    start = content.index("answer:") + len("answer:")
    return json.dumps(json.JSONDecoder().raw_decode(content[start:].lstrip())[0])
