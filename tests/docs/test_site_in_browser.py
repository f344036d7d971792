"""The site in a browser, on a phone and on a desktop: from a server, and opened from a folder."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.site.recipes import recipes

pytestmark = pytest.mark.browser

_PHONE, _DESKTOP = (375, 812), (1280, 800)
_PAGES = [
    "index.html",
    "tutorial/first-extraction.html",
    "how-to/stream.html",
    "explanation/architecture.html",
    "reference/dialects.html",
    "reference/capabilities.html",
    "reference/api/extractkit.html",
    "cookbook/index.html",
    f"cookbook/{recipes()[0].name}.html",
    "changelog.html",
]
# Code that can be read: not smaller than this, and what is wider is moved within its own block.
_SMALLEST_CODE_PX = 11
_TOO_SMALL = """smallest => [...document.querySelectorAll('pre code')].filter(
    code => parseFloat(getComputedStyle(code).fontSize) < smallest).length"""
_CUT = """() => [...document.querySelectorAll('pre')].filter(block => {
    const inner = block.querySelector('code') ?? block
    const moves = [block, inner].some(one => /auto|scroll/.test(getComputedStyle(one).overflowX))
    return inner.scrollWidth > inner.clientWidth && !moves
}).length"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a test's output is its own."""


@pytest.fixture(scope="module", params=["server", "folder"])
def origin(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Where the pages are."""
    if request.param == "folder":
        yield site.as_uri()
        return
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(params=[_PHONE, _DESKTOP], ids=["phone", "desktop"])
def page(request: pytest.FixtureRequest, browser: Any, origin: str) -> Iterator[Any]:
    """A page of the browser that has nothing to say and asks nobody else."""
    width, height = request.param
    opened = browser.new_page(viewport={"width": width, "height": height})
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("requestfailed", lambda failed: said.append(f"{failed.url}: {failed.failure}"))
    opened.on("request", lambda sent: asked.append(sent.url))
    yield opened
    opened.close()
    assert said == []
    assert [url for url in asked if not url.startswith((origin, "data:", "blob:"))] == []


@pytest.mark.parametrize("origin", ["folder"], indirect=True)
@pytest.mark.parametrize("name", _PAGES)
def test_a_page_fits_and_its_code_can_be_read(page: Any, origin: str, name: str) -> None:
    page.goto(f"{origin}/{name}")
    assert page.locator("article h1").inner_text().strip()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert page.evaluate(_TOO_SMALL, _SMALLEST_CODE_PX) == 0
    assert page.evaluate(_CUT) == 0


def test_the_navigation_leads_from_the_front_page_to_the_glossary(page: Any, origin: str) -> None:
    page.goto(f"{origin}/index.html")
    if page.viewport_size["width"] == _PHONE[0]:
        page.click("label.md-header__button[for=__drawer]")
        page.click("nav.md-nav--primary label:has-text('Reference')")
        page.click("nav.md-nav--primary a:has-text('Glossary')")
    else:
        page.click("nav.md-tabs a:has-text('Reference')")
        page.click("nav.md-nav--primary a:has-text('Glossary')")
    page.wait_for_url("**/reference/glossary.html")
    assert page.locator("article h1").inner_text().startswith("Glossary")


def test_search_finds_a_page_by_a_word(page: Any, origin: str) -> None:
    page.goto(f"{origin}/how-to/stream.html")
    if page.viewport_size["width"] == _PHONE[0]:
        page.click("label.md-header__button[for=__search]")
    else:
        page.click("input.md-search__input")
    page.type("input.md-search__input", "fabrication")
    found = page.locator(".md-search-result__link").first
    found.wait_for()
    assert "matching document" in page.locator(".md-search-result__meta").inner_text()
    found.click()
    page.wait_for_url("**/*.html?h=fabrication*")
    assert page.locator("article mark").count() > 0
