"""Links between README and pages lead somewhere, and the README leads to every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.fences import ROOT, pages

_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")


_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def _linked(page: Path) -> set[Path]:
    prose = _CODE.sub("", page.read_text("utf-8"))
    return {(page.parent / link).resolve() for link in _LINK.findall(prose)}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    assert [str(goal) for goal in _linked(page) if not goal.is_file()] == []


def test_the_readme_leads_to_every_page() -> None:
    readme, *others = pages()
    assert [str(page) for page in others if page.resolve() not in _linked(readme)] == []
