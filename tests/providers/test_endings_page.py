"""The reference of endings says what comes of them."""

from __future__ import annotations

from tests.acceptance.endings_page import ACTED, PAGE, acted
from tests.acceptance.pages import read
from tests.providers.stage import Stage


def test_the_table_on_the_page_is_what_happens(stage: Stage) -> None:
    assert read(ACTED, PAGE) == acted(stage), (
        "write it anew: python -m tests.acceptance.endings_page"
    )
