"""CPU seconds of the first and the second extraction in a fresh process, warm disk.

    python -m tests.acceptance.first_call [--runs 3]

Each run is a process of its own, and its whole CPU time counts: interpreter, imports, loading
the model, compiling the schema, the prompt and the answer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from .shared_data import ROOT, Bounds, machine

FLAT = """
class Target(BaseModel):
    name: str
    age: int
    city: str | None
    member: bool
    level: Literal["low", "middle", "high"]
TEXTS = ["Ann Lee, 41, lives in Oslo. She is a member since May, level high.",
         "Bo Ray is 29 years old and not a member. His level: low."]
"""
INVOICE = """
from extractkit.cli._invoices import Invoice as Target, generate
TEXTS = [generate(seed).text for seed in (3, 4)]
"""
PROGRAM = """
import json, os, sys, time, warnings
warnings.simplefilter("ignore")
from typing import Literal
from pydantic import BaseModel
from extractkit import extract
{target}
marks = []
for text in TEXTS:
    result = extract(Target, text, timeout_s=None)
    marks.append(time.process_time())
import resource
print(json.dumps({{"first": marks[0], "second": marks[1] - marks[0],
    "status": result.status.value, "engine": result.raw.details["engine"],
    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}))
"""


def main() -> int:
    """Measure both targets and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    bounds = Bounds()
    print(f"{runs} fresh processes each; {machine()}; {time.strftime('%Y-%m-%d')}")
    for name, target in (("flat, five fields", FLAT), ("invoice with line items", INVOICE)):
        records = [_run(target) for _ in range(runs + 1)][1:]  # the first one warms the disk
        first = statistics.median(record["first"] for record in records)
        second = statistics.median(record["second"] for record in records)
        memory = max(record["rss_mb"] for record in records)
        print(
            f"{name}: first {first:.2f} s, second {second:.2f} s of CPU; highest memory "
            f"{memory:.0f} MB; engine {records[0]['engine']}; status {records[0]['status']}"
        )
        if name.startswith("flat"):
            bounds.check(first <= 4, "flat: first extraction <= 4 s of CPU", f"{first:.2f} s")
            bounds.check(second <= 1, "flat: second extraction <= 1 s of CPU", f"{second:.2f} s")
    return bounds.exit_code()


def _run(target: str) -> dict[str, float | str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(target=target)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "EXTRACTKIT_MODEL": ""},
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    record: dict[str, float | str] = json.loads(done.stdout)
    return record


if __name__ == "__main__":
    sys.exit(main())
