"""What judging one answer costs beside Pydantic's own validation of the same text.

    python -m tests.bench.checks [--rounds 300]

An invoice of 20 lines, which stands in its source, with four ready checks: all levels under
default settings, and parts of it. CPU time in one process, the variants by turns; the least of the
rounds counts and is printed beside its ratio to `model_validate_json`. Bounds are ratios; the
command exits with 1 where one is missed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any, Final

from extractkit import Grounding, Validity
from extractkit.checks import adds_up, in_order, in_range, run, unique
from extractkit.checks._target import target_of
from extractkit.schema import compile_schema
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import INVOICE, Invoice, least_us

# Times model_validate_json of the same text.
_ALL_LEVELS: Final = 25.0
_WITHOUT_SOURCE: Final = 7.5
_COMPARED: Final = 6.0
_WITH_CHECKS: Final = 40.0
_AIM_US: Final = 1000.0

_CHECKS: Final = (
    adds_up("/lines/*/amount", to="/total"),
    unique("/lines/*/description"),
    in_range("/lines/*/amount", low=0),
    in_order("/lines/*/quantity"),
)


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
    target, value = target_of(compiled), outcome.value
    variants: dict[str, Callable[[], object]] = {
        "model_validate_json": lambda: Invoice.model_validate_json(written),
        "all levels, default settings": lambda: run(compiled, document, text=text),
        "all levels and four checks": lambda: run(compiled, document, text=text, checks=_CHECKS),
        "up to CONSISTENT": lambda: run(compiled, document, text=text, grounding=nowhere),
        "value against document, as written": lambda: target.compare(value, document),
        "value against document, walked": lambda: target.compare(value, numbers),
    }
    least = least_us(variants, rounds)
    floor = least["model_validate_json"]
    for name, spent in least.items():
        print(f"  {name:<36} {spent:>8,.0f} us  {spent / floor:>6.2f}x")
    print(f"  aim of all levels: {_AIM_US:,.0f} us")
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
    _measure(arguments.rounds, bounds)
    return bounds.exit_code()


if __name__ == "__main__":
    raise SystemExit(main())
