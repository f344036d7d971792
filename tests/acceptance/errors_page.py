"""The generated part of the reference of errors: the tree of `extractkit.errors`.

    python -m tests.acceptance.errors_page

writes it anew; what is written by hand around the markers stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extractkit import errors
from extractkit.cli import exit_code
from tests.acceptance.pages import filled, table
from tests.acceptance.shared_data import ROOT

__all__ = ["PAGE", "TREE", "fresh", "tree"]

PAGE: Final = ROOT / "docs" / "reference" / "errors.md"
TREE: Final = ("<!-- tree -->", "<!-- end of tree -->")
_BUILT_IN: Final = (ValueError, ImportError)


def tree() -> str:
    """Return one row per class, each below its parent."""
    rows = [
        (f"{'· ' * depth}`{kind.__name__}`", _cells(kind))
        for kind, depth in _below(errors.ExtractkitError, 0)
    ]
    return table("class", ["what it says", "also a", "asking again can help", "exit code"], rows)


def _below(
    kind: type[errors.ExtractkitError], depth: int
) -> Iterator[tuple[type[errors.ExtractkitError], int]]:
    yield kind, depth
    for inner in kind.__subclasses__():
        if inner.__module__ == errors.__name__:
            yield from _below(inner, depth + 1)


def _cells(kind: type[errors.ExtractkitError]) -> list[str]:
    said = (kind.__doc__ or "").split("\n", maxsplit=1)[0]
    built_in = next((base.__name__ for base in _BUILT_IN if issubclass(kind, base)), "")
    retryable = "yes" if getattr(kind, "retryable", False) else ""
    code = str(exit_code(kind("a message")))
    return [said, f"`{built_in}`" if built_in else "", retryable, code]


def fresh(page: str) -> str:
    """Return the page with its generated part made anew."""
    return filled(TREE, tree(), page)


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text("utf-8")), encoding="utf-8")
