"""The glossary has each word once, in order."""

from __future__ import annotations

import re

from tests.acceptance.glossary_page import PAGE


def test_words_stand_once_and_in_order() -> None:
    written = PAGE.read_text("utf-8").partition("## ")[0]
    words = re.findall(r"^\| (\w[^|]*?) \|", written, re.MULTILINE)[1:]
    assert len(words) > 40
    assert words == sorted(set(words), key=str.lower)
