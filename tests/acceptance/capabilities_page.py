"""The generated part of the reference of capabilities: the table of `FAMILIES`.

    python -m tests.acceptance.capabilities_page

writes it anew; what is written by hand around the markers stays.
"""

from __future__ import annotations

from typing import Final

from extractkit.providers.capabilities import DATE, FAMILIES, Family
from tests.acceptance.pages import filled, table
from tests.acceptance.shared_data import ROOT

__all__ = ["PAGE", "TABLE", "families", "fresh"]

PAGE: Final = ROOT / "docs" / "reference" / "capabilities.md"
TABLE: Final = ("<!-- families -->", "<!-- end of families -->")


def families() -> str:
    """Return one row per family, in the order in which they are looked up."""
    columns = [
        "provider", "holds to a schema", "any JSON", "log-probabilities", "temperature, top_p",
        "effort", "tools on Chat", "forced tool", "Decisions", "source",
    ]  # fmt: skip
    rows = [(f"`{_escaped(family.models)}`", _cells(family)) for family in FAMILIES]
    return f"Held against its sources on {DATE}.\n\n" + table("models", columns, rows)


def _cells(family: Family) -> list[str]:
    return [
        family.provider,
        _yes(family.structured),
        _yes(family.json_mode),
        _yes(family.logprobs),
        _yes(family.temperature),
        ", ".join(family.efforts) or ("-" if family.temperature else "any"),
        _yes(family.tools_on_chat) if family.provider == "openai" else "-",
        _yes(family.forced_tool),
        _yes(family.decisions) if family.provider == "openai" else "-",
        family.source,
    ]


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _escaped(expression: str) -> str:
    return expression.replace("|", "\\|")


def fresh(page: str) -> str:
    """Return the page with its generated part made anew."""
    return filled(TABLE, families(), page)


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text("utf-8")), encoding="utf-8")
