"""Every fence of README and docs is run, and prints what the page says that it prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.fences import fences, name_of, pages
from tests.docs.following import LIKE_THE_PAGES, follow

_FILES = Path(__file__).parent / "files"  # what a page's commands take for granted
_MARKERS = re.compile(
    r"output|weights|install|help:( \w+)?|file: \S+|answered: \S.*|exit: \d|not run: \S.*|"
)


def _pages_with_fences() -> list[object]:
    found: list[object] = []
    for page in pages():
        blocks = fences(page)
        if blocks:
            asks_model = any(fence.marker == "weights" for fence in blocks)
            marks = [pytest.mark.weights] if asks_model else []
            found.append(pytest.param(page, marks=marks, id=name_of(page)))
    return found


@pytest.mark.parametrize("page", _pages_with_fences())
def test_a_page_does_what_it_shows(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Its fences run from top to bottom in one folder and share their names."""
    asks_model = request.node.get_closest_marker("weights")
    if asks_model:
        request.getfixturevalue("weights_path")
    folder = tmp_path / "page"
    shutil.copytree(_FILES, folder)
    faults = follow(page, folder, compared=LIKE_THE_PAGES or not asks_model)
    if faults:
        pytest.fail(faults, pytrace=False)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_marker_is_one_that_we_know(page: Path) -> None:
    """A misspelt marker would silently leave a fence out."""
    unknown = [
        f"{fence.line}: {fence.marker}"
        for fence in fences(page)
        if not _MARKERS.fullmatch(fence.marker)
    ]
    assert unknown == []
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") == 2 * len(fences(page))


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_fence_is_shown_that_nothing_looks_at(page: Path) -> None:
    """What is neither Python nor shell is an output, a file, or says why it is neither."""
    unmarked = [
        fence.place
        for fence in fences(page)
        if fence.language not in {"python", "sh"} and not fence.marker
    ]
    assert unmarked == []


def test_every_file_that_pages_take_for_granted_is_named_by_one() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    files = [path for path in _FILES.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    names = [path.relative_to(_FILES).as_posix() for path in files]
    modules = {name: name.removesuffix(".py").replace("/", ".") for name in names}
    assert [name for name in names if name not in text and modules[name] not in text] == []
