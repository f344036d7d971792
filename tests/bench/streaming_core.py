"""What it costs to know the state of each field while an answer comes.

    python -m tests.bench.streaming_core [--rounds 3] [--largest 1000000]

Answers of 1 KB, 10 KB, 100 KB and 1 MB in pieces of 4 characters, every change read and a snapshot
taken after each piece; as they come, and taken back from the form of openai-strict, where maps
and tuples are something else. Each figure is the least of the rounds, in CPU seconds. The
exponent is that of time over length between the two largest sizes, one huge text, one long list
and a map of maps among the answers; 1 is linear. Exits with 1 where it is more than 1.1.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from extractkit.schema import CompiledSchema, compile_schema
from extractkit.streaming import Growing
from tests.acceptance.shared_data import Bounds, machine

_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_PIECE: Final = 4
_MOST: Final = 1.1
_SEED: Final = 'bolt, 8 mm: "zinc" — Zürich\n'


class Span(NamedTuple):
    """A tuple, which is sent as an object."""

    first: int
    last: int


class Line(BaseModel):
    """One line."""

    what: str
    count: int
    price: float | None = None
    span: Span


class Order(BaseModel):
    """An order with a list and with a map, which is sent as a list of entries."""

    number: str
    lines: list[Line]
    notes: dict[str, dict[str, str]]


class Text(BaseModel):
    """One text."""

    text: str


def _order(size: int) -> Any:
    line = {"what": _SEED, "count": 12, "price": 4.25, "span": [3, 17]}
    count = max(1, size // 250)
    notes = {f"n/{i}": {"by": "Ida", "said": _SEED} for i in range(count)}
    return {"number": "A-1", "lines": [line] * count, "notes": notes}


_KINDS: Final[dict[str, tuple[Any, Callable[[int], Any]]]] = {
    "an order": (Order, _order),
    "one text": (Text, lambda size: {"text": _SEED * (size // len(_SEED))}),
    "a list of numbers": (list[int], lambda size: [12345] * (size // 7)),
    "a map of numbers": (dict[str, int], lambda size: {f"k{i}": i for i in range(size // 12)}),
}


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def _seconds(pieces: list[str], compiled: CompiledSchema | None, rounds: int) -> float:
    least = math.inf
    for _ in range(rounds):
        gc.collect()
        began = time.process_time_ns()
        count = sum(1 for _ in _changes(pieces, compiled))
        least = min(least, (time.process_time_ns() - began) / 1e9)
        if count < 2:
            raise ValueError("no change was told")
    return least


def _changes(pieces: list[str], compiled: CompiledSchema | None) -> Iterator[object]:
    growing = Growing(compiled)
    for piece in pieces:
        yield from growing.feed(piece)
        growing.snapshot()
    yield from growing.finish()
    if growing.state("").value != "present":
        raise ValueError("the answer is not whole")


def _measure(name: str, size: int, *, lowered: bool, rounds: int) -> tuple[float, int]:
    target, make = _KINDS[name]
    document = make(size)
    compiled = compile_schema(target, "openai-strict") if lowered else None
    text = json.dumps(compiled.lower(document) if compiled else document, ensure_ascii=False)
    return _seconds(_pieces(text), compiled, rounds), len(text)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=_SIZES[-1])
    options = parser.parse_args(arguments)
    print(machine())
    sizes = [size for size in _SIZES if size <= options.largest]
    bounds = Bounds()
    for name in _KINDS:
        for lowered in (False, True):
            title = f"{name}, {'taken back' if lowered else 'as it comes'}"
            figures = [
                _measure(name, size, lowered=lowered, rounds=options.rounds) for size in sizes
            ]
            for seconds, length in figures:
                per_piece = seconds / (length / _PIECE) * 1e6
                print(f"  {title:<32}{length:>10,} characters {seconds:>9.4f} s "
                      f"{per_piece:>6.2f} us a piece")  # fmt: skip
            (before, short), (after, long) = figures[-2:]
            exponent = math.log(after / before) / math.log(long / short)
            bounds.at_most(f"{title}: exponent of growth", exponent, _MOST)
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
