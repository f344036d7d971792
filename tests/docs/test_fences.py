"""Every Python fence of README and docs runs, and prints what the page says that it prints."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.fences import ROOT, Fence, fences, name_of, pages

_MARKERS = re.compile(r"output|weights|help:( \w+)?|not run: \S.*|")


def _pages_with_python() -> list[object]:
    found: list[object] = []
    for page in pages():
        blocks = [fence for fence in fences(page) if fence.language == "python"]
        if blocks:
            asks_model = any(fence.marker == "weights" for fence in blocks)
            marks = [pytest.mark.weights] if asks_model else []
            found.append(pytest.param(page, marks=marks, id=name_of(page)))
    return found


@pytest.mark.parametrize("page", _pages_with_python())
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code in the docs is run; the fences of one page share their names."""
    if request.node.get_closest_marker("weights"):
        request.getfixturevalue("weights_path")
    monkeypatch.chdir(ROOT)
    printed = ""
    with _page_module() as module:
        for fence in fences(page):
            if fence.language == "python" and not fence.marker.startswith("not run"):
                printed = _run(fence, module)
            elif fence.marker == "output":
                assert printed == fence.body, f"{name_of(page)}:{fence.line}"


@contextlib.contextmanager
def _page_module() -> Iterator[ModuleType]:
    # Pydantic looks annotations up in the module that a class says it is from.
    module = ModuleType("page_of_the_docs")
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        del sys.modules[module.__name__]


def _run(fence: Fence, module: ModuleType) -> str:
    # Blank lines put the code where the page has it, so that a traceback points there.
    code = compile("\n" * fence.line + fence.body, str(fence.page), "exec")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no model was named")
        exec(code, module.__dict__)  # noqa: S102
    return output.getvalue()


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_marker_is_one_that_we_know(page: Path) -> None:
    """A misspelt marker would silently leave a fence out."""
    unknown = [
        f"{fence.line}: {fence.marker}"
        for fence in fences(page)
        if not _MARKERS.fullmatch(fence.marker)
    ]
    assert unknown == []
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    """Relative links, and anchors left aside."""
    text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))  # code has no links
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
