"""Commands run in this process, with a scripted model behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extractkit.cli import main
from extractkit.testing import FakeProvider, Reply

_MODELS = """
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel


class Thing:
    pass


class City(BaseModel):
    name: str
    kind: Literal["town", "village"] | None = None


class Outer:
    class Inner(BaseModel):
        name: str


Cities = list[City]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
number = 42
name = "City"


def function(x: int) -> int:
    return x
"""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
Script = Callable[..., FakeProvider]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command and give back its exit code and output."""

    def run_command(*arguments: str) -> Ran:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Ran(code=code, out=captured.out, err=captured.err)

    return run_command


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Let a scripted model answer whatever the command asks."""

    def install(*replies: Reply) -> FakeProvider:
        provider = FakeProvider(replies)
        monkeypatch.setattr("extractkit.api._extractor.resolve", lambda _: provider)
        return provider

    return install


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a package `shop.models` and a text."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("")
    (tmp_path / "shop" / "models.py").write_text(_MODELS)
    (tmp_path / "shop" / "front.py").write_text("from shop.models import City\nimport json\n")
    (tmp_path / "broken.py").write_text("raise RuntimeError('no luck')")
    (tmp_path / "leaves.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "needs.py").write_text("import a_package_that_nobody_has")
    (tmp_path / "text.txt").write_text("A letter from Oslo.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("shop", "shop.models", "shop.front"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    return tmp_path


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a scripted model answer."""

    def install(reply: Any) -> FakeProvider:
        provider = FakeProvider(reply)
        monkeypatch.setattr("extractkit.batch._asking.shared", lambda model: provider)
        return provider

    return install
