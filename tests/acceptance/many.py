"""A run over many rows that is killed again and again: each row once, and none paid for twice.

    python -m tests.acceptance.many [--rows 100000] [--kills 20] [--seed 10] [--concurrency 64]
                                    [--processes 1]

`extractkit run` asks a server on this machine (`many_server`) that refuses 1 % of all requests with
429 and 0.5 % with 500, and drops 0.1 % of the connections. It is killed (kill -9) at moments that
are drawn by chance: in the middle, two of them right after a start, one when all was asked; and
started anew with the same call. After each kill the server's count is held against the journal: a
row that stands there must never be asked again, and one that was answered and does not stand there
was under way. Peak memory is VmHWM of the process, read every 20 ms. For Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from tests.acceptance.many_server import Server, Tally, counting
from tests.acceptance.shared_data import ROOT, Bounds, machine

_MOST_MB: Final = 300.0
_LONG: Final = 20_000
_MODEL: Final = "openai-chat:gpt-4.1-mini"
_PRODUCTS: Final = ("oak shelves", "brass hooks", "linen bags", "garden chairs")
_PEOPLE: Final = ("Ann Berg", "Tom Lind", "Mia Roth", "Jan Vos")
_ID: Final = re.compile(rb'"id":"A-(\d+)"')


class Order(BaseModel):
    """An order."""

    number: str
    quantity: int
    product: str
    customer: str
    total: float


def order_of(row: int) -> dict[str, Any]:
    """Return what stands in a row."""
    return {
        "number": f"A-{row:06}",
        "quantity": row % 97 + 1,
        "product": _PRODUCTS[row % 4],
        "customer": _PEOPLE[row // 4 % 4],
        "total": (row * 7 % 100_000) / 4,
    }


def text_of(row: int) -> str:
    """Return a row as a text."""
    order = order_of(row)
    return (
        f"Order {order['number']}: {order['quantity']} pieces of {order['product']} for "
        f"{order['customer']}, total {order['total']:.2f} EUR"
    )


def write_rows(path: Path, rows: int) -> None:
    """Write so many rows as JSONL."""
    with path.open("w") as file:
        for row in range(rows):
            line = {"id": order_of(row)["number"], "text": text_of(row)}
            file.write(json.dumps(line) + "\n")


class _Running:
    """One process of `extractkit run`, and the most memory that it ever had."""

    def __init__(self, folder: Path, server: Server, extra: list[str]) -> None:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        environment["PYTHONPATH"] = str(ROOT)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "extractkit", "run", "tests.acceptance.many:Order"),
                *("in.jsonl", "-o", "out.jsonl", "--model", _MODEL, *extra),
            ],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "stderr").open("ab"),
        )
        self.peak_mb = 0.0
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def _watch(self) -> None:
        status = Path(f"/proc/{self.process.pid}/status")
        while self.process.poll() is None:
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
            if found:  # a process that has just ended has none
                self.peak_mb = max(self.peak_mb, int(found[1]) / 1024)
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Wait for its end; return its exit code."""
        code = self.process.wait()
        self._watching.join()
        return code


@dataclass(frozen=True, kw_only=True)
class _Moment:
    answers: int
    delay_s: float


def _moments(rows: int, kills: int, chance: random.Random) -> list[_Moment]:
    """Return when to kill: so many answers in all, and then a moment later."""
    has_end = rows >= _LONG  # a short output is written before anybody can kill
    early = min(2, kills // 4)
    middle = sorted(chance.randrange(rows) for _ in range(kills - early - has_end))
    moments = [_Moment(answers=count, delay_s=chance.uniform(0, 0.3)) for count in middle]
    for _ in range(early):  # nothing new has come when this one starts
        again = chance.choice(middle)
        moments.append(_Moment(answers=again, delay_s=chance.uniform(0.5, 2)))
    if has_end:
        moments.append(_Moment(answers=rows, delay_s=chance.uniform(0, 0.5)))
    return sorted(moments, key=lambda moment: moment.answers)


class _Account:
    """What each row was allowed to cost, by what the journal had at each kill."""

    def __init__(self, journal: Path, rows: int) -> None:
        self._journal = journal
        self._read = 0
        self.kept = bytearray(rows)
        self.lost = [0] * rows
        self.under_way: list[int] = []
        self.repeated_kept = 0
        self._before = bytes(rows)

    def after_kill(self, tally: Tally) -> None:
        """Take in what was answered and what was kept until a kill."""
        self._look(tally)
        answered = (row for row, count in enumerate(tally.answered) if count > self._before[row])
        lost = [row for row in answered if not self.kept[row]]
        for row in lost:
            self.lost[row] += 1
        self.under_way.append(len(lost))
        self._before = tally.answered

    def _look(self, tally: Tally) -> None:
        """Find what is in the journal now; count what was kept before and answered since."""
        self.repeated_kept += sum(
            1
            for row, count in enumerate(tally.answered)
            if self.kept[row] and count > self._before[row]
        )
        if not self._journal.exists():
            return
        with self._journal.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                if found := _ID.search(line):
                    self.kept[int(found[1])] = 1

    def close(self, tally: Tally) -> int:
        """Return how many answers are beyond one for each row and one for each loss of it."""
        self._look(tally)
        beyond = (count - 1 - self.lost[row] for row, count in enumerate(tally.answered))
        return sum(more for more in beyond if more > 0)


def _wait_for(moment: _Moment, running: _Running, server: Server) -> bool:
    """Return at a moment; whether the process is still there then."""
    while sum(server.tally().answered) < moment.answers and running.process.poll() is None:
        time.sleep(0.1)
    time.sleep(moment.delay_s)
    return running.process.poll() is None


def _check_output(path: Path, rows: int, bounds: Bounds) -> None:
    seen = Counter[str]()
    statuses = Counter[str]()
    is_ordered, wrong = True, 0
    with path.open() as lines:
        for row, text in enumerate(lines):
            line = json.loads(text)
            seen[line["id"]] += 1
            statuses[line["status"]] += 1
            expected = order_of(row)
            is_ordered = is_ordered and line["id"] == expected["number"]
            wrong += line["value"] != expected
    missing = sum(1 for row in range(rows) if not seen[order_of(row)["number"]])
    twice = sum(1 for count in seen.values() if count > 1)
    print(f"output: {dict(statuses)}")
    bounds.check(missing == 0, "no row is lost", missing)
    bounds.check(twice == 0 and len(seen) == rows, "each row is in the output once", twice)
    bounds.check(is_ordered and wrong == 0, "each has its own answer, in the order given", wrong)


def _run(folder: Path, server: Server, given: argparse.Namespace, bounds: Bounds) -> None:
    account = _Account(folder / "out.jsonl.journal", given.rows)
    extra = ["--concurrency", str(given.concurrency)]
    if given.processes > 1:
        extra += ["--processes", str(given.processes)]
    peaks: list[float] = []
    kills = 0
    print(f"{'run':>4} {'answers':>9} {'kept':>8} {'under way':>10} {'peak MB':>8} {'s':>7}")
    for moment in [*_moments(given.rows, given.kills, random.Random(given.seed)), None]:
        began = time.monotonic()
        running = _Running(folder, server, extra)
        if moment is None:
            code = running.end()
            bounds.check(code == 0, "the last run ends with exit code 0", code)
        elif _wait_for(moment, running, server):
            running.kill()
            kills += 1
        tally = server.tally(settled=True)
        account.after_kill(tally)
        peaks.append(running.peak_mb)
        print(
            f"{len(peaks):>4} {sum(tally.answered):>9,} {sum(account.kept):>8,} "
            f"{account.under_way[-1]:>10} {running.peak_mb:>8.0f} {time.monotonic() - began:>7.1f}",
            flush=True,
        )
    tally = server.tally(settled=True)
    beyond = account.close(tally)
    print(f"requests: {tally.requests:,}, of which {tally.faults}")
    bounds.check(kills == given.kills, f"it was killed {given.kills} times", kills)
    bounds.check(all(tally.answered), "every row was answered", tally.answered.count(0))
    bounds.check(not account.repeated_kept, "no kept row is asked again", account.repeated_kept)
    bounds.check(beyond == 0, "no row is paid for twice but those under way at a kill", beyond)
    bounds.at_most(
        "answers lost by one kill", float(max(account.under_way)), float(given.concurrency)
    )
    bounds.check(account.under_way[-1] == 0, "the last run loses nothing", account.under_way[-1])
    bounds.at_most("peak memory (MB)", max(peaks), _MOST_MB)
    _check_output(folder / "out.jsonl", given.rows, bounds)


def main() -> int:
    """Run, kill, count, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    print(machine())
    bounds = Bounds()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "in.jsonl", given.rows)
        with counting("--rows", str(given.rows), "--seed", str(given.seed), "--faults") as server:
            _run(folder, server, given, bounds)
    print(f"{time.monotonic() - began:,.0f} s in all")
    return bounds.exit_code()


if __name__ == "__main__":
    raise SystemExit(main())
