"""`extractkit pull`: get the embedded model's weights, once.

Neighbours: `providers.local` fetches and checks the file, `_demo` makes sure that it is there.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from extractkit.cli import _arguments, _output
from extractkit.cli._lines import say
from extractkit.errors import MissingDependencyError, NotFoundError
from extractkit.paths import JsonObject

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from extractkit.providers.local._weights import PullProgress

__all__ = ["COMMAND", "Pulled", "ensure", "facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """Where the weights are, and what it took to get them.

    Attributes:
        path: The file.
        downloaded_bytes: Size of what was downloaded; 0 where the file was there already.
        seconds: How long that took.
    """

    path: Path
    downloaded_bytes: int = 0
    seconds: float = 0.0

    def report(self) -> JsonObject:
        """Return the same as plain JSON."""
        return {
            "path": str(self.path),
            "file_bytes": self.path.stat().st_size,
            "downloaded_bytes": self.downloaded_bytes,
            "seconds": self.seconds,
        }


def ensure(*, fetch: bool = False, force: bool = False) -> Pulled:
    """Return where the weights are, after fetching them if they are not there.

    Args:
        fetch: Look into the file, too, and prepare the faster format if it is missing.
        force: Fetch and prepare again, whatever is there.

    Raises:
        UsageError: If they are not there and EXTRACTKIT_OFFLINE is set.
        ProviderError: If they cannot be fetched, or are not what they should be.
        MissingDependencyError: If the extra `local` is not installed.
    """
    weights = _weights()
    if not (fetch or force):
        with contextlib.suppress(NotFoundError):
            return Pulled(path=weights.find(None))
    began = time.perf_counter()
    with _output.progress() as display:
        watch = _Watch(display)
        path = weights.pull(force=force, progress=watch)
    return Pulled(
        path=path, downloaded_bytes=watch.downloaded_bytes, seconds=time.perf_counter() - began
    )


def _weights() -> ModuleType:
    try:
        from extractkit.providers.local import _weights
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_feature(
            "the local model", package=error.name or "gguf", extra="local"
        ) from error
    return _weights


class _Watch:
    """Shows the steps of a pull and remembers how much came over the network."""

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._tasks: dict[str, TaskID] = {}
        self._whole: int | None = None
        self.downloaded_bytes = 0

    def __call__(self, progress: PullProgress) -> None:
        if progress.note:
            say(progress.note)
        if progress.step == "download":
            if self._whole is None and progress.total_bytes:
                size = _output.megabytes(progress.total_bytes)
                say(f"fetching the weights of the embedded model ({size}), once")
            self._whole = progress.total_bytes
            self.downloaded_bytes = max(self.downloaded_bytes, progress.done_bytes)
        elif self.downloaded_bytes:
            # Nobody looks at the very moment of the end; the next step says that it has come.
            self.downloaded_bytes = self._whole or self.downloaded_bytes
        self._show(progress)

    def _show(self, progress: PullProgress) -> None:
        if progress.step not in self._tasks:
            self._tasks[progress.step] = self._display.add_task(progress.step, done="")
        done = _output.megabytes(progress.done_bytes) if progress.done_bytes else ""
        whole = f" of {_output.megabytes(progress.total_bytes)}" if progress.total_bytes else ""
        self._display.update(
            self._tasks[progress.step],
            completed=progress.done_bytes,
            total=progress.total_bytes,
            done=done + whole,
        )


def facts(pulled: Pulled | None) -> list[tuple[str, str]]:
    """Return what a person may want to know about the weights."""
    if pulled is None:
        return []
    size = _output.megabytes(pulled.path.stat().st_size)
    if not pulled.downloaded_bytes:
        return [("weights file", f"{pulled.path} ({size}), there already")]
    return [
        ("weights file", f"{pulled.path} ({size})"),
        (
            "download",
            f"{_output.megabytes(pulled.downloaded_bytes)} in {pulled.seconds:.1f} s",
        ),
    ]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="fetch and check them again")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: argparse.Namespace) -> int:
    pulled = ensure(fetch=True, force=arguments.force)
    if arguments.json:
        _output.print_json(pulled.report())
    else:
        from extractkit.cli import _render

        _render.show_facts(_output.console(), facts(pulled))
    return 0


COMMAND = _arguments.Command(
    name="pull",
    summary="Get the weights of the embedded model, once.",
    usage="extractkit pull [--force] [--json]",
    example="extractkit pull\nextractkit pull --force",
    add_arguments=_add_arguments,
    run=_run,
)
