"""JSON Pointers: RFC 6901."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import paths

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(st.lists(st.text(max_size=6), max_size=5))
def test_splitting_undoes_joining_for_any_keys(tokens: list[str]) -> None:
    assert paths.split(paths.join("", *tokens)) == tuple(tokens)


@given(_json)
def test_every_walked_leaf_is_what_get_returns_and_no_leaf_is_missed(document: Any) -> None:
    leaves = dict(paths.walk(document))
    for pointer, value in leaves.items():
        assert paths.get(document, pointer) == value

    def count(node: Any) -> int:
        inner = (
            list(node.values())
            if isinstance(node, dict)
            else node
            if isinstance(node, list)
            else []
        )
        return sum(map(count, inner)) if inner else 1

    assert len(leaves) == count(document)


def test_leaves_come_in_document_order_with_escaped_keys() -> None:
    document = {"a/b": [1, {"~": None}], "c": []}
    assert list(paths.walk(document)) == [("/a~1b/0", 1), ("/a~1b/1/~0", None), ("/c", [])]


def test_a_very_deep_document_is_walked_without_recursion() -> None:
    document: Any = 1
    for _ in range(20_000):
        document = [document]
    assert [value for _, value in paths.walk(document)] == [1]


@pytest.mark.parametrize("pointer", ["/a/2", "/b", "/a/x", "/a/-1", "/a/0/z", "/"])
def test_nothing_at_a_place_is_an_error_that_names_it(pointer: str) -> None:
    with pytest.raises(KeyError, match=pointer):
        paths.get({"a": [1, 2]}, pointer)


def test_a_text_that_is_no_pointer_is_refused() -> None:
    with pytest.raises(ValueError, match="not a JSON Pointer"):
        paths.split("a/b")
