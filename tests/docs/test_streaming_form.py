"""The page of the cookbook whose form fills itself, in a browser."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from extractkit import Extractor
from extractkit.messages import Delta, ModelRequest
from extractkit.testing import FakeProvider
from tests.docs.fences import ROOT

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def recipe() -> Iterator[ModuleType]:
    pytest.importorskip("fastapi", reason="needs the package fastapi")
    spec = importlib.util.spec_from_file_location("form", ROOT / "cookbook" / "streaming_form.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["form"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["form"]


@pytest.mark.parametrize(
    ("words", "model"),
    [(["--model", "local"], None), (["--model", "openai:gpt-5.1"], "openai:gpt-5.1")],
)
def test_a_model_can_be_named_and_local_is_the_embedded_one(
    recipe: ModuleType, monkeypatch: pytest.MonkeyPatch, words: list[str], model: str | None
) -> None:
    asked: list[str | None] = []
    monkeypatch.setattr(recipe, "Extractor", lambda target, model: asked.append(model))
    monkeypatch.setattr(recipe.uvicorn, "run", lambda app, port: None)
    monkeypatch.setattr(sys, "argv", ["streaming_form.py", "--serve", *words])
    recipe.main()
    assert asked == [model]


class Held(FakeProvider):
    """Stops where it is told to, until it may go on."""

    def __init__(self, answer: str, before: str) -> None:
        super().__init__(lambda request: answer, pieces=3)
        self.before = before
        self.may_go_on = threading.Event()

    async def astream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[Delta, None]:
        text = ""
        async for delta in super().astream(request, timeout_s=timeout_s):
            while self.before in text and not self.may_go_on.is_set():
                await asyncio.sleep(0.01)
            text += delta.text
            yield delta


def state(page: Any, pointer: str) -> tuple[str, str]:
    field = page.locator(f'[data-at="{pointer}"]')
    return field.get_attribute("data-state"), field.inner_text()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1200, 800)], ids=["phone", "desktop"])
def test_the_form_fills_itself(
    recipe: Any, browser: Any, tmp_path: Path, width: int, height: int
) -> None:
    """Half way the first fields are there; in the end all, with their places in the text."""
    model = Held(recipe.ANSWER, before="A4 co")
    said: list[str] = []
    with recipe.running(recipe.service(Extractor(recipe.Invoice, model=model))) as url:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        page.wait_for_function("document.getElementById('text').value.includes('Harbour')")
        page.click("#go")
        page.wait_for_function(
            """document.querySelector('[data-at="/lines/0/description"]')?.textContent >= 'A4'"""
        )
        assert state(page, "/number") == ("present", "INV-2024-0137")
        assert state(page, "/order") == ("present", "not in the text")
        assert state(page, "/lines/0/description")[0] == "pending"
        assert state(page, "/total") == ("missing", "")
        half = page.screenshot(path=tmp_path / "half.png", full_page=True)
        model.may_go_on.set()
        page.wait_for_function("document.getElementById('end').textContent.startsWith('ok')")
        assert state(page, "/lines/1/amount") == ("present", "10.00")
        assert state(page, "/total") == ("present", "52.00")
        marked = page.locator("mark").all_inner_texts()
        assert marked[0] == "Harbour Paper Supply Ltd"
        assert {"INV-2024-0137", "4 March 2024", "18 March 2024", "52.00"} <= set(marked)
        whole = page.screenshot(path=tmp_path / "whole.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert half != whole
        assert said == []
        assert all(one.startswith((url, "data:")) for one in asked)
        page.close()


@pytest.mark.parametrize("how", ["stop", "leave"])
def test_who_goes_away_ends_the_request(recipe: Any, browser: Any, how: str) -> None:
    model = Held(recipe.ANSWER, before="Harb")
    with recipe.running(recipe.service(Extractor(recipe.Invoice, model=model))) as url:
        page = browser.new_page()
        page.goto(url)
        page.wait_for_function("document.getElementById('text').value.length > 0")
        page.click("#go")
        page.wait_for_selector('[data-at="/number"][data-state=present]')
        assert model.open_streams == 1
        if how == "stop":
            page.click("#stop")
            page.wait_for_function("document.getElementById('end').textContent === 'stopped'")
        else:
            page.goto("about:blank")
        for _ in range(500):
            if not model.open_streams:
                break
            page.wait_for_timeout(10)
        assert model.open_streams == 0
        page.close()


def test_text_goes_into_the_page_as_text(recipe: Any, browser: Any) -> None:
    """What a document and a model say is never taken for a part of the page."""
    evil = "<img src=x onerror=alert(1)> \U0001f600 \u2028 & 12.00"
    answer = recipe.ANSWER.replace("INV-2024-0137", "<img src=x>")
    model = FakeProvider(lambda request: answer)
    with recipe.running(recipe.service(Extractor(recipe.Invoice, model=model))) as url:
        page = browser.new_page()
        page.goto(url)
        page.wait_for_function("document.getElementById('text').value.length > 0")
        page.fill("#text", evil)
        page.click("#go")
        page.wait_for_function("document.getElementById('end').textContent !== ''")
        assert state(page, "/number") == ("present", "<img src=x>")
        assert page.locator("img").count() == 0
        assert page.locator("#source").text_content() == evil
        page.close()
