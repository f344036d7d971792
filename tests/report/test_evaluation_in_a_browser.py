"""The page of an evaluation as a browser shows it: from a file, nothing asked, nothing run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from extractkit import extract
from extractkit.report import EvaluationFigures, evaluation_to_html, to_html
from extractkit.testing import FakeProvider
from tests.evaluation.making import echo
from tests.report.making import EVIL, broken, cut, made, unbroken, with_confidences, wrong

pytestmark = pytest.mark.browser
_LONG = "constrained, T = 1.5, with a tight limit of tokens and_a_name_without_any_blank_in_it"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = [("right", echo), (_LONG, wrong), ("broken", broken), (EVIL, cut), ("e", echo)]
    report = with_confidences(made(models, inputs=12, samples=2, more=EVIL))
    page = evaluation_to_html(EvaluationFigures.of(report), title=EVIL)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1200, 800)], ids=["phone", "desktop"])
def test_it_opens_from_a_file_and_fits(
    browser: Any, file: Path, width: int, height: int, scheme: str
) -> None:
    """No message, no request, no scrolling to the side, with every part opened."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").count() >= 12
    assert page.locator("script, img").count() == 0
    shown = page.locator(".panels").first
    assert shown.bounding_box()["width"] <= width
    assert (said, asked) == ([], [file.as_uri()])
    page.close()


@pytest.fixture(scope="module")
def unbroken_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The page of an evaluation and that of a result, whose names and values have no blank."""
    title, text = "title" * 50, "T" * 2000
    document = {"name" * 50: "value" * 80, "/" * 200: ["T" * 300]}
    result = extract(dict[str, Any], text, model=FakeProvider([json.dumps(document)]))
    pages = (
        evaluation_to_html(EvaluationFigures.of(unbroken()), title=title),
        to_html(result, text, title=title),
    )
    folder = tmp_path_factory.mktemp("unbroken")
    files = [folder / f"{number}.html" for number in range(len(pages))]
    for path, page in zip(files, pages, strict=True):
        path.write_text(page, encoding="utf-8")
    return files


@pytest.mark.parametrize("width", [320, 375, 390, 1280])
def test_names_and_values_without_a_blank_do_not_push_the_page_wide(
    browser: Any, unbroken_files: list[Path], width: int
) -> None:
    """Whatever the element: a rule for one kind of heading leaves out the next."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    for path in unbroken_files:
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Tables may be scrolled by themselves where there is room for columns.
        wide = page.evaluate(_WIDE, width)
        assert wide == []
    page.close()


_WIDE = """width => [...document.querySelectorAll('body *')]
    .filter(it => it.getBoundingClientRect().right > width + 1 && !it.closest('.table'))
    .map(it => it.outerHTML.slice(0, 80))"""


def test_a_mark_leads_to_its_value_and_back(browser: Any, file: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(file.as_uri())
    part = page.locator("details.failure").filter(has=page.locator("a.mark")).first
    part.locator("summary").click()
    mark = part.locator("a.mark").first
    goal = mark.get_attribute("href")
    mark.click()
    assert page.locator(f"{goal}:target").count() == 1
    assert page.locator(f"{goal} a").first.get_attribute("href").startswith("#place-")
    page.close()


def test_the_box_of_a_short_source_ends_with_it_and_a_long_one_scrolls(
    browser: Any, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    for more, is_long in (("", False), ("word " * 400, True)):
        report = made([("wrong", wrong)], inputs=1, more=more)
        path = tmp_path / "report.html"
        path.write_text(evaluation_to_html(EvaluationFigures.of(report)), encoding="utf-8")
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
        below = page.evaluate(
            """() => {
                const box = document.querySelector('.failure pre.text');
                const text = document.createRange();
                text.selectNodeContents(box);
                return [box.getBoundingClientRect().bottom - text.getBoundingClientRect().bottom,
                        getComputedStyle(box).overflowY];
            }"""
        )
        assert (below[1] == "auto") is is_long
        assert is_long or below[0] < 24
    page.close()
