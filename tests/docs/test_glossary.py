"""The glossary has every term of art: the names that users import have a word in it."""

from __future__ import annotations

import re

import pytest

import extractkit
from tests.docs.fences import ROOT

_PAGE = ROOT / "docs" / "reference" / "glossary.md"
_TABLE = _PAGE.read_text(encoding="utf-8").partition("| word |")[2].partition("\n\n")[0]
_HEADS = re.findall(r"^\| ([^|`]+) \|", _TABLE, re.MULTILINE)
_WORDS = {word for head in _HEADS for word in head.split(", ")}
_FORMS = {"extractor": "extraction", "sampling": "sample", "calls": "tool call"}
_CLASSES = [name for name in extractkit.__all__ if name[0].isupper() and not name.isupper()]


@pytest.mark.parametrize("name", _CLASSES)
def test_a_name_that_users_import_is_explained(name: str) -> None:
    """By the whole name, or by its last word, of which the others say more."""
    parts = [part.lower() for part in re.findall(r"[A-Z][a-z]+", name)]
    last = _FORMS.get(parts[-1], parts[-1])
    assert {" ".join(parts), last} & _WORDS, f"no row for {' '.join(parts)!r} or {last!r}"


def test_the_words_are_in_order_and_stand_once() -> None:
    assert sorted(set(_HEADS), key=str.lower) == _HEADS
