"""Every example in a docstring of the package runs, and prints what the docstring says."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator

import pytest

from tests.contracts.source import Module, modules

_HAS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_HEADING = re.compile(r"^\s*Examples?:$", re.MULTILINE)
_MAIN = (
    "extract", "Extractor", "stream", "astream", "compile_schema", "lint", "tool", "Cascade",
    "evaluate",
)  # fmt: skip


def _docstrings() -> Iterator[tuple[Module, str, str]]:
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, _HAS) and (said := ast.get_docstring(node)):
                yield module, getattr(node, "name", ""), said


_EXAMPLES = [one for one in _docstrings() if ">>>" in one[2]]


@pytest.mark.parametrize(
    ("module", "name", "said"),
    _EXAMPLES,
    ids=[f"{module.name}:{name}" for module, name, _ in _EXAMPLES],
)
def test_an_example_prints_what_it_says(module: Module, name: str, said: str) -> None:
    # A name of its own module is there, as it is for who reads its documentation.
    names: dict[str, object] = {"__name__": module.name}
    if name:
        exec(f"from {module.name} import {name}", names)  # noqa: S102
    example = doctest.DocTestParser().get_doctest(said, names, name, str(module.path), 0)
    printed: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(example, out=printed.append)
    assert outcome.attempted > 0
    assert outcome.failed == 0, "".join(printed)


@pytest.mark.parametrize("name", _MAIN)
def test_each_main_name_has_an_example(name: str) -> None:
    assert name in {name for _, name, _ in _EXAMPLES}


def test_no_docstring_has_code_that_is_not_run() -> None:
    """A heading without an example, a fence, an indented statement."""
    unrun = [
        f"{module.name}:{name}"
        for module, name, said in _docstrings()
        if (_HEADING.search(said) and ">>>" not in said) or _fences_or_code(said)
    ]
    assert unrun == []


def _fences_or_code(said: str) -> bool:
    blocks = re.findall(r"(?:^ {4,}\S.*\n?)+", said, re.MULTILINE)
    return any(_is_python(block) for block in blocks) or "```" in said


def _is_python(block: str) -> bool:
    text = "\n".join(line.strip() for line in block.split("\n"))
    return any(
        line.startswith(("from extractkit", "import ", "with ")) and _parses(line)
        for line in text.split("\n")
    )


def _parses(line: str) -> bool:
    try:
        ast.parse(line + (" pass" if line.endswith(":") else ""))
    except SyntaxError:
        return False
    return True
