"""What is loaded when: by set of modules, not by time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


_ANSWER = """
import httpx2, openai
from extractkit import extract
from extractkit.providers import OpenAIChat
choice = {"finish_reason": "stop", "message": {"content": '{"value": 3}'}}
body = {"model": "m", "choices": [choice]}
transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=body))
http = openai.DefaultHttpx2Client(transport=transport)
client = openai.OpenAI(api_key="none", http_client=http)
assert extract(int, "3", model=OpenAIChat("gpt-4.1", client=client)).unwrap() == 3
"""


def test_a_hosted_answer_loads_its_own_sdk_and_no_engine() -> None:
    loaded = _loaded_by(_ANSWER)
    assert loaded & {"anthropic", "llguidance", "numpy", "outlines", "rich", "tokenizers"} == set()
    assert {"openai", "httpx2"} <= loaded


@pytest.mark.weights
def test_a_local_answer_loads_no_sdk(weights_path: Path) -> None:
    loaded = _loaded_by(
        f"from extractkit import extract\nextract(bool, 'yes', model='local:{weights_path}')"
    )
    assert loaded & {"anthropic", "openai", "httpx2"} == set()
    assert "llguidance" in loaded
