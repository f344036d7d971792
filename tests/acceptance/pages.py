"""The generated parts of pages: between two markers; what is written by hand around them stays."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["filled", "read", "table", "write"]


def table(corner: str, heads: Iterable[str], rows: Iterable[tuple[str, list[str]]]) -> str:
    """Return a table; `rows` are the head and the cells of each."""
    lines = [[corner, *heads]]
    lines.append(["---"] * len(lines[0]))
    lines.extend([head, *cells] for head, cells in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(part: tuple[str, str], text: str, path: Path) -> None:
    """Write `text` between two markers of a page."""
    page = path.read_text(encoding="utf-8")
    path.write_text(filled(part, text, page, str(path)), encoding="utf-8")


def filled(part: tuple[str, str], text: str, page: str, name: str = "the page") -> str:
    """Return a page with `text` between two of its markers."""
    before, found, rest = page.partition(part[0])
    _, ends, after = rest.partition(part[1])
    if not (found and ends):
        sys.exit(f"{name} has no {part[0]} ... {part[1]}")
    return f"{before}{part[0]}\n\n{text}\n\n{part[1]}{after}"


def read(part: tuple[str, str], path: Path) -> str:
    """Return what stands between two markers of a page."""
    text = path.read_text(encoding="utf-8")
    return text.partition(part[0])[2].partition(part[1])[0].strip()
