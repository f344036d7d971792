"""Every file of the cookbook runs and prints its expected output."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.fences import ROOT

_COOKBOOK = ROOT / "cookbook"
_ASKS_MODEL = "Needs the weights"


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
    recipe: Path, request: pytest.FixtureRequest
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
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == expected


def test_every_expected_output_belongs_to_a_recipe() -> None:
    """Nothing lies in the cookbook that is never compared."""
    expected = {
        path.name.removesuffix(".expected.txt") for path in _COOKBOOK.glob("*.expected.txt")
    }
    assert expected == {path.stem for path in _COOKBOOK.glob("*.py")}
