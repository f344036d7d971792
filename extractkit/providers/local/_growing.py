"""One answer while it grows: its tokens, what is known about them, and why it ended.

Neighbours: `_decoding` grows one answer, `_beam` several at once; `_constraint` says what may come
next, `_recording` keeps the probabilities. This file evaluates no model and chooses no token.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from extractkit.messages import StopReason, TokenLogprob
from extractkit.providers.local._constraint import GrammarMask, Legal
from extractkit.providers.local._engine import Vocabulary
from extractkit.providers.local._recording import Recorder

__all__ = ["Growing"]


class Growing:
    """An answer from its first token on.

    Args:
        vocabulary: The model's tokens.
        mask: What the answer must look like, at its start; None for free text, which ends at any
            control token.
        limit: Most tokens of the answer, at least 1.
        recorder: Makes the records of forced tokens; None where nothing is recorded.
        batch_forced: Append what the grammar forces without asking the model.

    Attributes:
        tokens: Ids in order, without the token that ends the answer.
        records: One for each token where there is a recorder, else none.
        pending: Tokens at the end that the model has not evaluated.
        forced: How many tokens the grammar left no choice about.
        detail: Empty while the answer grows, else why it ended: "grammar" (nothing can follow),
            "eos" or the control token's name, "limit", or "time".
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        mask: GrammarMask | None,
        limit: int,
        recorder: Recorder | None,
        batch_forced: bool = True,
    ) -> None:
        self._vocabulary = vocabulary
        self._mask = mask
        self._limit = limit
        self._recorder = recorder
        self._batch_forced = batch_forced
        self.tokens: list[int] = []
        self.records: list[TokenLogprob] = []
        self.pending: list[int] = []
        self.forced = 0
        self.detail = ""

    @property
    def stop(self) -> StopReason:
        """STOP where the answer is whole, LENGTH where it was cut."""
        return StopReason.LENGTH if self.detail in {"limit", "time"} else StopReason.STOP

    def fork(self) -> Growing:
        """Return an answer that is the same so far and grows by itself."""
        other = copy.copy(self)
        other._mask = None if self._mask is None else self._mask.fork()
        other.tokens = self.tokens.copy()
        other.records = self.records.copy()
        other.pending = self.pending.copy()
        return other

    def take_forced(self) -> None:
        """Append what the grammar leaves no choice about."""
        if self._mask is not None and self._batch_forced and not self.detail:
            self._append_forced(self._mask.forced())

    def goes_on(self) -> bool:
        """Append what the grammar leaves no choice about; return whether one is left after it."""
        self.take_forced()
        return not self.has_ended()

    def has_ended(self) -> bool:
        """Return whether the answer is over; `detail` then says why."""
        if not self.detail:
            if self._mask is not None and self._mask.finished:
                self.detail = "grammar"
            elif len(self.tokens) >= self._limit:
                self.detail = "limit"
        return bool(self.detail)

    def cut(self) -> None:
        """End the answer here, with what the grammar forces next and no model need be asked for."""
        if self._mask is not None:
            self._append_forced(self._mask.written(self._ahead()))
        if not self.has_ended():
            self.detail = "time"

    def final(self, start: int) -> tuple[bytes, bytes]:
        """Return the bytes of the tokens from `start` on, and those that are sure to follow."""
        return self._vocabulary.text_of(self.tokens[start:]), self._ahead()

    def _ahead(self) -> bytes:
        if self._mask is None or not self._batch_forced or self.detail:
            return b""
        # No token is empty: so much of it at least gets in before the limit.
        return self._mask.ahead()[: self._limit - len(self.tokens)]

    def legal(self) -> Legal | None:
        """Return the ids of the tokens that may come next; None where all may."""
        return None if self._mask is None else self._mask.legal()

    def take_only(self, legal: Legal | None) -> bool:
        """Append the only token that may come next, or end there; return whether it is one."""
        if legal is None or legal.size != 1 or not self._batch_forced:
            return False
        only = int(legal[0])
        if not self.ends(only):
            self._accept(only)
            self._append_forced([only])
        return True

    def ends(self, token: int) -> bool:
        """Return whether `token` ends the answer, which it then has done."""
        if token not in self._vocabulary.control_ids:
            return False
        eos = token == self._vocabulary.eos_id
        self.detail = "eos" if eos else self._vocabulary.pieces[token].decode(errors="replace")
        return True

    def append(self, token: int, record: TokenLogprob | None) -> None:
        """Append a token that was chosen.

        Raises:
            ProviderError: If the grammar does not allow it.
        """
        self._accept(token)
        if record is not None:
            self.records.append(record)
        self.tokens.append(token)
        self.pending.append(token)

    def _accept(self, token: int) -> None:
        if self._mask is not None:
            self._mask.accept(token)

    def _append_forced(self, tokens: Sequence[int]) -> None:
        room = self._limit - len(self.tokens)
        if len(tokens) > room:
            tokens = tokens[:room]
            self.detail = "limit"
        self.tokens.extend(tokens)
        self.pending.extend(tokens)
        self.forced += len(tokens)
        if self._recorder is not None:
            self.records.extend(map(self._recorder.forced, tokens))
