"""Links lead somewhere; README leads to the first page of the docs, and that one to all others."""

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


def test_the_readme_leads_to_the_first_page_and_the_first_page_to_every_one() -> None:
    """The first page of the site has the navigation beside it; `test_site` looks at it as built."""
    readme, *others = pages()
    first = ROOT / "docs" / "index.md"
    assert first in _linked(readme)
    navigation = (ROOT / "docs" / "site" / "mkdocs.yml").read_text("utf-8")
    named = {ROOT / "docs" / name for name in re.findall(r"[\w/-]+\.md", navigation)}
    assert [str(page) for page in others if page not in named | _linked(first)] == []
