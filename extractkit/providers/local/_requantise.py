"""The same weights in another tensor format, written by llama.cpp.

Neighbours: `_weights` prepares the embedded model with it; `_library` has the functions; `_gguf`
checks what came out. Q8_0 made from Q4_1 changes answers no more than the library's own choice
of kernels does, and reads a prompt 1.7 times as fast; Q4_0 is another, worse model.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from extractkit.errors import ProviderError, UnsupportedError, UsageError
from extractkit.providers.local._gguf import read_gguf
from extractkit.providers.local._library import Blob, Library, library

__all__ = ["Kind", "requantise"]

Kind: TypeAlias = Literal["q8_0", "q4_0", "f16", "f32"]

_FILE_TYPES: dict[Kind, int] = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 7}  # llama_ftype


def requantise(source: Path, target: Path, kind: Kind) -> None:
    """Write the weights of `source` to `target` with matrices in the format `kind`.

    The file appears whole or not at all; one that is there is replaced. Takes about a second of
    one core for 135 million weights.

    Raises:
        UsageError: If `source` is no readable GGUF file, or `kind` is unknown.
        MissingDependencyError: If no package with llama.cpp's library is installed.
        UnsupportedError: If the library does not run here, or has other parameters.
        ProviderError: If the library fails, or wrote something else than was asked for.
    """
    if kind not in _FILE_TYPES:
        raise UsageError(f"kind={kind!r}: expected one of {', '.join(_FILE_TYPES)}")
    expected = read_gguf(source).tensors.keys()
    calls = library()
    parameters = _parameters(calls, _FILE_TYPES[kind])
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="requantise-") as folder:
        part = Path(folder) / target.name
        convert = partial(
            calls.model_quantize,
            os.fsencode(source),
            os.fsencode(part),
            ctypes.byref(parameters),
        )
        if convert():
            raise calls.failure(f"llama.cpp cannot requantise {source} to {kind}", convert)
        written = read_gguf(part)
        formats = {t.format for t in written.tensors.values() if len(t.shape) > 1}
        # The library gives the output matrix more bits where the rest has four.
        allowed = {"Q4_0", "Q6_K", "Q8_0"} if kind == "q4_0" else {kind.upper()}
        if written.tensors.keys() != expected or not formats <= allowed:
            raise ProviderError(
                f"{calls.package} wrote {len(written.tensors)} tensors with formats "
                f"{sorted(formats)} where {len(expected)} with {kind.upper()} were asked for",
                provider="local",
            )
        part.replace(target)


def _parameters(calls: Library, file_type: int) -> Blob:
    """Return the library's defaults with the wanted type, on one thread.

    llama_model_quantize_params has started with nthread, ftype, two tensor types that mean "no
    wish" and the two flags allow_requantize, quantize_output_tensor since 2023.
    """
    parameters: Blob = calls.model_quantize_default_params()
    words = parameters.words
    flags = (words[4] & 0xFF, words[4] >> 8 & 0xFF)
    if words[0] != 0 or words[2] != words[3] or flags != (0, 1):
        raise UnsupportedError(
            f"{calls.package} has another layout of its quantisation parameters; use the pinned "
            "version of the extra 'local'"
        )
    words[0], words[1] = 1, file_type
    words[4] |= 1
    return parameters
