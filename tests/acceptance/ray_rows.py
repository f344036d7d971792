"""Rows of a Ray dataset, asked about by actors of which one is killed in the middle.

    python -m tests.acceptance.ray_rows [--rows 5000] [--actors 2] [--concurrency 8] [--once]

A local Ray reads the rows; its actors ask a loopback server of this process, which counts every
answer that it gave for a row. When two fifths of the rows are answered, one of the actors is killed
with kill -9. Then the same dataset is extracted again over the same journal (not with --once), and
by `extract_frame` in this process without one. Bounds:

- every row is in the output exactly once, and every one has ended with an answer;
- no row is paid for more than twice, and no more of them twice than were under way in the killed
  actor;
- the second run over the journal asks nothing;
- the output equals that of the local run, in all columns that `extract_frame` adds.

Needs the extra `ray`. Exits with 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from pydantic import BaseModel

from extractkit import Verbatim
from extractkit.batch import extract_dataset, extract_frame, frame_schema
from tests.acceptance.shared_data import Bounds, machine
from tests.server import chat
from tests.server.answers import Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply, json_reply

_MODEL = "compatible:loopback"
_LATENCY_S = 0.02


class Parcel(BaseModel):
    """What each row holds."""

    number: Verbatim[str]
    weight: int
    is_heavy: bool


class Server:
    """Answers about each row, and counts the answers that were given."""

    def __init__(self) -> None:
        self.answers: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: Recorded) -> Reply:
        number = re.findall(r"P-(\d{6})", json.dumps(request.body))[-1]
        weight = int(number) % 40
        answer = {"number": f"P-{number}", "weight": weight, "is_heavy": weight > 30}
        with self._lock:
            self.answers[number] += 1
        return replace(json_reply(chat.body(Answer(text=json.dumps(answer)))), wait_s=_LATENCY_S)

    @property
    def total(self) -> int:
        """How many answers were given."""
        with self._lock:
            return self.answers.total()


class Killer(threading.Thread):
    """Kills one actor with kill -9 when so many answers were given."""

    def __init__(self, server: Server, folder: Path, after: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._folder = folder
        self._after = after
        self.killed = 0
        self.kept = 0

    def run(self) -> None:
        while self._server.total < self._after:
            time.sleep(0.002)
        # The name of a file of the journal says which process writes it.
        files = sorted(self._folder.glob("*.journal"), key=lambda path: path.stat().st_size)
        pid = int(files[-1].stem.rsplit("-", 2)[1])
        os.kill(pid, signal.SIGKILL)
        self.killed = pid
        self.kept = files[-1].read_bytes().count(b"\n") - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--once", action="store_true")
    args = parser.parse_args()
    server = Server()
    with tempfile.TemporaryDirectory() as place, Loopback() as loopback:
        loopback.play_by(server)
        settings = {"EXTRACTKIT_BASE_URL": loopback.openai_url, "RAY_USAGE_STATS_ENABLED": "0"}
        with mock.patch.dict(os.environ, settings):
            return _measured(args, server, Path(place))


def _measured(args: argparse.Namespace, server: Server, folder: Path) -> int:
    table = pa.table(
        {
            "key": [f"row {number}" for number in range(args.rows)],
            "text": [
                f"Parcel P-{number:06d} weighs {number % 40} kg." for number in range(args.rows)
            ],
        }
    )
    killer = Killer(server, folder, after=2 * args.rows // 5)
    killer.start()
    began = time.monotonic()
    with _Ray(args.actors):
        first = _by_ray(table, args, folder)
        seconds = time.monotonic() - began
        answers = Counter(server.answers)
        again = first if args.once else _by_ray(table, args, folder)
        asked_again = server.total - answers.total()
    local = extract_frame(
        table, Parcel, id_column="key", model=_MODEL, concurrency=args.actors * args.concurrency
    )
    print(f"{machine()}; {args.rows} rows, {args.actors} actors, {args.concurrency} under way each")
    twice = sum(count == 2 for count in answers.values())
    print(f"{'rows':>8} {'answers':>8} {'twice':>6} {'killed, with rows kept':>24} {'seconds':>8}")
    kept = f"{killer.killed}, {killer.kept}"
    print(f"{len(first):>8} {answers.total():>8} {twice:>6} {kept:>24} {seconds:>8.1f}")
    bounds = Bounds()
    bounds.check(killer.killed > 0, "an actor was killed", killer.killed)
    _check_rows(bounds, "the first run", table, first)
    bounds.at_most("answers for any row", max(answers.values()), 2)
    bounds.at_most("rows paid for twice", twice, args.concurrency)
    bounds.check(len(answers) == args.rows, "rows asked about", len(answers))
    _check_rows(bounds, "the second run", table, again)
    bounds.at_most("answers in the second run", asked_again, 0)
    unequal = _unequal(first, again, {row["key"]: row for row in local.to_pylist()})
    bounds.at_most("cells that differ from the local run's", unequal, 0)
    return bounds.exit_code()


class _Ray:
    """A Ray of this machine alone, as a context manager; it reaches nothing beyond."""

    def __init__(self, actors: int) -> None:
        self._cpus = actors + 1

    def __enter__(self) -> None:
        import ray

        ray.init(
            num_cpus=self._cpus,
            include_dashboard=False,
            object_store_memory=200_000_000,
            log_to_driver=False,
            logging_level="error",
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)

    def __exit__(self, *exc_info: object) -> None:
        import ray

        ray.shutdown()


def _by_ray(table: pa.Table, args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    import ray

    # A block is what an actor is given, and what is done again where one was lost.
    size = args.batch_size
    blocks = [table.slice(start, size) for start in range(0, len(table), size)]
    out = extract_dataset(
        ray.data.from_arrow(blocks),
        Parcel,
        id_column="key",
        model=_MODEL,
        concurrency=args.concurrency,
        actors=args.actors,
        batch_size=args.batch_size,
        journal=folder,
    )
    return out.take_all()


def _check_rows(bounds: Bounds, run: str, table: pa.Table, rows: list[dict[str, Any]]) -> None:
    keys = Counter(row["key"] for row in rows)
    once = keys == Counter(table.column("key").to_pylist())
    bounds.check(once, f"{run}: every row once in the output", len(keys))
    ended = Counter(row["extraction_status"] for row in rows)
    bounds.check(set(ended) == {"ok"}, f"{run}: every row has ended with an answer", dict(ended))


def _unequal(
    first: list[dict[str, Any]], again: list[dict[str, Any]], local: dict[str, dict[str, Any]]
) -> int:
    names = list(frame_schema(Parcel))
    return sum(row[name] != local[row["key"]][name] for row in [*first, *again] for name in names)


if __name__ == "__main__":
    sys.exit(main())
