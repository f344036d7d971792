"""The measured part of the reference of endings: what every ending comes to on every path.

    python -m tests.acceptance.endings_page

acts all of them out with the real SDKs against the server that misbehaves, and writes the table
anew; what is written by hand around the markers stays.
"""

from __future__ import annotations

from typing import Final

from tests.acceptance.pages import filled, table
from tests.acceptance.shared_data import ROOT
from tests.providers.stage import ALL_CELLS, PATHS, Stage, shown
from tests.server.endings import ENDINGS

__all__ = ["ACTED", "PAGE", "acted", "fresh"]

PAGE: Final = ROOT / "docs" / "reference" / "endings.md"
ACTED: Final = ("<!-- acted -->", "<!-- end of acted -->")


def acted(stage: Stage) -> str:
    """Return the table, every cell acted out with both drivers."""
    for place in ALL_CELLS:
        stage.cell(place)
    rows = [(name, [shown(stage.cells, name, path) for path in PATHS]) for name in ENDINGS]
    return table("ending", [str(path) for path in PATHS], rows)


def fresh(page: str) -> str:
    """Return the page with its generated part made anew."""
    with Stage() as running:
        return filled(ACTED, acted(running), page)


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text("utf-8")), encoding="utf-8")
