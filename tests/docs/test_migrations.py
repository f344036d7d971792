"""What the cookbook says of instructor is what instructor says."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.fences import ROOT

_PYTHON = os.environ.get("EXTRACTKIT_INSTRUCTOR_PYTHON")


@pytest.mark.skipif(
    _PYTHON is None,
    reason="instructor 1.17 does not resolve with openai>=3.57: EXTRACTKIT_INSTRUCTOR_PYTHON is to "
    "name a Python of an environment with 'pip install instructor' and nothing else",
)
def test_the_recording_is_what_instructor_tells(tmp_path: Path) -> None:
    recipe = tmp_path / "from_instructor.py"
    recipe.write_bytes((ROOT / "cookbook" / "from_instructor.py").read_bytes())
    (tmp_path / "data").mkdir()
    assert _PYTHON is not None
    subprocess.run(
        [_PYTHON, "-W", "error", str(recipe), "--record"],
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    name = Path("data") / "from_instructor.json"
    recorded = json.loads((ROOT / "cookbook" / name).read_text("utf-8"))
    assert json.loads((tmp_path / name).read_text("utf-8")) == recorded
