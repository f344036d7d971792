"""An evaluation as it is printed and written: terminal, JSON, CSV, HTML.

Neighbours: `report` makes pages, JSON and CSV; `_eval` and `_journals` call this one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from extractkit.cli import _goals, _output
from extractkit.cli._lines import say
from extractkit.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from extractkit.evaluation import EvaluationReport, Interval
    from extractkit.report import EvaluationFigures

__all__ = ["add_arguments", "require_baseline", "require_writable", "show"]

_SUFFIXES: Final = (".html", ".json", ".csv")
_MOST_COLUMNS: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says where figures go to, and which."""
    group = parser.add_argument_group("what comes out")
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        help="also write a report; its name ends in .html, .json or .csv; may be given several "
        "times",
    )
    group.add_argument("--json", action="store_true", help="print the figures as JSON")
    group.add_argument(
        "--against",
        metavar="NAME",
        help="the configuration that the others are compared with (default: the first)",
    )
    group.add_argument(
        "--level", type=float, default=0.95, metavar="X", help="of intervals (default: 0.95)"
    )
    group.add_argument(
        "--failures",
        type=int,
        default=200,
        metavar="N",
        help="failed inputs that a page shows, in all (default: 200)",
    )


def require_writable(arguments: argparse.Namespace, read: Sequence[str | None]) -> None:
    """Return if all files can be written; before the work, not after.

    Raises:
        UsageError: If one cannot, or a number is out of its range.
    """
    if not 0 < arguments.level < 1:
        raise UsageError(f"--level {arguments.level}: expected a number between 0 and 1")
    if arguments.failures < 0:
        raise UsageError(f"--failures {arguments.failures}: expected 0 or more")
    for goal in arguments.output:
        if Path(goal).suffix.lower() not in _SUFFIXES:
            raise UsageError(f"-o {goal}: expected a name that ends in {', '.join(_SUFFIXES)}")
        _goals.require_writable("-o", goal, read)


def require_baseline(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    """Return if the configuration to compare with is one of `names`.

    Raises:
        UsageError: If not.
    """
    if arguments.against is not None and arguments.against not in names:
        raise UsageError(
            f"--against {arguments.against}: expected a configuration, of {', '.join(names)}"
        )


def show(
    arguments: argparse.Namespace, report: EvaluationReport, notes: Sequence[str] = ()
) -> None:
    """Print the figures of a report and write those files that the call names.

    Raises:
        UnwritableError: If a file cannot be written.
    """
    from extractkit.report import EvaluationFigures, evaluation_to_csv, evaluation_to_html

    with _output.waiting("counting"):
        figures = EvaluationFigures.of(
            report, baseline=arguments.against, level=arguments.level, notes=notes
        )
    makers: Mapping[str, Callable[[], str]] = {
        ".html": lambda: evaluation_to_html(figures, failures=arguments.failures),
        ".json": lambda: json.dumps(figures.plain(), ensure_ascii=False, indent=2) + "\n",
        ".csv": lambda: evaluation_to_csv(figures),
    }
    for goal in arguments.output:
        _goals.write("-o", goal, makers[Path(goal).suffix.lower()]())
        say(f"wrote {goal}")
    if arguments.json:
        _output.print_json(figures.plain())
    else:
        _print(_output.console(), figures)


def _print(console: Console, figures: EvaluationFigures) -> None:
    from extractkit.cli import _render
    from extractkit.report import amount_text, rate_text

    summaries = figures.summaries
    inputs = max(summary.inputs for summary in summaries.values())
    _render.show_heading(
        console,
        f"rates over all inputs: {inputs}; intervals at {100 * figures.level:g} %, over inputs",
    )
    _table(console, {name: each.rates for name, each in summaries.items()}, rate_text)
    if any(each.fields for each in summaries.values()):
        _render.show_heading(console, "fields right")
        _table(console, _fields_right(figures), rate_text)
    _render.show_heading(console, "seconds, tokens, cost per input")
    amounts = {name: {**each.latency, **each.amounts} for name, each in summaries.items()}
    _table(console, amounts, amount_text)
    if figures.differences:
        _render.show_heading(console, f"less {figures.baseline}, paired by input; * without 0")
        rates = {name: each.rates for name, each in figures.differences.items()}
        _table(console, rates, _difference)
    for note in (*figures.notes, *_left_out(figures)):
        _render.show_facts(console, [("note", note)])


def _fields_right(figures: EvaluationFigures) -> dict[str, dict[str, Interval]]:
    return {
        name: {field: found["right"] for field, found in each.fields.items() if "right" in found}
        for name, each in figures.summaries.items()
    }


def _left_out(figures: EvaluationFigures) -> Iterator[str]:
    if figures.report.bad:
        yield f"rows of the data left out: {len(figures.report.bad)}; {figures.report.bad[0]}"


def _difference(found: Interval | None) -> str:
    from extractkit.report import difference_text, is_apart

    star = " *" if found is not None and is_apart(found) else ""
    return f"{difference_text(found, is_rate=True)}{star}"


def _table(
    console: Console,
    columns: Mapping[str, Mapping[str, Interval]],
    said: Callable[[Interval | None], str],
) -> None:
    """Print figures, a column for each configuration; many of them below each other."""
    from rich.table import Table
    from rich.text import Text

    from extractkit.cli._render import visible

    shown = list(columns.items())
    if len(shown) > _MOST_COLUMNS:
        _table(console, dict(shown[:_MOST_COLUMNS]), said)
        console.print()
        _table(console, dict(shown[_MOST_COLUMNS:]), said)
        return
    names = {name: None for each in columns.values() for name in each}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("", *columns):
        table.add_column(Text(visible(title)), overflow="fold")
    for name in names:
        cells = (said(each.get(name)) for each in columns.values())
        table.add_row(Text(f"  {visible(name)}"), *map(Text, cells))
    console.print(table)
