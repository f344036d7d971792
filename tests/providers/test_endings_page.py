"""The reference of endings says what comes of them."""

from __future__ import annotations

from tests.acceptance.endings_page import ACTED, PAGE, acted
from tests.providers.stage import Stage


def test_the_table_on_the_page_is_what_happens(stage: Stage) -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = text.partition(ACTED[0])[2].partition(ACTED[1])[0].strip()
    assert part == acted(stage), "write it anew: python -m tests.acceptance.endings_page"
