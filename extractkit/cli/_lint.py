"""`extractkit lint`: what in a target makes wrong answers likely.

Neighbours: `schema` finds it, this file reads examples and prints.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from extractkit.cli import _arguments, _output, _targets
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, is_object
from extractkit.results import Example
from extractkit.schema import DIALECTS, LINT_RULES, LintFinding, lint

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["COMMAND"]

_EXAMPLE = """\
extractkit lint my.models:Invoice
extractkit lint my.models:Invoice --examples examples.jsonl --dialect openai-strict
extractkit lint my.models:Invoice --strict --ignore required-value"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _targets.add_target_arguments(parser)
    parser.add_argument(
        "--examples",
        metavar="FILE",
        help='JSON Lines: one answer a line, or {"text": ..., "value": answer}',
    )
    parser.add_argument(
        "--dialect",
        action="append",
        default=[],
        choices=tuple(DIALECTS),
        help="also tell what this target of requests cannot hold; may be given several times",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        choices=LINT_RULES,
        metavar="RULE",
        help="leave a rule out; may be given several times",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 where anything is found")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: argparse.Namespace) -> int:
    target = _targets.target_of(arguments)
    examples = {} if arguments.examples is None else _examples(arguments.examples)
    try:
        found = lint(target, examples=[*examples.values()], dialects=arguments.dialect)
    except UsageError as error:
        raise _by_line(error, arguments.examples, [*examples]) from error
    told = [finding for finding in found if finding.rule not in arguments.ignore]
    if arguments.json:
        _output.print_json(
            {
                "findings": [finding.to_json() for finding in told],
                "ignored": len(found) - len(told),
            }
        )
    else:
        _show(_output.console(), told, ignored=len(found) - len(told))
    return 1 if told and arguments.strict else 0


def _by_line(error: UsageError, source: str | None, lines: Sequence[int]) -> UsageError:
    """Return `error`, with the file and the line in place of a position among all examples."""
    named = re.match(r"examples\[(\d+)\]", error.message)
    if named is None:
        return error
    line = f"--examples {source!r}, line {lines[int(named[1])]},"
    return UsageError(line + error.message[named.end() :], pointer=error.pointer)


def _examples(source: str) -> dict[int, JsonValue]:
    """Return the examples of a file, each by the number of its line.

    Raises:
        UsageError: If it cannot be read, or a line is no JSON.
    """
    text = _arguments.read_text(source, wanted="a file of JSON Lines")
    examples: dict[int, JsonValue] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            examples[number] = _example(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"--examples {source!r}, line {number}, is not JSON: {error}; write one answer a "
                "line"
            ) from error
    return examples


def _example(document: JsonValue) -> Any:
    if is_object(document) and document.keys() == {"text", "value"}:
        return Example(text=str(document["text"]), value=document["value"])
    return document


def _show(console: Console, findings: Sequence[LintFinding], *, ignored: int) -> None:
    from rich.text import Text

    for finding in findings:
        place = Text(finding.pointer or "(root)", style="bold")
        console.print(place.append("  ").append(finding.rule, style="yellow"))
        # Lines are not broken, so that they can be searched.
        console.print(Text(f"  {finding.reason}"), soft_wrap=True)
        console.print(Text(f"  fix: {finding.fix}\n", style="green"), soft_wrap=True)
    count = len(findings)
    total = "1 finding" if count == 1 else f"{count or 'no'} findings"
    console.print(total + (f", {ignored} ignored" if ignored else ""))


COMMAND = _arguments.Command(
    name="lint",
    summary="Find what in a target makes wrong answers likely.",
    usage="extractkit lint TARGET [options]\n       extractkit lint --schema FILE [options]",
    example=_EXAMPLE,
    add_arguments=_add_arguments,
    run=_run,
)
