"""The site, built once for all tests that look at it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.fences import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site; a warning while it is built is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    began = os.times()
    built = subprocess.run(
        [*command, "-f", str(ROOT / "docs" / "site" / "mkdocs.yml"), "-d", str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stderr
    took = os.times()
    cpu_s = took.children_user + took.children_system - began.children_user - began.children_system
    assert cpu_s < 60, f"the site took {cpu_s:.0f} s to build"
    return folder
