"""The site holds every page, recipe and public name, its links lead on, and it needs no network."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.site.recipes import Recipe, recipes
from tests.docs.fences import ROOT, fences, name_of, pages

_API = ROOT / "docs" / "reference" / "api.md"
_ROOMS = re.findall(r"^\| `(extractkit[\w.]*)`", _API.read_text("utf-8"), re.MULTILINE)
_FETCHED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
_IMPORTED = re.compile(r"^\s*(?:from|import) (extractkit[\w.]*)", re.MULTILINE)


class _Reader(HTMLParser):
    """What one page links to and loads, its anchors and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if _FETCHED.get(tag, "") in given:
            self.loaded.add(given[_FETCHED[tag]])

    def handle_data(self, data: str) -> None:
        self.text += data


@cache
def _read(page: Path) -> _Reader:
    reader = _Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader


def _built(site: Path) -> list[Path]:
    found = sorted(site.rglob("*.html"))
    assert len(found) > 70
    return [page for page in found if page.name != "404.html"]  # its links are a server's


def test_the_site_has_every_page_and_the_navigation_leads_to_it(site: Path) -> None:
    written = [name_of(page).removeprefix("docs/") for page in pages()[1:]]
    led_to = {link.partition("#")[0] for link in _navigation(site)}
    goals = [re.sub(r"\.md$", ".html", name) for name in written]
    assert [goal for goal in goals if not (site / goal).is_file()] == []
    assert [goal for goal in goals if goal not in led_to] == []


def _navigation(site: Path) -> Iterator[str]:
    # Each tab shows the pages of its own section.
    for page in _built(site):
        for link in _read(page).links:
            if not urlsplit(link).scheme:
                goal = (page.parent / link.partition("#")[0]).resolve()
                if goal.is_relative_to(site.resolve()):
                    yield goal.relative_to(site.resolve()).as_posix()


def test_every_link_leads_to_a_page_and_to_an_anchor_on_it(site: Path) -> None:
    """Those that are made of code and docstrings, too."""
    dead = [
        f"{page.relative_to(site)}: {link}"
        for page in _built(site)
        for link in sorted(_read(page).links)
        if not urlsplit(link).scheme and not _is_there(page, link)
    ]
    assert dead == []


def _is_there(page: Path, link: str) -> bool:
    path, _, anchor = unquote(link).partition("#")
    goal = (page.parent / path).resolve() if path else page
    if goal.is_dir():
        goal /= "index.html"
    if not goal.is_file():
        return False
    return not anchor or goal.suffix != ".html" or _has(goal, anchor)


def _has(page: Path, anchor: str) -> bool:
    return anchor in _read(page).anchors


def test_every_anchor_that_the_readme_links_to_is_there(site: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(docs/([^)#\s]+)\.md#([^)\s]+)\)", text)
    assert [link for link in links if not _has(site / f"{link[0]}.html", link[1])] == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    """It opens without a network: no fonts, scripts or pictures of others."""
    foreign = {
        f"{page.relative_to(site)}: {loaded}"
        for page in _built(site)
        for loaded in _read(page).loaded
        if urlsplit(loaded).netloc
    }
    assert foreign == set()
    sheets = [path.read_text("utf-8") for path in site.rglob("*.css")]
    assert not any(re.search(r"@import|url\(\s*[\"']?(https?:)?//", sheet) for sheet in sheets)


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_a_recipe_has_a_page_with_its_cells_and_what_it_prints(site: Path, recipe: Recipe) -> None:
    text = re.sub(r"\s+", "", _read(site / "cookbook" / f"{recipe.name}.html").text)
    code = [source for kind, source in recipe.cells if kind == "code"]
    assert code
    assert [cell for cell in code if re.sub(r"\s+", "", cell) not in text] == []
    assert re.sub(r"\s+", "", recipe.expected) in text
    script = (site / "cookbook" / recipe.path.name).read_text("utf-8")
    assert script == recipe.path.read_text("utf-8")


@pytest.mark.parametrize("room", _ROOMS)
def test_every_public_name_of_a_room_is_described(site: Path, room: str) -> None:
    page = _read(site / "reference" / "api" / f"{room}.html")
    names: list[str] = importlib.import_module(room).__all__
    linked = {link.partition("#")[2] for link in page.links}
    missing = [
        name
        for name in names
        if f"{room}.{name}" not in page.anchors and f"extractkit.{name}" not in linked
    ]
    assert missing == []


def test_every_room_that_the_pages_import_from_is_in_the_reference() -> None:
    code = [fence.body for page in pages() for fence in fences(page) if fence.language == "python"]
    code += [recipe.path.read_text("utf-8") for recipe in recipes()]
    imported = {room for text in code for room in _IMPORTED.findall(text)}
    assert len(imported) > 15
    assert imported - set(_ROOMS) == set()
