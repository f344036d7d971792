"""`extractkit run`: a type extracted from every row of a file, into another file.

Neighbours: `_targets` finds the type, `batch` runs, `_output` shows how far it is.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from extractkit.cli import _arguments, _output, _targets
from extractkit.cli._lines import UnwritableError, say
from extractkit.errors import UsageError

if TYPE_CHECKING:
    from extractkit.batch import BatchStatus, RunReport
    from extractkit.messages import Provider

__all__ = ["COMMAND"]

_EXAMPLE = """\
extractkit run my.models:Invoice docs.jsonl -o out.jsonl --model openai:gpt-5.4-mini
extractkit run my.models:Invoice folder/ -o out.parquet --concurrency 128 --processes 4
extractkit run my.models:Invoice docs.csv -o out.jsonl --text body --id number --limit 100
extractkit run my.models:Invoice docs.jsonl -o out.jsonl --model openai:gpt-5.4-mini --batch

Killed or stopped, the same call goes on from the journal beside the output, and asks nothing
twice."""

_MOST_LOCAL = 64  # that a local model answers together

_STOPPED = 143  # what a shell reports for a program that SIGTERM ended


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _targets.add_target_and_arguments(
        parser, "DATA", "inputs: .jsonl, .csv, .parquet, a folder of texts, or - for JSONL"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="a .jsonl or .parquet file"
    )
    parser.add_argument("--journal", metavar="FILE", help="(default: FILE.journal of the output)")
    parser.add_argument(
        "--text", metavar="COLUMN", default="text", help="the input (default: text)"
    )
    parser.add_argument(
        "--id", metavar="COLUMN", help="what an input is called (default: id, else its number)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="take the first N inputs only")
    parser.add_argument(
        "--sample", type=float, metavar="SHARE", help="take a share of them, above 0 to 1"
    )
    parser.add_argument(
        "--concurrency", type=int, default=8, metavar="N", help="inputs at once (default: 8)"
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="processes that ask (default: 1)"
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help="ask again about rows that ended in an error"
    )
    parser.add_argument(
        "--max-cost", type=float, metavar="USD", help="take no more inputs when so much is spent"
    )
    parser.add_argument(
        "--batch",
        action="store_true",
        help="ask through the provider's batch API, which takes up to a day, and wait for it",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    _arguments.add_cache_argument(parser)
    _arguments.add_model_arguments(parser, timeout_s=120)


def _run(arguments: argparse.Namespace) -> int:
    name, data = _targets.target_and(arguments, "run", "DATA")
    target = _targets.load(name, arguments.schema)
    given: dict[str, Any] = {
        **_arguments.extractor_options(arguments, seed=None),
        "model": _model(arguments.model or os.environ.get("EXTRACTKIT_MODEL"), arguments),
        "journal": arguments.journal,
        "columns": {key: getattr(arguments, key) for key in ("text", "id", "limit", "sample")},
    }
    ask = _by_batch if arguments.batch else _by_call
    with _stopping() as stop:
        try:
            report = ask(arguments, target, data, stop, given)
        except OSError as error:
            raise UnwritableError(f"{error.filename}: {error.strerror}") from error
    return _code(arguments, report, is_stopped=stop.is_set())


def _model(name: str | None, arguments: argparse.Namespace) -> str | Provider:
    """Return who is asked; a local model answers several at once."""
    from extractkit.providers import Local

    kind, _, file = (name or "local:").partition(":")
    if name is not None and (kind != "local" or not file):
        return name
    return Local(file or None, at_once=min(max(arguments.concurrency, 1), _MOST_LOCAL))


def _by_call(
    arguments: argparse.Namespace,
    target: Any,
    data: str,
    stop: threading.Event,
    given: dict[str, Any],
) -> RunReport:
    """Ask about each row."""
    from extractkit.batch import run_file, showing

    if arguments.max_cost is not None or find_spec("genai_prices") is not None:
        from extractkit.providers.prices import genai_prices

        given["price"] = genai_prices
    with showing(_output.console(stderr=True)) as told:
        return run_file(
            target,
            data,
            arguments.output,
            concurrency=arguments.concurrency,
            processes=arguments.processes,
            retry_failed=arguments.retry_failed,
            max_cost_usd=arguments.max_cost,
            is_stopped=stop.is_set,
            progress=told,
            cache=arguments.cache,
            **given,
        )


def _by_batch(
    arguments: argparse.Namespace,
    target: Any,
    data: str,
    stop: threading.Event,
    given: dict[str, Any],
) -> RunReport:
    """Hand the rows over to a provider, and wait; stopped, the same call goes on."""
    from extractkit.batch import run_batch

    apart = (arguments.max_cost, arguments.cache)
    if apart != (None, None) or arguments.retry_failed or arguments.processes != 1:
        raise UsageError(
            "--batch hands all rows over at once: leave --max-cost, --cache, --retry-failed and "
            "--processes out"
        )
    del given["timeout_s"]  # it is about a call
    with _output.progress() as display:
        bar = display.add_task("waiting", total=None, done="")

        def tell(status: BatchStatus) -> None:
            told = ", ".join(f"{part.rows} {part.word or 'sent'}" for part in status.parts)
            display.update(bar, completed=status.ended, done=told)

        return run_batch(target, data, arguments.output, wait=stop.wait, progress=tell, **given)


def _code(arguments: argparse.Namespace, report: RunReport, *, is_stopped: bool) -> int:
    """Tell what came of it; return 0 where every row ended with an answer."""
    if arguments.json:
        _output.print_json(
            {
                "rows": report.rows,
                "statuses": dict(report.statuses),
                "levels": dict(report.levels),
                "known": report.known,
                "left": report.left,
                "cost_usd": float(report.cost_usd),
                "is_whole": report.is_whole,
            }
        )
    counts = ", ".join(f"{count} {name}" for name, count in sorted(report.statuses.items()))
    cost = f"; {report.cost_usd:.2f} US dollars spent now" if report.cost_usd else ""
    say(f"{arguments.output}: {counts or 'no row'}; {report.known} were known before{cost}")
    if not report.is_whole:
        why = f" ({report.reason})" if report.reason else ""
        say(f"not every row has ended{why}; the same call goes on where this one stopped")
    if isinstance(report.error, OSError):
        raise UnwritableError(f"{report.error.filename}: {report.error.strerror}")
    if report.error is not None:
        raise report.error
    if is_stopped:
        return _STOPPED
    return 0 if report.is_whole and not report.statuses.get("error") else 1


@contextmanager
def _stopping() -> Generator[threading.Event]:
    """Yield what SIGTERM sets; what is under way then still ends."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def set_it(number: int, frame: object) -> None:
        stop.set()

    before = signal.signal(signal.SIGTERM, set_it)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


COMMAND = _arguments.Command(
    name="run",
    summary="Extract a typed value from every row of a file.",
    usage="extractkit run TARGET DATA -o FILE [options]\n"
    "       extractkit run --schema FILE DATA -o FILE [options]",
    example=_EXAMPLE,
    add_arguments=_add_arguments,
    run=_run,
)
