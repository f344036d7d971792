"""`extractkit pull`: get the embedded model's weights, once.

Neighbours: `providers.local` fetches and checks the file, `_demo` makes sure that it is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from extractkit.cli import _arguments, _output
from extractkit.errors import NotFoundError
from extractkit.paths import JsonObject
from extractkit.providers.local import _weights

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


def ensure(*, force: bool = False) -> Pulled:
    """Return where the weights are, after fetching them if they are not there.

    Args:
        force: Fetch and check them again.

    Raises:
        ProviderError: If they cannot be fetched, or are not what they should be.
        MissingDependencyError: If the extra `local` is not installed.
    """
    if not force:
        try:
            return Pulled(path=_weights.find(None))
        except NotFoundError:
            pass
    print("extractkit: getting the weights of the embedded model (once)", file=sys.stderr)
    began = time.perf_counter()
    counted = 0
    with _output.progress() as display:
        task = display.add_task("downloading", total=None, done="")

        def show(done: int, whole: int | None) -> None:
            nonlocal counted
            counted = max(counted, done)
            of = f" of {_output.megabytes(whole)}" if whole else ""
            display.update(task, completed=done, total=whole, done=f"{_output.megabytes(done)}{of}")

        path = _weights.pull(force=force, progress=show)
    return Pulled(path=path, downloaded_bytes=counted, seconds=time.perf_counter() - began)


def facts(pulled: Pulled | None) -> list[tuple[str, str]]:
    """Return what a person may want to know about the weights."""
    if pulled is None:
        return []
    size = _output.megabytes(pulled.path.stat().st_size)
    if not pulled.downloaded_bytes:
        return [("weights", f"{pulled.path} ({size}), there already")]
    return [
        ("weights", f"{pulled.path} ({size})"),
        (
            "download",
            f"{_output.megabytes(pulled.downloaded_bytes)} in {pulled.seconds:.1f} s",
        ),
    ]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="fetch and check them again")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: argparse.Namespace) -> int:
    pulled = ensure(force=arguments.force)
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
