"""`extractkit eval`: ways to ask, beside labels, over all inputs of a file.

Neighbours: `_ways` reads what is asked about, `evaluation` asks and counts, `_showing` shows,
`_journals` shows the same again without asking.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from extractkit.cli import _arguments, _output, _showing, _targets, _ways
from extractkit.cli._lines import counted, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from extractkit.evaluation import Configuration, EvaluationReport, Progress

__all__ = ["COMMAND"]

_EXAMPLE = """\
extractkit eval my.models:Invoice invoices.jsonl --journal run.jsonl -o report.html
extractkit eval my.models:Invoice invoices.csv --field total --field date=issued_on
extractkit eval my.models:Invoice invoices.jsonl --model openai:gpt-5.4-mini \\
    --config greedy:temperature=0 --config warm:temperature=0.7,samples=5 -o report.html -o all.csv

Killed or stopped, the same call goes on from the journal, and asks nothing twice."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _targets.add_target_and_arguments(parser, "DATA", "a file of inputs: .jsonl, .csv or .parquet")
    parser.add_argument(
        "--journal",
        metavar="FILE",
        help="keeps every answer at once; the same call goes on from there, and 'extractkit "
        "report' makes its report again without a model",
    )
    _showing.add_arguments(parser)
    _ways.add_data_arguments(parser)
    _arguments.add_model_arguments(parser, timeout_s=120)
    _ways.add_sampling_arguments(parser)
    parser.add_argument(
        "--config",
        metavar="NAME:KEY=VALUE,...",
        action="append",
        default=[],
        help="a way to ask, with options in place of those of this call: model, strategy, "
        "instructions, require, retries, resend, max-output-tokens, temperature, timeout, seed, "
        "samples; given several times, they are compared",
    )
    parser.add_argument(
        "--concurrency", type=int, default=1, metavar="N", help="questions at once (default: 1)"
    )


def _run(arguments: argparse.Namespace) -> int:
    target_name, data = _targets.target_and(arguments, "eval", "DATA")
    details = _ways.data_details(arguments, target_name, data)
    _showing.require_writable(arguments, [arguments.journal, *_ways.read_files(details)])
    target = _targets.load(target_name, arguments.schema)
    rules = _ways.load_rules(details)
    dataset = _ways.load_dataset(details, target)
    configs = _ways.configurations(arguments)
    _showing.require_baseline(arguments, [each.name for each in configs])
    from extractkit.evaluation import evaluate, write_run

    if arguments.journal is not None:
        write_run(arguments.journal, target, configs, details=details)
    with _progress(configs) as told:
        report = evaluate(
            target,
            dataset,
            configs=configs,
            rules=rules,
            journal=arguments.journal,
            progress=told,
            concurrency=arguments.concurrency,
        )
    _showing.show(arguments, report)
    return _code(report, arguments.journal)


@contextmanager
def _progress(configs: Sequence[Configuration]) -> Generator[Callable[[Progress], None]]:
    """Yield what is told of every answer."""
    known = 0
    with _output.progress() as display:
        bar = display.add_task("asking", total=None, done="")

        def tell(progress: Progress) -> None:
            nonlocal known
            known += not progress.is_new
            name = f" {progress.configuration}" if len(configs) > 1 else ""
            display.update(
                bar,
                total=progress.total,
                completed=progress.done,
                done=f"{progress.done} of {progress.total}{name}",
            )

        yield tell
    if known:
        say(f"in the journal and not asked for again: {counted(known, 'answer')}")


def _code(report: EvaluationReport, journal: str | None) -> int:
    """Return 3 where the model could not be asked about some inputs, else 0."""
    failed = [
        each.observation.error
        for found in report.answers.values()
        for each in found
        if each.observation.status == "error"
    ]
    if not failed:
        return 0
    again = (
        "the same call asks again about them, and about nothing else"
        if journal is not None
        else "with --journal, the same call would ask again about them alone"
    )
    say(f"{counted(len(failed), 'answer')} could not be asked for, the first: {failed[0]}; {again}")
    return 3


COMMAND = _arguments.Command(
    name="eval",
    summary="Evaluate ways to ask over a file of labelled inputs.",
    usage="extractkit eval TARGET DATA [options]\n"
    "       extractkit eval --schema FILE DATA [options]",
    example=_EXAMPLE,
    add_arguments=_add_arguments,
    run=_run,
)
