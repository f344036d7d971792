"""A local model whose every probability is written down, behind the real provider and its mask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from extractkit.providers.local import Local, _session
from tests.providers.local.engines import CONTROL, EOS, PIECES, START, ByteEngine, opening

Chain = Mapping[str, Mapping[str, float]]
"""What was said so far -> the probability of each piece that may follow, in the model's view."""

QUOTE = '"'
END = "<|im_end|>"
ARTICLE: Chain = {
    "": {QUOTE: 1.0},
    '"': {"a": 0.6, "b": 0.4},
    '"a': {"x": 0.01, "z": 0.99},
    '"b': {"x": 0.5, "y": 0.5},
    '"ax': {QUOTE: 1.0},
    '"bx': {QUOTE: 1.0},
    '"by': {QUOTE: 1.0},
}
"""After "a" the model expects "z", which the grammar of "ax", "bx" and "by" forbids."""

_NEVER = -1e4


class ChainEngine(ByteEngine):
    """Computes the logits that a chain states; all that it does not state is all but impossible."""

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self._rows_of = {said.encode(): _row(after) for said, after in chain.items()}
        self._unknown = _row({})

    def _logits(self) -> Any:
        past = list(self._past)
        start = len(past) - past[::-1].index(START) if START in past else len(past)
        said = b"".join(PIECES[token] for token in past[start:]).removeprefix(b"assistant\n")
        return self._rows_of.get(said, self._unknown).copy()


def _row(after: Mapping[str, float]) -> Any:
    row = np.full(len(PIECES), _NEVER, dtype=np.float32)
    for piece, probability in after.items():
        token = PIECES.index(piece.encode())
        row[token] = np.log(probability) if probability else _NEVER
    if not after:
        row[EOS] = 0.0
    return row


@contextmanager
def chained(chain: Chain) -> Iterator[Local]:
    """A local provider that answers by `chain`."""
    with mock.patch.object(_session, "_load", opening(ChainEngine(chain))):
        provider = Local()
        try:
            yield provider
        finally:
            provider.close()


assert END.encode() in CONTROL
