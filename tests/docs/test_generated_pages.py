"""Every page of the reference that is made from code says what the code says."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.acceptance.all_pages import page_modules

# Endings are acted out on a stage that tests/providers/test_endings_page.py shares with others.
_COMPARED = [one for one in page_modules() if not one.__name__.endswith(".endings_page")]


@pytest.mark.parametrize("module", _COMPARED, ids=lambda one: one.__name__.rpartition(".")[2])
def test_a_page_is_what_its_command_writes(module: ModuleType) -> None:
    text = module.PAGE.read_text("utf-8")
    assert module.fresh(text) == text, "write it anew: python -m tests.acceptance.all_pages"


def test_every_page_is_found() -> None:
    names = {one.PAGE.stem for one in page_modules()}
    assert names >= {"capabilities", "cli", "dialects", "endings", "errors", "glossary"}
    assert len(page_modules()) == len(names)
