"""Recipes of the cookbook as pages of the site and as notebooks, made from the scripts.

    python -m docs.site.recipes FOLDER

writes a notebook of each recipe, and its inputs beside it. Nothing is listed: every script that
has an expected output beside it is a recipe.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jupytext
import nbformat

__all__ = ["COOKBOOK", "Recipe", "notebook", "page", "recipes", "write_notebooks"]

COOKBOOK: Final = Path(__file__).parents[2] / "cookbook"
_MASK: Final = "‹number›"
_SPELLED: Final = {"langchain": "LangChain", "openai": "OpenAI", "pdf": "PDF"}
_LINK_TO_DOCS: Final = re.compile(r"\]\(\.\./docs/")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One script of the cookbook."""

    path: Path
    title: str
    """First line of its docstring."""
    about: str
    """The rest of its docstring: what one learns, what it costs, how long it takes."""
    cells: tuple[tuple[str, str], ...]
    """What follows, in order: "markdown" or "code", and the text."""
    expected: str

    @property
    def name(self) -> str:
        """Its file's name, without an ending."""
        return self.path.stem

    @property
    def short_title(self) -> str:
        """Its name as words."""
        words = " ".join(_SPELLED.get(word, word) for word in self.name.split("_"))
        return words[0].upper() + words[1:]


def recipes() -> list[Recipe]:
    """Return every recipe, in order of its name."""
    return [
        _read(path, expected.read_text(encoding="utf-8"))
        for path in sorted(COOKBOOK.glob("*.py"))
        if (expected := path.with_suffix(".expected.txt")).exists()
    ]


def _read(path: Path, expected: str) -> Recipe:
    text = path.read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or path.stem
    title, _, about = said.partition("\n")
    cells = [(cell.cell_type, cell.source) for cell in _cells(text)]
    kept = tuple((kind, source.strip("\n")) for kind, source in cells if source.strip())
    return Recipe(
        path=path,
        title=title.rstrip("."),
        about=about.strip(),
        cells=kept,
        expected=expected,
    )


def _cells(text: str) -> list[Any]:
    opening = ast.parse(text).body[0]
    is_docstring = isinstance(opening, ast.Expr) and isinstance(opening.value, ast.Constant)
    after = text.split("\n")[opening.end_lineno if is_docstring else 0 :]
    read = jupytext.reads("\n".join(after).lstrip("\n"), fmt="py:percent")
    return list(read.cells)


def page(recipe: Recipe) -> str:
    """Return the recipe as Markdown: its prose, its code, and what it prints."""
    parts = [f"# {recipe.title}", _prose(recipe.about)]
    parts += [
        _LINK_TO_DOCS.sub("](../", source) if kind == "markdown" else _fence("python", source)
        for kind, source in recipe.cells
    ]
    parts += ["## What it prints", _fence("text", recipe.expected.rstrip("\n"))]
    if _MASK in recipe.expected:
        parts.append(f"`{_MASK}` stands for a number that differs from run to run.")
    parts.append(
        f"Run it with `python cookbook/{recipe.path.name}`, "
        f"or take it as [a script]({recipe.path.name}) or [a notebook]({recipe.name}.ipynb)."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _prose(about: str) -> str:
    # "Costs: ...", "Takes ..." stand on lines of their own in the script.
    return re.sub(r"\n(?=(?:You learn|Costs|Takes|Needs)\b)", "\n\n", about)


def _fence(language: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def notebook(recipe: Recipe) -> nbformat.NotebookNode:
    """Return the recipe as a notebook without outputs."""
    version = nbformat.v4
    opening = f"# {recipe.title}\n\n{_prose(recipe.about)}".strip()
    cells = [
        version.new_markdown_cell(opening),
        version.new_code_cell(
            "# What a script knows of itself and a notebook does not.\n"
            "import sys\n\n"
            f'__file__ = "{recipe.path.name}"\n'
            "sys.argv = [__file__]"
        ),
    ]
    cells += [
        version.new_markdown_cell(source) if kind == "markdown" else version.new_code_cell(source)
        for kind, source in recipe.cells
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # the same in every build
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return version.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def write_notebooks(folder: Path) -> list[Path]:
    """Return the notebooks that were written, beside everything that recipes read."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in COOKBOOK.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
        elif path.is_file() and not path.name.endswith((".py", ".expected.txt")):
            shutil.copy(path, folder)
    written: list[Path] = []
    for recipe in recipes():
        written.append(folder / f"{recipe.name}.ipynb")
        nbformat.write(notebook(recipe), written[-1])
    return written


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m docs.site.recipes FOLDER")
    for path in write_notebooks(Path(sys.argv[1])):
        print(path)
