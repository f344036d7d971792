"""Finds the third-party data that acceptance commands measure on; its absence is a failure.

The default is a folder `shared/data` beside the checkout; EXTRACTKIT_DATA names another.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def data_folder() -> Path:
    """Return the folder, or end the program with what to do."""
    folder = Path(os.environ.get("EXTRACTKIT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(f"no data at {folder}: set EXTRACTKIT_DATA to the folder that holds it")
    return folder


def rows(*parts: str) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file in the data folder."""
    path = data_folder().joinpath(*parts)
    if not path.is_file():
        sys.exit(f"no file {path}: the data set is not complete")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def machine() -> str:
    """Return what figures were measured on: processor, cores, system, Python."""
    import platform

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0].split(":", 1)[1].strip() if names else model
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    )


class Bounds:
    """Collects what must hold, prints each with its figure, and gives the exit code."""

    def __init__(self) -> None:
        self._failed: list[str] = []

    def check(self, holds: bool, what: str, figure: object) -> None:
        """Print one bound with its figure."""
        print(f"{'holds' if holds else 'FAILS'}: {what} (measured: {figure})")
        if not holds:
            self._failed.append(what)

    def at_most(self, what: str, figure: float, most: float) -> None:
        """Print one upper bound with its figure."""
        self.check(figure <= most, f"{what} at most {most:g}", f"{figure:.2f}")

    def exit_code(self) -> int:
        """Return 1 where a bound failed, else 0."""
        if self._failed:
            print(f"{len(self._failed)} bound(s) failed")
        return 1 if self._failed else 0
