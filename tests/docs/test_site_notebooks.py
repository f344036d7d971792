"""Notebooks are made from the scripts of the cookbook, are valid, and do what the scripts do."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from docs.site.recipes import COOKBOOK, Recipe, notebook, recipes, write_notebooks
from tests.docs.fences import ROOT
from tests.docs.masks import differences

_ASKS_MODEL = "Needs the weights"
_SECONDS = 180


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The notebooks, as the command leaves them."""
    target = tmp_path_factory.mktemp("notebooks")
    write_notebooks(target)
    return target


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_a_notebook_is_valid_and_says_all_that_the_script_says(
    recipe: Recipe, folder: Path
) -> None:
    made = nbformat.read(folder / f"{recipe.name}.ipynb", as_version=4)
    nbformat.validate(made)
    sources = [cell.source for cell in made.cells if cell.cell_type == "code"]
    script = recipe.path.read_text("utf-8")
    assert all(source in script for source in sources[1:])  # the first is of notebooks alone
    said = "".join("".join(cell.source.split()) for cell in made.cells)
    code = [line for line in script.split("\n") if line and not line.startswith("#")]
    assert [line for line in code[-3:] if "".join(line.split()) not in said] == []
    assert recipe.title in made.cells[0].source
    assert nbformat.writes(notebook(recipe)) == nbformat.writes(notebook(recipe))


@pytest.mark.parametrize(
    "recipe",
    [one for one in recipes() if _ASKS_MODEL not in one.path.read_text("utf-8")],
    ids=lambda recipe: recipe.name,
)
def test_a_notebook_prints_what_the_script_prints(
    recipe: Recipe, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of those that ask no model: the others take long, and are made in the same way."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    made = nbformat.read(folder / f"{recipe.name}.ipynb", as_version=4)
    client = NotebookClient(made, timeout=_SECONDS, resources={"metadata": {"path": str(folder)}})
    client.execute()
    printed = "".join(
        output.text
        for cell in made.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stdout"
    )
    if difference := differences(recipe.expected, printed):
        pytest.fail(difference, pytrace=False)


def test_what_the_recipes_read_lies_beside_the_notebooks(folder: Path) -> None:
    inputs = [path for path in (COOKBOOK / "data").rglob("*") if path.is_file()]
    assert inputs
    assert all((folder / path.relative_to(COOKBOOK)).is_file() for path in inputs)
    assert not list(folder.glob("*.py"))
    assert not list(COOKBOOK.rglob("*.ipynb"))
