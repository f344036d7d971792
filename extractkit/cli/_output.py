"""Where the commands write to: JSON for programs, a console for people, progress on stderr.

Neighbours: `_render` draws on the console that is made here. Standard output carries results
alone; progress, warnings and errors go to standard error.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from extractkit.cli._lines import say, writing
from extractkit.paths import JsonObject, JsonValue
from extractkit.results import ExtractionResult

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = [
    "Times",
    "console",
    "megabytes",
    "peak_memory_bytes",
    "peak_memory_text",
    "plain_warnings",
    "print_json",
    "progress",
    "record",
    "waiting",
]

_PLAIN_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What some work took, in seconds: on the clock, and of all processors of this process."""

    wall_s: float
    cpu_s: float


def console(*, stderr: bool = False) -> Console:
    """Return a console; colours and boxes only where a person looks at it."""
    from rich.console import Console

    class PlainPipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # main knows what to do; Rich would end the process with 1

        def print(self, *objects: Any, **options: Any) -> None:
            with writing():
                super().print(*objects, **options)

    # A text may hold what the terminal's encoding lacks; that is no reason to fail.
    _reconfigure(sys.stderr if stderr else sys.stdout)
    made = PlainPipeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PLAIN_WIDTH
    return made


def print_json(document: JsonValue) -> None:
    """Write `document` to standard output as JSON in UTF-8."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    # A lone surrogate becomes the JSON escape that it is.
    _reconfigure(sys.stdout, encoding="utf-8")
    with writing():
        print(text)


def _reconfigure(stream: TextIO, *, encoding: str | None = None) -> None:
    change = getattr(stream, "reconfigure", None)
    if change is not None:  # a stream that a test or a notebook put there may lack it
        change(encoding=encoding, errors="backslashreplace")


def record(result: ExtractionResult[Any], *, raw: bool = False) -> JsonObject:
    """Return the result as plain JSON, as `ExtractionResult.to_json` writes it.

    Args:
        result: Any result.
        raw: Whether to keep the response with its tokens, which are long.
    """
    kept = result if raw else dataclasses.replace(result, raw=None)
    document: JsonObject = json.loads(kept.to_json())
    return document


@contextmanager
def plain_warnings() -> Generator[None]:
    """Show warnings as one line each on standard error, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.filterwarnings("always", module="extractkit")
        warnings.showwarning = show
        yield


@contextmanager
def progress() -> Generator[Progress]:
    """Yield a progress display on standard error that vanishes when it is done."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as display:
        yield display


@contextmanager
def waiting(what: str) -> Generator[None]:
    """Show on standard error that something of unknown length is going on."""
    with progress() as display:
        display.add_task(what, total=None, done="")
        yield


def peak_memory_bytes() -> int | None:
    """Return the most memory that this process held at a time; None where it is not known."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_memory_text() -> str:
    """Return the same for people."""
    peak = peak_memory_bytes()
    return "not known on this system" if peak is None else f"{megabytes(peak)} at most"


def megabytes(count: int) -> str:
    """Return a number of bytes in millions, such as "85.5 MB"."""
    return f"{count / 1e6:.1f} MB"
