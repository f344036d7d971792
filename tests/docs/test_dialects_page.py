"""The reference of dialects says what the tables of dialects say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from extractkit.schema import DIALECTS
from tests.acceptance.dialects_page import FACTS, MEASURED, PAGE, facts
from tests.acceptance.pages import read, write

_TEXT = PAGE.read_text(encoding="utf-8")


def _part(markers: tuple[str, str]) -> str:
    return read(markers, PAGE)


def test_the_facts_on_the_page_are_those_of_the_tables() -> None:
    assert _part(FACTS) == facts(), "write them anew: python -m tests.acceptance.dialects_page"


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_has_a_target_a_date_and_sources_on_the_page(name: str) -> None:
    assert re.search(rf"^\| `{name}` \| \w.+ \|$", _TEXT, re.MULTILINE)
    assert DIALECTS[name].date in _part(FACTS)
    assert all(source in _part(FACTS) for source in DIALECTS[name].sources)
    assert all(note in _part(FACTS) for note in DIALECTS[name].notes)


def test_what_was_measured_has_a_column_per_dialect_a_date_and_a_machine() -> None:
    measured = _part(MEASURED)
    assert re.match(r"[\d,]+ schemas, \d{4}-\d\d-\d\d, .+ cores, .+Python 3\.\d+", measured)
    header = "| keyword | " + " | ".join(DIALECTS) + " |"
    assert header in measured
    rows = [line for line in measured.splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    cell = r"\d+ / \d+ / \d+ / \d+"
    assert all(re.fullmatch(rf"\| `\S+`(?: \| {cell}){{{len(DIALECTS)}}} \|", row) for row in rows)


def test_a_schema_is_counted_once_per_keyword_in_every_dialect() -> None:
    for row in re.findall(r"^\| `\S+` \|(.+ / .+)\|$", _part(MEASURED), re.MULTILINE):
        totals = {sum(map(int, cell.split(" / "))) for cell in row.split("|")}
        assert len(totals) == 1


def test_what_stands_around_the_markers_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MEASURED[0]}\nold\n{MEASURED[1]}\nafter\n", encoding="utf-8")
    write(MEASURED, "new", page)
    text = page.read_text(encoding="utf-8")
    assert text == f"before\n{MEASURED[0]}\n\nnew\n\n{MEASURED[1]}\nafter\n"
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(SystemExit, match="has no"):
        write(MEASURED, "new", page)
    assert page.read_text(encoding="utf-8") == "no markers"
