"""Reads Markdown pages: code fences, and the comment that says how each is to be treated.

A comment on the line before a fence is its marker:

    <!-- output -->                 a text fence: what the Python fence above printed
    <!-- help: extract -->          a text fence: what `extractkit extract --help` prints
    <!-- weights -->                a Python fence that asks the embedded model
    <!-- not run: why -->           a Python fence that cannot run here
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(
    r"^(?:<!-- (?P<marker>[^>]+?) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Fence:
    """One block of code in a page."""

    page: Path
    line: int
    language: str
    marker: str
    body: str


def pages() -> list[Path]:
    """README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fences(page: Path) -> list[Fence]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Fence(
            page=page,
            line=text.count("\n", 0, match.start("body")),
            language=match["language"],
            marker=match["marker"] or "",
            body=match["body"],
        )
        for match in _FENCE.finditer(text)
    ]


def name_of(page: Path) -> str:
    """The page's path from the top of the repository."""
    return page.relative_to(ROOT).as_posix()
