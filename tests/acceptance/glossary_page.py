"""The generated part of the glossary: the closed sets of the API, with the words for each member.

    python -m tests.acceptance.glossary_page

writes it anew; what is written by hand around the markers stays.
"""

from __future__ import annotations

import importlib
import re
from enum import Enum
from typing import Final

from tests.acceptance.pages import filled, table
from tests.acceptance.shared_data import ROOT

__all__ = ["PAGE", "SETS", "closed_sets", "fresh"]

PAGE: Final = ROOT / "docs" / "reference" / "glossary.md"
SETS: Final = ("<!-- closed sets -->", "<!-- end of closed sets -->")
_ROOM: Final = re.compile(r"^\| `(extractkit[\w.]*)`", re.MULTILINE)


def closed_sets() -> str:
    """Return one row per enumeration that users may import."""
    rooms = _ROOM.findall((PAGE.parent / "api.md").read_text("utf-8"))
    kinds = {
        kind
        for room in map(importlib.import_module, rooms)
        for name in room.__all__
        if isinstance(kind := getattr(room, name), type) and issubclass(kind, Enum)
    }
    rows = [
        (f"`{kind.__name__}`", [_first_line(kind), ", ".join(f"`{one.name}`" for one in kind)])
        for kind in sorted(kinds, key=lambda kind: kind.__name__)
    ]
    return table("name", ["what it says", "members"], rows)


def _first_line(kind: type[Enum]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def fresh(page: str) -> str:
    """Return the page with its generated part made anew."""
    return filled(SETS, closed_sets(), page)


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text("utf-8")), encoding="utf-8")
