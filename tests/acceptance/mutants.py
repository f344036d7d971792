"""Answers as models write them, and answers that went wrong on the way.

Every answer is made from a seed, so that a number says which it was.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, model_validator

from extractkit import Unknown
from extractkit.schema import CompiledSchema, compile_schema

__all__ = ["SOURCE", "Mutant", "answers", "targets"]

SOURCE: Final = (
    "Invoice A-1 of 2 January 2026, in EUR. Item Ä 😀: 3 pieces at 4.20; total 12.60. "
    "Paid by card by Zoë in 東京. Ratio 0.1234567890123456789, id 12345678901234567890."
)


class Line(BaseModel):
    """A line of an invoice."""

    text: str
    count: int = Field(ge=0)
    price: Decimal


class Invoice(BaseModel):
    """An invoice, with a rule between its values."""

    number: Annotated[str, Field(pattern=r"^[A-Z]-\d+$")]
    issued: date | None
    currency: Literal["EUR", "USD"] | Unknown
    lines: list[Line]
    extra: dict[str, str] = {}
    span: tuple[int, float] | None = None
    paid: bool = False

    @model_validator(mode="after")
    def _has_lines(self) -> Invoice:
        if self.paid and not self.lines:
            raise ValueError("paid, and no lines")
        return self


class Card(BaseModel):
    """One way to pay."""

    kind: Literal["card"]
    owner: str


class Cash(BaseModel):
    """Another."""

    kind: Literal["cash"]
    amount: float
    next: list[Card | Cash] = []


_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "ratio": {"type": "number", "maximum": 1},
        "names": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "any": {},
    },
    "required": ["id"],
}

_VALUES: Any = (
    (
        {
            "number": "A-1",
            "issued": "2026-01-02",
            "currency": "EUR",
            "lines": [
                {"text": "Item Ä 😀", "count": 3, "price": 4.20},
                {"text": 'say "x"\n\\ / \u2028', "count": 0, "price": "0.10"},
            ],
            "extra": {"a/b": "~", "": ""},
            "span": [1, 2.5e-3],
            "paid": True,
        },
        {"number": "B-22", "issued": None, "currency": "unknown", "lines": []},
    ),
    (
        {"kind": "cash", "amount": 12.6, "next": [{"kind": "card", "owner": "Zoë"}]},
        {"kind": "card", "owner": "東京 {[:,]} \t"},
    ),
    (
        {
            "id": 12345678901234567890,
            "ratio": 0.1,
            "names": ["a", "b"],
            "any": [{}, [], None, {"a": [[]]}],
        },
        {"id": -0, "ratio": -1e-7, "names": [], "any": {"deep": [[[[[[1]]]]]]}},
    ),
    ([1.5, 2, -3e10], [0, 12345678901234567890.5]),
)  # fmt: skip
_TARGETS: Final[tuple[Any, ...]] = (Invoice, Card | Cash, _SCHEMA, list[Decimal])
_DIALECTS: Final = ("json-schema", "openai-strict")

_WRAPPERS: Final = (
    "{}", "{}", "{}", "{}", "```json\n{}\n```", "Sure:\n{}\nDone.",
    "<think>so {{1}}</think>\n{}", "\ufeff{}", "[{}, {}]",
)  # fmt: skip
_PIECES: Final = (
    *'{}[]:,"\\/-+.eE01 \n\t\r\x00\x1f\x7fé😀\ufeff\ud83c\u2028`<>\'#',
    '"a":', ',"a":1', '"number"', "null", "true", "fals",
    "NaN", "-Infinity", "Infinity", "1e999", "-1e-400",
    "0.1234567890123456789", "12345678901234567890",
    "01", "1.", ".5", "+1", "1e5", "-0", "-0.0", "1E+2", "\\u00e9",
    "\\ud83c", "\\udf31", "\\ud83c\\udf31", "\\u0000", "\\u003a", "\\x", "\\\"",
    "//", "/* x */", "...", "```", "```json\n", "<think>", "</think>",
    "[[", "]]", "{{", "}}", "[]", "{}", ", ", ",,", "'", "True", "None", "undefined",
    "[" * 201, "]" * 201, '{"a":' * 201, "9" * 30, "9" * 4301, "0." + "3" * 20,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One answer.

    Attributes:
        name: What makes it again: seed, batch, and position in it.
        text: The answer.
        target: Which of `targets` it is an answer for.
        cut: A place in the text.
    """

    name: str
    text: str
    target: int
    cut: int


def targets() -> tuple[CompiledSchema, ...]:
    """Return what the answers are for: each type in each dialect."""
    return tuple(compile_schema(each, dialect) for each in _TARGETS for dialect in _DIALECTS)


def _seeds() -> tuple[tuple[str, int], ...]:
    """Return texts without a fault, each with its target: the values as they are sent."""
    made: list[tuple[str, int]] = []
    for index, compiled in enumerate(targets()):
        for value in _VALUES[index // len(_DIALECTS)]:
            wire = compiled.lower(value)
            made += [
                (json.dumps(wire, separators=(",", ":")), index),
                (json.dumps(wire, indent=2, ensure_ascii=False), index),
                (json.dumps(wire, ensure_ascii=False), index),
            ]
    return tuple(made)


def answers(count: int, seed: int = 1, batch: int = 1000) -> Iterator[Mutant]:
    """Yield so many answers; a third of them have no fault or one only."""
    seeds = _seeds()
    for start in range(0, count, batch):
        rng = random.Random(f"{seed}/{start // batch}")
        for position in range(min(batch, count - start)):
            text, target = rng.choice(seeds)
            text = rng.choice(_WRAPPERS).format(text, text)
            for _ in range(min(int(rng.expovariate(0.7)), 6)):
                text = rng.choice(_MUTATIONS)(rng, text)
            yield Mutant(
                name=f"{seed}/{start // batch}/{position}",
                text=text,
                target=target,
                cut=int(rng.random() * (len(text) + 1)),
            )


# --- what goes wrong -----------------------------------------------------------------------------


def _spot(rng: random.Random, text: str) -> int:
    return int(rng.random() * (len(text) + 1))


def _insert(rng: random.Random, text: str) -> str:
    at = _spot(rng, text)
    return text[:at] + rng.choice(_PIECES) + text[at:]


def _replace(rng: random.Random, text: str) -> str:
    at = _spot(rng, text)
    return text[:at] + rng.choice(_PIECES) + text[at + 1 :]


def _drop(rng: random.Random, text: str) -> str:
    at = _spot(rng, text)
    return text[:at] + text[at + 1 + int(rng.expovariate(0.5)) :]


def _cut(rng: random.Random, text: str) -> str:
    return text[: _spot(rng, text)]


def _repeat(rng: random.Random, text: str) -> str:
    at = _spot(rng, text)
    end = at + 1 + int(rng.expovariate(0.1))
    return text[:end] + text[at:]


def _swap(rng: random.Random, text: str) -> str:
    one, other = sorted((_spot(rng, text), _spot(rng, text)))
    swapped = text[other : other + 1] + text[one + 1 : other] + text[one : one + 1]
    return text[:one] + swapped + text[other + 1 :]


def _token(rng: random.Random, text: str) -> str:
    """Put another value where one stands."""
    spots = [at for at, char in enumerate(text) if char in ":[,"]
    if not spots:
        return text
    at = rng.choice(spots) + 1
    end = at
    while end < len(text) and text[end] not in ",]}\n":
        end += 1
    return text[:at] + rng.choice(_PIECES) + text[end:]


def _requote(rng: random.Random, text: str) -> str:
    return text.replace('"', "'") if rng.random() < 0.3 else text.replace('"', "'", 2)


_MUTATIONS: Final[tuple[Callable[[random.Random, str], str], ...]] = (
    _insert, _insert, _replace, _replace, _drop, _drop, _cut, _repeat, _swap,
    _token, _token, _token, _requote,
)  # fmt: skip
