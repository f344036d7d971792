"""The generated parts of the reference of dialects: facts of `DIALECTS`, and what was measured.

    python -m tests.acceptance.dialects_page

writes the facts anew; `published --write-docs` writes both parts. What is written by hand around
the markers stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final

from extractkit.schema import DIALECTS, Dialect
from extractkit.schema.dialects import Limits
from tests.acceptance.keyword_fates import ASSERTIONS
from tests.acceptance.pages import filled, table
from tests.acceptance.shared_data import ROOT

__all__ = ["FACTS", "MEASURED", "PAGE", "facts", "fresh"]

PAGE: Final = ROOT / "docs" / "reference" / "dialects.md"
FACTS: Final = ("<!-- facts -->", "<!-- end of facts -->")
MEASURED: Final = ("<!-- measured -->", "<!-- end of measured -->")

_PATTERNS: Final = {
    "any": "any",
    "linear": "no look-around, no back-reference",
    "plain": "quantifiers, classes and groups alone",
    "anchored": "as linear, both ends anchored",
}
_LIMITS: Final = {
    "optional": "optional keys",
    "unions": "unions",
    "properties": "properties",
    "depth": "levels of objects",
    "enum_values": "values of enums",
    "enum_characters": "characters of one enum of texts with more than 250 values",
    "characters": "characters of names and enums",
    "tools": "strict tools",
}


def facts() -> str:
    """Return what `DIALECTS` says: one column per dialect, then sources and notes of each."""
    rows: Mapping[str, Callable[[Dialect], str]] = {
        "checked on": lambda dialect: dialect.date,
        "`format` held": _formats,
        "expressions in `pattern`": lambda dialect: _PATTERNS[dialect.patterns],
        "objects may be open": lambda dialect: _yes(dialect.open_objects),
        "a place may be untyped": lambda dialect: _yes(dialect.untyped),
        "values of `enum`": _choices,
        "recursion": lambda dialect: (
            "kept" if dialect.recursion is None else f"{dialect.recursion} levels"
        ),
        "keys": lambda dialect: _code(dialect.property_names) or "any",
        "`date-time` and `time` need an offset": lambda dialect: _yes(dialect.moments_need_offset),
    }
    of_facts = [(head, [cell(each) for each in DIALECTS.values()]) for head, cell in rows.items()]
    of_keywords = [
        (f"`{keyword}`", [_yes(each.enforces(keyword)) for each in DIALECTS.values()])
        for keyword in sorted(ASSERTIONS)
    ]
    limits = [
        (_LIMITS[limit.name], [_limit(each.limits, limit.name) for each in DIALECTS.values()])
        for limit in fields(Limits)
    ]
    return "\n\n".join(
        [
            table("", list(DIALECTS), of_facts),
            "Keywords that the target itself holds an answer to:",
            table("keyword", list(DIALECTS), of_keywords),
            "The most that a schema may have:",
            table("of", list(DIALECTS), limits),
            "Where this is from, and what no keyword names:",
            *map(_sources, DIALECTS.values()),
        ]
    )


def _sources(dialect: Dialect) -> str:
    said = [f"`{dialect.name}`: {', '.join(_link(source) for source in dialect.sources)}"]
    said += [f"* {note}" for note in dialect.notes]
    return "\n".join(said if len(said) == 1 else [said[0], "", *said[1:]])


def _link(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else source


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _code(text: str | None) -> str:
    return f"`{text}`" if text else ""


def _formats(dialect: Dialect) -> str:
    if dialect.formats is None:
        return "any" if dialect.enforces("format") else "none"
    return ", ".join(sorted(dialect.formats))


def _choices(dialect: Dialect) -> str:
    missing = {"array", "object"} - dialect.choices
    return "scalars" if missing else "any"


def _limit(limits: Limits, name: str) -> str:
    value: int | None = getattr(limits, name)
    return "" if value is None else f"{value:,}"


def fresh(page: str) -> str:
    """Return the page with its generated part made anew."""
    return filled(FACTS, facts(), page)


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text("utf-8")), encoding="utf-8")
