"""Docstrings of the three usual forms, and of none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.tools._docstring import read_docstring

_GOOGLE = """Books a room.

Only in Vienna.

Args:
    guests (int): How many
        people.
    *hotels: Which ones.

    days:

Returns:
    Nothing.

More text.
"""
_NUMPY = """Books a room.

Parameters
----------
guests : int, optional
    How many
    people.
days
    How long.

Returns
-------
str
    The number.

Notes
-----
None.
"""
_SPHINX = """Books a room.

:param guests: How many
    people.
:param int days: How long.
:type guests: int
:returns: nothing
"""


@pytest.mark.parametrize(
    ("text", "summary", "parameters"),
    [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        (
            _GOOGLE,
            "Books a room.\n\nOnly in Vienna.\n\nMore text.",
            {"guests": "How many people.", "hotels": "Which ones."},
        ),
        (_NUMPY, "Books a room.", {"guests": "How many people.", "days": "How long."}),
        (_SPHINX, "Books a room.", {"guests": "How many people.", "days": "How long."}),
        (
            "Adds.\n\nParameters\n----------\na, *b : str\n    Both.\nc : int\n    One.",
            "Adds.",
            {"a": "Both.", "b": "Both.", "c": "One."},
        ),
        (
            "Adds.\n\nArgs:\n    a, b (str): Both.\n    c: One.",
            "Adds.",
            {"a": "Both.", "b": "Both.", "c": "One."},
        ),
        ("Note: this is text.", "Note: this is text.", {}),
        ("Args:", "Args:", {}),
        ("Rings.\n\nArgs:\n    words without an entry\n", "Rings.", {}),
        (": odd", "", {}),
    ],
)
def test_a_docstring_says_what_the_tool_does_and_what_its_parameters_are(
    text: str | None, summary: str, parameters: dict[str, str]
) -> None:
    said = read_docstring(text)
    assert said.summary == summary
    assert said.parameters == parameters


_LINES = ["Args:", "Parameters", "---", "    a: b", ":param x: y", "", "t"]


@given(st.lists(st.sampled_from(_LINES)))
def test_no_docstring_makes_it_raise_or_run_on(lines: list[str]) -> None:
    said = read_docstring("\n".join(lines))
    assert all(said.parameters.values())
