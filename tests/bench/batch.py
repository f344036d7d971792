"""What many inputs cost beside one, and how much of a server's rate is used.

    python -m tests.bench.batch [--rows 3000] [--short 2000] [--rounds 3]

1. Rows a second against a server of its own process that answers after 50 ms, 64 at once, beside
   httpx2 and `model_validate_json` doing the same with the same bodies, by turns.
2. CPU time of a row in `run_file`, with journal and output, beside `extract_many` without them, of
   whose results the evidence is read, which is settled at the first look; the provider answers at
   once. Five fields, for which a bound holds; and an invoice of 20 lines.
3. CPU time of a row in the busiest process: of a run in one process, and of one that reads and two
   that ask, without their starts. That says how many times the rows a second are where each has a
   core. By the clock it is printed: here the server needs a core as well.

The least of the rounds counts. Absolute figures are printed; the command exits with 1 where a bound
is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx2
from pydantic import BaseModel

from extractkit.batch import extract_many, run_file
from extractkit.providers import OpenAIChat
from extractkit.testing import FakeProvider
from tests.acceptance.many import Order, order_of, text_of, write_rows
from tests.acceptance.many_server import Server, counting
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import INVOICE, Invoice

_CONCURRENCY: Final = 64
_LATENCY_S: Final = 0.05
_IDEAL: Final = _CONCURRENCY / _LATENCY_S
_OF_LIMIT: Final = 0.9
_MOST_MS: Final = 0.3
_GAIN: Final = 1.6
_FEW: Final = 64
_MODEL: Final = "gpt-4.1-mini"


def _provider(server: Server) -> OpenAIChat:
    return OpenAIChat(_MODEL, base_url=server.url)


def _run(folder: Path, name: str, target: type[BaseModel], **options: Any) -> None:
    out = folder / f"{name}.jsonl"
    for old in folder.glob(f"{name}.jsonl*"):
        old.unlink()
    report = run_file(target, folder / "in.jsonl", out, **options)
    if set(report.statuses) != {"ok"} or not report.is_whole:
        raise SystemExit(f"all answers should be taken: {report}")


async def _floor(url: str, rows: int) -> None:
    limits = httpx2.Limits(max_connections=_CONCURRENCY, max_keepalive_connections=_CONCURRENCY)
    slots = asyncio.Semaphore(_CONCURRENCY)
    async with httpx2.AsyncClient(limits=limits, timeout=60.0) as client:

        async def one(row: int) -> None:
            async with slots:
                messages = [{"role": "user", "content": text_of(row)}]
                body = {"model": _MODEL, "messages": messages}
                reply = await client.post(f"{url}/chat/completions", json=body)
            Order.model_validate_json(reply.json()["choices"][0]["message"]["content"])

        await asyncio.gather(*(one(row) for row in range(rows)))


def _fastest(rounds: int, *variants: Callable[[], object]) -> list[tuple[float, float]]:
    """Return the least wall time and CPU time of each in seconds, measured by turns."""
    least = [(float("inf"), float("inf"))] * len(variants)
    for _ in range(rounds):
        for place, run in enumerate(variants):
            began, used = time.perf_counter(), time.process_time()
            run()
            wall, cpu = time.perf_counter() - began, time.process_time() - used
            least[place] = min(least[place][0], wall), min(least[place][1], cpu)
    return least


def _measure_rate(rows: int, rounds: int, folder: Path, bounds: Bounds) -> None:
    write_rows(folder / "in.jsonl", rows)
    with counting("--rows", str(rows), "--latency", str(_LATENCY_S)) as server:
        floor, ours = _fastest(
            rounds,
            lambda: asyncio.run(_floor(server.url, rows)),
            lambda: _run(folder, "rate", Order, model=_provider(server), concurrency=_CONCURRENCY),
        )
    print(f"\n{rows:,} rows, {_CONCURRENCY} at once, {_LATENCY_S * 1000:.0f} ms")
    print(f"  {'ideal':<20} {_IDEAL:>6,.0f} rows/s")
    for name, (wall, cpu) in (("httpx2 and validate", floor), ("run_file", ours)):
        each = cpu / rows * 1000
        print(f"  {name:<20} {rows / wall:>6,.0f} rows/s, CPU of a row {each:.2f} ms")
    limit = min(_OF_LIMIT * _IDEAL, rows / floor[0] / 2)
    bounds.at_most(
        "0.9 of the ideal or half the floor, against our rate", limit / (rows / ours[0]), 1.0
    )


def _invoice_text() -> str:
    lines = "\n".join(f"{i + 1}. Item {i}   {i} piece   4.20" for i in range(20))
    return f"Invoice A-1, issued 2 January 2026, in EUR\n{lines}\nLines 1 to 20. Total 84.00"


def _measure_keeping(rows: int, rounds: int, folder: Path, bounds: Bounds) -> None:
    order = [json.dumps(order_of(row)) for row in range(rows)]
    kinds: list[tuple[str, type[BaseModel], list[str], list[str]]] = [
        ("five fields", Order, [text_of(row) for row in range(rows)], order),
        ("20 lines", Invoice, [_invoice_text()] * rows, [INVOICE.model_dump_json()] * rows),
    ]
    print(f"\n{rows:,} rows, answered at once: CPU time of a row in ms")
    print(f"  {'':<12} extract_many  evidence read  run_file  journal and output")
    for name, target, texts, answers in kinds:
        plain, read, kept = _keeping(target, texts, answers, rounds, folder)
        print(f"  {name:<12} {plain:>12.2f} {read:>14.2f} {kept:>9.2f} {kept - read:>19.2f}")
        if target is Order:
            bounds.at_most("journal and output, ms for a row of 5 fields", kept - read, _MOST_MS)


def _keeping(
    target: type[BaseModel], texts: list[str], answers: list[str], rounds: int, folder: Path
) -> tuple[float, ...]:
    """Return the CPU time of a row in ms: plain, its evidence read, and kept and written."""
    inputs = [(f"A-{row:06}", text) for row, text in enumerate(texts)]
    with (folder / "in.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": id, "text": text}) + "\n" for id, text in inputs)

    def plain(provider: FakeProvider, *, is_read: bool = False) -> None:
        for item in extract_many(target, inputs, model=provider, concurrency=1, ordered=False):
            if item.result is None or not item.result.ok:
                raise SystemExit(f"the answer should be taken: {item}")
            if is_read:
                len(item.result.evidence)

    variants: tuple[Callable[[FakeProvider], None], ...] = (
        plain,
        lambda provider: plain(provider, is_read=True),
        lambda provider: _run(folder, "kept", target, model=provider, concurrency=1),
    )
    least = [float("inf")] * len(variants)
    for _ in range(rounds):
        for place, run in enumerate(variants):
            provider = FakeProvider(list(answers))
            began = time.process_time()
            run(provider)
            least[place] = min(least[place], (time.process_time() - began) / len(texts) * 1000)
    return tuple(least)


def _used() -> tuple[float, float]:
    """Return the CPU time of this process, and of those of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), children.ru_utime + children.ru_stime


def _measure_processes(rows: int, rounds: int, folder: Path, bounds: Bounds) -> None:
    alone, reading, asking, ratio = [float("inf")] * 3 + [0.0]
    with counting("--rows", str(rows), "--latency", "0.005") as server:
        for _ in range(rounds):
            one, two = (_apart(rows, n, folder, server) for n in (1, 2))
            few = _apart(_FEW, 2, folder, server)  # of which the starts are nearly all
            alone = min(alone, one[0] / rows)
            reading = min(reading, two[0] / rows)
            asking = min(asking, (two[1] - few[1]) / (rows - _FEW) / 2)
            ratio = max(ratio, one[2] / two[2])
    print(f"\n{rows:,} rows, {_CONCURRENCY} at once: CPU time of a row in ms")
    print(f"  one process                   {alone * 1000:>6.2f}")
    print(f"  one that reads                {reading * 1000:>6.2f}")
    print(f"  each of two that ask, of half {asking * 1000:>6.2f}")
    print(f"  by the clock, with the starts {ratio:>6.2f}x (load {os.getloadavg()[0]:.1f})")
    gain = alone / max(reading, asking)
    bounds.check(gain >= _GAIN, f"two processes at least {_GAIN:g}x of one", f"{gain:.2f}x")


def _apart(rows: int, processes: int, folder: Path, server: Server) -> tuple[float, float, float]:
    """Return the CPU time of this process and of those it started, and the time by the clock."""
    write_rows(folder / "in.jsonl", rows)
    began, (here, there) = time.perf_counter(), _used()
    _run(
        folder,
        "apart",
        Order,
        model=_provider(server),
        concurrency=_CONCURRENCY,
        processes=processes,
    )
    here_now, there_now = _used()
    return here_now - here, there_now - there, time.perf_counter() - began


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--short", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(machine())
    bounds = Bounds()
    os.environ["OPENAI_API_KEY"] = "none"  # other processes read it there
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _measure_keeping(given.short, given.rounds, folder, bounds)
        _measure_rate(given.rows, given.rounds, folder, bounds)
        _measure_processes(given.rows, given.rounds, folder, bounds)
    return bounds.exit_code()


if __name__ == "__main__":
    raise SystemExit(main())
