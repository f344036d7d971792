"""Many generated invoices: how often each field is right, and what it costs.

Neighbours: `_demo` calls it. The unit is the invoice, an answer that did not come counts as
wrong, and nothing is compared with a target.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from extractkit.api import Extractor
from extractkit.cli import _output, _pull
from extractkit.cli._invoices import GeneratedInvoice, Invoice, generate
from extractkit.cli._score import Score, compare, total
from extractkit.paths import JsonObject
from extractkit.results import ExtractionResult, Status, Validity

__all__ = ["Reading", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One invoice, what the model made of it, and the seconds that it took."""

    invoice: GeneratedInvoice
    result: ExtractionResult[Invoice]
    times: _output.Times

    @property
    def scores(self) -> dict[str, Score]:
        """How many values are right, by field."""
        return compare(self.invoice.truth, self.result.value)


def run(
    extractor: Extractor[Invoice],
    seeds: Sequence[int],
    *,
    pulled: _pull.Pulled | None,
    as_json: bool,
) -> int:
    """Return 0 when all invoices of `seeds` were read, whatever the model made of them.

    Args:
        extractor: Who reads.
        seeds: Which invoices to generate, at least one.
        pulled: How the weights were come by, where they were needed.
        as_json: Whether to print JSON.
    """
    readings = list(_readings(extractor, seeds))
    if as_json:
        _output.print_json(_report(readings, pulled))
    else:
        _show(readings, pulled)
    return 0


def _readings(extractor: Extractor[Invoice], seeds: Sequence[int]) -> Iterator[Reading]:
    with _output.progress() as display:
        task = display.add_task("reading invoices", total=len(seeds), done=f"0 of {len(seeds)}")
        for count, seed in enumerate(seeds, start=1):
            invoice = generate(seed)
            began, cpu_began = time.perf_counter(), time.process_time()
            result = extractor.extract(invoice.text)
            times = _output.Times(
                wall_s=time.perf_counter() - began, cpu_s=time.process_time() - cpu_began
            )
            display.update(task, advance=1, done=f"{count} of {len(seeds)}")
            yield Reading(invoice=invoice, result=result, times=times)


def _report(readings: Sequence[Reading], pulled: _pull.Pulled | None) -> JsonObject:
    scores = total([reading.scores for reading in readings])
    return {
        "invoices": len(readings),
        "seeds": [readings[0].invoice.seed, readings[-1].invoice.seed],
        "layouts": dict(Counter(reading.invoice.layout for reading in readings)),
        "fields": {name: dataclasses.asdict(score) for name, score in scores.items()},
        "status": _count(reading.result.status.value for reading in readings),
        "validity": _count(reading.result.validity.name.lower() for reading in readings),
        "times": {
            "wall_s": sum(reading.times.wall_s for reading in readings),
            "cpu_s": sum(reading.times.cpu_s for reading in readings),
        },
        "usage": {
            "input_tokens": sum(reading.result.usage.input_tokens for reading in readings),
            "output_tokens": sum(reading.result.usage.output_tokens for reading in readings),
        },
        "peak_memory_bytes": _output.peak_memory_bytes(),
        "weights": None if pulled is None else pulled.report(),
        **_common(readings),
        "readings": [_reading_report(reading) for reading in readings],
    }


def _common(readings: Sequence[Reading]) -> JsonObject:
    made = [reading.result.provenance for reading in readings]
    return {
        "model": made[0].model,
        "details": {
            name: value
            for name, value in made[0].details.items()
            if all(other.details.get(name) == value for other in made)
        },
        "strategy": readings[0].result.strategy.value,
    }


def _reading_report(reading: Reading) -> JsonObject:
    return {
        "seed": reading.invoice.seed,
        "layout": reading.invoice.layout,
        "status": reading.result.status.value,
        "stop_reason": reading.result.stop_reason.value,
        "validity": reading.result.validity.name.lower(),
        "truth": reading.invoice.truth.model_dump(mode="json"),
        "document": reading.result.document,
        "times": dataclasses.asdict(reading.times),
    }


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _show(readings: Sequence[Reading], pulled: _pull.Pulled | None) -> None:
    from extractkit.cli import _render

    console = _output.console()
    report = _report(readings, pulled)
    _render.show_heading(console, f"fields right, over {len(readings)} generated invoices")
    _render.show_facts(
        console,
        [(name, _share(score)) for name, score in total([r.scores for r in readings]).items()],
    )
    _render.show_heading(console, "how they ended")
    _render.show_facts(
        console,
        [
            ("status", _shares(report["status"], [item.value for item in Status])),
            ("validity", _shares(report["validity"], [item.name.lower() for item in Validity])),
            ("layouts", ", ".join(f"{name} {n}" for name, n in report["layouts"].items())),
        ],
    )
    _render.show_heading(console, "how it was done")
    _render.show_facts(console, [*_asked(report, readings), *_pull.facts(pulled)])


def _share(score: Score) -> str:
    percent = f"{100 * score.right / score.of:3.0f} %" if score.of else "  - "
    return f"{percent}  {score.right} of {score.of}"


def _shares(counts: dict[str, int], order: Sequence[str]) -> str:
    every = sum(counts.values())
    return ", ".join(f"{name} {counts[name]} of {every}" for name in order if counts.get(name))


def _asked(report: JsonObject, readings: Sequence[Reading]) -> list[tuple[str, str]]:
    wall, cpu = report["times"]["wall_s"], report["times"]["cpu_s"]
    count, usage = len(readings), report["usage"]
    return [
        ("model", report["model"]),
        *((name, f"{value}") for name, value in report["details"].items()),
        ("strategy", report["strategy"]),
        (
            "time",
            f"{wall:.1f} s in all, {cpu:.1f} s CPU; per invoice {wall / count:.2f} s, "
            f"{cpu / count:.2f} s CPU",
        ),
        ("usage", f"{usage['input_tokens']:,} tokens read, {usage['output_tokens']:,} written"),
        ("memory", _output.peak_memory_text()),
    ]
