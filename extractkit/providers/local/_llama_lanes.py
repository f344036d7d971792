"""Lanes of llama.cpp: several sequences in one context, evaluated together.

Neighbours: `_libllama` opens them, `_contexts` makes the context; `_engine` states the protocol
`LaneEngine`; `_lanes` says what is evaluated.

A sequence has a part of the memory for itself, and the weights meet the tokens of all sequences in
the same kernels as those of one: what comes out for a sequence has the same bits, whoever stands
beside it, as `LibllamaEngine` gives where it is fed with the same calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from extractkit.errors import UsageError
from extractkit.providers.local._contexts import CHUNK, several_sequences
from extractkit.providers.local._engine import Logits
from extractkit.providers.local._library import Batch, Library

__all__ = ["LlamaLanes", "open_lanes"]

_FEW: Final = 4  # so many single tokens take no longer one after the other


def open_lanes(
    library: Library,
    model: int,
    contexts: list[int],
    count: int,
    tokens: int,
    *,
    vocabulary_size: int,
) -> LlamaLanes | None:
    """Return lanes, or None where this library has none.

    Args:
        library: The library.
        model: A model that is loaded.
        contexts: Where the context is put, so that it is freed with the model.
        count: How many lanes.
        tokens: Tokens that each can hold, at least.
        vocabulary_size: Logits in a row.

    Raises:
        ProviderError: If there is no memory for them.
    """
    context = several_sequences(library, model, 1 + count, tokens)
    if context is None:
        return None
    contexts.append(context)
    return LlamaLanes(library, context, count=count, vocabulary_size=vocabulary_size)


class LlamaLanes:
    """Sequences that are evaluated together; see the protocol `LaneEngine`.

    Args:
        library: The library.
        context: For one sequence more than there are lanes.
        count: How many lanes there are.
        vocabulary_size: Logits in a row.

    Attributes:
        count: As given.
        tokens: Most tokens of each.
    """

    def __init__(self, library: Library, context: int, *, count: int, vocabulary_size: int) -> None:
        self._library = library
        self._context = context
        self._memory = library.get_memory(context)
        self._size = vocabulary_size
        self.count = count
        self.tokens = int(library.n_ctx_seq(context))
        library.set_n_threads(context, 1, 1)
        self._lengths = [0] * (1 + count)

    def evaluate(self, runs: Mapping[int, Sequence[int]]) -> Logits:
        """Append tokens to lanes and return a row of logits for each; see the protocol.

        Raises:
            UsageError: If the runs differ in length, or a lane would be too long.
            ProviderError: If the library fails; the lanes are then what they were.
        """
        lanes = sorted(runs)
        length = len(runs[lanes[0]])
        if not length or any(len(runs[lane]) != length for lane in lanes):
            raise UsageError(f"lanes {lanes}: expected runs of one length, and at least one token")
        for lane in lanes:
            if self._lengths[lane] + length > self.tokens:
                raise UsageError(f"lane {lane} would have more than its {self.tokens} tokens")
        span = lanes[-1] - lanes[0] + 1
        # The library evaluates neighbouring sequences together: those between have to be fed, too.
        is_dense = 3 * len(lanes) >= 2 * span and span * length <= CHUNK
        if is_dense and (length > 1 or len(lanes) > _FEW):
            rows = self._decoded(range(lanes[0], lanes[-1] + 1), runs, length)
        else:
            rows = {lane: self._decoded((lane,), runs, length)[lane] for lane in lanes}
        return np.stack([rows[lane] for lane in runs])

    def _decoded(
        self, fed: Sequence[int], runs: Mapping[int, Sequence[int]], length: int
    ) -> dict[int, Logits]:
        """Evaluate the runs of the lanes in `fed`; those of them that have none forget theirs."""
        idle = [0] * length
        ids = np.asarray([runs.get(lane, idle) for lane in fed], dtype=np.int32).reshape(-1)
        starts = np.asarray([self._lengths[lane] for lane in fed], dtype=np.int32)
        positions = (starts[:, None] + np.arange(length, dtype=np.int32)).reshape(-1)
        sequences = np.repeat(np.asarray(fed, dtype=np.int32), length)
        wanted = np.zeros(len(ids), dtype=np.int8)
        last = {lane: (place + 1) * length - 1 for place, lane in enumerate(fed) if lane in runs}
        wanted[list(last.values())] = 1
        code = self._library.decode(self._context, _batch(ids, positions, sequences, wanted))
        for lane in fed:
            if code == 0 and lane in runs:
                self._lengths[lane] += length
            else:
                self._library.memory_seq_rm(self._memory, lane, self._lengths[lane], -1)
        if code:
            raise self._library.failure(
                f"llama_decode failed with code {code} for the lanes {sorted(last)}"
            )
        return {lane: self._row(place) for lane, place in last.items()}

    def _row(self, place: int) -> Logits:
        address = self._library.get_logits_ith(self._context, place)
        view = (ctypes.c_float * self._size).from_address(address)
        logits: Logits = np.ctypeslib.as_array(view).copy()
        if not np.isfinite(logits).all():
            raise self._library.failure("llama.cpp computed logits that are not finite")
        return logits

    def copy(self, lane: int) -> None:
        """Make `lane` what the root is."""
        self.clear(lane)
        if self._lengths[0]:
            self._library.memory_seq_cp(self._memory, 0, lane, -1, -1)
        self._lengths[lane] = self._lengths[0]

    def clear(self, lane: int) -> None:
        """Forget all tokens of `lane`."""
        self._library.memory_seq_rm(self._memory, lane, -1, -1)
        self._lengths[lane] = 0


def _batch(
    ids: np.ndarray, positions: np.ndarray, sequences: np.ndarray, wanted: np.ndarray
) -> Batch:
    """Return the batch of `ids`, each of which is in one sequence."""
    counts = np.ones(len(ids), dtype=np.int32)
    addresses = (sequences.ctypes.data + 4 * np.arange(len(ids))).astype(np.uintp)
    batch = Batch(
        n_tokens=len(ids),
        token=ids.ctypes.data,
        embd=None,
        pos=positions.ctypes.data,
        n_seq_id=counts.ctypes.data,
        seq_id=addresses.ctypes.data,
        logits=wanted.ctypes.data,
    )
    batch.arrays = (ids, positions, sequences, wanted, counts, addresses)  # alive as long as it is
    return batch
