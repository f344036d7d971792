"""Measures README's figures and writes them in place, with the machine and the date.

    python -m tests.acceptance.readme_figures [--receipts 50] [--only WORDS]

Each figure comes from the command that stands beside it. All of them take about 20 minutes of two
quiet cores, most of it for the receipts that are only asked for; `--receipts N` reads the first N,
and the table says how many. `--only` measures the rows that hold the words and leaves the others
as they are, where they were measured on the same machine; each has its date. Needs the third-party
data (EXTRACTKIT_DATA) and the package index.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.acceptance.pages import read, table, write
from tests.acceptance.shared_data import ROOT, machine
from tests.docs.fences import fences

README: Final = ROOT / "README.md"
PART: Final = ("<!-- figures -->", "<!-- end of figures -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One row: what is measured, by which command, and how its figure is had.

    Attributes:
        what: What the row is about; `{receipts}` is how many are read.
        command: What a reader would run.
        measure: Runs it and returns the figure.
    """

    what: str
    command: str
    measure: Callable[[int], str]


def first_command(_: int) -> str:
    """Return what README's first command takes in a new folder and a new home."""
    command = next(fence.body for fence in fences(README) if fence.language == "sh")
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "checkout")
        folder.mkdir()
        _run(f"git archive HEAD | tar -x -C {folder}", ROOT)
        began, cpu_began = time.perf_counter(), _spent()
        _run(command, folder, HOME=home, XDG_CACHE_HOME=str(Path(home, "cache")), PIP_QUIET="1")
        took, cpu = time.perf_counter() - began, _spent() - cpu_began
        files = [path for path in folder.joinpath(".venv").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files if not path.is_symlink())
    return (
        f"{took:.0f} s, downloads included, of which {cpu:.0f} s CPU; "
        f"environment {size / 1e6:.0f} MB"
    )


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def constrained(receipts: int) -> str:
    """Return how receipts end where every token is masked."""
    return _receipts(receipts)[0]


def asked(receipts: int) -> str:
    """Return how the same end where the form is asked for in words."""
    return _receipts(receipts)[1]


_measured: dict[int, tuple[str, str]] = {}  # one run gives both rows


def _receipts(count: int) -> tuple[str, str]:
    if count not in _measured:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "figures.json")
            _run(f"python -m tests.acceptance.receipts --documents {count} --json {path}", ROOT)
            found = json.loads(path.read_text(encoding="utf-8"))
        _measured[count] = (_ended(found["constrained"]), _ended(found["asked"]))
    return _measured[count]


def _ended(record: dict[str, Any]) -> str:
    status = ", ".join(f"{count} {name}" for name, count in sorted(record["status"].items()))
    right = ", ".join(f"{name} {share:.0%}" for name, share in record["field accuracy"].items())
    reached = record["at least"]["SCHEMA"]
    return f"{status}; SCHEMA or above {reached:.0%}; right: {right}"


def published(_: int) -> str:
    """Return what becomes of published schemas in every dialect."""
    from extractkit.schema import DIALECTS
    from tests.acceptance.published import sets, tally

    items = [item for each in sets().values() for item in each]
    tallies = [tally(items, dialect) for dialect in DIALECTS]
    refused = sum(sum(each.refused.values()) for each in tallies)
    crashed = sum(len(each.crashed) + len(each.slow) for each in tallies)
    beyond = sum(len(each.beyond) for each in tallies)
    return (
        f"{len(items):,} schemas in {len(tallies)} dialects: {sum(t.compiled for t in tallies):,} "
        f"compile, {refused} are refused, {crashed} crash or hang; {beyond} are inside the dialect "
        "and more than its engine can read"
    )


def endings(_: int) -> str:
    """Return how many ways to end were seen, and that none gave a silent value."""
    from tests.providers.stage import ALL_CELLS

    _run("pytest -q -p no:randomly tests/providers/test_endings.py", ROOT)
    ways = len({cell.ending for cell in ALL_CELLS})
    return f"{ways} endings, {len(ALL_CELLS)} cells, none a silent value"


def streamed(_: int) -> str:
    """Return what a stream costs beside the SDK's own."""
    printed = _run("python -m tests.bench.stream --largest 100000", ROOT)
    ratio = re.search(r"partial.*of the SDK \(measured: ([\d.]+)\)", printed)
    if ratio is None:
        sys.exit(f"tests.bench.stream printed no ratio:\n{printed}")
    return f"{float(ratio[1]):.2f} of the CPU time of the SDK's raw stream"


FIGURES: Final = (
    Figure(
        what="the first command above, new folder, new home",
        command="the first command",
        measure=first_command,
    ),
    Figure(
        what="{receipts} scanned receipts, embedded model, constrained",
        command="python -m tests.acceptance.receipts",
        measure=constrained,
    ),
    Figure(
        what="the same, only asked",
        command="python -m tests.acceptance.receipts",
        measure=asked,
    ),
    Figure(
        what="published schemas: Pydantic models and JSONSchemaBench",
        command="python -m tests.acceptance.published",
        measure=published,
    ),
    Figure(
        what="how answers end, four APIs, plain and streaming, sync and async, real SDKs",
        command="pytest tests/providers/test_endings.py",
        measure=endings,
    ),
    Figure(
        what="100 KB of JSON streamed in deltas, every partial result and all checks",
        command="python -m tests.bench.stream",
        measure=streamed,
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure every figure, or those that are asked for, and write them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--receipts", type=int, default=50)
    parser.add_argument("--only", default="", metavar="WORDS", help="rows that hold these words")
    options = parser.parse_args(arguments)
    if not any(options.only in figure.what for figure in FIGURES):
        parser.error(f"--only {options.only!r}: no row holds these words")
    where = f"Written by `python -m tests.acceptance.readme_figures` on {machine()}."
    kept = _kept(where) if options.only else {}
    rows = []
    for figure in FIGURES:
        what = figure.what.format(receipts=options.receipts)
        if figure.what in kept and options.only not in figure.what:
            rows.append(kept[figure.what])
            continue
        cells = [
            _cell(figure, options.receipts),
            figure.measure(options.receipts),
            time.strftime("%Y-%m-%d"),
        ]
        print(f"{what}: {cells[1]}", flush=True)
        rows.append((what, cells))
    write(PART, f"{where}\n\n{table('what', ['command', 'figure', 'date'], rows)}", README)
    return 0


def _kept(where: str) -> dict[str, tuple[str, list[str]]]:
    """Return the rows that README has, by what they are about."""
    line, _, lines = read(PART, README).partition("\n\n")
    if line != where:
        sys.exit(f"the other figures are of another machine; measure all of them\n{line}\n{where}")
    rows = [row.strip("| ").split(" | ") for row in lines.splitlines()[2:]]
    return {figure.what: (row[0], row[1:]) for figure, row in zip(FIGURES, rows, strict=True)}


def _cell(figure: Figure, count: int) -> str:
    if not figure.command.startswith(("python", "pytest")):
        return figure.command
    smaller = f" --documents {count}" if "receipts" in figure.command else ""
    return f"`{figure.command}{smaller}`"


def _run(command: str, folder: Path, **more: str) -> str:
    """Return what a command prints; end the program where it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, **more},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(f"{command} failed:\n{run.stdout}")
    return run.stdout


if __name__ == "__main__":
    sys.exit(main())
