"""The changelog says of each change what users must do."""

from __future__ import annotations

import re

import pytest

from tests.docs.fences import ROOT

_TEXT = (ROOT / "docs" / "changelog.md").read_text("utf-8")
_ENTRIES = re.findall(r"^\* (.+(?:\n  .+)*)", _TEXT, re.MULTILINE)
_HEADINGS = {"Added", "Changed", "Deprecated", "Removed", "Fixed"}


@pytest.mark.parametrize("entry", _ENTRIES, ids=lambda entry: entry[:30])
def test_an_entry_says_what_users_must_do(entry: str) -> None:
    assert re.search(r"Users must do: .+\.$", " ".join(entry.split()))


def test_headings_are_those_of_keep_a_changelog() -> None:
    assert len(_ENTRIES) > 20
    assert set(re.findall(r"^### (.+)", _TEXT, re.MULTILINE)) <= _HEADINGS
    assert re.match(r"\d+\.\d+\.\d+$", re.findall(r"^## (.+)", _TEXT, re.MULTILINE)[0])
