"""What compiling costs beside Pydantic's own JSON Schema and the helpers of the SDKs.

    python -m tests.bench.compile [--rounds 15]

Models of 10, 100 and 1,000 fields and one of 5 levels, in one process, the variants by turns;
each figure is the least of the rounds, in CPU time, and is printed beside its ratio to
`model_json_schema()` of the same class. Cold is everything: Pydantic's description, reading,
lowering, writing, the ways back and the fingerprint. Cached is a repeated call, the bytes for a
request included. Lifting is measured on an invoice of 20 lines, beside Pydantic's validation of
its text. Exits with 1 where an aim is missed.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import BaseModel, create_model

from extractkit.schema import DIALECTS, compile_schema
from extractkit.schema.compile import compile_uncached
from tests.acceptance.shared_data import Bounds, machine

_COLD: Final = 2.0
_CACHED_US: Final = 2.0
_LIFT: Final = 1.0
_KINDS: Final[tuple[Any, ...]] = (
    str, int, float, bool, date, Decimal, Literal["a", "b"], list[str], dict[str, int],
)  # fmt: skip


def flat(fields: int) -> type[BaseModel]:
    """Return a model of so many fields of all kinds; each third may be null, and is by default."""
    return create_model(f"Flat{fields}", **{f"field_{i}": _field(i) for i in range(fields)})


def _field(index: int) -> Any:
    kind = _KINDS[index % len(_KINDS)]
    return (kind | None, None) if index % 3 == 0 else (kind, ...)


def nested(levels: int) -> type[BaseModel]:
    """Return a model of so many levels, each with nine fields and a list of the next."""
    inner: Any = str
    for level in range(levels):
        fields: dict[str, Any] = {f"field_{i}": _field(i) for i in range(9)}
        fields["items"] = (list[inner], ...)
        inner = create_model(f"Level{level}", **fields)
    made: type[BaseModel] = inner
    return made


class Line(BaseModel):
    """One line of an invoice."""

    description: str
    quantity: int | None = None
    amount: Decimal | None = None
    unit: str = "piece"


class Invoice(BaseModel):
    """An invoice, with a place that each dialect has to rewrite."""

    number: str
    issued: date | None = None
    currency: Literal["EUR", "USD"] | None = None
    lines: list[Line]
    span: tuple[int, int]
    extra: dict[str, str]
    total: Decimal | None = None


class Plain(BaseModel):
    """An invoice that every dialect takes as it is."""

    number: str
    lines: list[str]
    total: float | None


INVOICE: Final = Invoice(
    number="A-1",
    issued=date(2026, 1, 2),
    currency="EUR",
    lines=[Line(description=f"Item {i}", quantity=i, amount=Decimal("4.20")) for i in range(20)],
    span=(1, 20),
    extra={"order": "7", "ship": "road"},
    total=Decimal("84.00"),
)


def least_us(
    variants: Mapping[str, Callable[[], object]], rounds: int, *, collect: bool = False
) -> dict[str, float]:
    """Return the least CPU time of each variant in microseconds, measured by turns.

    Args:
        variants: What is measured, by name.
        rounds: How often each has its turn.
        collect: Collect garbage before each turn: where one makes so much of it that the same
            variant would clean up after the others in every round.
    """
    least = dict.fromkeys(variants, float("inf"))
    for _ in range(rounds):
        for name, run in variants.items():
            if collect:
                gc.collect()
            began = time.process_time_ns()
            run()
            least[name] = min(least[name], (time.process_time_ns() - began) / 1000)
    return least


def _helpers(model: type[BaseModel]) -> dict[str, Callable[[], object]]:
    from anthropic import transform_schema
    from openai.lib._pydantic import to_strict_json_schema

    return {
        "openai to_strict_json_schema": lambda: to_strict_json_schema(model),
        "anthropic transform_schema": lambda: transform_schema(model.model_json_schema()),
    }


def _measure_cold(rounds: int, bounds: Bounds) -> None:
    models = {
        "10 fields": flat(10),
        "100 fields": flat(100),
        "1,000 fields": flat(1000),
        "5 levels": nested(5),
    }
    for title, model in models.items():
        least = least_us(
            {
                "model_json_schema": model.model_json_schema,
                **_helpers(model),
                **{
                    f"compile {name}": lambda model=model, name=name: _cold(model, name)
                    for name in DIALECTS
                },
            },
            rounds if "1,000" not in title else max(3, rounds // 5),
            collect=True,
        )
        floor = least["model_json_schema"]
        print(f"\n{title}")
        for name, spent in least.items():
            print(f"  {name:<32} {spent:>10,.0f} us  {spent / floor:>6.2f}x")
            if name.startswith("compile"):
                bounds.at_most(f"{title}: {name}", spent / floor, _COLD)


def _cold(model: type[BaseModel], dialect: str) -> object:
    try:
        return compile_uncached(model, dialect)
    except ValueError as refusal:  # 1,000 fields are more than some targets take
        return refusal


def _measure_cached(bounds: Bounds) -> None:
    print("\ncached, with the bytes (us a call)")
    model, calls = flat(100), 20_000
    for name in DIALECTS:
        compile_schema(model, name)
        began = time.process_time_ns()
        for _ in range(calls):
            compile_schema(model, name).encoded  # noqa: B018 - the bytes are part of the call
        spent = (time.process_time_ns() - began) / calls / 1000
        print(f"  {name:<32} {spent:>10.2f} us")
        bounds.at_most(f"cached {name} (us)", spent, _CACHED_US)


def _measure_lift(rounds: int, bounds: Bounds) -> None:
    print("\nlift of an invoice of 20 lines")
    text = INVOICE.model_dump_json()
    document = INVOICE.model_dump(mode="json")
    compiled = {name: compile_schema(Invoice, name) for name in DIALECTS}
    sent = {name: each.lower(document) for name, each in compiled.items()}
    least = least_us(
        {
            "model_validate_json": lambda: Invoice.model_validate_json(text),
            **{
                f"lift {name}": lambda each=each, name=name: each.lift(sent[name])
                for name, each in compiled.items()
            },
        },
        rounds * 20,
    )
    floor = least["model_validate_json"]
    for name, spent in least.items():
        print(f"  {name:<32} {spent:>10.1f} us  {spent / floor:>6.2f}x")
        if name.startswith("lift"):
            bounds.at_most(name, spent / floor, _LIFT)
    for name in DIALECTS:
        plain = compile_schema(Plain, name)
        answer = {"number": "A-1", "lines": ["a"], "total": 1.5}
        free = plain.lift(answer) is answer
        bounds.check(free, f"{name}: the same object where nothing was rewritten", free)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    print(machine())
    bounds = Bounds()
    _measure_cold(options.rounds, bounds)
    _measure_cached(bounds)
    _measure_lift(options.rounds, bounds)
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
