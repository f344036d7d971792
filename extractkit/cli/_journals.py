"""`extractkit report` and `extractkit export`: what a journal holds, without asking a model.

Neighbours: `_eval` fills the journal, `_ways` reads target and data again, `_showing` shows,
`report` makes pairs for training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from extractkit.cli import _arguments, _goals, _output, _showing, _targets, _ways
from extractkit.cli._lines import counted, say
from extractkit.errors import UsageError

if TYPE_CHECKING:
    from extractkit.evaluation import EvaluationReport
    from extractkit.paths import JsonObject

__all__ = ["EXPORT", "REPORT"]

_REPORT_EXAMPLE = """\
extractkit report run.jsonl -o report.html -o report.csv
extractkit report run.jsonl --data corrected.jsonl

Labels and rules are read anew: those that were corrected cost no new answer."""

_EXPORT_EXAMPLE = """\
extractkit export run.jsonl -o train.jsonl
extractkit export run.jsonl -o train.jsonl --format plain --accept grounded"""


def _add_source_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="what 'extractkit eval --journal' wrote")
    parser.add_argument("--target", metavar="NAME", help="the type, where it is elsewhere now")
    parser.add_argument("--data", metavar="FILE", help="the data, where they are elsewhere now")


def _add_report_arguments(parser: argparse.ArgumentParser) -> None:
    _add_source_arguments(parser)
    _showing.add_arguments(parser)


def _recalled(
    arguments: argparse.Namespace,
    require_writable: Callable[[argparse.Namespace, Sequence[str | None]], None],
) -> tuple[EvaluationReport, Any, list[str]]:
    """Return the report of a journal, its target, and what a reader must know besides.

    Args:
        arguments: Of the call.
        require_writable: Returns if the call's output can be written beside the files that are
            read.

    Raises:
        UsageError: If the journal, the target or the data cannot be read, or nothing was answered.
    """
    from extractkit.evaluation import read_run, recall

    run = read_run(arguments.journal)
    details: JsonObject = dict(run.details)
    missing = [name for name in ("target", "schema", "data", "rules") if name not in details]
    if missing:
        raise UsageError(
            f"{arguments.journal} was not written by 'extractkit eval': it does not say "
            f"{', '.join(missing)}; use recall() of extractkit.evaluation"
        )
    if arguments.target is not None:
        details.update(target=arguments.target, schema=None)
    details["data"] = arguments.data or details["data"]
    require_writable(arguments, [arguments.journal, *_ways.read_files(details)])
    target = _targets.load(details["target"], details["schema"])
    dataset = _ways.load_dataset(details, target)
    with _output.waiting("reading the journal"):
        found = recall(target, dataset, arguments.journal, rules=_ways.load_rules(details))
    if found.report is None:
        raise UsageError(
            f"{arguments.journal} has no answer to these inputs: the data or the target are others "
            "now, or nothing was answered yet; name them with --data and --target, or run "
            "'extractkit eval' again"
        )
    notes = [f"the journal: {each}" for each in run.damage]
    if found.missing:
        notes.append(
            f"not in the journal, and counted by no figure: {counted(found.missing, 'answer')}; "
            "the run did not come to them, or their texts are others now"
        )
    return found.report, target, notes


def _run_report(arguments: argparse.Namespace) -> int:
    report, _, notes = _recalled(arguments, _showing.require_writable)
    _showing.require_baseline(arguments, list(report.answers))
    _showing.show(arguments, report, notes)
    return 0


# --- export --------------------------------------------------------------------------------------


def _add_export_arguments(parser: argparse.ArgumentParser) -> None:
    from extractkit.report import ACCEPTED, FORMATS

    _add_source_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="where the pairs go to, as JSONL"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="openai-chat",
        help="openai-chat: the conversation, with the words that were sent; plain: id, text, "
        "document, configuration (default: openai-chat)",
    )
    parser.add_argument(
        "--accept",
        choices=ACCEPTED,
        default="exact",
        help="which answers: those that are what the label says, or that have a value and reached "
        "a level, or just have a value (default: exact)",
    )
    parser.add_argument("--config", metavar="NAME", help="whose answers (default: all)")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def _require_writable(arguments: argparse.Namespace, read: Sequence[str | None]) -> None:
    _goals.require_writable("-o", arguments.output, read)


def _run_export(arguments: argparse.Namespace) -> int:
    report, target, notes = _recalled(arguments, _require_writable)
    from extractkit import prompts
    from extractkit.report import training_pairs

    pairs = training_pairs(
        report,
        target,
        format=arguments.format,
        accept=arguments.accept,
        configuration=arguments.config,
    )
    # All of it is made before the file is: what cannot be made leaves no half of a file.
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in pairs]
    _goals.write("-o", arguments.output, "".join(lines))
    names = list(report.answers) if arguments.config is None else [arguments.config]
    answers = sum(len(report.answers[name]) for name in names)
    old = {str(report.facts[name]["parameters"]["prompt"]) for name in names}
    if arguments.format == "openai-chat" and old != {prompts.VERSION}:
        notes.append(
            f"the answers were given to the words of version {', '.join(sorted(old))}; the pairs "
            f"have those of {prompts.VERSION}, which are sent now"
        )
    if arguments.json:
        _output.print_json({"pairs": len(lines), "answers": answers, "notes": [*notes]})
    else:
        for note in notes:
            say(note)
        pairs_of = f"{counted(len(lines), 'pair')} of {counted(answers, 'answer')}"
        say(f"wrote {pairs_of} to {arguments.output}")
    return 0 if lines else 1


REPORT = _arguments.Command(
    name="report",
    summary="Make the report of an evaluation again from its journal.",
    usage="extractkit report JOURNAL [options]",
    example=_REPORT_EXAMPLE,
    add_arguments=_add_report_arguments,
    run=_run_report,
)
EXPORT = _arguments.Command(
    name="export",
    summary="Write accepted answers of an evaluation as pairs for fine-tuning.",
    usage="extractkit export JOURNAL -o FILE [options]",
    example=_EXPORT_EXAMPLE,
    add_arguments=_add_export_arguments,
    run=_run_export,
)
