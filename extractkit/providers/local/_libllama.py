"""The default engine: llama.cpp, called through ctypes.

Neighbours: `_library` finds and binds the library, `_contexts` makes its contexts; `_load` opens
this engine and tests it; `_engine` states the protocol; `_sequence` keeps the tokens.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from extractkit.errors import ProviderError, UnsupportedError
from extractkit.providers.local._contexts import CHUNK, one_sequence
from extractkit.providers.local._engine import Logits, OpenLanes, Vocabulary
from extractkit.providers.local._library import Batch, Library, library
from extractkit.providers.local._llama_lanes import open_lanes
from extractkit.providers.local._sequence import Sequence as Evaluated
from extractkit.providers.local._sequence import utf8
from extractkit.providers.local._tree import TokenTree

__all__ = ["LibllamaEngine"]

_NOT_TEXT = 0b1011  # llama_token_attr: unknown, unused, control
_LONGEST_PIECE = 256
_SPARE = 8  # tokens that a text may have more than bytes
_END_KEY = b"tokenizer.ggml.eos_token_id"


class LibllamaEngine:
    """Computes logits with llama.cpp; see the protocol `Engine`.

    The same sequence of `evaluate` calls since the start, or since a prefix that was itself
    evaluated by the same calls, gives the same bits. Another split of the same tokens does not:
    the library has other kernels for one token than for many. Its flash attention is off: it is
    slower here for one token at a time, and less exact.

    Args:
        path: A GGUF file.
        context_tokens: Most tokens of a sequence; None for what the model was trained for.
        threads: Threads that compute.
        exact_cache: Keep keys and values in 32 bits, where the library would use 16. Slower;
            for comparing engines.

    Attributes:
        branches: How many branches can be kept at once; 0 where this library keeps none.

    Raises:
        MissingDependencyError: If no package with the library is installed.
        UnsupportedError: If the library does not run here, or the model names no end token.
        UsageError: If `context_tokens` is out of range.
        ProviderError: If the library refuses the file.
    """

    name = "libllama"

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int | None = None,
        threads: int = 1,
        exact_cache: bool = False,
    ) -> None:
        self._library = calls = library()
        handles = _Handles(calls)
        self._finalizer = weakref.finalize(self, handles.free)
        try:
            handles.model = _model(calls, path)
            self._words = _Words(calls, handles.model)
            self._vocabulary = self._words.vocabulary(path)
            self._size = len(self._vocabulary.pieces)
            self._sequence = Evaluated(
                context_tokens,
                trained=calls.model_n_ctx_train(handles.model),
                vocabulary_size=self._size,
            )
            handles.context, self.branches = one_sequence(
                calls, handles.model, self._sequence.context_tokens, exact_cache=exact_cache
            )
            self._context = handles.context
        except BaseException:
            self._finalizer()
            raise
        calls.set_n_threads(self._context, threads, threads)
        self._memory = calls.get_memory(self._context)
        self._feed = _Feed()
        self.open_lanes: OpenLanes = partial(
            open_lanes, calls, handles.model, handles.lanes, vocabulary_size=self._size
        )

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return self._vocabulary

    @property
    def context_tokens(self) -> int:
        """Most tokens that the sequence can hold."""
        return self._sequence.context_tokens

    @property
    def trained_context_tokens(self) -> int:
        """Context length that the model was trained for."""
        return self._sequence.trained

    @property
    def past(self) -> Sequence[int]:
        """The tokens evaluated so far."""
        return self._sequence.past

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        """Return the token ids of `text`; see the protocol.

        Raises:
            UsageError: If `text` holds a lone surrogate, or the engine is closed.
        """
        self._sequence.require_open()
        return self._words.tokenize(utf8(text), control=control)

    def evaluate(self, tokens: Sequence[int], *, every: bool = False) -> Logits:
        """Append `tokens` and return their logits in an array of their own; see the protocol.

        Raises:
            UsageError: If the sequence would exceed the context, or the engine is closed.
            ProviderError: If the library fails; `past` is then what it was.
        """
        ids = self._sequence.admit(tokens)
        start = len(self._sequence)
        rows: list[Logits] = []
        for first in range(0, len(ids), CHUNK):
            chunk = ids[first : first + CHUNK]
            last = first + CHUNK >= len(ids)
            try:
                self._decode(
                    self._feed.batch(chunk, start + first, every=every, last=last), start + first
                )
            except ProviderError:
                self._library.memory_seq_rm(self._memory, 0, start, -1)
                raise
            if every:
                rows.append(self._read(self._library.get_logits(self._context), len(chunk)))
        self._sequence.append(ids)
        if every:
            return rows[0] if len(rows) == 1 else np.concatenate(rows)
        logits: Logits = self._read(self._library.get_logits_ith(self._context, -1), 1)[0]
        return logits

    def look_ahead(self, tree: TokenTree) -> Logits:
        """Return the logits after each token of `tree`; see the protocol.

        Each leaf is a sequence of its own, which has all tokens on the way to it and shares what
        was computed for `past`.

        Raises:
            UsageError: If it does not fit, or the engine is closed.
            ProviderError: If the library fails.
        """
        ids = self._sequence.admit_tree(tree, self.branches)
        start = len(self._sequence)
        leaves = tree.leaves
        for branch in range(self.branches):
            self.release(branch)
        if len(leaves) == 1:
            rows = self.evaluate(tree.tokens, every=True)
            self.keep(start)
            return rows
        within: list[list[int]] = [[] for _ in tree.tokens]
        for sequence, leaf in enumerate(leaves, 1):
            self._library.memory_seq_cp(self._memory, 0, sequence, -1, -1)
            for place in tree.path(leaf):
                within[place].append(sequence)
        positions = np.asarray(tree.depths(), dtype=np.int32) + start
        found: list[Logits] = []
        try:
            for first in range(0, len(ids), CHUNK):
                part = slice(first, first + CHUNK)
                self._decode(_tree_batch(ids[part], positions[part], within[part]), start + first)
                size = len(ids[part])
                found.append(self._read(self._library.get_logits(self._context), size))
        finally:
            for sequence in range(1, len(leaves) + 1):
                self._library.memory_seq_rm(self._memory, sequence, -1, -1)
        return np.concatenate(found)

    def _decode(self, batch: Batch, at: int) -> None:
        code = self._library.decode(self._context, batch)
        if code:
            raise self._library.failure(
                f"llama_decode failed with code {code} at token {at} of {self.context_tokens}"
            )

    def _read(self, address: int, rows: int) -> Logits:
        view = (ctypes.c_float * (rows * self._size)).from_address(address)
        logits: Logits = np.ctypeslib.as_array(view).reshape(rows, self._size).copy()
        if not np.isfinite(logits).all():
            raise self._library.failure("llama.cpp computed logits that are not finite")
        return logits

    def keep(self, count: int) -> None:
        """Forget all but the first `count` tokens of `past`.

        Raises:
            UsageError: If there are fewer, or the engine is closed.
            UnsupportedError: If the model has a memory that cannot be cut.
        """
        self._sequence.check_keep(count)
        if not self._library.memory_seq_rm(self._memory, 0, count, -1):
            raise UnsupportedError(
                f"this model cannot go back to its first {count} tokens: its memory is not an "
                "attention cache; use a model with plain attention"
            )
        self._sequence.truncate(count)

    def save(self, branch: int, start: int) -> None:
        """Keep what stands behind the first `start` tokens as `branch`; see the protocol.

        The library copies nothing: what was computed then belongs to both.

        Raises:
            UsageError: If there are fewer, or the engine is closed.
        """
        self._sequence.save(branch, start)
        self._library.memory_seq_rm(self._memory, branch + 1, -1, -1)
        self._library.memory_seq_cp(self._memory, 0, branch + 1, start, -1)

    def restore(self, branch: int, start: int) -> None:
        """Put the tokens of `branch` behind the first `start`; see the protocol.

        Raises:
            UsageError: If it was not kept from there, or the engine is closed.
        """
        self._sequence.check_restore(branch, start)
        self.keep(start)
        self._library.memory_seq_cp(self._memory, branch + 1, 0, start, -1)
        self._sequence.restore(branch)

    def release(self, branch: int) -> None:
        """Forget `branch`; one that is none is fine.

        Raises:
            UsageError: If the engine is closed.
        """
        self._sequence.release(branch)
        self._library.memory_seq_rm(self._memory, branch + 1, -1, -1)

    def close(self) -> None:
        """Release memory, that of lanes too; closing twice is fine."""
        self._sequence.close()
        self._finalizer()


class _Handles:
    """What must be freed, and only in the process that made it."""

    def __init__(self, calls: Library) -> None:
        self._calls = calls
        self._process = os.getpid()
        self.model: int | None = None
        self.context: int | None = None
        self.lanes: list[int] = []

    def free(self) -> None:
        """Free the contexts, then the model; a forked child leaves its parent's alone."""
        if os.getpid() != self._process:
            return
        for context in self.lanes:
            self._calls.free(context)
        if self.context:
            self._calls.free(self.context)
        if self.model:
            self._calls.model_free(self.model)


def _model(calls: Library, path: Path) -> int:
    load = partial(calls.model_load_from_file, os.fsencode(path), calls.model_default_params())
    model = load()
    if not model:
        raise calls.failure(f"llama.cpp cannot load {path}", load)
    return int(model)


class _Feed:
    """Arrays that llama_decode reads its tokens from, filled anew for every call."""

    def __init__(self) -> None:
        self._token = np.zeros(CHUNK, dtype=np.int32)
        self._pos = np.zeros(CHUNK, dtype=np.int32)
        self._wanted = np.zeros(CHUNK, dtype=np.int8)
        self._count = np.ones(CHUNK, dtype=np.int32)
        self._zero = np.zeros(1, dtype=np.int32)
        self._sequences = np.full(CHUNK, self._zero.ctypes.data, dtype=np.uintp)
        self._batch = Batch(
            n_tokens=0,
            token=self._token.ctypes.data,
            embd=None,
            pos=self._pos.ctypes.data,
            n_seq_id=self._count.ctypes.data,
            seq_id=self._sequences.ctypes.data,
            logits=self._wanted.ctypes.data,
        )

    def batch(self, ids: npt.NDArray[np.int32], start: int, *, every: bool, last: bool) -> Batch:
        """Return the batch of `ids`, the first of which stands at `start`."""
        count = len(ids)
        self._token[:count] = ids
        self._pos[:count] = np.arange(start, start + count, dtype=np.int32)
        self._wanted[:count] = every
        self._wanted[count - 1] = every or last
        self._batch.n_tokens = count
        return self._batch


def _tree_batch(
    ids: npt.NDArray[np.int32], positions: npt.NDArray[np.int32], within: list[list[int]]
) -> Batch:
    """Return the batch of `ids`, each of which is in several sequences and has its logits read."""
    sequences = [np.asarray(those, dtype=np.int32) for those in within]
    addresses = np.asarray([those.ctypes.data for those in sequences], dtype=np.uintp)
    counts = np.asarray([len(those) for those in sequences], dtype=np.int32)
    wanted = np.ones(len(ids), dtype=np.int8)
    batch = Batch(
        n_tokens=len(ids),
        token=ids.ctypes.data,
        embd=None,
        pos=positions.ctypes.data,
        n_seq_id=counts.ctypes.data,
        seq_id=addresses.ctypes.data,
        logits=wanted.ctypes.data,
    )
    batch.arrays = (ids, positions, sequences, addresses, counts, wanted)  # alive as long as it is
    return batch


class _Words:
    """The model's tokenizer."""

    def __init__(self, calls: Library, model: int) -> None:
        self._calls = calls
        self._model = model
        self._handle = calls.model_get_vocab(model)

    def vocabulary(self, path: Path) -> Vocabulary:
        """Return all tokens."""
        calls, handle = self._calls, self._handle
        size = calls.vocab_n_tokens(handle)
        eos = self._end(path, size)
        get_attribute = calls.vocab_get_attr
        control = {token for token in range(size) if get_attribute(handle, token) & _NOT_TEXT}
        buffer = ctypes.create_string_buffer(_LONGEST_PIECE)
        to_piece = calls.token_to_piece
        pieces: list[bytes] = []
        for token in range(size):
            length = to_piece(handle, token, buffer, _LONGEST_PIECE, 0, True)
            if length < 0:  # the buffer is too short
                longer = ctypes.create_string_buffer(-length)
                to_piece(handle, token, longer, -length, 0, True)
                pieces.append(longer.raw)
            else:
                pieces.append(buffer.raw[:length])
        return Vocabulary(pieces=tuple(pieces), eos_id=eos, control_ids=frozenset({*control, eos}))

    def _end(self, path: Path, size: int) -> int:
        """Return the token that the file names; the library would make one up without."""
        text = ctypes.create_string_buffer(16)
        length = self._calls.model_meta_val_str(self._model, _END_KEY, text, len(text))
        eos = int(self._calls.vocab_eos(self._handle))
        if length < 0 or text.value != str(eos).encode() or not 0 <= eos < size:
            raise UnsupportedError(
                f"{path} names no token that ends an answer ({_END_KEY.decode()}); use a file "
                "that does"
            )
        return eos

    def tokenize(self, text: bytes, *, control: bool) -> list[int]:
        """Return the ids of `text`."""
        room = len(text) + _SPARE
        while True:
            out = np.empty(room, dtype=np.int32)
            count = self._calls.tokenize(
                self._handle, text, len(text), out.ctypes.data, room, False, control
            )
            if count >= 0:
                ids: list[int] = out[:count].tolist()
                return ids
            room = -count
