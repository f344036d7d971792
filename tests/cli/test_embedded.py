"""The program with the embedded model behind it, as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.weights

_ROOT = Path(__file__).parents[2]
_SCHEMA = {
    "type": "object",
    "properties": {"sentiment": {"enum": ["positive", "negative"]}},
    "required": ["sentiment"],
    "additionalProperties": False,
}


def _start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "extractkit", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever runs the tests in the background may ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_a_masked_answer_comes_with_its_facts_and_one_line_about_the_model(
    weights_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(_SCHEMA))
    (tmp_path / "text.txt").write_text("I love this lamp, it works very well.")
    child = _start(tmp_path, "extract", "--schema", "schema.json", "text.txt", "--json", "--raw")
    out, err = child.communicate(timeout=120)
    result = json.loads(out)
    assert child.returncode == 0, err
    assert result["value"]["sentiment"] in ("positive", "negative")
    assert result["strategy"] == "local"
    assert result["provenance"]["details"]["engine"] in ("libllama", "numpy")
    assert result["raw"]["tokens"]
    assert err.startswith("extractkit: answered by the embedded SmolLM2-135M-Instruct, ")
    assert err.count("\n") == 1


def test_a_schema_that_asks_for_too_much_is_told_what_is_possible(
    weights_path: Path, tmp_path: Path
) -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 12_000}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    (tmp_path / "text.txt").write_text("1 2 3")
    child = _start(tmp_path, "extract", "--schema", "schema.json", "text.txt")
    _, err = child.communicate(timeout=120)
    assert child.returncode == 2
    assert "8192 for prompt and answer together: it cannot answer this schema" in err
    assert "max" not in err.replace("maximum", "")


def test_time_that_ends_is_told_with_the_option_and_the_callers_number(
    weights_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(_SCHEMA))
    (tmp_path / "text.txt").write_text("I love this lamp.")
    child = _start(tmp_path, "extract", "--schema", "schema.json", "text.txt", "--timeout", "0.001")
    _, err = child.communicate(timeout=120)
    assert child.returncode == 3
    assert "0.001" in err
    assert "raise --timeout" in err
    assert "timeout_s" not in err


def test_an_interrupted_answer_ends_soon_with_one_line(weights_path: Path, tmp_path: Path) -> None:
    child = _start(tmp_path, "demo")
    time.sleep(6)  # by then the model is loaded and answers
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert err == "extractkit: interrupted\n"


def test_a_text_that_is_too_long_is_told_with_its_size(weights_path: Path, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(_SCHEMA))
    (tmp_path / "text.txt").write_text("many words " * 10_000)
    child = _start(tmp_path, "extract", "--schema", "schema.json", "text.txt")
    out, err = child.communicate(timeout=120)
    assert child.returncode == 2
    assert out == ""
    assert "8192" in err or "8,192" in err
    assert "shorten the text, or split it" in err
    assert "context_tokens" not in err
    assert "Traceback" not in err
