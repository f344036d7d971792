"""The page of findings names every code that the package writes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_code_in_the_source_stands_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    written = {
        code
        for path in (ROOT / "extractkit").rglob("*.py")
        if "providers" not in path.parts  # their codes are those of errors on the wire
        for code in re.findall(
            r"(?:code=|_note\(|_stop\()\"([a-zA-Z_]+)\"", path.read_text(encoding="utf-8")
        )
    }
    assert len(written) > 15
    assert sorted(code for code in written if f"`{code}`" not in page) == []
