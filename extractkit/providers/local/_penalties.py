"""Scores of tokens that this answer has written before, lowered.

Neighbours: `_decoding` asks for it before the sampler chooses; `Sampling` says how much. For free
text only: `Local` refuses penalties beside a constraint. Tokens of the prompt do not count, for a
document's words must be able to stand in what is said about it.

The rules, on the model's own scores z and before temperature, top_k, top_p and min_p; c is how
often the token was written:

1. repetition: where c > 0, z becomes z / penalty for z at or above 0, and z * penalty below 0. The
   penalty is CTRL's (Keskar et al. 2019), which divides; divided, a negative score would rise, so
   that a penalty above 1 would be a reward. The two branches are those of the `transformers`
   library.
2. presence: where c > 0, z becomes z - penalty.
3. frequency: z becomes z - penalty * c.

All together: first 1, then 2 and 3, which add up. What is recorded of a token are the model's own
numbers, before all that.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from extractkit.messages import PENALTIES, Sampling
from extractkit.providers.local._engine import Logits

__all__ = ["Penalties"]


class Penalties:
    """The penalties of one answer, and what it has written.

    Args:
        sampling: Its three penalties; None does nothing.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._repetition = sampling.repetition_penalty or 1.0
        self._presence = sampling.presence_penalty or 0.0
        self._frequency = sampling.frequency_penalty or 0.0
        self._written: Counter[int] = Counter()

    @staticmethod
    def of(sampling: Sampling) -> Penalties | None:
        """Return the penalties that `sampling` sets, or None where it sets none."""
        is_set = any(getattr(sampling, name) is not None for name in PENALTIES)
        return Penalties(sampling) if is_set else None

    def count(self, token: int) -> None:
        """Take note that `token` was written once more."""
        self._written[token] += 1

    def applied(self, logits: Logits) -> Logits:
        """Return the scores of all tokens, by id, with the penalties; `logits` stay as they are."""
        if not self._written:
            return logits
        ids = np.fromiter(self._written.keys(), np.intp, len(self._written))
        counts = np.fromiter(self._written.values(), np.float64, len(self._written))
        own = logits[ids].astype(np.float64)
        lowered = np.where(own >= 0, own / self._repetition, own * self._repetition)
        lowered -= self._presence + self._frequency * counts
        penalised = logits.copy()
        penalised[ids] = lowered.astype(np.float32)
        return penalised
