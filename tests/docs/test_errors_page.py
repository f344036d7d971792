"""The reference of errors says what the classes say."""

from __future__ import annotations

from tests.acceptance.errors_page import PAGE, TREE, tree
from tests.acceptance.pages import read


def test_the_tree_on_the_page_is_the_one_in_the_code() -> None:
    assert read(TREE, PAGE) == tree(), "write it anew: python -m tests.acceptance.errors_page"
