"""A bar that shows how far a run is: in a terminal, and in notebooks.

Neighbours: `_book` says how far it is; `_many` shows the bar with `progress=True`, `cli` on a
console of its own.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from extractkit.batch._book import Progress, Told

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["showing", "told_of"]

_SECONDS = 60  # of a minute


@contextmanager
def showing(console: Console | None = None) -> Generator[Told]:
    """Yield what draws a bar of every Progress that it is told of, and takes it away at the end.

    Args:
        console: Where it is drawn; by default standard error, or the output of a notebook's cell.
            Where nobody looks at it, nothing is drawn.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    screen = Console(stderr=True) if console is None else console
    with Bars(
        MofNCompleteColumn(),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[told]}", markup=False),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=not (screen.is_terminal or screen.is_jupyter),
    ) as bars:
        bar = bars.add_task("", total=None, told="")

        def tell(progress: Progress) -> None:
            bars.update(bar, completed=progress.done, total=progress.total, told=told_of(progress))

        yield tell


def told_of(progress: Progress) -> str:
    """Return in a line what came so far, what it cost, and how long it still takes."""
    counts = [f"{count} {name}" for name, count in progress.statuses.items()]
    levels = [f"{count} {name}" for name, count in progress.levels.items()]
    parts = [", ".join(counts), ", ".join(levels)]
    if progress.known:
        parts.append(f"{progress.known} known")
    parts.append(_cost(progress))
    parts.append(f"{progress.at_once} at once")
    if progress.left_s is not None:
        parts.append(f"{_time(progress.left_s)} left")
    return "; ".join(part for part in parts if part)


def _cost(progress: Progress) -> str:
    if not progress.unpriced:
        return f"{progress.cost_usd:.2f} USD"
    if not progress.cost_usd:
        return f"{progress.input_tokens + progress.output_tokens:,} tokens"
    return f"{progress.cost_usd:.2f} USD and {progress.unpriced} of unknown cost"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), _SECONDS)
    hours, minutes = divmod(minutes, _SECONDS)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
