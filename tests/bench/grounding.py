"""What it costs to look for values in a text, beside the least that any search must do.

    python -m tests.bench.grounding [--rounds 3]

1. Two hundred leaves of one kind, and of all kinds mixed, in made texts of 100 kB and 1 MB, as
   ASCII and with characters beyond it: CPU time per 100 kB, and its ratio to `text.count` of the
   200 values in the same run. "missing" values stand nowhere and are looked for in every form.
2. The invoice of 20 lines of `tests.bench.overhead`: its ratio to `json.loads` of the document.

The evidence is read in each. The least of the rounds counts. Exits with 1 where a bound is missed:
1 MB and 200 mixed leaves within a second, ten times the text in at most 14 times the time, and the
ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from extractkit.grounding import ClaimRow, locate_rows
from extractkit.results import Grounding
from extractkit.schema import compile_schema
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import INVOICE, Invoice, least_us

_LEAVES: Final = 200
_SMALL: Final = 100_000
_LARGE: Final = 1_000_000
_SECONDS: Final = 1.0
_GROWTH: Final = 14.0
_OF_COUNT: Final = 30.0
_OF_LOADS: Final = 40.0
_WORD_LINES: Final = (
    "company agreement shall party information disclosed between receiving written notice",
    "term purpose confidential employee period without consent obligation material provided",
)
_WORDS: Final = tuple(word for line in _WORD_LINES for word in line.split())
_KINDS: Final = (
    "as it is", "other punctuation", "missing", "number", "date", "time", "near match", "mixed",
)  # fmt: skip


def main() -> int:
    """Measure both and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    rounds: int = parser.parse_args().rounds
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    bounds = Bounds()
    for name, beyond in (("ASCII", False), ("beyond ASCII", True)):
        _measure_texts(name, made_text(_LARGE, beyond=beyond), rounds, bounds)
    _measure_invoice(max(200, rounds), bounds)
    return bounds.exit_code()


def made_text(size: int, *, beyond: bool) -> str:
    """Return a text of sentences with amounts, dates and times, the same for the same size."""
    chance = random.Random(5)
    lines: list[str] = []
    length = 0
    while length < size:
        words = " ".join(chance.choices(_WORDS, k=9))
        day = f"{chance.randint(1, 28)} March {chance.randint(1990, 2029)}"
        amount = f"{chance.randint(1, 10**6):,}.{chance.randint(10, 99)}"
        quote = "\u201c%s\u201d" if beyond else '"%s"'
        lines.append(
            f"{len(lines)}. The {words}, {quote % amount} EUR on {day} at {chance.randint(1, 12)}"
            f":{chance.randint(10, 59)} pm.\n"
        )
        length += len(lines[-1])
    return "".join(lines)[:size]


def claims(kind: str, text: str) -> list[ClaimRow]:
    """Return 200 claims of one kind, for the most part on `text`."""
    chance = random.Random(7)
    kinds = _KINDS[:6] if kind == "mixed" else (kind,)
    return [_claim(index, kinds[index % len(kinds)], text, chance) for index in range(_LEAVES)]


def _claim(index: int, kind: str, text: str, chance: random.Random) -> ClaimRow:
    pointer = f"/{index}"
    at = text.index("The ", chance.randrange(len(text) - 400)) + 4
    phrase = " ".join(text[at : at + 60].split(" ")[:4])
    match kind:
        case "number":
            return pointer, chance.randint(1, 10**6), "number", None
        case "date":
            return pointer, f"20{chance.randint(10, 29)}-03-{chance.randint(10, 28)}", "date", None
        case "time":
            return pointer, f"{chance.randint(13, 23)}:{chance.randint(10, 59)}", "time", None
        case "other punctuation":
            return pointer, phrase.replace(" ", ", "), "text", None
        case "missing":
            return pointer, f"{phrase} {index}z", "text", None
        case "near match":
            return pointer, f"{phrase[:-1]}z", "text", None
        case _:
            return pointer, phrase, "text", None


def _measure_texts(name: str, large: str, rounds: int, bounds: Bounds) -> None:
    small = large[:_SMALL]
    print(f"\n{name}: 200 leaves, CPU time per 100 kB, of a text of 100 kB and of 1 MB")
    for kind in _KINDS:
        options = Grounding(fuzzy=kind == "near match")
        rows = claims(kind, small)
        values = [str(value) for _, value, _, _ in rows]
        runs: dict[str, Callable[[], object]] = {
            "small": partial(_located, rows, small, options),
            "large": partial(_located, rows, large, options),
            "count": partial(_counted, values, large),
        }
        least = least_us(runs, rounds)
        ratio = least["large"] / least["count"]
        print(
            f"  {kind:<18} {least['small'] / 1000:>8,.1f} ms  {least['large'] / 10_000:>8,.1f} ms  "
            f"{ratio:>6.2f}x of text.count"
        )
        if kind == "mixed":
            bounds.at_most(f"{name}: 1 MB, 200 leaves: seconds", least["large"] / 1e6, _SECONDS)
            growth = least["large"] / least["small"]
            bounds.at_most(f"{name}: ten times the text: times the time", growth, _GROWTH)
            bounds.at_most(f"{name}: beside text.count of each value", ratio, _OF_COUNT)


def _located(rows: list[ClaimRow], text: str, options: Grounding) -> int:
    return len(locate_rows(rows, text, options=options).evidence)


def _counted(values: list[str], text: str) -> int:
    return sum(map(text.count, values))


def _measure_invoice(rounds: int, bounds: Bounds) -> None:
    document = compile_schema(Invoice, "json-schema").document(INVOICE)
    written = json.dumps(document)
    text = _invoice_text()
    rows = _leaves("", document)
    report = locate_rows(rows, text)
    if report.count.failed:
        raise SystemExit(f"the invoice should be found: {report.findings}")
    least = least_us(
        {
            "json.loads": lambda: json.loads(written),
            "locate": lambda: locate_rows(rows, text),
            "locate, evidence read": lambda: _located(rows, text, Grounding()),
        },
        rounds,
    )
    print(f"\nThe invoice of 20 lines: {len(rows)} leaves, {len(text)} characters")
    for name, spent in least.items():
        print(f"  {name:<22} {spent:>8,.1f} us  {spent / least['json.loads']:>6.2f}x")
    ratio = least["locate"] / least["json.loads"]
    bounds.at_most("the invoice, beside json.loads", ratio, _OF_LOADS)


def _invoice_text() -> str:
    lines = "\n".join(f"{i + 1}. Item {i}   {i} piece   4.20" for i in range(20))
    head = "Invoice A-1, issued 2 January 2026, all in EUR, order: 7, ship: road"
    return f"{head}\n{lines}\nLines 1 to 20. Total 84.00"


def _leaves(pointer: str, value: Any) -> list[ClaimRow]:
    """Return each leaf of an invoice as a claim: dates and decimals are strings there."""
    if isinstance(value, dict | list):
        inner: Any = cast("Any", value)
        inner = inner.items() if isinstance(value, dict) else enumerate(inner)
        return [row for key, each in inner for row in _leaves(f"{pointer}/{key}", each)]
    if isinstance(value, int | float):
        return [(pointer, value, "number", None)]
    text = str(value)
    if text[:4].isdecimal() and text[4:5] == "-":
        return [(pointer, text, "date", None)]
    is_number = text.replace(".", "", 1).isdecimal()
    return [(pointer, text, "number" if is_number else "text", None)]


if __name__ == "__main__":
    sys.exit(main())
