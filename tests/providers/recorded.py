"""Formats of structured answers that real servers accepted, out of recordings of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_DATA = Path(
    os.environ.get("EXTRACTKIT_DATA", Path(__file__).parents[2].parent / "shared" / "data")
)


def recorded_format(file: str) -> dict[str, Any]:
    """Return the response_format or text.format of a recording; skip where there is none."""
    path = _DATA / "llm_recordings" / "dev" / file
    if not path.is_file():
        pytest.skip(f"no recording at {path}: set EXTRACTKIT_DATA")
    interactions = json.loads(path.read_text(encoding="utf-8"))["interactions"]
    posted = [interaction["request"].get("json") or {} for interaction in interactions]
    found = [
        body.get("response_format") or body.get("text", {}).get("format")
        for body in posted
        if "response_format" in body or "format" in body.get("text", {})
    ]
    return dict(found[0])
