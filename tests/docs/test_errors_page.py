"""The reference of errors says what the classes say."""

from __future__ import annotations

from tests.acceptance.errors_page import PAGE, TREE, tree


def test_the_tree_on_the_page_is_the_one_in_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = text.partition(TREE[0])[2].partition(TREE[1])[0].strip()
    assert part == tree(), "write it anew: python -m tests.acceptance.errors_page"
