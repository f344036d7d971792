"""The reference of capabilities says what the table of model families says."""

from __future__ import annotations

from tests.acceptance.capabilities_page import PAGE, TABLE, families


def test_the_table_on_the_page_is_the_one_in_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = text.partition(TABLE[0])[2].partition(TABLE[1])[0].strip()
    assert part == families(), "write it anew: python -m tests.acceptance.capabilities_page"
