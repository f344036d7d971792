"""README is short, begins with its two commands, and each figure and claim has its command."""

from __future__ import annotations

import importlib.util
import re

from tests.acceptance import pages, readme_figures
from tests.acceptance.readme_figures import FIGURES, README
from tests.docs.fences import ROOT, fences

_SCREENS = 120  # lines
_MODULE = re.compile(r"`python -m ([\w.]+)[^`]*`")
_TESTS = re.compile(r"`pytest (tests/[^\s`]+)`")


def _text() -> str:
    return README.read_text(encoding="utf-8")


def test_it_is_two_screens() -> None:
    assert len(_text().splitlines()) <= _SCREENS


def test_its_first_two_commands_run_the_demo_and_the_tests() -> None:
    demo, tests = [fence.body for fence in fences(README) if fence.language == "sh"][:2]
    assert demo.endswith("&& extractkit demo\n")
    assert tests.endswith("&& pytest\n")


def test_every_figure_stands_in_its_row_with_its_command_and_the_run_is_dated() -> None:
    written, *table = pages.read(readme_figures.PART, README).split("\n\n")
    assert re.search(r" on .+, \d+ cores, \w+, Python 3\.\d+\.\d+\.$", written)
    rows = [line.strip("| ").split(" | ") for line in table[0].splitlines()[2:]]
    assert len(rows) == len(FIGURES)
    for (what, command, figure, date), wanted in zip(rows, FIGURES, strict=True):
        assert re.fullmatch(wanted.what.replace("{receipts}", r"\d+"), what)
        assert wanted.command in command
        assert re.search(r"\d", figure)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def test_every_command_that_it_names_is_there() -> None:
    text = _text()
    modules, tests = _MODULE.findall(text), _TESTS.findall(text)
    assert modules and tests
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []
    assert [path for path in tests if not (ROOT / path).exists()] == []
