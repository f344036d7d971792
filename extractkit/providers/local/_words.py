"""Which texts are tokens of a model, read from its file alone.

Neighbours: `Local` is asked before a model is loaded; `_gguf` reads the head of the file and no
weights. What was found is kept.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from extractkit.providers.local import _weights
from extractkit.providers.local._gguf import read_gguf

__all__ = ["words_among"]


def words_among(model: str | None, texts: tuple[str, ...]) -> frozenset[str]:
    """Return those of `texts` that the vocabulary of a model has as words of their own.

    A word of letters is one token wherever it stands between two characters that are none: rules
    for splitting do not part letters, and what was merged of them is the word.

    Args:
        model: A name or a path, as for `Local`.
        texts: Texts of ASCII letters: vocabularies spell these as they are.

    Raises:
        ProviderError: If the weights are missing.
        UsageError: If the file is no GGUF file.
        UnsupportedError: If its version or byte order is another.
    """
    path = _weights.find(model)
    return _among(path, path.stat().st_mtime_ns, texts)


@lru_cache(maxsize=16)
def _among(path: Path, changed: int, texts: tuple[str, ...]) -> frozenset[str]:
    del changed  # a file that was replaced is read again
    words = read_gguf(path).metadata.get("tokenizer.ggml.tokens")
    wanted = frozenset(texts)
    return wanted.intersection(map(str, words)) if isinstance(words, list) else frozenset()
