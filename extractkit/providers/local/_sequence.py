"""The tokens that an engine has evaluated, and the checks that every engine owes its caller.

Neighbours: `_libllama` and `_numpy` keep one Sequence each. This file computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence as Tokens
from typing import Final

import numpy as np
import numpy.typing as npt

from extractkit.errors import UsageError
from extractkit.providers.local._tree import TokenTree

__all__ = ["Sequence", "longer_context", "utf8"]


class Sequence:
    """The tokens evaluated so far, at most `context_tokens` of them.

    Args:
        context_tokens: What the caller asked for, or None for what the model was trained for.
        trained: Context length that the model was trained for, in tokens.
        vocabulary_size: Ids are below this.

    Raises:
        UsageError: If `context_tokens` is less than 1 or more than `trained`.
    """

    def __init__(self, context_tokens: int | None, *, trained: int, vocabulary_size: int) -> None:
        if context_tokens is not None and not 1 <= context_tokens <= trained:
            raise UsageError(
                f"context_tokens={context_tokens}: expected 1 to {trained}, which is the context "
                "that this model was trained for"
            )
        self.context_tokens: Final = trained if context_tokens is None else context_tokens
        self.trained: Final = trained
        self._vocabulary_size = vocabulary_size
        self._past: list[int] = []
        self._branches: dict[int, tuple[int, list[int]]] = {}
        self._open = True

    def __len__(self) -> int:
        return len(self._past)

    @property
    def past(self) -> tuple[int, ...]:
        """The tokens, in a copy."""
        return tuple(self._past)

    def admit(self, tokens: Tokens[int]) -> npt.NDArray[np.int32]:
        """Return `tokens` as an array if they may be evaluated next; nothing is appended yet.

        Raises:
            UsageError: If there are none, one is no token, they do not fit, or the engine is
                closed.
        """
        self.require_open()
        if not len(tokens):
            raise UsageError("the engine was given no tokens; expected at least one")
        whole = len(self._past) + len(tokens)
        if whole > self.context_tokens:
            raise UsageError(
                f"the sequence would have {whole} tokens ({len(self._past)} evaluated and "
                f"{len(tokens)} more), and the context has {self.context_tokens}; "
                f"{longer_context(whole, self.trained)}"
            )
        ids = np.asarray(tokens, dtype=np.int32)
        if ids.min() < 0 or ids.max() >= self._vocabulary_size:
            raise UsageError(
                f"token ids from {ids.min()} to {ids.max()}: this model has the ids 0 to "
                f"{self._vocabulary_size - 1}"
            )
        return ids

    def admit_tree(self, tree: TokenTree, branches: int) -> npt.NDArray[np.int32]:
        """Return the tokens of `tree` as an array if it may be looked at next.

        Raises:
            UsageError: As `admit` does, or if it has more leaves than there are branches.
        """
        leaves, most = len(tree.leaves), max(1, branches)
        if leaves > most:
            raise UsageError(f"look_ahead() was given {leaves} leaves; expected {most} at most")
        return self.admit(tree.tokens)

    def append(self, ids: npt.NDArray[np.int32]) -> None:
        """Add tokens that were evaluated."""
        self._past.extend(ids.tolist())

    def check_keep(self, count: int) -> None:
        """Return if the first `count` tokens can be kept.

        Raises:
            UsageError: If there are not that many, or the engine is closed.
        """
        self.require_open()
        if not 0 <= count <= len(self._past):
            raise UsageError(f"keep({count}): {len(self._past)} tokens were evaluated")

    def truncate(self, count: int) -> None:
        """Forget all but the first `count` tokens, and the branches that stood behind others."""
        del self._past[count:]
        for branch in [key for key, (start, _) in self._branches.items() if start > count]:
            del self._branches[branch]

    def save(self, branch: int, start: int) -> None:
        """Keep what stands behind the first `start` tokens as `branch`, in place of what it was.

        Raises:
            UsageError: If fewer tokens were evaluated, or the engine is closed.
        """
        self.check_keep(start)
        self._branches[branch] = (start, self._past[start:])

    def check_restore(self, branch: int, start: int) -> None:
        """Return if `branch` can stand behind the first `start` tokens.

        Raises:
            UsageError: If it was not kept from there, or these tokens are gone.
        """
        self.check_keep(start)
        if branch not in self._branches or self._branches[branch][0] != start:
            raise UsageError(f"restore({branch}, {start}): no such branch was kept from there")

    def restore(self, branch: int) -> None:
        """Append the tokens of `branch`."""
        self._past.extend(self._branches[branch][1])

    def release(self, branch: int) -> None:
        """Forget `branch`; one that is none is fine.

        Raises:
            UsageError: If the engine is closed.
        """
        self.require_open()
        self._branches.pop(branch, None)

    def require_open(self) -> None:
        """Return if the engine is in use.

        Raises:
            UsageError: If it was closed.
        """
        if not self._open:
            raise UsageError("this engine is closed; open the model again")

    def close(self) -> None:
        """Refuse every later use."""
        self._past.clear()
        self._branches.clear()
        self._open = False


def longer_context(needed: int, trained: int) -> str:
    """Return what to do where a prompt and its answer need `needed` tokens of context."""
    if needed <= trained:
        return f"shorten the text, or set Local(context_tokens=...) to at least {needed}"
    return (
        "shorten the text, or split it into several calls, or use a model with a longer context "
        f"(this one was trained for {trained} tokens)"
    )


def utf8(text: str) -> bytes:
    """Return the bytes of `text`.

    Raises:
        UsageError: If it holds a lone surrogate, which is no character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"character {error.start} of the text is a lone surrogate "
            f"(U+{ord(text[error.start]):04X}), which is no character; remove it or decode the "
            "source with errors='replace'"
        ) from error
