"""The program of the page about frames, on a Spark of this machine, where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.fences import ROOT, fences
from tests.docs.stand_in import answering

_PAGE = ROOT / "docs" / "how-to" / "frames.md"


@pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None,
    reason="needs pyspark and a JVM: pip install pyspark",
)
def test_the_program_of_the_page_extracts_in_spark_and_asks_once(tmp_path: Path) -> None:
    blocks = {fence.marker: fence.body for fence in fences(_PAGE)}
    script = tmp_path / "orders_on_spark.py"
    script.write_text(blocks["file: orders_on_spark.py"])
    expected = blocks["not run: what that prints; compared by the same test"]
    here = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": (
            "--master local[2] --conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1 "
            "--conf spark.driver.bindAddress=127.0.0.1 --conf spark.sql.shuffle.partitions=1 "
            "pyspark-shell"
        ),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with answering('{"product": "oak shelves", "quantity": 12, "color": null}') as server:
        run = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "journal")],
            env={**os.environ, **here},
            cwd=tmp_path,  # Spark leaves a folder there
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    assert run.returncode == 0, run.stderr[-3000:]
    assert run.stdout == expected
    assert len(list((tmp_path / "journal").glob("*.journal"))) == 1
    assert len(server.requests) == 1  # for one text, whatever Spark carries out anew
