"""Reads Markdown pages: code fences, and the comment that says how each is to be treated.

Python and shell are run, one after the other, in a folder of the page's own. A comment on the
line before a fence is its marker:

    <!-- output -->                 what the fence above printed (numbers may be masked)
    <!-- help: extract -->          what `extractkit extract --help` prints
    <!-- file: NAME -->             a file of the reader's, written before the next fence runs
    <!-- weights -->                asks the embedded model
    <!-- answered: JSON -->         asks a hosted model or a server; a stand-in answers this
    <!-- exit: 1 -->                a command that exits with 1, as the page says
    <!-- install -->                run only where the page is followed from a wheel
    <!-- not run: why -->           cannot run here, or is no code; Python's imports are run

Every other fence has a marker, so none is shown that nothing looks at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(
    r"^(?:<!-- (?P<marker>[^\n]+?) -->\n)?```(?P<language>\w*)\n(?P<body>.*?)^```$",
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

    @property
    def kind(self) -> str:
        """The marker's first word or words, up to its colon."""
        return self.marker.partition(":")[0]

    @property
    def argument(self) -> str:
        """What stands behind the marker's colon."""
        return self.marker.partition(":")[2].strip()

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{name_of(self.page)}:{self.line}"


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
