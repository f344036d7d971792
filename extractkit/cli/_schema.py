"""`extractkit schema`: what a target is sent as, and what became of each place on the way.

Neighbours: `schema` compiles and explains, this file prints.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from extractkit.cli import _arguments, _output, _targets
from extractkit.errors import SchemaError
from extractkit.paths import JsonObject
from extractkit.schema import DIALECTS, CompiledSchema, Explanation, compile_schema

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["COMMAND"]

_STYLES = {"kept": "green", "rewritten": "cyan", "checked after": "yellow", "refused": "red"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _targets.add_target_arguments(parser)
    parser.add_argument(
        "--dialect",
        default="json-schema",
        choices=tuple(DIALECTS),
        help="who is to be asked (default: json-schema)",
    )
    parser.add_argument("--sent", action="store_true", help="print only the schema that is sent")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: argparse.Namespace) -> int:
    target = _targets.target_of(arguments)
    try:
        compiled = compile_schema(target, arguments.dialect)
    except SchemaError as error:
        if arguments.json and not arguments.sent:
            _output.print_json(_refusal(arguments.dialect, error))
        raise
    if arguments.sent:
        _output.print_json(compiled.schema)
    elif arguments.json:
        _output.print_json(_report(compiled))
    else:
        _show(_output.console(), compiled)
    return 0


def _report(compiled: CompiledSchema) -> JsonObject:
    return {
        **compiled.explain().to_json(),
        "name": compiled.name,
        "fingerprint": compiled.fingerprint,
        "schema": compiled.schema,
    }


def _refusal(dialect: str, error: SchemaError) -> JsonObject:
    """Return the table of a target that does not compile: the one place that is to blame."""
    place = {"pointer": error.pointer or "", "kind": "", "outcome": "refused"}
    return {"dialect": dialect, "whole": False, "places": [{**place, "details": [error.message]}]}


def _show(console: Console, compiled: CompiledSchema) -> None:
    explanation = compiled.explain()
    table = DIALECTS[compiled.dialect]
    console.print(f"{compiled.name} for {table.name} (table of {table.date})", markup=False)
    console.print()
    _show_places(console, explanation)
    console.print()
    outcomes = [place.outcome for place in explanation.places]
    many = "1 place" if len(outcomes) == 1 else f"{len(outcomes)} places"
    counts = ", ".join(f"{outcomes.count(name)} {name}" for name in _STYLES if name in outcomes)
    console.print(
        f"{many}: {counts}; {len(compiled.encoded):,} bytes are sent, "
        f"fingerprint {compiled.fingerprint}",
        markup=False, highlight=False,
    )  # fmt: skip


def _show_places(console: Console, explanation: Explanation) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for place in explanation.places:
        table.add_row(
            Text(place.pointer or "(root)"),
            Text(place.kind),
            Text(place.outcome, style=_STYLES[place.outcome]),
            Text("\n".join(place.details)),
        )
    console.print(table)
    if not explanation.is_whole:
        console.print("... and more places; --json holds the whole schema", markup=False)


COMMAND = _arguments.Command(
    name="schema",
    summary="Show what a target is sent as, and what becomes of each of its places.",
    usage="extractkit schema TARGET [options]\n       extractkit schema --schema FILE [options]",
    example=(
        "extractkit schema my.models:Invoice --dialect openai-strict\n"
        "extractkit schema my.models:Invoice --dialect anthropic --sent"
    ),
    add_arguments=_add_arguments,
    run=_run,
)
