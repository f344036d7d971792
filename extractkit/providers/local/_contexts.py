"""Contexts of llama.cpp: their parameters, and whether they were understood.

Neighbours: `_library` binds the functions; `_libllama` evaluates one sequence in a context,
`_llama_lanes` several. The parameters are a struct whose layout changes between releases: what is
set is found by what surrounds it, and read back.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Final

from extractkit.errors import UnsupportedError
from extractkit.providers.local._library import Blob, Library
from extractkit.providers.local._limits import WIDEST_BEAM

__all__ = ["CHUNK", "one_sequence", "several_sequences"]

CHUNK: Final = 512
"""Most tokens in one call of llama_decode."""

_FLAGS = bytes((0, 1, 1, 1, 1, 0))  # from embeddings to kv_unified
_ROUNDED = 256  # the library rounds a sequence's tokens up to a multiple of this


def one_sequence(
    calls: Library, model: int, context_tokens: int, *, exact_cache: bool
) -> tuple[int, int]:
    """Return a context and how many branches it has room for beside the one sequence.

    n_ctx, n_batch and n_ubatch have been the struct's first fields since 2024; they are read
    back, so a release that moved them is noticed.
    """
    chunk = min(CHUNK, context_tokens)
    parameters = calls.context_default_params()
    parameters.words[0:3] = (context_tokens, chunk, chunk)
    _set_attention(calls, parameters, exact_cache=exact_cache)
    branches = _set_branches(calls, parameters)
    make = partial(calls.init_from_model, model, parameters)
    context = make()
    if not context:
        raise calls.failure(f"llama.cpp cannot make a context of {context_tokens} tokens", make)
    got = (calls.n_ctx(context), calls.n_batch(context), calls.n_ubatch(context))
    # The library rounds a context up to what its kernels like. One that is not shared among the
    # sequences is cut into parts.
    is_whole = not branches or calls.n_ctx_seq(context) == got[0]
    is_asked = context_tokens <= got[0] < context_tokens + 1024 and got[1:] == (chunk, chunk)
    if not (is_whole and is_asked):
        calls.free(context)
        raise calls.failure(
            f"{calls.package} made a context of (tokens, batch, part) = {got} where "
            f"{(context_tokens, chunk, chunk)} was asked for: its parameters have another layout"
        )
    return int(context), branches


def several_sequences(calls: Library, model: int, count: int, tokens: int) -> int | None:
    """Return a context for `count` sequences of at least `tokens` tokens each.

    Each has a part of the memory for itself. In one that is shared, the sums over the past of a
    sequence would be formed in an order that depends on who else is there. None where the library
    cannot copy sequences, or its parameters have another layout.
    """
    size = -(-tokens // _ROUNDED) * _ROUNDED
    chunk = min(CHUNK, size)
    parameters = calls.context_default_params()
    if not calls.can_branch or parameters.words[3] != 1:
        return None
    parameters.words[0:4] = (size * count, chunk, chunk, count)
    _set_attention(calls, parameters, exact_cache=False)
    make = partial(calls.init_from_model, model, parameters)
    context = make()
    if not context:
        raise calls.failure(f"llama.cpp cannot make {count} contexts of {size} tokens", make)
    got = (calls.n_ctx_seq(context), calls.n_batch(context), calls.n_ubatch(context))
    if got != (size, chunk, chunk):
        calls.free(context)
        return None
    return int(context)


def _set_branches(calls: Library, parameters: Blob) -> int:
    """Set n_seq_max, the fourth field, and kv_unified; return how many branches there can be.

    The latter is the last of six flags that are off, on four times, and off by default. Where it is
    not found there are no branches; nor are there with fewer tokens than sequences, for which the
    library would end the process.
    """
    flags = bytes(parameters).find(_FLAGS, 64)
    few = parameters.words[1] <= WIDEST_BEAM
    if few or not calls.can_branch or flags < 0 or parameters.words[3] != 1:
        return 0
    parameters.words[3] = 1 + WIDEST_BEAM
    ctypes.memset(ctypes.addressof(parameters) + flags + len(_FLAGS) - 1, 1, 1)
    return WIDEST_BEAM


def _set_attention(calls: Library, parameters: Blob, *, exact_cache: bool) -> None:
    """Set flash_attn_type, and type_k and type_v, which are known by what surrounds them.

    The first is the last of four enums that are -1 by default, the others are both 1 (16-bit
    floats) and follow two null pointers. Where the first is not found, the library decides.
    """
    words = list(parameters.words)
    enums = next((at for at in range(3, 24) if words[at : at + 4] == [0xFFFFFFFF] * 4), None)
    after = range(0) if enums is None else range(enums + 4, 48)
    types = next((at for at in after if words[at : at + 6] == [0, 0, 0, 0, 1, 1]), None)
    if enums is not None:
        parameters.words[enums + 3] = 0
    if not exact_cache:
        return
    if types is None:
        raise UnsupportedError(
            f"exact_cache: {calls.package} has another layout of its context parameters; use the "
            "pinned version of the extra 'local'"
        )
    parameters.words[types + 4] = parameters.words[types + 5] = 0
