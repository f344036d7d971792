"""`extractkit demo`: the embedded model reads a generated invoice, or many.

Neighbours: `_invoices` makes the text, `_pull` gets the weights, `_trial` runs many, `_render`
shows. What the model says is printed as it is, right or wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import time

from extractkit.api import Extractor
from extractkit.cli import _arguments, _output, _pull
from extractkit.cli._invoices import GeneratedInvoice, Invoice, generate
from extractkit.cli._score import Score, compare
from extractkit.errors import UsageError
from extractkit.paths import JsonObject
from extractkit.providers import Local
from extractkit.providers.local._packages import require_packages
from extractkit.results import ExtractionResult

__all__ = ["COMMAND"]

_EXAMPLE = """\
extractkit demo
extractkit demo --seed 5
extractkit demo --invoices 20 --seed 100 --json"""

_FIRST_SEED = 3


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--invoices",
        type=int,
        metavar="N",
        help="read N generated invoices of different layouts and print how often each field "
        "is right",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=_FIRST_SEED,
        metavar="S",
        help=f"which invoice to generate, or the first of N (default: {_FIRST_SEED})",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    _arguments.add_model_arguments(parser, timeout_s=600)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.invoices is not None and arguments.invoices < 1:
        raise UsageError(f"--invoices {arguments.invoices}: expected at least 1")
    options = _arguments.extractor_options(arguments, seed=None)
    pulled = None
    if not arguments.model:
        require_packages()  # before anything is fetched
        pulled = _pull.ensure()
    made: Extractor[Invoice] = Extractor(Invoice, model=arguments.model or Local(), **options)
    with made as extractor:
        if arguments.invoices is not None:
            from extractkit.cli import _trial

            seeds = range(arguments.seed, arguments.seed + arguments.invoices)
            return _trial.run(extractor, seeds, pulled=pulled, as_json=arguments.json)
        return _read_one(extractor, generate(arguments.seed), pulled, as_json=arguments.json)


def _read_one(
    extractor: Extractor[Invoice],
    invoice: GeneratedInvoice,
    pulled: _pull.Pulled | None,
    *,
    as_json: bool,
) -> int:
    began, cpu_began = time.perf_counter(), time.process_time()
    with _output.waiting("the model reads the invoice"):
        result = extractor.extract(invoice.text)
    times = _output.Times(wall_s=time.perf_counter() - began, cpu_s=time.process_time() - cpu_began)
    if as_json:
        _output.print_json(_report(invoice, result, times, pulled))
    else:
        _show(invoice, result, times, pulled)
    return 0 if result.ok else 1


def _report(
    invoice: GeneratedInvoice,
    result: ExtractionResult[Invoice],
    times: _output.Times,
    pulled: _pull.Pulled | None,
) -> JsonObject:
    scores = compare(invoice.truth, result.value)
    return {
        "seed": invoice.seed,
        "layout": invoice.layout,
        "text": invoice.text,
        "truth": invoice.truth.model_dump(mode="json"),
        "result": _output.record(result),
        "fields": {name: dataclasses.asdict(score) for name, score in scores.items()},
        "times": dataclasses.asdict(times),
        "peak_memory_bytes": _output.peak_memory_bytes(),
        "weights": None if pulled is None else pulled.report(),
    }


def _show(
    invoice: GeneratedInvoice,
    result: ExtractionResult[Invoice],
    times: _output.Times,
    pulled: _pull.Pulled | None,
) -> None:
    from extractkit.cli import _render

    console = _output.console()
    _render.show_heading(
        console, f"extractkit demo: invoice {invoice.seed}, layout {invoice.layout!r}"
    )
    facts = [
        *_render.time_facts(times, result),
        ("memory", _output.peak_memory_text()),
        *_pull.facts(pulled),
    ]
    _render.show_result(console, result, invoice.text, facts=facts)
    _render.show_heading(console, "compared with the label of this invoice")
    _render.show_facts(console, [("fields", _verdict(compare(invoice.truth, result.value)))])


def _verdict(scores: dict[str, Score]) -> str:
    wrong = [name for name, score in scores.items() if score.right < score.of]
    right = len(scores) - len(wrong)
    said = f"{right} of {len(scores)} right"
    return f"{said}; wrong: {', '.join(wrong)}" if wrong else said


COMMAND = _arguments.Command(
    name="demo",
    summary="Let the embedded model read a generated invoice, or many.",
    usage="extractkit demo [--invoices N] [--seed S] [options]",
    example=_EXAMPLE,
    add_arguments=_add_arguments,
    run=_run,
)
