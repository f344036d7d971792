"""The seam under local decoding: what an engine must offer, whatever computes the logits.

Neighbours: `_libllama` and `_numpy` are engines; `_decoding` drives one. An engine knows no
schema, no prompt and no sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from extractkit.providers.local._tree import TokenTree

__all__ = ["Engine", "LaneEngine", "Logits", "OpenLanes", "Vocabulary"]

Logits: TypeAlias = npt.NDArray[np.float32]
"""Unnormalised log-probabilities, shape (n_vocab,) or (n_tokens, n_vocab)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The tokens of a model.

    Attributes:
        pieces: The bytes of each token, by id; a token can be a part of a character.
        eos_id: The token that ends an answer.
        control_ids: Tokens that are not text (turn marks and the like), `eos_id` included.
    """

    pieces: tuple[bytes, ...]
    eos_id: int
    control_ids: frozenset[int]

    def text_of(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of `tokens`, control tokens left out."""
        return b"".join(self.pieces[token] for token in tokens if token not in self.control_ids)


class Engine(Protocol):
    """Computes logits for one growing sequence of tokens. Not thread-safe: one user at a time.

    Attributes:
        name: Which engine this is: "libllama" or "numpy".
        branches: How many branches can be kept at once; 0 where none can.
        open_lanes: Opens lanes beside the sequence, which end with the engine.
    """

    name: str
    branches: int
    open_lanes: OpenLanes

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        ...

    @property
    def context_tokens(self) -> int:
        """Most tokens that the sequence can hold."""
        ...

    @property
    def trained_context_tokens(self) -> int:
        """Context length that the model was trained for."""
        ...

    @property
    def past(self) -> Sequence[int]:
        """The tokens evaluated so far."""
        ...

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        """Return the token ids of `text`.

        Args:
            text: Any text without lone surrogates.
            control: Whether names of control tokens in `text` become control tokens. False for
                anything that a user or a document wrote.
        """
        ...

    def evaluate(self, tokens: Sequence[int], *, every: bool = False) -> Logits:
        """Append `tokens` (at least one) and return logits in an array of their own.

        Args:
            tokens: What follows `past`.
            every: Return one row for each token, else for the last only.

        Raises:
            UsageError: If the sequence would exceed `context_tokens`.
            ProviderError: If the computation fails.
        """
        ...

    def look_ahead(self, tree: TokenTree) -> Logits:
        """Return the logits after each token of a tree behind `past`, a row each; keep none of it.

        It is one pass, where `branches` is not 0. Branches that were kept are forgotten.

        Args:
            tree: Of at least one token, with at most `branches` leaves, or one.

        Raises:
            UsageError: If it has more leaves, or `past` and its tokens exceed `context_tokens`.
            ProviderError: If the computation fails.
        """
        ...

    def keep(self, count: int) -> None:
        """Forget all but the first `count` tokens of `past`."""
        ...

    def save(self, branch: int, start: int) -> None:
        """Keep what stands behind the first `start` tokens as `branch`, in place of what it was.

        A branch holds as long as those first tokens stay.

        Args:
            branch: From 0 to less than `branches`.
            start: How many tokens stay outside of the branch.
        """
        ...

    def restore(self, branch: int, start: int) -> None:
        """Make `past` its first `start` tokens and, behind them, those of `branch`."""
        ...

    def release(self, branch: int) -> None:
        """Forget `branch`; one that is none is fine."""
        ...

    def close(self) -> None:
        """Release memory, that of lanes too; closing twice is fine."""
        ...


class OpenLanes(Protocol):
    """Opens lanes."""

    def __call__(self, count: int, tokens: int) -> LaneEngine | None:
        """Return lanes of their own, which another thread may use; None where there are none.

        Args:
            count: How many, at least 1.
            tokens: Tokens that each can hold, at least.

        Raises:
            ProviderError: If there is no memory for them.
        """
        ...


class LaneEngine(Protocol):
    """Computes logits for several sequences together. Not thread-safe: one user at a time.

    Lanes are counted from 1; 0 is the root, from which they can begin. Logits are those that the
    engine itself would compute, bit for bit, if it were fed with the same pieces: they do not
    depend on the other lanes.

    Attributes:
        count: How many lanes there are.
        tokens: Most tokens of each.
    """

    count: int
    tokens: int

    def evaluate(self, runs: Mapping[int, Sequence[int]]) -> Logits:
        """Append tokens to lanes, and return the logits after the last of each, in rows.

        Args:
            runs: Tokens by lane, all of one length, at least one; the rows come in this order.

        Raises:
            UsageError: If a lane would have more than `tokens`.
            ProviderError: If the computation fails.
        """
        ...

    def copy(self, lane: int) -> None:
        """Make `lane` what the root is."""
        ...

    def clear(self, lane: int) -> None:
        """Forget all tokens of `lane`."""
        ...
