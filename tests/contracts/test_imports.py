"""What is loaded when: by set of modules, not by time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_HEAVY = {
    "anthropic",
    "gguf",
    "httpx2",
    "jsonschema",
    "llguidance",
    "numpy",
    "openai",
    "outlines",
    "rich",
    "tokenizers",
}


def _loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.partition(".")[0] for name in json.loads(run.stdout)}


def test_importing_the_package_loads_no_pydantic() -> None:
    """The front door costs nothing until a name is used."""
    assert _loaded_by("import extractkit") & (_HEAVY | {"pydantic"}) == set()


@pytest.mark.parametrize(
    "statement",
    [
        "from extractkit import extract",
        "from extractkit import *",
        "import extractkit.testing",
        "from extractkit.providers import Local; Local",
        "import extractkit.cli",
    ],
)
def test_engines_and_tools_are_loaded_only_when_they_are_used(statement: str) -> None:
    """No engine, SDK, array or terminal package before there is work for it."""
    assert _loaded_by(statement) & _HEAVY == set()
