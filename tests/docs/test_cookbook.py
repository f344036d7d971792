"""Every recipe of the cookbook runs at its default size and prints its expected output.

A recipe may have a larger size of its own, `--full`, which is not run here. Numbers that vary are
masked in the expected output, see `tests.docs.masks`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.fences import ROOT
from tests.docs.masks import differences

_COOKBOOK = ROOT / "cookbook"
_ASKS_MODEL = "Needs the weights"
_SECONDS = 180  # a recipe takes 25 s of two cores; a busy machine gives it less


def _recipes() -> list[object]:
    return [
        pytest.param(
            path,
            marks=[pytest.mark.weights] if _ASKS_MODEL in path.read_text("utf-8") else [],
            id=path.name,
        )
        for path in sorted(_COOKBOOK.glob("*.py"))
    ]


@pytest.mark.parametrize("recipe", _recipes())
def test_a_recipe_prints_what_stands_beside_it(
    recipe: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The output is compared, also that of the embedded model."""
    if request.node.get_closest_marker("weights"):
        request.getfixturevalue("weights_path")
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            pytest.skip("expected outputs of the embedded model were made on Linux x86-64")
    expected = recipe.with_suffix(".expected.txt").read_text("utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(recipe)],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    assert run.returncode == 0, run.stderr
    if difference := differences(expected, run.stdout):
        pytest.fail(difference, pytrace=False)


def test_every_expected_output_belongs_to_a_recipe() -> None:
    """Nothing lies in the cookbook that is never compared."""
    expected = {
        path.name.removesuffix(".expected.txt") for path in _COOKBOOK.glob("*.expected.txt")
    }
    assert expected == {path.stem for path in _COOKBOOK.glob("*.py")}


def test_every_file_of_data_belongs_to_a_recipe() -> None:
    """The name of a recipe begins the name of its data, a file or a folder."""
    names = [path.name for path in (_COOKBOOK / "data").glob("*")]
    recipes = tuple(path.stem for path in _COOKBOOK.glob("*.py"))
    assert [name for name in names if not name.startswith(recipes)] == []
