"""The reference of capabilities says what the table of model families says."""

from __future__ import annotations

from tests.acceptance.capabilities_page import PAGE, TABLE, families
from tests.acceptance.pages import read


def test_the_table_on_the_page_is_the_one_in_the_code() -> None:
    assert read(TABLE, PAGE) == families(), (
        "write it anew: python -m tests.acceptance.capabilities_page"
    )
